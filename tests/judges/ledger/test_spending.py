"""The daily budget sums minutes, not attempts: the same sum, at the same cost however
many attempts there are.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from fake_model import attempt
from hypothesis import given, settings
from hypothesis import strategies as st

from lunguage_assets.judges.ledger import spending
from lunguage_assets.judges.ledger.attempts import moment
from lunguage_assets.judges.ledger.calls import begin
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.ledger_tables import ATTEMPTS, CALLS
from lunguage_assets.judges.ledger.model_locks import model_lock_name
from lunguage_assets.judges.requests import ModelBinding

LOCK = model_lock_name(ModelBinding("p", "p", "m"))


def from_now(hours: float) -> str:
    """A time of the ledger."""
    return moment(datetime.now(UTC) + timedelta(hours=hours))


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


def test_the_money_of_a_full_day_is_summed_to_the_last_cent(
    ledger_location: str,
) -> None:
    fill_day(Ledger.open(ledger_location), times_of_a_day(2_000), 0.01)
    ledger = Ledger.open(ledger_location)
    assert spent(ledger) == pytest.approx(20.0)
    ledger.record(attempt(1))
    assert spent(ledger) == pytest.approx(20.25)
    assert permit(ledger, 2, worst=1.0, daily_usd=21.24) == "spent"
    assert permit(ledger, 2, worst=1.0, daily_usd=21.26) == "go"
    assert permit(ledger, 3, worst=1.0, daily_usd=22.24) == "wait"


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


def test_a_row_of_a_clock_that_is_a_day_ahead_counts(ledger_location: str) -> None:
    ledger = Ledger.open(ledger_location)
    ledger.record(attempt(1, cost_usd=0.75, time=from_now(24)))
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
