"""What went wrong with a call, without what was asked.

Exceptions of the SDKs hold the whole prompt. Only their kind, status and waiting time
go on, the service's own type and code of the error, and the operating system's word for
a connection that failed.
"""

from __future__ import annotations

import math
import os
import re
import socket
from collections.abc import Mapping
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

_NAMES_BY_KIND: Mapping[FailureKind, str] = {
    "timeout": "TimeoutError APITimeoutError TimeoutException",
    "malformed": "APIResponseValidationError UnknownApiResponseError DecodingError",
    "connection": "APIConnectionError RequestError TransportError OSError "
    "ClientConnectionError",
    "authentication": "RefreshError DefaultCredentialsError GoogleAuthError "
    "CredentialsError UserAccessTokenError",
}
"""Names of exceptions, not classes: the SDKs share these names, and httpx, httpx2 and
aiohttp would each have to be imported to ask for a class. The first kind that fits
counts.
"""

_STUMBLED_NAMES = frozenset(
    {"ValueError", "StreamError", "AttributeError", "TypeError", "LookupError"}
)
"""What the SDKs stumble over when a response is JSON of other types than theirs."""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{1,63}")
"""A type or code of an error, such as `model_not_found`: no sentence is one."""


def failure_of(error: Exception, address: str, key_source: str) -> ProviderFailure:
    """Describe an SDK's exception; nothing else of it is kept.

    Args:
        error: that was raised.
        address: of the service.
        key_source: where its key comes from, in words.
    """
    codes = [getattr(error, name, None) for name in ("status_code", "code")]
    statuses = [code for code in codes if isinstance(code, int) and code >= 300]
    kind = _kind_of_class(error)
    # A response that could not be read carries the status of its body, such as 200.
    if not statuses or kind == "malformed":
        details = [address, _system_error(error) if kind == "connection" else ""]
        return ProviderFailure(kind, about=": ".join(filter(None, details)))
    status = statuses[0]
    kind = _KIND_BY_STATUS.get(status, "server" if status >= 500 else "rejected")
    details = [*_words_of_service(error), address]
    if status == 429 and not _EXHAUSTED_CODES.isdisjoint(details):
        kind = "authentication"
    if kind == "authentication":
        details.append(key_source)
    wait_s = _seconds_to_wait(error)
    return ProviderFailure(kind, status, wait_s, about=", ".join(details))


def _kind_of_class(error: Exception) -> FailureKind:
    """Tell the kind of a failure by the names of its exception's classes."""
    # An SDK wraps what it met, such as a timeout.
    classes = (*type(error).__mro__, type(error.__cause__))
    names = {cls.__name__ for cls in classes}
    for kind, known_names in _NAMES_BY_KIND.items():
        if not names.isdisjoint(known_names.split()):
            return kind
    return "malformed" if names & _STUMBLED_NAMES else "rejected"


def _words_of_service(error: Any) -> list[str]:
    """Read the service's type and code of an error, of whichever SDK."""
    body = getattr(error, "body", None)
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        # Anthropic's error stands in an object of its own.
        body = body["error"]
    values = [getattr(error, name, None) for name in ("type", "code", "status")]
    if isinstance(body, dict):
        values += [body.get("type"), body.get("code")]
    words = [value for value in values if isinstance(value, str)]
    return list(dict.fromkeys(filter(_IDENTIFIER.fullmatch, words)))


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


def _seconds_to_wait(error: Any) -> float | None:
    """Read how long a service asks to wait; None: it does not say, or not readably.

    It says so in a Retry-After header, or, as Google, in the body's RetryInfo, such as
    {"retryDelay": "13s"}.
    """
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        delay = headers.get("retry-after")
        if delay is None:
            entries = error.details.get("error", error.details)["details"]
            delay = next(
                entry["retryDelay"] for entry in entries if "retryDelay" in entry
            )
        seconds = float(delay.removesuffix("s"))
    except (AttributeError, KeyError, StopIteration, TypeError, ValueError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
