"""`lunguage estimate`: what a run would ask of language models and cost.

The numbers are counted by `orchestration.estimate`; here they are printed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import (
    FILE,
    FIT_OPTION,
    HOME_OPTION,
    PRESET_OPTION,
    RANKER_OPTION,
    REBUILD_OPTION,
    STRUCTURER_OPTION,
    configured,
    require_ranker,
)
from lunguage_assets.cli.register import DeliveryOptions, takes_delivery
from lunguage_assets.cli.run import require_data_registered

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration

_COUNT_COLUMNS = {
    "questions": "questions",
    "hits": "ledger",
    "calls": "calls",
    "input_tokens": "tokens in",
    "output_tokens": "out",
}
_DOLLAR_COLUMNS = {"usd": "USD", "usd_at_least": "at least", "usd_at_most": "at most"}
_COLUMNS = {
    "stage": "stage",
    "judge": "judge",
    **_COUNT_COLUMNS,
    **_DOLLAR_COLUMNS,
    "minutes": "minutes",
}
"""Key of an estimate's line -> header of its printed column."""


@click.command(short_help="Estimate calls and US dollars of a run; send nothing.")
@HOME_OPTION
@takes_delivery
@PRESET_OPTION
@STRUCTURER_OPTION
@RANKER_OPTION
@FIT_OPTION
@REBUILD_OPTION
@click.option("--json", "file", type=FILE, help="Also write the numbers to this file.")
@configured()
def estimate(
    configuration: Configuration,
    delivery: DeliveryOptions,
    ranker: str,
    rebuild_ranking: bool,
    file: Path | None,
) -> None:
    """Estimate what a run would ask and cost; write and send nothing.

    Without --data, of everything that is registered, as `lunguage run` makes it.
    """
    from lunguage_assets.files import replace_text
    from lunguage_assets.orchestration.estimate import estimate_run
    from lunguage_assets.packaged_data import resource

    require_ranker(configuration, ranker)
    if delivery.data is None:
        require_data_registered(configuration, delivery)
        registrations = []
    else:
        # The files are counted where they lie: an estimate makes no home.
        registrations = delivery.examine(configuration)
    estimated = estimate_run(
        configuration, registrations, ranker, rebuild=rebuild_ranking
    )
    _print_estimate(estimated, configuration.judges_file or resource("judges.toml"))
    if file is not None:
        replace_text(file, json.dumps(estimated, indent=2) + "\n")


def _print_estimate(estimated: Mapping[str, Any], judges_file: Path) -> None:
    """Print an estimate of `estimate_run`, whose prices are those of a judges file."""
    click.echo(
        f"preset {estimated['preset']}, ranker {estimated['ranker']}, "
        f"batches: {', '.join(estimated['batches'])}"
    )
    if estimated["lines"]:
        _print_size(estimated)
        _print_lines(estimated)
        _print_assumptions(estimated, judges_file)
    for remark in estimated["remarks"]:
        click.echo(remark)


def _print_size(estimated: Mapping[str, Any]) -> None:
    """Print how many reports, pairs and sentences there are."""
    steps = ""
    if estimated["steps"] is not None:
        steps = f"; about {estimated['steps']:.1f} steps a fit (published: 24.6)"
    click.echo(
        f"{estimated['reports']:,} reports, about {estimated['pairs']:,} tentative "
        f"pairs in {estimated['sentences']:,} different masked sentences{steps}"
    )


def _print_lines(estimated: Mapping[str, Any]) -> None:
    """Print a row per stage and judge and their total; a question mark is not known."""
    import pandas as pd

    total = {**estimated["total"], "stage": "total", "judge": ""}
    frame = pd.DataFrame([*estimated["lines"], total], columns=list(_COLUMNS))
    # Unknown dollars are None: only a column of numbers prints a question mark for it.
    frame = frame.astype(dict.fromkeys(_DOLLAR_COLUMNS, "float64"))
    formats = {
        **dict.fromkeys(_COUNT_COLUMNS.values(), "{:,}".format),
        **dict.fromkeys(_DOLLAR_COLUMNS.values(), "{:,.2f}".format),
        "minutes": "{:,.1f}".format,
    }
    named = frame.rename(columns=_COLUMNS)
    click.echo(named.to_string(index=False, na_rep="?", formatters=formats))


def _print_assumptions(estimated: Mapping[str, Any], judges_file: Path) -> None:
    """Print the minutes by stage, and what the dollars rest on."""
    stages = ", ".join(
        f"{stage} {minutes:,.1f}" for stage, minutes in estimated["minutes"].items()
    )
    click.echo(
        f"Minutes by stage: {stages}. Judges are asked at the same time; the slowest "
        "counts."
    )
    dates = ", ".join(estimated["prices_as_of"]) or "no date: it gives none"
    click.echo(
        f"Prices: {judges_file}, as of {dates}. Look them up before you rely on them."
    )
    # What the ledger has seen of a judge is surer than a guess by its prompts.
    measured = {
        line["judge"] for line in estimated["lines"] if line["basis"] == "ledger"
    }
    click.echo(
        "Tokens and seconds measured, from the ledger: "
        f"{', '.join(sorted(measured)) or 'none'}; others are assumed."
    )
    without_price = ", ".join(estimated["total"]["judges_without_price"])
    if without_price:
        click.echo(
            "No price, or no limit on output tokens, so no dollars at most: "
            f"{without_price}"
        )
    click.echo("The range, and what is assumed: docs/models.md, What it costs.")
