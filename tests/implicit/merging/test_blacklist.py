"""What keeps two findings apart whatever their similarity."""

from __future__ import annotations

from pathlib import Path

import pytest
from invented_reports import blacklist

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.merging.blacklist import load_blacklist
from lunguage_assets.implicit.merging.distinctions import marks


def test_the_packaged_list_holds_the_papers_33_pairs_and_the_three_of_the_authors() -> None:
    expected = [
        "left-right", "upper-lower", "mid-lower", "middle-lower", "upper-mid", "upper-middle",
        "anterior-posterior", "anterior-lateral", "posterior-lateral", "superior-inferior", "apical-basal",
        "central-peripheral", "proximal-distal", "medial-lateral", "ventral-dorsal", "cardio-pulmonary",
        "cardiac-pulmonary", "mediastinal-pleural", "pericardial-pleural", "effusion-pneumothorax",
        "effusion-edema", "effusion-atelectasis", "effusion-consolidation", "effusion-pneumonia",
        "consolidation-opacification", "consolidation-atelectasis", "consolidation-edema",
        "atelectasis-pneumonia", "atelectasis-aeration", "atelectasis-opacity", "pneumonia-edema",
        "mass-consolidation", "mass-opacity", "mass-opacification", "mass-atelectasis",
        "nodule-consolidation",
    ]  # fmt: skip
    of_the_code = {"cardiac-pulmonary", "mass-opacification", "nodule-consolidation"}
    listed = {frozenset(pair) for pair in blacklist().term_pairs}
    assert listed >= {frozenset(pair.split("-")) for pair in expected}
    assert {frozenset(pair) for pair in blacklist().of_the_paper().term_pairs} == {
        frozenset(pair.split("-")) for pair in expected if pair not in of_the_code
    }
    assert len(expected) == 36


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mild edema", "severe edema"),
        ("acute fracture", "chronic fracture"),
        ("bilateral opacity", "left opacity"),
        ("apical opacity", "basilar opacity"),
        ("loculated effusion", "free effusion"),
        ("normal heart size", "increased heart size"),
        ("new nodule", "unchanged nodule"),
    ],
)
def test_what_an_encoder_alone_would_have_to_keep_apart_is_kept_apart(one: str, other: str) -> None:
    assert blacklist().separates_phrases(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("left opacity", "right opacity"),
        ("left-sided opacity", "opacity of the right lung"),
        ("opacity (left)", "opacity/right"),
        ("Masses", "opacities"),
        ("nodules", "consolidations"),
        ("effusions", "edema"),
        ("atelectases", "pneumonia"),
        ("upper zone", "mid-zone"),
        ("lateral view", "medial view"),
        ("cardio-mediastinal contour", "pulmonary contour"),
        ("left and right", "left"),
    ],
)
def test_a_pair_in_either_direction_separates(one: str, other: str) -> None:
    assert blacklist().separates_phrases(one, other)
    assert blacklist().separates_phrases(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("left opacity", "opacity"),
        ("bilateral opacity", "medial opacity"),  # bilateral does not contain lateral
        ("left opacity", "left opacity"),
        ("brightness", "left"),
        ("massive effusion", "opacity effusion"),  # massive is no mass
        ("cardiopulmonary", "pulmonary"),
    ],
)
def test_words_that_only_look_alike_do_not_separate(one: str, other: str) -> None:
    assert not blacklist().separates_phrases(one, other)


def test_a_user_lists_exact_pairs(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("term_pairs: []\nexact_pairs:\n  - [Old  scar, new scar]\n")
    own = load_blacklist(file)
    assert own.separates_phrases("old scar", "NEW SCAR")
    assert not own.separates_phrases("old scar left", "new scar")
    assert not own.separates_phrases("old scar", "old scar")


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("term_pairs:\n  - [left, right]\n  - [right, left]\n", 3, "term_pairs.1"),
        ("term_pairs:\n  - [left, left]\n", 2, "term_pairs.0"),
        ("term_pairs:\n  - [left]\n", 2, "term_pairs.0"),
        ("term_pairs:\n  - [left lung, right]\n", 2, "term_pairs.0"),
        ("term_pairs:\n  - [left-sided, right]\n", 2, "term_pairs.0"),
        ("exact_pairs:\n  - [scar, '']\n", 2, "exact_pairs.0"),
        ("pairs: []\n", 1, "pairs"),
        ("term_pairs: []\nterm_pairs: []\n", 2, "term_pairs"),
        ("- left\n", 1, "the whole file"),
    ],
)
def test_a_wrong_list_names_the_line_and_the_field(tmp_path: Path, text: str, line: int, field: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        load_blacklist(file)
    assert f"line {line}, field {field}" in str(raised.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("nodule 5 mm", "nodule 8 mm"),
        ("nodule 5mm", "nodule 5 cm"),
        ("fracture t8", "fracture T9"),
        ("fracture T8", "fracture T8-T9"),
        ("fracture T8.", "fracture T9"),
        ("fracture L1", "fracture T1"),
        ("fracture 8th rib", "fracture 9th rib"),
        ("fracture eighth rib", "fracture ninth rib"),
        ("two nodules", "three nodules"),
        ("nodule 4 x 5 mm", "nodule 4 x 6 mm"),
        ("nodule 1.5 cm", "nodule 1.4 cm"),
    ],
)
def test_different_numbers_and_levels_are_told_apart(one: str, other: str) -> None:
    assert marks(one).differ(marks(other))
    assert marks(other).differ(marks(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("nodule 5 mm", "nodule"),
        ("nodule 1 cm", "nodule 10 mm"),
        ("nodule 0.5 x 1 cm", "nodule 5 x 10 mm"),
        ("fracture T8", "T8 fracture"),
        ("fracture T8-T9", "fracture t8 - t9"),
        ("fracture 8th rib", "eighth rib fracture"),
        ("fracture T8", "fracture"),
    ],
)
def test_the_same_and_unstated_numbers_are_not(one: str, other: str) -> None:
    assert not marks(one).differ(marks(other))
