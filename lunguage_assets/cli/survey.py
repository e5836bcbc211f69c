"""`lunguage survey`: questions for human experts, and their answers (explicit.md section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from lunguage_assets.cli.options import GIVEN_FILE, RANKER_OPTION, Chosen, chooses, into, number
from lunguage_assets.errors import ConfigurationError, InputError


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
@number("--seed", 0, least=0)
@into("the four files")
def make(chosen: Chosen, pairs: int, examples: int, experts: int, ranker: str, seed: int, out: Path) -> None:
    """Write a survey: CSV to fill in, printable form, CSV that describes the experts, instructions."""
    from lunguage_assets.explicit.analysis.surveys import make_survey, write_survey

    vocabulary = chosen.stored("hedge_vocabulary", chosen.judges().extractor)
    ranking = chosen.stored("reference_ranking", ranker)
    asked = make_survey(vocabulary, ranking, pairs=pairs, examples=examples, seed=seed)
    restrict = asked.has_report_text and chosen.data_class != "synthetic"
    files = write_survey(asked, out, experts=experts, restrict=restrict)
    _tell_written(f"{len(asked.questions)} of {asked.available} phrase pairs in {out}", files, restrict)
    if len(asked.questions) < pairs:
        click.echo(f"{pairs} pairs were asked for; there are no more")


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
@number("--seed", 0, least=0)
@into("the three files")
def make_ratings(
    chosen: Chosen, phrases: tuple[str, ...], examples: int, raters: int, seed: int, out: Path
) -> None:
    """Write a form for the anchors: a probability per sentence, from several raters."""
    from lunguage_assets.explicit.analysis.surveys import (
        make_rating_survey,
        write_rating_survey,
    )
    from lunguage_assets.explicit.fit.anchors import chosen_anchors

    home = chosen.home
    vocabulary = chosen.stored("hedge_vocabulary", chosen.judges().extractor)
    used = chosen_anchors(chosen.settings.explicit.anchors, home.anchor_ratings, home.root)
    asked = phrases or [one.phrase for one in used.of(set(vocabulary["phrase"]))]
    rated = make_rating_survey(vocabulary, asked, examples=examples, seed=seed)
    own = bool((vocabulary["ruler"] == "own").any())
    restrict = own and chosen.data_class != "synthetic"
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
    from lunguage_assets.explicit.fit.anchors import anchors_from_ratings, chosen_anchors
    from lunguage_assets.files import write_private

    home = chosen.home
    content, raters, count = ratings_from_form(ratings)
    home.create()
    aside = home.root / ".anchor_ratings.csv.tmp"
    try:
        write_private(aside, content.encode("utf-8"))
        anchors_from_ratings(aside)
    finally:
        aside.unlink(missing_ok=True)
    write_private(home.anchor_ratings, content.encode("utf-8"))
    rated = chosen_anchors("", home.anchor_ratings, home.root)
    click.echo(f"{raters} raters, {count} ratings of {len(rated.anchors)} phrases")
    for one in rated.anchors:
        click.echo(f"{one.phrase}: {one.probability:.3f} ({one.low:.3f} to {one.high:.3f})")
    click.echo(f"between readers: {rated.spread.sd:.2f} logits ({rated.spread.source})")
    click.echo(f"imported into {home.root}; `lunguage run` fits with them")


@survey.command("import", short_help="Import the answers of the experts.")
@chooses()
@RANKER_OPTION
@click.option(
    "--responses", required=True, type=GIVEN_FILE, help="The CSV with a column per expert, filled in."
)
@click.option("--experts", default=None, type=GIVEN_FILE, help="The CSV that describes the experts.")
def import_(chosen: Chosen, ranker: str, responses: Path, experts: Path | None) -> None:
    """Validate the experts' answers and put them into the home, for the analyses."""
    from lunguage_assets.explicit.analysis.experts import load_experts, load_responses, undescribed
    from lunguage_assets.files import write_private

    home = chosen.home
    answered = load_responses(responses)
    if not answered.experts:
        remedy = "Fill in a column; nothing was imported."
        raise InputError(responses.name, "no answer of any expert", "at least one answer", remedy)
    described = load_experts(experts or home.expert_descriptions)
    home.create()
    for source, target in ((responses, home.expert_responses), (experts, home.expert_descriptions)):
        if source is not None:
            write_private(target, source.read_bytes())
    missing = int((answered.chosen < 0).sum())
    click.echo(
        f"{len(answered.experts)} experts, {len(answered)} phrase pairs, "
        f"{answered.chosen.size - missing} answers, {missing} without an answer"
    )
    nameless, unheard = undescribed(answered, described)
    for label, entries in {
        "no answer in column": answered.silent,
        "not described as writer or reader": nameless,
        "described, but no answers": unheard,
    }.items():
        for entry in entries:
            click.echo(f"{label}: {entry}")
    try:
        ranked = set(chosen.stored("reference_ranking", ranker)["phrase"])
    except ConfigurationError:
        click.echo(f"no ranking of {ranker!r} yet: whether its phrases are the survey's was not examined")
    else:
        _tell_unranked(answered.phrase_1, answered.phrase_2, ranked, ranker)
    click.echo(f"imported into {home.root}; `lunguage analyse` compares")


def _tell_written(what: str, files: Sequence[Path], restrict: bool) -> None:
    click.echo(f"{what}: {', '.join(path.name for path in files)}")
    if restrict:
        click.echo(
            "These files contain sentences of patients' reports. They are readable by you only (mode 0600); "
            "whoever you give them to must be entitled to the corpus."
        )


def _tell_unranked(first: Sequence[str], second: Sequence[str], ranked: set[str], ranker: str) -> None:
    """Say how many pairs the ranking cannot judge."""
    unknown = [pair for pair in zip(first, second, strict=True) if not ranked.issuperset(pair)]
    phrases = {phrase for pair in unknown for phrase in pair} - ranked
    if unknown:
        click.echo(
            f"phrases that the ranking of {ranker!r} lacks: {len(phrases)}, in {len(unknown)} of the pairs; "
            "these are kept, and not compared with it"
        )
