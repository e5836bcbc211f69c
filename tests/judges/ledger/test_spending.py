"""The daily budget sums minutes, not attempts: the same sum, at the same cost however
many attempts there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from lunguage_assets.judges.ledger import spending
from lunguage_assets.judges.ledger.attempts import Attempt, moment
from lunguage_assets.judges.ledger.calls import begin, record
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.ledger_tables import ATTEMPTS, CALLS
from lunguage_assets.judges.ledger.model_locks import model_lock_name
from lunguage_assets.judges.requests import ModelBinding

LOCK = model_lock_name(ModelBinding("p", "p", "m"))
MANY = 100_000


def from_now(hours: float) -> str:
    """A time of the ledger."""
    return moment(datetime.now(UTC) + timedelta(hours=hours))


def attempt(number: int, **fields: Any) -> Attempt:
    values = {
        "answer": "A",
        "returned_model": "m",
        "cost_usd": 0.25,
        "receipt": f"{number:032x}",
    }
    return Attempt(f"{number:064x}", "one", "compare", "m", **{**values, **fields})


def permit(ledger: Ledger, number: int, worst: float, daily_usd: float = 1.0) -> str:
    return ledger.transaction(
        lambda connection: begin(connection, attempt(number), LOCK, worst, daily_usd)
    )


def spent(ledger: Ledger) -> float:
    return ledger.transaction(spending.of_last_day)


def fill_day(ledger: Ledger, times: list[str], cost_usd: float) -> None:
    """Add an attempt at each of these times, as if they had been recorded."""
    common = {
        "attempt": 1,
        "judge": "one",
        "stage": "compare",
        "model": "m",
        "answer": "A",
        "valid": True,
        "refused": False,
        "input_tokens": 9,
        "output_tokens": 1,
        "reasoning_tokens": 0,
        "cost_usd": cost_usd,
        "latency_s": 0.1,
    }
    rows = [
        {
            **common,
            "key": f"f{number:063x}",
            "receipt": f"f{number:031x}",
            "time": time,
        }
        for number, time in enumerate(times)
    ]
    attempts_by_minute = Counter(time[: len("2026-11-24T12:34")] for time in times)

    def work(connection: sa.Connection) -> None:
        connection.execute(sa.insert(ATTEMPTS), rows)
        for minute, count in attempts_by_minute.items():
            spending.add(connection, minute, count * cost_usd)

    ledger.transaction(work)


def times_of_a_day(count: int) -> list[str]:
    """So many times, spread over the last 23 hours."""
    return [from_now(-23.0 * number / count) for number in range(count)]


@contextmanager
def counted_steps(connection: sa.Connection) -> Iterator[list[int]]:
    """How many hundred steps SQLite's machine takes meanwhile."""
    steps = [0]

    def step() -> int:
        steps[0] += 1
        return 0

    raw = connection.connection.driver_connection
    assert raw is not None
    raw.set_progress_handler(step, 100)
    try:
        yield steps
    finally:
        raw.set_progress_handler(None, 0)


def steps_of_a_call(ledger: Ledger) -> int:
    """Count the steps of a call under a daily budget, from its permit to its record."""
    call = attempt(10**9)

    def work(connection: sa.Connection) -> int:
        with counted_steps(connection) as steps:
            assert begin(connection, call, LOCK, 0.5, 1e9) == "go"
            record(connection, call)
        return steps[0]

    return ledger.transaction(work)


