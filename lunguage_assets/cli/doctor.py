"""`lunguage doctor`: what would refuse a run, before anything is sent or spent.

Looks at judges, keys, retirement dates, data policy, storage and edited files. What is
looked at of a judge is `judges.examination.examine_judges`, of Dagster's instance
`orchestration.instance.examine_instance`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import date
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

    Judges, keys, retirement dates, data policy and storage.
    """
    from datetime import UTC, datetime

    from lunguage_assets.judges.data_policy import Diagnosis

    today = datetime.now(UTC).date()
    is_empty = configuration.home.corpus() is None
    data_class: DataClass = "synthetic" if is_empty else configuration.data_class
    examined = [
        *_examined_judges(configuration, data_class, today),
        *_examined_home(configuration, data_class),
    ]
    # Several runs at once could each spend a whole budget.
    if configuration.judges.models:
        message = (
            "--budget holds within one process; LUNGUAGE_DAILY_BUDGET holds for all "
            "that share the ledger"
        )
        examined.append(Diagnosis("ok", message))
    if ask:
        examined += _asked_judges(configuration, data_class, today)
    for severity, message in examined:
        click.echo(f"{severity:<8} {message}")
    refusals = [message for severity, message in examined if severity == "refusal"]
    if refusals:
        raise LunguageError(
            f"{len(refusals)} of the checks above refuse a run with preset "
            f"{configuration.judges.preset!r} on {data_class} text"
        )


def _examined_judges(
    configuration: Configuration, data_class: DataClass, today: date
) -> list[Diagnosis]:
    """Look at the judges, and at who structures raw reports.

    A home without a corpus is examined for synthetic text: nobody knows yet whose text
    it will hold, so that what patients' text would be refused for is a warning.
    """
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.judges.data_policy import Diagnosis
    from lunguage_assets.judges.examination import examine_judges

    judges = configuration.judges
    examined = examine_judges(judges, data_class, today, os.environ)
    if configuration.home.corpus() is None:
        for_patients = examine_judges(judges, "credentialed", today, os.environ)
        warnings = [
            diagnosis._replace(severity="warning")
            for diagnosis in for_patients
            if diagnosis.severity == "refusal" and diagnosis not in examined
        ]
        message = (
            "the home holds no corpus yet: judges may be asked about synthetic text "
            "where nothing is refused"
        )
        examined += [Diagnosis("ok", message), *warnings]
    if judges.structurer == RULES and not judges.second_reader:
        message = "raw reports are structured in this process: nothing is sent"
        examined.append(Diagnosis("ok", message))
    return examined


def _examined_home(
    configuration: Configuration, data_class: DataClass
) -> list[Diagnosis]:
    """Look at Dagster's instance, edited files, and who can read the home."""
    from lunguage_assets.edited_files import broken_files
    from lunguage_assets.judges.data_policy import Diagnosis
    from lunguage_assets.orchestration.instance import examine_instance

    home = configuration.home
    examined = [examine_instance(home)]
    examined += [Diagnosis("refusal", problem) for problem in broken_files(home)]
    if data_class == "credentialed" and open_to_others(home.root):
        message = f"other accounts can read {home.root}: chmod -R go-rwx '{home.root}'"
        examined.append(Diagnosis("refusal", message))
    return examined


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
            click.echo(price_of_trial(key, config, configuration.prompts), err=True)
            answers += try_judge(key, judges, context)
    return answers
