"""What went wrong with a call, without what was asked.

Exceptions of the SDKs hold the whole prompt. Only their kind, status and waiting time
go on, and the service's own type and code of the error.
"""

from __future__ import annotations

import re
from typing import Any

from lunguage_assets.judges.requests import FailureKind, ProviderFailure

_KIND_BY_STATUS: dict[int, FailureKind] = {
    **dict.fromkeys((401, 402, 403), "authentication"),
    **dict.fromkeys((408, 504), "timeout"),
    429: "rate_limited",
    **dict.fromkeys((409, 425), "server"),
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
    # An SDK wraps what it met, such as a timeout.
    classes = (*type(error).__mro__, type(error.__cause__))
    names = " ".join(cls.__name__ for cls in classes)
    kinds = [kind for part, kind in _CLASS_NAMES.items() if re.search(part, names)]
    kind: FailureKind = kinds[0] if kinds else "rejected"
    names_of_words = ("status_code", "type", "code", "status")
    words = [getattr(error, name, None) for name in names_of_words]
    statuses = [word for word in words if isinstance(word, int) and word >= 300]
    # A response that could not be read carries the status of its body, such as 200.
    if not statuses or kind == "malformed":
        return ProviderFailure(kind, about=address)
    texts = [word for word in words if isinstance(word, str)]
    details = list(filter(_IDENTIFIER.fullmatch, texts))
    by_default: FailureKind = "server" if statuses[0] >= 500 else "rejected"
    kind = _KIND_BY_STATUS.get(statuses[0], by_default)
    details.append(address)
    if kind == "authentication":
        details.append(key_source)
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    text = headers.get("retry-after") or str(getattr(error, "details", ""))
    wait = _WAIT.search(text)
    wait_s = float(wait[1] or wait[2]) if wait else 0.0
    about = ", ".join(dict.fromkeys(details))
    return ProviderFailure(kind, statuses[0], wait_s, about)
