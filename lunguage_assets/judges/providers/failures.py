"""What went wrong with a call, without what was asked.

Exceptions of the SDKs hold the whole prompt. Only their kind, status and waiting time
go on, and the service's own type and code of the error.
"""

from __future__ import annotations

import re
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

_KIND_BY_NAME: Mapping[str, FailureKind] = {
    "Timeout": "timeout",
    "ValidationError|ApiResponseError|DecodingError": "malformed",
    "Connection|RequestError|TransportError|OSError": "connection",
    "RefreshError|Credentials|GoogleAuth": "authentication",
    "ValueError|StreamError|AttributeError|TypeError|LookupError": "malformed",
}
"""Parts of the names of exceptions, not classes: the SDKs share these names, and httpx,
httpx2 and aiohttp would each have to be imported to ask for a class. The first kind
that fits counts; the last are what the SDKs stumble over when a response is JSON of
other types than theirs.
"""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{1,63}")
"""A type or code of an error, such as `model_not_found`: no sentence is one."""

_WAIT = re.compile(r"'retryDelay': '([0-9.]+)s'|^([0-9.]+)$")
"""How long a service asks to wait, in the body's RetryInfo or the header."""


def failure_of(error: Exception, address: str, key_source: str) -> ProviderFailure:
    """Describe an SDK's exception; nothing else of it is kept.

    Args:
        error: that was raised.
        address: of the service.
        key_source: where its key comes from, in words.
    """
    codes = [getattr(error, name, None) for name in ("status_code", "code")]
    statuses = [code for code in codes if isinstance(code, int) and code >= 300]
    failure_kind = _kind_of_class(error)
    # A response that could not be read carries the status of its body, such as 200.
    if not statuses or failure_kind == "malformed":
        return ProviderFailure(failure_kind, about=address)
    status = statuses[0]
    failure_kind = _KIND_BY_STATUS.get(
        status, "server" if status >= 500 else "rejected"
    )
    details = [*_words_of_service(error), address]
    if status == 429 and not _EXHAUSTED_CODES.isdisjoint(details):
        failure_kind = "authentication"
    if failure_kind == "authentication":
        details.append(key_source)
    wait_s = _seconds_to_wait(error)
    return ProviderFailure(failure_kind, status, wait_s, ", ".join(details))


def _kind_of_class(error: Exception) -> FailureKind:
    """Tell the kind of a failure by the names of its exception's classes."""
    # An SDK wraps what it met, such as a timeout.
    classes = (*type(error).__mro__, type(error.__cause__))
    names = " ".join(cls.__name__ for cls in classes)
    for pattern, failure_kind in _KIND_BY_NAME.items():
        if re.search(pattern, names):
            return failure_kind
    return "rejected"


def _words_of_service(error: Exception) -> list[str]:
    """Read the service's type and code of an error, of whichever SDK."""
    words = [getattr(error, name, None) for name in ("type", "code", "status")]
    texts = [word for word in words if isinstance(word, str)]
    return list(dict.fromkeys(filter(_IDENTIFIER.fullmatch, texts)))


def _seconds_to_wait(error: Any) -> float:
    """Read how long a service asks to wait; 0: it does not say, or not readably."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    text = headers.get("retry-after") or str(getattr(error, "details", ""))
    seconds = _WAIT.search(text)
    return float(seconds.group(1) or seconds.group(2)) if seconds else 0.0
