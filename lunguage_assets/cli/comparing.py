"""The commands that hold results against people and outcomes: `survey` (explicit.md section 4), `calibrate`,
`compare-labels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from lunguage_assets.cli.options import (
    GIVEN_FILE,
    RANKER_OPTION,
    Chosen,
    chooses,
    into,
    number,
)
from lunguage_assets.errors import InputError


@click.group(short_help="Ask human experts, and compare them with the judges.")
def survey() -> None:
    """Ask human experts which of two phrases is more certain, and compare them with the ranking and the
    judges.
    """


@survey.command("make", short_help="Write a survey of phrase pairs for experts.")
@chooses(there=True)
@number("--pairs", 50, "Phrase pairs, spread over the ranking.")
@number("--experts", 6, "Empty columns for experts in the CSV.")
@RANKER_OPTION
@into("the four files")
def make(chosen: Chosen, pairs: int, experts: int, ranker: str, out: Path) -> None:
    """Write a survey: CSV to fill in, printable form, CSV that describes the experts, instructions."""
    from lunguage_assets.explicit.analysis.surveys import (
        make_survey,
        write_survey,
    )

    vocabulary = chosen.stored("hedge_vocabulary", chosen.judges().extractor)
    ranking, seed = (
        chosen.stored("reference_ranking", ranker),
        chosen.settings.explicit.seed,
    )
    asked = make_survey(vocabulary, ranking, pairs=pairs, seed=seed)
    restrict = (
        bool((vocabulary["ruler"] == "own").any()) and chosen.data_class != "synthetic"
    )
    files = write_survey(asked, out, experts=experts, restrict=restrict)
    _tell_written(f"{len(asked)} phrase pairs in {out}", files, restrict)


@survey.command("make-ratings", short_help="Write a CSV to rate the anchors.")
@chooses(there=True)
@click.option(
    "--phrase",
    "phrases",
    multiple=True,
    help="A phrase to be rated; repeat it for further ones. Default: the anchors in use.",
)
@number("--raters", 2, "Raters, each with rows of their own.")
@into("the two files")
def make_ratings(
    chosen: Chosen, phrases: tuple[str, ...], raters: int, out: Path
) -> None:
    """Write the CSV in which raters say how probable each sentence is; filled in, it goes into the home."""
    from lunguage_assets.explicit.analysis.surveys import (
        rating_rows,
        write_rating_survey,
    )
    from lunguage_assets.explicit.fit.anchors import chosen_anchors

    home, settings = chosen.home, chosen.settings.explicit
    vocabulary = chosen.stored("hedge_vocabulary", chosen.judges().extractor)
    used = chosen_anchors(settings.anchors, home.anchor_ratings, home.root)
    asked = phrases or [one.phrase for one in used.of(set(vocabulary["phrase"]))]
    rows = rating_rows(vocabulary, asked, raters=raters, seed=settings.seed)
    restrict = (
        bool((vocabulary["ruler"] == "own").any()) and chosen.data_class != "synthetic"
    )
    files = write_rating_survey(rows, out, restrict=restrict)
    _tell_written(
        f"{(len(rows) - 1) // raters} sentences of {len(set(asked))} phrases in {out}",
        files,
        restrict,
    )
    click.echo(
        f"filled in, cp {files[0]} {home.anchor_ratings}; `lunguage run` fits with it"
    )


@survey.command("import", short_help="Import the answers of the experts.")
@chooses()
@click.option(
    "--responses",
    required=True,
    type=GIVEN_FILE,
    help="The CSV with a column per expert, filled in.",
)
@click.option(
    "--experts",
    default=None,
    type=GIVEN_FILE,
    help="The CSV that describes the experts.",
)
def import_(chosen: Chosen, responses: Path, experts: Path | None) -> None:
    """Validate the experts' answers and put them into the home, for the analyses."""
    from lunguage_assets.explicit.analysis.experts import (
        load_experts,
        load_responses,
    )
    from lunguage_assets.files import write_private

    home, answered = chosen.home, load_responses(responses)
    heard = answered.columns[answered.notna().any()]
    if not len(heard):
        remedy = "Fill in a column; nothing was imported."
        raise InputError(
            responses.name, "no answer of any expert", "at least one answer", remedy
        )
    described = load_experts(experts or home.expert_descriptions)
    home.create()
    for source, target in (
        (responses, home.expert_responses),
        (experts, home.expert_descriptions),
    ):
        if source is not None:
            write_private(target, source.read_bytes())
    click.echo(
        f"{len(heard)} experts, {len(answered)} phrase pairs, {int(answered.notna().sum().sum())} answers"
    )
    for name in answered.columns:
        if name not in heard:
            click.echo(f"no answer in column: {name}")
        elif not described.get(name, ("", ""))[0]:
            click.echo(f"not described as writer or reader: {name}")
    click.echo(f"imported into {home.root}; `lunguage analyse` compares")


