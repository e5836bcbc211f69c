"""Keeping report text out of what is stored and shown of errors (docs/security.md).

Libraries quote values in their messages.
Errors that are raised on purpose (`LunguageError`) hold no report text. Of every other
only its kind and its place in the code are kept. `redact_errors` stands around
everything of ours that Dagster calls and that sees rows; what fails outside it Dagster
itself redacts, by the same variable of the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from lunguage_assets.errors import (
    REDACTION_VARIABLE,
    LunguageError,
    messages_may_be_shown,
    where,
)


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
