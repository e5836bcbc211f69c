"""No more calls in flight than a judge's limits allow, no hammering of a service that fails, and no waiting
longer than needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from fake_model import Time
from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.requests import FailureKind, ProviderFailure
from lunguage_assets.judges.slots import Limits

T = TypeVar("T")


def run(work: Callable[[Limiter, Time], Awaitable[T]], **limits: float | None) -> T:
    time = Time()

    async def begun() -> T:
        limiter = Limiter(Limits(**limits), clock=time.clock, sleep=time.sleep)  # type: ignore[arg-type]
        limiter.begin()
        return await work(limiter, time)

    return asyncio.run(begun())


def never() -> bool:
    return False


def failure(kind: FailureKind = "overloaded", retry_after: float | None = None) -> ProviderFailure:
    return ProviderFailure(kind, 529, retry_after)


def test_never_more_calls_are_in_flight_than_allowed_and_all_of_them_are_used() -> None:
    async def work(limiter: Limiter, time: Time) -> int:
        active = most = 0

        async def call() -> None:
            nonlocal active, most
            slot = await limiter.acquire(never)
            assert slot is not None
            active += 1
            most = max(most, active)
            await asyncio.sleep(0)
            active -= 1
            slot.succeeded()

        await asyncio.gather(*(call() for _ in range(40)))
        return most

    assert run(work, in_flight=7) == 7


def test_a_call_that_is_cancelled_gives_its_place_back() -> None:
    async def work(limiter: Limiter, time: Time) -> bool:
        first = await limiter.acquire(never)
        assert first is not None
        waiting = asyncio.create_task(limiter.acquire(never))
        await asyncio.sleep(0)
        waiting.cancel()
        first.lost()
        first.lost()
        return await asyncio.wait_for(limiter.acquire(never), 1) is not None

    assert run(work, in_flight=1)


def test_a_stopped_run_gets_no_leave_and_does_not_wait_out_the_minute() -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        first = await limiter.acquire(never)
        assert first is not None
        first.put_off(60.0)
        begun = time.now
        assert await limiter.acquire(lambda: time.now > begun + 2) is None
        return time.now - begun

    assert run(work) < 3


def test_a_call_that_is_put_off_holds_up_those_behind_it_and_gives_its_place_back() -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        begun = time.now
        for wait_s in (5.0, 1.0, 0.0):
            leave = await limiter.acquire(never)
            assert leave is not None
            leave.put_off(wait_s)
        return time.now - begun

    assert run(work, in_flight=1) == pytest.approx(6.0)


# --- rates by the minute


def sent_at(amounts: list[int], used: list[int], **rate: float) -> list[float]:
    """When each call goes, one after the other, each ending at once with the tokens that it used."""

    async def work(limiter: Limiter, time: Time) -> list[float]:
        times = []
        for number, (amount, tokens) in enumerate(zip(amounts, used, strict=True)):
            leave = await limiter.acquire(never, amount, f"{number}")
            assert leave is not None
            times.append(time.now)
            leave.succeeded(tokens)
        return [time - times[0] for time in times]

    return run(work, **rate)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.booleans())
def test_no_minute_has_more_than_is_allowed_and_little_time_is_wasted(
    amounts: list[int], by_tokens: bool
) -> None:
    counted = amounts if by_tokens else [1] * len(amounts)
    limit = 100 if by_tokens else 3
    times = sent_at(amounts, amounts, **{"tokens_per_minute" if by_tokens else "requests_per_minute": limit})
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
    wished: list[int], used: list[int], waits: list[int]
) -> None:
    assert sent_at(wished, used, tokens_per_minute=100) == pytest.approx(waits, abs=1)


@pytest.mark.parametrize(("kind", "waits"), [("overloaded", 0), ("timeout", 60)])
def test_a_call_that_the_service_did_not_take_used_no_tokens(kind: FailureKind, waits: float) -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        first = await limiter.acquire(never, 90, "first")
        assert first is not None
        first.failed(failure(kind))
        begun = time.now
        assert await limiter.acquire(never, 90, "second") is not None
        return time.now - begun

    assert run(work, tokens_per_minute=100) == pytest.approx(waits, abs=1)


def test_what_others_have_sent_in_the_last_minute_counts_and_its_own_only_once() -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        begun = time.now
        assert await limiter.acquire(never, 10, "own") is not None
        limiter.note_recent([("other", 20.0, 60), ("own", 0.0, 10)])
        assert await limiter.acquire(never, 30, "fits") is not None
        assert time.now == begun
        assert await limiter.acquire(never, 30, "late") is not None
        return time.now - begun

    assert run(work, tokens_per_minute=100) == pytest.approx(40, abs=1)


# --- back-off


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_backoff_is_drawn_between_nothing_and_a_bound_that_doubles(number: int, failures: int) -> None:
    limiter = Limiter(Limits(backoff_s=1.0, longest_backoff_s=30.0))
    wait = limiter.backoff(f"key {number}", failures, failure())
    assert wait is not None
    assert 0 <= wait <= min(30.0, 2.0 ** (failures - 1))
    assert wait == Limiter(Limits(backoff_s=1.0, longest_backoff_s=30.0)).backoff(
        f"key {number}", failures, failure()
    )


def test_backoff_fills_the_whole_range_so_that_requests_do_not_return_together() -> None:
    waits = sorted(w for n in range(1000) if (w := Limiter().backoff(f"{n}", 1, failure())) is not None)
    assert len(set(waits)) == 1000
    assert waits[100] < 0.2
    assert waits[900] > 0.8


def test_retry_after_is_waited_for_and_holds_for_the_whole_judge() -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        refused = failure("rate_limited", retry_after=17.0)
        slot = await limiter.acquire(never)
        assert slot is not None
        slot.failed(refused)
        wait = limiter.backoff("key", 1, refused)
        assert wait is not None
        assert 17.0 <= wait <= 18.0
        begun = time.now
        assert await limiter.acquire(never) is not None
        return time.now - begun

    assert run(work) == pytest.approx(17.0)


def test_a_service_that_asks_for_hours_is_given_up_and_blocks_nobody() -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        refused = failure("rate_limited", retry_after=7200.0)
        slot = await limiter.acquire(never)
        assert slot is not None
        slot.failed(refused)
        assert limiter.backoff("key", 1, refused) is None
        begun = time.now
        assert await limiter.acquire(never) is not None
        return time.now - begun

    assert run(work) == 0.0


@pytest.mark.parametrize("kind", ["rejected", "authentication"])
def test_a_failure_that_another_try_cannot_mend_is_not_tried_again(kind: FailureKind) -> None:
    assert Limiter().backoff("key", 1, failure(kind)) is None


def test_a_request_is_given_up_after_its_failures() -> None:
    limiter = Limiter(Limits(failures_per_request=3))
    assert [limiter.backoff("key", count, failure()) is None for count in (1, 2, 3)] == [False, False, True]


# --- circuit breaker


async def fail(limiter: Limiter, times: int = 1) -> None:
    for _ in range(times):
        slot = await limiter.acquire(never)
        assert slot is not None
        slot.failed(failure())


def test_after_failures_in_a_row_nothing_is_sent_for_a_while_then_one_probe_decides() -> None:
    async def work(limiter: Limiter, time: Time) -> None:
        await fail(limiter, 3)
        begun = time.now
        probe = await limiter.acquire(never)
        assert time.now - begun == pytest.approx(10.0)
        assert (
            await limiter.acquire(lambda: time.now > begun + 20) is None
        )  # while the probe is out, no other call is
        assert probe is not None
        probe.succeeded()
        now = time.now
        for _ in range(5):
            assert await limiter.acquire(never) is not None
        assert time.now == now

    run(work, breaker_failures=3, breaker_pause_s=10.0)


def test_every_failed_probe_doubles_the_pause_and_the_last_one_breaks_the_judge_until_a_new_run() -> None:
    async def work(limiter: Limiter, time: Time) -> None:
        await fail(limiter, 3)
        pauses = []
        for _ in range(3):
            assert not limiter.broken
            begun = time.now
            await fail(limiter)
            pauses.append(time.now - begun)
        assert pauses == [pytest.approx(10.0), pytest.approx(20.0), pytest.approx(40.0)]
        assert limiter.broken
        limiter.begin()
        assert not limiter.broken
        begun = time.now
        probe = await limiter.acquire(never)
        assert time.now == begun
        assert await limiter.acquire(lambda: time.now > begun + 5) is None
        assert probe is not None
        probe.succeeded()
        assert await limiter.acquire(never) is not None

    run(work, breaker_failures=3, breaker_pause_s=10.0, breaker_probes=3)


def test_failures_between_successes_do_not_open_the_circuit() -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        begun = time.now
        for _ in range(20):
            await fail(limiter, 2)
            slot = await limiter.acquire(never)
            assert slot is not None
            slot.succeeded()
        return time.now - begun

    assert run(work, breaker_failures=3) == 0.0


def test_a_probe_that_is_lost_lets_another_one_go() -> None:
    async def work(limiter: Limiter, time: Time) -> bool:
        await fail(limiter, 3)
        probe = await limiter.acquire(never)
        assert probe is not None
        probe.lost()
        begun = time.now
        return await limiter.acquire(lambda: time.now > begun + 5) is not None

    assert run(work, breaker_failures=3)


def test_pauses_hold_from_one_event_loop_to_the_next() -> None:
    time = Time()
    limiter = Limiter(clock=time.clock, sleep=time.sleep)

    async def one_call() -> float:
        limiter.begin()
        begun = time.now
        leave = await limiter.acquire(never)
        assert leave is not None
        leave.put_off(60.0)
        return time.now - begun

    assert [asyncio.run(one_call()) for _ in range(2)] == [0.0, pytest.approx(60.0)]
