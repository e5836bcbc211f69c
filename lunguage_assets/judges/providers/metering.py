"""Reading what a service says it billed, and anything else of a response whose types nobody has checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lunguage_assets.judges.requests import ProviderFailure, Reply


def tokens(usage: Any, name: str) -> int | None:
    """A count of tokens, or None when the response has none that can be one."""
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def well_formed(read: Callable[[], Reply]) -> Reply:
    """The reply that `read` takes from a response.

    The SDKs build their objects from any JSON without checking it: a text may turn out a number, a message a
    list.

    Raises:
        ProviderFailure: malformed; its cause, which may quote the response, is not kept.
    """
    try:
        reply = read()
        if isinstance(reply.text, str) and isinstance(reply.returned_model, str):
            return reply
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        pass
    raise ProviderFailure("malformed")
