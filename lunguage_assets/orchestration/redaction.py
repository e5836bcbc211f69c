"""Keeping report text out of what is stored and shown of unexpected errors: libraries quote values. Errors
that are raised on purpose (`LunguageError`) hold no report text. Of every other only its kind and the places
in the code are kept, unless the corpus is synthetic. `redact_errors` stands around everything of ours that
Dagster calls and that sees rows; Dagster itself withholds by a variable of the environment.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from lunguage_assets.errors import LunguageError
from lunguage_assets.settings import DataClass

REDACTION_VARIABLE = "DAGSTER_REDACT_USER_CODE_ERRORS"
_LOGGER = os.environ.get(
    "DAGSTER_REDACTED_ERROR_LOGGER_NAME", "dagster.redacted_errors"
)
_PACKAGE = Path(__file__).parents[1]

_at_work: set[DataClass] = set()
"""The classes of the corpora that this process has worked on."""


def withhold_messages(data_class: DataClass | None) -> None:
    """Note what this process works on, None where nobody has said so. Messages are withheld unless every
    corpus is synthetic: another home that is opened later shows nothing of one before.
    """
    if data_class is not None:
        _at_work.add(data_class)
    logger = logging.getLogger(_LOGGER)
    if _places_only not in logger.filters:
        logger.addFilter(_places_only)


def messages_may_be_shown() -> bool:
    """Whether the corpus is known to be synthetic: as long as nobody has said so, messages are withheld."""
    return redaction("synthetic" if _at_work == {"synthetic"} else None) == "false"


def redaction(data_class: DataClass | None) -> str:
    """What `REDACTION_VARIABLE` must say in a process that serves such a corpus."""
    asked_for = os.environ.get(REDACTION_VARIABLE, "").lower() in ("1", "true", "t")
    return "true" if asked_for or data_class != "synthetic" else "false"


@contextmanager
def redact_errors(before: str = "") -> Iterator[None]:
    """Turn an error that a person can act on into a Dagster failure with that message, and no retry; of an
    unexpected one only its kind and places are told when its message might quote a report.
    """
    try:
        yield
    except dg.Failure:
        raise
    except Exception as error:
        shown: dict[str, object] = {"kind": type(error).__name__}
        if isinstance(error, LunguageError):
            said = str(error)
        elif messages_may_be_shown():
            raise
        else:
            withheld = "its message is withheld, because it may quote a report. Please report this."
            said = f"unexpected {where(error)}; {withheld}"
            shown["places"] = dg.MetadataValue.text(_trace(error))
        raise dg.Failure(
            f"{before}{said}", metadata=shown, allow_retries=False
        ) from None


def where(error: BaseException) -> str:
    """Kind of an error and the last place in this package on its way, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)
    ] or frames
    place = (
        f" in {Path(own[-1].filename).name}, line {own[-1].lineno} ({own[-1].name})"
        if own
        else ""
    )
    return f"{type(error).__name__}{place}"


def _trace(error: BaseException | None) -> str:
    lines = []
    while error is not None:
        lines.append(type(error).__name__)
        for frame in traceback.extract_tb(error.__traceback__):
            lines.append(f"  {frame.filename}, line {frame.lineno}, in {frame.name}")
        error = error.__cause__
    return "\n".join(lines)


def _places_only(record: logging.LogRecord) -> bool:
    """Dagster logs what it withholds; the log, too, gets places only, and nothing of failures that say
    themselves what is wrong, or of a process that was asked to stop.
    """
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if isinstance(
        error, (dg.Failure, KeyboardInterrupt, dg.DagsterExecutionInterruptedError)
    ):
        return False
    record.msg = f"{record.getMessage()}\n{_trace(error)}"
    record.args = record.exc_info = record.exc_text = None
    return True
