"""The commands about a home: `status` and `doctor` say how it stands; `batches`, `ledger`, `ui`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import FILE, GIVEN_FILE, Chosen, chooses, existing_home
from lunguage_assets.errors import ConfigurationError, LunguageError, printable
from lunguage_assets.permissions import open_to_others

if TYPE_CHECKING:
    from lunguage_assets.judges.ledger.ledger import Ledger
    from lunguage_assets.lineage.staleness import StalenessChecker
    from lunguage_assets.settings import DataClass


SHOWN = 12
_NAMED = 20
"""Steps that a run would make, as they are listed for one ranker; the rest is counted."""


@click.command(short_help="Show batches, what is stale and why, release, spending.")
@chooses("preset", "structurer", there=True)
def status(chosen: Chosen) -> None:
    """Show batches, rankers, what is stale and why, the last releases, and what was spent.

    Makes and asks nothing.
    """
    for line in _lines(chosen):
        click.echo(line)


def _lines(chosen: Chosen) -> Iterator[str]:
    from lunguage_assets.lineage.input_fingerprints import broken_files

    place, now, corpus = chosen.home, chosen.staleness(), chosen.home.corpus()
    named = (
        f"corpus {corpus.name!r}, {corpus.data_class}"
        if corpus is not None
        else "no corpus"
    )
    yield f"{place.root}: {named}"
    batches = [(batch, _studies(now, batch.key)) for batch in place.registered()]
    yield f"batches   {len(batches)}, {sum(studies or 0 for _, studies in batches)} studies"
    for batch, studies in batches:
        taken_in = "not taken in yet" if studies is None else f"{studies} studies"
        yield f"          {batch.key}  {taken_in}, delivered as {batch.kind}"
    for gone in place.removed():
        yield f"          {gone.key}  removed {gone.when} by {gone.who}"
    yield f"judges    preset {now.judges.preset}; raw reports are structured by {now.judges.structurer}"
    broken = broken_files(place)
    for problem in broken:
        yield f"broken    {problem} What is stale can be told when this is corrected."
    today, total = _spent(chosen)
    for ranker in () if broken else now.judges.rankers:
        yield from _ranker(now, ranker, len(batches), total)
    yield f"spent     ${sum(today.values()):.2f} today (UTC), ${sum(total.values()):.2f} in all"


def _studies(now: StalenessChecker, batch: str) -> int | None:
    """Studies of a batch; None while it is not taken in."""
    import pyarrow.parquet as pq

    from lunguage_assets.workspace.store import partition_path

    try:
        with partition_path(now.home.tables, "reports", batch).open("rb") as stream:
            return int(pq.read_metadata(stream).num_rows)
    except FileNotFoundError:
        return None


def _ranker(
    now: StalenessChecker, ranker: str, batches: int, spent: Mapping[str, float]
) -> Iterator[str]:
    """What there is of a ranker, and what a run for it would make; `spent` are US dollars by judge."""
    from lunguage_assets.lineage.run_plan import plan
    from lunguage_assets.workspace.versions import current_version

    folder = now.home.release / ranker
    released = current_version(folder)
    named = f"ranker    {ranker} ({', '.join(now.judges.members(ranker))}):"
    if released is None and not now.exists("reference_ranking", ranker):
        asked = spent.keys() & {
            now.judges.structurer,
            now.judges.extractor,
            *now.judges.members(ranker),
        }
        if not asked:
            yield f"{named} not begun"
            return
        kept = sum(spent[judge] for judge in asked)
        yield f"{named} no ranking yet; ${kept:.2f} was spent on answers of its judges, which are kept"
    else:
        # the reasons of a stale release are those of the step that makes it
        state = now.of("release", ranker).state
        release = (
            f"release {released.name}, {state}"
            if released is not None
            else "no release"
        )
        yield f"{named} {len(now.complete_batches(ranker))} of {batches} batches; {release}"
    stages = plan(now, ranker) if batches else []
    for stage in stages[:SHOWN]:
        yield f"          to make: {stage}, {stage.reason or 'missing'}"
    if len(stages) > SHOWN:
        yield f"          ... and {len(stages) - SHOWN} more steps"
    if not stages:
        yield "          everything is current"


def _spent(chosen: Chosen) -> tuple[dict[str, float], dict[str, float]]:
    """US dollars of today (UTC) and in all, by judge; what has no price counts as nothing."""
    from datetime import UTC, datetime

    from lunguage_assets.judges.ledger.attempts import moment

    reader = chosen.paid_answers()
    if reader is None:
        return {}, {}
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    frames = [reader.statistics(since) for since in (moment(midnight), "")]
    reader.close()
    today, ever = (
        {
            str(judge): float(usd)
            for judge, usd in frame.groupby("judge")["cost_usd"].sum().items()
        }
        for frame in frames
    )
    return today, ever


@click.command(short_help="Check keys, policy, retirement dates and storage.")
@chooses("preset", "structurer")
@click.option(
    "--ask",
    is_flag=True,
    help="Ask each language model one invented question: a paid call each.",
)
def doctor(chosen: Chosen, ask: bool) -> None:
    """Check judges, keys, retirement dates, data policy and storage before anything is sent or spent."""
    from dataclasses import replace
    from datetime import UTC, datetime

    from lunguage_assets.judges.configuration import OFFLINE_STRUCTURERS
    from lunguage_assets.judges.examination import ask_once, examine_judges
    from lunguage_assets.lineage.input_fingerprints import broken_files
    from lunguage_assets.orchestration.runs.instance import (
        examination as instance_examination,
    )

    root, judges, today = chosen.home.root, chosen.judges(), datetime.now(UTC).date()
    is_new = chosen.home.corpus() is None
    given: DataClass = "synthetic" if is_new else chosen.data_class
    lines: list[tuple[str, str]] = [*examine_judges(judges, given, today, os.environ)]
    if is_new:  # nobody knows yet whose text it will hold
        told = "the home holds no corpus yet: judges may be asked about synthetic text where nothing is refused"
        of_patients = examine_judges(judges, "credentialed", today, os.environ)
        refused_to_patients = [
            one for one in of_patients if one[0] == "refusal" and one not in lines
        ]
        lines += [
            ("ok", told),
            *(("warning", message) for _, message in refused_to_patients),
        ]
    if judges.structurer in OFFLINE_STRUCTURERS:
        lines.append(
            ("ok", "raw reports are structured in this process: nothing is sent")
        )
    lines.append(instance_examination(chosen.home))
    lines += [("refusal", problem) for problem in broken_files(chosen.home)]
    if given == "credentialed" and open_to_others(root):
        lines.append(
            ("refusal", f"other accounts can read {root}: chmod -R go-rwx '{root}'")
        )
    if judges.models:
        shared = "LUNGUAGE_DAILY_BUDGET holds for all that share the ledger"
        lines.append(("ok", f"--budget holds within one process; {shared}"))
    if ask:
        context = replace(chosen.resource().judge_context(), data_class=given)
        for key in judges.models:
            of_judge = examine_judges(judges, given, today, os.environ, only={key})
            if not any(
                severity == "refusal" for severity, _ in of_judge
            ):  # else it was said above
                lines.append(ask_once(key, judges, context))
    for severity, message in lines:
        click.echo(f"{severity:<8} {message}")
    if refused := sum(severity == "refusal" for severity, _ in lines):
        raise LunguageError(
            f"{refused} of the checks above refuse a run with preset {judges.preset!r} on {given} text"
        )


@click.group(short_help="List the batches, or remove one with all that is of it.")
def batches() -> None:
    """List the registered batches, or remove one with all that follows from it."""


@batches.command("list", short_help="List the batches, and those that were removed.")
@chooses(there=True)
def list_(chosen: Chosen) -> None:
    """List the registered batches, and those that were removed."""
    for batch in chosen.home.registered():
        files = printable(", ".join(batch.files))
        click.echo(f"{batch.key}  {batch.kind}  sha256 {batch.sha256[:12]}  {files}")
    for gone in chosen.home.removed():
        click.echo(
            f"{gone.key}  removed {gone.when} by {gone.who}  sha256 {gone.sha256[:12]}"
        )


@batches.command("remove", short_help="Remove a batch and every table of it.")
@click.argument("key")
@click.option(
    "--yes", is_flag=True, help="Remove it; without this, only what would go is listed."
)
@chooses(there=True)
def remove(key: str, yes: bool, chosen: Chosen) -> None:
    """Remove the batch KEY: its files, every table of it, its review queues, its partition in Dagster.

    The home keeps a record of it. Releases that are sealed stay; the next run writes one without the batch.
    """
    place = chosen.home
    if key in {batch.key for batch in place.registered()}:
        if not yes:
            tables, review = place.files_of(key)
            names = ", ".join(sorted({table for table, _ in tables})) or "none"
            raise LunguageError(
                f"nothing was removed. Its files, {len(tables)} tables ({names}), {len(review)} review "
                "queues and its partition would go; what several batches made together, and sealed releases, "
                f"stay. To remove it: lunguage batches remove {key} --yes"
            )
        _remove(chosen, key)
    from lunguage_assets.lineage.recipes import BATCH
    from lunguage_assets.orchestration.partitions import forget_removed

    with chosen.instance() as instance:
        forget_removed(instance, place)
        if key in instance.get_dynamic_partitions(BATCH):
            instance.delete_dynamic_partition(BATCH, key)
            click.echo(f"{key} was a partition without a batch; it is gone")
        elif key not in {gone.key for gone in place.removed()}:
            known = ", ".join(batch.key for batch in place.registered()) or "none"
            raise ConfigurationError(
                f"{place.root} has no batch {key!r}; registered: {known}"
            )


def _remove(chosen: Chosen, key: str) -> None:
    from lunguage_assets.orchestration.runs.instance import is_at_work, runs_of_batch

    place = chosen.home
    if is_at_work(place.root):
        raise ConfigurationError(
            "another command works on this home. Let it end; nothing was removed."
        )
    with chosen.instance() as instance:
        if running := runs_of_batch(instance, key):
            raise ConfigurationError(
                f"run {running[0]} works on batch {key!r}. Let it end, or cancel it; nothing was removed."
            )
    place.remove(key)
    click.echo(
        f"removed  {key} with its tables; noted in {place.root / 'removals.json'}"
    )


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
    from lunguage_assets.judges.ledger.transfer import export_attempts

    click.echo(f"{export_attempts(_opened(chosen), file)} attempts in {file}")


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

    Each answer is read as when it was given. A row that does not fit is named and left out.
    """
    from lunguage_assets.judges.ledger.ledger import Ledger
    from lunguage_assets.judges.ledger.transfer import import_attempts
    from lunguage_assets.judges.model_judge import choice_of, parse_phrase_list
    from lunguage_assets.structuring.model.grounding import parse_answer

    chosen.home.create()
    parsers = {
        "extract": parse_phrase_list,
        "compare": choice_of,
        "structure": parse_answer,
    }
    added, known, refused = import_attempts(
        Ledger.open(chosen.ledger_place), file, parsers
    )
    for error in refused[:_NAMED]:
        click.echo(str(error), err=True)
    if len(refused) > _NAMED:
        click.echo(
            f"... and {len(refused) - _NAMED} more rows that do not fit", err=True
        )
    left_out = f", {len(refused)} left out" if refused else ""
    click.echo(f"{added} attempts added, {known} were there already{left_out}")


