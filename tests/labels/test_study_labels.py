"""Study-level labels: what a study says of each finding, and above all what it does not say (implicit.md
section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from generated_reports import reports as reported
from hypothesis import given
from invented_reports import Said, dictionary, frames, in_mode, run, said
from profiles import examples

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.labels.study_labels import study_labels
from lunguage_assets.labels.targets import targets
from lunguage_assets.tables.released import LABELS

CHEXPERT = {
    "No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion", "Edema",
    "Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion", "Pleural Other",
    "Fracture", "Support Devices",
}  # fmt: skip


@lru_cache(maxsize=1)
def listed() -> LabelList:
    return load_label_list()


def labels(rows: Sequence[Said], mode: str = "method", **options: Any) -> pd.DataFrame:
    outcome = (
        in_mode(rows, mode, **options) if mode == "paper" else run(rows, **options)
    )
    _, _, delivered = frames(list(rows))
    return study_labels(
        outcome.rows,
        outcome.expansion.matches,
        delivered,
        listed(),
        outcome.resolution.log,
    )


def label(name: str, *rows: Said, **options: Any) -> dict[str, Any]:
    """The one label of one study."""
    frame = labels(rows, **options)
    return {
        str(key): value
        for key, value in frame[frame["label"] == name].iloc[0].to_dict().items()
    }


NODULE = said("nodule", location="LLL")
LEAD = said("fracture", location="pacemaker lead")
LEFT = [said("effusion", status, location="left") for status in ("dp", "dn")]
HEART = said("heart size", "dn", section="impr")
MILD = said("cardiomegaly", severity="mild")
NORMAL = said("acute cardiopulmonary process", "dn")
HEALED = [
    ("lung lesion", said("granuloma")), ("lung lesion", said("nodule", morphology="calcified")),
    ("fracture", said("fracture", onset="healed", location="left rib")),
    ("fracture", said("fracture", onset="old")), ("fracture", said("compression fracture", onset="chronic")),
    ("tuberculosis", said("tuberculosis", onset="old")),
]  # fmt: skip
REAL = ("hyperinflation", "fibrosis", "bulla", "hernia", "compression deformity")
HARMLESS = ("degenerative changes", "tortuosity", "sternotomy", "pacemaker")
MAY_BE_NEW = [
    *(
        ("lung lesion", said("nodule", morphology=kind))
        for kind in ("non-calcified", "partially calcified")
    ),
    *(
        ("fracture", said("fracture", onset=onset))
        for onset in ("healing", "acute on chronic")
    ),
]

CASES: list[tuple[str, list[Said], str]] = [
    # What is a label and more states it, and denies nothing of it.
    ("pleural effusion", [said("hydropneumothorax")], "stated"),
    ("pneumothorax", [said("hydropneumothorax")], "stated"),
    ("pleural effusion", [said("hydropneumothorax", "dn")], "unmentioned"),
    ("pleural effusion", [said("effusion"), said("hydropneumothorax", "dn")], "stated"),
    # One place is enough; a denial contradicts what lies within its place; no place contains every place.
    ("pleural effusion", [said("effusion", "dn", location="left"), said("effusion", location="right")],
     "stated"),
    ("pleural effusion", [said("effusion", "dn"), said("effusion", location="right")], "contradictory"),
    ("pleural effusion", [said("effusion", "dn"), said("effusion", "tp", p=0.6, location="right")],
     "contradictory"),
    # The report says both, so that resolution removed one, or both.
    ("pneumonia", [said("pneumonia", "dp"), said("pneumonia", "dn")], "contradictory"),
    ("pneumonia", [said("fever", "dp"), said("fever", "dn")], "unmentioned"),
    ("pleural effusion", [*LEFT, said("effusion", location="right")], "stated"),
    ("pleural effusion", [*LEFT, said("effusion", "dn", location="right")], "contradictory"),
    ("pneumonia", [said("pneumonia"), said("pneumonia", "tn", p=0.2)], "contradictory"),
    ("pneumonia", [said("pneumonia", location="LLL"), said("pneumonia", "tn", p=0.2, location="RUL")],
     "stated"),
    # Of a family of findings the denial of one denies no other.
    ("lung lesion", [NODULE, said("hamartoma", "tn", p=0.2)], "stated"),
    ("lung lesion", [NODULE, said("mass", "dn")], "stated"),
    ("lung lesion", [said("mass", "dn")], "denied"),
    ("lung lesion", [NODULE, said("nodule", "dn")], "contradictory"),
    ("lung lesion", [said("granuloma", "dn")], "unmentioned"),
    # What has resolved is denied.
    ("pulmonary edema", [said("edema", improved="resolved")], "denied"),
    ("pulmonary edema", [said("edema", improved="nearly resolved")], "stated"),
    # What the report denies outranks what a diagnosis implies (rule 1).
    ("pleural effusion", [said("pulmonary edema", location="right"), said("effusion", "tn", p=0.4)],
     "denied"),
    # The same word elsewhere is another finding.
    ("fracture", [LEAD], "unmentioned"),
    ("fracture", [said("fracture", location="sternal wire")], "unmentioned"),
    ("fracture", [LEAD, said("fracture", "dn")], "denied"),
    ("pleural effusion", [said("effusion", location="pericardial")], "unmentioned"),
    ("lung lesion", [said("mass", location="right breast")], "unmentioned"),
    ("lung lesion", [said("mass", location="right upper lobe")], "stated"),
    ("lung opacity", [said("pleural effusion", view="ap, supine")], "unmentioned"),
    ("lung opacity", [said("consolidation")], "implied"),
    # A size is read by its measurement; a normal whole denies its part, an enlarged one states none.
    *(("cardiomegaly", [said("heart size", status, measurement=size)], source) for status, size, source in (
        ("dn", "normal", "denied"), ("dp", "normal", "denied"), ("dp", "within normal limits", "denied"),
        ("dp", "increased", "stated"), ("dn", "enlarged", "denied"), ("dp", "not enlarged", "denied"),
        ("dp", "", "unmentioned"), ("dp", "decreased", "unmentioned"), ("dn", "top normal", "denied"))),
    *(("cardiomegaly", [said("cardiomediastinal silhouette", status, measurement=size)], source)
      for status, size, source in (
        ("dn", "normal", "denied"), ("dp", "enlarged", "unmentioned"), ("dn", "", "unmentioned"))),
    ("cardiomegaly", [said("heart size", "dn", measurement="upper limits of normal"), MILD], "stated"),
    ("cardiomegaly", [said("heart size", "dn", measurement="normal"), MILD], "contradictory"),
    # What is calcified or healed is a label of its own.
    *(("benign or healed", [row], "stated") for _, row in HEALED),
    *((name, [row], "unmentioned") for name, row in HEALED),
    *(("no finding", [NORMAL, row], "stated") for _, row in HEALED),
    # What may be new is not healed, and what an operation left behind is no support device.
    *((name, [row], "stated") for name, row in MAY_BE_NEW),
    *(("benign or healed", [row], "unmentioned") for _, row in MAY_BE_NEW),
    *(("support devices", [said(name)], "unmentioned")
      for name in ("surgical clips", "sternotomy wires", "sternotomy", "surgery")),
    ("support devices", [said("chest tube"), said("surgical clips")], "stated"),
    # No finding is stated by a general denial, or an impression of normality; every real abnormality speaks
    # against it, changes of age, operations and devices do not.
    *(("no finding", [NORMAL, said(name)], "denied") for name in REAL),
    *(("no finding", [NORMAL, said(name, "dn")], "stated") for name in REAL),
    *(("no finding", [NORMAL, said(name, past_hx="history of")], "stated") for name in REAL),
    *(("no finding", [NORMAL, said(name)], "stated") for name in HARMLESS),
    ("no finding", [NORMAL], "stated"),
    ("no finding", [said("pneumothorax", "dn")], "unmentioned"),
    ("no finding", [said("endotracheal tube")], "unmentioned"),
    ("no finding", [NORMAL, said("diaphragm", measurement="elevated")], "denied"),
    ("no finding", [NORMAL, said("heart size", measurement="normal")], "stated"),
    ("no finding", [NORMAL, *LEFT], "contradictory"),
    ("no finding", [NORMAL, *LEFT, said("pneumonia")], "denied"),
    ("no finding", [said("chest", "dn")], "stated"),
    ("no finding", [HEART, said("lungs", "dn", section="impr")], "stated"),
    ("no finding", [HEART], "unmentioned"),
    ("no finding", [HEART, said("lungs", "dn")], "unmentioned"),
    ("no finding", [HEART, said("lungs", "dn", section="impr", location="right")], "unmentioned"),
    ("no finding", [said("osseous abnormality", "dn")], "unmentioned"),
    ("no finding", [said("acute abnormality", "dn", location="ribs")], "unmentioned"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rows", "source"), CASES)
def test_what_rows_say_of_a_label(name: str, rows: list[Said], source: str) -> None:
    assert label(name, *rows)["source"] == source


def test_the_list_has_the_14_diagnoses_and_the_14_chexpert_names() -> None:
    assert set(dictionary().diagnoses) <= set(listed().names)
    assert {entry.chexpert for entry in listed().labels if entry.chexpert} == CHEXPERT
    assert len(listed().names) == 21


def test_unmentioned_is_null_everywhere_and_never_zero() -> None:
    frame = labels([said("nodule")])
    silent = frame[frame["source"] == "unmentioned"]
    assert LABELS.description.startswith("UNMENTIONED IS NOT ABSENT")
    assert (
        len(silent) == 19
    )  # all but lung lesion, and no finding, which the nodule denies
    for name in ("p", "p_low", "p_high", "p_source", "status", "finding_id"):
        assert silent[name].isna().all(), name


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
    frame = labels([said("pneumonia", status, p=p)])
    rows = frame[frame["label"] == "pneumonia"]
    assert rows[["source", "status"]].to_numpy().tolist() == [[source, status]]
    assert targets_of(rows) == targets


def targets_of(frame: pd.DataFrame) -> list[float | None]:
    """U-Ones, U-Zeros, U-Ignore and soft of one label."""
    targets_by_policy = [
        targets(frame, frame["label"], policy).p
        for policy in ("U-Ones", "U-Zeros", "U-Ignore", "soft")
    ]
    return [
        None if np.isnan(p).any() else pytest.approx(float(p[0, 0]), abs=1e-6)
        for p in targets_by_policy
    ]


def test_an_implied_sign_keeps_the_certainty_of_its_diagnosis() -> None:
    row = label("cardiomegaly", said("CHF", "tp", p=0.6))
    names = ("source", "status", "p", "p_high", "p_source", "p_is_bound")
    assert [row[name] for name in names] == [
        "implied",
        "tp",
        0.6,
        1.0,
        "pathway",
        True,
    ]


def test_a_past_finding_is_not_present_and_not_mentioned() -> None:
    row = label("fracture", said("fracture", past_hx="history of"))
    assert (row["source"], row["past"]) == ("unmentioned", True)
    assert np.isnan(row["p"])
    assert not label("fracture", said("fracture"))["past"]


def test_a_denied_kind_leaves_the_finding_open_without_a_hedge() -> None:
    denied = said("effusion", "dn", sent="No large effusion.", measurement="large")
    frame = labels([denied])
    rows = frame[frame["label"] == "pleural effusion"]
    assert rows[["source", "p_source"]].to_numpy().tolist() == [["denied", "qualifier"]]
    assert 0.0 < rows["p"].iloc[0] < 0.1
    assert targets_of(rows)[:3] == [0, 0, 0]
    assert label("pleural effusion", denied, said("effusion"))["p"] == 1.0
    assert label("pleural effusion", denied, said("effusion", "dn"))["p"] == 0.0


TENSION = said(
    "pneumothorax", "dn", sent="No tension pneumothorax.", morphology="tension"
)


def test_the_certain_denial_of_a_kind_denies_the_whole_with_doubt() -> None:
    row = label("pneumothorax", TENSION)
    assert (row["source"], row["status"], row["p_source"]) == (
        "denied",
        "tn",
        "qualifier",
    )
    assert row["p"] == pytest.approx((2 + 0.5) / (28 + 1))
    assert targets_of(labels([TENSION]).query("label == 'pneumothorax'"))[:3] == [
        0,
        0,
        0,
    ]


def test_the_certain_denial_of_a_kind_contradicts_no_statement() -> None:
    assert label("pneumothorax", TENSION, said("pneumothorax"))["p"] == 1.0
    assert label("pneumothorax", TENSION, said("pneumothorax", "dn"))["p"] == 0.0


def test_in_mode_paper_the_denial_of_a_kind_denies_the_whole() -> None:
    frame = labels([TENSION], mode="paper")
    assert frame.loc[frame["label"] == "pneumothorax", "p"].tolist() == [0.0]


def test_a_denial_at_one_place_is_marked_as_such() -> None:
    assert label("consolidation", said("consolidation", "dn", location="right"))[
        "denied_at_place"
    ]
    assert not label("consolidation", said("consolidation", "dn"))["denied_at_place"]
    denials = [
        said("consolidation", "dn", location="right"),
        said("consolidation", "dn"),
    ]
    assert not label("consolidation", *denials)["denied_at_place"]


@pytest.mark.parametrize(
    ("rows", "source", "status", "p", "low", "high"),
    [
        ([NORMAL, said("emphysema", "tp", p=0.3)], "stated", "tp", 0.7, 0.35, 0.85),
        ([NORMAL, said("emphysema", "tp", p=0.6)], "denied", "tn", 0.4, 0.2, 0.7),
        (
            [NORMAL, said("emphysema", "tp", p=0.5), said("nodule", "tp", p=0.6)],
            "denied",
            "tn",
            0.2,
            0,
            0.7,
        ),
        (
            [NORMAL, said("emphysema", "tp", p=0.3), said("hernia")],
            "denied",
            "dn",
            0,
            0,
            0,
        ),
        (
            [NORMAL, said("effusion", "tn", p=0.1), said("nodule", "tn", p=0.2)],
            "stated",
            "tp",
            0.8,
            0,
            0.9,
        ),
        ([NORMAL, said("lung cancer", "tp", p=0.4)], "stated", "tp", 0.6, 0.3, 0.8),
        ([NORMAL, said("CHF", "tp", p=0.4)], "stated", "tp", 0.6, 0.3, 0.8),
        (
            [said("pneumonia", "tp", p=0.3), said("nodule", "tp", p=0.8)],
            "denied",
            "tn",
            0.14,
            0,
            0.6,
        ),
    ],
    ids=[
        "one",
        "likely",
        "two",
        "certain",
        "denied with doubt",
        "a row of two labels",
        "implied",
        "none",
    ],
)
def test_everything_that_is_found_speaks_against_no_finding(
    rows: list[Said], source: str, status: str, p: float, low: float, high: float
) -> None:
    row = label("no finding", *rows)
    assert (row["source"], row["status"], row["p_is_bound"]) == (
        source,
        status,
        True,
    )
    assert [row[name] for name in ("p", "p_low", "p_high")] == pytest.approx(
        [p, low, high]
    )


@pytest.mark.parametrize(
    ("sign", "name"), [("opacity", "lung opacity"), ("nodular opacity", "lung lesion")]
)
def test_a_shadow_outside_the_lung_is_no_opacity_or_lesion(
    sign: str, name: str
) -> None:
    rows = [said(sign), said("nipple shadow", "tp", p=0.7, evidence=[0])]
    assert label(name, *rows)["source"] == "unmentioned"
    assert label("no finding", *rows, NORMAL)["p"] == 1.0
    assert (
        label(name, *rows, said("pneumonia", "tp", p=0.4, evidence=[0]))["source"]
        == "stated"
    )


def test_a_denied_sign_of_mode_paper_is_still_read_as_absent(tmp_path: Path) -> None:
    """Mode `paper` stores the diagnosis' p for a sign that the diagnosis denies; a label asks for the
    presence of the sign.
    """
    file = tmp_path / "labels.yaml"
    file.write_text(
        "labels:\n  - name: volume loss\n    findings:\n      - names: [volume loss]\n"
    )
    outcome = in_mode([said("consolidation", "tp", p=0.6)], "paper")
    _, _, delivered = frames([said("consolidation", "tp", p=0.6)])
    row = study_labels(
        outcome.rows,
        outcome.expansion.matches,
        delivered,
        load_label_list(file),
        outcome.resolution.log,
    ).iloc[0]
    assert outcome.rows.loc[outcome.rows["name"] == "volume loss", "prob"].tolist() == [
        0.6
    ]
    assert (row["source"], row["p"], row["p_high"]) == ("denied", 0.2, 0.4)


@examples(15)
@given(reported)
def test_labels_fit_their_schema_and_never_say_what_no_row_says(
    rows: list[Said],
) -> None:
    outcome = run(rows)
    _, _, delivered = frames(rows)
    frame = study_labels(
        outcome.rows,
        outcome.expansion.matches,
        delivered,
        listed(),
        outcome.resolution.log,
    )
    LABELS.to_arrow(frame)
    assert len(frame) == 21 * len(delivered)
    current = outcome.rows[outcome.rows["currency"] == "current dx"].set_index(
        "finding_id"
    )
    said_something = frame[~frame["source"].isin(["unmentioned", "contradictory"])]
    assert set(said_something["finding_id"]) <= set(current.index)
    assert (said_something["p_low"] <= said_something["p"]).all()
    assert (said_something["p"] <= said_something["p_high"]).all()
    implied = said_something.loc[said_something["source"] == "implied", "finding_id"]
    assert set(current.loc[implied, "source"]) <= {"expansion"}
    order = np.random.default_rng(4).permutation(len(outcome.rows))
    matches = outcome.expansion.matches.iloc[::-1]
    log = outcome.resolution.log.iloc[::-1]
    labels_again = study_labels(
        outcome.rows.iloc[order], matches, delivered.iloc[::-1], listed(), log
    )
    pd.testing.assert_frame_equal(labels_again, frame)


@pytest.mark.parametrize(
    ("content", "line", "field"),
    [
        ("labels:\n  - name: a\n", 2, "labels.0"),
        (
            (
                "labels:\n  - {name: a, diagnoses: [copd]}\n"
                "  - {name: a, diagnoses: [copd]}\n"
            ),
            3,
            "labels.1.name",
        ),
        (
            "labels:\n  - {name: a, diagnoses: [copd], denied_by: [b]}\n",
            2,
            "labels.0.denied_by",
        ),
    ],
    ids=["nothing states it", "twice", "unknown label"],
)
def test_an_error_in_the_list_names_line_and_field(
    content: str, line: int, field: str, tmp_path: Path
) -> None:
    file = tmp_path / "labels.yaml"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=f"line {line}, field {field}"):
        load_label_list(file)
