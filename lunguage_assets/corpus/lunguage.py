"""The published form of findings, `Lunguage.csv`.

`read_findings` reads the delivered records column by column: each becomes a row, or is
rejected with its reason. `lunguage_frame` writes the rows of a structurer in the same
columns. What concerns a row alone, and what it may not share with earlier ones (its
number, its study's patient), is decided here; what needs the study as a whole is in
`findings.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.columns import (
    clean_list,
    first_alternative,
    first_said,
    mapped,
    patient_id,
    study_id,
    whole_number,
)
from lunguage_assets.corpus.log import IntakeLog, reasons
from lunguage_assets.corpus.records import cleaned, read_records
from lunguage_assets.corpus.references import REFERENCES, resolved_references
from lunguage_assets.corpus.texts.layouts import layouts
from lunguage_assets.corpus.vocabulary import Vocabulary, category_code
from lunguage_assets.tables import ATTRIBUTES, SECTIONS
from lunguage_assets.tables.values import values_of

MOST_ROWS_OF_A_STUDY = 5_000
"""No report has as many findings; a file whose column of study ids is constant has."""
_POLARITIES = {"positive": "p", "negative": "n"}
_CERTAINTIES = {"definitive": "d", "tentative": "t"}
_WORD_BY_CODE = {code: word for word, code in (_POLARITIES | _CERTAINTIES).items()}
"""A status such as `tp` is the code of a certainty and that of a polarity."""


class DeliveredFindings(NamedTuple):
    """Rows of findings that can be used, as they were delivered, and their studies.

    `studies` are by first appearance: `study_id`, `subject_id`, `source_id`, `sequence`
    (0: unsaid), `report`, `rows_delivered`. Those whose rows are all rejected are among
    them.
    """

    rows: pd.DataFrame
    studies: pd.DataFrame


def _finding_name(value: str) -> str | None:
    """Read the name of a finding, which has a letter or digit."""
    name = clean_list(value)
    return name if any(map(str.isalnum, name)) else None


def _reader_of(code_by_word: Mapping[str, str]) -> Callable[[str], str | None]:
    """Make what reads a word that has a code, in either case; None for another."""
    return lambda value: code_by_word.get(first_alternative(value).lower())


_READERS: Mapping[str, Callable[[str], Any]] = {
    "study_id": study_id,
    "subject_id": patient_id,
    "row": whole_number,
    "section": _reader_of({section: section for section in SECTIONS}),
    "dx_status": _reader_of(_POLARITIES),
    "dx_certainty": _reader_of(_CERTAINTIES),
    "ent": _finding_name,
    # Empty stays empty.
    "cat": lambda cell: cell and category_code(first_alternative(cell)),
    # A place in a time line that is not said is 0.
    "sequence": lambda cell: whole_number(cell or "0"),
    "sent_idx": whole_number,
    "ent_idx": whole_number,
    **dict.fromkeys(("location", *ATTRIBUTES), clean_list),
    "normed_ent": lambda cell: first_alternative(clean_list(cell)),
}
"""By column how its cells are read (None: they cannot be used)."""


def read_findings(
    path: Path, vocabulary: Vocabulary, log: IntakeLog
) -> DeliveredFindings:
    """Read a findings file; every record is a row, or is rejected with its reason.

    Args:
        path: a CSV or Parquet file with the columns of Lunguage.csv.
        vocabulary: gives canonical names.
        log: takes rejected rows, and notes on them and on columns.

    Raises:
        InputError: a required column is missing, or the file cannot be read.
    """
    # The published file numbers its rows in a column without a name.
    unnamed = ["unnamed column 1", "unnamed:_0"]
    names = [*_READERS, "sent", "report", *REFERENCES, *unnamed]
    required = layouts()["findings"].known_by
    records = read_records(path, names, required=required)
    # In a broken record the cells of other columns may stand where the id was.
    log.reject(records.broken, file=path.name, line=records.broken.index)
    if records.note:
        log.note(records.note, file=path.name)
    cells = cleaned(records.values, names)
    position = (cells.index.to_series() - 1).astype("str")
    numbers = (cells[name] for name in unnamed)
    cells["row"] = first_said(cells["row"], *numbers, position)
    coded = cells.assign(source_id=cells["study_id"], line=cells.index, file=path.name)
    for name, read in _READERS.items():
        coded[name] = mapped(cells[name], read)
    refused = _refused(coded)
    contents = records.values.loc[refused.index].to_dict("records")
    log.reject(
        coded.loc[refused.index, ["file", "line", "study_id"]].join(refused),
        found=[cells.at[cell] or "nothing" for cell in refused["column"].items()],
        content=[json.dumps(content, ensure_ascii=False) for content in contents],
    )
    rows = coded.drop(refused.index)
    rows = rows.assign(
        finding_id=rows["study_id"] + ":" + rows["row"].astype(str),
        status=rows["dx_certainty"] + rows["dx_status"],
        cues="",
    )
    rows = resolved_references(rows, vocabulary)
    return DeliveredFindings(rows, _studies(coded, rows))


def _refused(coded: pd.DataFrame) -> pd.DataFrame:
    """Find the first `reason` against a record, and the `column` that is wrong."""
    study = coded["study_id"]
    subject = coded["subject_id"]
    # The first row whose patient can be read says whose the study is.
    patient = subject.groupby(study).transform("first")
    number = coded["row"].where(subject == patient)
    checks = {
        (reason, column): coded[column].isna()
        for column, reason in reasons()["columns"].items()
    }
    checks["study-of-two-patients", "subject_id"] = subject != patient
    is_again = number.notna() & number.duplicated()
    checks["duplicate-row-number", "row"] = is_again
    is_long = study.groupby(study).transform("size") > MOST_ROWS_OF_A_STUDY
    checks["study-too-long", "study_id"] = is_long
    is_wrong = pd.DataFrame(checks)
    first = is_wrong[is_wrong.any(axis="columns")].idxmax(axis="columns")
    return pd.DataFrame(first.tolist(), first.index, ["reason", "column"], dtype=object)


def _studies(coded: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """List the studies whose id can be read, also those whose rows are all rejected."""
    # What a row says of its study counts if the row does; empty says nothing.
    said = coded[["subject_id", "source_id"]].assign(
        sequence=rows["sequence"].where(rows["sequence"] > 0),
        report=rows["report"].where(rows["report"] != ""),
    )
    of_studies = said.groupby(coded["study_id"], sort=False)
    unsaid = {"subject_id": "", "sequence": 0, "report": ""}
    studies = of_studies.first().fillna(unsaid)
    return studies.assign(rows_delivered=of_studies.size()).reset_index()


def in_report_order(structured_findings: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by study, section and number; the index counts them from 0."""
    rows = structured_findings.assign(
        rank=structured_findings["section"].map(SECTIONS.index)
    )
    return rows.sort_values(["study_id", "rank", "ent_idx"], ignore_index=True)


