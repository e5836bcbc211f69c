"""Hard sentences are read no worse than they were."""

from __future__ import annotations

from families import counted, read_families

RIGHT_SHARE = 0.88
"""At least."""
CERTAINLY_UNTRUE = 8
"""Sentences of about 1,400, at most."""


def test_hard_sentences_are_mostly_right_and_seldom_certainly_untrue():
    everything = counted(list(read_families())).loc["all"]
    assert everything["sentences"] > 1300
    assert everything["right"] >= RIGHT_SHARE * everything["sentences"]
    assert everything["certainly untrue"] <= CERTAINLY_UNTRUE
