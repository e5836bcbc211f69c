"""What a person should know of the judges before a run (`lunguage doctor`)."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import numpy as np

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.data_policy import PolicyRefused, require_permission
from lunguage_assets.judges.estimate import price_of
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.model_judge import ModelJudge
from lunguage_assets.judges.opening import JudgeContext, open_asker, provider_of
from lunguage_assets.judges.trust import trial_questions
from lunguage_assets.settings import DataClass


class Diagnosis(NamedTuple):
    """What `lunguage doctor` found about a judge or a home.

    Attributes:
        severity: a `refusal` stops a run, a `warning` is shown.
        message: for people.
    """

    severity: Literal["ok", "warning", "refusal"]
    message: str


def examine_judge(
    key: str, configuration: JudgesConfiguration, data_class: DataClass
) -> list[Diagnosis]:
    """Look at a judge's policy, price, key and installed SDK; nothing is sent.

    Args:
        key: of the judge.
        configuration: the judges file.
        data_class: of the corpus.
    """
    config = configuration.judges[key]
    if not isinstance(config, LLMJudgeConfig):
        message = "is asked in this process: no network, no key, no cost"
        return [Diagnosis("ok", f"judge {key!r} ({config.provider}) {message}")]
    diagnoses: list[Diagnosis] = []
    try:
        require_permission(key, config, data_class, datetime.now(UTC).date())
        # Made for its errors alone: a variable that is not set, a missing package.
        provider_of(key, config, os.environ)
    except (PolicyRefused, ConfigurationError) as error:
        diagnoses.append(Diagnosis("refusal", str(error)))
    if config.price is None:
        message = (
            "has no price: its cost is not known and no budget can be kept with it"
        )
        diagnoses.append(Diagnosis("warning", f"judge {key!r} {message}"))
    message = (
        f"judge {key!r}: {config.provider}, model {config.model!r}, may receive "
        f"{data_class} text"
    )
    return diagnoses or [Diagnosis("ok", message)]


def price_of_trial(key: str, config: LLMJudgeConfig) -> str:
    """Say what the trial of a judge costs, before it is asked."""
    calls = 2 * len(trial_questions())
    _, usd, _ = price_of(config, "compare", np.full(3, calls))
    dollars = "a cost that is not known" if np.isnan(usd) else f"about ${usd:.4f}"
    return (
        f"judge {key!r}: {calls} calls, thirty invented pairs in both orders, for "
        f"{dollars}; what the ledger has is not asked again"
    )


def try_judge(
    key: str, config: LLMJudgeConfig, context: JudgeContext
) -> list[Diagnosis]:
    """Put a language model on trial, and show what it answered wrongly.

    The thirty pairs are invented, so that their text may be shown. The same trial
    stands in front of a run's first paid comparisons.

    Args:
        key: of the judge.
        config: its table.
        context: of a run.
    """
    try:
        trial = ModelJudge(open_asker(key, config, context)).trial()
    except LunguageError as error:
        return [Diagnosis("refusal", str(error))]
    message = f"judge {key!r}: {trial.verdict}"
    if trial.is_passed:
        verdict = Diagnosis("ok", message)
    elif config.let_in:
        message = f"{message}. It gives no p unless let in: {config.let_in}"
        verdict = Diagnosis("warning", message)
    else:
        verdict = Diagnosis("refusal", f"{message}. It gives no p")
    wrong = [
        Diagnosis(
            "warning",
            f"judge {key!r}: {question.sentence_1!r} is surer than "
            f"{question.sentence_2!r}; answered {pair.choices[0]}, and "
            f"{pair.choices[1]} in the other order",
        )
        for question, pair in trial.wrong
    ]
    return [verdict, *wrong]
