"""The release of a ranker: the newest delivery of every study over all its batches, as a version with an open
and a restricted part.

What is in a version is decided here; how versions lie beside each other is `versions.py`, what the open part
may show `disclosure.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.files import replace_text, write_csv
from lunguage_assets.home.store import write_table
from lunguage_assets.release.bundle.bundle_dictionary import bundle_dictionary
from lunguage_assets.release.bundle.changes import CHANGES, change_log, changed_inputs, changed_rows
from lunguage_assets.release.bundle.disclosure import Disclosure
from lunguage_assets.release.bundle.material import ANALYSES, Material, shown_analyses
from lunguage_assets.release.bundle.notes import readme, use_of_open, use_of_restricted
from lunguage_assets.release.bundle.provenance import Origin, deciding, provenance, provenance_text
from lunguage_assets.release.bundle.summary import summarise
from lunguage_assets.release.bundle.versions import (
    SUMS,
    Version,
    content_digest,
    file_digest,
    version_name,
    writing,
)
from lunguage_assets.release.report.documents import write_documents, write_paper_tables
from lunguage_assets.release.report.paper_tables import PaperTables
from lunguage_assets.release.report.published import published_frame, released_rows
from lunguage_assets.release.report.report import figures_of, report_page, report_sections
from lunguage_assets.release.report.report_figures import write_figures
from lunguage_assets.tables import (
    ACCOUNTING,
    CONFLICTS,
    FITTED_PROBABILITIES,
    LUNGUAGE_PLUS_PLUS,
    PATHWAY_MATCHES,
    REJECTED,
    RELEASE,
    REPORTS,
    RESOLUTION_LOG,
)
from lunguage_assets.tables.schema import Table

TABLES_PER_BATCH = {
    table.name: table
    for table in (
        REPORTS,
        REJECTED,
        FITTED_PROBABILITIES,
        PATHWAY_MATCHES,
        LUNGUAGE_PLUS_PLUS,
        RESOLUTION_LOG,
        CONFLICTS,
        ACCOUNTING,
    )
}
"""What the release needs of every batch."""


@dataclass(frozen=True)
class Release:
    """Tables over all batches, of each study only the newest version; `superseded` counts the older ones left
    out.
    """

    ranker: str
    ranking: pd.DataFrame
    batches: tuple[str, ...]
    missing_batches: tuple[str, ...]
    superseded: int
    tables: Mapping[str, pd.DataFrame]


def assemble(
    ranker: str,
    ranking: pd.DataFrame,
    batches: Sequence[str],
    tables: Mapping[str, pd.DataFrame],
    missing_batches: Sequence[str] = (),
) -> Release:
    """Take every study from its newest batch.

    Args:
        ranker: whose release it is.
        ranking: its present ranking.
        batches: keys, oldest first.
        tables: `TABLES_PER_BATCH` with the rows of all these batches in that order, and the column
            `report_batch`.
        missing_batches: keys of those that are not complete.

    Raises:
        MethodError: the batches were made with different rankings, with another than the present one, or in
            different modes.
    """
    rows, accounting = tables["lunguage_plus_plus"], tables["accounting"]
    versions = set(rows["ranking_version"])
    if len(versions) > 1:
        raise MethodError(
            f"the batches of ranker {ranker!r} were fitted with {len(versions)} different rankings. "
            "Materialise fitted_probabilities and what follows for the stale batches, or run "
            "`lunguage run` again."
        )
    if versions - {str(ranking["ranking_version"].iloc[0])}:
        raise MethodError(
            f"the batches of ranker {ranker!r} were fitted with an older ranking than its present one. "
            "Launch the job `refit` for them, or run `lunguage run` again."
        )
    modes = set(rows["mode"])
    if len(modes) > 1:
        raise MethodError(
            f"the batches of ranker {ranker!r} were resolved in modes {sorted(modes)}. Run "
            "`lunguage run` again: it makes them alike."
        )
    delivered = accounting.loc[accounting["study_id"] != "", ["study_id", "report_batch"]].drop_duplicates()
    newest = dict(
        zip(delivered["study_id"], delivered["report_batch"], strict=True)
    )  # of each study, the last one stays

    def of_newest(table: pd.DataFrame) -> pd.DataFrame:
        wanted = table["study_id"].map(newest).fillna(table["report_batch"])
        return table[(wanted == table["report_batch"]).to_numpy(dtype=bool)].reset_index(drop=True)

    chosen = {name: of_newest(tables[name]) for name in TABLES_PER_BATCH}
    return Release(
        ranker, ranking, tuple(batches), tuple(missing_batches), len(delivered) - len(newest), chosen
    )


@dataclass(frozen=True)
class Written:
    """What writing a release came to: its version, whether that is a new one, and which older ones were
    removed.
    """

    version: str
    is_new: bool
    removed: tuple[str, ...]
    summary: Mapping[str, Any]


def write_bundle(
    release: Release,
    folder: Path,
    origin: Origin,
    analyses: Mapping[str, pd.DataFrame] | None = None,
    examples: pd.Series | None = None,
) -> Written:
    """Write the release as a version below `folder`, unless one with this content is there, and give its
    files their plain names.

    Args:
        release: the tables over all batches.
        folder: `release/<ranker>`.
        origin: what it was made with.
        analyses: tables of `ANALYSES` that there are.
        examples: how often each hedging phrase was extracted, by phrase.

    Raises:
        ConfigurationError: a sealed version with this content has lost a file.
    """
    with writing(folder) as versions, versions.staging() as staging:
        rows = released_rows(release.tables["lunguage_plus_plus"], release.ranker, release.ranking)
        summary = summarise(release)
        counted = _write_restricted(release, rows, summary, origin, staging / "restricted")
        material = _material(release, summary, counted, origin, rows, analyses or {}, examples)
        _write_open(material, staging / "open")
        content = _content(staging)
        identity = content_digest(content | {"open/provenance.json": _deciding_digest(material.provenance)})
        version = versions.with_content(identity)
        is_new = version is None
        if version is None:
            name = version_name(versions.next_number(), identity)
            _write_changes(material, rows, versions.before(), name, staging)
            _write_documents(material, name, staging)
            version = versions.seal(staging, name)
        else:
            versions.require_whole(version, staging, content)
        versions.make_current(version, plain_names(version.folder), last="summary.json")
        removed = versions.retire(origin.settings.release.keep)
    return Written(version.name, is_new, tuple(removed), summary)


def plain_names(version: Path) -> dict[str, str]:
    """The files of a version that stand beside the versions too: plain name -> path; of a file in both parts
    the restricted one.
    """
    kept_inside = {"USE.md", SUMS}
    names = {name: name for name in ("README.md", "CHANGELOG.md")}
    for part in ("open", "restricted"):
        names |= {
            path.name: f"{part}/{path.name}"
            for path in (version / part).iterdir()
            if path.is_file() and path.name not in kept_inside
        }
    return names


def _write_restricted(
    release: Release, rows: pd.DataFrame, summary: Mapping[str, Any], origin: Origin, folder: Path
) -> PaperTables:
    """Rows of single studies and exact counts; returns the paper's tables, exact."""
    write_csv(published_frame(rows, release.tables["reports"]), folder / "Lunguage_plus_plus.csv")
    write_table(RELEASE, rows[RELEASE.names], folder / "Lunguage_plus_plus.parquet")
    for name in ("resolution_log", "conflicts", "pathway_matches", "accounting", "rejected"):
        write_csv(_flat(release.tables[name]), folder / f"{name}.csv")
    counted = write_documents(release.tables, folder, origin.dictionary)
    replace_text(folder / "summary.json", json.dumps(summary, indent=2) + "\n")
    return counted


