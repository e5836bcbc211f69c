"""One asker per model and ledger; calls are written down before they are sent, with their money, and whoever
takes a dead process's place counts what it had in flight.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from lunguage_assets.judges.ledger import in_flight
from lunguage_assets.judges.ledger.attempts import Attempt, now
from lunguage_assets.judges.ledger.in_flight import Call, Permit
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.ledger_place import lock_name
from lunguage_assets.judges.requests import ModelBinding

LOCK = lock_name(ModelBinding("p", "p", "m"))


def key_of(number: int) -> str:
    return f"{number:064x}"


def call(number: int, receipt: str = "", worst_usd: float = 0.0) -> Call:
    return Call(receipt or f"{number:032x}", key_of(number), "one", "compare", "m", now(), worst_usd)


def begin(ledger: Ledger, *calls: Call, lock: str = LOCK, daily_usd: float | None = None) -> list[Permit]:
    return ledger.transaction(lambda c: in_flight.begin(c, lock, calls, daily_usd))


def kinds(ledger: Ledger, *calls: Call, **options: Any) -> list[str]:
    return [permit.kind for permit in begin(ledger, *calls, **options)]


def in_table(ledger: Ledger) -> int:
    return len(ledger.transaction(lambda c: in_flight.of_lock(c, LOCK)))


def answered(number: int, receipt: str = "", **fields: Any) -> Attempt:
    values = {"answer": "A", "returned_model": "m", "cost_usd": 0.25, "receipt": receipt or f"{number:032x}"}
    return Attempt(key_of(number), "one", "compare", "m", **{**values, **fields})


def test_one_at_a_time_has_a_models_lock_and_other_models_have_their_own(place: str) -> None:
    ledger, other = Ledger.open(place), Ledger.open(place)
    lock = ledger.try_lock(LOCK)
    assert lock is not None
    assert ledger.try_lock(LOCK) is None, "also in the same process"
    assert other.try_lock(LOCK) is None
    second = other.try_lock(lock_name(ModelBinding("p", "p", "m", (("temperature", 0),))))
    assert second is not None, "other parameters give other answers"
    lock.release()
    again = other.try_lock(LOCK)
    assert again is not None
    again.release()
    second.release()


def test_a_call_is_in_flight_until_it_is_recorded_or_given_back(place: str) -> None:
    ledger = Ledger.open(place)
    assert kinds(ledger, call(1), call(2)) == ["go", "go"]
    ledger.record(answered(1))
    ledger.transaction(lambda c: in_flight.forget(c, [call(2).receipt]))
    assert in_table(ledger) == 0
    assert ledger.lost() == 0


def test_what_the_dead_had_in_flight_is_counted_once_as_lost_by_the_next_holder(place: str) -> None:
    ledger = Ledger.open(place)
    lock = ledger.try_lock(LOCK)
    assert lock is not None
    begin(ledger, call(1, worst_usd=0.5), call(2))
    assert Ledger.open(place).in_flight() == 2, "its holder lives"
    lock.release()
    assert Ledger.open(place).in_flight() == 0
    row = ledger.statistics().iloc[0]
    assert (row["attempts"], row["failures"], row["lost"], row["unpriced"]) == (2, 2, 2, 2)
    spent = ledger.transaction(lambda c: in_flight.spent(c))
    assert spent == in_flight.billionths(0.5), "a lost call has cost its worst"


def test_the_days_money_is_reserved_with_the_call_and_unknown_costs_count_at_their_worst(place: str) -> None:
    ledger = Ledger.open(place)
    assert kinds(ledger, call(1, worst_usd=0.75), daily_usd=1.0) == ["go"]
    assert kinds(ledger, call(2, worst_usd=0.5), daily_usd=1.0, lock="o" * 32) == ["wait"], "of all models"
    ledger.record(answered(1, cost_usd=0.25))
    assert kinds(ledger, call(2, worst_usd=0.5), daily_usd=1.0) == ["go"]
    ledger.record(answered(2, answer=None, failure="timeout", cost_usd=None))
    (permit,) = begin(ledger, call(3, worst_usd=0.5), daily_usd=1.0)
    assert (permit.kind, permit.spent_usd) == ("spent", 0.75)
    assert kinds(ledger, call(3, worst_usd=0.5)) == ["go"], "who has no ceiling is not held"


def test_a_ledger_from_before_gets_its_tables_and_knows_what_the_last_day_has_cost(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    ledger = Ledger.open(place)
    ledger.record_all([answered(1), answered(2)])
    ledger.close()
    former = ("judge_claims", "judge_askers", "judge_sent", "judge_batches")
    with sqlite3.connect(place) as old:
        for table in (in_flight.IN_FLIGHT, in_flight.SPENDING):
            old.execute(f"DROP TABLE {table.name}")
        for name in former:
            old.execute(f"CREATE TABLE {name} (name VARCHAR(32) PRIMARY KEY, worst BIGINT)")
            old.execute(f"INSERT INTO {name} VALUES ('a', 5000000000)")
    ledger = Ledger.open(place)
    assert ledger.transaction(lambda c: in_flight.spent(c)) == in_flight.billionths(0.5)
    assert kinds(ledger, call(3, worst_usd=0.5), daily_usd=1.0) == ["go"], "they hold no money"
    assert len(ledger.answers([key_of(1), key_of(2), key_of(3)])) == 2
    ledger.close()
    with sqlite3.connect(place) as old:
        for name in former:
            assert old.execute(f"SELECT * FROM {name}").fetchall() == [("a", 5000000000)]
