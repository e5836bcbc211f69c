"""Proof that the generated cases reach every rule, event and kind of conflict, and that
no rule can be left out unnoticed.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest
from generated_reports import ENTS, PLACES
from invented_reports import Outcome, StatedFinding, labels, run, stated
from resolution_oracle import oracle_violations

from lunguage_assets.implicit.resolution import rules as rules_module
from lunguage_assets.implicit.resolution.guarantees import violations
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.resolution.rules import RULES

THEMES = (
    ("atelectasis", "consolidation", "volume loss"),
    ("CHF", "lobar pneumonia", "consolidation", "atelectasis"),
    ("CHF", "pulmonary edema", "effusion", "opacity"),
    ("pneumothorax", "COPD", "bronchitis", "cough"),
)


@cache
def sample() -> tuple[StatedFinding, ...]:
    """Three hundred invented reports, the same every time; each speaks of few things,
    so that they meet.
    """
    dice = random.Random(7)
    rows: list[StatedFinding] = []
    for study in range(300):
        view = dice.choice(["", "ap", "pa, lateral", "lateral"])
        ents = dice.sample(ENTS, 4)
        locations = dice.sample(PLACES, 3)
        measurements = ["", "", "", "5 mm", "8 mm", "normal"]
        # Things that meet often: what several diagnoses show, deny, or measure.
        if study % 4 == 0:
            ents = dice.choice(THEMES)
            locations = ["", "", "right"]
        elif study % 4 == 1:
            ents = ("cardiomegaly", "heart size")
            locations = ("", "cardiothoracic")
        for _ in range(dice.randrange(2, 10)):
            row = stated(
                dice.choice(ents),
                dice.choice(["dp", "dp", "dn", "tp", "tp", "tn"]),
                location=dice.choice(locations),
                p=dice.choice([None, 0.2, 0.4, 0.6, 0.8]),
                section=dice.choice(["find", "find", "find", "impr", "hist"]),
                view=view,
                study=f"s{study:08d}",
                evidence=[len(rows) - 1] if dice.random() < 0.3 else [],
                measurement=dice.choice(measurements),
                severity=dice.choice(["", "", "severe"]),
                past_hx=dice.choice(["", "", "", "", "old"]),
                improved=dice.choice(["", "", "", "", "", "smaller", "resolved"]),
                onset=dice.choice(["", "", "", "", "new", "chronic"]),
                row=len(rows),
            )
            rows.append(row)
    return tuple(rows)


@cache
def outcome(mode: str) -> Outcome:
    return run(sample(), mode=mode)


def resolved(mode: str = "method") -> Outcome:
    """The sample resolved once more."""
    done = outcome(mode)
    return replace(
        done,
        resolved=lambda: resolve(done.deduplicated, *done.expansion, labels(), "v1"),
    )


@pytest.mark.parametrize("left_out", range(len(RULES)), ids=[name for name, _ in RULES])
def test_no_rule_can_be_left_out_unnoticed(
    left_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [rule for number, rule in enumerate(RULES) if number != left_out]
    monkeypatch.setattr(rules_module, "RULES", rules)
    crippled = resolved()
    assert violations(crippled.rows) or oracle_violations(crippled)


def test_the_order_of_the_rules_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 2 before rule 1 lets a generated row wipe out a stated one; in mode `paper`
    they contradict each other.
    """
    monkeypatch.setattr(rules_module, "PAPER_RULES", [RULES[1], RULES[0], RULES[2]])
    assert oracle_violations(resolved("paper"))
