"""`lunguage survey`: questions for human experts, and their answers (explicit.md section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from lunguage_assets.cli.options import GIVEN_FILE, RANKER_OPTION, Chosen, chooses, into, number
from lunguage_assets.errors import InputError


@click.group(short_help="Ask human experts, and compare them with the judges.")
def survey() -> None:
    """Ask human experts which of two phrases is more certain, and compare them with the ranking and the
    judges.
    """


@survey.command("make", short_help="Write a survey of phrase pairs for experts.")
@chooses(there=True)
@number("--pairs", 50, "Phrase pairs, spread over the ranking.")
@number("--examples", 5, "Masked example sentences per phrase.", least=0)
@number("--experts", 6, "Empty columns for experts in the CSV.")
@RANKER_OPTION
@into("the four files")
def make(chosen: Chosen, pairs: int, examples: int, experts: int, ranker: str, out: Path) -> None:
    """Write a survey: CSV to fill in, printable form, CSV that describes the experts, instructions."""
    from lunguage_assets.explicit.analysis.surveys import make_survey, write_survey

    vocabulary = chosen.stored("hedge_vocabulary", chosen.judges().extractor)
    ranking, seed = chosen.stored("reference_ranking", ranker), chosen.settings.explicit.seed
    asked = make_survey(vocabulary, ranking, pairs=pairs, examples=examples, seed=seed)
    restrict = bool((vocabulary["ruler"] == "own").any()) and chosen.data_class != "synthetic"
    files = write_survey(asked, out, experts=experts, restrict=restrict)
    _tell_written(f"{len(asked)} phrase pairs in {out}", files, restrict)


@survey.command("make-ratings", short_help="Write a form to rate the anchors.")
@chooses(there=True)
@click.option(
    "--phrase",
    "phrases",
    multiple=True,
    help="A phrase to be rated; repeat it for further ones. Default: the anchors in use.",
)
@number("--examples", 10, "Sentences per phrase.")
@number("--raters", 2, "Empty columns for raters.")
@into("the three files")
def make_ratings(chosen: Chosen, phrases: tuple[str, ...], examples: int, raters: int, out: Path) -> None:
    """Write a form for the anchors: a probability per sentence, from several raters."""
    from lunguage_assets.explicit.analysis.surveys import make_rating_survey, write_rating_survey
    from lunguage_assets.explicit.fit.anchors import chosen_anchors

    home, settings = chosen.home, chosen.settings.explicit
    vocabulary = chosen.stored("hedge_vocabulary", chosen.judges().extractor)
    used = chosen_anchors(settings.anchors, home.anchor_ratings, home.root)
    asked = phrases or [one.phrase for one in used.of(set(vocabulary["phrase"]))]
    rated = make_rating_survey(vocabulary, asked, examples=examples, seed=settings.seed)
    restrict = bool((vocabulary["ruler"] == "own").any()) and chosen.data_class != "synthetic"
    files = write_rating_survey(rated, out, raters=raters, restrict=restrict)
    _tell_written(f"{len(rated)} sentences of {len(set(asked))} phrases in {out}", files, restrict)


@survey.command("import-ratings", short_help="Import the ratings of the anchors.")
@chooses()
@click.option("--ratings", required=True, type=GIVEN_FILE, help="The CSV with a column per rater, filled in.")
def import_ratings(chosen: Chosen, ratings: Path) -> None:
    """Validate the raters' numbers and put them into the home as anchor_ratings.csv.

    The next run fits with them; the settings' `anchors` may name another set.
    """
    from lunguage_assets.explicit.analysis.surveys import ratings_from_form
    from lunguage_assets.explicit.fit.anchors import rated_anchors
    from lunguage_assets.files import sheet_frame, write_private

    home, given = chosen.home, ratings_from_form(ratings)
    used = rated_anchors(given, ratings)
    home.create()
    written = given.assign(rating=[f"{100 * share:g}" for share in given["share"]]).drop(columns="share")
    write_private(home.anchor_ratings, sheet_frame(written).to_csv(index=False).encode("utf-8"))
    click.echo(f"{given['rater'].nunique()} raters, {len(given)} ratings of {len(used.anchors)} phrases")
    for one in used.anchors:
        click.echo(f"{one.phrase}: {one.probability:.3f} ({one.low:.3f} to {one.high:.3f})")
    click.echo(f"between readers: {used.spread.sd:.2f} logits ({used.spread.source})")
    click.echo(f"imported into {home.root}; `lunguage run` fits with them")


@survey.command("import", short_help="Import the answers of the experts.")
@chooses()
@click.option(
    "--responses", required=True, type=GIVEN_FILE, help="The CSV with a column per expert, filled in."
)
@click.option("--experts", default=None, type=GIVEN_FILE, help="The CSV that describes the experts.")
def import_(chosen: Chosen, responses: Path, experts: Path | None) -> None:
    """Validate the experts' answers and put them into the home, for the analyses."""
    from lunguage_assets.explicit.analysis.experts import load_experts, load_responses
    from lunguage_assets.files import write_private

    home, answered = chosen.home, load_responses(responses)
    heard = answered.columns[answered.notna().any()]
    if not len(heard):
        remedy = "Fill in a column; nothing was imported."
        raise InputError(responses.name, "no answer of any expert", "at least one answer", remedy)
    described = load_experts(experts or home.expert_descriptions)
    home.create()
    for source, target in ((responses, home.expert_responses), (experts, home.expert_descriptions)):
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
