"""No more calls in a minute than a judge's limits allow, no hammering of a service that fails, and no waiting
longer than needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from fake_model import Time
from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.requests import FailureKind, ProviderFailure
from lunguage_assets.judges.slots import Limits

T = TypeVar("T")


def run(work: Callable[[Limiter, Time], Coroutine[Any, Any, T]], **limits: Any) -> T:
    time = Time()
    return asyncio.run(work(Limiter(Limits(**limits), clock=time.clock, sleep=time.sleep), time))


def never() -> bool:
    return False


def failure(kind: FailureKind = "overloaded", retry_after: float | None = None) -> ProviderFailure:
    return ProviderFailure(kind, 529, retry_after)


def test_a_call_that_is_cancelled_gives_its_place_back() -> None:
    async def work(limiter: Limiter, time: Time) -> bool:
        assert await limiter.acquire(never)
        waiting = asyncio.create_task(limiter.acquire(never))
        await asyncio.sleep(0)
        waiting.cancel()
        limiter.release()
        return await asyncio.wait_for(limiter.acquire(never), 1)

    assert run(work, in_flight=1)


def test_a_call_that_is_put_off_holds_up_those_behind_it_and_a_stopped_run_does_not_wait() -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        begun = time.now
        for wait_s in (5.0, 60.0):
            assert await limiter.acquire(never)
            limiter.put_off("", wait_s)
            limiter.release()
        assert not await limiter.acquire(lambda: time.now > begun + 7)
        return time.now - begun

    assert run(work, in_flight=1) == pytest.approx(7.25)


# --- rates by the minute


def sent_at(amounts: list[int], used: list[int], **rate: float) -> list[float]:
    """When each call goes, one after the other, each ending at once with the tokens that it used."""

    async def work(limiter: Limiter, time: Time) -> list[float]:
        times = []
        for number, (amount, tokens) in enumerate(zip(amounts, used, strict=True)):
            assert await limiter.acquire(never, amount, f"{number}")
            times.append(time.now)
            limiter.replied(f"{number}", tokens)
            limiter.release()
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
        assert await limiter.acquire(never, 90, "first")
        limiter.failed("first", failure(kind))
        begun = time.now
        assert await limiter.acquire(never, 90, "second")
        return time.now - begun

    assert run(work, tokens_per_minute=100) == pytest.approx(waits, abs=1)


def test_what_others_have_sent_in_the_last_minute_counts_and_its_own_only_once() -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        begun = time.now
        assert await limiter.acquire(never, 10, "own")
        limiter.note_recent([("other", 20.0, 60), ("own", 0.0, 10)])
        assert await limiter.acquire(never, 30, "fits")
        assert time.now == begun
        assert await limiter.acquire(never, 30, "late")
        return time.now - begun

    assert run(work, tokens_per_minute=100) == pytest.approx(40, abs=1)


# --- back-off


@given(st.integers(1, 9))
def test_backoff_is_drawn_between_nothing_and_a_bound_that_doubles(failures: int) -> None:
    wait = Limiter(Limits(backoff_s=1.0, longest_backoff_s=30.0)).backoff(failures, failure())
    assert wait is not None
    assert 0 <= wait <= min(30.0, 2.0 ** (failures - 1))


@pytest.mark.parametrize(("asked_for", "waited"), [(17.0, 17.0), (7200.0, 0.0)])
def test_retry_after_holds_for_the_whole_judge_and_one_of_hours_is_given_up(
    asked_for: float, waited: float
) -> None:
    async def work(limiter: Limiter, time: Time) -> float:
        refused = failure("rate_limited", retry_after=asked_for)
        assert await limiter.acquire(never)
        limiter.failed("", refused)
        wait = limiter.backoff(1, refused)
        assert wait is None if waited == 0 else wait is not None and waited <= wait <= waited + 1
        begun = time.now
        assert await limiter.acquire(never)
        return time.now - begun

    assert run(work) == pytest.approx(waited)


def test_what_another_try_cannot_mend_is_not_tried_again_and_a_request_is_given_up_after_its_failures() -> (
    None
):
    limiter = Limiter(Limits(failures_per_request=3))
    assert limiter.backoff(1, failure("rejected")) is limiter.backoff(1, failure("authentication")) is None
    assert [limiter.backoff(count, failure()) is None for count in (1, 2, 3)] == [False, False, True]
