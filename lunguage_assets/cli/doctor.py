"""`lunguage doctor`: what would refuse a run, before anything is sent or spent.

Looks at judges, keys, data policy, storage and edited files. What is looked at of a
judge is `judges.examination.examine_judge`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    PRESET_OPTION,
    STRUCTURER_OPTION,
    configured,
)
from lunguage_assets.errors import LunguageError
from lunguage_assets.permissions import open_to_others

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.settings import DataClass


@click.command()
@PRESET_OPTION
@STRUCTURER_OPTION
@click.option(
    "--ask",
    is_flag=True,
    help="Ask each language model thirty invented pairs, in both orders: paid calls.",
)
@configured()
def doctor(configuration: Configuration, ask: bool) -> None:
    """Check keys, policy and storage.

    That is everything that could refuse a run, before anything is sent or spent. A home
    without a corpus is examined for synthetic text.
    """
    from lunguage_assets.edited_files import broken_files
    from lunguage_assets.judges.examination import (
        Diagnosis,
        examine_judge,
        price_of_trial,
        try_judge,
    )

    home = configuration.home
    judges = configuration.judges
    data_class: DataClass = "synthetic"
    if home.corpus() is not None:
        data_class = configuration.data_class
    examined = [Diagnosis("refusal", problem) for problem in broken_files(home)]
    if data_class == "credentialed" and open_to_others(home.root):
        message = f"other accounts can read {home.root}: chmod -R go-rwx '{home.root}'"
        examined.append(Diagnosis("refusal", message))
    for key in judges.active_judges:
        of_judge = examine_judge(key, judges, data_class)
        # To ask a judge that is refused would only repeat it, which is told first.
        is_refused = of_judge[0].severity == "refusal"
        if ask and key in judges.models and not is_refused:
            click.echo(price_of_trial(key, judges.models[key]), err=True)
            context = replace(configuration.judge_context(), data_class=data_class)
            of_judge += try_judge(key, judges.models[key], context)
        examined += of_judge
    for severity, message in examined:
        click.echo(f"{severity:<8} {message}")
    count = sum(diagnosis.severity == "refusal" for diagnosis in examined)
    if count:
        raise LunguageError(
            f"{count} of the checks above refuse a run with preset {judges.preset!r} "
            f"on {data_class} text"
        )
