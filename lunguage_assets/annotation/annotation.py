"""The public functions `read` and `annotate`, and what they return (docs/read.md): the whole method in
memory, for one report or a frame of them, under the caller's own ids, with the characters in which every
value was read. No home, no Dagster, nothing stored or sent, and nothing of the method is decided here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.annotation.method import Frames, Given, bundled_method
from lunguage_assets.corpus.columns import folded_name, shown_names
from lunguage_assets.corpus.records import read_cells
from lunguage_assets.corpus.records import shown as stored
from lunguage_assets.corpus.texts.raw import LARGEST, decoded
from lunguage_assets.corpus.views import study_views, written
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.hedges.phrases import words_of
from lunguage_assets.implicit.rows import BARE, column_values
from lunguage_assets.release.deciding_cues import DecidingCue, deciding_cues
from lunguage_assets.release.row_words import status_of
from lunguage_assets.structuring.rows import read_spans
from lunguage_assets.tables import VIEWS

REPORTS_AT_ONCE = 1000
"""Reports that go through the method together; memory follows from it, results do not."""

REPORTS_IN_A_NOTEBOOK = 5
"""Reports that an `Annotation` shows of itself; the others are in its frames."""

_A_REPORT = "the text of one report"
_TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
_SENTENCE = ["study_id", "section", "sent_idx"]
_ROW_IDS = ("finding_id", "parent_id", "root_id", "survivor_id")
_LISTS_OF_IDS = ("evidence", "associate", "merged_ids", "finding_ids")
_WORDS = ["finding_id", "section", "sent_idx", "ent", "location"]
_CUES = ["study_id", "finding_id", *DecidingCue._fields]
_SPANS = [
    "study_id",
    "finding_id",
    "section",
    "status",
    "column",
    "begin",
    "end",
    "words",
]


@dataclass(frozen=True, repr=False)
class Annotation:
    """What reports say and imply. Frames with the columns of the stored tables (docs/data_dictionary.md);
    `study_id` is the caller's, `finding_id` joins them.

    Args:
        reports: one row per report, in the given order: views, notes on the text, the text.
        sentences: REPORT_SENTENCES, every sentence with its account.
        findings: LUNGUAGE_PLUS_PLUS with `phrases`, the hedging phrases, and `parent_pathway_id`, the pathway
            that implied a row.
        labels: LABELS, one row per report and label.
        conflicts: CONFLICTS: rows about the same finding and place that disagree or repeat each other, before
            they were resolved.
        left_out: RESOLUTION_LOG of the rows that are not among the findings, with their words.
        spans: characters of every value that was read.
        cues: the words that decided status and time of a row: id of the cue, what it says, its characters.
        set_aside: reports of which a row broke a rule of the method, with the rule: nothing is concluded from
            them, and only `reports` and `sentences` have them, too.
    """

    reports: pd.DataFrame
    sentences: pd.DataFrame
    findings: pd.DataFrame
    labels: pd.DataFrame
    conflicts: pd.DataFrame
    left_out: pd.DataFrame
    spans: pd.DataFrame
    cues: pd.DataFrame
    set_aside: pd.DataFrame

    def __repr__(self) -> str:
        """Counts only: the frames hold report text."""
        counts = ", ".join(
            f"{part.name}: {len(getattr(self, part.name))}" for part in fields(self)
        )
        return f"Annotation({counts})"

    def _repr_html_(self) -> str:
        """The first reports as the page of `lunguage read` shows them, in a notebook."""
        from lunguage_assets.annotation.page import notebook_frame

        first = self.reports["study_id"].head(REPORTS_IN_A_NOTEBOOK)
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        shown = {
            name: frame[frame["study_id"].isin(first)] for name, frame in parts.items()
        }
        return notebook_frame(Annotation(**shown), repr(self))


def read(text: str, *, views: str = "", cues: Path | str | None = None) -> Annotation:
    """What one report says and implies; its `study_id` is "report".

    Args:
        text: the report, with or without headings.
        views: projections and postures, such as "PA and lateral"; empty: those that the text names.
        cues: a file of words of negation and doubt, which are added to the packaged ones (docs/adding.md).

    Raises:
        InputError: `text` is no text or too long, or `views` names no view.
        ConfigurationError: the file of cues cannot be used.
    """
    return _annotated(
        [report_of("report", text, views, "read", ("text", "views"))], cues
    )


def annotate(
    frame: pd.DataFrame | Iterable[str],
    text: str = "report",
    study_id: str = "study_id",
    views: str = "",
    *,
    cues: Path | str | None = None,
) -> Annotation:
    """What many reports say and imply; each is read alone, whatever the others say.

    Args:
        frame: one report per row, or texts alone (a list, a series); a missing text is an empty report.
        text: the column of the texts.
        study_id: the column of the reports' ids, each once; they are compared as text. Without a column
            `study_id` the index has them.
        views: the column of the views, as for `read`; empty: those that the texts name.
        cues: as for `read`.

    Raises:
        InputError: a column is missing, an id is missing or repeated, a cell is no text, too long, or names
            no view. The message names row (from 0) and column.
    """
    if isinstance(frame, str | bytes):
        remedy = "Use `read` for one report."
        raise InputError(
            "frame", f"a {type(frame).__name__}", "a frame, or a list of texts", remedy
        )
    if not isinstance(frame, Iterable) or isinstance(frame, Mapping):
        # Of a mapping the ids would be read as if they were the texts.
        found, expected = f"a {type(frame).__name__}", "a frame, or a list of texts"
        raise InputError(
            "frame", found, expected, "Give one report per row, or texts alone."
        )
    if not isinstance(frame, pd.DataFrame):
        texts = frame if isinstance(frame, pd.Series) else list(frame)
        frame = pd.Series(texts, dtype=object).to_frame(text)
    if study_id == "study_id" not in frame.columns:
        frame = frame.assign(study_id=frame.index)
    for column in filter(None, (text, study_id, views)):
        if column not in frame.columns:
            known = (text, study_id, views, "report", "study_id")
            found = f"the columns {shown_names([*map(str, frame.columns)], known)}"
            remedy = "Name the column that holds it: annotate(frame, text=..., study_id=..., views=...)."
            raise InputError(
                "frame", found, "one report per row", remedy, column=column
            )
        if isinstance(frame[column], pd.DataFrame):
            remedy = "Give every column a name of its own."
            raise InputError(
                "frame",
                "columns of one name",
                "each column once",
                remedy,
                column=column,
            )
    said = frame[views].tolist() if views else [""] * len(frame)
    cells = zip(
        range(len(frame)),
        frame[study_id].tolist(),
        frame[text].tolist(),
        said,
        strict=True,
    )
    return _annotated(_of_rows("frame", cells, (study_id, text, views)), cues)


def annotate_table(
    path: Path,
    text: str = "report",
    study_id: str = "",
    views: str = "",
    cues: Path | str | None = None,
) -> tuple[Iterator[Annotation], list[int]]:
    """The same of a CSV or Parquet file, in parts of `REPORTS_AT_ONCE`, and the rows (from 1) that cannot be
    read, which are left out. Without `study_id`, a column of that name has the ids, else the row's number is.

    Raises:
        InputError: a column is missing, or as of `annotate`.
    """
    names = [folded_name(name) for name in (study_id or "study_id", text, views)]
    required = [
        name
        for name, chosen in zip(names, (study_id, text, views), strict=True)
        if chosen
    ]
    there, records = read_cells(path, required, names[:1], keep_bytes=True)
    has_ids, broken = bool(study_id) or bool(there), []

    def cells() -> Iterator[tuple[int, Any, Any, Any]]:
        for record, cell in records:
            if record.broken:
                broken.append(record.number)
                continue
            own = stored(cell[names[0]]) if has_ids else record.number
            content = cell[names[1]].encode("utf-8", "surrogateescape")
            yield record.number, own, content, stored(cell[names[2]]) if views else ""

    given = _of_rows(path.name, cells(), (study_id or "study_id", text, views))
    return (Annotation(**part) for part in _parts(given, cues)), broken


def _of_rows(
    file: str, cells: Iterable[tuple[int, Any, Any, Any]], columns: tuple[str, str, str]
) -> list[Given]:
    """Reports of rows: number, id, text, views; every id once."""
    rows: dict[str, int] = {}
    given = []
    for row, own, content, view in cells:
        name = "" if is_missing(own) else str(own).strip()
        if not name or name in rows:
            found = f"the id of row {rows[name]}" if name else "nothing"
            remedy = "Give each report an id of its own."
            raise InputError(
                file, found, "every id once", remedy, row=row, column=columns[0]
            )
        if stored(name) != name:
            found, remedy = (
                "half a character, or a NUL",
                "Give the report an id of whole characters.",
            )
            raise InputError(
                file,
                found,
                "an id that can be stored",
                remedy,
                row=row,
                column=columns[0],
            )
        rows[name] = row
        content = "" if is_missing(content) else content
        given.append(report_of(name, content, view, file, columns[1:], row))
    return given


def annotate_files(
    paths: Sequence[str], views: str = "", cues: Path | str | None = None
) -> Annotation:
    """The same of files, one report each, in the given order; `-` is standard input.

    Raises:
        InputError: a file cannot be read or has nothing in it, or as of `read`.
    """
    given = []
    for path in dict.fromkeys(paths):
        if path.lower().removesuffix(".gz").endswith(_TABLES):
            remedy = f"Label each of its reports: lunguage annotate {path} > labels.csv"
            raise InputError(path, "a table", _A_REPORT, remedy)
        try:
            content = (
                sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
            )
        except OSError as error:
            found = str(error.strerror).lower()
            raise InputError(
                path, found, _A_REPORT, "Name a file with a report in it."
            ) from None
        report = report_of(stored(path), content, views, path, ("", "--views"))
        if not report.text:
            raise InputError(
                path, "nothing", _A_REPORT, "Name a file with a report in it."
            )
        given.append(report)
    return _annotated(given, cues)


def report_of(
    name: str,
    content: Any,
    views: Any,
    file: str,
    of: tuple[str, str],
    row: int | None = None,
) -> Given:
    """A report from its text (`str` or `bytes`) and words for its views, checked before anything is read.

    `file`, `row` and the columns `of` text and views say in messages where they stand.
    """

    def wrong(column: str, found: str, expected: str, remedy: str) -> InputError:
        return InputError(file, found, expected, remedy, row=row, column=column or None)

    words = "" if is_missing(views) else str(views).strip()
    known = written(study_views(words)) if words else ""
    if words and not known:
        expected = f"views out of {', '.join(VIEWS)}"
        raise wrong(
            of[1],
            "words that name no view",
            expected,
            "Correct them, or leave them out.",
        )
    if not isinstance(content, str | bytes):
        remedy = "Give the text as str; for a frame or a list of texts use `annotate`."
        raise wrong(of[0], f"a {type(content).__name__}", _A_REPORT, remedy)
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if len(data) > LARGEST:
        raise wrong(
            of[0], "more than a million bytes", _A_REPORT, "Give each report by itself."
        )
    text = decoded(data)
    if not text.is_text:
        raise wrong(
            of[0], "bytes that are no text", _A_REPORT, "Give the report as plain text."
        )
    return Given(name, text.text, text.notes, known)


def is_missing(cell: Any) -> bool:
    """Whether a cell of a frame holds nothing: None, NA or NaN."""
    return bool(cell is None or cell is pd.NA or cell != cell)


def _parts(given: Sequence[Given], cues: Path | str | None) -> Iterator[Frames]:
    method = bundled_method(None if cues is None else Path(cues))
    for start in range(0, max(len(given), 1), REPORTS_AT_ONCE):
        studies = {
            f"s{start + at:08d}": one
            for at, one in enumerate(given[start : start + REPORTS_AT_ONCE])
        }
        read = method.read(studies)
        yield _frames(studies, read, method.conclude(read))


def _annotated(given: Sequence[Given], cues: Path | str | None) -> Annotation:
    parts = [*_parts(given, cues)]
    return Annotation(
        **{
            name: pd.concat([part[name] for part in parts], ignore_index=True)
            for name in parts[0]
        }
    )


def _frames(given: Mapping[str, Given], read: Frames, made: Frames) -> Frames:
    """The frames by name, from the tables of `Method.read` and `Method.conclude`."""
    notes = {study: list(one.notes) for study, one in given.items()}
    for study, reason in zip(
        *(read["reading_notes"][name] for name in ("study_id", "reason")), strict=True
    ):
        notes[study].append(reason)
    texts = read["report_texts"][
        ["study_id", "view_information", "view_source", "report"]
    ]
    listed = [list(dict.fromkeys(notes[study])) for study in texts["study_id"]]
    accounts = read["sentence_accounts"][[*_SENTENCE, "account", "reason"]]
    sentences = read["report_sentences"].merge(accounts, on=_SENTENCE, how="left")
    rows = made["lunguage_plus_plus"]
    phrases = _by(made["hedge_phrases"], ["finding_id"], "phrases")
    pathways = _by(made["expansions"], ["finding_id"], "parent_pathway_id")
    hedged = [list(phrases.get((own,), ())) for own in rows["finding_id"]]
    implied_by = [pathways.get((own,), "") for own in rows["finding_id"]]
    log = made["resolution_log"]
    gone = log[~log["event"].isin(["reference lost", "cell kept apart"])]
    words = pd.concat([made["findings"], made["expansions"]], ignore_index=True)[_WORDS]
    words = words.drop_duplicates("finding_id", keep="last")
    tables = {
        "reports": texts.assign(notes=pd.Series(listed, texts.index, dtype=object)),
        "sentences": sentences.fillna({"account": "nothing stated", "reason": ""}),
        "findings": rows.assign(
            phrases=pd.Series(hedged, rows.index, dtype=object),
            parent_pathway_id=implied_by,
        ),
        "labels": made["labels"],
        "conflicts": made["conflicts"],
        "left_out": gone.merge(words, on="finding_id", how="left", validate="m:1"),
        "spans": _spans(read, made, phrases),
        "cues": _cues(read, made),
        "set_aside": made["set_aside"],
    }
    row = _row_names(given)
    return {name: _named(table, given, row) for name, table in tables.items()}


def _row_names(given: Mapping[str, Given]) -> Callable[[str], str]:
    """From a row's id to the caller's, with the row's number in the report; bare names of references stay."""

    def named(own: str) -> str:
        if own.startswith(BARE):
            return own
        study, _, row = own.partition(":")
        number, slash, edges = row.partition("/")
        return f"{given[study].name}:{int(number)}{slash}{edges}"

    return named


