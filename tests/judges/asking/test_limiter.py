"""No more calls in a minute than a judge's limits allow, no hammering of a service that fails, and no waiting
longer than needed.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fake_model import Time
from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.judges.asking.limiter import Limiter
from lunguage_assets.judges.requests import FailureKind, ProviderFailure
from lunguage_assets.judges.slots import Limits


def limiter(time: Time, **limits: Any) -> Limiter:
    return Limiter(Limits(**limits), clock=time.clock, sleep=time.sleep)


def failure(kind: FailureKind = "overloaded", retry_after: float | None = None) -> ProviderFailure:
    return ProviderFailure(kind, 529, retry_after)


# --- rates by the minute


def sent_at(amounts: list[int], used: list[int], **rate: float) -> list[float]:
    """When each call goes, one after the other, each ending at once with the tokens that it used."""
    time = Time()
    one, began, times = limiter(time, **rate), time.now, list[float]()

    async def work() -> None:
        for amount, tokens in zip(amounts, used, strict=True):
            await one.turn(amount)
            times.append(time.now - began)
            one.used(tokens - amount)

    asyncio.run(work())
    return times


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.booleans())
def test_no_minute_has_more_than_is_allowed_and_no_time_is_wasted(
    amounts: list[int], by_tokens: bool
) -> None:
    counted = amounts if by_tokens else [1] * len(amounts)
    limit = 100 if by_tokens else 3
    times = sent_at(amounts, amounts, **{"tokens_per_minute" if by_tokens else "requests_per_minute": limit})
    for since in times:
        minute = [n for time, n in zip(times, counted, strict=True) if since <= time < since + 59.99]
        assert sum(minute[:-1]) < limit
    assert times[-1] == pytest.approx(60 * sum(counted[:-1]) / limit)


@pytest.mark.parametrize(("wished", "used", "waits"), [
    ([80] * 3, [10] * 3, [0, 6, 12]),  # what was estimated and not used is given back
    ([80] * 3, [80] * 3, [0, 48, 96]),
    ([10, 10], [100, 10], [0, 60]),  # what was used beyond the estimate counts
    ([500, 10], [500, 10], [0, 300]),  # larger than the limit: not never
])  # fmt: skip
def test_a_minutes_tokens_are_those_used(wished: list[int], used: list[int], waits: list[int]) -> None:
    assert sent_at(wished, used, tokens_per_minute=100) == pytest.approx(waits)


@pytest.mark.parametrize(("kind", "waits"), [("overloaded", 0), ("timeout", 54)])
def test_a_call_that_the_service_did_not_take_used_no_tokens(kind: FailureKind, waits: float) -> None:
    time = Time()
    one, began = limiter(time, tokens_per_minute=100), time.now

    async def work() -> None:
        await one.turn(90)
        one.failed(failure(kind), 90)
        await one.turn(90)

    asyncio.run(work())
    assert time.now - began == pytest.approx(waits)


# --- back-off


@given(st.integers(1, 9))
def test_backoff_is_drawn_between_nothing_and_a_bound_that_doubles(failures: int) -> None:
    wait = limiter(Time(), backoff_s=1.0).backoff(failures, failure())
    assert wait is not None
    assert 0 <= wait <= min(60.0, 2.0 ** (failures - 1))


@pytest.mark.parametrize(("asked_for", "waited"), [(17.0, 17.0), (7200.0, 0.0)])
def test_retry_after_holds_for_the_whole_judge_and_one_of_hours_is_given_up(
    asked_for: float, waited: float
) -> None:
    time, refused = Time(), failure("rate_limited", retry_after=asked_for)
    one, began = limiter(time), time.now
    one.failed(refused, 1)
    asyncio.run(one.turn(1))
    assert time.now - began == pytest.approx(waited)
    wait = one.backoff(1, refused)
    assert wait is None if waited == 0 else wait is not None and waited <= wait <= waited + 1


def test_what_another_try_cannot_fix_is_not_tried_again_and_a_request_is_given_up_after_its_failures() -> (
    None
):
    one = limiter(Time(), failures_per_request=3)
    assert one.backoff(1, failure("rejected")) is one.backoff(1, failure("authentication")) is None
    assert [one.backoff(count, failure()) is None for count in (1, 2, 3)] == [False, False, True]
