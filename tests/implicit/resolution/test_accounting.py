"""Every row accounted for, every guarantee really checked."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
from invented_reports import STUDY, identity, run, said

from lunguage_assets.implicit.resolution.guarantees import (
    LIVING_PARENT,
    NO_CLASH,
    NO_SURER,
    NOT_AGAINST,
    ONE_ROW_PER_KEY,
    STUDY_PRESENT,
    UNIQUE_NUMBERS,
    WHOLE_REFERENCES,
    account,
    explained_studies,
    violations,
)
from lunguage_assets.tables import ACCOUNTING, LUNGUAGE_PLUS_PLUS, REJECTED, REPORTS


def test_a_study_of_which_nothing_is_left_is_listed_and_explained() -> None:
    rows = [
        said("opacity", study="s00000001", row=0),
        said("opacity", "dn", study="s00000001", row=1),
        said("cancer", section="hist", study="s00000002", row=2),
        said("scar", study="s00000003", row=3),
    ]
    outcome = run(rows)
    accounts = outcome.accounting.set_index("study_id")
    assert accounts["balanced"].all()
    assert accounts["removed"].tolist() == [2, 0, 0]
    assert accounts["excluded"].tolist() == [0, 1, 0]
    explained = explained_studies(outcome.accounting)
    assert explained == ["s00000001", "s00000002"]
    studies = outcome.accounting["study_id"].tolist()
    assert violations(outcome.rows, studies, explained) == []
    assert [
        found.study_id for found in violations(outcome.rows, studies) if found.guarantee == STUDY_PRESENT
    ] == explained


def delivered(rows: int, rejected: int) -> pd.DataFrame:
    """REPORTS of the one study."""
    empty = dict.fromkeys(("report", "view_information"), "") | {"view_source": "unknown", "sequence": 1}
    numbers = {"rows_delivered": rows, "rows_rejected": rejected}
    return REPORTS.frame([{"study_id": STUDY, "subject_id": "p", **empty, **numbers}])


def test_rejected_rows_are_counted_also_where_no_study_can_be_read() -> None:
    outcome = run([said("scar")])
    reports = delivered(3, rejected=2)
    refused = [("s00000001", 1), ("s00000001", 2), ("s00000009", 3), ("", 4)]
    texts = dict.fromkeys(("column", "found", "expected", "remedy", "reason", "content"), "")
    rejected = REJECTED.frame(
        [{"file": "Lunguage.csv", "line": line, "study_id": study, **texts} for study, line in refused]
    )
    accounts = account(reports, rejected, outcome.deduplicated, outcome.expansion, outcome.resolution)
    ACCOUNTING.to_arrow(accounts)
    counted = accounts[["study_id", "rows_in", "rejected", "rows_out"]].values.tolist()
    assert counted == [["", 1, 1, 0], [STUDY, 3, 2, 1], ["s00000009", 1, 1, 0]]
    assert accounts["balanced"].all()


def test_accounts_do_not_balance_when_a_row_vanishes() -> None:
    outcome = run([said("scar"), said("CHF")])
    reports = delivered(3, rejected=0)
    short = account(reports, REJECTED.frame(), outcome.deduplicated, outcome.expansion, outcome.resolution)
    assert not short["balanced"].any()
    assert explained_studies(short) == []


@cache
def good_records() -> list[dict[str, Any]]:
    rows = run([said("CHF"), said("scar", evidence=["~cough"])]).rows
    assert violations(rows) == []
    return rows.to_dict("records")


def spoiled(own: str, change: dict[str, Any]) -> set[str]:
    """Guarantees that break when a row of a good result is changed."""
    records = [{**row, **(change if row["finding_id"] == own else {})} for row in good_records()]
    return {found.guarantee for found in violations(LUNGUAGE_PLUS_PLUS.frame(records))}


def test_every_guarantee_is_really_checked() -> None:
    child = identity(0) + "/1/0"
    normal = {"name": "heart size", "status": "dn", "measurement": "normal"}
    for own, change, broken in (
        (identity(1), {"name": "cardiomegaly"}, {ONE_ROW_PER_KEY}),
        (identity(1), {"name": "cardiomegaly", "status": "dn"}, {ONE_ROW_PER_KEY, NO_CLASH, NOT_AGAINST}),
        (identity(1), normal, {NOT_AGAINST}),
        (identity(0), {"support": 0.6}, {NO_SURER}),
        (identity(0), {"status": "tp"}, {NO_SURER}),
        (child, {"root_id": identity(1)}, {LIVING_PARENT}),
        (child, {"parent_id": "s00000001:77"}, {LIVING_PARENT}),
        (child, {"parent_id": child}, {LIVING_PARENT}),
        (identity(0), {"status": "tn"}, {LIVING_PARENT}),
        (identity(1), {"evidence": ["s00000001:77"]}, {WHOLE_REFERENCES}),
        (identity(1), {"associate": [identity(1)]}, {WHOLE_REFERENCES}),
        (identity(1), {"associate": [identity(0), identity(0)]}, {WHOLE_REFERENCES}),
        (identity(1), {"idx": 1}, {UNIQUE_NUMBERS}),
        (identity(1), {"idx": 99}, {UNIQUE_NUMBERS}),
    ):
        assert spoiled(own, change) == broken, change
    rest = LUNGUAGE_PLUS_PLUS.frame(good_records()[1:])
    assert {found.guarantee for found in violations(rest)} >= {LIVING_PARENT, WHOLE_REFERENCES}
