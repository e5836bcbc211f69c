"""Sub-findings that stated diagnoses imply."""

from __future__ import annotations

from typing import Any

import pytest
from invented_reports import Outcome, TableEmbedder, identity, run, stated

from lunguage_assets.implicit.rows import (
    ALREADY_STATED,
    CLINICAL_ATTRIBUTES,
    GENERATED,
    SPOKEN_AGAINST,
)
from lunguage_assets.tables import EXPANSIONS, PATHWAY_MATCHES


def tree(outcome: Outcome) -> dict[str, list[str]]:
    """Names of the generated children by the id of their parent."""
    children: dict[str, list[str]] = {}
    for parent, name, status in outcome.expansion.expansions.query(
        "outcome == 'generated'"
    )[["parent_id", "name", "status"]].itertuples(index=False):
        children.setdefault(parent, []).append(f"{name} {status}")
    return children


def test_heart_failure_expands_to_its_leaves() -> None:
    outcome = run([stated("CHF", view="pa, lateral")])
    assert tree(outcome) == {
        identity(0): ["cardiomegaly dp", "pulmonary edema dp"],
        identity(0) + "/0": ["heart size dp"],
        identity(0) + "/1": ["consolidation dp", "pleural effusion dp"],
        identity(0) + "/1/0": ["opacity dp"],
        identity(0) + "/1/1": ["blunting dp"],
    }
    EXPANSIONS.to_arrow(outcome.expansion.expansions)
    PATHWAY_MATCHES.to_arrow(outcome.expansion.matches)


COURSE = {"severity": "mild", "no_change": "stable", "comparison": "prior"}


def test_a_child_inherits_the_location_and_attributes_of_its_parent() -> None:
    row = stated(
        "consolidation",
        "tp",
        p=0.7,
        location="RUL",
        section="impr",
        sent_idx=3,
        **COURSE,
    )
    outcome = run([stated("filler", "dn"), row])
    opacity = outcome.child(identity(1) + "/0")
    expected = {
        "section": "impr", "sent_idx": 3, "sent": "", "sequence": 1, "ent": "opacity", "cat": "PF",
        "status": "tp", "currency": "current dx", "location": "RUL, airspace",
        "location_parts": ["airspace", "right upper lobe"], **COURSE, "associate": [identity(1)],
        "evidence": [], "parent_id": identity(1), "root_id": identity(1), "edge": 0, "depth": 1,
        "parent_pathway_id": "consolidation_1",
    }  # fmt: skip
    assert {name: opacity[name] for name in expected} == expected


def test_a_denied_child_takes_the_place_of_the_parent_alone() -> None:
    outcome = run(
        [stated("pneumothorax", "tp", p=0.7, location="right apex", **COURSE)]
    )
    marking = outcome.child(identity(0) + "/1")
    assert (marking["status"], marking["location"]) == ("tn", "right apex, pulmonary")
    assert [marking[name] for name in COURSE] == ["", "", ""]


def test_a_symptom_takes_no_place_and_no_clinical_attributes() -> None:
    clinical = dict.fromkeys(CLINICAL_ATTRIBUTES, "5 mm")
    row = stated("pneumonia", location="RUL", other_source="nurse", **clinical)
    outcome = run([row], mode="paper")
    fever = outcome.row(identity(0) + "/1")
    said_of_it = [fever[name] for name in ("name", "cat", "location", "location_parts")]
    assert said_of_it == ["fever", "PATIENT INFO.", "", []]
    assert all(fever[name] == "" for name in clinical)
    assert fever["other_source"] == "nurse"


def test_a_symptom_is_linked_where_the_report_states_it_and_never_generated() -> None:
    assert "fever" not in run([stated("pneumonia")]).names()
    assert (
        "fever"
        not in run([stated("pneumonia"), stated("fever", "dn", section="hist")]).names()
    )
    result = run([stated("pneumonia"), stated("fever", section="hist")])
    child = result.child(identity(0) + "/1")
    assert (child["outcome"], child["linked_to"]) == ("already stated", identity(1))
    assert result.row(identity(0))["evidence"] == [identity(0) + "/0", "~fever"]
    beside = run([stated("pneumonia"), stated("fever")])
    assert beside.row(identity(0))["evidence"] == [identity(0) + "/0", identity(1)]


