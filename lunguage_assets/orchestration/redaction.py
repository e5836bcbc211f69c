"""Keeping report text out of what is stored and shown of errors (docs/security.md).

Libraries quote values in their messages.
Errors that are raised on purpose (`LunguageError`) hold no report text. Of every other
only its kind and the places in the code are kept, unless the corpus is synthetic.
`redact_errors` stands around everything of ours that Dagster calls and that sees rows;
what fails outside it Dagster itself redacts, by a variable of the environment.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import dagster as dg

from lunguage_assets.errors import LunguageError
from lunguage_assets.settings import DataClass

REDACTION_VARIABLE = "DAGSTER_REDACT_USER_CODE_ERRORS"
_LOGGER = os.environ.get(
    "DAGSTER_REDACTED_ERROR_LOGGER_NAME", "dagster.redacted_errors"
)
P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = Path(__file__).parents[1]

_data_classes: set[DataClass] = set()
"""The classes of all corpora that this process has worked on."""


def withhold_messages(data_class: DataClass | None) -> None:
    """Note the class of a corpus that this process works on; None: nobody has said it.

    Messages are withheld unless every corpus is synthetic, so a home that is opened
    later shows nothing of one before.
    """
    if data_class is not None:
        _data_classes.add(data_class)
    logger = logging.getLogger(_LOGGER)
    if _keep_places_only not in logger.filters:
        logger.addFilter(_keep_places_only)


def messages_may_be_shown() -> bool:
    """Tell whether every corpus of this process is known to be synthetic."""
    is_synthetic = _data_classes == {"synthetic"}
    return redaction("synthetic" if is_synthetic else None) == "false"


def redaction(data_class: DataClass | None) -> str:
    """Return what `REDACTION_VARIABLE` must say in a process that serves a corpus."""
    is_asked_for = os.environ.get(REDACTION_VARIABLE, "").lower() in ("1", "true", "t")
    return "true" if is_asked_for or data_class != "synthetic" else "false"


@contextmanager
def redact_errors(before: str = "") -> Iterator[None]:
    """Turn errors into failures of Dagster whose message quotes no report.

    An error that a person can act on keeps its message, and is not retried. Of an
    unexpected one only kind and places are told where its message might quote a report.

    Args:
        before: put in front of the message.
    """
    try:
        yield
    except dg.Failure:
        raise
    except LunguageError as error:
        raise _failure(f"{before}{error}", error) from None
    except Exception as error:
        if messages_may_be_shown():
            raise
        message = (
            f"{before}unexpected {where(error)}; its message is withheld, because it "
            "may quote a report. Please report this."
        )
        raise _failure(message, error, places=_places(error)) from None


def redact_results(
    asset: Callable[P, Iterator[R]],
) -> Callable[P, Iterator[R]]:
    """Redact the errors of an asset that yields its results, as `redact_errors`."""

    @wraps(asset)
    def yield_results(*args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        with redact_errors():
            yield from asset(*args, **kwargs)

    return yield_results


def _failure(message: str, error: Exception, places: str = "") -> dg.Failure:
    metadata: dict[str, dg.MetadataValue[str]] = {
        "kind": dg.MetadataValue.text(type(error).__name__)
    }
    if places:
        metadata["places"] = dg.MetadataValue.text(places)
    return dg.Failure(message, metadata=metadata, allow_retries=False)


def where(error: BaseException) -> str:
    """Return the kind of an error and the last place in this package on its way."""
    frames = traceback.extract_tb(error.__traceback__)
    kind = type(error).__name__
    if not frames:
        return kind
    of_package = [
        frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)
    ]
    last = (of_package or frames)[-1]
    return f"{kind} in {Path(last.filename).name}, line {last.lineno} ({last.name})"


def _places(error: BaseException | None) -> str:
    """Return kinds and places of an error and its causes, without their messages."""
    lines = []
    while error is not None:
        lines.append(type(error).__name__)
        for frame in traceback.extract_tb(error.__traceback__):
            lines.append(f"  {frame.filename}, line {frame.lineno}, in {frame.name}")
        error = error.__cause__
    return "\n".join(lines)


def _keep_places_only(record: logging.LogRecord) -> bool:
    """Keep the places alone of an error that Dagster redacts, and logs whole.

    Of failures that say themselves what is wrong, and of a process that was asked to
    stop, nothing is logged.
    """
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    says_itself = (dg.Failure, KeyboardInterrupt, dg.DagsterExecutionInterruptedError)
    if isinstance(error, says_itself):
        return False
    record.msg = f"{record.getMessage()}\n{_places(error)}"
    record.args = None
    record.exc_info = None
    record.exc_text = None
    return True
