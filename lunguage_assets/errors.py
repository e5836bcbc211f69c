"""Errors that a person can act on.

Every error the package raises on purpose is a `LunguageError`; the command line prints
its one-line message and exits non-zero, without a traceback. No message carries report
text: a found value is shown only where it comes from a coded column.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name.

    The known one that is nearest to it, or nothing.
    """
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def printable(text: str) -> str:
    r"""The text on one line of a terminal.

    Control characters, which names of delivered files may have, stand as escapes such
    as `\n` and `\x1b`.
    """
    if text.isprintable():
        return text
    return "".join(map(_printable_letter, text))


def _printable_letter(letter: str) -> str:
    if letter.isprintable():
        return letter
    return letter.encode("unicode_escape").decode("ascii")


class LunguageError(Exception):
    """A problem the user can fix.

    The message says what was found, what was expected and what to do.
    """


class InputError(LunguageError):
    """A delivered file cannot be used.

    Built from the place and the expectation, so that every message has the same parts.
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
        self.file, self.row, self.column = file, row, column
        self.found, self.expected, self.remedy = found, expected, remedy
        place = printable(file)
        if row is not None:
            place += f", row {row}"
        if column is not None:
            place += f", column {column!r}"
        # A name that breaks the line, or colours a terminal, could pass for another
        # message.
        super().__init__(
            printable(f"{place}: found {found}; expected {expected}. {remedy}")
        )

    def of_file(self, file: str) -> InputError:
        """Make the same error of a file under another name."""
        return InputError(
            file,
            self.found,
            self.expected,
            self.remedy,
            row=self.row,
            column=self.column,
        )


def damaged(
    file: str,
    found: str,
    error: Exception,
    expected: str,
    remedy: str = "Deliver it again.",
) -> InputError:
    """Make the error of a file that its reader gave up.

    It tells the kind of what the reader said, never its text.

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


class NotWritten(LunguageError):
    """A table could not be written to its place.

    What was there before is still there.
    """


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