@click.command(short_help="Open the Dagster UI on a home.")
@chooses()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
)
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
    from lunguage_assets.orchestration.ui.access import (
        HOSTS_VARIABLE,
        TOKEN_VARIABLE,
        AccessPolicy,
        new_token,
    )
    from lunguage_assets.orchestration.ui.processes import only_ui, require_free, serve

    place = chosen.home
    token = "" if no_token else new_token()
    policy = AccessPolicy.of_server(host, port, {**os.environ, TOKEN_VARIABLE: token})
    require_free(host, port)
    if not place.root.exists():
        raise ConfigurationError(
            f"{place.root} does not exist. Name the home with --home or $LUNGUAGE_HOME, or make a new one: "
            "lunguage run --data DIR"
        )
    shown = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"
    with only_ui(place.root, f"{shown}/ of process {os.getpid()}"):
        if place.corpus() is None:
            click.echo(
                f"{place.root} holds no corpus: nothing was registered there.", err=True
            )
        environment = {**environment_of_children(place), TOKEN_VARIABLE: token}
        log = place.root / "logs" / "ui.log"
        write_private(log, b"")

        def ready() -> None:
            click.echo(f"{shown}{policy.prefix}/")
            if no_token:
                told = "without a token: every program of every account on this machine can drive it"
                click.echo(told, err=True)
            if environment.get(HOSTS_VARIABLE):
                click.echo(f"also answers as {environment[HOSTS_VARIABLE]}", err=True)
            click.echo(f"Ctrl-C stops it; its log is {log}", err=True)
            sys.stdout.flush()

        click.echo(f"starting the Dagster UI of {place.root} ...", err=True)
        sys.exit(serve(host, port, environment, log, ready))
