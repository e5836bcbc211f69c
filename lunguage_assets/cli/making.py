"""The commands that make things: `run`, `register`, `land`, `analyse`, `estimate`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import (
    COLUMNS,
    FILE,
    FIT_OPTION,
    FOLDER,
    GIVEN_FILE,
    RANKER_OPTION,
    REBUILD_OPTION,
    Chosen,
    chooses,
    existing_home,
)
from lunguage_assets.errors import ConfigurationError, LunguageError, printable

if TYPE_CHECKING:
    from lunguage_assets.judges.configuration import JudgesConfiguration
    from lunguage_assets.lineage.run_plan import Stage
    from lunguage_assets.lineage.staleness import StalenessChecker
    from lunguage_assets.orchestration.runs.runner import RunSummary


@click.command(short_help="Register a delivery as a batch, and make nothing yet.")
@chooses("data", "batch", *COLUMNS)
def register(chosen: Chosen) -> None:
    """Register a delivery as a batch, to be materialised later (in the UI, for instance)."""
    registered = chosen.register()
    _add_partitions(chosen, [one.key for one in registered])
    for one in registered:
        files = printable(", ".join(one.files))
        click.echo(f"batch {one.key} ({files}) is registered in {chosen.home.root}")


def _add_partitions(chosen: Chosen, batches: Sequence[str]) -> None:
    from lunguage_assets.lineage.recipes import BATCH

    with chosen.instance() as instance:
        instance.add_dynamic_partitions(BATCH, list(batches))


@click.command(short_help="Turn reports or findings into Lunguage++ and labels.")
@chooses("data", "batch", *COLUMNS, "preset", "structurer", "budget", "strict")
@click.option(
    "--out", type=FOLDER, help="Where release/<ranker>/ goes; default: the home."
)
@RANKER_OPTION
@FIT_OPTION
@REBUILD_OPTION
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    envvar="LUNGUAGE_PROCESSES",
    help="Processes that structure, merge, expand and resolve; default: the cores. Also $LUNGUAGE_PROCESSES.",
)
def run(
    chosen: Chosen,
    out: Path | None,
    ranker: str,
    fit: str | None,
    rebuild_ranking: bool,
    processes: int | None,
) -> None:
    """Turn Lunguage files or raw reports into Lunguage++: register, materialise, write the release.

    What is current is left as it is. When everything is, nothing is done. Without --data, everything that is
    registered is made for the ranker, such as a judge that was just added to the judges file.
    """
    from lunguage_assets.cli.console import (
        checks_lines,
        print_release,
        run_display,
        spending_lines,
    )
    from lunguage_assets.lineage.run_plan import plan
    from lunguage_assets.settings import departures

    place, judges = chosen.home, chosen.judges(ranker)
    if chosen.data is None:
        _require_registered(chosen)
    if out is not None:
        out.mkdir(
            parents=True, exist_ok=True
        )  # what cannot be written into is said before anything is made
    if (settings := chosen.settings).as_published:
        own_prompts = os.environ.get("LUNGUAGE_PROMPTS")
        prompts = (
            f"the prompts of {own_prompts}"
            if own_prompts
            else "this package's own prompts"
        )
        click.echo(
            f"as published (settings.toml); not options: the judges, and {prompts}"
        )
        for option, (was, used) in departures(settings).items():
            click.echo(f"not as published: {option} = {used} (published: {was})")
    if chosen.data is not None:
        chosen.register()
    releases = (out or place.root).resolve() / "release"
    folder = releases / ranker
    now = chosen.staleness(releases, fit, verify=True)
    stages = plan(now, ranker, rebuild=rebuild_ranking)
    if not stages:
        click.echo("Everything is current: nothing to do.")
        print_release(folder, place)
        return
    _require_judges(chosen, judges, stages, now)
    if not settings.preset:
        place.remember_preset(judges.preset)
    from lunguage_assets.orchestration.runs.runner import Runner

    with chosen.instance() as instance, run_display() as display:
        runner = Runner(chosen.resource(out, processes, fit=fit), instance)
        summary = runner.run(
            ranker, rebuild=rebuild_ranking, stages=stages, progress=display.stage
        )
    spent = display.total.totals()
    ledger = chosen.paid_answers() if spent else None
    lost = int(ledger.statistics()["lost"].sum()) if ledger is not None else 0
    print_release(folder, place, [*checks_lines(summary), *spending_lines(spent, lost)])
    _require_checks(summary)


def _require_registered(chosen: Chosen) -> None:
    """Without --data, what the home holds is meant."""
    if chosen.batch:
        raise click.UsageError("--batch is the key of the files that --data names.")
    existing_home(chosen.home.root)


def _require_judges(
    chosen: Chosen,
    judges: JudgesConfiguration,
    stages: Sequence[Stage],
    now: StalenessChecker,
) -> None:
    """Refuse stages that would ask a judge who cannot be asked: policy, retirement, key, SDK.

    A judge of whose model the ledger has answers is left alone: what it has to answer may all be there.
    Raises `ConfigurationError`: one line with everything that is wrong.
    """
    from datetime import UTC, datetime

    from lunguage_assets.judges.examination import examine_judges
    from lunguage_assets.lineage.staleness import asks_judges

    asked: set[str] = set()
    for stage in stages:
        if stage.job in ("structure", "extract_hedges", "compare"):
            asked.add(stage.keys[0])
        elif stage.job in ("fit", "refit") and asks_judges(now, *stage.keys):
            asked.update(judges.members(stage.keys[0]))
    asked &= judges.models.keys()
    if asked and (ledger := chosen.paid_answers()) is not None:
        answered = set(ledger.statistics()["model"])
        asked = {key for key in asked if judges.models[key].model not in answered}
    found = examine_judges(
        judges, chosen.data_class, datetime.now(UTC).date(), os.environ, only=asked
    )
    refusals = [message for severity, message in found if severity == "refusal"]
    if refusals:
        raise ConfigurationError(
            f"{' '.join(refusals)} Nothing was asked. `lunguage doctor --preset {judges.preset}` looks again."
        )


def _require_checks(summary: RunSummary) -> None:
    """Raise when a check failed; one that only warns was printed."""
    from lunguage_assets.orchestration.runs.runner import RunFailed

    if failed := summary.checks("failed"):
        raise RunFailed(f"{len(failed)} checks failed: {'; '.join(failed)}")


@click.command(short_help="Estimate calls and US dollars of a run; send nothing.")
@chooses("data", "batch", *COLUMNS, "preset", "structurer")
@RANKER_OPTION
@FIT_OPTION
@REBUILD_OPTION
@click.option("--json", "file", type=FILE, help="Also write the numbers to this file.")
def estimate(
    chosen: Chosen,
    ranker: str,
    fit: str | None,
    rebuild_ranking: bool,
    file: Path | None,
) -> None:
    """Estimate what a run would ask of language models and cost; write and send nothing.

    Without --data, of everything that is registered, as `lunguage run` makes it.
    """
    from lunguage_assets.files import replace_text
    from lunguage_assets.orchestration.estimate import estimate_run
    from lunguage_assets.packaged_data import resource

    chosen.judges(ranker)
    if chosen.data is None:
        _require_registered(chosen)
    new = chosen.examine() if chosen.data is not None else ()
    found = estimate_run(chosen.resource(fit=fit), new, ranker, rebuild=rebuild_ranking)
    _print_estimate(found, chosen.judges_file or resource("judges.toml"))
    if file is not None:
        replace_text(file, json.dumps(found, indent=2) + "\n")


SCORED_PER_S = 100
"""Sentences that a model of 22 million parameters reads on one core (benchmarks/distilled.py)."""

_COUNTS = {"questions": "questions", "hits": "ledger", "calls": "calls", "input_tokens": "tokens in",
           "output_tokens": "out"}  # fmt: skip
_USD = {"usd": "USD", "usd_at_least": "at least", "usd_at_most": "at most"}


def _print_estimate(found: Mapping[str, Any], judges_file: Path) -> None:
    """What a run would ask and spend: a line per stage and judge, totals, prices, and what is not known;
    dollars that are not known as a question mark.
    """
    import pandas as pd

    click.echo(
        f"preset {found['preset']}, ranker {found['ranker']}, batches: {', '.join(found['batches'])}"
    )
    if lines := found["lines"]:
        steps = (
            ""
            if found["steps"] is None
            else f"; about {found['steps']:.1f} steps a fit (published: 24.6)"
        )
        click.echo(
            f"{found['reports']:,} reports, {found['pairs']:,} tentative pairs in {found['sentences']:,} "
            f"different masked sentences{steps}"
        )
        total = {**found["total"], "stage": "total", "judge": ""}
        names = {
            "stage": "stage",
            "judge": "judge",
            **_COUNTS,
            **_USD,
            "minutes": "minutes",
        }
        frame = pd.DataFrame([*lines, total], columns=list(names)).astype(
            dict.fromkeys(_USD, "float64")
        )
        counts = dict.fromkeys(_COUNTS.values(), "{:,}".format)
        dollars = dict.fromkeys(_USD.values(), "{:,.2f}".format)
        formats = {**counts, **dollars, "minutes": "{:,.1f}".format}
        click.echo(
            frame.rename(columns=names).to_string(
                index=False, na_rep="?", formatters=formats
            )
        )
        stages = ", ".join(
            f"{stage} {minutes:,.1f}" for stage, minutes in found["minutes"].items()
        )
        dates = ", ".join(found["prices_as_of"]) or "no date: it gives none"
        measured = ", ".join(
            sorted({line["judge"] for line in lines if line["basis"] == "ledger"})
        )
        click.echo(
            f"Minutes by stage: {stages}. Judges are asked at the same time; the slowest counts."
        )
        click.echo(
            f"Prices: {judges_file}, as of {dates}. Look them up before you rely on them."
        )
        click.echo(
            f"Tokens and seconds measured, from the ledger: {measured or 'none'}; others are assumed."
        )
        if unpriced := ", ".join(found["total"]["judges_without_price"]):
            click.echo(
                f"No price, or no limit on output tokens, so no dollars at most: {unpriced}"
            )
        click.echo("The range, and what is assumed: docs/models.md, What it costs.")
    for fit, of in found["by_fit"].items():
        minutes = of["scored"] / SCORED_PER_S / 60.0
        scored = (
            f", {of['scored']:,} read by a distilled model ({minutes:,.0f} min)"
            if of["scored"]
            else ""
        )
        usd = (
            "$?"
            if of["usd_at_most"] is None and not of["usd"]
            else f"${of['usd']:,.2f}"
        )
        click.echo(
            f"Fits by --fit {fit}: {of['sentences']:,} sentences asked about{scored}: "
            f"{of['calls']:,} calls, {usd}, {of['minutes']:,.0f} minutes"
        )
    for text in found["remarks"]:
        click.echo(text)


@click.command(short_help="Analyse how far the numbers can be trusted.")
@chooses("preset", there=True)
@RANKER_OPTION
@click.option(
    "--cues",
    is_flag=True,
    help="Instead, count the rows of raw reports by the cue that decided them, worst first.",
)
@click.option(
    "--against",
    type=GIVEN_FILE,
    help="For --cues: rows that people coded, in the columns of Lunguage.csv; default: gold_findings.csv of "
    "the home, where it is.",
)
def analyse(chosen: Chosen, ranker: str, cues: bool, against: Path | None) -> None:
    """Analyse how far the numbers can be trusted: agreement, robustness of the ranking, validation of the
    fit.

    Asks no judge: everything comes from recorded matches.
    """
    if against is not None and not cues:
        raise click.UsageError("--against is for --cues.")
    if cues:
        _print_cue_counts(chosen, against)
        return
    from lunguage_assets.cli.console import print_analyses, run_display
    from lunguage_assets.lineage.run_plan import Stage
    from lunguage_assets.orchestration.runs.runner import Runner

    chosen.judges(ranker)
    chosen.stored("reference_ranking", ranker)
    stages = [Stage("analyse", (ranker,))]
    with chosen.instance() as instance, run_display() as display:
        summary = Runner(chosen.resource(), instance).run(
            ranker, stages=stages, progress=display.stage
        )
    released = chosen.staleness().of("release", ranker)
    print_analyses(chosen, ranker, summary, release_is_stale=released.state == "stale")
    _require_checks(summary)


def _print_cue_counts(chosen: Chosen, against: Path | None) -> None:
    """Print the rows of all batches by cue; it prints no text of a report."""
    from lunguage_assets.cli.console import print_table
    from lunguage_assets.corpus.intake import take_in_gold
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.structuring.agreement import gold_rows
    from lunguage_assets.structuring.cue_counts import cue_counts, summed_cue_counts
    from lunguage_assets.tables import STRUCTURED_FINDINGS
    from lunguage_assets.workspace.store import is_stored, partition_path, read_table

    home = chosen.home
    gold_file = against or (home.gold_findings if home.gold_findings.exists() else None)
    parts = []
    for batch in home.registered():
        path = partition_path(home.tables, STRUCTURED_FINDINGS.name, RULES, batch.key)
        if not is_stored(STRUCTURED_FINDINGS, path):
            continue
        gold = None
        if gold_file is not None:
            vocabulary = home.delivery(batch.key).vocabulary
            gold = gold_rows(
                take_in_gold(gold_file, vocabulary, chosen.settings.corpus)
            )
        parts.append(cue_counts({RULES: read_table(STRUCTURED_FINDINGS, path)}, gold))
    if not parts:
        raise ConfigurationError(
            f"{home.root} has no rows that the offline rules read, which alone name cues. Run `lunguage run "
            "--data DIR` with raw reports first."
        )
    found = (
        summed_cue_counts(parts)
        .drop(columns="structurer")
        .replace({"cue": {"": "none"}})
    )
    if gold_file is None:
        found = found.drop(columns=["compared", "differing", "first_differing"])
    print_table(found)


@click.command(short_help="Let a small model learn the panel's judgement.")
@chooses("preset", there=True)
@RANKER_OPTION
@click.option(
    "--encoder",
    help="Model of the hub, or a folder; default: distilled.encoder of settings.toml.",
)
@click.option(
    "--tune",
    is_flag=True,
    help="Fine-tune the encoder, too: minutes to an hour on a CPU.",
)
def distill(chosen: Chosen, ranker: str, encoder: str | None, tune: bool) -> None:
    """Train a small model on the stored answers of the judges, and hold it against them.

    Asks no judge. `lunguage run --fit distilled` then fits further batches with it. Killed, the same command
    goes on.
    """
    from lunguage_assets.cli.console import (
        checks_lines,
        print_beside,
        print_table,
        run_display,
    )
    from lunguage_assets.lineage.run_plan import Stage
    from lunguage_assets.orchestration.resources import distilled_training
    from lunguage_assets.orchestration.runs.runner import Runner

    chosen.judges(ranker)
    chosen.stored("reference_ranking", ranker)
    configuration = chosen.resource(encoder=encoder, tune=tune)
    named = chosen.settings.distilled.encoder
    used = distilled_training(configuration).encoder
    if not encoder and used != named:
        click.echo(
            f"{named} is not on this machine: {used} is used, the copy that `make models` installed"
        )
    with chosen.instance() as instance, run_display() as display:
        stages = [Stage("distill", (ranker,))]
        summary = Runner(configuration, instance).run(
            ranker, stages=stages, progress=display.stage
        )
    scorer = chosen.stored("distilled_scorer", ranker)
    print_table(scorer.drop(columns=["seed", "files", "ranking_version"]))
    print_table(
        chosen.stored("distilled_evaluation", ranker).drop(
            columns=["is_used", "ranking_version"]
        )
    )
    folder = chosen.home.distilled / ranker / scorer["files"].iloc[0][:16]
    print_beside(
        [*checks_lines(summary), ("as restricted as the reports", str(folder))]
    )
    _require_checks(summary)


@click.command(short_help="Register what lies in the landing folder, once.")
@chooses()
@click.option(
    "--now",
    is_flag=True,
    help="Wait for nothing: nobody is writing into the folder any more.",
)
def land(chosen: Chosen, now: bool) -> None:
    """Register new deliveries of the landing folder once, without a daemon; put aside what cannot be used.

    The sensor `landing`, when it runs, or the job `ingest` then ingests the batches. Ends with status 1 when
    a delivery was put aside.
    """
    from lunguage_assets.workspace.landed_delivery import QUARANTINE
    from lunguage_assets.workspace.landing import land as make_pass
    from lunguage_assets.workspace.landing import landing_folder

    settings = chosen.settings.landing
    if (folder := landing_folder(chosen.home, settings)) is None:
        raise ConfigurationError(
            "no landing folder is named. Set LUNGUAGE_LANDING, or write url in [landing] of settings.toml."
        )
    found = make_pass(chosen.home, folder, stable_s=None if now else settings.stable_s)
    if found.of("registered") or found.of("skipped"):
        _add_partitions(chosen, [batch.key for batch in chosen.home.registered()])
    for state, name, told in found.outcomes:
        if told:
            click.echo(f"{state:<13}{name}: {told}")
    click.echo(found.summary)
    if refused := found.of("quarantined"):
        raise LunguageError(
            f"{len(refused)} deliveries cannot be used: see REASON.txt in {folder / QUARANTINE}"
        )
