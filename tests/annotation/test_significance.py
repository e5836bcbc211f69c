"""The file that says how much findings matter, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from lunguage_assets.annotation.claims import measured_mm
from lunguage_assets.annotation.significance import (
    Significance,
    SignificanceFile,
    load_significance,
    packaged_significance,
)
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.packaged_data import read_as, resource

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def significance() -> Significance:
    return packaged_significance()


def edited(folder: Path, before: str, after: str) -> Path:
    """The packaged file with a change."""
    content = resource("significance.yaml").read_text(encoding="utf-8")
    assert content.count(before) == 1
    file = folder / "significance.yaml"
    file.write_text(content.replace(before, after), encoding="utf-8")
    return file


def test_a_kind_of_nothing_is_refused_by_its_line(tmp_path: Path) -> None:
    file = edited(tmp_path, "kind_of: [pneumothorax]}", "kind_of: [pneumothoraks]}")
    with pytest.raises(
        ConfigurationError, match=r"line \d+, field .*kind_of: found pneumothoraks"
    ):
        load_significance(file)


def test_a_finding_given_twice_is_refused(tmp_path: Path) -> None:
    file = edited(tmp_path, "{name: tension pneumothorax,", "{name: pneumothorax,")
    with pytest.raises(ConfigurationError, match="found pneumothorax twice"):
        load_significance(file)


def test_a_share_above_one_is_refused(tmp_path: Path) -> None:
    file = edited(tmp_path, "  other_region: 0.3", "  other_region: 3")
    with pytest.raises(ConfigurationError, match="other_region"):
        load_significance(file)


def test_an_edited_level_changes_what_a_finding_weighs(
    tmp_path: Path, significance: Significance
) -> None:
    file = edited(
        tmp_path, "{name: hernia, level: incidental", "{name: hernia, level: urgent"
    )
    weights = [
        content.weight("hernia", "PF", "hernia", None)
        for content in (significance, load_significance(file))
    ]
    assert weights[0] < weights[1]


def test_every_label_of_a_diagnosis_has_its_weight(significance: Significance) -> None:
    diagnoses = [label.name for label in load_label_list().labels if label.diagnoses]
    unlisted = [name for name in diagnoses if significance.concept(name) is None]
    assert unlisted == ["lung lesion"]  # read by its finding: a nodule, a mass


def test_the_weights_of_the_page_are_those_of_the_file() -> None:
    page = (ROOT / "docs" / "score.md").read_text(encoding="utf-8")
    levels = read_as(resource("significance.yaml"), SignificanceFile).levels
    assert [
        f"| {level} | {weight:g} |" in page for level, weight in levels.items()
    ] == [True] * 5


def test_a_step_up_loses_less_than_two(significance: Significance) -> None:
    one_step = significance.name_share("consolidation", "opacity")
    two_steps = significance.name_share("pneumonia", "opacity")
    assert 0.0 < one_step < two_steps < significance.name_share("mass", "consolidation")


def test_findings_without_kinship_have_nothing_in_common(
    significance: Significance,
) -> None:
    assert significance.name_share("pneumothorax", "fracture") == 1.0


def test_kinship_is_mutual(significance: Significance) -> None:
    assert significance.name_share("opacity", "pneumonia") == significance.name_share(
        "pneumonia", "opacity"
    )


def test_small_to_moderate_lies_between_small_and_moderate(
    significance: Significance,
) -> None:
    small, between, moderate = map(
        significance.extent, ("small", "small to moderate", "moderate")
    )
    assert small < between < moderate


@pytest.mark.parametrize(
    ("measurement", "size_mm"),
    [
        ("6 mm", 6.0),
        ("0.6 cm", 6.0),
        ("2.1 x 1.4 cm", 21.0),
        ("2.3 cm, 1.8 cm", 23.0),
        ("multiple, 12 mm", 12.0),
        ("small", None),
        ("", None),
        ("cm", None),
    ],
)
def test_a_measured_size_is_its_largest_dimension(
    measurement: str, size_mm: float | None
) -> None:
    assert measured_mm(measurement) == size_mm
