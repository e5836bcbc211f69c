"""`lunguage survey`: write phrase pairs for human experts, and import their answers.

`lunguage analyse` compares experts with the judges (explicit.md section 4).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    EXISTING_FILE,
    FILE,
    RANKER_OPTION,
    configured,
)
from lunguage_assets.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.group()
def survey() -> None:
    """Ask human experts, and compare them with the judges.

    They say which of two phrases is more certain; `lunguage analyse` compares.
    """


@survey.command("make")
@click.option(
    "--pairs",
    default=50,
    show_default=True,
    type=click.IntRange(min=1),
    help="Phrase pairs, spread over the ranking.",
)
@RANKER_OPTION
@click.option("--out", required=True, type=FILE, help="The CSV that is written.")
@configured(existing=True)
def make_pairs(
    configuration: Configuration, pairs: int, ranker: str, out: Path
) -> None:
    """Write a CSV of phrase pairs for experts."""
    from lunguage_assets.explicit.analysis.surveys import pairs_template
    from lunguage_assets.files import replace_text
    from lunguage_assets.spreadsheets import sheet_frame
    from lunguage_assets.workspace.store import stored_table

    if out.exists():
        raise ConfigurationError(
            f"{out} exists, perhaps filled in. Name another file with --out, or move "
            "it."
        )
    home = configuration.home
    extractor = configuration.judges.extractor
    vocabulary = stored_table(home, "hedge_vocabulary", extractor)
    ranking = stored_table(home, "reference_ranking", ranker)
    seed = configuration.settings.explicit.seed
    template = pairs_template(vocabulary, ranking, pairs=pairs, seed=seed)
    replace_text(out, sheet_frame(template).to_csv(index=False))
    click.echo(
        f"{len(template)} phrase pairs in {out}, with sentences of the reports: "
        "whoever you give it to must be entitled to them. Filled in with 1 or 2, the "
        "phrase that tells more strongly that the finding is present, it goes to "
        "`lunguage survey import`."
    )


@survey.command("import")
@click.option(
    "--responses",
    required=True,
    type=EXISTING_FILE,
    help="The CSV with a column per expert, filled in.",
)
@configured()
def import_responses(configuration: Configuration, responses: Path) -> None:
    """Import the answers of the experts, for the analyses."""
    from lunguage_assets.explicit.analysis.experts import load_responses
    from lunguage_assets.files import replace_file

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
    home.create()
    content = responses.read_bytes()
    replace_file(home.expert_responses, lambda stream: stream.write(content))
    click.echo(
        f"{len(answering)} experts, {len(answers)} phrase pairs, "
        f"{answers.notna().sum().sum()} answers imported into {home.root}; `lunguage "
        "analyse` compares"
    )
