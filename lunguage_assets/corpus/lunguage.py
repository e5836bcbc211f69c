"""The published form of findings, `Lunguage.csv`.

`read_findings` reads the delivered records column by column: each becomes a row, or is
rejected with its reason. `lunguage_frame` writes the rows of a structurer in the same
columns. What concerns a row alone, and what it may not share with earlier ones (its
number, its study's patient), is decided here; what needs the study as a whole is in
`findings.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.columns import (
    ROW_NUMBER,
    clean_list,
    first_alternative,
    first_said,
    mapped,
)
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import (
    NOT_PARSED,
    Records,
    cells_by_name,
    read_records,
)
from lunguage_assets.corpus.vocabulary import Vocabulary, category_code
from lunguage_assets.tables import ATTRIBUTES, SECTIONS

MOST_ROWS_OF_A_STUDY = 5_000
"""No report has as many findings; a file whose column of study ids is constant has."""
_NOTE_ON_MISSING_COLUMN = {
    ROW_NUMBER: "row-numbers-made",
    "sent_idx": "positions-derived",
    "ent_idx": "positions-derived",
}
"""Reasons of notes on missing columns whose values are counted instead."""
_POLARITIES = ("positive", "negative")
_CERTAINTIES = ("definitive", "tentative")
_WORD_BY_CODE = {word[0]: word for word in (*_POLARITIES, *_CERTAINTIES)}
"""A status such as `tp` is the code of a certainty and that of a polarity."""


class DeliveredFindings(NamedTuple):
    """Rows of findings as they were delivered, and their studies.

    Args:
        rows: those that can be used.
        refused: rejected rows whose cells did not move, as targets of references.
        studies: by first appearance: `study_id`, `subject_id`, `source_id`,
            `first_line`, `sequence` (0: unsaid), `report`, `rows_delivered`.
    """

    rows: pd.DataFrame
    refused: pd.DataFrame
    studies: pd.DataFrame


def _optional_number(value: str) -> int | None:
    """Read a number; empty is -1."""
    return columns.whole_number(value) if value else -1


def _finding_name(value: str) -> str | None:
    """Read the name of a finding, which has a letter or digit."""
    name = clean_list(value)
    return name if any(map(str.isalnum, name)) else None


def _category(value: str) -> str | None:
    """Read a category; empty stays empty."""
    if not value:
        return ""
    return category_code(columns.without_repetition(first_alternative(value)))


_MEANINGS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "study_id": ("study-id", columns.study_id),
    "subject_id": ("subject-id", columns.subject_id),
    ROW_NUMBER: ("row-number", columns.whole_number),
    "section": ("section", columns.section),
    "dx_status": ("dx-status", partial(columns.status_code, words=_POLARITIES)),
    "dx_certainty": ("dx-certainty", partial(columns.status_code, words=_CERTAINTIES)),
    "ent": ("finding-empty", _finding_name),
    "cat": ("category", _category),
    "sequence": ("number", _optional_number),
    "sent_idx": ("number", _optional_number),
    "ent_idx": ("number", _optional_number),
}
"""By column the reason of a rejection, and how its cells are read (None: they cannot be
used), in the order in which a record is looked through: the first counts.
"""


def read_findings(
    path: Path, vocabulary: Vocabulary, log: IntakeLog
) -> DeliveredFindings:
    """Read a findings file; every record is a row, or is rejected with its reason.

    Args:
        path: a CSV or Parquet file with the columns of Lunguage.csv.
        vocabulary: gives categories that are missing.
        log: takes rejected rows, and notes on them and on columns.

    Raises:
        InputError: a required column is missing, or the file cannot be read.
    """
    records = read_records(path, columns.NAMES)
    known = columns.map_columns(records.header, path.name)
    for name in known.ignored:
        log.note("column-ignored", path.name, column=name)
    for name in columns.OPTIONAL:
        if name not in known.index_by_name:
            reason = _NOTE_ON_MISSING_COLUMN.get(name, "column-missing")
            log.note(reason, path.name, column=name)
    names = (*columns.REQUIRED, *columns.OPTIONAL)
    cells = cells_by_name(records.values, known.index_by_name, names)
    if known.has_passages:
        cells["sent"] = _chosen_sentences(cells)
    coded = pd.DataFrame(
        {name: mapped(cells[name], read) for name, (_, read) in _MEANINGS.items()}
    )
    if ROW_NUMBER not in known.index_by_name:
        coded[ROW_NUMBER] = cells.index - 1
    # In a broken record other columns may stand in the place of these.
    is_broken = pd.Series(cells.index.isin(records.broken.index), cells.index)
    is_plain = mapped(cells["study_id"], columns.is_plainly_study).astype(bool)
    coded["study_id"] = coded["study_id"].mask(is_broken & ~is_plain, None)
    _count_positions(cells, coded, ~is_broken & coded["study_id"].notna())
    refusals = _refusals(coded, records.broken)
    _reject(path.name, records, cells, coded["study_id"], refusals, log)
    is_used = refusals["reason"] == ""
    rows = _rows(cells, coded, vocabulary).assign(file=path.name)
    _note_derived(rows[is_used], cells[is_used], known.index_by_name, log)
    # Cells of a record that cannot be parsed may be those of other columns; what is
    # another patient's is no row of this study; of a study that is too long none is.
    no_targets = (*NOT_PARSED, "study-of-two-patients", "study-too-long")
    is_target = ~is_used & coded["study_id"].notna()
    refused = rows[is_target & ~refusals["reason"].isin(no_targets)]
    return DeliveredFindings(rows[is_used], refused, _studies(cells, coded, is_used))


def _chosen_sentences(cells: pd.DataFrame) -> pd.Series:
    """Choose each row's sentence in a numbered passage; empty when it has none."""
    passages = mapped(cells["sent"], columns.numbered_sentences)
    numbers = mapped(cells["sent_idx"], columns.whole_number)
    # A passage without numbers is a sentence.
    sentences = [
        passage.get(number, "") if passage else whole
        for passage, number, whole in zip(passages, numbers, cells["sent"], strict=True)
    ]
    return pd.Series(sentences, cells.index, dtype=object)


