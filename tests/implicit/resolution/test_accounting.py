"""Every row accounted for, every guarantee really checked."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from invented_reports import STUDY, identity, run, said

from lunguage_assets.implicit.resolution.accounting import account, explained_studies
from lunguage_assets.implicit.resolution.guarantees import (
    LIVING_PARENT,
    NO_CLASH,
    NO_SURER,
    NOT_AGAINST,
    ONE_ROW_PER_KEY,
    STUDY_PRESENT,
    UNIQUE_NUMBERS,
    WHOLE_REFERENCES,
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


def test_rejected_rows_are_counted_also_where_no_study_can_be_read() -> None:
    outcome = run([said("scar")])
    reports = REPORTS.frame(
        [
            {
                "study_id": STUDY,
                "subject_id": "p",
                "sequence": 1,
                "report": "",
                "view_information": "",
                "view_source": "unknown",
            }
            | {"rows_delivered": 3, "rows_rejected": 2}
        ]
    )
    refused = [("s00000001", 1), ("s00000001", 2), ("s00000009", 3), ("", 4)]
    texts = dict.fromkeys(("column", "found", "expected", "remedy", "reason", "content"), "")
    rejected = REJECTED.frame(
        [{"file": "Lunguage.csv", "line": line, "study_id": study, **texts} for study, line in refused]
    )
    accounts = account(reports, rejected, outcome.deduplicated, outcome.expansion, outcome.resolution)
    ACCOUNTING.to_arrow(accounts)
    assert accounts[["study_id", "rows_in", "rejected", "rows_out"]].values.tolist() == [
        ["", 1, 1, 0],
        [STUDY, 3, 2, 1],
        ["s00000009", 1, 1, 0],
    ]
    assert accounts["balanced"].all()


def test_accounts_do_not_balance_when_a_row_vanishes() -> None:
    outcome = run([said("scar"), said("CHF")])
    reports = REPORTS.frame(
        [
            {
                "study_id": STUDY,
                "subject_id": "p",
                "sequence": 1,
                "report": "",
                "view_information": "",
                "view_source": "unknown",
            }
            | {"rows_delivered": 3, "rows_rejected": 0}
        ]
    )
    short = account(reports, REJECTED.frame(), outcome.deduplicated, outcome.expansion, outcome.resolution)
    assert not short["balanced"].any()
    assert explained_studies(short) == []


@cache
def good_records() -> list[dict[str, Any]]:
    rows = run([said("CHF"), said("scar", evidence=["~cough"])]).rows
    assert violations(rows) == []
    return rows.to_dict("records")


def spoiled(change: Any) -> set[str]:
    """Guarantees that break when a good result is changed."""
    records = copy.deepcopy(good_records())
    change({record["finding_id"]: record for record in records}, records)
    return {found.guarantee for found in violations(LUNGUAGE_PLUS_PLUS.frame(records))}


def test_every_guarantee_is_really_checked() -> None:
    child = identity(0) + "/1/0"
    assert spoiled(lambda by_id, _: by_id[identity(1)].update(name="cardiomegaly")) == {ONE_ROW_PER_KEY}
    assert spoiled(lambda by_id, _: by_id[identity(1)].update(name="cardiomegaly", status="dn")) == {
        ONE_ROW_PER_KEY,
        NO_CLASH,
        NOT_AGAINST,
    }
    assert spoiled(
        lambda by_id, _: by_id[identity(1)].update(name="heart size", status="dn", measurement="normal")
    ) == {NOT_AGAINST}
    assert spoiled(lambda by_id, _: by_id[identity(0)].update(support=0.6)) == {NO_SURER}
    assert spoiled(lambda by_id, _: by_id[identity(0)].update(status="tp")) == {NO_SURER}
    assert spoiled(lambda by_id, _: by_id[child].update(root_id=identity(1))) == {LIVING_PARENT}
    assert spoiled(lambda by_id, _: by_id[child].update(parent_id="s00000001:77")) == {LIVING_PARENT}
    assert spoiled(lambda by_id, _: by_id[child].update(parent_id=child)) == {LIVING_PARENT}
    assert spoiled(lambda by_id, _: by_id[identity(0)].update(status="tn")) == {LIVING_PARENT}
    assert spoiled(lambda by_id, _: by_id[identity(1)].update(evidence=["s00000001:77"])) == {
        WHOLE_REFERENCES
    }
    assert spoiled(lambda by_id, _: by_id[identity(1)].update(associate=[identity(1)])) == {WHOLE_REFERENCES}
    assert spoiled(lambda by_id, _: by_id[identity(1)].update(associate=[identity(0), identity(0)])) == {
        WHOLE_REFERENCES
    }
    assert spoiled(lambda by_id, _: by_id[identity(1)].update(idx=by_id[identity(0)]["idx"])) == {
        UNIQUE_NUMBERS
    }
    assert spoiled(lambda by_id, _: by_id[identity(1)].update(idx=99)) == {UNIQUE_NUMBERS}
    assert spoiled(lambda _, records: records.pop(0)) >= {LIVING_PARENT, WHOLE_REFERENCES}
