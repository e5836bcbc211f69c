"""A question is claimed by one at a time, its money is reserved with it, and no claim outlives its owner for
longer than its lease.
"""

from __future__ import annotations

import sqlite3
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from profiles import scaled

from lunguage_assets.judges.ledger import claims, spending
from lunguage_assets.judges.ledger.attempts import Attempt, moment, now
from lunguage_assets.judges.ledger.claims import Terms, Verdict, Wish
from lunguage_assets.judges.ledger.ledger import Ledger

LEASE_S = claims.LEASE_S


def key_of(number: int) -> str:
    return f"{number:064x}"


def wish(number: int, receipt: str = "", worst_usd: float = 0.0, tokens: int = 0) -> Wish:
    return Wish(key_of(number), receipt or f"{number:032x}", "compare", now(), tokens, worst_usd)


class Asked:
    """Claims at a time that the test sets."""

    def __init__(self, ledger: Ledger, time: float = 1e9) -> None:
        self.ledger, self.time = ledger, time

    def claim(self, owner: str, *wishes: Wish, **terms: Any) -> list[Verdict]:
        held = Terms("one", "m", owner, **{"in_flight": 100, **terms})
        at = {name: sa.literal(self.time, sa.Double) for name in spending.CLOCKS}
        with patch.dict(spending.CLOCKS, at):
            return self.ledger.transaction(lambda c: self.ledger.claim(c, owner, held, wishes))

    def kinds(self, owner: str, *wishes: Wish, **terms: Any) -> list[str]:
        return [verdict.kind for verdict in self.claim(owner, *wishes, **terms)]

    def beat(self, owner: str) -> None:
        self.ledger.transaction(lambda c: claims.prolong(c, owner, self.time + LEASE_S))

    def leave(self, owner: str) -> None:
        self.ledger.transaction(lambda c: claims.forget(c, [owner]))


def answered(number: int, receipt: str = "", **fields: Any) -> Attempt:
    values = {"answer": "A", "returned_model": "m", "cost_usd": 0.25, "receipt": receipt or f"{number:032x}"}
    return Attempt(key_of(number), "one", "compare", "m", **{**values, **fields})


def test_a_question_is_claimed_by_one_until_it_is_answered(place: str) -> None:
    asked = Asked(Ledger.open(place))
    assert asked.kinds("a", wish(1), wish(2)) == ["go", "go"]
    assert asked.kinds("b", wish(2, "x"), wish(3, "y")) == ["taken", "go"]
    asked.ledger.record(answered(2))
    (verdict,) = asked.claim("b", wish(2, "z"))
    assert (verdict.kind, verdict.entry.answer if verdict.entry else None) == ("settled", "A")


def test_a_claim_that_was_committed_without_word_of_it_is_granted_when_it_is_tried_again(place: str) -> None:
    asked = Asked(Ledger.open(place))
    assert [asked.kinds("a", wish(1)) for _ in range(2)] == [["go"], ["go"]]
    asked.ledger.record(answered(1))
    assert asked.ledger.in_flight() == 0


def test_a_failure_or_giving_back_frees_a_question_at_once(place: str) -> None:
    asked = Asked(Ledger.open(place))
    asked.claim("a", wish(1), wish(2))
    asked.ledger.record(answered(1, answer=None, failure="overloaded", cost_usd=0.0))
    asked.ledger.transaction(lambda connection: claims.give_back(connection, wish(2).receipt))
    assert asked.kinds("b", wish(1, "x"), wish(2, "y")) == ["go", "go"]


def test_the_claims_of_a_silent_owner_end_with_its_lease_and_are_counted_as_lost(place: str) -> None:
    asked = Asked(Ledger.open(place))
    asked.claim("a", wish(1, worst_usd=0.5), wish(2))
    asked.time += LEASE_S - 1
    assert asked.kinds("b", wish(1, "x")) == ["taken"]
    asked.beat("a")
    asked.time += LEASE_S - 1
    assert asked.kinds("b", wish(1, "x")) == ["taken"], "a sign of life prolongs"
    asked.time += 2
    asked.beat("b")
    assert asked.kinds("b", wish(1, "x")) == ["go"]
    row = asked.ledger.statistics().iloc[0]
    assert (row["attempts"], row["failures"], row["lost"], row["unpriced"]) == (2, 2, 2, 2)


def test_an_answer_that_comes_after_all_takes_the_place_of_the_loss(place: str) -> None:
    asked = Asked(Ledger.open(place))
    asked.claim("a", wish(1))
    asked.time += LEASE_S + 1
    assert asked.kinds("b", wish(1, "x")) == ["go"]
    asked.ledger.record(answered(1))
    asked.ledger.record(answered(1, "x"))
    row = asked.ledger.statistics().iloc[0]
    assert (row["attempts"], row["valid"], row["lost"]) == (2, 2, 0)


