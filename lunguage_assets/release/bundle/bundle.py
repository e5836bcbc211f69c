"""The release of a ranker: the newest delivery of every study over all its batches, as a version with an open
and a restricted part.

What is in a version, and in which part, is decided here; how versions lie beside each other is `versions.py`,
which rows there are `newest.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.errors import InvalidTable, MethodError
from lunguage_assets.explicit.hedges.shown import shown_phrase
from lunguage_assets.files import replace_text, sheet_frame, write_csv
from lunguage_assets.implicit.resolution.guarantees import refuse_violations
from lunguage_assets.pictures.plots import thinned
from lunguage_assets.quality.beliefs import refuse_broken
from lunguage_assets.release.bundle.context import ANALYSES, ReportContext, shown_analyses, totals_of
from lunguage_assets.release.bundle.newest import NewestStudies, Tables
from lunguage_assets.release.bundle.notes import bundle_dictionary, notes
from lunguage_assets.release.bundle.provenance import Origin, json_text, provenance
from lunguage_assets.release.bundle.released import published_frame, released_rows, studies_frame
from lunguage_assets.release.bundle.versions import report_of, writing
from lunguage_assets.release.report.documents import (
    LABEL_TABLES,
    flat,
    growing_csv,
    growing_parquet,
    write_labels,
)
from lunguage_assets.release.report.figures import report_figures, write_figures
from lunguage_assets.release.report.paper_tables import paper_tables
from lunguage_assets.release.report.report import report_page
from lunguage_assets.tables import REFERENCE_RANKING, RELEASE
from lunguage_assets.tables.released import STUDIES

SUMMARY = "restricted/summary.json"
_PLAIN = ("resolution_log", "conflicts", "pathway_matches", "accounting", "rejected", "set_aside")
"""Tables that are written as they are stored."""

_LISTED = ("lunguage_plus_plus", "accounting", "reports", "set_aside")


@dataclass(frozen=True)
class Release:
    """A ranker's ranking, and of each study the newest delivery over its batches."""

    ranker: str
    ranking: pd.DataFrame
    studies: NewestStudies
    missing_batches: tuple[str, ...] = ()

    @property
    def batches(self) -> tuple[str, ...]:
        return self.studies.batches

    def require_one_ranking(self) -> None:
        """Refuse batches that do not belong together.

        Raises:
            MethodError: the batches were made with different rankings, with another than the present one, or
                in different modes.
        """
        stored = self.studies.stored("lunguage_plus_plus")
        found = self.studies.query(f"SELECT DISTINCT ranking_version, mode FROM {stored}")
        versions, modes = ({str(row[place]) for row in found} for place in (0, 1))
        if len(versions) > 1:
            why = f"were fitted with {len(versions)} different rankings"
        elif versions - {str(self.ranking["ranking_version"].iloc[0])}:
            why = "were fitted with an older ranking than its present one"
        elif len(modes) > 1:
            why = f"were resolved in modes {sorted(modes)}"
        else:
            return
        raise MethodError(
            f"the batches of ranker {self.ranker!r} {why}. Run `lunguage run` again: it makes them alike."
        )


@dataclass(frozen=True)
class Written:
    """Result of writing a release: the folder of its version, whether that is a new one, which older ones
    were removed, and its `summary.json`.
    """

    folder: Path
    is_new: bool
    removed: tuple[str, ...]
    summary: Mapping[str, Any]

    @property
    def version(self) -> str:
        return self.folder.name

    @property
    def report(self) -> Path:
        return report_of(self.folder)


def write_bundle(
    release: Release,
    folder: Path,
    origin: Origin,
    analyses: Mapping[str, pd.DataFrame],
    examples: pd.Series,
) -> Written:
    """Write the release as a version below `folder`, unless one with the same files is there, and let
    `LATEST` name it.

    Args:
        release: the newest deliveries over all batches.
        folder: `release/<ranker>`.
        origin: what it was made with.
        analyses: tables of `ANALYSES` that there are.
        examples: how often each hedging phrase was extracted, by phrase.

    Raises:
        MethodError: the batches do not belong together.
        InvalidTable: a stored row breaks a rule, or the result a guarantee; no version is made.
        ConfigurationError: a sealed version with the same files has lost one.
    """
    release.require_one_ranking()
    REFERENCE_RANKING.require(release.ranking, "as it was read for the release")
    for name, frame in analyses.items():
        ANALYSES[name].require(frame, "as it was read for the release")
    with writing(folder) as versions, versions.staging() as staging:
        _write_restricted(release, staging / "restricted")
        context = _context_of(release, origin, analyses, examples)
        replace_text(staging / SUMMARY, json_text(context.summary))
        _write_open(context, staging / "open")
        _write_counts(context, staging / context.part)
        _write_documents(context, staging)
        before = versions.versions()
        version = versions.seal(staging)
        versions.make_current(version)
        removed = versions.retire(origin.settings.release.keep)
    return Written(version, version not in before, tuple(removed), context.summary)


