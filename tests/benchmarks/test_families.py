"""Hard sentences are read no worse than they were."""

from __future__ import annotations

from pathlib import Path

from families import counted, read_families

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"

RIGHT_SHARE = 0.95
"""At least."""
CERTAINLY_UNTRUE = 10
"""Sentences of about 700, at most."""


def test_hard_sentences_are_mostly_right_and_seldom_certainly_untrue():
    everything = counted(list(read_families())).loc["all"]
    assert everything["sentences"] > 600
    assert everything["right"] >= RIGHT_SHARE * everything["sentences"]
    assert everything["certainly untrue"] <= CERTAINLY_UNTRUE
    counts = f"All {everything['sentences']} are right"
    is_all_right = everything["right"] == everything["sentences"]
    assert (counts in PAGE.read_text(encoding="utf-8")) == is_all_right
