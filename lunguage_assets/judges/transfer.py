"""Calls from one ledger to another: paid answers that two homes can share.

An exported file comes from somebody else. A row that nobody could have recorded, or
whose answer this version would read otherwise, would change results for good: it is
left out and named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from lunguage_assets.errors import InputError
from lunguage_assets.judges.ledger import REPLIED, Attempt, Ledger, LedgerError, moment

_ATTEMPT = TypeAdapter(Attempt)

Parsers = Mapping[str, Callable[[str], object]]
"""Stage -> the parser of its answers, which gives None where an answer is none."""


class ImportedAttempts(NamedTuple):
    """What an import did.

    Attributes:
        added: calls that are new.
        present: calls that were here already.
        errors: one for each row that was left out, in the order of recording.
    """

    added: int
    present: int
    errors: list[InputError]


def export_attempts(ledger: Ledger, path: Path) -> int:
    """Add all calls of a ledger to the ledger in a file, made when it is not there.

    Returns:
        How many calls the ledger has.
    """
    rows = ledger.rows()
    exported = Ledger.open(path)
    exported.add(rows)
    exported.close()
    return len(rows)


def import_attempts(ledger: Ledger, path: Path, parsers: Parsers) -> ImportedAttempts:
    """Add the calls of another ledger's file that are not here yet.

    Args:
        ledger: that gets the calls.
        path: of the file.
        parsers: how answers are read.

    Raises:
        LedgerError: the file is no ledger; nothing was added.
    """
    exported = Ledger.open_read_only(path)
    if exported is None:
        raise LedgerError(
            f"{path}: no ledger; expected a file that `lunguage ledger export` wrote."
        )
    rows: list[dict[str, Any]] = []
    errors: list[InputError] = []
    for number, row in enumerate(exported.rows(), start=1):
        try:
            _check(row, parsers)
        except ValueError as error:
            errors.append(_error_of_row(path, number, error))
        else:
            rows.append(row)
    added = ledger.add(rows)
    return ImportedAttempts(added, len(rows) - added, errors)


def _check(row: Mapping[str, Any], parsers: Parsers) -> None:
    """Check a row of another ledger.

    Raises:
        ValueError: what was expected of it.
    """
    attempt = _ATTEMPT.validate_python(row)
    if attempt.time > moment(datetime.now(UTC) + timedelta(days=1)):
        raise ValueError("a time at most a day ahead of this machine's clock")
    has_replied = attempt.failure is None or attempt.failure in REPLIED
    if (attempt.answer is not None) != has_replied:
        raise ValueError("an answer exactly where a reply came")
    # A refusal and another model's reply are not read, whatever they say.
    if attempt.answer is not None and attempt.failure in (None, "unreadable"):
        is_readable = parsers[attempt.stage](attempt.answer) is not None
        if is_readable != (attempt.failure is None):
            raise ValueError("a valid answer exactly where it can be read")


def _error_of_row(path: Path, number: int, error: ValueError) -> InputError:
    expected = str(error)
    if isinstance(error, ValidationError):
        # Its own text quotes the value, which may be an answer.
        problems = [
            f"{problem['loc'][0]}: {problem['msg']}" for problem in error.errors()
        ]
        expected = ", ".join(problems)
    return InputError(
        str(path),
        "a value that does not fit",
        expected,
        "It is left out; the others are imported.",
        row=number,
    )