def _named(
    table: pd.DataFrame, given: Mapping[str, Given], row: Callable[[str], str]
) -> pd.DataFrame:
    """A table with all its ids renamed, without patients and numbers that were made up for it."""
    renamed: dict[str, pd.Series] = {}
    for name in table.columns:
        if name == "study_id":
            renamed[name] = table[name].map(lambda study: given[study].name)
        elif name in _ROW_IDS:
            renamed[name] = table[name].map(row, na_action="ignore")
        elif name in _LISTS_OF_IDS:
            renamed[name] = table[name].map(lambda ids: list(map(row, ids)))
    typed = {name: values.astype(table[name].dtype) for name, values in renamed.items()}
    known = table.drop(columns=["subject_id", "source_id", "number"], errors="ignore")
    return known.assign(**typed).reset_index(drop=True)


def _spans(
    read: Frames, made: Frames, phrases: Mapping[tuple[Any, ...], Sequence[str]]
) -> pd.DataFrame:
    """The characters of every value of the structured rows, and of the hedging phrases of their sentences."""
    texts = _by(read["report_texts"], ["study_id"], "report")
    spans = _by(
        read["structured_findings"], ["study_id", "section", "ent_idx"], "spans"
    )
    begins, ends = (
        _by(read["report_sentences"], _SENTENCE, name) for name in ("begin", "end")
    )
    rows: list[tuple[Any, ...]] = []
    columns = ("finding_id", "study_id", "section", "status", "sent_idx", "ent_idx")
    for own, study, section, status, sent_idx, ent_idx in zip(
        *(made["findings"][name].tolist() for name in columns), strict=True
    ):
        text, where = texts[study,], (study, section, sent_idx)
        known = read_spans(spans[study, section, ent_idx])
        values = [
            (column, span.begin, span.end)
            for column, parts in known.items()
            for span in parts
        ]
        for phrase in phrases.get((own,), ()):
            found = [
                match.span()
                for match in words_of(phrase).finditer(text, begins[where], ends[where])
            ]
            at = known["ent"][0].begin
            values += [
                ("phrase", *span)
                for span in sorted(found, key=lambda span: abs(span[0] - at))[:1]
            ]
        rows += [
            (study, own, section, status, *value, text[value[1] : value[2]])
            for value in values
        ]
    return pd.DataFrame(rows, columns=_SPANS).astype(
        {name: "int64" if name in ("begin", "end") else "str" for name in _SPANS}
    )


def _cues(read: Frames, made: Frames) -> pd.DataFrame:
    """The cues that decided the stated rows, with their words."""
    texts = _by(read["report_texts"], ["study_id"], "report")
    rows: list[tuple[Any, ...]] = []
    columns = ["finding_id", "study_id", "status", "ent", "name", "cues"]
    for cells in made["findings"][columns].itertuples(index=False, name=None):
        row = dict(zip(columns, cells, strict=True))
        study = row["study_id"]
        cues = (
            deciding_cues(row["cues"], texts[study,], status_of(row))
            if row["cues"]
            else ()
        )
        rows += [(study, row["finding_id"], *cue) for cue in cues]
    return pd.DataFrame(rows, columns=_CUES).astype(
        {name: "int64" if name in ("begin", "end") else "str" for name in _CUES}
    )


def _by(frame: pd.DataFrame, key: list[str], value: str) -> dict[tuple[Any, ...], Any]:
    keys = zip(*(frame[name].tolist() for name in key), strict=True)
    return dict(zip(keys, column_values(frame, value), strict=True))
