"""The release of a ranker: the newest delivery of every study over all its batches (`newest.py`), as a
version (`versions.py`) with an open and a restricted part.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api.types import is_list_like

from lunguage_assets.errors import InvalidTable
from lunguage_assets.explicit.rating.trueskill import BETA
from lunguage_assets.files import replace_text
from lunguage_assets.implicit.resolution.guarantees import refuse_violations
from lunguage_assets.implicit.rows import BARE
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.labels.study_labels import (
    chexpert_labels,
    chexpert_probabilities,
    label_evidence,
    label_frame,
)
from lunguage_assets.packaged_data import page_template
from lunguage_assets.parallel import map_chunks
from lunguage_assets.quality.rules import refuse_broken
from lunguage_assets.release.context import (
    ANALYSES,
    Release,
    ReportContext,
    context_of,
)
from lunguage_assets.release.newest import Order, Part
from lunguage_assets.release.provenance import Origin, json_text
from lunguage_assets.release.report import report_figures, report_page
from lunguage_assets.spreadsheets import sheet_frame
from lunguage_assets.tables import ATTRIBUTES, REFERENCE_RANKING, RELEASE, TABLES
from lunguage_assets.tables.columns import choices_told
from lunguage_assets.tables.released import (
    CHEXPERT_LABELS,
    CHEXPERT_PROBABILITIES,
    LABEL_TABLE,
    LABELS,
    PAPER_TABLES,
    PHRASE_SCALE,
    PUBLISHED_COLUMNS,
    STUDIES,
)
from lunguage_assets.tables.schema import Column, Table
from lunguage_assets.wording import shown_phrase
from lunguage_assets.workspace.versions import Written, publish

_TEMPLATES = {
    "README.md": "README.md.j2",
    "LICENSE": "LICENSE.j2",
    "open/USE.md": "open_use.md.j2",
    "restricted/USE.md": "restricted_use.md.j2",
    "restricted/LABELS.md": "LABELS.md.j2",
}

PLAIN = tuple(name for name, table in TABLES.items() if table.released == "as stored")
"""Tables that are written as they are stored, with the batch."""

_TOLD_FIRST = ("resolution_log", "conflicts", "pathway_matches", "accounting")
"""Of `PLAIN`, what the dictionary describes before the others: why rows are as they are."""

_HEAD = """# Data dictionary of this release