def _count_positions(
    cells: pd.DataFrame, coded: pd.DataFrame, is_counted: pd.Series
) -> None:
    """Number sentences and findings inside their section where the file does not.

    Rejected records are counted too: the numbers are those of the file. Sentences are
    counted from 0 and findings from 1; a sentence is new when its text differs from the
    one before.
    """
    keys = [coded["study_id"][is_counted], coded["section"][is_counted].fillna("")]
    sentences = cells.loc[is_counted, "sent"]
    previous = sentences.groupby(keys).shift()
    is_new = (sentences != previous) & previous.notna()
    counted = {
        "sent_idx": is_new.astype(int).groupby(keys).cumsum(),
        "ent_idx": sentences.groupby(keys).cumcount() + 1,
    }
    for name, numbers in counted.items():
        coded[name] = coded[name].mask(coded[name] == -1, numbers)


def _refusals(coded: pd.DataFrame, broken: pd.DataFrame) -> pd.DataFrame:
    """Find the first reason against each record, and the column that is wrong."""
    refusals = pd.DataFrame("", coded.index, ["reason", "column"], dtype=object)
    refusals.loc[broken.index, "reason"] = broken["reason"]

    def refuse(is_wrong: pd.Series, reason: str, column: str) -> None:
        """Refuse records that no earlier reason refuses.

        Args:
            is_wrong: which of all records.
            reason: a code.
            column: that is wrong.
        """
        is_first = is_wrong & (refusals["reason"] == "")
        refusals.loc[is_first, ["reason", "column"]] = [reason, column]

    study = coded["study_id"]
    # The first row whose patient can be read says whose the study is.
    patient = coded.groupby(study)["subject_id"].transform("first")
    is_other = coded["subject_id"].notna() & (coded["subject_id"] != patient)
    has_place = study.notna() & (coded["subject_id"] == patient)
    has_place &= refusals["reason"] == ""
    repeated = coded.loc[has_place, ROW_NUMBER].duplicated()
    for column, (reason, _) in _MEANINGS.items():
        refuse(coded[column].isna(), reason, column)
        if column == "subject_id":
            refuse(is_other, "study-of-two-patients", column)
        if column == ROW_NUMBER:
            is_repeated = repeated.reindex(coded.index, fill_value=False)
            refuse(is_repeated, "duplicate-row-number", column)
    sizes = study[refusals["reason"] == ""].value_counts()
    too_long = sizes.index[sizes > MOST_ROWS_OF_A_STUDY]
    refuse(study.isin(too_long), "study-too-long", "study_id")
    return refusals


