"""Attempts from one ledger to another: paid answers that two homes can share.

An exported file comes from somebody else. A row that nobody could have recorded, or
whose answer this version would read otherwise, would change results for good: it is
left out and named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic import TypeAdapter, ValidationError

from lunguage_assets.errors import InputError
from lunguage_assets.judges.ledger.attempt_store import add_attempts, row_of
from lunguage_assets.judges.ledger.attempts import (
    MAX_CLOCK_DIFFERENCE,
    REPLIED,
    Attempt,
    moment,
)
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.ledger_location import LedgerError
from lunguage_assets.judges.ledger.ledger_tables import ATTEMPTS

_ATTEMPT_READER = TypeAdapter(Attempt)

Parsers = Mapping[str, Callable[[str], object]]
"""Stage -> the parser of its answers, which gives None where an answer is none."""


class ImportedAttempts(NamedTuple):
    """What an import did.

    Attributes:
        added: attempts that are new.
        present: attempts that were here already.
        errors: one for each row that was left out, in the order of key and attempt.
    """

    added: int
    present: int
    errors: list[InputError]


def export_attempts(ledger: Ledger, path: Path) -> int:
    """Add all attempts of a ledger to the ledger in a file, made when it is not there.

    Returns:
        How many attempts the ledger has.
    """
    rows = _all_rows(ledger)
    exported = Ledger.open(path)
    exported.transaction(lambda connection: add_attempts(connection, rows))
    # SQLite then writes its log into the file, which is handed on alone.
    exported.close()
    return len(rows)


def import_attempts(ledger: Ledger, path: Path, parsers: Parsers) -> ImportedAttempts:
    """Add the attempts of another ledger's file that are not here yet.

    They come after those that are here. A question that is settled here stays as it is:
    results that were computed do not change.

    Args:
        ledger: that gets the attempts.
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
    latest_time = moment(datetime.now(UTC) + MAX_CLOCK_DIFFERENCE)
    for number, row in enumerate(_all_rows(exported), start=1):
        try:
            attempt = _checked_attempt(row, parsers, latest_time)
        except ValueError as error:
            errors.append(_error_of_row(path, number, error))
            continue
        rows.append(row_of(attempt))
    added = ledger.transaction(lambda connection: add_attempts(connection, rows))
    return ImportedAttempts(added, len(rows) - added, errors)


def _all_rows(ledger: Ledger) -> list[dict[str, Any]]:
    query = sa.select(ATTEMPTS).order_by(ATTEMPTS.c.key, ATTEMPTS.c.attempt)
    with ledger.reading() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def _checked_attempt(
    row: Mapping[str, Any], parsers: Parsers, latest_time: str
) -> Attempt:
    """Read a row of another ledger.

    Args:
        row: of its attempts.
        parsers: how answers are read.
        latest_time: that an attempt may have.

    Raises:
        ValueError: what was expected of it.
    """
    attempt = _ATTEMPT_READER.validate_python(row)
    if attempt.time > latest_time:
        raise ValueError("a time at most a day ahead of this machine's clock")
    has_replied = attempt.valid or attempt.failure in REPLIED
    if (attempt.answer is not None) != has_replied:
        raise ValueError("an answer exactly where a reply came")
    # A refusal and another model's reply are not read, whatever they say.
    if attempt.answer is not None and attempt.failure in (None, "unreadable"):
        is_readable = parsers[attempt.stage](attempt.answer) is not None
        if is_readable != attempt.valid:
            raise ValueError("a valid answer exactly where it can be read")
    return attempt


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
