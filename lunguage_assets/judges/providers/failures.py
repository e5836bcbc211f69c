"""What went wrong with a call, without what was asked.

Exceptions of the SDKs hold the whole prompt. Only their kind, status and waiting time
go on, and the operating system's word for a connection that failed.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
from collections.abc import Awaitable, Mapping
from typing import Any

from lunguage_assets.judges.requests import FailureKind, ProviderFailure

_KIND_BY_STATUS: Mapping[int, FailureKind] = {
    401: "authentication",
    402: "authentication",
    403: "authentication",
    408: "timeout",
    409: "server",
    425: "server",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

_EXHAUSTED_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
)
"""Codes of a 429 that waiting does not fix: the account has no money left."""

_FILTERED_CODE = "content_filter"
"""Code of a 400 by which Azure refuses a prompt."""

_NAMES_BY_KIND: Mapping[FailureKind, frozenset[str]] = {
    "timeout": frozenset({"TimeoutError", "APITimeoutError", "TimeoutException"}),
    "malformed": frozenset(
        {"APIResponseValidationError", "UnknownApiResponseError", "DecodingError"}
    ),
    "connection": frozenset(
        {
            "APIConnectionError",
            "RequestError",
            "TransportError",
            "OSError",
            "ClientConnectionError",
        }
    ),
    "authentication": frozenset(
        {
            "RefreshError",
            "DefaultCredentialsError",
            "GoogleAuthError",
            "CredentialsError",
            "UserAccessTokenError",
        }
    ),
}
"""Names of exceptions, not classes: the SDKs share these names, and httpx, httpx2 and
aiohttp would each have to be imported to ask for a class. The first kind that fits
counts.
"""

_STUMBLED_NAMES = frozenset(
    {"ValueError", "StreamError", "AttributeError", "TypeError", "LookupError"}
)
"""What the SDKs stumble over when a response is JSON of other types than theirs."""


async def attempt(
    call: Awaitable[Any], timeout_s: float, about: Mapping[FailureKind, str]
) -> Any:
    """Await one call of an SDK.

    Args:
        call: that was begun.
        timeout_s: for all of it; the SDKs' own timeouts are for one read.
        about: what a failure of a kind is about, such as an address.

    Returns:
        The SDK's response; None: the service refused the prompt by an error.

    Raises:
        ProviderFailure: no reply came.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await call
    except Exception as error:
        if getattr(error, "code", None) == _FILTERED_CODE:
            return None
        failure = _failure_of(error, about)
    # Raised outside the handler: neither its cause nor its context is the SDK's
    # exception, with the prompt.
    raise failure


def _failure_of(error: Exception, about: Mapping[FailureKind, str]) -> ProviderFailure:
    """Describe an SDK's exception; nothing else of it is kept."""
    # An SDK wraps what it met, such as a timeout.
    classes = (*type(error).__mro__, type(error.__cause__))
    names = {cls.__name__ for cls in classes}
    codes = [getattr(error, name, None) for name in ("status_code", "code")]
    status = _http_status(codes)
    # A response that could not be read carries the status of its body, such as 200.
    if status is None or "APIResponseValidationError" in names:
        kind = _kind_of_names(names)
        details = [about.get(kind, "")]
        if kind == "connection":
            details.append(_system_error(error))
        return ProviderFailure(kind, about=": ".join(filter(None, details)))
    default: FailureKind = "server" if status >= 500 else "rejected"
    kind = _KIND_BY_STATUS.get(status, default)
    if status == 429 and not _EXHAUSTED_CODES.isdisjoint(map(str, codes)):
        kind = "authentication"
    wait_s = _seconds_to_wait(error)
    return ProviderFailure(kind, status, wait_s, about.get(kind, ""))


def _http_status(codes: list[Any]) -> int | None:
    """Find the status of a failed request among codes of an exception."""
    for code in codes:
        if isinstance(code, int) and code >= 300:
            return code
    return None


def _kind_of_names(names: set[str]) -> FailureKind:
    """Tell the kind of a failure by the names of its exception's classes."""
    for kind, known_names in _NAMES_BY_KIND.items():
        if names & known_names:
            return kind
    return "malformed" if names & _STUMBLED_NAMES else "rejected"


def _system_error(error: BaseException | None) -> str:
    """Find the system's words for a failure, such as "Connection refused"; "": none."""
    while error is not None:
        if isinstance(error, socket.gaierror) and error.errno is not None:
            # Its numbers are those of name resolution, not the system's.
            return str(error.strerror)
        if isinstance(error, OSError) and error.errno is not None:
            return os.strerror(abs(error.errno))
        error = error.__cause__ or error.__context__
    return ""


def _seconds_to_wait(error: Exception) -> float | None:
    """Read how long a service asks to wait; None: it does not say, or not readably.

    It says so in a Retry-After header, or, as Google, in the body's RetryInfo, such as
    {"retryDelay": "13s"}.
    """
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        delay = headers.get("retry-after")
        if delay is None:
            delay = _google_retry_delay(error)
        seconds = float(delay.removesuffix("s"))
    except (AttributeError, KeyError, StopIteration, TypeError, ValueError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _google_retry_delay(error: Any) -> Any:
    body = error.details
    entries = body.get("error", body)["details"]
    return next(entry["retryDelay"] for entry in entries if "retryDelay" in entry)
