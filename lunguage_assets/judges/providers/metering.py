"""Reading what a service says it billed, and anything else of a response whose types nobody has checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lunguage_assets.judges.requests import ProviderFailure, Reply

MOST_TOKENS = 1_000_000_000
"""No request has as many; a ledger could not keep any number."""


def tokens(usage: Any, name: str) -> int | None:
    """A count of tokens, or None when the response has none that can be one."""
    value = getattr(usage, name, None)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else None


def can_be(usage: Any, *names: str) -> bool:
    """Whether each of these counts is one, or is not given."""
    return all(getattr(usage, name, None) is None or tokens(usage, name) is not None for name in names)


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
