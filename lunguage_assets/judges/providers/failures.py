"""What went wrong with a call, without what was asked.

Exceptions of the SDKs hold the whole prompt. Only their kind, status and waiting time
go on, and the service's own type and code of the error.
"""

from __future__ import annotations

import re
from typing import Any

from lunguage_assets.judges.requests import FailureKind, ProviderFailure

_KIND_BY_STATUS: dict[int, FailureKind] = {
    401: "authentication",
    402: "authentication",
    403: "authentication",
    408: "timeout",
    409: "server",
    425: "server",
    429: "rate_limited",
    504: "timeout",
}
"""Others from 500 are the server's fault, too."""

_CLASS_NAMES: dict[str, FailureKind] = {
    "Timeout": "timeout",
    "ValidationError|ApiResponseError|DecodingError": "malformed",
    "Connection|RequestError|TransportError|OSError": "connection",
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


def failure_of(error: Any, address: str, key_source: str) -> ProviderFailure:
    """Describe an SDK's exception; nothing else of it is kept.

    Args:
        error: that was raised.
        address: of the service.
        key_source: where its key comes from, in words.
    """
    names = ("status_code", "type", "code", "status")
    words = [getattr(error, name, None) for name in names]
    statuses = (word for word in words if isinstance(word, int) and word >= 300)
    status = next(statuses, None)
    failure_kind = _kind_of_class(error)
    # A response that could not be read carries the status of its body, such as 200.
    if status is None or failure_kind == "malformed":
        return ProviderFailure(failure_kind, about=address)
    otherwise: FailureKind = "server" if status >= 500 else "rejected"
    failure_kind = _KIND_BY_STATUS.get(status, otherwise)
    texts = [word for word in words if isinstance(word, str)]
    details = [*filter(_IDENTIFIER.fullmatch, texts), address]
    if failure_kind == "authentication":
        details.append(key_source)
    about = ", ".join(dict.fromkeys(details))
    return ProviderFailure(failure_kind, status, _seconds_to_wait(error), about)


def _kind_of_class(error: Exception) -> FailureKind:
    """Tell the kind of a failure by the names of its exception's classes."""
    # An SDK wraps what it met, such as a timeout.
    classes = (*type(error).__mro__, type(error.__cause__))
    names = " ".join(cls.__name__ for cls in classes)
    for pattern, failure_kind in _CLASS_NAMES.items():
        if re.search(pattern, names):
            return failure_kind
    return "rejected"


def _seconds_to_wait(error: Any) -> float:
    """Read how long a service asks to wait; 0: it does not say, or not readably."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    text = headers.get("retry-after") or str(getattr(error, "details", ""))
    seconds = _WAIT.search(text)
    return float(seconds[1] or seconds[2]) if seconds else 0.0