Absent text is the empty string; "may be empty" means null. In CSV, lists are joined by '; '. Columns marked
*report text* hold patient text in a credentialed corpus. **A finding that a report does not mention is not
thereby absent.**
"""

_OF_LABELS = (
    "lunguage_plus_plus",
    "pathway_matches",
    "reports",
    "resolution_log",
    "fitted_probabilities",
)
_OF_ROWS = ("lunguage_plus_plus", "accounting", "reports", "set_aside")

Files = Mapping[str, str | pa.Table]
"""What files grow by, by name: text of a CSV, or rows of a Parquet file."""


def write_bundle(
    release: Release,
    folder: Path,
    origin: Origin,
    analyses: Mapping[str, pd.DataFrame],
    examples: pd.Series,
) -> Written:
    """Write the release of the newest deliveries as a version below `folder` (`release/<ranker>`), unless one
    with the same files is there, and let `LATEST` name it. `analyses` are those of `ANALYSES` that there are,
    `examples` how often each hedging phrase was extracted, by phrase.

    Raises `MethodError` for batches that do not belong together, `InvalidTable` for rows that break a rule or
    a guarantee, `ConfigurationError` for a sealed version that has lost a file; no version is made then.
    """
    release.require_one_ranking()
    REFERENCE_RANKING.require(release.ranking, "as it was read for the release")
    for name, frame in analyses.items():
        ANALYSES[name].require(frame, "as it was read for the release")

    def build(version: Path) -> Mapping[str, Any]:
        _write_restricted(release, version / "restricted")
        labels = version / "restricted" / "labels.parquet"
        context = context_of(release, origin, analyses, examples, labels)
        _write_open(context, version / "open")
        _write_counts(context, version / context.part)
        texts = {
            "restricted/summary.json": json_text(context.summary),
            "open/provenance.json": json_text(context.provenance),
            "open/data_dictionary.md": bundle_dictionary(version),
            **notes(context),
        }
        for path, text in texts.items():
            replace_text(version / path, text)
        return context.summary

    return publish(folder, build, origin.settings.release.keep)


def _write_restricted(release: Release, folder: Path) -> None:
    """Rows of single studies; what is written has passed its rules and guarantees."""
    studies = release.studies
    count, ranked, processes = (
        studies.count,
        (release.ranker, release.ranking),
        release.processes,
    )
    written: Sequence[tuple[Callable[..., Files], Order, Sequence[str]]] = (
        (_plain, "batch", PLAIN),
        (_labels, "study", _OF_LABELS),
        (_rows, "patient", _OF_ROWS),
    )
    for write, order, names in written:
        parts = ((part,) for part in studies.parts(order, names))
        with growing_files(folder) as append:
            for files in map_chunks(
                write, parts, _tools, *ranked, studies=count, processes=processes
            ):
                append(files)


def _tools(*given: Any) -> tuple[Any, ...]:
    return *given, load_label_list()


def _plain(part: Part, *_: object) -> Files:
    """Tables as they are stored; what was rejected is for a spreadsheet, in which a person fixes it."""
    return {
        f"{name}.csv": csv_text(sheet_frame(rows) if name == "rejected" else rows)
        for name, rows in part.frames().items()
    }


def _rows(
    part: Part,
    ranker: str,
    ranking: pd.DataFrame,
    _: LabelList,
) -> Files:
    """Lunguage++ and the list of the studies."""
    rows, accounts, reports, aside = part.frames().values()
    refuse_violations(rows, accounts, reports)
    _refuse_missing(rows, accounts)
    released, listed = (
        released_rows(rows, ranker, ranking),
        studies_frame(accounts, reports, aside),
    )
    return {
        "Lunguage_plus_plus.csv": csv_text(published_frame(released, reports)),
        "Lunguage_plus_plus.parquet": RELEASE.to_arrow(released[RELEASE.names]),
        "studies.csv": csv_text(listed),
        "studies.parquet": STUDIES.to_arrow(listed),
    }


def _labels(
    part: Part,
    _ranker: str,
    _ranking: pd.DataFrame,
    listed: LabelList,
) -> Files:
    """The files of labels; the rules about probabilities are asserted on the rows behind them."""
    rows, matches, reports, log, fitted = part.frames().values()
    refuse_broken("fitted_probabilities", fitted)
    refuse_broken("lunguage_plus_plus", rows)
    said = label_evidence(rows, matches, listed, log)
    labels = label_frame(said, reports, listed)
    return {
        "labels.parquet": LABELS.to_arrow(labels),
        "labels.csv": csv_text(labels),
        "labels_chexpert.csv": csv_text(chexpert_labels(said, reports, listed)),
        "labels_probability.csv": csv_text(chexpert_probabilities(labels)),
    }


def published_frame(rows: pd.DataFrame, reports: pd.DataFrame) -> pd.DataFrame:
    """LUNGUAGE_PLUS_PLUS rows in the published columns, references by number (implicit.md section 6); `prob`
    is rounded to six decimals. `reports` are of the same studies; their text fills `report`.
    """
    report_of = dict(zip(reports["study_id"], reports["report"], strict=True))
    names = dict(zip(rows["finding_id"], rows["ent"], strict=True))
    numbers = dict(zip(rows["finding_id"], rows["idx"], strict=True))

    def written(tokens: list[str]) -> str:
        pairs = [
            f"{names[own]}, idx{numbers[own]}"
            for own in tokens
            if not own.startswith(BARE)
        ]
        bare = [token.removeprefix(BARE) for token in tokens if token.startswith(BARE)]
        return ", ".join(
            [*pairs, *bare]
        )  # before a pair a bare name would read as the beginning of its name

    published = {
        "cat": rows["cat"].str.upper(),
        "prob": rows["prob"].round(6),
        "evidence": [written(tokens) for tokens in rows["evidence"]],
        "associate": [written(tokens) for tokens in rows["associate"]],
        "report": [report_of[study] for study in rows["study_id"]],
        "DxTP": rows["currency"],
        **{public: rows[internal] for internal, public in ATTRIBUTES.items()},
    }
    columns = {
        name: published[name] if name in published else rows[name]
        for name in PUBLISHED_COLUMNS
    }
    return pd.DataFrame(columns, index=rows.index)


def released_rows(
    rows: pd.DataFrame, ranker: str, ranking: pd.DataFrame
) -> pd.DataFrame:
    """LUNGUAGE_PLUS_PLUS rows with their batch, in the order and with the columns of RELEASE."""
    ordered = rows.sort_values(
        ["subject_id", "sequence", "study_id", "idx"], kind="stable", ignore_index=True
    )
    judges = list(ranking["judges"].iloc[0])
    return ordered.assign(
        ranker=pd.Series(ranker, index=ordered.index, dtype="str"),
        judges=pd.Series([judges] * len(ordered), index=ordered.index, dtype=object),
        ruler=pd.Series(
            str(ranking["ruler"].iloc[0]), index=ordered.index, dtype="str"
        ),
    ).astype({"report_batch": "str"})


def studies_frame(
    accounts: pd.DataFrame, reports: pd.DataFrame, aside: pd.DataFrame
) -> pd.DataFrame:
    """ACCOUNTING (with `report_batch`), REPORTS and SET_ASIDE of some studies to STUDIES, sorted."""
    columns = ["study_id", "subject_id", "source_id", "view_information", "set_aside"]
    listed = [
        *(
            (*one, "")
            for one in reports[columns[:4]].itertuples(index=False, name=None)
        ),
        *(
            (*own, "", "", "; ".join(rows["rule"].unique()))
            for own, rows in aside.groupby(columns[:2])
        ),
    ]
    joined = accounts[["study_id", "report_batch", "rows_out"]].merge(
        pd.DataFrame(listed, columns=columns), on="study_id", validate="1:1"
    )
    joined["study_number"] = joined["study_id"].str[1:].astype("int64")
    joined["subject_number"] = joined["subject_id"].str[1:].astype("int64")
    ordered = joined.sort_values(["subject_number", "study_number"])
    return STUDIES.frame({name: ordered[name].tolist() for name in STUDIES.names})


def _refuse_missing(rows: pd.DataFrame, accounts: pd.DataFrame) -> None:
    """Raise `InvalidTable` unless every study has as many LUNGUAGE_PLUS_PLUS rows as its account says."""
    found = (
        rows["study_id"]
        .value_counts()
        .reindex(accounts["study_id"], fill_value=0)
        .to_numpy()
    )
    wrong = accounts.loc[found != accounts["rows_out"].to_numpy(), "study_id"].tolist()
    if wrong or len(rows) != found.sum():
        raise InvalidTable(
            f"lunguage_plus_plus: not the rows that accounting counted, for instance of {wrong[:5]}. Launch "
            "`expand` for their batches."
        )


def _write_open(context: ReportContext, folder: Path) -> None:
    """Ranking, scale and knowledge: nothing that counts reports, and of patients' no phrase that is longer
    than a hedge, because it may be a sentence.
    """
    for name, frame in (("ranking", context.ranking), ("phrase_scale", context.scale)):
        is_open = context.origin.is_synthetic
        shown = (
            frame if is_open else frame.assign(phrase=frame["phrase"].map(shown_phrase))
        )
        replace_text(folder / f"{name}.csv", csv_text(shown))
    for name in ("pathways", "blacklist"):
        _, file = context.origin.files[name]
        replace_text(folder / f"{name}.yaml", file.read_text(encoding="utf-8"))


def _write_counts(context: ReportContext, folder: Path) -> None:
    """The paper's tables, the analyses, and the report with its figures."""
    counted = {f"table_{name}": frame for name, frame in context.tables.items()}
    for name, frame in (counted | dict(context.analyses)).items():
        replace_text(folder / f"{name}.csv", csv_text(frame))
    figures = report_figures(context)
    (folder / "figures").mkdir(parents=True)
    for name, png in figures.items():
        (folder / "figures" / f"{name}.png").write_bytes(png)
    replace_text(folder / "report.html", report_page(context, figures))


