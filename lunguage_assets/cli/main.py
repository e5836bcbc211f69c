"""The `lunguage` command. Heavy imports are deferred, so that help and bad options answer at once."""

from __future__ import annotations

import atexit
import os
import sqlite3
import sys
from contextlib import suppress

import click

from lunguage_assets.cli.keeping.doctor import doctor
from lunguage_assets.cli.keeping.encode import encode
from lunguage_assets.cli.keeping.ledger import ledger
from lunguage_assets.cli.keeping.tables import tables
from lunguage_assets.cli.keeping.ui import ui
from lunguage_assets.cli.looking.calibrate import calibrate, compare_labels
from lunguage_assets.cli.looking.explain import compare_modes, explain
from lunguage_assets.cli.looking.read import read
from lunguage_assets.cli.looking.survey import survey
from lunguage_assets.cli.making.backfill import backfill
from lunguage_assets.cli.making.land import land
from lunguage_assets.cli.making.run import analyse, estimate, register, run
from lunguage_assets.cli.making.sample import sample
from lunguage_assets.collector import collect_seldom
from lunguage_assets.errors import LunguageError
from lunguage_assets.interruption import answering_signals
from lunguage_assets.rights import keep_private


def process() -> None:
    """`main` as all that this process does; it ends without taking apart what it holds.

    Python looks through every object at its end, a second of work with Dagster and pandas loaded. By then
    threads have ended and other exit functions have run: the one here was registered first, so it comes last.
    An error that nobody answered ends as usual.
    """
    status: list[int] = []
    atexit.register(_leave, status)
    try:
        main()
    except SystemExit as ended:
        status[:] = [ended.code] if isinstance(ended.code, int) else []
        raise
    status[:] = [0]


def _leave(status: list[int]) -> None:
    if status:
        with suppress(OSError, ValueError):  # of a closed pipe Python itself tells
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status[0])


def main() -> None:
    """Entry point: one line on stderr and a non-zero status for any error that a person can act on."""
    collect_seldom()
    keep_private()
    try:
        with answering_signals():
            commands(standalone_mode=False)
    except LunguageError as error:
        click.echo(f"lunguage: {error}", err=True)
        sys.exit(1)
    except click.exceptions.Abort:
        click.echo("lunguage: interrupted; run the same command again to go on", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        click.echo(
            f"lunguage: {error.strerror or type(error).__name__}: {error.filename or ''}".rstrip(": "),
            err=True,
        )
        sys.exit(1)
    except Exception as error:  # its message may quote a report
        cause = getattr(error, "orig", None)
        if isinstance(
            cause, sqlite3.Error
        ):  # SQLAlchemy's own message quotes what was to be stored; SQLite's does not
            click.echo(
                f"lunguage: a database of the home cannot be read or written ({cause}). Free disk "
                "space, or see that nothing else holds it, and "
                "run the same command again: what is finished is kept.",
                err=True,
            )
            sys.exit(1)
        from lunguage_assets.orchestration.withheld import messages_may_be_shown, where

        if messages_may_be_shown():
            raise
        click.echo(f"lunguage: unexpected {where(error)}. Please report this.", err=True)
        sys.exit(1)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lunguage-assets")
def commands() -> None:
    """Clinical uncertainty in radiology reports: Lunguage files in, Lunguage++ out, through Dagster."""


for command in (
    analyse,
    backfill,
    calibrate,
    compare_labels,
    compare_modes,
    doctor,
    encode,
    estimate,
    explain,
    land,
    ledger,
    read,
    register,
    run,
    sample,
    survey,
    tables,
    ui,
):
    commands.add_command(command)


if __name__ == "__main__":
    process()
