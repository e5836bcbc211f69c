"""What a person should know of the judges before a run (`lunguage doctor`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date

import numpy as np

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.judges.budget import shown_usd
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.data_policy import Diagnosis, preflight
from lunguage_assets.judges.estimate import price_of
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.opening import (
    JudgeContext,
    open_model_judge,
    provider_of,
)
from lunguage_assets.judges.trust import trial_questions
from lunguage_assets.settings import DataClass


def examine_judges(
    configuration: JudgesConfiguration,
    data_class: DataClass,
    today: date,
    environ: Mapping[str, str],
    only: Collection[str] | None = None,
) -> list[Diagnosis]:
    """Examine the judges of the active preset, one after the other; nothing is sent.

    Looks at policy, retirement dates, prices, environment variables and installed SDKs.

    Args:
        configuration: the judges file.
        data_class: of the corpus.
        today: date by which models retire and attestations hold.
        environ: variables that keys and endpoints are read from.
        only: keys of the judges to examine; None: all.
    """
    diagnoses: list[Diagnosis] = []
    for key in configuration.active_judges:
        if only is not None and key not in only:
            continue
        config = configuration.judges[key]
        if isinstance(config, LLMJudgeConfig):
            diagnoses += _examine_model(key, config, data_class, today, environ)
        else:
            message = (
                f"judge {key!r} ({config.provider}) is asked in this process: no "
                "network, no key, no cost"
            )
            diagnoses.append(Diagnosis("ok", message))
    return diagnoses


def _examine_model(
    key: str,
    config: LLMJudgeConfig,
    data_class: DataClass,
    today: date,
    environ: Mapping[str, str],
) -> list[Diagnosis]:
    """Say what is wrong with a language model, or that nothing is."""
    diagnoses = preflight(key, config, environ, data_class, today)
    # Made for its errors alone: a variable that is not set, a missing package.
    try:
        provider_of(key, config, environ)
    except ConfigurationError as error:
        diagnoses.append(Diagnosis("refusal", str(error)))
    if config.price is None:
        message = (
            f"judge {key!r} has no price: its cost is not known and no budget can be "
            "kept with it"
        )
        diagnoses.append(Diagnosis("warning", message))
    if diagnoses:
        return diagnoses
    message = (
        f"judge {key!r}: {config.provider}, model {config.model!r}, may receive "
        f"{data_class} text"
    )
    return [Diagnosis("ok", message)]


def price_of_trial(key: str, config: LLMJudgeConfig) -> str:
    """Say what the trial of a judge costs, before it is asked."""
    calls = 2 * len(trial_questions())
    usd = price_of(config, "compare", np.full(3, calls)).usd
    dollars = "a cost that is not known" if usd is None else f"about {shown_usd(usd)}"
    return (
        f"judge {key!r}: {calls} calls, thirty invented pairs in both orders, for "
        f"{dollars}; what the ledger has is not asked again"
    )


def try_judge(
    key: str, configuration: JudgesConfiguration, context: JudgeContext
) -> list[Diagnosis]:
    """Put a language model on trial, and show what it answered wrongly.

    The thirty pairs are invented, so that their text may be shown. The same trial
    stands in front of a run's first paid comparisons.

    Args:
        key: of the judge.
        configuration: the judges file.
        context: of a run.
    """
    config = configuration.models[key]
    try:
        trial = open_model_judge(key, config, context).trial()
    except LunguageError as error:
        return [Diagnosis("refusal", str(error))]
    verdict = Diagnosis("ok", f"judge {key!r}: {trial.verdict}")
    if not trial.is_passed and config.let_in:
        message = f"{verdict.message}. It gives no p unless let in: {config.let_in}"
        verdict = Diagnosis("warning", message)
    elif not trial.is_passed:
        verdict = Diagnosis("refusal", f"{verdict.message}. It gives no p")
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
