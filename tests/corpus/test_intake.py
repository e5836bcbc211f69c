"""A delivery as a whole: nothing disappears, nothing depends on order, nothing bad
harms anything good.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from delivered_rows import Row, as_csv
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.findings import findings_table
from lunguage_assets.corpus.intake import Intake, take_in
from lunguage_assets.sample.files import write_sample
from lunguage_assets.settings import CorpusSettings


@pytest.fixture(scope="module")
def sample_rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """Forty invented rows, with references among each other and tentative ones."""
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder, reports=12, seed=0)
    with (folder / "Lunguage.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))[:40]


def content_of(rows: Sequence[Row]) -> str:
    return as_csv(rows, list(rows[0]))


def intake_of(folder: Path, content: str) -> Intake:
    (folder / "Lunguage.csv").write_text(content, encoding="utf-8", newline="")
    return take_in(find_delivery(folder), CorpusSettings())


def test_the_order_of_the_rows_in_the_file_does_not_matter(
    tmp_path: Path, sample_rows: list[Row]
) -> None:
    first = intake_of(tmp_path, content_of(sample_rows))
    shuffled = random.Random(2).sample(sample_rows, len(sample_rows))
    second = intake_of(tmp_path, content_of(shuffled))
    pd.testing.assert_frame_equal(first.findings, second.findings)
    pd.testing.assert_frame_equal(first.reports, second.reports)


BREAK = st.sampled_from(
    ["section", "dx_status", "cat", "ent_idx", "", "subject_id", "study_id", "ent"]
)


@given(st.lists(st.tuples(st.integers(0, 39), BREAK), max_size=12))
@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_found_or_rejected_and_bad_ones_change_no_good_one(
    tmp_path: Path, sample_rows: list[Row], broken: list[tuple[int, str]]
) -> None:
    unrelated = {"evidence": "", "associate": ""}
    rows = [{**values, **unrelated} for values in sample_rows]
    findings_of_all = intake_of(tmp_path, content_of(rows)).findings.set_index("row")
    for number, column in broken:
        rows[number][column] = "" if column == "ent" else "?"
    intake = intake_of(tmp_path, content_of(rows))
    bad = {number for number, _ in broken}
    assert set(intake.rejected["line"]) == {number + 1 for number in bad}
    assert len(intake.findings) + len(intake.rejected) == len(rows)
    unread = int((intake.rejected["study_id"] == "").sum())
    assert intake.reports["rows_delivered"].sum() + unread == len(rows)
    assert intake.reports["rows_rejected"].sum() + unread == len(intake.rejected)
    kept_findings = intake.findings.set_index("row")
    before = findings_of_all.loc[kept_findings.index]
    affected = ["same_name_in_sentence"]
    pd.testing.assert_frame_equal(
        kept_findings.drop(columns=affected), before.drop(columns=affected)
    )


def test_a_row_that_vanishes_on_the_way_leaves_the_counts_unequal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample_rows: list[Row]
) -> None:
    def with_one_less(*arguments: Any) -> pd.DataFrame:
        return findings_table(*arguments).iloc[1:]

    monkeypatch.setattr("lunguage_assets.corpus.intake.findings_table", with_one_less)
    intake = intake_of(tmp_path, content_of(sample_rows[:10]))
    counted = intake.reports[["rows_delivered", "rows_rejected"]].sum()
    assert counted["rows_delivered"] == 10
    assert len(intake.findings) + counted["rows_rejected"] == 9
