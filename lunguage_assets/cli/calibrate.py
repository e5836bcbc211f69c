"""`lunguage calibrate`: p of the newest release against outcomes (docs/trust.md).

What is computed is in `labels.calibration`. Asks no judge, changes nothing in the home.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    EXISTING_FILE,
    HOME_OPTION,
    RANKER_OPTION,
    configured,
    out_folder_option,
)

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration

_PRINTED_COLUMNS = [
    "by",
    "group",
    "cells",
    "positive",
    "mean_p",
    "observed",
    "brier",
    "ece",
    "slope",
    "intercept",
]
_PRINTED_GROUPS = ["all", "source", "p_source"]


@click.command(short_help="Compare the release with outcomes: calibration, Brier.")
@click.option(
    "--outcomes",
    "outcomes_file",
    required=True,
    type=EXISTING_FILE,
    help="CSV: study_id, label, outcome (0 or 1), one row per cell.",
)
@out_folder_option("what is found")
@HOME_OPTION
@RANKER_OPTION
@configured(existing=True)
def calibrate(
    configuration: Configuration, outcomes_file: Path, out: Path, ranker: str
) -> None:
    """Hold p of the newest release against outcomes.

    Reliability, Brier, slope, coverage, refitted anchors. Asks no judge, and changes
    nothing in the home. docs/trust.md says what the numbers mean.
    """
    from lunguage_assets.cli.console import print_table
    from lunguage_assets.explicit.fit.anchors import chosen_anchors
    from lunguage_assets.implicit.statements.label_file import load_label_list
    from lunguage_assets.labels.calibration import (
        calibration,
        label_outcomes,
        rated_by_readers,
        refitted_anchors,
        write_calibration,
    )
    from lunguage_assets.labels.other_labels import (
        fitted_of,
        read_outcomes,
        released_labels,
    )

    home = configuration.home
    outcomes = read_outcomes(outcomes_file, load_label_list())
    released = released_labels(home, ranker, set(outcomes["study_id"]))
    finding_ids = set(released.labels["finding_id"].dropna())
    fitted = fitted_of(home, ranker, finding_ids)
    compared = label_outcomes(released.labels, fitted, outcomes)
    anchors_setting = configuration.settings.explicit.anchors
    anchor_set = chosen_anchors(anchors_setting, home.anchor_ratings, home.root)
    table = calibration(compared, anchor_set.spread, rated_by_readers(anchor_set))
    anchors, why_none = refitted_anchors(compared, anchor_set.anchors)
    files = write_calibration(out, compared, table, anchors)

    click.echo(
        f"{len(outcomes)} outcomes: {len(compared.cells)} with p, "
        f"{compared.unmentioned} unmentioned or contradictory, {compared.unknown} of "
        f"{compared.unknown_studies} studies that release {released.version} does not "
        "have"
    )
    print_table(table.loc[table["by"].isin(_PRINTED_GROUPS), _PRINTED_COLUMNS])
    if why_none:
        click.echo(f"no anchors were refitted: {why_none}")
    click.echo(f"written into {out}: {', '.join(files)}")