def implied(*rows: Any) -> set[str]:
    """Names of the rows that are generated."""
    outcome = run(rows)
    return set(outcome.rows.loc[outcome.rows["source"] == "expansion", "name"])


@pytest.mark.parametrize(
    ("rows", "sign", "holds"),
    [
        ([stated("atelectasis")], "volume loss", True),
        ([stated("subsegmental atelectasis")], "volume loss", False),
        ([stated("atelectasis", sent_idx=1), stated("opacity", morphology="streaky", sent_idx=1)],
         "volume loss", False),
        ([stated("pneumothorax")], "marking", True),
        ([stated("pneumothorax", measurement="tiny")], "marking", False),
        ([stated("pneumothorax", measurement="large")], "marking", True),
        ([stated("tension pneumothorax", measurement="small")], "marking", True),
        ([stated("pulmonary edema")], "consolidation", True),
        ([stated("pulmonary edema", location="RUL"), stated("airspace disease", "dn", location="left")],
         "consolidation", True),
        ([stated("pneumonia", location="RUL"), stated("opacity", "dn")], "opacity", False),
        ([stated("CHF"), stated("cardiomediastinal silhouette", "dn", morphology="normal")], "cardiomegaly", False),
        ([stated("effusion", view="ap", measurement="small")], "opacity", False),
        ([stated("fracture", location="rib", onset="healing")], "disruption", False),
    ],
)  # fmt: skip
def test_conditions_of_the_pathway_file(
    rows: list[Any], sign: str, holds: bool
) -> None:
    assert (sign in implied(*rows)) is holds


@pytest.mark.parametrize(
    ("diagnosis", "sign"),
    [("COPD", "emphysema"), ("COPD", "lucency"), ("consolidation", "volume loss")],
)
def test_what_readers_struck_out_is_implied_in_mode_paper_alone(
    diagnosis: str, sign: str
) -> None:
    assert sign not in run([stated(diagnosis)]).names()
    assert sign in run([stated(diagnosis)], mode="paper").names()


def test_what_is_struck_out_still_supports_its_diagnosis_where_it_is_stated() -> None:
    outcome = run([stated("COPD"), stated("emphysema", location="lungs")])
    assert outcome.child(identity(0) + "/1")["outcome"] == "already stated"


def test_what_lies_elsewhere_has_nothing_of_the_diagnosis() -> None:
    edema = stated("pulmonary edema", location="left lung", severity="severe")
    outcome = run([edema])
    effusion, consolidation = (outcome.row(identity(0) + end) for end in ("/1", "/0"))
    assert (effusion["location"], effusion["severity"]) == ("", "")
    assert (consolidation["location"], consolidation["severity"]) == (
        "left lung",
        "severe",
    )
    paper = run([edema], mode="paper")
    assert paper.row(identity(0) + "/1")["location"] == "left lung"


RUL = stated("consolidation", location="RUL")  # implies an opacity there
PNEUMONIA = stated("pneumonia", location="RLL")
CANCER = stated("lung cancer", location="RUL")  # a nodular opacity
HEART = stated("cardiomegaly")  # a heart size that is increased
LOBAR = stated("lobar pneumonia", location="RLL")
CHEST = {"location": "cardiothoracic"}


