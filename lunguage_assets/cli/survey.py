"""`lunguage survey`: write templates for human experts, and import their answers.

`lunguage analyse` compares experts with the judges (explicit.md section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    EXISTING_FILE,
    FILE,
    HOME_OPTION,
    RANKER_OPTION,
    configured,
    count_option,
    stored_table,
)
from lunguage_assets.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    import pandas as pd

    from lunguage_assets.configuration import Configuration


_OUT_OPTION = click.option(
    "--out", required=True, type=FILE, help="The CSV that is written."
)


@click.group(short_help="Ask human experts, and compare them with the judges.")
def survey() -> None:
    """Ask human experts which of two phrases is more certain.

    `lunguage analyse` then compares them with the ranking and the judges.
    """


@survey.command("make", short_help="Write a CSV of phrase pairs for experts.")
@HOME_OPTION
@count_option("--pairs", 50, "Phrase pairs, spread over the ranking.")
@count_option("--experts", 6, "Empty columns for experts.")
@RANKER_OPTION
@_OUT_OPTION
@configured(existing=True)
def make_pairs(
    configuration: Configuration, pairs: int, experts: int, ranker: str, out: Path
) -> None:
    """Write a CSV of phrase pairs, with a column for each expert to fill in."""
    from lunguage_assets.explicit.analysis.surveys import pairs_template

    extractor = configuration.judges.extractor
    vocabulary = stored_table(configuration.home, "hedge_vocabulary", extractor)
    ranking = stored_table(configuration.home, "reference_ranking", ranker)
    seed = configuration.settings.explicit.seed
    template = pairs_template(
        vocabulary, ranking, pairs=pairs, experts=experts, seed=seed
    )
    _write(template, out, configuration, vocabulary)
    click.echo(
        f"{len(template)} phrase pairs in {out}. Filled in with 1 or 2, the phrase "
        "that tells more strongly that the finding is present, it goes to `lunguage "
        "survey import`."
    )


@survey.command("make-ratings", short_help="Write a CSV to rate the anchors.")
@HOME_OPTION
@click.option(
    "--phrase",
    "phrases",
    multiple=True,
    help="A phrase to be rated; repeat it for further ones. Default: the anchors in "
    "use.",
)
@count_option("--raters", 2, "Raters, each with rows of their own.")
@_OUT_OPTION
@configured(existing=True)
def make_ratings(
    configuration: Configuration, phrases: tuple[str, ...], raters: int, out: Path
) -> None:
    """Write the CSV in which raters say how probable each sentence is.

    Filled in, it goes into the home.
    """
    from lunguage_assets.explicit.analysis.surveys import ratings_template
    from lunguage_assets.explicit.fit.anchors import chosen_anchors

    home = configuration.home
    settings = configuration.settings.explicit
    extractor = configuration.judges.extractor
    vocabulary = stored_table(home, "hedge_vocabulary", extractor)
    phrases_to_rate: Sequence[str] = phrases
    if not phrases:
        anchor_set = chosen_anchors(settings.anchors, home.anchor_ratings, home.root)
        anchors = anchor_set.of(set(vocabulary["phrase"]))
        phrases_to_rate = [anchor.phrase for anchor in anchors]
    template = ratings_template(
        vocabulary, phrases_to_rate, raters=raters, seed=settings.seed
    )
    _write(template, out, configuration, vocabulary)
    click.echo(
        f"{len(template)} rows in {out}. Filled in with 0 to 100, how probable each "
        f"finding is by the words alone: cp {out} {home.anchor_ratings}; `lunguage "
        "run` fits with it."
    )


@survey.command("import", short_help="Import the answers of the experts.")
@HOME_OPTION
@click.option(
    "--responses",
    required=True,
    type=EXISTING_FILE,
    help="The CSV with a column per expert, filled in.",
)
@click.option(
    "--experts",
    default=None,
    type=EXISTING_FILE,
    help="The CSV that describes the experts.",
)
@configured()
def import_responses(
    configuration: Configuration, responses: Path, experts: Path | None
) -> None:
    """Validate the experts' answers and put them into the home, for the analyses."""
    from lunguage_assets.explicit.analysis.experts import (
        load_experts,
        load_responses,
    )
    from lunguage_assets.files import write_private

    home = configuration.home
    answers = load_responses(responses)
    # An empty column is that of an expert who has not answered yet.
    answering = answers.columns[answers.notna().any()]
    if not len(answering):
        raise InputError(
            responses.name,
            "no answer of any expert",
            "at least one answer",
            "Fill in a column; nothing was imported.",
        )
    descriptions = load_experts(experts or home.expert_descriptions)
    # Both files were read before one is replaced: a mistake in either imports nothing.
    home.create()
    write_private(home.expert_responses, responses.read_bytes())
    if experts is not None:
        write_private(home.expert_descriptions, experts.read_bytes())
    n_answers = int(answers.notna().sum().sum())
    click.echo(
        f"{len(answering)} experts, {len(answers)} phrase pairs, {n_answers} answers"
    )
    for expert in answers.columns:
        role = descriptions.get(expert, ("", ""))[0]
        if expert not in answering:
            click.echo(f"no answer in column: {expert}")
        elif not role:
            click.echo(f"not described as writer or reader: {expert}")
    click.echo(f"imported into {home.root}; `lunguage analyse` compares")


def _write(
    template: pd.DataFrame,
    path: Path,
    configuration: Configuration,
    vocabulary: pd.DataFrame,
) -> None:
    """Write a template; a file of that name may be filled in, and is refused."""
    from lunguage_assets.files import replace_text, write_private
    from lunguage_assets.spreadsheets import sheet_frame

    if path.exists():
        raise ConfigurationError(
            f"{path} exists, perhaps filled in. Name another file with --out, or move "
            "it."
        )
    text = sheet_frame(template).to_csv(index=False)
    # Sentences of the published phrases are invented, whatever the corpus is.
    is_published = not (vocabulary["ruler"] == "own").any()
    if is_published or configuration.data_class == "synthetic":
        replace_text(path, text)
        return
    write_private(path, text.encode("utf-8"))
    click.echo(
        f"{path} contains sentences of patients' reports. It is readable by you only "
        "(mode 0600); whoever you give it to must be entitled to the corpus."
    )
