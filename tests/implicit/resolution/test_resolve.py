"""Contradictions resolved, every row accounted for, every guarantee really checked."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
import pytest
from invented_reports import STUDY, Outcome, identity, run, stated

import lunguage_assets
from lunguage_assets.implicit.resolution.guarantees import (
    CONFLICTS_LISTED,
    LIVING_PARENT,
    NO_CLASH,
    NO_SURER,
    NOT_AGAINST,
    ONE_ROW_PER_KEY,
    STUDY_PRESENT,
    WHOLE_REFERENCES,
    account,
    explained_studies,
    violations,
    violations_between,
)  # fmt: skip
from lunguage_assets.tables import (
    ACCOUNTING,
    LUNGUAGE_PLUS_PLUS,
    REJECTED,
    REPORTS,
    SET_ASIDE,
)


def logged(outcome: Outcome, finding_id: str, stage: str = "resolve") -> dict[str, Any]:
    """The one entry of the log that says what became of a row."""
    log = outcome.resolution.log
    entries = log[
        (log["finding_id"] == finding_id)
        & (log["stage"] == stage)
        & (log["event"] != "reference lost")
    ].to_dict("records")
    assert len(entries) == 1
    return {
        name: None if value is not None and value != value else value
        for name, value in entries[0].items()
    }


def conflicts(outcome: Outcome) -> set[tuple[str, str, str]]:
    frame = outcome.resolution.conflicts
    return set(zip(frame["name"], frame["conflict_type"], frame["source"], strict=True))


def lost_references(outcome: Outcome) -> set[tuple[str, str]]:
    log = outcome.resolution.log
    lost = log[log["event"] == "reference lost"]
    return set(zip(lost["finding_id"], lost["reference"], strict=True))


def test_rule_1_an_expansion_never_outweighs_what_the_report_says() -> None:
    outcome = run([stated("CHF"), stated("pulmonary edema", "tn", p=0.4)], mode="paper")
    assert identity(1) in outcome.ids()
    entry = logged(outcome, identity(0) + "/1")
    assert (entry["event"], entry["conflict_type"]) == ("discarded", "polarity")
    assert entry["rule"] == "rule 1: originals outrank expansions"
    assert entry["survivor_id"] is None


def test_rule_2_a_definite_contradiction_leaves_nothing() -> None:
    denied = stated("opacity", "dn", location="right upper lobe")
    outcome = run([stated("opacity", location="RUL"), denied, stated("scar")])
    assert outcome.names() == ["scar"]
    for number in (0, 1):
        entry = logged(outcome, identity(number))
        assert (entry["event"], entry["conflict_type"]) == ("removed", "polarity")
        assert entry["rule"] == "rule 2: definite contradiction"


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([stated("opacity", "tp", p=0.3), stated("opacity", "tn", p=0.4)], 1),  # 0.3 against 0.6
        ([stated("opacity", "tp", p=0.7), stated("opacity", "tn", p=0.3)], 0),  # a tie: tp before tn
        ([stated("opacity", "tp", p=1.0), stated("opacity", "dp", measurement="5 mm")], 1),  # a tie: dp before tp
        ([stated("opacity", "tn", p=0.0), stated("opacity", "dn", measurement="large")], 0),  # tn before dn
        ([stated("opacity", measurement="5 mm"), stated("opacity", measurement="8 mm", section="impr")], 1),
        ([stated("opacity", "dn"), stated("opacity", "tp", p=0.2)], 0),
    ],
)  # fmt: skip
def test_rule_3_keeps_the_highest_support_then_certainty_then_place(
    rows: list[Any], kept: int
) -> None:
    outcome = run(rows)
    assert outcome.rows["finding_id"].tolist() == [identity(kept)]
    assert logged(outcome, identity(1 - kept))["rule"] == "rule 3: highest support"


def test_a_loser_is_merged_or_of_the_other_polarity_removed() -> None:
    rows = [
        stated("opacity", "tp", p=0.8, measurement="5 mm", severity="mild"),
        stated("opacity", "tp", p=0.6, measurement="8 mm", severity="faint", evidence=[3], associate=["~a"]),
        stated("opacity", "tn", p=0.6, measurement="9 mm", severity="dense", evidence=[3]),
        stated("nodule", evidence=[1, 2], associate=[1]),
    ]  # fmt: skip
    outcome = run(rows)
    survivor = outcome.row(identity(0))
    cells = [survivor[name] for name in ("measurement", "severity", "prob")]
    assert cells == ["5 mm, 8 mm", "mild", 0.8]
    assert (survivor["evidence"], survivor["associate"]) == ([identity(3)], ["~a"])
    assert survivor["merged_ids"] == [identity(1)]
    columns = ("event", "survivor_id", "conflict_type")
    for number, expected in (
        (1, ["merged", identity(0), "duplicate_pos"]),
        (2, ["removed", None, "polarity"]),
    ):
        entry = logged(outcome, identity(number))
        assert [entry[name] for name in columns] == expected
    nodule = outcome.row(identity(3))
    assert (nodule["evidence"], nodule["associate"]) == ([identity(0)], [identity(0)])
    assert lost_references(outcome) == {(identity(3), identity(2))}


def test_the_children_of_a_merged_row_are_no_evidence_of_its_survivor() -> None:
    merged = stated("pneumonia", "tp", p=0.6, measurement="8 mm")
    outcome = run([stated("pneumonia", "tp", p=0.8, measurement="5 mm"), merged])
    assert outcome.row(identity(0))["evidence"] == [identity(0) + "/0"]
    assert lost_references(outcome) == set()


def test_stated_rows_that_contradict_by_containment_stay_and_are_listed() -> None:
    present = stated("effusion", "tp", p=0.6, location="left")
    outcome = run([stated("effusion", "dn"), present])
    assert outcome.rows["source"].tolist()[:2] == ["original", "original"]
    listed = ("pleural effusion", "stated_contradiction", "original-original")
    assert listed in conflicts(outcome)
    apart = run([stated("effusion", "dn", location="right"), present])
    assert conflicts(apart) == set()


def test_idx11_is_not_idx1() -> None:
    """Row 1 is removed; references to row 11 and the bare name `pleural effusion,
    idx11` stay whole.
    """
    references = [identity(11), "~pleural effusion, idx11"]
    rows = [
        stated("effusion", "dn"),
        stated("effusion", "tp", p=0.4),
        *(stated(f"filler{number}", "dn") for number in range(2, 11)),
        stated("pleural effusion", location="left", view=""),
        stated("scar", evidence=[1, 11, references[1]]),
    ]
    outcome = run(rows)
    assert outcome.row(identity(12))["evidence"] == references
    assert lost_references(outcome) == {(identity(12), identity(1))}


def test_a_sub_finding_of_what_has_resolved_has_no_living_parent() -> None:
    rows = run([stated("pulmonary edema")]).rows
    assert violations(rows) == []
    rows.loc[rows["source"] == "original", "improved"] = "resolved"
    assert {violation.guarantee for violation in violations(rows)} == {LIVING_PARENT}


def test_references_to_excluded_history_rows_go_and_are_logged() -> None:
    outcome = run(
        [stated("cancer", section="hist"), stated("scar", evidence=[0, "s00000001:99"])]
    )
    assert outcome.row(identity(1))["evidence"] == []
    assert lost_references(outcome) == {
        (identity(1), identity(0)),
        (identity(1), "s00000001:99"),
    }
    assert logged(outcome, identity(0), "deduplicate")["rule"] == "history section"


def test_a_suppressed_child_of_other_certainty_counts_as_a_conflict() -> None:
    doubted = stated("opacity", "tp", p=0.3, location="airspace")
    denied = stated("volume loss", "tn", p=0.3)
    rows = [stated("consolidation"), doubted, denied]
    outcome = run(rows)
    frame = outcome.resolution.conflicts
    assert frame["suppressed"].tolist() == [True, True]
    assert conflicts(outcome) == {
        ("opacity", "certainty_pos", "original-expansion"),
        ("volume loss", "certainty_neg", "original-expansion"),
    }
    assert frame["finding_ids"].tolist()[0] == [identity(0) + "/0", identity(1)]
    paper = {kind for _, kind, _ in conflicts(run(rows, mode="paper"))}
    assert "certainty_pos" not in paper


def test_idx_counts_the_stated_rows_first_and_every_child_after_its_parent() -> None:
    rows = [
        stated("scar", section="impr"),
        stated("CHF"),
        stated("fracture", sent_idx=0),
    ]
    outcome = run([*rows, stated("x", study="s00000002", row=0)])
    assert outcome.rows["idx"].tolist() == [*range(1, len(outcome.rows)), 1]
    first = outcome.rows[outcome.rows["study_id"] == STUDY]
    assert first["finding_id"].tolist()[:3] == [identity(2), identity(1), identity(0)]
    assert set(first["source"].iloc[3:]) == {"expansion"}
    position = first.set_index("finding_id")["idx"]
    children = first.iloc[3:]
    assert (position[children["parent_id"]].to_numpy() < children["idx"]).all()


@pytest.mark.parametrize(
    ("denial", "presence"),
    [
        (stated("effusion", "dn", sent="No loculated effusion.", morphology="loculated"), stated("effusion")),
        (stated("fracture", "dn", sent="No acute fracture."), stated("fracture", onset="old", location="left rib")),
        (stated("fracture", "dn", sent="No other fracture is seen."), stated("fracture", location="left rib")),
        (stated("effusion", "dn", sent="No large effusion.", measurement="large"), stated("effusion")),
        (stated("nodule", "tn", p=0.05, sent="No definite nodule."), stated("nodule", "tp", p=0.4)),
    ],
)  # fmt: skip
def test_a_denial_denies_no_more_than_it_says(denial: Any, presence: Any) -> None:
    outcome = run([denial, presence])
    assert conflicts(outcome) == set()
    assert (outcome.rows["source"] == "original").sum() == 2


def test_a_study_of_which_nothing_is_left_is_listed_and_explained() -> None:
    rows = [
        stated("opacity", study="s00000001", row=0),
        stated("opacity", "dn", study="s00000001", row=1),
        stated("cancer", section="hist", study="s00000002", row=2),
        stated("scar", study="s00000003", row=3),
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
    broken = violations(outcome.rows, studies)
    missing = [v.study_id for v in broken if v.guarantee == STUDY_PRESENT]
    assert missing == explained


def accounts_of(
    outcome: Outcome, rows: int, rejected: list[tuple[str, int]]
) -> pd.DataFrame:
    """The accounts of an outcome of the one study, of which so many rows came."""
    in_study = [line for study, line in rejected if study == STUDY]
    empty = dict.fromkeys(("report", "view_information", "source_id"), "")
    study = {"study_id": STUDY, "subject_id": "p", "view_source": "unknown"}
    numbers = {"sequence": 1, "rows_delivered": rows, "rows_rejected": len(in_study)}
    reports = REPORTS.frame([{**empty, **study, **numbers}])
    texts = ("column", "found", "expected", "remedy", "reason", "content")
    refused = [
        dict.fromkeys(texts, "") | {"file": "a.csv", "line": line, "study_id": study}
        for study, line in rejected
    ]
    delivered = {"reports": reports, "rejected": REJECTED.frame(refused)}
    return account({**outcome.tables, **delivered})


def test_rejected_rows_are_counted_also_where_no_study_can_be_read() -> None:
    refused = [(STUDY, 1), (STUDY, 2), ("s00000009", 3), ("", 4)]
    accounts = accounts_of(run([stated("scar")]), 3, refused)
    ACCOUNTING.to_arrow(accounts)
    counted = accounts[["study_id", "rows_in", "rejected", "rows_out"]].values.tolist()
    assert counted == [["", 1, 1, 0], [STUDY, 3, 2, 1], ["s00000009", 1, 1, 0]]
    assert accounts["balanced"].all()


def test_accounts_do_not_balance_when_a_row_vanishes() -> None:
    short = accounts_of(run([stated("scar"), stated("CHF")]), 3, [])
    assert not short["balanced"].any()
    assert explained_studies(short) == []


def test_a_conflict_of_which_both_sides_stay_cannot_leave_the_table_unnoticed() -> None:
    outcome = run(
        [
            stated("consolidation"),
            stated("opacity", "tp", p=0.3, location="airspace"),
            stated("effusion", "dn"),
            stated("effusion", "tp", p=0.6, location="left"),
        ]
    )
    expansions = outcome.expansion.expansions
    tables = outcome.tables | {
        "expansions": expansions,
        "accounting": outcome.accounting,
        "set_aside": SET_ASIDE.frame(),
    }
    conflicts = outcome.resolution.conflicts
    assert conflicts["conflict_type"].tolist() == [
        "certainty_pos",
        "stated_contradiction",
    ]
    assert list(violations_between(tables)) == []
    for number in range(2):
        left = tables | {"conflicts": conflicts.drop(number)}
        (violation,) = violations_between(left)
        assert violation.guarantee == CONFLICTS_LISTED


@cache
def good_records() -> list[dict[str, Any]]:
    rows = run([stated("CHF"), stated("scar", evidence=["~cough"])]).rows
    assert violations(rows) == []
    return rows.to_dict("records")


def spoiled(finding_id: str, change: dict[str, Any]) -> set[str]:
    """Guarantees that break when a row of a good result is changed."""
    records = [
        {**row, **(change if row["finding_id"] == finding_id else {})}
        for row in good_records()
    ]
    return {
        broken.guarantee for broken in violations(LUNGUAGE_PLUS_PLUS.frame(records))
    }


def test_every_guarantee_is_really_checked() -> None:
    child = identity(0) + "/1/0"
    denied = {"name": "cardiomegaly", "status": "dn"}
    normal = {"name": "heart size", "status": "dn", "measurement": "normal"}
    for finding_id, change, broken in (
        (identity(1), {"name": "cardiomegaly"}, {ONE_ROW_PER_KEY}),
        (identity(1), denied, {ONE_ROW_PER_KEY, NO_CLASH, NOT_AGAINST}),
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
    ):
        assert spoiled(finding_id, change) == broken, change
    orphaned = violations(LUNGUAGE_PLUS_PLUS.frame(good_records()[1:]))
    assert {v.guarantee for v in orphaned} >= {LIVING_PARENT, WHOLE_REFERENCES}


ONE_AXIS = [
    [stated("heart", measurement="large"), stated("heart", "dn", measurement="normal size")],
    [stated("heart", measurement="large"), stated("heart", "dn", measurement="normal")],
    [stated("heart", morphology="lobulated"), stated("heart", "dn", measurement="normal in size and contour")],
    [stated("aorta"), stated("aorta", "dn", measurement="not dilated")],
    [stated("opacity", measurement="large"), stated("opacity", "dn", morphology="smooth")],
]  # fmt: skip


@pytest.mark.parametrize("mode", ["method", "paper"])
@pytest.mark.parametrize("rows", ONE_AXIS)
def test_normal_and_abnormal_of_a_part_contradict_each_other(
    rows: list[Any], mode: str
) -> None:
    assert run(rows, mode=mode).rows.empty


def test_a_denied_kind_contradicts_the_same_kind_and_no_other() -> None:
    denied = "IMPRESSION: No loculated effusion."
    kind = f"FINDINGS: A loculated effusion is seen.\n\n{denied}"
    free = f"FINDINGS: A layering effusion is seen.\n\n{denied}"
    assert lunguage_assets.read(kind).findings.empty
    assert lunguage_assets.read(free).findings["status"].tolist() == ["dp", "dn"]
    # What else is said of the finding stays, and doubt loses to a denial.
    beside = "FINDINGS: Loculated effusion. An effusion is layering.\n\n" + denied
    assert lunguage_assets.read(beside).findings["status"].tolist() == ["dp"]
    doubted = f"FINDINGS: Possible loculated effusion.\n\n{denied}"
    assert lunguage_assets.read(doubted).findings["status"].tolist() == ["dn"]


def test_a_denied_exacerbation_is_denied_for_certain() -> None:
    text = "IMPRESSION: No acute exacerbation of heart failure."
    reading = lunguage_assets.read(text)
    assert reading.findings[["status", "prob"]].to_numpy().tolist() == [["dn", 0.0]]
    of_label = reading.labels[reading.labels["label"] == "congestive heart failure"]
    assert of_label["p_source"].tolist() == ["qualifier"]


def test_what_outlives_its_denied_kind_meets_the_others_of_its_finding() -> None:
    rows = [
        stated("effusion", "tp", p=0.7, morphology="loculated"),
        stated("effusion", "tn", p=0.4, sent="Probably no loculated effusion.", morphology="loculated"),
        stated("effusion", "tp", p=0.6, sent_idx=9, measurement="small"),
    ]  # fmt: skip
    outcome = run(rows, mode="method")
    stated_rows = outcome.rows[outcome.rows["source"] == "original"]
    assert stated_rows["prob"].tolist() == [0.7]
    types = outcome.resolution.conflicts["conflict_type"].tolist()
    assert types == ["duplicate_pos", "polarity"]
