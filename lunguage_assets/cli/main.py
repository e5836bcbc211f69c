"""The `lunguage` command. Heavy imports are deferred, so that help and bad options answer at once."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import signal
import sqlite3
import subprocess
import sys

import click

from lunguage_assets.cli.comparing import calibrate, compare_labels, survey
from lunguage_assets.cli.keeping import batches, doctor, ledger, status, ui
from lunguage_assets.cli.making import analyse, distill, estimate, land, register, run
from lunguage_assets.cli.reading import annotate, explain, read, sample
from lunguage_assets.cli.training import score, targets
from lunguage_assets.errors import LunguageError, printable
from lunguage_assets.permissions import set_private_umask


def main() -> None:
    """Entry point: one line on stderr and a non-zero status for any error that a person can act on."""
    gc.set_threshold(
        200_000, 20, 20
    )  # tables are very many objects and no cycles: a fifth of a large batch
    set_private_umask()
    atexit.register(
        _leave_out_leaks
    )  # the first to be registered is the last to be called
    if (
        status := _status()
    ):  # not where the error was caught: it would hold on to what it went through
        sys.exit(status)


_WITHOUT_LEAKS = (
    "import sys\n"
    "for line in sys.stdin.buffer:\n"
    "    if not line.startswith((b'nanobind: ', b' - ')): sys.stderr.buffer.write(line)\n"
)


def _leave_out_leaks() -> None:
    """Let another process pass on what is written after this one has ended, but for the forty objects that
    DuckDB's binding lists as leaked where torch was loaded: nobody can act on them.
    """
    if "torch" not in sys.modules:
        return
    sys.stderr.flush()
    command = [sys.executable, "-S", "-E", "-c", _WITHOUT_LEAKS]
    passing_on = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert passing_on.stdin is not None
    os.dup2(passing_on.stdin.fileno(), 2)


def _status() -> int:
    try:
        answer_signals()
        commands(standalone_mode=False)
        return 0
    except LunguageError as error:
        return _told(str(error))
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _told("interrupted; run the same command again to go on", 130)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except OSError as error:
        place = printable(str(error.filename or ""))
        told = f"{error.strerror or type(error).__name__}: {place}".rstrip(": ")
        remedy = "Fix its rights (chmod u+rwX), free space, or name another folder (--home, --out)"
        return _told(
            f"{told}. {remedy}; the same command again goes on: what is finished is kept."
        )
    except Exception as error:  # its message may quote a report
        cause = getattr(error, "orig", None)
        if isinstance(
            cause, sqlite3.Error
        ):  # which quotes nothing of what was to be stored
            return _told(
                f"a database of the home cannot be read or written ({cause}). Free disk space, fix its "
                "rights (chmod u+rwX), or see that nothing else holds it, and run the same command again: "
                "what is finished is kept."
            )
        from lunguage_assets.orchestration.redaction import messages_may_be_shown, where

        if messages_may_be_shown():
            raise
        return _told(f"unexpected {where(error)}. Please report this.")


def answer_signals() -> None:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt, also in what a script starts in the background, which
    ignores SIGINT. SQLAlchemy's pools say nothing of what interrupts their closing.
    """
    for signalled in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signalled, signal.default_int_handler)
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)


def _told(message: str, status: int = 1) -> int:
    click.echo(f"lunguage: {message}", err=True)
    return status


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lunguage-assets")
def commands() -> None:
    """Clinical uncertainty in radiology reports: Lunguage files in, Lunguage++ out, through Dagster."""


for command in (
    *(
        analyse,
        annotate,
        batches,
        calibrate,
        compare_labels,
        distill,
        doctor,
        estimate,
        explain,
        land,
    ),
    *(ledger, read, register, run, sample, score, status, survey, targets, ui),
):
    commands.add_command(command)


if __name__ == "__main__":
    main()