@contextmanager
def growing_files(folder: Path) -> Iterator[Callable[[Files], None]]:
    """Files of a folder that grow part by part: a CSV by texts, of which the header of the first counts, a
    Parquet file by a row group, or some.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        streams: dict[str, BinaryIO] = {}
        writers: dict[str, pq.ParquetWriter] = {}

        def append(files: Files) -> None:
            for name, content in files.items():
                is_new = name not in streams
                if is_new:
                    stream = streams[name] = stack.enter_context(_synced(folder / name))
                if isinstance(content, str):
                    text = content if is_new else content.partition("\n")[2]
                    streams[name].write(text.encode("utf-8"))
                    continue
                if is_new:
                    opened = pq.ParquetWriter(
                        stream, content.schema, compression="zstd"
                    )
                    writers[name] = stack.enter_context(opened)
                writers[name].write_table(content)

        yield append


@contextmanager
def _synced(path: Path) -> Iterator[BinaryIO]:
    with path.open("wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


def csv_text(frame: pd.DataFrame) -> str:
    """Comma, LF, with a header; lists are joined by '; '."""
    mixed = [name for name in frame.columns if frame[name].dtype == object]
    joined = {
        name: ["; ".join(v) if is_list_like(v) else v for v in frame[name]]
        for name in mixed
    }
    return frame.assign(**joined).to_csv(index=False, lineterminator="\n")


def notes(context: ReportContext) -> dict[str, str]:
    """The texts of a version by their paths in it; none names the version."""
    values = {
        "context": context,
        "origin": context.origin,
        "provenance": context.provenance,
        "batches": [
            key
            for key, batch in context.provenance["batches"].items()
            if batch["included"]
        ],
        "widest_reading": BETA - 0.05,
    }
    return {
        path: page_template("release", name).render(values)
        for path, name in _TEMPLATES.items()
    }


def bundle_dictionary(version: Path) -> str:
    """The page of the tables that lie in a version; one that is there in several files is described once."""
    files = sorted(
        path for path in version.glob("*/*") if path.suffix in (".csv", ".parquet")
    )
    sections = []
    for name, table in _tables():
        there = [
            f"`{path.relative_to(version)}`"
            for path in files
            if name in (path.name, path.stem)
        ]
        if there:
            sections.append(table_section(table, " and ".join(there), ""))
    return "\n".join([_HEAD, *sections])


def _tables() -> Iterator[tuple[str, Table]]:
    """The table behind each file: by its name, or by its stem where CSV and Parquet have the same columns."""
    yield from (
        ("Lunguage_plus_plus.csv", _published()),
        ("Lunguage_plus_plus.parquet", RELEASE),
    )
    for name in (*_TOLD_FIRST, *(name for name in PLAIN if name not in _TOLD_FIRST)):
        yield (
            name,
            replace(
                TABLES[name],
                columns=(*TABLES[name].columns, RELEASE.column("report_batch")),
            ),
        )
    for table in (
        LABELS,
        CHEXPERT_LABELS,
        CHEXPERT_PROBABILITIES,
        STUDIES,
        PHRASE_SCALE,
    ):
        yield table.name, table
    yield from (("ranking", TABLES["reference_ranking"]), ("table_labels", LABEL_TABLE))
    yield from ((f"table_{name}", table) for name, table in PAPER_TABLES.items())
    yield from ANALYSES.items()


def _published() -> Table:
    """The published CSV, column by column: what is read is text, however the Parquet types it."""
    internal = {published: name for name, published in ATTRIBUTES.items()} | {
        "DxTP": "currency"
    }
    report = Column("report", "string", "Full report text", restricted=True)
    columns = [
        report
        if name == "report"
        else replace(RELEASE.column(internal.get(name, name)), name=name)
        for name in PUBLISHED_COLUMNS
    ]
    return Table(
        name="lunguage_plus_plus_csv",
        description=(
            "Lunguage++ in exactly the thirty published columns, with references as "
            "'name, idxN'. The Parquet of the same name has the same rows with their "
            "provenance."
        ),
        key=("study_id", "idx"),
        columns=tuple(columns),
    )


def table_section(table: Table, heading: str, stored: str) -> str:
    """One table with its columns, as Markdown; `stored`: where it is, a sentence and a space, or empty."""
    lines = [
        f"## {heading}",
        "",
        table.description,
        "",
        f"{stored}Key: {', '.join(table.key)}.",
        "",
    ]
    lines += ["| column | type | content |", "|---|---|---|"]
    lines += [
        f"| `{column.name}` | {column.type} | {_content(column)} |"
        for column in table.columns
    ]
    free = tuple(Column(one.name, one.type, "", nullable=True) for one in table.columns)
    of_several = replace(table, columns=free)
    rules = "; ".join(rule for rule, _ in of_several.rules(of_several.frame()))
    return "\n".join([*lines, "", f"Held by every stored row: {rules}.", ""])


def _content(column: Column) -> str:
    parts = [
        column.description.replace("|", "\\|").rstrip(".") + ".",
        choices_told(column),
    ]
    if column.minimum is not None and column.maximum is not None:
        parts.append(f"From {column.minimum:g} to {column.maximum:g}.")
    elif column.minimum is not None:
        parts.append(f"At least {column.minimum:g}.")
    elif column.maximum is not None:
        parts.append(f"At most {column.maximum:g}.")
    if column.pattern:
        parts.append(f"Form: `{column.pattern}`.".replace("|", "\\|"))
    if column.nullable:
        parts.append("May be empty.")
    if column.restricted:
        parts.append("*Report text.*")
    return " ".join(filter(None, parts))
