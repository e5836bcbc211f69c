"""Keeping report text out of what is stored and shown of unexpected errors: libraries quote the value that
they stumbled over.

Errors that are raised on purpose (`LunguageError`) hold no report text and are shown as they are. Of every
other error only its kind and the places in the code are kept, unless the corpus is synthetic. Dagster does
the withholding itself, at every boundary to our code.
"""

from __future__ import annotations

import logging
import os
import traceback
from pathlib import Path

import dagster as dg

from lunguage_assets.interruption import is_interruption
from lunguage_assets.settings import DataClass

_VARIABLE = "DAGSTER_REDACT_USER_CODE_ERRORS"
_LOGGER = os.environ.get("DAGSTER_REDACTED_ERROR_LOGGER_NAME", "dagster.redacted_errors")
_ASKED_FOR = os.environ.get(_VARIABLE, "")
_PACKAGE = Path(__file__).parents[1]


def withhold_messages(data_class: DataClass | None) -> None:
    """Set, for this process and those it starts, whether messages of unexpected errors are withheld: not only
    of synthetic corpora.
    """
    os.environ[_VARIABLE] = (_ASKED_FOR or "false") if data_class == "synthetic" else "true"
    logger = logging.getLogger(_LOGGER)
    if not any(isinstance(present, _PlacesOnly) for present in logger.filters):
        logger.addFilter(_PlacesOnly())


def messages_are_withheld() -> bool:
    return os.environ.get(_VARIABLE, "").lower() in ("1", "true", "t")


def messages_may_be_shown() -> bool:
    """Whether the corpus is known to be synthetic: as long as nobody has said so, messages are withheld."""
    return os.environ.get(_VARIABLE, "").lower() == "false"


def where(error: BaseException) -> str:
    """Kind of an error and the last place in this package on its way, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)] or frames
    place = f" in {Path(own[-1].filename).name}, line {own[-1].lineno} ({own[-1].name})" if own else ""
    return f"{type(error).__name__}{place}"


def _trace(error: BaseException | None) -> str:
    """All places on the way of an error and of what caused it."""
    lines = []
    while error is not None:
        lines.append(type(error).__name__)
        lines += [
            f"  {frame.filename}, line {frame.lineno}, in {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        error = error.__cause__
    return "\n".join(lines)


class _PlacesOnly(logging.Filter):
    """Dagster logs what it withholds; the log, too, gets places only.

    It gets nothing of failures that say themselves what is wrong, and nothing where the process was asked to
    stop: that is no error.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, dg.Failure) or is_interruption(error):
            return False
        record.msg, record.args, record.exc_info, record.exc_text = (
            f"{record.getMessage()}\n{_trace(error)}",
            None,
            None,
            None,
        )
        return True
