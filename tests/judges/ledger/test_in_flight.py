"""One asker per model and ledger; calls are written down before they are sent, with
their money, and whoever takes a dead process's place counts what it had in flight.
"""

from __future__ import annotations

import sqlalchemy as sa
from fake_model import attempt

from lunguage_assets.judges.ledger.calls import begin, forget
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.model_locks import model_lock_name
from lunguage_assets.judges.requests import ModelBinding

LOCK = model_lock_name(ModelBinding("p", "p", "m"))


def begun(
    ledger: Ledger,
    *numbers: int,
    worst: float = 0.0,
    lock: str = LOCK,
    daily_usd: float | None = None,
) -> list[str]:
    """Permits for the calls of these numbers."""

    def begin_all(connection: sa.Connection) -> list[str]:
        return [
            begin(connection, attempt(number), lock, worst, daily_usd)
            for number in numbers
        ]

    return list(ledger.transaction(begin_all))


def test_one_at_a_time_has_the_lock_of_a_model(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    second_ledger = Ledger.open(ledger_location)
    release = ledger.try_lock(LOCK)
    assert release is not None
    assert ledger.try_lock(LOCK) is None, "also in the same process"
    assert second_ledger.try_lock(LOCK) is None
    second = second_ledger.try_lock(
        model_lock_name(ModelBinding("p", "p", "m", (("temperature", 0),)))
    )
    assert second is not None, "other parameters give other answers"
    release()
    again = second_ledger.try_lock(LOCK)
    assert again is not None
    again()
    second()


def test_a_call_is_in_flight_until_it_is_recorded_or_given_back(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    release = ledger.try_lock(LOCK)
    assert release is not None
    assert begun(ledger, 1, 2) == begun(ledger, 1, 2) == ["go", "go"], (
        "also where its word was lost"
    )
    ledger.record(attempt(1))
    assert ledger.in_flight() == 1
    ledger.transaction(lambda connection: forget(connection, attempt(2)))
    assert ledger.in_flight() == 0
    release()


def test_what_the_dead_had_in_flight_is_lost_once(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    release = ledger.try_lock(LOCK)
    assert release is not None
    begun(ledger, 1, worst=0.5)
    begun(ledger, 2)
    assert Ledger.open(ledger_location).in_flight() == 2, "its holder lives"
    release()
    assert Ledger.open(ledger_location).in_flight() == ledger.in_flight() == 0
    row = ledger.statistics().iloc[0]
    assert (row["attempts"], row["failures"], row["lost"], row["unpriced"]) == (
        2,
        2,
        2,
        2,
    )
    assert begun(ledger, 3, worst=0.75, daily_usd=1.0) == ["spent"], (
        "a lost call has cost its worst"
    )
    ledger.record(attempt(1))
    assert begun(ledger, 3, worst=0.75, daily_usd=1.0) == ["go"], (
        "its answer came after all"
    )


def test_the_days_money_is_reserved_with_each_call(
    ledger_location: str,
) -> None:
    ledger = Ledger.open(ledger_location)
    assert begun(ledger, 1, worst=0.75, daily_usd=1.0) == ["go"]
    assert begun(ledger, 2, worst=0.5, daily_usd=1.0, lock="o" * 32) == ["wait"], (
        "of all models"
    )
    ledger.record(attempt(1))
    assert begun(ledger, 2, worst=0.5, daily_usd=1.0) == ["go"]
    ledger.record(attempt(2, answer=None, failure="timeout", cost_usd=None))
    assert begun(ledger, 3, worst=0.5, daily_usd=1.0) == ["spent"]
    assert begun(ledger, 3, worst=0.5) == ["go"], "who has no ceiling is not held"
