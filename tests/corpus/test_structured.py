"""Structured rows become the findings that the same rows would be in a delivered
file.
"""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from stored_tables import plain_row

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import row_of_a_study, take_in, take_in_structured
from lunguage_assets.corpus.lunguage import lunguage_frame
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import (
    ATTRIBUTES,
    INTAKE_NOTES,
    REJECTED,
    SECTIONS,
    STATUSES,
    TABLES,
    TERMS,
)
from lunguage_assets.tables.corpus import REPORT_TEXTS, STRUCTURED_FINDINGS

NAMES = ("opacity", "effusion", "edema", "pneumonia", "ground-glass nodules")
VIEWS = (("pa, lateral", "metadata"), ("ap", "report text"), ("", "unknown"))


def received(studies: int, rejected: pd.DataFrame | None = None) -> Received:
    """Invented reports of two patients in turn, without dates."""
    texts = []
    for number in range(studies):
        views, source = VIEWS[number % len(VIEWS)]
        values = {
            "study_id": f"s{50000000 + number}",
            "subject_id": f"p{10000000 + number % 2}",
            "source_id": str(number),
            "sequence": 0,
            "view_information": views,
            "view_source": source,
            "report": f"FINDINGS: Invented report {number}.",
        }
        texts.append(plain_row(REPORT_TEXTS, **values))
    rejected = REJECTED.frame() if rejected is None else rejected
    beside = (rejected, INTAKE_NOTES.frame(), TERMS.frame())
    return Received(REPORT_TEXTS.frame(texts), *beside)


def structured(studies: int, rows: int, seed: int) -> pd.DataFrame:
    """Invented rows with references among each other, shuffled; every study has
    some.
    """
    dice = random.Random(seed)
    numbers: dict[tuple[str, str], int] = {}
    findings = []
    for row_number in range(rows):
        study = f"s{50000000 + row_number % studies}"
        section = dice.choice(SECTIONS)
        number = numbers[study, section] = numbers.get((study, section), 0) + 1
        name = dice.choice(NAMES)
        earlier = [f"{section}:{earlier_number}" for earlier_number in range(1, number)]
        values = {
            "study_id": study,
            "section": section,
            "sent_idx": dice.randint(1, 3),
            "sent": f"There may be {name.upper()}, or nothing.",
            "ent_idx": number,
            "ent": name.upper(),
            "normed_ent": name,
            "status": dice.choice(STATUSES),
            "location": dice.choice(["", "left, base", "RUL"]),
            **{column: dice.choice(["", "", "some"]) for column in ATTRIBUTES},
            "evidence": dice.sample(earlier, min(len(earlier), dice.randint(0, 2))),
            "associate": dice.sample(earlier, min(len(earlier), dice.randint(0, 1))),
        }
        findings.append(plain_row(STRUCTURED_FINDINGS, **values))
    dice.shuffle(findings)
    return STRUCTURED_FINDINGS.frame(findings)


def as_raw_reports_number_them(delivered: pd.DataFrame) -> pd.DataFrame:
    """Findings of a file, which numbers its rows, with numbers and ids inside each
    study.
    """
    number = delivered.groupby("study_id").cumcount() + 1
    ids = pd.Series(map(row_of_a_study, delivered["study_id"], number), dtype="str")
    new_id = dict(zip(delivered["finding_id"], ids, strict=True))

    def renumbered(tokens: list[str]) -> list[str]:
        return [new_id.get(token, token) for token in tokens]

    references = {
        column: delivered[column].map(renumbered)
        for column in ("evidence", "associate")
    }
    return delivered.assign(finding_id=ids, row=number, **references)


@given(st.integers(1, 6), st.integers(6, 40), st.integers(0, 10_000))
@examples(25)
def test_the_findings_are_those_of_the_same_rows_delivered_as_a_file(
    tmp_path_factory: pytest.TempPathFactory, studies: int, rows: int, seed: int
) -> None:
    texts = received(studies)
    frame = structured(studies, rows, seed)
    intake = take_in_structured(texts, frame, CorpusSettings())
    folder = tmp_path_factory.mktemp("delivered")
    lunguage_frame(texts.report_texts, frame).to_csv(
        folder / "Lunguage.csv", index=False
    )
    delivered = take_in(find_delivery(folder), CorpusSettings())
    unlike = ["view_information", "cues"]
    expected = as_raw_reports_number_them(delivered.findings)
    pd.testing.assert_frame_equal(
        intake.findings.drop(columns=unlike), expected.drop(columns=unlike)
    )
    unlike = ["source_id", "view_information", "view_source"]
    pd.testing.assert_frame_equal(
        intake.reports.drop(columns=unlike), delivered.reports.drop(columns=unlike)
    )
    notes, notes_delivered = (
        table.loc[table["finding_id"] != "", ["study_id", "reason"]].to_numpy().tolist()
        for table in (intake.intake_notes, delivered.intake_notes)
    )
    assert notes == notes_delivered


def test_a_report_has_the_same_sorted_ids_in_every_batch() -> None:
    texts = received(5)
    frame = structured(5, 60, 1)
    last = "s50000004"
    alone = Received(
        texts.report_texts[texts.report_texts["study_id"] == last],
        *(texts.rejected, texts.intake_notes, texts.terms),
    )
    findings = take_in_structured(texts, frame, CorpusSettings()).findings
    frame_of_last = frame[frame["study_id"] == last]
    apart = take_in_structured(alone, frame_of_last, CorpusSettings()).findings
    findings_of_last = findings[findings["study_id"] == last].reset_index(drop=True)
    columns = [
        name for name in findings.columns if name not in ("subject_id", "sequence")
    ]
    pd.testing.assert_frame_equal(apart[columns], findings_of_last[columns])
    assert apart["finding_id"].tolist() == sorted(apart["finding_id"])
    assert apart["finding_id"].iloc[0] == f"{last}:0001"


def test_every_table_is_valid_and_the_order_of_rows_does_not_matter() -> None:
    texts = received(5)
    frame = structured(5, 60, 1)
    first = take_in_structured(texts, frame, CorpusSettings())
    shuffled = frame.sample(frac=1, random_state=2, ignore_index=True)
    second = take_in_structured(texts, shuffled, CorpusSettings())
    for name in ("reports", "findings", "rejected", "intake_notes", "terms"):
        TABLES[name].to_arrow(getattr(first, name))
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name))


def test_a_report_without_findings_stays_and_rejected_records_are_counted() -> None:
    values = {"study_id": "s50000000", "reason": "report-repeated"}
    row = plain_row(REJECTED, **values)
    refused = REJECTED.frame([row, row | {"study_id": "s50000001"}])
    intake = take_in_structured(
        received(2, refused), structured(1, 7, 0), CorpusSettings()
    )
    assert intake.reports["source_id"].tolist() == ["0", "1"]
    assert intake.reports["rows_delivered"].tolist() == [8, 1]
    assert intake.reports["rows_rejected"].tolist() == [1, 1]
    words = ["expected", "remedy"]
    assert intake.rejected.drop(columns=words).equals(refused.drop(columns=words))


def test_a_reference_to_no_other_row_is_left_out() -> None:
    frame = structured(1, 3, 0)
    own = f"{frame.at[0, 'section']}:{frame.at[0, 'ent_idx']}"
    frame.at[0, "evidence"] = ["impr:99", own]
    intake = take_in_structured(received(1), frame, CorpusSettings())
    finding_ids = set(intake.findings["finding_id"])
    row: Any
    for row in intake.findings.itertuples():
        assert set(row.evidence) <= finding_ids - {row.finding_id}
