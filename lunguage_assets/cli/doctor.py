"""`lunguage doctor`: what would refuse a run, before anything is sent or spent.

Looks at judges, keys, retirement dates, data policy, storage and edited files. What is
looked at of a judge is `judges.examination.examine_judges`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    HOME_OPTION,
    PRESET_OPTION,
    STRUCTURER_OPTION,
    configured,
)
from lunguage_assets.errors import LunguageError
from lunguage_assets.permissions import open_to_others

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.judges.data_policy import Diagnosis
    from lunguage_assets.settings import DataClass


@click.command(short_help="Check keys, policy, retirement dates and storage.")
@HOME_OPTION
@PRESET_OPTION
@STRUCTURER_OPTION
@click.option(
    "--ask",
    is_flag=True,
    help="Ask each language model thirty invented pairs, in both orders: paid calls.",
)
@configured()
def doctor(configuration: Configuration, ask: bool) -> None:
    """Check everything that could refuse a run, before anything is sent or spent.

    Judges, keys, retirement dates, data policy and storage. A home without a corpus is
    examined for synthetic text.
    """
    from lunguage_assets.edited_files import broken_files
    from lunguage_assets.judges.data_policy import Diagnosis
    from lunguage_assets.judges.examination import examine_judges

    home = configuration.home
    judges = configuration.judges
    today = datetime.now(UTC).date()
    is_empty = home.corpus() is None
    data_class: DataClass = "synthetic" if is_empty else configuration.data_class
    examined = [
        *examine_judges(judges, data_class, today, os.environ),
        *(Diagnosis("refusal", problem) for problem in broken_files(home)),
    ]
    if is_empty:
        examined += _refusals_for_patients(configuration, today, examined)
    if data_class == "credentialed" and open_to_others(home.root):
        message = f"other accounts can read {home.root}: chmod -R go-rwx '{home.root}'"
        examined.append(Diagnosis("refusal", message))
    if ask:
        examined += _asked_judges(configuration, data_class, today)
    for severity, message in examined:
        click.echo(f"{severity:<8} {message}")
    count = sum(diagnosis.severity == "refusal" for diagnosis in examined)
    if count:
        raise LunguageError(
            f"{count} of the checks above refuse a run with preset {judges.preset!r} "
            f"on {data_class} text"
        )


def _refusals_for_patients(
    configuration: Configuration, today: date, examined: Sequence[Diagnosis]
) -> list[Diagnosis]:
    """Warn of what would be refused for patients' text, beside what is already."""
    from lunguage_assets.judges.data_policy import Diagnosis
    from lunguage_assets.judges.examination import examine_judges

    # Nobody knows yet whose text an empty home will hold.
    for_patients = examine_judges(
        configuration.judges, "credentialed", today, os.environ
    )
    return [
        Diagnosis("warning", f"of patients' text: {diagnosis.message}")
        for diagnosis in for_patients
        if diagnosis.severity == "refusal" and diagnosis not in examined
    ]


def _asked_judges(
    configuration: Configuration, data_class: DataClass, today: date
) -> list[Diagnosis]:
    """Put every language model that nothing refuses on trial, after saying the cost."""
    from lunguage_assets.judges.examination import (
        examine_judges,
        price_of_trial,
        try_judge,
    )

    judges = configuration.judges
    context = replace(configuration.judge_context(), data_class=data_class)
    answers: list[Diagnosis] = []
    for key, config in judges.models.items():
        examined = examine_judges(judges, data_class, today, os.environ, only={key})
        # A refusal was listed above; to ask would only repeat it.
        is_refused = any(diagnosis.severity == "refusal" for diagnosis in examined)
        if not is_refused:
            click.echo(price_of_trial(key, config), err=True)
            answers += try_judge(key, judges, context)
    return answers
