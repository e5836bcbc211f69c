"""`lunguage estimate`: what a run would ask of language models and cost.

The numbers are counted by `estimating.estimate`; here they are printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.options import (
    FILE,
    PRESET_OPTION,
    RANKER_OPTION,
    REBUILD_OPTION,
    STRUCTURER_OPTION,
    configured,
)
from lunguage_assets.cli.register import delivery_of, takes_delivery
from lunguage_assets.packaged_data import page_template, resource

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.command()
@takes_delivery
@PRESET_OPTION
@STRUCTURER_OPTION
@RANKER_OPTION
@REBUILD_OPTION
@click.option("--json", "file", type=FILE, help="Also write the numbers to this file.")
@configured()
def estimate(
    configuration: Configuration,
    ranker: str,
    rebuild_ranking: bool,
    file: Path | None,
    **options: Any,
) -> None:
    """Estimate questions and US dollars of a run; send nothing.

    Without --data, of everything that is registered, as `lunguage run` makes it.
    """
    from lunguage_assets.estimating.estimate import estimate_run
    from lunguage_assets.files import replace_text

    # The files are counted where they lie: an estimate makes no home.
    delivery = delivery_of(configuration, **options)
    registrations = configuration.home.examine(**delivery) if delivery else []
    estimated = estimate_run(
        configuration, registrations, ranker, rebuild=rebuild_ranking
    )
    text = page_template("run", "estimate.txt.j2").render(
        preset=configuration.judges.preset,
        ranker=ranker,
        estimate=estimated,
        asks_models=bool(configuration.judges.models),
        judges_file=configuration.judges_file or resource("judges.toml"),
    )
    click.echo(text, nl=False)
    if file is not None:
        replace_text(file, estimated.lines.to_json(orient="records", indent=2) + "\n")