def _reject(
    file: str,
    records: Records,
    cells: pd.DataFrame,
    studies: pd.Series,
    refusals: pd.DataFrame,
    log: IntakeLog,
) -> None:
    """Reject the records that cannot be used, with all that they hold.

    Args:
        file: name of the delivered file.
        records: as they were read.
        cells: of all records.
        studies: the ids of their studies.
        refusals: as of `_refusals`.
        log: takes the rejections.
    """
    names = [name or columns.unnamed(n) for n, name in enumerate(records.header)]
    # The first column of the published file has no name, and keeps none.
    names[0] = records.header[0]
    refused: Iterator[Any] = refusals[refusals["reason"] != ""].itertuples()
    for line, reason, column in refused:
        if line in records.broken.index:
            _, found, content = records.broken.loc[line]
        else:
            found = cells.at[line, column] or "nothing"
            cell_by_name = dict(zip(names, records.values.loc[line], strict=True))
            content = json.dumps(cell_by_name, ensure_ascii=False)
        log.reject(
            reason,
            file,
            line,
            study_id=studies[line] or "",
            column=column,
            found=found,
            content=content,
        )


def _rows(
    cells: pd.DataFrame, coded: pd.DataFrame, vocabulary: Vocabulary
) -> pd.DataFrame:
    """Make the rows of all records; those that are refused count as targets alone."""
    normed_ent = mapped(cells["normed_ent"], lambda x: first_alternative(clean_list(x)))
    ent = first_said(coded["ent"].fillna(""), cells["ent"])
    listed = mapped(
        first_said(normed_ent, ent), lambda name: vocabulary.category(name) or "OTH"
    )
    finding_id = coded["study_id"].astype(str) + ":" + coded[ROW_NUMBER].astype(str)
    return cells.assign(
        line=cells.index,
        row=coded[ROW_NUMBER],
        finding_id=finding_id,
        study_id=coded["study_id"],
        section=coded["section"].fillna(""),
        sent_idx=coded["sent_idx"],
        ent_idx=coded["ent_idx"],
        ent=ent,
        normed_ent=normed_ent,
        cat=first_said(coded["cat"].fillna(""), listed),
        status=coded["dx_certainty"] + coded["dx_status"],
        cues="",
        **{name: mapped(cells[name], clean_list) for name in ("location", *ATTRIBUTES)},
    )


def _studies(
    cells: pd.DataFrame, coded: pd.DataFrame, is_used: pd.Series
) -> pd.DataFrame:
    """List the studies whose id can be read, also those whose rows are all rejected."""
    of_studies = pd.DataFrame(
        {
            "subject_id": coded["subject_id"],
            "source_id": cells["study_id"],
            "first_line": cells.index,
            # What a row says of its study counts if the row does; empty says nothing.
            "sequence": coded["sequence"].where(is_used & (coded["sequence"] != -1)),
            "report": cells["report"].where(is_used & (cells["report"] != "")),
        }
    ).groupby(coded["study_id"])
    studies = of_studies.first().assign(rows_delivered=of_studies.size())
    studies = studies.fillna({"subject_id": "", "sequence": 0, "report": ""})
    return studies.reset_index().sort_values("first_line")