def _material(
    release: Release,
    summary: Mapping[str, Any],
    counted: PaperTables,
    origin: Origin,
    rows: pd.DataFrame,
    analyses: Mapping[str, pd.DataFrame],
    examples: pd.Series | None,
) -> Material:
    disclosure = Disclosure(1 if origin.is_synthetic else origin.settings.release.small_cells)
    shown, stale = shown_analyses(analyses, release.ranking)
    often = examples if examples is not None else pd.Series(dtype="int64")
    hashes = {name: hashlib.sha256(_csv(frame)).hexdigest() for name, frame in shown.items()}
    encoders = sorted(set(rows["encoder"]))
    return Material(
        ranker=release.ranker,
        summary=summary,
        tables=release.tables,
        counted=disclosure.tables(counted),
        ranking=release.ranking,
        shown_ranking=disclosure.phrases(release.ranking, often),
        analyses=shown,
        stale_analyses=stale,
        origin=origin,
        provenance=provenance(origin, release.ranker, release.ranking, release.batches, hashes, encoders),
        disclosure=disclosure,
    )


def _write_open(material: Material, folder: Path) -> None:
    """Rankings, knowledge, aggregates: no row of any report."""
    write_csv(_flat(material.shown_ranking), folder / "ranking.csv")
    for name, file in (("pathways", material.origin.pathways), ("blacklist", material.origin.blacklist)):
        replace_text(folder / f"{name}.yaml", file.read_text(encoding="utf-8"))
    rounded = (
        f"Counts are rounded to multiples of {material.disclosure.threshold}."
        if material.disclosure.withholds
        else ""
    )
    write_paper_tables(material.counted, folder, rounded)
    for name in ANALYSES:
        if name in material.analyses:
            write_csv(_flat(material.analyses[name]), folder / f"{name}.csv")


