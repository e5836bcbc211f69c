"""The offline structurer reads what invented reports say: floors a little below what it reaches.

The prose and the structurer share no words.
"""

from __future__ import annotations

import pytest
from held_against_truth import Comparison, compare

from lunguage_assets.structuring.rules.structurer import RuleStructurer


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(RuleStructurer(), reports=80)


def test_every_sentence_is_found_in_the_text(comparison: Comparison) -> None:
    assert comparison.sentences.right > 400
    assert comparison.sentences.f1 == 1.0


def test_findings_are_read_with_their_status(comparison: Comparison) -> None:
    assert comparison.finding.right > 800
    assert comparison.finding.f1 >= 0.985


def test_history_is_read_with_its_questions(comparison: Comparison) -> None:
    assert comparison.findings["hist"].f1 >= 0.98


def test_places_are_read(comparison: Comparison) -> None:
    assert comparison.place.f1 >= 0.95


def test_attributes_are_read(comparison: Comparison) -> None:
    assert comparison.attribute.f1 >= 0.95
