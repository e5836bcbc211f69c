"""Study-level labels: what a study says of each finding, and above all what it does not
say (implicit.md section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from generated_reports import reports as reported
from hypothesis import given
from invented_reports import StatedFinding, dictionary, frames, run, stated
from invented_reports import labels as listed
from profiles import examples

from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.labels.study_labels import label_evidence, label_frame
from lunguage_assets.labels.targets import targets
from lunguage_assets.tables.released import LABELS


def labelled(outcome: Any, delivered: pd.DataFrame, **changed: Any) -> pd.DataFrame:
    """LABELS of an outcome; `changed` stands in for its frames and the list."""
    frames_of_outcome = {
        "rows": outcome.rows,
        "matches": outcome.expansion.matches,
        "log": outcome.resolution.log,
        "listed": listed(),
    }
    evidence = label_evidence(**{**frames_of_outcome, **changed})
    return label_frame(evidence, delivered, changed.get("listed", listed()))


def labels(
    rows: Sequence[StatedFinding], mode: str = "method", **options: Any
) -> pd.DataFrame:
    outcome = run(rows, mode=mode, **options)
    return labelled(outcome, frames(list(rows))[2])


def label(name: str, *rows: StatedFinding, **options: Any) -> dict[str, Any]:
    """The one label of one study."""
    frame = labels(rows, **options)
    return dict(frame[frame["label"] == name].iloc[0])


NODULE = stated("nodule", location="LLL")
LEAD = stated("fracture", location="pacemaker lead")
LEFT = [stated("effusion", status, location="left") for status in ("dp", "dn")]
HEART = stated("heart size", "dn", section="impr")
MILD = stated("cardiomegaly", severity="mild")
NORMAL = stated("acute cardiopulmonary process", "dn")
HEALED = [
    ("lung lesion", stated("granuloma")), ("lung lesion", stated("nodule", morphology="calcified")),
    ("fracture", stated("fracture", onset="healed", location="left rib")),
    ("fracture", stated("fracture", onset="old")), ("fracture", stated("compression fracture", onset="chronic")),
    ("tuberculosis", stated("tuberculosis", onset="old")),
]  # fmt: skip
REAL = ("hyperinflation", "fibrosis", "bulla", "hernia", "compression deformity")
HARMLESS = ("degenerative changes", "tortuosity", "sternotomy", "pacemaker")
MAY_BE_NEW = [
    ("lung lesion", stated("nodule", morphology="non-calcified")),
    ("lung lesion", stated("nodule", morphology="partially calcified")),
    ("fracture", stated("fracture", onset="healing")),
    ("fracture", stated("fracture", onset="acute on chronic")),
]

CASES: list[tuple[str, list[StatedFinding], str]] = [
    # What is a label and more states it, and denies nothing of it.
    ("pleural effusion", [stated("hydropneumothorax")], "stated"),
    ("pneumothorax", [stated("hydropneumothorax")], "stated"),
    ("pleural effusion", [stated("hydropneumothorax", "dn")], "unmentioned"),
    ("pleural effusion", [stated("effusion"), stated("hydropneumothorax", "dn")], "stated"),
    # One place is enough; a denial contradicts what lies within its place; no place
    # contains every place.
    ("pleural effusion", [stated("effusion", "dn", location="left"), stated("effusion", location="right")],
     "stated"),
    ("pleural effusion", [stated("effusion", "dn"), stated("effusion", location="right")], "contradictory"),
    ("pleural effusion", [stated("effusion", "dn"), stated("effusion", "tp", p=0.6, location="right")],
     "contradictory"),
    # The report says both, so that resolution removed one, or both.
    ("pneumonia", [stated("pneumonia", "dp"), stated("pneumonia", "dn")], "contradictory"),
    ("pneumonia", [stated("fever", "dp"), stated("fever", "dn")], "unmentioned"),
    ("pleural effusion", [*LEFT, stated("effusion", location="right")], "stated"),
    ("pleural effusion", [*LEFT, stated("effusion", "dn", location="right")], "contradictory"),
    ("pneumonia", [stated("pneumonia"), stated("pneumonia", "tn", p=0.2)], "contradictory"),
    ("pneumonia", [stated("pneumonia", location="LLL"), stated("pneumonia", "tn", p=0.2, location="RUL")],
     "stated"),
    # Of a family of findings the denial of one denies no other.
    ("lung lesion", [NODULE, stated("hamartoma", "tn", p=0.2)], "stated"),
    ("lung lesion", [NODULE, stated("mass", "dn")], "stated"),
    ("lung lesion", [stated("mass", "dn")], "denied"),
    ("lung lesion", [NODULE, stated("nodule", "dn")], "contradictory"),
    ("lung lesion", [stated("granuloma", "dn")], "unmentioned"),
    # What has resolved is denied.
    ("pulmonary edema", [stated("edema", improved="resolved")], "denied"),
    ("pulmonary edema", [stated("edema", improved="nearly resolved")], "stated"),
    # What the report denies outranks what a diagnosis implies (rule 1).
    ("pleural effusion", [stated("pulmonary edema", location="right"), stated("effusion", "tn", p=0.4)],
     "denied"),
    # The same word elsewhere is another finding.
    ("fracture", [LEAD], "unmentioned"),
    ("fracture", [stated("fracture", location="sternal wire")], "unmentioned"),
    ("fracture", [LEAD, stated("fracture", "dn")], "denied"),
    ("pleural effusion", [stated("effusion", location="pericardial")], "unmentioned"),
    ("lung lesion", [stated("mass", location="right breast")], "unmentioned"),
    ("lung lesion", [stated("mass", location="right upper lobe")], "stated"),
    ("lung opacity", [stated("pleural effusion", view="ap, supine")], "unmentioned"),
    ("lung opacity", [stated("consolidation")], "implied"),
    # Of two as certain claims the report's own decides, though its id comes last.
    ("lung opacity", [stated("consolidation", location="RUL"), *[stated("fever")] * 99,
     stated("opacity", location="LLL")], "stated"),
    # A size is read by its measurement; a normal whole denies its part, an enlarged one
    # states none.
    *(("cardiomegaly", [stated("heart size", status, measurement=size)], source) for status, size, source in (
        ("dn", "normal", "denied"), ("dp", "normal", "denied"), ("dp", "within normal limits", "denied"),
        ("dp", "increased", "stated"), ("dn", "enlarged", "denied"), ("dp", "not enlarged", "denied"),
        ("dp", "", "unmentioned"), ("dp", "decreased", "unmentioned"), ("dn", "top normal", "denied"))),
    *(("cardiomegaly", [stated("cardiomediastinal silhouette", status, measurement=size)], source)
      for status, size, source in (
        ("dn", "normal", "denied"), ("dp", "enlarged", "unmentioned"), ("dn", "", "unmentioned"))),
    ("cardiomegaly", [stated("heart size", "dn", measurement="upper limits of normal"), MILD], "stated"),
    ("cardiomegaly", [stated("heart size", "dn", measurement="normal"), MILD], "contradictory"),
    # What is calcified or healed is a label of its own.
    *(("benign or healed", [row], "stated") for _, row in HEALED),
    *((name, [row], "unmentioned") for name, row in HEALED),
    *(("no finding", [NORMAL, row], "stated") for _, row in HEALED),
    # What may be new is not healed, and what an operation left behind is no support
    # device.
    *((name, [row], "stated") for name, row in MAY_BE_NEW),
    *(("benign or healed", [row], "unmentioned") for _, row in MAY_BE_NEW),
    *(("support devices", [stated(name)], "unmentioned")
      for name in ("surgical clips", "sternotomy wires", "sternotomy", "surgery")),
    ("support devices", [stated("chest tube"), stated("surgical clips")], "stated"),
    # No finding is stated by a general denial, or an impression of normality; every
    # real abnormality speaks against it, changes of age, operations and devices do not.
    *(("no finding", [NORMAL, stated(name)], "denied") for name in REAL),
    *(("no finding", [NORMAL, stated(name, "dn")], "stated") for name in REAL),
    *(("no finding", [NORMAL, stated(name, past_hx="history of")], "stated") for name in REAL),
    *(("no finding", [NORMAL, stated(name)], "stated") for name in HARMLESS),
    ("no finding", [NORMAL], "stated"),
    ("no finding", [stated("pneumothorax", "dn")], "unmentioned"),
    ("no finding", [stated("endotracheal tube")], "unmentioned"),
    ("no finding", [NORMAL, stated("diaphragm", measurement="elevated")], "denied"),
    ("no finding", [NORMAL, stated("heart size", measurement="normal")], "stated"),
    ("no finding", [NORMAL, *LEFT], "contradictory"),
    ("no finding", [NORMAL, *LEFT, stated("pneumonia")], "denied"),
    ("no finding", [stated("chest", "dn")], "stated"),
    ("no finding", [HEART, stated("lungs", "dn", section="impr")], "stated"),
    ("no finding", [HEART], "unmentioned"),
    ("no finding", [HEART, stated("lungs", "dn")], "stated"),
    ("no finding", [HEART, stated("lungs", "dn", section="impr", location="right")], "unmentioned"),
    ("no finding", [stated("osseous abnormality", "dn")], "unmentioned"),
    ("no finding", [stated("tuberculosis", "dn")], "unmentioned"),
    # An infection of the lung is a pneumonia, unless its sentence says otherwise.
    ("pneumonia", [stated("infection", sent="Right infection.")], "stated"),
    *(("pneumonia", [stated("infection", sent=sent)], "unmentioned") for sent in (
        "A sequela of infection.", "It suggests resolved infection.", "The differential includes infection.")),
    ("no finding", [NORMAL, stated("infection", sent="A sequela of infection.")], "stated"),
    # A contour says nothing of a size.
    ("cardiomegaly", [stated("heart", "dn", morphology="contour is normal")], "unmentioned"),
    ("lung opacity", [stated("density", location="right paratracheal")], "unmentioned"),
    ("lung opacity", [stated("reticulation")], "stated"),
    ("no finding", [stated("acute abnormality", "dn", location="ribs")], "unmentioned"),
]  # fmt: skip


def test_what_rows_say_of_a_label() -> None:
    # All cases are studies of one batch, which is read once.
    delivered = [
        replace(row, study=f"s{number:08d}", row=position)
        for number, (_, rows, _) in enumerate(CASES)
        for position, row in enumerate(rows)
    ]
    sources = labels(delivered).set_index(["study_id", "label"])["source"]
    wrong = [
        (name, [(row.ent, row.status, row.location) for row in rows], source, said)
        for number, (name, rows, source) in enumerate(CASES)
        if (said := sources[f"s{number:08d}", name]) != source
    ]
    assert wrong == []


def test_unmentioned_is_null_everywhere_and_never_zero() -> None:
    frame = labels([stated("nodule")])
    silent = frame[frame["source"] == "unmentioned"]
    assert LABELS.description.startswith("UNMENTIONED IS NOT ABSENT")
    # All but lung lesion, and no finding, which the nodule denies.
    assert len(silent) == 19
    for name in ("p", "p_low", "p_high", "p_source", "status", "finding_id"):
        assert silent[name].isna().all(), name


def targets_of(frame: pd.DataFrame) -> list[float | None]:
    """U-Ones, U-Zeros, U-Ignore and soft of one label."""
    policies = ("U-Ones", "U-Zeros", "U-Ignore", "soft")
    targets_of_all = [targets(frame, frame["label"], it).p[0, 0] for it in policies]
    return [
        None if np.isnan(p) else pytest.approx(float(p), abs=1e-6)
        for p in targets_of_all
    ]


@pytest.mark.parametrize(
    ("status", "p", "source", "targets"),
    [
        ("dp", None, "stated", [1, 1, 1, 1.0]),
        ("tp", 0.7, "stated", [1, 0, None, 0.7]),
        ("tn", 0.2, "denied", [1, 0, None, 0.2]),
        ("dn", None, "denied", [0, 0, 0, 0.0]),
    ],
)
def test_the_four_statuses_have_their_usual_targets(
    status: str, p: float | None, source: str, targets: list[float | None]
) -> None:
    frame = labels([stated("pneumonia", status, p=p)])
    rows = frame[frame["label"] == "pneumonia"]
    assert rows[["source", "status"]].to_numpy().tolist() == [[source, status]]
    assert targets_of(rows) == targets


def test_an_implied_sign_keeps_the_doubt_of_its_diagnosis_and_shows_its_bound() -> None:
    row = label("cardiomegaly", stated("CHF", "tp", p=0.6))
    names = ("source", "status", "p", "p_high", "p_source", "p_is_bound")
    shown = ["implied", "tp", 0.48, 1.0, "pathway", True]
    assert [row[name] for name in names] == shown


def test_what_was_not_understood_is_unresolved() -> None:
    unread = stated("pneumonia", "tp", p=0.5, cues="unanswered.words 3-9")
    assert label("pneumonia", unread)["source"] == "unresolved"
    assert label("no finding", unread)["source"] == "unresolved"
    assert label("pneumonia", unread, stated("pneumonia"))["source"] == "stated"
    denial = stated("pneumonia", "tn", p=0.5, cues="unanswered.unknown 3-9")
    assert label("pneumonia", denial)["source"] == "unresolved"


def test_a_past_finding_is_not_present_and_not_mentioned() -> None:
    row = label("fracture", stated("fracture", past_hx="history of"))
    assert (row["source"], row["past"]) == ("unmentioned", True)
    assert np.isnan(row["p"])
    assert not label("fracture", stated("fracture"))["past"]


LARGE = stated("effusion", "dn", sent="No large effusion.", measurement="large")
TENSION = stated(
    "pneumothorax", "dn", sent="No tension pneumothorax.", morphology="tension"
)


@pytest.mark.parametrize(
    ("name", "kind"), [("pleural effusion", LARGE), ("pneumothorax", TENSION)]
)
def test_a_denied_kind_leaves_the_finding_open_without_a_hedge(
    name: str, kind: StatedFinding
) -> None:
    frame = labels([kind])
    rows = frame[frame["label"] == name]
    said = rows[["source", "status", "p_source"]].to_numpy().tolist()
    assert said == [["denied", "tn", "qualifier"]]
    assert 0.0 < rows["p"].iloc[0] < 0.1
    assert targets_of(rows)[:3] == [0, 0, 0]
    assert label(name, kind, stated(kind.ent))["p"] == 1.0
    assert label(name, kind, stated(kind.ent, "dn"))["p"] == 0.0


def test_the_certain_denial_of_a_kind_has_the_share_that_people_coded() -> None:
    assert label("pneumothorax", TENSION)["p"] == pytest.approx((2 + 0.5) / (28 + 1))
    # In mode `paper` it denies the whole.
    assert label("pneumothorax", TENSION, mode="paper")["p"] == 0.0


def test_a_denial_at_one_place_is_marked_as_such() -> None:
    right = stated("consolidation", "dn", location="right")
    everywhere = stated("consolidation", "dn")
    marks = [
        bool(label("consolidation", *denials)["denied_at_place"])
        for denials in ([right], [everywhere], [right, everywhere])
    ]
    assert marks == [True, False, False]


def hedged(name: str, p: float, status: str = "tp") -> StatedFinding:
    return stated(name, status, p=p)


@pytest.mark.parametrize(
    ("rows", "source", "status", "p"),
    [
        ([NORMAL, hedged("emphysema", 0.3)], "stated", "tp", [0.7, 0.35, 0.85]),
        ([NORMAL, hedged("emphysema", 0.5)], "stated", "tp", [0.5, 0.25, 0.75]),
        ([NORMAL, hedged("emphysema", 0.52)], "denied", "tn", [0.48, 0.24, 0.74]),
        ([NORMAL, hedged("emphysema", 0.5), hedged("nodule", 0.6)], "denied", "tn", [0.2, 0, 0.7]),
        ([NORMAL, hedged("emphysema", 0.3), stated("hernia")], "denied", "dn", [0, 0, 0]),
        # Denied with doubt.
        ([NORMAL, hedged("effusion", 0.1, "tn"), hedged("nodule", 0.2, "tn")], "stated", "tp", [0.8, 0, 0.9]),
        # A row of two labels counts once, what is implied not at all.
        ([NORMAL, hedged("lung cancer", 0.4)], "stated", "tp", [0.6, 0.3, 0.8]),
        ([NORMAL, hedged("CHF", 0.4)], "stated", "tp", [0.6, 0.3, 0.8]),
        # Nobody says that there is nothing.
        ([hedged("pneumonia", 0.3), hedged("nodule", 0.8)], "denied", "tn", [0.14, 0, 0.6]),
    ],
)  # fmt: skip
def test_everything_that_is_found_speaks_against_no_finding(
    rows: list[StatedFinding], source: str, status: str, p: list[float]
) -> None:
    row = label("no finding", *rows)
    assert (row["source"], row["status"], row["p_is_bound"]) == (source, status, True)
    assert [row[name] for name in ("p", "p_low", "p_high")] == pytest.approx(p)


@pytest.mark.parametrize(
    ("sign", "name"), [("opacity", "lung opacity"), ("nodular opacity", "lung lesion")]
)
def test_a_shadow_outside_the_lung_is_no_opacity_or_lesion(
    sign: str, name: str
) -> None:
    rows = [stated(sign), stated("nipple shadow", "tp", p=0.7, evidence=[0])]
    assert label(name, *rows)["source"] == "unmentioned"
    assert label("no finding", *rows, NORMAL)["p"] == 1.0
    explained = stated("pneumonia", "tp", p=0.4, evidence=[0])
    assert label(name, *rows, explained)["source"] == "stated"


@examples(15)
@given(reported)
def test_labels_fit_their_schema_and_never_say_what_no_row_says(
    rows: list[StatedFinding],
) -> None:
    outcome = run(rows)
    delivered = frames(rows)[2]
    frame = labelled(outcome, delivered)
    LABELS.to_arrow(frame)
    assert len(frame) == 21 * len(delivered)
    is_current = outcome.rows["currency"] == "current dx"
    current = outcome.rows[is_current].set_index("finding_id")
    said = frame[~frame["source"].isin(["unmentioned", "contradictory"])]
    assert set(said["finding_id"]) <= set(current.index)
    assert (said["p_low"] <= said["p"]).all()
    assert (said["p"] <= said["p_high"]).all()
    implied = said.loc[said["source"] == "implied", "finding_id"]
    assert set(current.loc[implied, "source"]) <= {"expansion"}
    order = np.random.default_rng(4).permutation(len(outcome.rows))
    in_another_order = labelled(
        outcome,
        delivered.iloc[::-1],
        rows=outcome.rows.iloc[order],
        matches=outcome.expansion.matches.iloc[::-1],
        log=outcome.resolution.log.iloc[::-1],
    )
    pd.testing.assert_frame_equal(in_another_order, frame)


def test_the_list_names_its_own_labels_and_known_diagnoses() -> None:
    label_list = load_label_list()
    assert len(set(label_list.names)) == len(label_list.names)
    for label in label_list.labels:
        assert label.diagnoses or label.findings
        others = {*label_list.names} - {label.name}
        assert {*label.instead_of, *label.denied_by} <= others
        for entry in label.entries:
            assert set(entry.diagnoses) <= dictionary().diagnoses.keys()