def test_a_call_under_a_daily_budget_costs_the_same_with_many_rows(
    tmp_path: Path,
) -> None:
    small_ledger = Ledger.open(tmp_path / "few.sqlite")
    large_ledger = Ledger.open(tmp_path / "many.sqlite")
    fill_day(small_ledger, times_of_a_day(MANY // 50), 0.001)
    fill_day(large_ledger, times_of_a_day(MANY), 0.001)
    assert spent(large_ledger) == pytest.approx(MANY * 0.001)
    # Not more than the minutes of a day, however many calls: a hundred times as many
    # rows fill more of them.
    assert steps_of_a_call(large_ledger) <= 2 * steps_of_a_call(small_ledger)


def statements_of_a_call(ledger: Ledger, number: int) -> int:
    """Count the statements of a call of 0.25 dollars under a daily budget."""
    call = attempt(number, cost_usd=0.25)

    def work(connection: sa.Connection) -> int:
        statements: list[str] = []
        sa.event.listen(
            connection,
            "before_cursor_execute",
            lambda *arguments: statements.append(arguments[2]),
        )
        assert begin(connection, call, LOCK, 0.5, 1e9) == "go"
        record(connection, call)
        return len(statements)

    return ledger.transaction(work)


def test_a_call_in_a_full_day_takes_the_statements_of_the_first(
    ledger_location: str,
) -> None:
    first = statements_of_a_call(Ledger.open(ledger_location), 1)
    fill_day(Ledger.open(ledger_location), times_of_a_day(20_000), 0.001)
    assert statements_of_a_call(Ledger.open(ledger_location), 2) == first


def test_the_money_of_a_full_day_is_summed_to_the_last_cent(
    ledger_location: str,
) -> None:
    fill_day(Ledger.open(ledger_location), times_of_a_day(20_000), 0.001)
    ledger = Ledger.open(ledger_location)
    assert spent(ledger) == pytest.approx(20.0)
    statements_of_a_call(ledger, 1)
    assert spent(ledger) == pytest.approx(20.25)
    assert permit(ledger, 2, worst=1.0, daily_usd=21.24) == "spent"
    assert permit(ledger, 2, worst=1.0, daily_usd=21.26) == "go"
    assert permit(ledger, 3, worst=1.0, daily_usd=22.24) == "wait"


def test_calls_that_have_ended_long_ago_cost_nothing(tmp_path: Path) -> None:
    small_ledger, large_ledger = (
        Ledger.open(tmp_path / f"{name}.sqlite") for name in ("few", "many")
    )
    ended = {
        "key": "k",
        "judge": "one",
        "stage": "compare",
        "model": "m",
        "time": from_now(-30),
        "lock": "l",
    }
    calls = [
        {**ended, "receipt": str(n), "worst_usd": 1.0, "in_flight": False}
        for n in range(20_000)
    ]
    large_ledger.transaction(
        lambda connection: connection.execute(sa.insert(CALLS), calls)
    )
    assert steps_of_a_call(large_ledger) <= steps_of_a_call(small_ledger) + 1


def test_a_permit_reads_no_attempt(ledger_location: str) -> None:
    ledger = Ledger.open(ledger_location)
    statements = list[str]()

    def work(connection: sa.Connection) -> None:
        sa.event.listen(
            connection,
            "before_cursor_execute",
            lambda *event: statements.append(event[2]),
        )
        begin(connection, attempt(1), LOCK, 0.5, 1.0)

    ledger.transaction(work)
    assert [statement for statement in statements if ATTEMPTS.name in statement] == []
    assert [statement for statement in statements if "judge_spending" in statement]


def test_calls_in_flight_are_found_by_their_index(ledger_location: str) -> None:
    ledger = Ledger.open(ledger_location)
    query = sa.select(sa.func.sum(CALLS.c.worst_usd)).where(CALLS.c.in_flight)

    def plan(connection: sa.Connection) -> str:
        statement = str(
            query.compile(connection, compile_kwargs={"literal_binds": True})
        )
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
            return str(connection.exec_driver_sql(f"EXPLAIN {statement}").all())
        return str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}").all())

    assert "judge_calls_in_flight" in ledger.transaction(plan)


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["begin", "record", "unknown", "lose"]), st.integers(0, 5)
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=30)
@given(MOVES)
def test_the_sum_is_that_of_all_attempts_and_calls_of_unknown_cost(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, int]]
) -> None:
    ledger = Ledger.open(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    for move, number in moves:
        if move == "begin":
            permit(ledger, number, 0.5, 1e9)
        elif move == "lose":
            ledger.in_flight()
        elif move == "record":
            ledger.record(attempt(number))
        else:
            ledger.record(
                attempt(number, answer=None, failure="timeout", cost_usd=None)
            )

    def summed(connection: sa.Connection) -> float:
        known_cost = (
            connection.scalar(sa.select(sa.func.sum(ATTEMPTS.c.cost_usd))) or 0.0
        )
        unknown = sa.select(sa.func.sum(CALLS.c.worst_usd)).where(~CALLS.c.in_flight)
        return known_cost + (connection.scalar(unknown) or 0.0)

    assert spent(ledger) == ledger.transaction(summed)


def test_what_was_spent_over_24_hours_ago_counts_no_more(ledger_location: str) -> None:
    ledger = Ledger.open(ledger_location)
    ledger.record(attempt(1, cost_usd=9.0, time=from_now(-24.1)))
    ledger.record(attempt(2, cost_usd=0.5, time=from_now(-23.9)))
    assert spent(ledger) == 0.5


def test_a_row_of_a_clock_that_is_some_hours_ahead_counts(ledger_location: str) -> None:
    ledger = Ledger.open(ledger_location)
    ledger.record(attempt(1, cost_usd=0.75, time=from_now(23)))
    assert permit(ledger, 2, 0.5) == "spent"


@pytest.mark.parametrize(
    "time", ["9999-99-99T99:99:99.000000Z", from_now(25)], ids=["no time", "ahead"]
)
def test_rows_dated_in_the_future_that_lie_in_a_ledger_count_nothing(
    tmp_path: Path, time: str
) -> None:
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    fill_day(ledger, [time] * 3, 1e6)
    assert permit(ledger, 10**6, 0.5) == "go"
