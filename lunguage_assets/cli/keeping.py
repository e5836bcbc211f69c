"""The commands that keep a home: `batches`, `ledger`, `ui`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import FILE, GIVEN_FILE, Chosen, chooses, existing_home
from lunguage_assets.errors import ConfigurationError, LunguageError

if TYPE_CHECKING:
    from lunguage_assets.home.home import Home
    from lunguage_assets.judges.ledger.ledger import Ledger


@click.group(short_help="List the batches, or remove one with all that is of it.")
def batches() -> None:
    """List the registered batches, or remove one with all that follows from it."""


@batches.command("list", short_help="List the batches, and those that were removed.")
@chooses(there=True)
def list_(chosen: Chosen) -> None:
    """List the registered batches, and those that were removed."""
    for batch in chosen.home.registered():
        click.echo(f"{batch.key}  {batch.kind}  sha256 {batch.sha256[:12]}  {', '.join(batch.files)}")
    for gone in chosen.home.removed():
        click.echo(f"{gone.key}  removed {gone.when} by {gone.who}  sha256 {gone.sha256[:12]}")


@batches.command("remove", short_help="Remove a batch and every table of it.")
@click.argument("key")
@click.option("--yes", is_flag=True, help="Remove it; without this, only what would go is listed.")
@chooses(there=True)
def remove(key: str, yes: bool, chosen: Chosen) -> None:
    """Remove the batch KEY: its files, every table of it, its review queues, its partition in Dagster.

    The home keeps a record of it. Releases that are sealed stay; the next run writes one without the batch.
    """
    place = chosen.home
    if key in {batch.key for batch in place.registered()}:
        if not yes:
            _foretell(place, key)
            raise LunguageError(f"nothing was removed. To remove it: lunguage batches remove {key} --yes")
        _remove(chosen, key)
    from lunguage_assets.orchestration.partitions import REPORT_BATCH, forget_removed

    with chosen.instance() as instance:
        forget_removed(instance, place)
        if key in instance.get_dynamic_partitions(REPORT_BATCH.name):
            instance.delete_dynamic_partition(REPORT_BATCH.name, key)
            click.echo(f"{key} was a partition without a batch; it is gone")
        elif key not in {gone.key for gone in place.removed()}:
            known = ", ".join(batch.key for batch in place.registered()) or "none"
            raise ConfigurationError(f"{place.root} has no batch {key!r}; registered: {known}")


def _foretell(place: Home, key: str) -> None:
    tables, review = place.following(key)
    names = sorted({table for table, _ in tables})
    click.echo(f"goes     {len(tables)} stored tables of {key} ({', '.join(names) or 'none'})")
    click.echo(f"goes     its files, {len(review)} review queues, its partition in Dagster")
    click.echo("stays    what is made of several batches (a vocabulary, a ranking), until it is made again")
    for version in sorted(place.release.glob("*/v*")):
        click.echo(f"stays    release {version.parent.name}/{version.name}, sealed")


def _remove(chosen: Chosen, key: str) -> None:
    from lunguage_assets.orchestration.runs.instance import is_at_work, runs_of_batch

    place = chosen.home
    if is_at_work(place.root):
        raise ConfigurationError("another command works on this home. Let it end; nothing was removed.")
    with chosen.instance() as instance:
        if running := runs_of_batch(instance, key):
            raise ConfigurationError(
                f"run {running[0]} works on batch {key!r}. Let it end, or cancel it; nothing was removed."
            )
    place.remove(key)
    click.echo(f"removed  {key} with its tables; noted in {place.root / 'removals.json'}")


@click.group(short_help="Count what answers cost; export and import them.")
def ledger() -> None:
    """Answers of language models that are paid for: what they cost, and sharing them with a group."""


@ledger.command("stats", short_help="Count attempts, tokens and US dollars by judge.")
@chooses()
def ledger_stats(chosen: Chosen) -> None:
    """Count attempts, tokens and US dollars per judge, stage and model."""
    opened = _opened(chosen)
    in_flight = opened.in_flight()  # counts the losses of dead processes
    frame = opened.statistics()
    click.echo(frame.to_string(index=False))
    click.echo(f"sent, answer lost: {frame['lost'].sum()}; in flight: {in_flight}")


@ledger.command("export", short_help="Export all attempts to a ledger file.")
@chooses()
@click.argument("file", type=FILE)
def ledger_export(chosen: Chosen, file: Path) -> None:
    """Add all attempts to a ledger in FILE (SQLite), for others to import; prompts stay out."""
    click.echo(f"{_opened(chosen).export(file)} attempts in {file}")


def _opened(chosen: Chosen) -> Ledger:
    """The ledger that is there, of $LUNGUAGE_LEDGER or the home."""
    from lunguage_assets.judges.ledger.ledger import Ledger

    if not os.environ.get("LUNGUAGE_LEDGER"):
        existing_home(chosen.home.root)
    if chosen.paid_answers() is None:
        raise ConfigurationError("there is no ledger: no paid answer was recorded")
    return Ledger.open(chosen.ledger_place)


@ledger.command("import", short_help="Import the attempts of an exported file.")
@chooses()
@click.argument("file", type=GIVEN_FILE)
def ledger_import(chosen: Chosen, file: Path) -> None:
    """Add the attempts of an exported file, or of any ledger's; what is there already stays as it is.

    Each answer is read as when it was given. A file with a row that does not fit is refused.
    """
    from lunguage_assets.judges.ledger.ledger import Ledger
    from lunguage_assets.judges.model_judge import choice_of, parse_phrase_list
    from lunguage_assets.structuring.model.grounding import parse_answer

    chosen.home.create()
    parsers = {"extract": parse_phrase_list, "compare": choice_of, "structure": parse_answer}
    added, known = Ledger.open(chosen.ledger_place).import_(file, parsers)
    click.echo(f"{added} attempts added, {known} were there already")


@click.command(short_help="Open the Dagster UI on a home.")
@chooses()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65535))
@click.option(
    "--no-token",
    is_flag=True,
    help="Ask no token: every program of every account on this machine can drive the UI.",
)
def ui(chosen: Chosen, host: str, port: int, no_token: bool) -> None:
    """Open the Dagster UI on this home (runs, tables, checks; materialise and backfill)."""
    from lunguage_assets.files import write_private
    from lunguage_assets.orchestration.runs.instance import environment_of_children
    from lunguage_assets.orchestration.ui import (
        HOSTS_VARIABLE,
        TOKEN_VARIABLE,
        Door,
        new_token,
        only_ui,
        require_free,
        serve,
    )

    place = chosen.home
    token = "" if no_token else new_token()
    door = Door.of(host, port, {**os.environ, TOKEN_VARIABLE: token})
    require_free(host, port)
    shown = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"
    with only_ui(place.root, f"{shown}/ of process {os.getpid()}"):
        if place.corpus() is None:
            click.echo(f"{place.root} holds no corpus: nothing was registered there.", err=True)
        environment = {**environment_of_children(place), TOKEN_VARIABLE: token}
        log = place.root / "logs" / "ui.log"
        write_private(log, b"")

        def ready() -> None:
            click.echo(f"{shown}{door.prefix}/")
            if no_token:
                told = "without a token: every program of every account on this machine can drive it"
                click.echo(told, err=True)
            if environment.get(HOSTS_VARIABLE):
                click.echo(f"also answers as {environment[HOSTS_VARIABLE]}", err=True)
            click.echo(f"Ctrl-C stops it; its log is {log}", err=True)
            sys.stdout.flush()

        click.echo(f"starting the Dagster UI of {place.root} ...", err=True)
        sys.exit(serve(host, port, environment, log, ready))
