"""The published form of findings, `Lunguage.csv`.

`read_findings` reads the delivered records column by column: each becomes a row, or is
rejected with its reason. `lunguage_frame` writes the rows of a structurer in the same
columns. What concerns a row alone, and what it may not share with earlier ones (its
number, its study's patient), is decided here; what needs the study as a whole is in
`findings.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.columns import (
    ROW_NUMBER,
    clean_list,
    first_alternative,
    mapped,
)
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import (
    ENCODING,
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
    coded = _coded(cells, records)
    has_row_numbers = ROW_NUMBER in known.index_by_name
    refusals = _refusals(cells, coded, records, has_row_numbers)
    _reject(path.name, records, cells, coded, refusals, log)
    is_used = refusals["reason"] == ""
    rows = _rows(cells, coded, vocabulary)
    _note_derived(path.name, rows[is_used], cells[is_used], known.index_by_name, log)
    studies = _studies(cells, coded, is_used)
    # Cells of a record with too many or too few values may be those of other columns;
    # and what is another patient's is no row of this study.
    has_moved = records.broken["reason"] != ENCODING
    is_target = ~is_used & (refusals["reason"] != "study-of-two-patients")
    is_target &= coded["study_id"].notna() & ~rows.index.isin(
        records.broken.index[has_moved]
    )
    # Of a study that is too long no row is one.
    is_target &= refusals["reason"] != "study-too-long"
    return DeliveredFindings(rows[is_used], rows[is_target], studies)


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


def _coded(cells: pd.DataFrame, records: Records) -> pd.DataFrame:
    """Read the coded columns; None where a cell cannot be used."""
    coded = {name: mapped(cells[name], read) for name, (_, read) in _MEANINGS.items()}
    study_ids = mapped(cells["study_id"], columns.study_id)
    # In a broken record another column may stand in the place of the study.
    is_plain = mapped(cells["study_id"], columns.is_plainly_study).astype(bool)
    may_be_moved = cells.index.isin(records.broken.index)
    coded["study_id"] = study_ids.mask(may_be_moved & ~is_plain, None)
    coded["subject_id"] = mapped(cells["subject_id"], columns.subject_id)
    coded[ROW_NUMBER] = mapped(cells[ROW_NUMBER], columns.whole_number)
    return pd.DataFrame(coded)


def _refusals(
    cells: pd.DataFrame, coded: pd.DataFrame, records: Records, has_row_numbers: bool
) -> pd.DataFrame:
    """Find the first reason against each record, and the column that is wrong.

    Numbers that the file does not have are counted in `coded`.

    Args:
        cells: of all records.
        coded: what was read in them.
        records: as they were read.
        has_row_numbers: the file numbers its rows.
    """
    refusals = pd.DataFrame("", cells.index, ["reason", "column"], dtype=object)

    def refuse(is_wrong: pd.Series, reason: str, column: str) -> None:
        is_first = is_wrong & (refusals["reason"] == "")
        refusals.loc[is_first, ["reason", "column"]] = [reason, column]

    refusals.loc[records.broken.index, "reason"] = records.broken["reason"]
    study = coded["study_id"]
    refuse(study.isna(), "study-id", "study_id")
    # Rejected records are counted too: the numbers are those of the file.
    _count_positions(cells, coded, refusals["reason"] == "")
    refuse(coded["subject_id"].isna(), "subject-id", "subject_id")
    # The first row whose patient can be read says whose the study is.
    patient = coded.groupby(study)["subject_id"].transform("first")
    refuse(coded["subject_id"] != patient, "study-of-two-patients", "subject_id")
    if not has_row_numbers:
        coded[ROW_NUMBER] = cells.index - 1
    refuse(coded[ROW_NUMBER].isna(), "row-number", ROW_NUMBER)
    numbers = coded.loc[refusals["reason"] == "", ROW_NUMBER]
    repeated = numbers.duplicated().reindex(cells.index, fill_value=False)
    refuse(repeated, "duplicate-row-number", ROW_NUMBER)
    for column, (reason, _) in _MEANINGS.items():
        refuse(coded[column].isna(), reason, column)
    sizes = study[refusals["reason"] == ""].value_counts()
    too_long = study.isin(sizes.index[sizes > MOST_ROWS_OF_A_STUDY])
    refuse(too_long, "study-too-long", "study_id")
    return refusals


def _count_positions(
    cells: pd.DataFrame, coded: pd.DataFrame, is_counted: pd.Series
) -> None:
    """Number sentences and findings inside their section where the file does not.

    Sentences are counted from 0 and findings from 1, by file order; a sentence is new
    when its text differs from the one before.
    """
    keys = [coded["study_id"][is_counted], coded["section"][is_counted].fillna("")]
    sentences = cells.loc[is_counted, "sent"]
    previous = sentences.groupby(keys).shift()
    is_new = ((sentences != previous) & previous.notna()).astype(int)
    counted = {
        "sent_idx": is_new.groupby(keys).cumsum(),
        "ent_idx": sentences.groupby(keys).cumcount() + 1,
    }
    for name, numbers in counted.items():
        is_empty = coded[name] == -1
        coded[name] = coded[name].mask(is_empty, numbers.reindex(cells.index))


def _reject(
    file: str,
    records: Records,
    cells: pd.DataFrame,
    coded: pd.DataFrame,
    refusals: pd.DataFrame,
    log: IntakeLog,
) -> None:
    """Reject the records that cannot be used, with all that they hold.

    Args:
        file: name of the delivered file.
        records: as they were read.
        cells: of all records.
        coded: what was read in them.
        refusals: as of `_refusals`.
        log: takes the rejections.
    """
    names = [name or columns.unnamed(n) for n, name in enumerate(records.header)]
    # The first column of the published file has no name, and keeps none.
    names[0] = records.header[0]
    sizes = coded["study_id"][~refusals["reason"].isin(("", "section"))].value_counts()
    for line, (reason, column) in refusals[refusals["reason"] != ""].iterrows():
        study = coded.at[line, "study_id"]
        found = cells.at[line, column] if column else ""
        if line in records.broken.index:
            found = records.broken.at[line, "problem"]
        content = records.broken["raw"].get(line)
        if content is None:
            values = records.values.loc[line]
            content = json.dumps(
                dict(zip(names, values, strict=True)), ensure_ascii=False
            )
        if reason == "study-too-long":
            found = f"{sizes[study]:,} rows of {study}"
            content = ""
        log.reject(
            reason,
            file,
            int(line),
            study_id=study or "",
            column=column,
            found=found or "nothing",
            content=content,
        )


def _rows(
    cells: pd.DataFrame, coded: pd.DataFrame, vocabulary: Vocabulary
) -> pd.DataFrame:
    """Make the rows of all records; those that are refused count as targets alone."""
    ent = coded["ent"].where(coded["ent"].notna(), cells["ent"])
    normed_ent = mapped(cells["normed_ent"], lambda x: first_alternative(clean_list(x)))
    name = normed_ent.where(normed_ent != "", ent)
    listed = mapped(name, lambda x: vocabulary.category(x) or "OTH")
    category = coded["cat"].fillna("")
    finding_id = coded["study_id"].astype(str) + ":" + coded[ROW_NUMBER].astype(str)
    rows = {
        "line": cells.index,
        "row": coded[ROW_NUMBER],
        "finding_id": finding_id,
        "study_id": coded["study_id"],
        "section": coded["section"].fillna(""),
        "sent_idx": coded["sent_idx"],
        "sent": cells["sent"],
        "ent_idx": coded["ent_idx"],
        "ent": ent,
        "normed_ent": normed_ent,
        "cat": category.where(category != "", listed),
        "status": coded["dx_certainty"] + coded["dx_status"],
        "location": mapped(cells["location"], clean_list),
        "evidence": cells["evidence"],
        "associate": cells["associate"],
        **{name: mapped(cells[name], clean_list) for name in ATTRIBUTES},
        "cues": "",
    }
    return pd.DataFrame(rows)


def _studies(
    cells: pd.DataFrame, coded: pd.DataFrame, is_used: pd.Series
) -> pd.DataFrame:
    """List the studies whose id can be read, also those whose rows are all rejected."""
    study = coded["study_id"]
    by_study = cells.groupby(study, sort=False)

    def first_of_used(column: pd.Series, nothing: Any) -> pd.Series:
        said = column[is_used & (column != nothing)]
        return said.groupby(study[said.index]).first()

    studies = pd.DataFrame(
        {
            "subject_id": coded.groupby(study)["subject_id"].first(),
            "source_id": by_study["study_id"].first(),
            "first_line": by_study["study_id"].agg(lambda ids: ids.index[0]),
            "rows_delivered": by_study.size(),
            "sequence": first_of_used(coded["sequence"], -1),
            "report": first_of_used(cells["report"], ""),
        }
    )
    studies = studies.fillna({"subject_id": "", "sequence": 0, "report": ""})
    return studies.rename_axis("study_id").reset_index().sort_values("first_line")


def _note_derived(
    file: str,
    rows: pd.DataFrame,
    cells: pd.DataFrame,
    present: Mapping[str, int],
    log: IntakeLog,
) -> None:
    """Note values that the cells do not have, have several of, or differ in a study.

    Args:
        file: name of the delivered file.
        rows: that are used.
        cells: of these rows.
        present: the columns that the file has.
        log: takes the notes.
    """
    rows = rows[["line", "study_id"]].assign(file=file)
    for reason, column in (
        ("sequence-differs", "sequence"),
        ("reports-differ", "report"),
    ):
        values = cells[column]
        if column == "sequence":
            values = mapped(values, _optional_number).replace(-1, "")
        said = values[values != ""]
        first = said.groupby(rows["study_id"][said.index]).transform("first")
        differing = rows.loc[said.index[said != first]].drop_duplicates("study_id")
        log.note_rows(reason, differing, column)
    for column in {"sent_idx", "ent_idx", "cat"} & present.keys():
        empty = rows[cells[column] == ""]
        # The first row of a study stands for all, but for categories.
        if column == "cat":
            log.note_rows("category-derived", empty, column)
        else:
            empty = empty.drop_duplicates("study_id")
            log.note_rows("positions-derived", empty, column)
    for column in ("section", "dx_status", "dx_certainty", "normed_ent", "cat"):
        has_several = mapped(cells[column], lambda cell: "|" in cell).astype(bool)
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
