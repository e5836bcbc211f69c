"""What went wrong, without what was asked: SDK errors hold the whole prompt, so only kind, status and waiting
time leave this module.
"""

from __future__ import annotations

import asyncio
import email.utils
import math
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from lunguage_assets.judges.requests import FailureKind, ProviderFailure

Answer = TypeVar("Answer")

_KINDS: Mapping[int, FailureKind] = {
    **dict.fromkeys((401, 402, 403), "authentication"),
    **dict.fromkeys((408, 504), "timeout"),
    **dict.fromkeys((409, 425), "server"),
    **dict.fromkeys((503, 529), "overloaded"),
    429: "rate_limited",
}
_EXHAUSTED = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Codes of a 429 that waiting does not fix: the account has no money left."""

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


async def attempt(
    call: Callable[[], Awaitable[Answer]],
    timeout_s: float,
    refused: Callable[[Exception], bool] = lambda error: False,
) -> Answer | None:
    """The response of one call, within `timeout_s` seconds overall; None when the error it raised is a
    refusal.

    The SDKs' own timeouts are per read: a server that sends a byte now and then would hold a call for ever.

    Raises:
        ProviderFailure: raised outside the handler, so that neither its cause nor its context is the SDK's
            exception.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await call()
    except Exception as error:
        failure = None if refused(error) else failure_of(error)
    if failure is not None:
        raise failure
    return None


def failure_of(error: Exception) -> ProviderFailure:
    """Kind, HTTP status and seconds to wait of an SDK's exception; nothing else of it is kept."""
    status = _status(error)
    if status is not None:
        return ProviderFailure(_kind_of(status, error), status, _retry_after(error))
    # an SDK wraps what it met
    names = {cls.__name__ for cls in (*type(error).__mro__, type(error.__cause__))}
    return ProviderFailure(next((kind for known, kind in _BY_NAME if known & names), "rejected"))


def seconds_to_wait(value: str | None) -> float | None:
    """A Retry-After header in seconds: a number, or an HTTP date (0 when it is past); None when absent or not
    readable.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(value)
        except ValueError:
            return None
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def code_of(error: Exception) -> str:
    """The provider's machine-readable code, such as `content_filter`, or the empty string."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) else ""


def _kind_of(status: int, error: Exception) -> FailureKind:
    if status == 429 and code_of(error) in _EXHAUSTED:
        return "authentication"
    return _KINDS.get(status, "server" if status >= 500 else "rejected")


def _status(error: Exception) -> int | None:
    if "APIResponseValidationError" in {cls.__name__ for cls in type(error).__mro__}:
        return None  # it carries the 200 of the body that could not be read
    for name in ("status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and value >= 300:
            return value
    return None


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    waiting = seconds_to_wait(headers.get("retry-after"))
    return waiting if waiting is not None else _retry_delay(getattr(error, "details", None))


def _retry_delay(details: Any) -> float | None:
    """Google's RetryInfo, such as {"retryDelay": "13s"}."""
    body = details.get("error", details) if isinstance(details, dict) else {}
    entries = body.get("details", []) if isinstance(body, dict) else []
    for entry in entries if isinstance(entries, list) else []:
        delay = entry.get("retryDelay") if isinstance(entry, dict) else None
        if isinstance(delay, str):
            return seconds_to_wait(delay.removesuffix("s"))
    return None
