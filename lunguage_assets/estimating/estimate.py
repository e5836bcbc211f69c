"""What a run would ask and spend, counted beforehand: a formula of counts.

Reports, tentative pairs, matches of the vocabulary, and sentences times the steps of a
fit, each with its range; less what the ledger holds. Nothing is made or sent. What
questions cost is not here, but in `judges.estimate`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.judges.estimate import (
    PUBLISHED_PAIRS,
    PUBLISHED_PATIENCE,
    PUBLISHED_PHRASES,
    PUBLISHED_REPORTS,
    PUBLISHED_STEPS,
    Range,
    answers_per_judge,
    price_of,
)
from lunguage_assets.judges.trust import trial_questions
from lunguage_assets.orchestration.instance import dagster_instance
from lunguage_assets.orchestration.jobs import ASKING
from lunguage_assets.orchestration.run import Runner
from lunguage_assets.workspace.home import Registration
from lunguage_assets.workspace.store import stored_or_none

OPEN_REPORTS = np.array([0.0, 0.3, 1.0])
"""The share of reports in which the rules leave a sentence open, about."""
UNREAD = np.array([0.2, 1.0, 2.0])
"""Tentative pairs of reports that nobody has read are so many times the expected
number: some radiologists hedge a third as often as others.
"""
COUNTS = ["questions", "in_ledger"]
DOLLARS = ["usd_at_least", "usd", "usd_at_most"]


class Estimate(NamedTuple):
    """What a run would ask and spend.

    Attributes:
        batches: of the home and new ones, with their `reports` and tentative `pairs`.
        lines: `task`, `judge`, `COUNTS` and `DOLLARS` of each language model and task,
            and their total; without rows where nothing is asked. Dollars are missing
            when a price or a limit is not known.
    """

    batches: pd.DataFrame
    lines: pd.DataFrame


def estimate_run(
    configuration: Configuration,
    registrations: Sequence[Registration],
    ranker: str,
    *,
    rebuild: bool = False,
) -> Estimate:
    """Count what `lunguage run` would ask and spend, before anything is spent.

    Args:
        configuration: of a home that need not exist.
        registrations: of new batches, as `Home.examine` returns them; without any, what
            is registered counts.
        ranker: `panel` or one judge.
        rebuild: as with `--rebuild-ranking`.

    Raises:
        LunguageError: what would stop the run before its first question: unusable
            files, settings, templates.
    """
    home = configuration.home
    deliveries = {batch.key: home.delivery(batch.key) for batch in home.registered()}
    partitions = {entry.batch.key for entry in registrations if entry.is_new}
    # An estimate makes no home.
    if deliveries:
        with dagster_instance(home) as instance:
            stages = Runner(configuration, instance).plan(ranker, rebuild=rebuild)
        partitions |= {
            key for stage in stages if stage.job in ASKING for key in stage.keys
        }
    else:
        partitions |= {*configuration.judges.members(ranker)}
    deliveries |= {entry.batch.key: entry.delivery for entry in registrations}
    batches = pd.DataFrame(
        [_counted(configuration, *delivery) for delivery in deliveries.items()]
    )
    questions = _questions(configuration, ranker, batches, partitions)
    return Estimate(batches, _priced(configuration, questions))


def _priced(
    configuration: Configuration, questions: Iterable[tuple[str, str, Range]]
) -> pd.DataFrame:
    """Price what language models are asked, less what the ledger holds.

    Args:
        configuration: of the home.
        questions: as `_questions` yields them.

    Returns:
        The lines of an `Estimate`.
    """
    models = configuration.judges.models
    answered = {}
    ledger = configuration.existing_ledger()
    if ledger is not None:
        statistics = ledger.statistics().set_index(["judge", "stage", "model"])
        answered = statistics.to_dict("index")
        ledger.close()
    lines = []
    for task, judge, (needed, in_all) in questions:
        if judge not in models or not needed.any():
            continue
        record = answered.get((judge, task, models[judge].model), {})
        # Answers of tables that stay are in the ledger, too, and spare no question.
        lacking = np.clip(in_all - record.get("questions", 0), 0, needed)
        count = round(lacking[1])
        dollars = price_of(models[judge], task, lacking, record)
        lines.append([task, judge, count, round(needed[1]) - count, *dollars])
    frame = pd.DataFrame(lines, columns=["task", "judge", *COUNTS, *DOLLARS])
    if lines:
        # What is not known of one judge is not known of all.
        totals = frame[COUNTS + DOLLARS].sum(skipna=False)
        frame.loc[len(frame)] = ["total", "", *totals]
    return frame.astype(dict.fromkeys(COUNTS, "int64"))


def _counted(
    configuration: Configuration, batch: str, delivery: Delivery
) -> dict[str, object]:
    """Count reports and pairs of a batch by its stored findings, else by its files."""
    is_text = delivery.kind == "text"
    findings = stored_or_none(configuration.home, "findings", batch)
    if findings is None and is_text:
        reports = len(delivery.raw_reports())
        pairs = reports * PUBLISHED_PAIRS / PUBLISHED_REPORTS
    else:
        if findings is None:
            findings = take_in(delivery, configuration.settings.corpus).findings
        reports = findings["study_id"].nunique()
        # History takes no part (explicit.md section 0).
        pairs = len(findings.query("status in ['tp', 'tn'] and section != 'hist'"))
    return {
        "batch": batch,
        "reports": reports,
        "texts": reports * is_text,
        "pairs": pairs,
        "is_read": findings is not None,
    }


def _questions(
    configuration: Configuration,
    ranker: str,
    batches: pd.DataFrame,
    partitions: Collection[str],
) -> Iterator[tuple[str, str, Range]]:
    """Yield task, judge, and how many questions: of this run, and of all batches.

    Args:
        configuration: of the home.
        ranker: whose release is wanted.
        batches: registered and new ones.
        partitions: that are to be made: batches, and judges who compare phrases.
    """
    judges = configuration.judges
    settings = configuration.settings.explicit
    is_needed = batches["batch"].isin(partitions)
    of_run_and_in_all = np.array([is_needed, is_needed | True], dtype=float)

    reader = judges.second_reader or judges.structurer
    share_read = OPEN_REPORTS if judges.second_reader else np.ones(3)
    texts = np.outer(of_run_and_in_all @ batches["texts"], share_read)
    yield "structure", reader, texts
    share_hedged = np.ones(3) if batches["is_read"].all() else UNREAD
    pairs = np.outer(of_run_and_in_all @ batches["pairs"], share_hedged)
    yield "extract", judges.extractor, pairs

    members = judges.members(ranker)
    # The paper's steps are for its patience (explicit.md section 5).
    usual_steps = PUBLISHED_STEPS * settings.patience / PUBLISHED_PATIENCE
    steps = [settings.patience, usual_steps, settings.step_limit]
    answers = pairs * answers_per_judge(
        np.minimum(steps, settings.step_limit), settings.panel_steps, len(members)
    )
    matches = _matches(configuration, pairs[1])
    for judge in judges.models.keys() & members:
        # Twice where both orders are asked, as in the trial before the first match.
        orders = 2 if judges.models[judge].order == "both" else 1
        scale = orders * matches + 2 * len(trial_questions())
        of_scale = np.outer([judge in partitions, True], scale)
        yield "compare", judge, orders * answers + of_scale


def _matches(configuration: Configuration, pairs: Range) -> Range:
    """Count the comparisons of the vocabulary: known where it is stored."""
    settings = configuration.settings.explicit
    extractor = configuration.judges.extractor
    vocabulary = stored_or_none(configuration.home, "hedge_vocabulary", extractor)
    if vocabulary is None:
        phrases = np.minimum(1.0, pairs / PUBLISHED_PAIRS) * PUBLISHED_PHRASES
        # Of fewer phrases the published scale is used, and nobody is asked.
        phrases *= phrases >= settings.reference_scale_minimum
    else:
        retained = vocabulary.query("retained and ruler == 'own'")
        phrases = np.full(3, len(retained))
    return np.asarray(settings.repetitions * phrases * (phrases - 1) / 2)