def _note_derived(
    rows: pd.DataFrame,
    cells: pd.DataFrame,
    present: Mapping[str, int],
    log: IntakeLog,
) -> None:
    """Note values that the cells do not have, have several of, or differ in a study.

    Args:
        rows: that are used.
        cells: of these rows.
        present: the columns that the file has.
        log: takes the notes.
    """
    rows = rows[["file", "line", "study_id"]]

    def note_once(reason: str, concerned: pd.DataFrame, column: str) -> None:
        """Note for the first row of a study what may hold for all.

        Args:
            reason: a code.
            concerned: rows.
            column: that the note is about.
        """
        log.note_rows(reason, concerned.drop_duplicates("study_id"), column)

    for reason, column in (
        ("sequence-differs", "sequence"),
        ("reports-differ", "report"),
    ):
        # "4" and "4.0" are one number.
        values = cells[column].str.removesuffix(".0").mask(cells[column] == "")
        first = values.groupby(rows["study_id"]).transform("first")
        note_once(reason, rows[values.notna() & (values != first)], column)
    for column in ("sent_idx", "ent_idx"):
        if column in present:
            note_once("positions-derived", rows[cells[column] == ""], column)
    if "cat" in present:
        log.note_rows("category-derived", rows[cells["cat"] == ""], "cat")
    for column in ("section", "dx_status", "dx_certainty", "normed_ent", "cat"):
        has_several = cells[column].str.contains("|", regex=False).astype(bool)
        log.note_rows("first-of-alternatives", rows[has_several], column)


def in_report_order(structured_findings: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by study, section and number; the index counts them from 0."""
    rank_by_section = {section: rank for rank, section in enumerate(SECTIONS)}
    rows = structured_findings.assign(
        section_rank=structured_findings["section"].map(rank_by_section)
    )
    rows = rows.sort_values(
        ["study_id", "section_rank", "ent_idx"], kind="stable", ignore_index=True
    )
    return rows.drop(columns="section_rank")


def lunguage_frame(
    report_texts: pd.DataFrame, structured_findings: pd.DataFrame
) -> pd.DataFrame:
    """Write rows in the columns of Lunguage.csv, by study, section and number.

    `frame.to_csv(path, index=False)` makes the file.

    Args:
        report_texts: `tables.REPORT_TEXTS` of all studies of the rows.
        structured_findings: `tables.STRUCTURED_FINDINGS` of one structurer.
    """
    rows = in_report_order(structured_findings)
    texts = report_texts.set_index("study_id")
    # A number is one of its section (`find:2`), as rows refer to each other by it.
    name_by_row: dict[tuple[str, str], str] = {}
    row: Any
    for row in rows[["study_id", "section", "ent_idx", "normed_ent"]].itertuples():
        key = (row.study_id, f"{row.section}:{row.ent_idx}")
        name_by_row[key] = f"{row.normed_ent}, idx{row.ent_idx}"

    def references(column: str) -> list[str]:
        cells = []
        for study_id, keys in zip(rows["study_id"], rows[column], strict=True):
            names = [name_by_row[study_id, key] for key in keys]
            cells.append(", ".join(names))
        return cells

    return pd.DataFrame(
        {
            # The published file numbers its rows in a column without a name.
            "": range(len(rows)),
            "subject_id": rows["study_id"].map(texts["subject_id"]),
            "study_id": rows["study_id"],
            "section": rows["section"],
            "report": rows["study_id"].map(texts["report"]),
            "sent_idx": rows["sent_idx"],
            "sent": rows["sent"],
            "ent_idx": rows["ent_idx"],
            "ent": rows["ent"],
            "normed_ent": rows["normed_ent"],
            "cat": rows["cat"],
            "dx_status": rows["status"].str[1].map(_WORD_BY_CODE),
            "dx_certainty": rows["status"].str[0].map(_WORD_BY_CODE),
            "location": rows["location"],
            "evidence": references("evidence"),
            "associate": references("associate"),
            **{published: rows[column] for column, published in ATTRIBUTES.items()},
        }
    )
