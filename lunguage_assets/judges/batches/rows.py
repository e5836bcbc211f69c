"""Reading what a batch brought, row by row: nothing of it is trusted to have the shape that it should
have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from lunguage_assets.judges.providers.failures import failure_of
from lunguage_assets.judges.requests import ProviderFailure, Reply

LOOK_S = 60.0
"""Seconds that asking for a batch's state may take."""

TRANSFER_S = 900.0
"""Seconds that sending a batch, or fetching its results, may take."""

_CODE = re.compile(r"[a-z][a-z0-9_.-]{0,63}", re.IGNORECASE)


class _RowError(Exception):
    """An error of one row, in the shape of an SDK's exception."""

    def __init__(self, status_code: int, code: str) -> None:
        super().__init__(status_code)
        self.status_code, self.code = status_code, code


def json_rows(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """The JSON objects of a file with one on every line, and the number of lines that are none."""
    rows, unreadable = list[dict[str, Any]](), 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            unreadable += 1
    return rows, unreadable


def part(value: Any, *names: str) -> Any:
    """What stands under these names, one inside the other; None where the way breaks off."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_of(thing: Any, name: str) -> str:
    """A field of what a provider gave that must hold text, such as a batch's handle.

    Raises:
        ProviderFailure: it does not.
    """
    value = getattr(thing, name, None)
    if not isinstance(value, str) or not value:
        raise ProviderFailure("malformed")
    return value


def result_of(read: Callable[[], Reply]) -> Reply | ProviderFailure:
    """The reply that `read` takes from a row, or that it has none."""
    try:
        return read()
    except ProviderFailure as failure:
        return failure
    except (AttributeError, LookupError, TypeError, ValueError):
        return ProviderFailure("malformed")


def failure_of_row(status: Any, code: Any = "") -> ProviderFailure:
    """A row's error by its HTTP status, as a single call with that status would have failed."""
    if not isinstance(status, int) or isinstance(status, bool) or not 300 <= status <= 599:
        return ProviderFailure("server")
    return failure_of(_RowError(status, code if isinstance(code, str) else ""))


def machine_code(value: Any) -> str:
    """A provider's code for people to look up, or nothing when it may be more than a code."""
    return value if isinstance(value, str) and _CODE.fullmatch(value) else ""
