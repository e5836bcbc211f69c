"""`lunguage explain`: why each row of a study is, or is not, in the result.

The explanation is built by `annotation.stored_study`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import RANKER_OPTION, configured
from lunguage_assets.errors import LunguageError, printable

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration


@click.command()
@click.argument("study")
@RANKER_OPTION
@configured(existing=True)
def explain(configuration: Configuration, study: str, ranker: str) -> None:
    """Explain why each row of STUDY is, or is not, in the result.

    A finding id (s50000001:0012) in the place of STUDY explains that row. Text of
    patients is shown on a terminal only: it goes into no file and no pipe.
    """
    from rich.console import Console

    from lunguage_assets.annotation.page import print_report
    from lunguage_assets.annotation.stored_study import explain_study

    # A pipe or a file would leave a copy of what a patient's report says.
    if configuration.data_class != "synthetic" and not sys.stdout.isatty():
        raise LunguageError(
            "the output is no terminal: this corpus holds text of patients, which "
            "`explain` shows only to the person who asks, not to a pipe, a file or a "
            "log. Run the command on a terminal."
        )
    home = configuration.home
    batches = [batch.key for batch in home.registered()]
    explanation = explain_study(home.tables, ranker, batches, study)
    console = Console(highlight=False)
    for report in explanation.reports:
        print_report(report, console)
    for line in explanation.rejected:
        click.echo(f"rejected  {printable(line)}")