def test_a_clock_that_was_set_back_does_not_keep_the_dead_alive(place: str) -> None:
    asked = Asked(Ledger.open(place))
    asked.claim("a", wish(1))
    asked.time -= 86400.0
    assert asked.kinds("b", wish(1, "x")) == ["go"]


@pytest.mark.parametrize("hours", [1, 24 * 365, -1, -24 * 365])
def test_a_clock_that_jumps_blocks_nobody_and_loses_no_answer(place: str, hours: int) -> None:
    """What is in flight when it jumps may be asked again; whoever asked it goes on, and all is counted."""
    asked = Asked(Ledger.open(place))
    rate = {"requests_per_minute": 1.0}
    assert asked.kinds("a", wish(1, worst_usd=0.5), **rate) == ["go"]
    asked.time += 3600.0 * hours
    assert asked.kinds("b", wish(1, "x"), **rate) == ["go"], "neither claim nor rate holds for ever"
    asked.time += claims.WINDOW_S + 1
    asked.beat("b")
    assert asked.kinds("a", wish(2, "z"), **rate) == ["go"], "it signs in again"
    asked.ledger.record(answered(1))
    asked.ledger.record(answered(1, "x"))
    assert asked.kinds("c", wish(1, "y")) == ["settled"]
    row = asked.ledger.statistics().iloc[0]
    assert (row["attempts"], row["valid"], row["lost"]) == (2, 2, 0)


@pytest.mark.parametrize(("days", "counts"), [(0.1, True), (365.0, False)])
def test_money_of_a_clock_that_was_ahead_counts_for_a_day_and_not_for_years(
    place: str, days: float, counts: bool
) -> None:
    ledger = Ledger.open(place)
    ledger.record(answered(1, time=moment(datetime.now(UTC) + timedelta(days=days))))
    now = ledger.transaction(spending.clock)
    assert ledger.transaction(lambda c: spending.spent(c, now)) == spending.billionths(0.25 * counts)
    asked = Asked(ledger, now)
    assert asked.kinds("a", wish(2, worst_usd=0.5), daily_usd=0.5) == ["spent" if counts else "go"]


def test_the_days_money_is_reserved_with_the_claim_and_unknown_costs_count_at_their_worst(place: str) -> None:
    ledger = Ledger.open(place)
    asked = Asked(ledger, ledger.transaction(spending.clock))
    day = {"daily_usd": 1.0}
    assert asked.kinds("a", wish(1, worst_usd=0.75), **day) == ["go"]
    assert asked.kinds("b", wish(2, worst_usd=0.5), **day) == ["wait"]
    ledger.record(answered(1, cost_usd=0.25))
    assert asked.kinds("b", wish(2, worst_usd=0.5), **day) == ["go"]
    ledger.record(answered(2, answer=None, failure="timeout", cost_usd=None))
    (verdict,) = asked.claim("a", wish(3, worst_usd=0.5), **day)
    assert (verdict.kind, verdict.spent_usd) == ("spent", 0.75)
    assert asked.kinds("c", wish(3, worst_usd=0.5)) == ["go"], "who has no ceiling is not held"
    asked.time += LEASE_S + 1
    (verdict,) = asked.claim("a", wish(4, worst_usd=0.25), **day)
    assert verdict.spent_usd == 1.25, "a lost call has cost its worst"


def test_yesterday_does_not_count(place: str) -> None:
    ledger = Ledger.open(place)
    for hours, number in ((25, 1), (23, 2)):
        ledger.record(answered(number, time=moment(datetime.now(UTC) - timedelta(hours=hours))))
    asked = Asked(ledger, ledger.transaction(spending.clock))
    (verdict,) = asked.claim("a", wish(3, worst_usd=0.5), daily_usd=0.5)
    assert verdict.spent_usd == 0.25


def test_each_of_several_gets_its_part_of_the_limits_and_all_together_keep_to_them(place: str) -> None:
    asked = Asked(Ledger.open(place))
    one, two = [wish(n) for n in range(10)], [wish(n) for n in range(10, 20)]
    assert asked.kinds("a", *one, in_flight=4).count("go") == 4
    assert asked.kinds("b", *two, in_flight=4).count("go") == 0, "none is free"
    for number in range(4):
        asked.ledger.record(answered(number))
    assert asked.kinds("a", *one[4:], in_flight=4).count("go") == 2, "half, now that two ask"
    assert asked.kinds("b", *two, in_flight=4).count("go") == 2


