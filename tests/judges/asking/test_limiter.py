"""No more calls in a minute than a judge's limits allow, no hammering of a service that
fails, and no waiting longer than needed.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fake_model import Time
from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.judges.asking.limits import Limiter
from lunguage_assets.judges.judge_config import Limits
from lunguage_assets.judges.requests import FailureKind, ProviderFailure


def limiter(time: Time, **limits: Any) -> Limiter:
    return Limiter(Limits(**limits), clock=time.clock, sleep=time.sleep)


def failure(
    kind: FailureKind = "overloaded", retry_after: float | None = None
) -> ProviderFailure:
    return ProviderFailure(kind, 529, retry_after)


@given(st.integers(1, 12), st.integers(1, 5))
def test_no_minute_has_more_calls_than_allowed(calls: int, rate: int) -> None:
    time = Time()
    limiter_of_judge = limiter(time, requests_per_minute=rate)
    began = time.now
    times = list[float]()

    async def work() -> None:
        for _ in range(calls):
            await limiter_of_judge.turn()
            times.append(time.now)

    asyncio.run(work())
    assert (
        max(
            sum(since <= sent_at < since + 59.99 for sent_at in times)
            for since in times
        )
        <= rate
    )
    assert times[-1] - began == pytest.approx(60 * (calls - 1) / rate)


@given(st.integers(1, 9))
def test_backoff_is_drawn_between_nothing_and_a_bound_that_doubles(
    failures: int,
) -> None:
    wait = limiter(Time(), backoff_s=1.0).backoff(failures, failure())
    assert wait is not None
    assert 0 <= wait <= min(60.0, 2.0 ** (failures - 1))


@pytest.mark.parametrize(("asked_for", "waited"), [(17.0, 17.0), (7200.0, 0.0)])
def test_retry_after_holds_for_the_whole_judge_unless_it_is_hours(
    asked_for: float, waited: float
) -> None:
    time = Time()
    refused = failure("rate_limited", retry_after=asked_for)
    limiter_of_judge = limiter(time)
    began = time.now
    limiter_of_judge.failed(refused)
    asyncio.run(limiter_of_judge.turn())
    assert time.now - began == pytest.approx(waited)
    wait = limiter_of_judge.backoff(1, refused)
    assert (
        wait is None
        if waited == 0
        else wait is not None and waited <= wait <= waited + 1
    )


def test_what_another_try_cannot_fix_is_not_tried_again() -> None:
    limiter_of_judge = limiter(Time(), failures_per_request=3)
    assert (
        limiter_of_judge.backoff(1, failure("rejected"))
        is limiter_of_judge.backoff(1, failure("authentication"))
        is None
    )
    assert [
        limiter_of_judge.backoff(count, failure()) is None for count in (1, 2, 3)
    ] == [
        False,
        False,
        True,
    ]
