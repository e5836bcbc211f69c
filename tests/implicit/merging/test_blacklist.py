"""What keeps two findings apart whatever their similarity."""

from __future__ import annotations

from pathlib import Path

import pytest
from invented_reports import blacklist

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.merging.merge_constraints import (
    load_blacklist,
    stated_numbers,
)


def test_the_packaged_list_holds_the_pairs_of_paper_and_authors() -> None:
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
    for pair in expected:
        word, opposite = pair.split("-")
        assert word in blacklist().opposites[opposite]
        is_papers = word in blacklist("paper").opposites[opposite]
        assert is_papers is (pair not in of_the_code)
    assert len(expected) == 36


@pytest.mark.parametrize(
    ("phrase_1", "phrase_2", "apart", "apart_in_paper"),
    [
        ("left-sided opacity", "opacity of the right lung", True, True),
        ("opacity (left)", "opacity/right", True, True),
        ("Masses", "opacities", True, False),
        ("atelectases", "pneumonia", True, False),
        ("upper zone", "mid-zone", True, True),
        ("left and right", "left", True, True),
        ("mild edema", "severe edema", True, False),  # no pair of the paper
        ("bilateral opacity", "left opacity", True, False),
        ("apical opacity", "basilar opacity", True, False),
        ("left opacity", "opacity", False, False),
        ("bilateral opacity", "medial opacity", False, True),  # bilateral contains lateral
        ("left opacity", "left opacity", False, False),
        ("massive effusion", "opacity effusion", False, True),  # massive is no mass
        ("cardiopulmonary", "pulmonary", False, True),
        ("cardiomegaly", "pulmonary congestion", False, True),
        ("cardiomegaly", "enlarged heart", False, False),
    ],
)  # fmt: skip
def test_pairs_separate_on_whole_words_and_inside_words_in_mode_paper(
    phrase_1: str, phrase_2: str, apart: bool, apart_in_paper: bool
) -> None:
    for mode, expected in (("method", apart), ("paper", apart_in_paper)):
        listed = blacklist(mode)
        first, second = map(listed.terms, (phrase_1, phrase_2))
        assert any(listed.opposites[term] & first for term in second) is expected
        assert any(listed.opposites[term] & second for term in first) is expected


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("term_pairs:\n  - [left, left]\n", "term_pairs.0"),
        ("term_pairs:\n  - [left-sided, right]\n", "term_pairs.0"),
        ("term_pairs:\n  - [scar, '']\n", "term_pairs.0"),
        ("pairs: []\n", "the whole file: key 'pairs' is not known"),
        ("- left\n", "the whole file"),
    ],
)
def test_a_wrong_list_names_the_field(tmp_path: Path, text: str, field: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        load_blacklist(file)
    assert f"own.yaml, field {field}" in str(raised.value)


@pytest.mark.parametrize(
    ("phrase_1", "phrase_2", "differ"),
    [
        ("nodule 5mm", "nodule 5 cm", True),
        ("fracture t8", "fracture T9", True),
        ("fracture T8", "fracture T8-T9", True),
        ("nodule 4 x 5 mm", "nodule 4 x 6 mm", True),
        ("nodule 1.5 cm", "nodule 1.4 cm", True),
        ("nodule 5 mm", "nodule", False),
        ("nodule 0.5 x 1 cm", "nodule 5 x 10 mm", False),
        ("fracture T8-T9", "fracture t8 - t9", False),
        ("fracture 8th rib", "eighth rib fracture", False),
        ("fracture T8", "fracture", False),
    ],
)
def test_numbers_differ_where_both_are_stated(
    phrase_1: str, phrase_2: str, differ: bool
) -> None:
    numbers, others = stated_numbers(phrase_1), stated_numbers(phrase_2)
    assert bool(numbers and others and numbers != others) is differ
