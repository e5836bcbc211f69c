"""Entities of RadGraph as findings: what they say, in the structure of every other
reading, and no more.
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from published_shapes import graph

from lunguage_assets.structuring.agreement import structuring_agreement
from lunguage_assets.structuring.contract import (
    SectionedReport,
    StructuredReport,
    Structurer,
)
from lunguage_assets.structuring.radgraph import RadGraphStructurer
from lunguage_assets.structuring.rows import structured_tables
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.report import cut_report
from lunguage_assets.tables import STRUCTURED_FINDINGS

STUDY = "s00000001"
LEFT = "FINDINGS : Patchy opacity in the left lower lobe may represent pneumonia . No pleural effusion ."
OF_LEFT = graph(
    LEFT,
    ("Patchy", "OBS-DP", [("modify", "2")]),
    ("opacity", "OBS-DP", [("located_at", "5"), ("suggestive_of", "6")]),
    ("left", "ANAT-DP", [("modify", "5")]),
    ("lower", "ANAT-DP", [("modify", "5")]),
    ("lobe", "ANAT-DP", []),
    ("pneumonia", "OBS-U", []),
    ("pleural", "ANAT-DP", []),
    ("effusion", "OBS-DA", [("located_at", "7")]),
)


def read(entry: Any, **graphs: str) -> tuple[SectionedReport, StructuredReport]:
    report = cut_report(STUDY, entry["text"])
    graphs = graphs or {STUDY: json.dumps(entry["entities"])}
    (answer,) = RadGraphStructurer(graphs).structure([report])
    return report, answer


def said(entry: Any) -> list[tuple[Any, ...]]:
    """Words, name, status, place and attributes of each finding."""
    report, answer = read(entry)
    return [
        (
            mention.ent.of(report.text), mention.normed_ent, mention.status,
            ", ".join(span.of(report.text) for span in mention.location),
            {name: [span.of(report.text) for span in spans] for name, spans in mention.attributes.items()},
        )
        for mention in answer.mentions
    ]  # fmt: skip


def test_observations_have_place_status_attributes_and_evidence() -> None:
    assert said(OF_LEFT) == [
        ("opacity", "opacity", "dp", "left lower lobe", {"morphology": ["Patchy"]}),
        ("pneumonia", "pneumonia", "tp", "", {}),
        ("pleural effusion", "pleural effusion", "dn", "", {}),
    ]
    _, answer = read(OF_LEFT)
    assert [(item.evidence, item.associate) for item in answer.mentions] == [
        ((), (1,)),
        ((0,), ()),
        ((), ()),
    ]
    assert [item.account for item in answer.readings] == ["findings", "findings"]


def test_a_normal_part_of_the_body_is_a_negative_row() -> None:
    entry = graph(
        "FINDINGS : Heart size is normal . Lungs not clear .",
        ("Heart", "ANAT-DP", []),
        ("size", "ANAT-DP", [("modify", "1")]),
        ("normal", "OBS-DP", [("located_at", "1")]),
        ("Lungs", "ANAT-DP", []),
        ("clear", "OBS-DA", [("located_at", "4")]),
    )
    assert [mention[:3] for mention in said(entry)] == [
        ("Heart size", "heart size", "dn"),
        ("Lungs", "lungs", "dp"),
    ]


def test_a_measurement_is_an_attribute_also_by_labels_of_radgraph_xl() -> None:
    entry = graph(
        "Right nodule of 9 mm .",
        ("Right", "Anatomy::definitely present", []),
        ("nodule", "Observation::uncertain", [("located_at", "1")]),
        ("9 mm", "Observation::measurement::definitely present", [("modify", "2")]),
    )
    assert said(entry) == [
        ("nodule", "nodule", "tp", "Right", {"measurement": ["9 mm"]})
    ]


@pytest.mark.parametrize(
    ("label", "column", "status"),
    [
        ("CHAN-NC", "no_change", "dp"),
        ("CHAN-WOR", "worsened", "dp"),
        ("CHAN-CON-WOR", "worsened", "dp"),
        ("CHAN-IMP", "improved", "dp"),
        ("CHAN-CON-AP", "onset", "dp"),
        ("CHAN-CON-RES", "improved", "dn"),
        ("CHAN-DEV-DISA", "improved", "dn"),
        ("CHAN-DEV-PLACE", "placement", "dp"),
    ],
)
def test_a_change_is_an_attribute_of_what_it_modifies(
    label: str, column: str, status: str
) -> None:
    entry = graph("Slightly whorled opacity .", ("Slightly", "OBS-DP", [("modify", "2")]),
                  ("whorled", label, [("modify", "3")]), ("opacity", "OBS-DP", []))  # fmt: skip
    assert said(entry) == [
        ("opacity", "opacity", status, "", {column: ["Slightly", "whorled"]})
    ]


def test_an_unchanged_part_of_the_body_is_a_negative_row() -> None:
    entry = graph("Heart is unchanged .", ("Heart", "ANAT-DP", []),
                  ("unchanged", "CHAN-NC", [("modify", "1")]))  # fmt: skip
    assert said(entry) == [("Heart", "heart", "dn", "", {"no_change": ["unchanged"]})]


def test_a_change_without_a_finding_is_listed_as_refused() -> None:
    entry = graph(
        "Heart is larger .",
        ("Heart", "ANAT-DP", []),
        ("larger", "CHAN-WOR", [("modify", "1")]),
    )
    _, answer = read(entry)
    assert answer.mentions == ()
    assert [(refusal.found, refusal.reason) for refusal in answer.refused] == [
        ("larger", "no-such-finding")
    ]


def test_a_change_of_an_unknown_label_is_read_by_its_words() -> None:
    entry = graph(
        "New opacity .",
        ("New", "CHAN-ZZ", [("modify", "2")]),
        ("opacity", "OBS-DP", []),
    )
    assert said(entry) == [("opacity", "opacity", "dp", "", {"onset": ["New"]})]


def test_an_entity_without_sentence_or_column_is_listed_and_costs_nothing_else() -> (
    None
):
    entry = graph(
        "COMPARISON : edema FINDINGS : Whorled density . Shifted words .",
        ("edema", "OBS-DP", []),
        ("Whorled", "OBS-DP", [("modify", "3")]),
        ("density", "OBS-DP", [("modify", "9"), ("located_at", "nowhere")]),
        ("words", "OBS-DP", []),
    )
    entry["entities"]["4"]["tokens"] = "other words"
    assert [item[0] for item in said(entry)] == ["density"]
    assert [
        (item.column, item.found, item.reason) for item in read(entry)[1].refused
    ] == [
        ("ent", "edema", "section"),
        ("ent", "other words", "not-in-sentence"),
        ("modify", "density", "no-such-finding"),
        ("located_at", "density", "no-such-finding"),
        ("modify", "Whorled", "no-such-column"),
    ]


@pytest.mark.parametrize("relation", [["modify", [["2"]]], [[["modify"]], "2"]])
def test_relations_that_a_home_stored_before_they_were_refused_are_left_out(
    relation: object,
) -> None:
    entry = graph("Basal opacity .", ("Basal", "OBS-DP", []), ("opacity", "OBS-DP", []))
    entry["entities"]["1"]["relations"] = [relation]
    assert [mention[0] for mention in said(entry)] == ["Basal", "opacity"]


def test_entities_of_brackets_in_brackets_make_their_report_unreadable_and_no_other() -> (
    None
):
    reports = [cut_report(study, LEFT) for study in (STUDY, "s00000002")]
    deep = '{"1": {"relations": ' + "[" * 60_000 + "]" * 60_000 + "}}"
    graphs = {STUDY: deep, "s00000002": json.dumps(OF_LEFT["entities"])}
    first, second = RadGraphStructurer(graphs).structure(reports)
    assert {reading.account for reading in first.readings} == {"unreadable"}
    assert len(second.mentions) == 3


def test_an_unknown_type_of_relation_is_not_shown() -> None:
    entry = graph("Basal opacity .", ("Basal", "OBS-DP", [("a zebrafish", "nowhere")]))
    assert [refusal.column for refusal in read(entry)[1].refused] == ["relation"]


def test_entities_that_modify_each_other_are_findings_both() -> None:
    entry = graph(
        "Basal opacity .",
        ("Basal", "OBS-DP", [("modify", "2")]),
        ("opacity", "OBS-DP", []),
    )
    entry["entities"]["2"]["relations"] = [["modify", "1"]]
    assert sorted(mention[0] for mention in said(entry)) == ["Basal", "opacity"]


def test_only_a_report_without_any_entity_is_unreadable() -> None:
    assert {reading.account for reading in read(OF_LEFT, other="{}")[1].readings} == {
        "unreadable"
    }
    assert {
        reading.account for reading in read(OF_LEFT, s00000001="{}")[1].readings
    } == {"nothing stated"}


def test_the_rules_reading_of_the_same_text_is_held_against_it() -> None:
    report = cut_report(STUDY, LEFT)
    structurers: list[Structurer] = [
        RuleStructurer(),
        RadGraphStructurer({STUDY: json.dumps(OF_LEFT["entities"])}),
    ]
    frames: dict[str, pd.DataFrame] = {}
    for structurer in structurers:
        frames[structurer.key] = structured_tables(
            [report], structurer.structure([report])
        ).structured_findings
        STRUCTURED_FINDINGS.to_arrow(frames[structurer.key])
    agreement = structuring_agreement(frames).set_index("field")
    agreed = agreement.loc[
        ["finding", "normed_ent", "status", "evidence"], ["first", "second", "agreed"]
    ]
    assert agreed.to_numpy().tolist() == [[3, 3, 3], [3, 3, 3], [3, 3, 3], [1, 1, 1]]
    assert agreement.loc["location", ["first", "second"]].tolist() == [
        6,
        3,
    ]  # the rules place pneumonia, too