@pytest.mark.parametrize(
    ("parent", "statement", "number", "outcome"),
    [
        # by its name, at a compatible place, now
        (RUL, stated("opacity", location="right upper lobe"), 0, ALREADY_STATED),  # contained in the child's
        (RUL, stated("opacity", location="RUL, airspace, posterior"), 0, ALREADY_STATED),  # contains the child's
        (RUL, stated("opacity", location="left lung"), 0, GENERATED),
        (RUL, stated("opacity"), 0, GENERATED),  # a row without a place does not state the child's place
        (RUL, stated("opacity", location="RUL", past_hx="old"), 0, GENERATED),
        (PNEUMONIA, stated("opacity", location="medial right base"), 0, ALREADY_STATED),
        (PNEUMONIA, stated("opacity", location="right apex"), 0, GENERATED),
        (stated("pulmonary edema"), stated("effusion", location="pericardial"), 1, GENERATED),
        # in other words
        (stated("COPD", "tp", p=0.4), stated("hyperinflation"), 0, ALREADY_STATED),  # of no narrower place
        (stated("pneumonia", location="left base"), stated("haziness", location="left base"), 0, ALREADY_STATED),
        (stated("pulmonary edema"), stated("pleural fluid"), 1, ALREADY_STATED),
        (stated("bronchitis"), stated("peribronchial opacity", location="both lower lobes"), 0, ALREADY_STATED),
        (stated("pneumothorax", evidence=[1]), stated("lucency", location="right apex"), 0, ALREADY_STATED),
        (stated("effusion", view="supine"), stated("haziness", location="right lower lobe"), 0, GENERATED),
        # with the attributes that define it
        (CANCER, stated("opacity", location="RUL", morphology="nodular"), 0, ALREADY_STATED),
        (stated("tuberculosis"), stated("mass", location="bilateral upper lung"), 0, GENERATED),  # not calcified
        (HEART, stated("heart size", measurement="normal to enlarged", **CHEST), 0, ALREADY_STATED),
        (HEART, stated("heart size", location="cardiothoracic", measurement="not enlarged"), 0, SPOKEN_AGAINST),
        (HEART, stated("heart size", location="cardiothoracic"), 0, GENERATED),
        (stated("consolidation"), stated("opacity", location="airspace"), 0, ALREADY_STATED),
        # against it, at a place that contains its
        (stated("CHF"), stated("pulmonary edema", "dn"), 1, SPOKEN_AGAINST),
        (stated("CHF"), stated("pulmonary edema", improved="resolved"), 1, SPOKEN_AGAINST),
        (stated("CHF"), stated("heart size", "dn", measurement="normal"), 0, SPOKEN_AGAINST),
        (LOBAR, stated("consolidation", "dn", location="right"), 0, SPOKEN_AGAINST),
        (stated("pulmonary edema"), stated("pleural effusion", "dn"), 1, SPOKEN_AGAINST),
        (stated("pulmonary edema"), stated("pleural effusion", "dn", location="left"), 1, GENERATED),
        (stated("pulmonary edema"), stated("effusion", "dn", location="pericardial"), 1, GENERATED),
    ],
)  # fmt: skip
def test_a_sub_finding_is_generated_unless_the_report_speaks_of_it(
    parent: Any, statement: Any, number: int, outcome: str
) -> None:
    done = run([parent, statement])
    child = done.child(identity(0) + f"/{number}")
    assert child["outcome"] == outcome
    if outcome != GENERATED:
        assert child["linked_to"] == identity(1)
        assert child["finding_id"] not in done.ids()
        log = done.resolution.log
        assert outcome in set(
            log.loc[log["finding_id"] == child["finding_id"], "event"]
        )


def test_a_merged_row_states_a_child_through_its_survivor() -> None:
    """Row 1 says opacity in the right upper lobe; its survivor says it in other words,
    and is the one to be linked.
    """
    rows = [
        stated("consolidation", location="RUL"),
        stated("opacity", "tp", p=0.5, location="RUL"),
        stated("density", location="apex"),
    ]
    outcome = run(rows, embedder=TableEmbedder({("opacity rul", "density apex"): 0.95}))
    assert outcome.child(identity(0) + "/0")["linked_to"] == identity(2)
    assert identity(2) in outcome.row(identity(0))["evidence"]


def test_recursion_stops_at_a_stated_row_which_expands_as_itself() -> None:
    outcome = run([stated("CHF"), stated("pulmonary edema", "tp", p=0.5)])
    assert outcome.child(identity(0) + "/1")["outcome"] == "already stated"
    assert set(tree(outcome)) == {
        *(identity(0) + end for end in ("", "/0")),
        *(identity(1) + end for end in ("", "/0", "/1")),
    }
