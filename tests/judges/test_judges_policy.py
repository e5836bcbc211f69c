"""Patients' text goes only where somebody has attested that it may, and only the requested model's answers
are used.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from fake_model import BINDING

from lunguage_assets.judges.policy import (
    DataClass,
    PolicyRefused,
    SlotPolicy,
    is_requested,
    preflight,
    require,
    wrong_model,
)

TODAY = date(2026, 11, 21)
ATTESTED = SlotPolicy(
    "gpt",
    "gpt-x",
    allowed_data=("synthetic", "credentialed"),
    zero_retention_attested_on=date(2026, 1, 5),
    zero_retention_attested_by="A. Person, data steward",
)


def refusals(slot: SlotPolicy, data_class: DataClass = "credentialed") -> list[str]:
    return [
        problem.message for problem in preflight([slot], data_class, TODAY) if problem.severity == "refusal"
    ]


def test_an_attested_judge_may_receive_credentialed_text() -> None:
    assert preflight([ATTESTED], "credentialed", TODAY) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"allowed_data": ("synthetic",)}, "allowed_data"),
        ({"allowed_data": ()}, "allowed_data"),
        ({"zero_retention_attested_on": None}, "attested"),
        ({"zero_retention_attested_by": ""}, "attested"),
        ({"zero_retention_attested_by": "  "}, "attested"),
        ({"zero_retention_attested_on": TODAY + timedelta(days=1)}, "has not come"),
    ],
)
def test_without_permission_and_attestation_credentialed_text_is_refused_with_the_reason(
    change: dict[str, object], reason: str
) -> None:
    (message,) = refusals(replace(ATTESTED, **change))  # type: ignore[arg-type]
    assert reason in message
    assert "'gpt'" in message
    with pytest.raises(PolicyRefused, match=reason):
        require(preflight([replace(ATTESTED, **change)], "credentialed", TODAY))  # type: ignore[arg-type]


def test_synthetic_text_needs_no_attestation_but_must_be_allowed() -> None:
    assert refusals(SlotPolicy("gpt", "gpt-x", allowed_data=("synthetic",)), "synthetic") == []
    assert refusals(SlotPolicy("gpt", "gpt-x"), "synthetic") != []


def test_a_judge_that_sends_nothing_out_may_receive_everything() -> None:
    assert refusals(SlotPolicy("lexicon", "rules", leaves_machine=False)) == []


@pytest.mark.parametrize(
    ("days", "severity"),
    [(-1, "refusal"), (0, "refusal"), (1, "warning"), (30, "warning"), (31, None), (None, None)],
)
def test_a_retired_model_is_refused_and_one_that_soon_retires_is_warned_of(
    days: int | None, severity: str | None
) -> None:
    retires_on = None if days is None else TODAY + timedelta(days=days)
    problems = preflight([replace(ATTESTED, retires_on=retires_on)], "credentialed", TODAY)
    assert [problem.severity for problem in problems] == ([severity] if severity else [])
    if severity == "warning":
        require(problems)


def test_every_problem_of_every_judge_is_listed() -> None:
    slots = [
        replace(ATTESTED, judge="a", allowed_data=(), retires_on=TODAY),
        replace(ATTESTED, judge="b", retires_on=TODAY),
        ATTESTED,
    ]
    assert [problem.judge for problem in preflight(slots, "credentialed", TODAY)] == ["a", "a", "b"]


@pytest.mark.parametrize(
    ("returned", "accepted"),
    [
        ("fake-1", True),
        ("fake-1-2026-01-01", True),
        ("fake-1-2026-02-02", False),
        ("fake-10", False),
        ("FAKE-1", False),
        ("", False),
    ],
)
def test_only_the_requested_name_or_a_listed_alias_is_the_requested_model(
    returned: str, accepted: bool
) -> None:
    assert is_requested(replace(BINDING, aliases=("fake-1-2026-01-01",)), returned) == accepted


def test_the_error_names_both_models_on_one_short_line() -> None:
    assert "'other-2'" in str(wrong_model("gpt", BINDING, "other-2"))


@pytest.mark.parametrize(
    "told", ["other\nmodel\x1b[31m" + "y" * 5000, "There is a nodule.", "x" * 200, "\u200b"]
)
def test_what_is_no_models_name_is_not_shown(told: str) -> None:
    message = str(wrong_model("gpt", BINDING, told))
    assert told not in message
    assert "'fake-1'" in message
    assert message.isprintable()
    assert len(message) < 500
