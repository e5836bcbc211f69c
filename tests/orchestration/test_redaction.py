"""Of unexpected errors their kind and place are told, and no message."""

from __future__ import annotations

import dagster as dg
import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.redaction import (
    REDACTION_VARIABLE,
    messages_may_be_shown,
    redact_errors,
)

QUOTED = "There may be a nodule near the rim."


def burst() -> None:
    raise KeyError(QUOTED)


@pytest.mark.parametrize(
    ("variable", "is_shown"), [("", False), ("true", False), ("false", True)]
)
def test_messages_are_shown_only_where_somebody_says_so(
    variable: str, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REDACTION_VARIABLE, variable)
    assert messages_may_be_shown() is is_shown
    with pytest.raises(KeyError if is_shown else dg.Failure), redact_errors():
        burst()


def test_a_withheld_error_tells_kind_and_place_without_its_quote() -> None:
    with pytest.raises(dg.Failure) as raised, redact_errors():
        burst()
    error = raised.value
    assert str(error.description).startswith("unexpected KeyError in ")
    # Whatever Dagster would store of an error that this one came from.
    context = None if error.__suppress_context__ else error.__context__
    told = (error.description, error.metadata, error.__cause__, context)
    assert QUOTED not in str(told)
    assert not error.allow_retries


def test_errors_with_a_remedy_are_told_and_interruptions_pass() -> None:
    with (
        pytest.raises(dg.Failure, match="name another folder") as raised,
        redact_errors(),
    ):
        raise ConfigurationError("name another folder")
    assert not raised.value.allow_retries, "the same again would fail the same way"
    with pytest.raises(KeyboardInterrupt), redact_errors():
        raise KeyboardInterrupt