def _content(staging: Path) -> dict[str, str]:
    """SHA-256 of everything that makes the identity of a version: its data, and not what is written about
    them.
    """
    files = (path for path in staging.rglob("*") if path.is_file() and path.suffix != ".md")
    return {path.relative_to(staging).as_posix(): file_digest(path) for path in files}


def _deciding_digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(provenance_text(deciding(values)).encode("utf-8")).hexdigest()


def _write_changes(
    material: Material, rows: pd.DataFrame, before: Version | None, name: str, staging: Path
) -> None:
    """`CHANGELOG.md`, and `restricted/changes.csv` for those who may see rows."""
    released = before.folder / "restricted" / "Lunguage_plus_plus.parquet" if before is not None else None
    known = released is None or released.exists()
    changed = (
        changed_rows(_released_before(released) if released is not None else None, rows) if known else None
    )
    write_csv(changed if changed is not None else CHANGES.frame(), staging / "restricted" / "changes.csv")
    inputs, earlier = [], ""
    if before is not None:
        recorded = json.loads((before.folder / "open" / "provenance.json").read_text(encoding="utf-8"))
        inputs = changed_inputs(deciding(recorded), deciding(material.provenance))
        earlier = (before.folder / "CHANGELOG.md").read_text(encoding="utf-8")
    log = change_log(
        name, before.name if before is not None else None, changed, inputs, material.disclosure, earlier
    )
    replace_text(staging / "CHANGELOG.md", log)


def _released_before(path: Path) -> pd.DataFrame:
    """A released Parquet, perhaps of an older schema: its columns that there still are, unchanged in type."""
    import pyarrow.parquet as pq

    with path.open("rb") as stream:
        stored = pq.ParquetFile(stream).read()
    columns = tuple(
        c
        for c in RELEASE.columns
        if c.name in stored.column_names and stored.schema.field(c.name).type == c.arrow.type
    )
    return Table(RELEASE.name, "", columns, RELEASE.key).from_arrow(stored)


def _write_documents(material: Material, name: str, staging: Path) -> None:
    """What is written about the content: report, dictionary, provenance with costs, README, and what each
    part may be used for.
    """
    sections = report_sections(material)
    replace_text(staging / "open" / "report.html", report_page(material, sections, name))
    write_figures(figures_of(sections), staging / "open" / "figures")
    replace_text(staging / "open" / "provenance.json", provenance_text(material.provenance))
    present = {part: {path.name for path in (staging / part).iterdir()} for part in ("open", "restricted")}
    replace_text(
        staging / "open" / "data_dictionary.md", bundle_dictionary(present["open"], present["restricted"])
    )
    replace_text(staging / "open" / "USE.md", use_of_open(material.origin, material.disclosure))
    replace_text(staging / "restricted" / "USE.md", use_of_restricted(material.origin))
    replace_text(
        staging / "README.md", readme(name, material.origin, material.provenance, material.disclosure)
    )


def _csv(frame: pd.DataFrame) -> bytes:
    return _flat(frame).to_csv(index=False, lineterminator="\n").encode("utf-8")


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Lists joined by '; ', for a CSV."""
    lists = [name for name in frame.columns if frame[name].dtype == object]
    return frame.assign(**{name: ["; ".join(values) for values in frame[name]] for name in lists})
