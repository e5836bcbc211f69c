"""The `lunguage` command. Heavy imports are deferred, so that help and bad options answer at once."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.backfill import backfill
from lunguage_assets.cli.docs import docs
from lunguage_assets.cli.encode import encode
from lunguage_assets.cli.explain import compare_modes, explain
from lunguage_assets.cli.home_option import HOME_OPTION
from lunguage_assets.cli.home_option import chosen_home as _home
from lunguage_assets.cli.land import land
from lunguage_assets.cli.survey import survey
from lunguage_assets.cli.tables import tables
from lunguage_assets.errors import LunguageError
from lunguage_assets.interruption import answering_signals

if TYPE_CHECKING:
    from lunguage_assets.judges.configuration import JudgesConfiguration
    from lunguage_assets.judges.ledger.ledger import Ledger
    from lunguage_assets.orchestration.runs.runner import Outcome


def main() -> None:
    """Entry point: one line on stderr and a non-zero status for any error that a person can act on."""
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


commands.add_command(backfill)
commands.add_command(survey)
commands.add_command(tables)
commands.add_command(explain)
commands.add_command(encode)
commands.add_command(docs)
commands.add_command(compare_modes)
commands.add_command(land)


@commands.command()
@click.option(
    "--reports",
    default=800,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of reports (studies).",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write the three files into.",
)
def sample(reports: int, seed: int, out: Path) -> None:
    """Write a synthetic corpus in the published formats."""
    from lunguage_assets.sample import write_sample

    written = write_sample(out, reports=reports, seed=seed)
    click.echo(
        f"{written.reports} reports of {written.patients} patients: {written.findings} findings "
        f"({written.tentative} tentative) and "
        f"{written.history} history rows, {written.images} images, {len(written.phrases)} hedging "
        f"phrases, in {out}"
    )


_DATA_OPTIONS = [
    click.option(
        "--data",
        required=True,
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder with Lunguage.csv.",
    ),
    click.option("--batch", default=None, help="Key of the batch: [a-z0-9._-]; default: the folder's name."),
    click.option(
        "--corpus", default=None, help="Name of the corpus, when the folder's corpus.toml does not give one."
    ),
    click.option(
        "--data-class",
        type=click.Choice(["synthetic", "credentialed"]),
        default=None,
        help="Whether the text is patient data; default: what corpus.toml says, else credentialed.",
    ),
    HOME_OPTION,
]


def _data_options(command: Any) -> Any:
    for option in reversed(_DATA_OPTIONS):
        command = option(command)
    return command


@commands.command()
@_data_options
def register(data: Path, batch: str | None, corpus: str | None, data_class: Any, home: Path) -> None:
    """Register a delivery as a batch, to be materialised later (in the UI, for instance)."""
    place = _home(home)
    from lunguage_assets.home.home import batch_key
    from lunguage_assets.orchestration.partitions import REPORT_BATCH
    from lunguage_assets.orchestration.runs.runner import dagster_instance

    registered = place.register(data, batch or batch_key(data), corpus, data_class)
    with dagster_instance(place) as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, [registered.key])
    click.echo(f"batch {registered.key} ({', '.join(registered.files)}) is registered in {place.root}")


@commands.command()
@_data_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Where release/<ranker>/ goes; default: the home.",
)
@click.option(
    "--ranker", default="panel", show_default=True, help="'panel' (all judges pooled) or one judge."
)
@click.option(
    "--preset",
    default=None,
    help="Preset of the judges file; default: what the file says ('offline'). Also $LUNGUAGE_PRESET.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    default=None,
    metavar="USD",
    help="Stop before a call that could pass this sum.",
)
@click.option(
    "--rebuild-ranking",
    is_flag=True,
    help="Make the measuring stick (vocabulary, comparisons, ranking) anew.",
)
def run(
    data: Path,
    batch: str | None,
    corpus: str | None,
    data_class: Any,
    home: Path,
    out: Path | None,
    ranker: str,
    preset: str | None,
    budget: float | None,
    rebuild_ranking: bool,
) -> None:
    """Turn Lunguage files into Lunguage++: register, materialise through Dagster, write the release."""
    place = _home(home)
    from lunguage_assets.cli.console import print_outcome, run_display
    from lunguage_assets.home.home import batch_key
    from lunguage_assets.orchestration.resources import BUDGET_VARIABLE
    from lunguage_assets.orchestration.runs.runner import Runner, dagster_instance

    if budget is not None:
        os.environ[BUDGET_VARIABLE] = str(budget)
    judges = _judges(preset, ranker)
    registered = place.register(data, batch or batch_key(data), corpus, data_class)
    target = (out or place.root).resolve()
    with dagster_instance(place) as instance, run_display() as display:
        outcome = Runner(place, instance, judges).run(
            ranker, registered.key, out=str(target), rebuild_ranking=rebuild_ranking, progress=display.stage
        )
    print_outcome(target / "release" / ranker, place, outcome, display.spent())
    _require_checks(outcome)


@commands.command()
@_data_options
@click.option(
    "--ranker", default="panel", show_default=True, help="'panel' (all judges pooled) or one judge."
)
@click.option(
    "--preset",
    default=None,
    help="Preset of the judges file; default: what the file says ('offline'). Also $LUNGUAGE_PRESET.",
)
@click.option("--rebuild-ranking", is_flag=True, help="As for a run that makes the measuring stick anew.")
@click.option(
    "--json",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="Also write the numbers to this file.",
)
def estimate(
    data: Path,
    batch: str | None,
    corpus: str | None,
    data_class: Any,
    home: Path,
    ranker: str,
    preset: str | None,
    rebuild_ranking: bool,
    file: Path | None,
) -> None:
    """What a run would ask of language models and cost, before anything is spent; writes and sends
    nothing.
    """
    place = _home(home)
    import json

    from lunguage_assets.cli.console import print_estimate
    from lunguage_assets.data_files import resource
    from lunguage_assets.files import replace_text
    from lunguage_assets.home.home import batch_key
    from lunguage_assets.judges.configuration import load_judges
    from lunguage_assets.orchestration.estimate import Circumstances, estimate_run
    from lunguage_assets.orchestration.inventory import batches_to_ask_about
    from lunguage_assets.orchestration.resources import judges_file, ledger_place, prompts_folder

    judges = load_judges(judges_file(), preset)
    registration = place.examine(data, batch or batch_key(data), corpus, data_class)
    circumstances = Circumstances(ledger_place(place), prompts_folder())
    others = batches_to_ask_about(place, judges, ranker)
    found = estimate_run(
        place, registration, judges, ranker, circumstances, rebuild=rebuild_ranking, others=others
    )
    print_estimate(found, judges_file() or resource("judges.toml"))
    if file is not None:
        replace_text(file, json.dumps(found.values(), indent=2) + "\n")


@commands.command()
@HOME_OPTION
@click.option(
    "--ranker", default="panel", show_default=True, help="'panel' (all judges pooled) or one judge."
)
@click.option("--preset", default=None, help="Preset of the judges file. Also $LUNGUAGE_PRESET.")
def analyse(home: Path, ranker: str, preset: str | None) -> None:
    """Ask how far the numbers can be trusted: agreement of judges and experts, robustness of the ranking,
    validation of the fit.

    Asks no judge: everything comes from recorded matches.
    """
    place = _home(home)
    from lunguage_assets.cli.console import print_analyses, run_display
    from lunguage_assets.orchestration.runs.runner import Runner, dagster_instance

    judges = _judges(preset, ranker)
    with dagster_instance(place) as instance, run_display() as display:
        outcome = Runner(place, instance, judges).analyse(ranker, progress=display.stage)
    print_analyses(place, ranker, outcome)
    _require_checks(outcome)


@commands.command()
@HOME_OPTION
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The UI has no login: keep it on the loopback address.",
)
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65535))
def ui(home: Path, host: str, port: int) -> None:
    """Open the Dagster UI on this home (runs, tables, checks; materialise and backfill)."""
    place = _home(home)
    from lunguage_assets.orchestration.runs.instance import environment_of_children

    environment = environment_of_children(place)
    click.echo(f"Dagster UI of {place.root} on http://{host}:{port} (Ctrl-C stops it)")
    sys.stdout.flush()
    command = [
        sys.executable,
        "-m",
        "dagster",
        "dev",
        "-m",
        "lunguage_assets.definitions",
        "--host",
        host,
        "--port",
        str(port),
    ]
    os.execve(sys.executable, command, environment)


@commands.group()
def ledger() -> None:
    """Answers of language models that are paid for: what they cost, and sharing them with a group."""


_LEDGER_OPTION = click.option(
    "--ledger",
    "place",
    default=None,
    envvar="LUNGUAGE_LEDGER",
    help="File or PostgreSQL URL; default: the home's. Also $LUNGUAGE_LEDGER.",
)


def _opened(home: Path, place: str | None) -> Ledger:
    from lunguage_assets.judges.ledger.ledger import Ledger

    folder = _home(home)
    folder.create()
    return Ledger.open(place or folder.root / "ledger.sqlite")


@ledger.command("stats")
@HOME_OPTION
@_LEDGER_OPTION
def ledger_stats(home: Path, place: str | None) -> None:
    """Attempts, tokens and US dollars per judge, stage and model."""
    frame = _opened(home, place).statistics()
    click.echo(frame.to_string(index=False) if len(frame) else "the ledger is empty")


@ledger.command("export")
@HOME_OPTION
@_LEDGER_OPTION
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def ledger_export(home: Path, place: str | None, file: Path) -> None:
    """Write all attempts to a Parquet file, for others to import; prompts stay out."""
    click.echo(f"{_opened(home, place).export(file)} attempts in {file}")


@ledger.command("import")
@HOME_OPTION
@_LEDGER_OPTION
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
def ledger_import(home: Path, place: str | None, file: Path) -> None:
    """Add the attempts of an exported file; what is there already stays as it is."""
    added, known = _opened(home, place).import_(file)
    click.echo(f"{added} attempts added, {known} were there already")


@commands.command()
@HOME_OPTION
@click.option("--preset", default=None, help="Preset to examine; default: the judges file's.")
@click.option(
    "--data-class",
    type=click.Choice(["synthetic", "credentialed"]),
    default=None,
    help="Default: the home's corpus, else credentialed.",
)
def doctor(home: Path, preset: str | None, data_class: Any) -> None:
    """Check judges, keys, retirement dates, data policy and storage before anything is sent or spent."""
    place = _home(home)
    from datetime import UTC, datetime

    from lunguage_assets.judges.binding_record import BindingRecord
    from lunguage_assets.judges.configuration import load_judges
    from lunguage_assets.judges.opening import examination
    from lunguage_assets.orchestration.resources import judges_file
    from lunguage_assets.orchestration.runs.instance import examination as instance_examination

    configuration = load_judges(judges_file(), preset)
    corpus = place.corpus()
    chosen = data_class or (corpus.data_class if corpus is not None else "credentialed")
    lines = examination(
        configuration, chosen, datetime.now(UTC).date(), os.environ, BindingRecord(place.binding_file)
    )
    for severity, message in lines:
        click.echo(f"{severity:<8} {message}")
    for severity, message in instance_examination(place):
        click.echo(f"{severity:<8} {message}")
    if configuration.models:
        click.echo(
            "ok       rate limits and --budget hold within one process; LUNGUAGE_DAILY_BUDGET "
            "holds for all that share the ledger"
        )
    refused = sum(severity == "refusal" for severity, _ in lines)
    if refused:
        raise LunguageError(
            f"{refused} of the checks above refuse a run with preset {configuration.preset!r} on "
            f"{chosen} text"
        )


def _judges(preset: str | None, ranker: str) -> JudgesConfiguration:
    """The judges file with the chosen preset, which holds for the whole process: assets read it from
    there.
    """
    from lunguage_assets.errors import ConfigurationError
    from lunguage_assets.judges.configuration import PRESET_VARIABLE, load_judges
    from lunguage_assets.orchestration.resources import judges_file

    if preset is not None:
        os.environ[PRESET_VARIABLE] = preset
    judges = load_judges(judges_file())
    if ranker not in judges.rankers:
        raise ConfigurationError(f"ranker {ranker!r} is unknown; expected one of {', '.join(judges.rankers)}")
    return judges


def _require_checks(outcome: Outcome) -> None:
    from lunguage_assets.orchestration.runs.runner import RunFailed

    if outcome.checks_failed:
        raise RunFailed(f"{len(outcome.checks_failed)} checks failed: {'; '.join(outcome.checks_failed)}")


if __name__ == "__main__":
    main()
