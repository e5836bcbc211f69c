"""Patients' text goes only where somebody has attested that it may, and only the requested model's answers
are used.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from fake_model import BINDING

from lunguage_assets.judges.policy import (
    PolicyRefused,
    Problem,
    is_requested,
    preflight,
    require,
    wrong_model,
)
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.settings import DataClass

TODAY = date(2026, 11, 21)
ATTESTED = ModelSlot(
    provider="openai",
    model="gpt-x",
    allowed_data=("synthetic", "credentialed"),
    zero_retention_attested_on=date(2026, 1, 5),
    zero_retention_attested_by="A. Person, data steward",
)


def changed(**fields: object) -> ModelSlot:
    """Also what the judges file would not accept: the policy does not rely on it."""
    return ATTESTED.model_copy(update=fields)


def problems(slot: ModelSlot, data_class: DataClass = "credentialed") -> list[Problem]:
    return preflight("gpt", slot, {}, data_class, TODAY)


def refusals(slot: ModelSlot, data_class: DataClass = "credentialed") -> list[str]:
    return [problem.message for problem in problems(slot, data_class) if problem.severity == "refusal"]


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
    (message,) = refusals(changed(**change))
    assert reason in message
    assert "'gpt'" in message
    with pytest.raises(PolicyRefused, match=reason):
        require(problems(changed(**change)))


def test_a_judge_that_sends_nothing_out_may_receive_everything() -> None:
    assert refusals(ModelSlot(provider="transformers", model="m", params={"max_new_tokens": 9})) == []


@pytest.mark.parametrize(
    ("days", "severity"),
    [(-1, "refusal"), (0, "refusal"), (1, "warning"), (30, "warning"), (31, None), (None, None)],
)
def test_a_retired_model_is_refused_and_one_that_soon_retires_is_warned_of(
    days: int | None, severity: str | None
) -> None:
    retires_on = None if days is None else TODAY + timedelta(days=days)
    found = problems(changed(retires_on=retires_on))
    assert [problem.severity for problem in found] == ([severity] if severity else [])
    if severity == "warning":
        require(found)


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