@pytest.mark.parametrize("limit", ["requests_per_minute", "tokens_per_minute"])
def test_the_rates_of_a_minute_hold_for_all_and_begin_anew_with_the_next(place: str, limit: str) -> None:
    asked = Asked(Ledger.open(place))
    rate, tokens = {limit: 60}, 10 if limit == "tokens_per_minute" else 0
    most = 6 if tokens else 60
    wishes = [wish(n, tokens=tokens) for n in range(200)]
    assert asked.kinds("a", *wishes[: most // 2], **rate).count("go") == most // 2
    (verdict, *_), kinds = asked.claim("b", *wishes[100:], **rate), asked.kinds("b", *wishes[150:], **rate)
    assert verdict.kind == "go"
    assert kinds.count("go") == 0
    assert len(asked.ledger.transaction(lambda c: claims.claimed(c, [w.key for w in wishes]))) == most
    asked.time += claims.WINDOW_S + 1
    asked.claim("a", **rate)
    asked.time += 0.1
    assert (
        asked.kinds("b", *[wish(n, f"{n}x", tokens=tokens) for n in range(200, 300)], **rate).count("go") > 0
    )


def sent_at(ledger: Ledger, amounts: list[int], used: list[int], **rate: float) -> list[float]:
    """When each call goes, one after the other, each ending at once with the tokens that it used."""
    asked, times = Asked(ledger), list[float]()
    for number, (amount, tokens) in enumerate(zip(amounts, used, strict=True)):
        while (verdict := asked.claim("a", wish(number, tokens=amount), **rate)[0]).kind == "wait":
            asked.time += verdict.wait_s
            asked.beat("a")
        times.append(asked.time)
        ledger.record(answered(number, input_tokens=tokens))
    return [time - times[0] for time in times]


@settings(max_examples=scaled(25), deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.booleans())
def test_no_minute_has_more_than_one_asker_is_allowed_and_little_time_is_wasted(
    amounts: list[int], by_tokens: bool
) -> None:
    counted = amounts if by_tokens else [1] * len(amounts)
    limit = 100 if by_tokens else 3
    rate = {"tokens_per_minute" if by_tokens else "requests_per_minute": limit}
    with tempfile.TemporaryDirectory() as folder:
        times = sent_at(Ledger.open(Path(folder) / "ledger.sqlite"), amounts, amounts, **rate)
    minutes = [sum(n for t, n in zip(times, counted, strict=True) if u <= t < u + 60) for u in times]
    assert max(minutes) <= limit
    if not by_tokens:
        assert times[-1] <= 61 * ((len(amounts) - 1) // limit)


@pytest.mark.parametrize(
    ("wished", "used", "waits"),
    [
        ([80] * 3, [10] * 3, [0, 0, 0]),  # what was estimated and not used is given back
        ([80] * 3, [0] * 3, [0, 60, 120]),  # a reply that does not say what it used: the estimate stands
        ([10, 10], [100, 10], [0, 60]),  # what was used beyond the estimate counts
        ([10, 500, 10], [10, 500, 10], [0, 60, 120]),  # larger than the limit: alone, and not never
    ],
)
def test_a_minutes_tokens_are_those_used_and_where_nobody_says_those_expected(
    tmp_path: Path, wished: list[int], used: list[int], waits: list[int]
) -> None:
    times = sent_at(Ledger.open(tmp_path / "ledger.sqlite"), wished, used, tokens_per_minute=100)
    assert times == pytest.approx(waits, abs=1)


def test_tokens_are_looked_for_soon_while_a_call_that_may_give_some_back_is_in_flight(place: str) -> None:
    asked, rate = Asked(Ledger.open(place)), {"tokens_per_minute": 100}
    asked.claim("a", wish(1, tokens=90), **rate)
    (verdict,) = asked.claim("a", wish(2, tokens=90), **rate)
    assert (verdict.kind, verdict.wait_s) == ("wait", 0.25)
    asked.ledger.record(answered(1, input_tokens=60))
    (verdict,) = asked.claim("a", wish(2, tokens=90), **rate)
    assert (verdict.kind, verdict.wait_s) == ("wait", 5.0), "only time frees the rest"


def test_a_call_that_the_service_did_not_take_used_no_tokens(tmp_path: Path) -> None:
    asked = Asked(Ledger.open(tmp_path / "ledger.sqlite"))
    for number, (failure, next_one) in enumerate([("overloaded", "go"), ("timeout", "wait")]):
        asked.claim("a", wish(number, tokens=90), tokens_per_minute=100)
        asked.ledger.record(answered(number, answer=None, failure=failure, cost_usd=None))
        assert asked.kinds("a", wish(9, f"{number:031x}x", tokens=90), tokens_per_minute=100) == [next_one]
        asked.ledger.transaction(lambda c, n=number: claims.give_back(c, f"{n:031x}x"))


def test_a_ledger_from_before_gets_its_tables_and_knows_what_the_last_day_has_cost(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    ledger = Ledger.open(place)
    ledger.record_all([answered(1), answered(2)])
    ledger.close()
    with sqlite3.connect(place) as old:
        for table in (claims.ASKERS, claims.CLAIMS, claims.SENT, spending.SPENDING):
            old.execute(f"DROP TABLE {table.name}")
    ledger = Ledger.open(place)
    assert ledger.transaction(lambda c: spending.spent(c, spending.clock(c))) == spending.billionths(0.5)
    assert Asked(ledger).kinds("a", wish(1), wish(3)) == ["settled", "go"]


def test_tables_of_batch_endpoints_in_a_ledger_from_before_stay_as_they_are_and_hold_no_money(
    tmp_path: Path,
) -> None:
    place = tmp_path / "ledger.sqlite"
    Ledger.open(place).close()
    with sqlite3.connect(place) as old:
        old.execute("CREATE TABLE judge_batches (name VARCHAR(32) PRIMARY KEY, state VARCHAR(9))")
        old.execute("CREATE TABLE judge_reserved (batch VARCHAR(32) PRIMARY KEY, worst BIGINT)")
        old.execute("INSERT INTO judge_batches VALUES ('a', 'submitted')")
        old.execute("INSERT INTO judge_reserved VALUES ('a', 5000000000)")
    ledger = Ledger.open(place)
    assert Asked(ledger).kinds("a", wish(1, worst_usd=0.5), daily_usd=1.0) == ["go"]
    ledger.close()
    with sqlite3.connect(place) as old:
        assert old.execute("SELECT * FROM judge_batches").fetchall() == [("a", "submitted")]
        assert old.execute("SELECT * FROM judge_reserved").fetchall() == [("a", 5000000000)]


class Claiming(RuleBasedStateMachine):
    """Owners claim, answer, fail, fall silent and leave in any order, beside a model of who may hold what."""

    KEYS, OWNERS = st.integers(0, 4), st.sampled_from("abc")

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.asked = Asked(Ledger.open(Path(self.folder.name) / "ledger.sqlite"))
        self.held: dict[int, tuple[str, str]] = {}
        self.until: dict[str, float] = {}
        self.answers: set[int] = set()
        self.sent = self.lost = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    def _end_dead(self) -> None:
        for owner in [owner for owner, until in self.until.items() if until < self.asked.time]:
            mine = [number for number, (holder, _) in self.held.items() if holder == owner]
            self.lost += len(mine)
            for number in mine:
                del self.held[number]
            del self.until[owner]

    @rule(owner=OWNERS, number=KEYS)
    def claims(self, owner: str, number: int) -> None:
        self.sent += 1
        receipt = f"{self.sent:032x}"
        (kind,) = self.asked.kinds(owner, wish(number, receipt))
        self._end_dead()
        self.until.setdefault(owner, self.asked.time + LEASE_S)
        if number in self.answers:
            assert kind == "settled"
        elif number in self.held:
            assert kind == "taken"
        else:
            assert kind == "go"
            self.held[number] = (owner, receipt)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), fails=st.booleans())
    def ends(self, data: st.DataObject, fails: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.held)))
        _, receipt = self.held.pop(number)
        if fails:
            failed = answered(number, receipt, answer=None, failure="overloaded", cost_usd=0.0)
            self.asked.ledger.record(failed)
        else:
            self.asked.ledger.record(answered(number, receipt))
            self.answers.add(number)

    @rule(owner=OWNERS)
    def shows_life(self, owner: str) -> None:
        self.asked.beat(owner)
        if owner in self.until:
            self.until[owner] = self.asked.time + LEASE_S

    @rule(seconds=st.sampled_from([1.0, LEASE_S / 2, LEASE_S + 1]))
    def passes(self, seconds: float) -> None:
        self.asked.time += seconds

    @rule(owner=OWNERS)
    def leaves(self, owner: str) -> None:
        self.asked.leave(owner)
        self.until.pop(owner, None)
        self.held = {number: held for number, held in self.held.items() if held[0] != owner}

    @invariant()
    def what_is_claimed_is_what_somebody_holds(self) -> None:
        if hasattr(self, "held"):
            keys = [key_of(number) for number in range(5)]
            found = self.asked.ledger.transaction(lambda c: claims.claimed(c, keys))
            assert found.keys() == {key_of(number) for number in self.held}
            assert self.asked.ledger.lost() == self.lost


TestClaiming = Claiming.TestCase
TestClaiming.settings = settings(max_examples=scaled(40), stateful_step_count=20, deadline=None)
