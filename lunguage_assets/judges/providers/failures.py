"""What went wrong, without what was asked: SDK errors hold the whole prompt, so only kind, status and waiting
time leave this module.
"""

from __future__ import annotations

import asyncio
import email.utils
import math
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from lunguage_assets.judges.requests import FailureKind, ProviderFailure

_KINDS: Mapping[int, FailureKind] = {
    **dict.fromkeys((401, 402, 403), "authentication"),
    **dict.fromkeys((408, 504), "timeout"),
    **dict.fromkeys((409, 425), "server"),
    **dict.fromkeys((503, 529), "overloaded"),
    429: "rate_limited",
}
_EXHAUSTED = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Codes of a 429 that waiting does not fix: the account has no money left."""

_FILTERED = "content_filter"
"""Code of a 400 by which Azure refuses a prompt."""

# Names, not classes: the SDKs share these names, and httpx, httpx2 and aiohttp would each have to be imported
# to ask for a class.
_BY_NAME: tuple[tuple[set[str], FailureKind], ...] = (
    ({"TimeoutError", "APITimeoutError", "TimeoutException"}, "timeout"),
    ({"APIResponseValidationError", "UnknownApiResponseError", "DecodingError"}, "malformed"),
    (
        {"APIConnectionError", "RequestError", "TransportError", "OSError", "ClientConnectionError"},
        "connection",
    ),
    (
        {
            "RefreshError", "DefaultCredentialsError", "GoogleAuthError", "CredentialsError",
            "UserAccessTokenError",
        },
        "authentication",
    ),
    # What the SDKs stumble over when a response is JSON of other types than theirs:
    ({"ValueError", "StreamError", "AttributeError", "TypeError", "LookupError"}, "malformed"),
)  # fmt: skip


async def attempt(call: Callable[[], Awaitable[Any]], timeout_s: float) -> Any:
    """The response of one call, within `timeout_s` seconds overall; None when its error is a refusal of the
    prompt.

    The SDKs' own timeouts are per read: a server that sends a byte now and then would hold a call for ever.

    Raises:
        ProviderFailure: raised outside the handler, so that neither its cause nor its context is the SDK's
            exception.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await call()
    except Exception as error:
        failure = None if getattr(error, "code", None) == _FILTERED else _failure_of(error)
    if failure is not None:
        raise failure
    return None


def _failure_of(error: Exception) -> ProviderFailure:
    """Kind, HTTP status and seconds to wait of an SDK's exception; nothing else of it is kept."""
    # an SDK wraps what it met
    names = {cls.__name__ for cls in (*type(error).__mro__, type(error.__cause__))}
    codes = [getattr(error, name, None) for name in ("status_code", "code")]
    status = next((code for code in codes if isinstance(code, int) and code >= 300), None)
    if status is None or "APIResponseValidationError" in names:  # it carries the status of the body
        return ProviderFailure(next((kind for known, kind in _BY_NAME if known & names), "rejected"))
    kind = _KINDS.get(status, "server" if status >= 500 else "rejected")
    if status == 429 and not _EXHAUSTED.isdisjoint(map(str, codes)):
        kind = "authentication"
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    waiting = _seconds_to_wait(headers.get("retry-after"))
    if waiting is None:
        waiting = _seconds_to_wait(_retry_delay(getattr(error, "details", None)))
    return ProviderFailure(kind, status, waiting)


def _seconds_to_wait(value: str | None) -> float | None:
    """A Retry-After header in seconds: a number, or an HTTP date (0 when it is past); None when absent or not
    readable.
    """
    try:
        seconds = float(value or "nan")
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(str(value))
        except ValueError:
            return None
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _retry_delay(details: Any) -> str | None:
    """Google's RetryInfo, such as {"retryDelay": "13s"}."""
    try:
        entries = details.get("error", details)["details"]
        delay: str = next(entry["retryDelay"] for entry in entries if "retryDelay" in entry)
        return delay.removesuffix("s")
    except (AttributeError, KeyError, StopIteration, TypeError):
        return None
