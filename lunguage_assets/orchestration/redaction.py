"""Keeping report text out of what is stored and shown of errors (docs/security.md).

Libraries quote values in their messages.
Errors that are raised on purpose (`LunguageError`) hold no report text. Of every other
only its kind and its place in the code are kept. `redact_errors` stands around
everything of ours that Dagster calls and that sees rows; what fails outside it Dagster
itself redacts, by the same variable of the environment.
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

REDACTION_VARIABLE = "DAGSTER_REDACT_USER_CODE_ERRORS"

_PACKAGE = Path(__file__).parents[1]


def messages_may_be_shown() -> bool:
    """Tell whether whoever runs this has switched redaction off: the variable "false".

    Unlike Dagster, which shows messages where nobody has said anything.
    """
    return os.environ.get(REDACTION_VARIABLE, "").lower() == "false"


@contextmanager
def redact_errors() -> Iterator[None]:
    """Turn errors into failures of Dagster whose message quotes no report.

    An error that a person can act on keeps its message, and is not retried. Of an
    unexpected one only kind and place are told.
    """
    try:
        yield
    except dg.Failure:
        raise
    except LunguageError as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    except Exception as error:
        if messages_may_be_shown():
            raise
        message = (
            f"unexpected {where(error)}; its message is withheld, because it "
            f"may quote a report. Please report this. On invented reports alone, "
            f"{REDACTION_VARIABLE}=false shows it."
        )
        raise dg.Failure(message, allow_retries=False) from None


def where(error: BaseException | None) -> str:
    """Return the kind of an error and the last place in this package on its way."""
    kind = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__ if error is not None else None)
    for frame in reversed(frames):
        file = Path(frame.filename)
        if file.is_relative_to(_PACKAGE):
            return f"{kind} in {file.name}, line {frame.lineno} ({frame.name})"
    return kind


def keep_place_only(record: logging.LogRecord) -> bool:
    """Keep the place alone of an error that Dagster redacts, and logs whole."""
    error = record.exc_info[1] if record.exc_info else None
    record.msg = f"{record.getMessage()} {where(error)}"
    record.args = None
    record.exc_info = None
    record.exc_text = None
    return True
