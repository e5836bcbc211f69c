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
from lunguage_assets.packaged_data import page_template, resource

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

    require_ranker(configuration, ranker)
    # The files are counted where they lie: an estimate makes no home.
    registrations = delivery.registrations(configuration, delivery.examine)
    estimated = estimate_run(
        configuration, registrations, ranker, rebuild=rebuild_ranking
    )
    _print_estimate(estimated, configuration.judges_file or resource("judges.toml"))
    if file is not None:
        replace_text(file, json.dumps(estimated, indent=2) + "\n")


def _print_estimate(estimated: Mapping[str, Any], judges_file: Path) -> None:
    """Print an estimate of `estimate_run`, whose prices are those of a judges file."""
    # What the ledger has seen of a judge is surer than a guess by its prompts.
    measured = {
        line["judge"] for line in estimated["lines"] if line["basis"] == "ledger"
    }
    template = page_template("run", "estimate.txt.j2")
    text = template.render(
        estimated,
        table=_table(estimated) if estimated["lines"] else "",
        judges_file=judges_file,
        measured=sorted(measured),
    )
    click.echo(text, nl=False)


def _table(estimated: Mapping[str, Any]) -> str:
    """Write a row per stage and judge and their total; what is not known is a "?"."""
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
    return named.to_string(index=False, na_rep="?", formatters=formats)