def _write_restricted(release: Release, folder: Path) -> None:
    """Rows of single studies; what is written has passed its rules and guarantees."""
    studies = release.studies
    studies.require_unique()
    with ExitStack() as stack:
        plain = {name: stack.enter_context(growing_csv(folder / f"{name}.csv")) for name in _PLAIN}
        for tables in studies.parts("batch", _PLAIN):
            for name, append in plain.items():  # a person mends what was rejected, in a spreadsheet
                append(sheet_frame(tables[name]) if name == "rejected" else tables[name])
    write_labels(_judged(studies), folder)
    with (
        growing_csv(folder / "Lunguage_plus_plus.csv") as csv,
        growing_parquet(RELEASE, folder / "Lunguage_plus_plus.parquet") as parquet,
        growing_csv(folder / "studies.csv") as studies_csv,
        growing_parquet(STUDIES, folder / "studies.parquet") as studies_parquet,
        (folder / "RECORDS").open("w", encoding="utf-8") as records,
    ):
        for tables in studies.parts("patient", _LISTED):
            rows, accounts, reports, aside = tables.values()
            refuse_violations(rows, accounts, reports)
            _refuse_missing(rows, accounts)
            released = released_rows(rows, release.ranker, release.ranking)
            csv(published_frame(released, reports))
            parquet(released[RELEASE.names])
            listed = studies_frame(accounts, reports, aside)
            studies_csv(listed)
            studies_parquet(listed)
            names = zip(listed["subject_id"], listed["study_id"], strict=True)
            records.writelines(f"{subject}/{study}\n" for subject, study in names)


def _judged(studies: NewestStudies) -> Iterator[Tables]:
    """Yield the tables of labels, their rules about probabilities asserted."""
    for tables in studies.parts("study", (*LABEL_TABLES, "fitted_probabilities")):
        for name in ("fitted_probabilities", "lunguage_plus_plus"):
            refuse_broken(name, tables[name])
        yield tables


def _refuse_missing(rows: pd.DataFrame, accounts: pd.DataFrame) -> None:
    """Raise `InvalidTable` unless every study has as many LUNGUAGE_PLUS_PLUS rows as its account says."""
    found = rows["study_id"].value_counts().reindex(accounts["study_id"], fill_value=0).to_numpy()
    wrong = accounts.loc[found != accounts["rows_out"].to_numpy(), "study_id"].tolist()
    if wrong or len(rows) != found.sum():
        raise InvalidTable(
            f"lunguage_plus_plus: not the rows that accounting counted, for instance of {wrong[:5]}. Launch "
            "`expand` for their batches."
        )


def _context_of(
    release: Release,
    origin: Origin,
    analyses: Mapping[str, pd.DataFrame],
    examples: pd.Series,
) -> ReportContext:
    shown, stale = shown_analyses(analyses, release.ranking)
    totals = totals_of(release)
    return ReportContext(
        ranker=release.ranker,
        totals=totals,
        counted=paper_tables(release.studies, origin.dictionary.statistics()),
        points=_points(release.studies, totals.placed),
        ranking=release.ranking,
        examples=examples,
        analyses=shown,
        stale_analyses=stale,
        origin=origin,
        provenance=provenance(origin, release.ranker, release.ranking, release.batches, totals.encoders),
    )


def _points(studies: NewestStudies, placed: int) -> pd.DataFrame:
    """FITTED_PROBABILITIES rows that are drawn one by one (`calibration_plot`), few of many."""
    wanted = ", ".join(map(str, [-1, *thinned(placed).tolist()]))
    columns = "finding_id, mu, p, p_low, p_high"
    return pd.DataFrame(
        studies.values(
            f"SELECT {columns} FROM (SELECT {columns}, "
            "row_number() OVER (ORDER BY mu, finding_id) - 1 AS place "
            f"FROM {studies.rows('fitted_probabilities')} WHERE mu IS NOT NULL) WHERE place IN ({wanted}) "
            "ORDER BY place"
        )
    )


def _write_open(context: ReportContext, folder: Path) -> None:
    """Ranking, scale and knowledge: nothing that counts reports, and of patients' no phrase that is longer
    than a hedge, because it may be a sentence.
    """
    for name, frame in (("ranking", context.ranking), ("phrase_scale", context.scale)):
        shown = (
            frame if context.origin.is_synthetic else frame.assign(phrase=frame["phrase"].map(shown_phrase))
        )
        write_csv(flat(shown), folder / f"{name}.csv")
    for name, file in (("pathways", context.origin.pathways), ("blacklist", context.origin.blacklist)):
        replace_text(folder / f"{name}.yaml", file.read_text(encoding="utf-8"))


def _write_counts(context: ReportContext, folder: Path) -> None:
    """The paper's tables, the analyses, and the report with its figures."""
    counted = {f"table_{name}": frame for name, frame in vars(context.counted).items()}
    for name, frame in (counted | dict(context.analyses)).items():
        write_csv(flat(frame), folder / f"{name}.csv")
    figures = report_figures(context)
    write_figures(figures, folder / "figures")
    replace_text(folder / "report.html", report_page(context, figures))


def _write_documents(context: ReportContext, staging: Path) -> None:
    """Provenance, the dictionary of the files that are there, README, licence, and what each part
    may be used for.
    """
    present = {part: {path.name for path in (staging / part).iterdir()} for part in ("open", "restricted")}
    texts = {
        "open/provenance.json": json_text(context.provenance),
        "open/data_dictionary.md": bundle_dictionary(present["open"], present["restricted"]),
        **notes(context),
    }
    for path, text in texts.items():
        replace_text(staging / path, text)
