"""The `lunguage` command: its commands, its entry point, and what an error ends with.

Heavy imports are deferred, so that help and bad options answer at once. Every command
is in the module of its name.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sqlite3
import sys
from importlib import import_module

import click

from lunguage_assets import __version__
from lunguage_assets.caches import fewer_collections
from lunguage_assets.errors import LunguageError, printable
from lunguage_assets.permissions import set_private_umask

EXIT_STATUS_INTERRUPTED = 130
"""What a shell reports of a command that Ctrl-C ended."""

COMMANDS = (
    "analyse",
    "annotate",
    "batches",
    "distill",
    "doctor",
    "estimate",
    "explain",
    "land",
    "ledger",
    "read",
    "register",
    "run",
    "sample",
    "score",
    "status",
    "survey",
    "targets",
    "ui",
)
"""Each is the command of its name in the module of its name."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="lunguage-assets")
def commands() -> None:
    """Clinical uncertainty in radiology reports.

    Lunguage files in, Lunguage++ out, through Dagster.
    """


for name in COMMANDS:
    commands.add_command(getattr(import_module(f"lunguage_assets.cli.{name}"), name))


def main() -> None:
    """Run the command of the arguments.

    An error that a person can act on is one line on stderr and a non-zero status.
    """
    set_private_umask()
    # The process ends here and not where an error was caught: an error holds on to
    # every frame that it went through.
    with fewer_collections():
        exit_status = _run_command()
    # DuckDB lists forty leaked objects behind the message when the interpreter is
    # taken down, and nobody can act on them: it is not.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_status)


def _run_command() -> int:
    """Run the command, print the message of its error, and return the exit status."""
    try:
        answer_signals()
        commands(standalone_mode=False)
        return 0
    except LunguageError as error:
        return _fail(str(error))
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _fail(
            "interrupted; run the same command again to go on", EXIT_STATUS_INTERRUPTED
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except OSError as error:
        problem = error.strerror or type(error).__name__
        if error.filename:
            problem = f"{problem}: {printable(str(error.filename))}"
        return _fail(
            f"{problem}. Fix its rights (chmod u+rwX), free space, or name another "
            "folder (--home, --out); the same command again goes on: what is finished "
            "is kept."
        )
    except Exception as error:
        # SQLAlchemy wraps SQLite's error, which quotes nothing of what is stored.
        cause = getattr(error, "orig", None)
        if isinstance(cause, sqlite3.Error):
            return _fail(
                f"a database of the home cannot be read or written ({cause}). Free "
                "disk space, fix its rights (chmod u+rwX), or see that nothing else "
                "holds it, and run the same command again: what is finished is kept."
            )
        from lunguage_assets.errors import messages_may_be_shown, where

        # The message of any other error may quote a report.
        if messages_may_be_shown():
            raise
        return _fail(f"unexpected {where(error)}. Please report this.")


def answer_signals() -> None:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt.

    What a script starts in the background ignores SIGINT otherwise. SQLAlchemy's pools
    say nothing of what interrupts their closing.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)


def _fail(message: str, exit_status: int = 1) -> int:
    click.echo(f"lunguage: {message}", err=True)
    return exit_status


if __name__ == "__main__":
    main()
