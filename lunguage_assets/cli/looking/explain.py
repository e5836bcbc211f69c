"""`lunguage explain`: why each row is there, or is not."""

from __future__ import annotations

import sys

import click

from lunguage_assets.cli.options import RANKER_OPTION, Chosen, chooses
from lunguage_assets.errors import LunguageError


class TextKeptBack(LunguageError):
    """Report text of patients would leave the terminal of the person who asks."""


@click.command(short_help="Explain why each row of STUDY is, or is not, in the result.")
@click.argument("study")
@chooses(there=True)
@RANKER_OPTION
@click.option(
    "--finding", metavar="IDX", help="One row: its idx in the result, or a finding id such as s50000001:12."
)
def explain(study: str, chosen: Chosen, ranker: str, finding: str | None) -> None:
    """Explain why each row of STUDY is, or is not, in the result.

    Text of patients is shown on a terminal only: it goes into no file and no pipe.
    """
    place = chosen.home
    from rich.console import Console

    from lunguage_assets.release.explain.explain import explain_study, print_story
    from lunguage_assets.release.explain.study_record import read_study

    _keep_text_back(chosen)
    record = read_study(place.tables, ranker, [batch.key for batch in place.registered()], study)
    story = explain_study(record, finding)
    print_story(story, Console(highlight=False))


def _keep_text_back(chosen: Chosen) -> None:
    """Raise unless the text is synthetic, or goes to the terminal of the person who asks."""
    if chosen.data_class == "synthetic":
        return
    if not sys.stdout.isatty():
        raise TextKeptBack(
            "the output is no terminal: this corpus holds text of patients, which `explain` shows only to "
            "the person who asks, not to a pipe, a file or a log. Run the command on a terminal."
        )