def referred(rows: pd.DataFrame, column: str, values: Iterable[str]) -> pd.Series:
    """Replace what rows refer to by values of these rows; what is named twice is once.

    No row refers to itself: a structurer may say so, as of a row that it did not write.

    Args:
        rows: of structurers, which refer by section and number (`find:2`).
        column: `evidence` or `associate`.
        values: one for each row.
    """
    keys = (
        rows["study_id"] + " " + rows["section"] + ":" + rows["ent_idx"].astype("str")
    ).tolist()
    value_by_key = dict(zip(keys, values, strict=True))
    cells = []
    for own_key, (study, references) in zip(
        keys, values_of(rows, "study_id", column), strict=True
    ):
        named = dict.fromkeys(f"{study} {reference}" for reference in references)
        named.pop(own_key, None)
        cells.append([value_by_key[key] for key in named if key in value_by_key])
    return pd.Series(cells, rows.index, dtype=object)


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
    texts = report_texts.set_index("study_id")[["subject_id", "report"]]
    names = rows["normed_ent"] + ", idx" + rows["ent_idx"].astype(str)
    references = {
        column: referred(rows, column, names).map(", ".join) for column in REFERENCES
    }
    return (
        rows.join(texts, on="study_id")
        .rename(columns=ATTRIBUTES)
        .assign(
            dx_status=rows["status"].str[1].map(_WORD_BY_CODE),
            dx_certainty=rows["status"].str[0].map(_WORD_BY_CODE),
            **references,
        )
    )
