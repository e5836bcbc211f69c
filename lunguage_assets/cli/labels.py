"""`lunguage calibrate` and `lunguage compare-labels`: labels against outcomes and other labels."""

from __future__ import annotations

from pathlib import Path

import click

from lunguage_assets.cli.options import GIVEN_FILE, RANKER_OPTION, Chosen, chooses, into


@click.command(short_help="Compare the release with outcomes: calibration, Brier.")
@click.option(
    "--outcomes",
    required=True,
    type=GIVEN_FILE,
    help="CSV: study_id, label, outcome (0 or 1), one row per cell.",
)
@into("what is found")
@chooses(there=True)
@RANKER_OPTION
def calibrate(outcomes: Path, out: Path, chosen: Chosen, ranker: str) -> None:
    """Hold p of the newest release against outcomes: reliability, Brier, slope, coverage, refitted anchors.

    Asks no judge, and changes nothing in the home. docs/trust.md says what the numbers mean.
    """
    place = chosen.home
    from lunguage_assets.documents import markdown_table
    from lunguage_assets.explicit.fit.anchors import chosen_anchors
    from lunguage_assets.implicit.statements.label_file import load_label_list
    from lunguage_assets.release.outcomes.calibrating import (
        calibration,
        label_outcomes,
        rated_by_readers,
        refitted_anchors,
        write_calibration,
    )
    from lunguage_assets.release.outcomes.files import fitted_of, read_outcomes, released_labels

    given = read_outcomes(outcomes, load_label_list())
    labels, version = released_labels(place, ranker)
    labels = labels[labels["study_id"].isin(set(given["study_id"]))]
    fitted = fitted_of(place, ranker, set(labels["finding_id"].dropna()))
    found = label_outcomes(labels, fitted, given)
    used = chosen_anchors(chosen.settings.explicit.anchors, place.anchor_ratings, place.root)
    table = calibration(found, used.spread.sd, rated_by_readers(used))
    anchors, why_none = refitted_anchors(found, used.anchors)
    written = write_calibration(out, found, table, anchors)
    click.echo(
        f"{len(given)} outcomes: {len(found.cells)} with p, {found.unmentioned} unmentioned or "
        f"contradictory, {found.unknown} of {found.unknown_studies} studies that release {version} does not "
        "have"
    )
    shown = ["by", "group", "cells", "positive", "mean_p", "observed", "brier", "ece", "slope", "intercept"]
    click.echo(markdown_table(table.loc[table["by"].isin(["all", "source", "p_source"]), shown]))
    if why_none:
        click.echo(f"no anchors were refitted: {why_none}")
    click.echo(f"written into {out}: {', '.join(written)}")


@click.command("compare-labels", short_help="Compare the labels with CheXpert or radiologists.")
@click.option(
    "--with",
    "others",
    required=True,
    type=GIVEN_FILE,
    help="A label file of MIMIC-CXR-JPG: CheXpert's, NegBio's or the radiologists' (.csv or .csv.gz).",
)
@into("what is found")
@chooses(there=True)
@RANKER_OPTION
def compare_labels(others: Path, out: Path, chosen: Chosen, ranker: str) -> None:
    """Put the labels of the newest release beside those of another file: who says what, kappa, p against its
    1 and 0.
    """
    from lunguage_assets.documents import markdown_table
    from lunguage_assets.files import write_csv
    from lunguage_assets.implicit.statements.label_file import load_label_list
    from lunguage_assets.release.outcomes.calibrating import compared
    from lunguage_assets.release.outcomes.files import read_label_file, released_labels

    given = read_label_file(others, load_label_list())
    labels, version = released_labels(chosen.home, ranker)
    crossed, agreement = compared(labels, given)
    write_csv(crossed, out / "crossed.csv")
    write_csv(agreement, out / "agreement.csv")
    theirs, ours = set(given["study_id"]), set(labels["study_id"])
    click.echo(
        f"{len(theirs & ours)} studies in both; {len(theirs - ours)} only in {others.name}, "
        f"{len(ours - theirs)} only in release {version}"
    )
    for frame in (crossed[crossed["label"] == "all labels"], agreement):
        click.echo(markdown_table(frame) + "\n")
    click.echo(f"written into {out}: crossed.csv, agreement.csv")
