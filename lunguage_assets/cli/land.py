"""`lunguage land`: one pass over the landing folder without a daemon. Heavy imports are deferred."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.home_option import HOME_OPTION, chosen_home

if TYPE_CHECKING:
    from lunguage_assets.landing.passes import Outcome
    from lunguage_assets.landing.place import LandingPlace


@click.command()
@HOME_OPTION
@click.option(
    "--url",
    default=None,
    help="Landing folder or fsspec URL; default: $LUNGUAGE_LANDING, else url in [landing] of settings.toml.",
)
@click.option("--now", is_flag=True, help="Wait for nothing: nobody is writing into the folder any more.")
def land(home: Path, url: str | None, now: bool) -> None:
    """Register new deliveries of the landing folder once, without a daemon; put aside what cannot be used.

    Batches that it registers are ingested by the sensor `landing` when it runs, or by the job `ingest`. Ends
    with status 1 when a delivery was put aside.
    """
    place = chosen_home(home)
    from lunguage_assets.errors import ConfigurationError, LunguageError
    from lunguage_assets.landing.passes import Bounds
    from lunguage_assets.landing.passes import land as make_pass
    from lunguage_assets.landing.place import LandingPlace, landing_url
    from lunguage_assets.orchestration.partitions import REPORT_BATCH
    from lunguage_assets.orchestration.runs.instance import dagster_instance
    from lunguage_assets.settings import load_settings

    settings = load_settings(place.settings_file).landing
    chosen = _absolute(url) if url is not None else landing_url(place, settings)
    if chosen is None:
        raise ConfigurationError(
            "no landing folder is named. Say --url, set LUNGUAGE_LANDING, or write url in "
            "[landing] of settings.toml."
        )
    landing = LandingPlace(chosen)
    outcome = make_pass(
        place,
        landing,
        Bounds(stable_s=settings.stable_s, deliveries=1_000_000, seconds=float("inf"), as_they_lie=now),
    )
    if outcome.registered:
        with dagster_instance(place) as instance:
            instance.add_dynamic_partitions(REPORT_BATCH.name, [batch.key for batch in outcome.registered])
    _tell(outcome)
    if outcome.quarantined or outcome.refused:
        raise LunguageError(_put_aside(outcome, landing, place.root))


def _absolute(url: str) -> str:
    return url if "://" in url else str(Path(url).expanduser().resolve())


def _tell(outcome: Outcome) -> None:
    for batch in outcome.registered:
        name = outcome.names.get(batch.key)
        click.echo(
            f"registered   {batch.key}{f' from {name}' if name else ''}: {batch.studies} studies "
            f"({batch.amended} of them came in an earlier "
            f"batch), {batch.rows} rows ({batch.rejected} rejected)"
        )
    for name, key in sorted(outcome.skipped.items()):
        click.echo(f"skipped      {name}: same content as batch {key}")
    for reason in outcome.quarantined:
        click.echo(
            f"quarantined  {reason.delivery}: {reason.file}: found {reason.found}; expected "
            f"{reason.expected}. {reason.remedy}"
        )
    for name, why in sorted(outcome.waiting.items()):
        click.echo(f"waiting      {name}: {why}")
    for name, why in sorted(outcome.others.items()):
        click.echo(f"passed over  {name}: {why}")
    click.echo(
        f"{len(outcome.registered)} registered, {len(outcome.skipped)} skipped, "
        f"{len(outcome.quarantined)} quarantined, "
        f"{len(outcome.waiting)} waiting, {outcome.known} landed before"
    )


def _put_aside(outcome: Outcome, landing: LandingPlace, home: Path) -> str:
    from lunguage_assets.landing.passes import quarantine_place

    said = []
    if outcome.quarantined:
        said.append(
            f"{len(outcome.quarantined)} deliveries cannot be used: see REASON.txt in "
            f"{quarantine_place(landing)}"
        )
    if outcome.refused:
        said.append(
            f"{outcome.refused} that cannot be used lie where nothing may be written: see "
            f"{home / 'landing-record' / 'refused'}"
        )
    return "; ".join(said)
