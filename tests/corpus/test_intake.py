"""A delivery as a whole: nothing disappears, nothing depends on order, nothing bad
harms anything good.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from delivered_rows import Deliver, as_csv, row
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.findings import findings_table
from lunguage_assets.corpus.intake import Intake, take_in
from lunguage_assets.settings import CorpusSettings

ENTS = ["opacity", "effusions", "edema", "nodules", "ptx"]


def corpus(count: int, seed: int = 0) -> list[dict[str, str]]:
    """Invented rows of several studies and sections, with references and tentative
    ones.
    """
    dice = random.Random(seed)
    rows = []
    for number in range(count):
        ent = dice.choice(ENTS)
        study = number // 5
        reference = f"{dice.choice(ENTS)}, idx{dice.randrange(count)}"
        cells = {
            "study_id": f"s{50000000 + study}",
            "subject_id": f"p{10000000 + study // 2}",
            "sequence": str(1 + study % 2),
            "report": f"Invented report\nnumber {study}.",
            "section": dice.choice(["hist", "find", "impr"]),
            "sent": f"Possible {ent}, invented.",
            "dx_status": dice.choice(["positive", "negative"]),
            "dx_certainty": dice.choice(["definitive", "tentative"]),
            "evidence": dice.choice(["", reference, "haze"]),
            "location": dice.choice(["", "RUL", "left, base"]),
        }
        rows.append(row(number, ent=ent, normed_ent="", **cells))
    return rows


def intake_of(folder: Path, content: str) -> Intake:
    (folder / "Lunguage.csv").write_text(content, encoding="utf-8", newline="")
    return take_in(find_delivery(folder), CorpusSettings())


def test_the_order_of_the_rows_in_the_file_does_not_matter(deliver: Deliver) -> None:
    rows = corpus(60)
    first = deliver(rows)
    shuffled = list(rows)
    random.Random(2).shuffle(shuffled)
    second = deliver(shuffled)
    pd.testing.assert_frame_equal(first.findings, second.findings)
    pd.testing.assert_frame_equal(first.reports, second.reports)


BREAK = st.sampled_from(
    ["section", "dx_status", "cat", "ent_idx", "", "subject_id", "study_id", "ent"]
)


@given(st.lists(st.tuples(st.integers(0, 39), BREAK), max_size=12))
@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_found_or_rejected_and_bad_ones_change_no_good_one(
    tmp_path: Path, broken: list[tuple[int, str]]
) -> None:
    rows = [values | {"evidence": ""} for values in corpus(40)]
    findings_of_all = intake_of(tmp_path, as_csv(rows)).findings.set_index("row")
    for number, column in broken:
        rows[number] = rows[number] | {column: "" if column == "ent" else "?"}
    intake = intake_of(tmp_path, as_csv(rows))
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_one_less(*arguments: Any) -> pd.DataFrame:
        return findings_table(*arguments).iloc[1:]

    monkeypatch.setattr("lunguage_assets.corpus.intake.findings_table", with_one_less)
    intake = intake_of(tmp_path, as_csv(corpus(10)))
    counted = intake.reports[["rows_delivered", "rows_rejected"]].sum()
    assert counted["rows_delivered"] == 10
    assert len(intake.findings) + counted["rows_rejected"] == 9