def _tell_written(what: str, files: Sequence[Path], restrict: bool) -> None:
    click.echo(f"{what}: {', '.join(path.name for path in files)}")
    if restrict:
        click.echo(
            "These files contain sentences of patients' reports. They are readable by you only (mode 0600); "
            "whoever you give them to must be entitled to the corpus."
        )


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

    given = read_outcomes(outcomes, load_label_list())
    released = released_labels(place, ranker, set(given["study_id"]))
    fitted = fitted_of(place, ranker, set(released.labels["finding_id"].dropna()))
    found = label_outcomes(released.labels, fitted, given)
    used = chosen_anchors(
        chosen.settings.explicit.anchors, place.anchor_ratings, place.root
    )
    table = calibration(found, used.spread, rated_by_readers(used))
    anchors, why_none = refitted_anchors(found, used.anchors)
    written = write_calibration(out, found, table, anchors)
    click.echo(
        f"{len(given)} outcomes: {len(found.cells)} with p, {found.unmentioned} unmentioned or "
        f"contradictory, {found.unknown} of {found.unknown_studies} studies that release {released.version} "
        "does not have"
    )
    shown = [
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
    print_table(table.loc[table["by"].isin(["all", "source", "p_source"]), shown])
    if why_none:
        click.echo(f"no anchors were refitted: {why_none}")
    click.echo(f"written into {out}: {', '.join(written)}")


@click.command(
    "compare-labels", short_help="Compare the labels with CheXpert or radiologists."
)
@click.option(
    "--with",
    "others",
    required=True,
    type=GIVEN_FILE,
    help="A label file of MIMIC-CXR-JPG: CheXpert's, NegBio's or the radiologists' (.csv or .csv.gz), or "
    "CheXbert's lines of CheXpert Plus (impression_fixed.json).",
)
@into("what is found")
@chooses(there=True)
@RANKER_OPTION
def compare_labels(others: Path, out: Path, chosen: Chosen, ranker: str) -> None:
    """Put the labels of the newest release beside those of another file: who says what, kappa, p against its
    1 and 0.
    """
    from lunguage_assets.cli.console import print_table
    from lunguage_assets.files import write_csv
    from lunguage_assets.implicit.statements.label_file import load_label_list
    from lunguage_assets.labels.comparison import compare_with_release
    from lunguage_assets.labels.other_labels import (
        DIFFERING,
        read_label_file,
        released_labels,
    )

    given = read_label_file(others, load_label_list())
    theirs = set(given["study_id"])
    released = released_labels(chosen.home, ranker, theirs)
    crossed, agreement = compare_with_release(released.labels, given)
    write_csv(crossed, out / "crossed.csv")
    write_csv(agreement, out / "agreement.csv")
    in_both = released.labels["study_id"].nunique()
    click.echo(
        f"{in_both} studies in both; {len(theirs) - in_both} only in {others.name}, "
        f"{released.studies - in_both} only in release {released.version}"
    )
    if differing := given.attrs[DIFFERING]:
        click.echo(
            f"{differing} studies have lines that differ in {others.name}: the first one counts"
        )
    for frame in (
        crossed[crossed["label"] == "all labels"],
        agreement.drop(columns=["kappa_low", "kappa_high"]),
    ):
        print_table(frame)
    click.echo(f"written into {out}: crossed.csv, agreement.csv")
