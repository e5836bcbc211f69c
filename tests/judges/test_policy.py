"""Patients' text goes only where somebody has attested that it may, and only the requested model's answers
are used.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

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

TODAY = date(2026, 11, 21)
ATTESTED = ModelSlot(
    provider="openai",
    model="gpt-x",
    allowed_data=("synthetic", "credentialed"),
    zero_retention_attested_on=date(2026, 1, 5),
    zero_retention_attested_by="A. Person, data steward",
)
SERVER = {"provider": "openai-compatible", "model": "m", "base_url": "http://localhost:1/v1"}
LOCAL = {"provider": "transformers", "model": "m", "params": {"max_new_tokens": 9}}


def problems(slot: ModelSlot, environ: dict[str, str] | None = None) -> list[Problem]:
    return preflight("gpt", slot, environ or {}, "credentialed", TODAY)


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
    assert problems(ATTESTED) == []
    slot = ATTESTED.model_copy(update=change)  # also what the judges file would not accept
    with pytest.raises(PolicyRefused, match=rf"'gpt'.*{reason}"):
        require(problems(slot))


@pytest.mark.parametrize("values", [SERVER, LOCAL])
@pytest.mark.parametrize(
    ("allowed", "refusals"), [(None, 0), (("synthetic",), 1), ((), 1), (("credentialed",), 0)]
)
def test_what_is_written_about_allowed_data_binds_a_server_and_a_model_on_this_machine(
    values: dict[str, Any], allowed: tuple[str, ...] | None, refusals: int
) -> None:
    found = problems(ModelSlot(**values if allowed is None else values | {"allowed_data": allowed}))
    assert len(found) == refusals
    assert all("allowed_data does not list 'credentialed'" in each.message for each in found)


@pytest.mark.parametrize(("address", "refused"), [
    ("http://localhost:8000/v1", False), (" http://127.0.0.1:9/v1 ", False),
    ("https://gpu.example/v1", True), ("", True), (None, True),
])  # fmt: skip
def test_a_server_that_only_the_environment_names_is_examined_there_and_refused_while_it_is_not_named(
    address: str | None, refused: bool
) -> None:
    slot = ModelSlot(
        provider="openai-compatible", model="m", base_url_env="SERVER", allowed_data=("credentialed",)
    )
    environ = {} if address is None else {"SERVER": address}
    assert [problem.severity for problem in problems(slot, environ)] == (["refusal"] if refused else [])
    gateway = slot.model_copy(update={"provider": "openai"})
    assert gateway.leaves_machine(environ), "a gateway is not the model"


@pytest.mark.parametrize(
    ("days", "severity"),
    [(-1, "refusal"), (0, "refusal"), (1, "warning"), (30, "warning"), (31, None), (None, None)],
)
def test_a_retired_model_is_refused_and_one_that_soon_retires_is_warned_of(
    days: int | None, severity: str | None
) -> None:
    retires_on = None if days is None else TODAY + timedelta(days=days)
    found = problems(ATTESTED.model_copy(update={"retires_on": retires_on}))
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


@pytest.mark.parametrize(
    "told", ["other\nmodel\x1b[31m" + "y" * 5000, "There is a nodule.", "x" * 200, "\u200b"]
)
def test_the_error_names_both_models_on_one_short_line_and_nothing_that_is_no_models_name(told: str) -> None:
    assert "'other-2'" in str(wrong_model("gpt", BINDING, "other-2"))
    message = str(wrong_model("gpt", BINDING, told))
    assert told not in message
    assert ("'fake-1'" in message, message.isprintable(), len(message) < 500) == (True, True, True)
