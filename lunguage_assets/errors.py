"""Errors that a person can act on.

Every error the package raises on purpose is a `LunguageError`; the command line prints
its one-line message and exits non-zero, without a traceback. No message carries report
text: a found value is shown only where it comes from a coded column.
"""

from __future__ import annotations

import difflib
import logging
import os
import traceback
from collections.abc import Iterable
from pathlib import Path

REDACTION_VARIABLE = "DAGSTER_REDACT_USER_CODE_ERRORS"
"""Variable of the environment by which Dagster withholds messages, and so do we."""


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """End a message about an unknown name: ask for the nearest known one, if any."""
    nearest = difflib.get_close_matches(name, list(known_names), n=1)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""


def printable(text: str) -> str:
    r"""Write a text on one line of a terminal.

    Control characters become escapes such as `\n` and `\x1b`: a name of a delivered
    file that breaks the line, or colours a terminal, could pass for another message.
    """
    return text if text.isprintable() else repr(text)[1:-1]


class LunguageError(Exception):
    """A problem the user can fix.

    The message says what was found, what was expected and what to do.
    """


class InputError(LunguageError):
    """A delivered file cannot be used.

    Every message has the same parts: where, what was found, what was expected, and what
    to do.
    """

    def __init__(
        self,
        file: str,
        found: str,
        expected: str,
        remedy: str,
        *,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        where = file
        if row is not None:
            where += f", row {row}"
        if column is not None:
            where += f", column {column!r}"
        message = f"{where}: found {found}; expected {expected}. {remedy}"
        super().__init__(printable(message))


def damaged(
    file: str,
    found: str,
    error: Exception,
    expected: str,
    remedy: str = "Deliver it again.",
) -> InputError:
    """Make the error of a file that its reader gave up.

    It names the class of the reader's error and never repeats its text, which may quote
    the file.

    Args:
        file: the delivered file.
        found: what is there.
        error: what the reader raised.
        expected: what should be there.
        remedy: what to do.
    """
    return InputError(file, f"{found} ({type(error).__name__})", expected, remedy)


class InvalidTable(LunguageError):
    """A frame does not fit its table's schema; nothing was stored."""


class ConfigurationError(LunguageError):
    """A settings, judges, pathway, blacklist or anchors file is wrong."""


class CorpusMismatch(InputError):
    """Two corpora or two data classes in one home."""


class KeyTaken(LunguageError):
    """A batch key stands for other content."""


class MethodError(LunguageError):
    """The method is not defined on these data.

    There are no phrases, say, or no valid answers, or an anchor phrase is missing.
    """


def messages_may_be_shown() -> bool:
    """Tell whether whoever runs this has switched redaction off: the variable "false".

    Unlike Dagster, which shows messages where nobody has said anything.
    """
    return os.environ.get(REDACTION_VARIABLE, "").lower() == "false"


def where(error: BaseException | None) -> str:
    """Return the kind of an error and the last place in this package on its way."""
    kind = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__ if error is not None else None)
    for frame in reversed(frames):
        file = Path(frame.filename)
        if file.is_relative_to(Path(__file__).parent):
            return f"{kind} in {file.name}, line {frame.lineno} ({frame.name})"
    return kind


def keep_place_only(record: logging.LogRecord) -> bool:
    """Keep the place alone of an error that a library logs whole."""
    error = record.exc_info[1] if record.exc_info else None
    record.msg = f"{record.getMessage()} {where(error)}"
    record.args = None
    record.exc_info = None
    record.exc_text = None
    return True
