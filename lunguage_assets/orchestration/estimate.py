"""What a run would ask and spend, counted beforehand: a formula of counts.

Reports, tentative pairs, matches of the vocabulary, and sentences times the steps of a
fit, each with its range; less what the ledger holds. Nothing is made or sent. What
questions cost is not here, but in `judges.estimate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.explicit.ranking import schedule
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
from lunguage_assets.orchestration.io_manager import stored_or_none
from lunguage_assets.orchestration.run import Runner
from lunguage_assets.workspace.home import Registration

OPEN_REPORTS = np.array([0.0, 0.3, 1.0])
"""The share of reports in which the rules leave a sentence open, about."""
UNREAD = np.array([0.2, 1.0, 2.0])
"""Tentative pairs of reports that nobody has read are so many times the expected
number: some radiologists hedge a third as often as others.
"""
COUNTS = ["questions", "in_ledger"]
DOLLARS = ["usd", "usd_at_least", "usd_at_most"]


class Questions(NamedTuple):
    """Questions of one kind to one judge.

    Attributes:
        task: what is asked, in the ledger's words.
        judge: its key.
        needed: how many the run needs.
        in_all: with those whose answers are in tables that stay.
    """

    task: str
    judge: str
    needed: Range
    in_all: Range


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
    stages = _planned(configuration, ranker, rebuild=rebuild)
    deliveries = {batch.key: home.delivery(batch.key) for batch in home.registered()}
    deliveries |= {entry.batch.key: entry.delivery for entry in registrations}
    batches = pd.DataFrame(
        [_counted(configuration, *delivery) for delivery in deliveries.items()]
    )
    new_batches = [entry.batch.key for entry in registrations if entry.is_new]
    batches["is_new"] = batches["batch"].isin(new_batches)
    ledger = configuration.existing_ledger()
    answered = pd.DataFrame(columns=["judge", "stage", "model"])
    if ledger is not None:
        answered = ledger.statistics()
        ledger.close()
    lines = [
        _line(configuration, questions, answered)
        for questions in _questions(configuration, ranker, batches, stages)
        if questions.judge in configuration.judges.models and questions.needed.any()
    ]
    frame = pd.DataFrame(lines, columns=["task", "judge", *COUNTS, *DOLLARS])
    frame[DOLLARS] = frame[DOLLARS].astype("float64")
    if lines:
        # What is not known of one judge is not known of all.
        totals = frame[COUNTS + DOLLARS].sum(skipna=False)
        frame.loc[len(frame)] = ["total", "", *totals]
    return Estimate(batches, frame.astype(dict.fromkeys(COUNTS, "int64")))


def _planned(
    configuration: Configuration, ranker: str, *, rebuild: bool
) -> set[tuple[str, ...]]:
    """Plan a run of what is registered: each job with the keys of its partition."""
    # An estimate makes no home.
    if not configuration.home.registered():
        return set()
    with dagster_instance(configuration.home) as instance:
        plan = Runner(configuration, instance).plan(ranker, rebuild=rebuild)
    return {(stage.job, *stage.keys) for stage in plan}


def _counted(
    configuration: Configuration, batch: str, delivery: Delivery
) -> dict[str, object]:
    """Count reports and pairs of a batch by its stored findings, else by its files."""
    is_text = delivery.kind == "text"
    findings = stored_or_none(configuration.home.tables, "findings", batch)
    if findings is None and not is_text:
        findings = take_in(delivery, configuration.settings.corpus).findings
    if findings is None:
        reports = len(delivery.raw_reports())
        pairs = UNREAD * reports * PUBLISHED_PAIRS / PUBLISHED_REPORTS
    else:
        # History takes no part (explicit.md section 0).
        is_hedged = findings["status"].isin(["tp", "tn"])
        reports = findings["study_id"].nunique()
        pairs = np.full(3, (is_hedged & (findings["section"] != "hist")).sum())
    texts = np.full(3, reports * is_text)
    return {"batch": batch, "reports": reports, "texts": texts, "pairs": pairs}


def _questions(
    configuration: Configuration,
    ranker: str,
    batches: pd.DataFrame,
    stages: set[tuple[str, ...]],
) -> Iterator[Questions]:
    """Yield what judges are asked, upstream first.

    Args:
        configuration: of the home.
        ranker: whose release is wanted.
        batches: registered and new ones.
        stages: of the plan, with their keys.
    """

    def counts(column: str, *job: str) -> Range:
        """Total a column of the batches that a job is run for, and of all."""
        planned = [stage[-1] for stage in stages if stage[:-1] == job]
        is_needed = batches["is_new"] | batches["batch"].isin(planned)
        parts = (batches.loc[is_needed, column], batches[column])
        return np.array([sum(part, start=np.zeros(3)) for part in parts])

    judges = configuration.judges
    reader = judges.second_reader or judges.structurer
    share_read = OPEN_REPORTS if judges.second_reader else 1.0
    texts = share_read * counts("texts", "structure", judges.structurer)
    yield Questions("structure", reader, *texts)
    pairs = counts("pairs", "extract_hedges", judges.extractor)
    yield Questions("extract", judges.extractor, *pairs)

    members = judges.members(ranker)
    sentences = counts("pairs", "refit", ranker)
    answers = sentences * _answers_of_a_fit(configuration, len(members))
    matches = _matches(configuration, pairs[1])
    for judge in members:
        if judge not in judges.models:
            continue
        # Twice where both orders are asked, as in the trial before the first match.
        is_turned = judges.models[judge].asked_order == "both"
        answers_each = 2 if is_turned else 1
        played = answers_each * matches + 2 * len(trial_questions())
        is_played = ("compare", judge) in stages or bool(batches["is_new"].all())
        scale = np.array([is_played * played, played])
        yield Questions("compare", judge, *(answers_each * answers + scale))


def _matches(configuration: Configuration, pairs: Range) -> Range:
    """Count the comparisons of the vocabulary: known where it is stored."""
    settings = configuration.settings.explicit
    extractor = configuration.judges.extractor
    vocabulary = stored_or_none(
        configuration.home.tables, "hedge_vocabulary", extractor
    )
    if vocabulary is not None:
        return np.full(3, len(schedule(vocabulary, settings)))
    phrases = np.minimum(1.0, pairs / PUBLISHED_PAIRS) * PUBLISHED_PHRASES
    # Of fewer phrases the published scale is used, and nobody is asked.
    is_own = phrases >= settings.reference_scale_minimum
    matches: Range = is_own * settings.repetitions * phrases * (phrases - 1) / 2
    return matches


def _answers_of_a_fit(configuration: Configuration, judges: int) -> Range:
    """Count what each judge answers about a sentence (explicit.md section 5).

    The paper's steps are for its patience, and are scaled to that of the settings.
    """
    settings = configuration.settings.explicit
    scaled = PUBLISHED_STEPS * settings.patience / PUBLISHED_PATIENCE
    steps = [settings.patience, scaled, settings.step_limit]
    steps_taken = np.minimum(steps, settings.step_limit)
    return answers_per_judge(steps_taken, settings.panel_steps, judges)


def _line(
    configuration: Configuration, questions: Questions, answered: pd.DataFrame
) -> list[object]:
    """Estimate one kind of question to one judge, less what the ledger holds."""
    task, judge, needed, in_all = questions
    config = configuration.judges.models[judge]
    is_of_task = (answered["judge"] == judge) & (answered["stage"] == task)
    of_model = answered[is_of_task & (answered["model"] == config.model)]
    records = of_model.to_dict("records")
    record = records[0] if records else None
    in_ledger = record["questions"] if record is not None else 0
    # Answers of tables that stay are in the ledger, too, and spare no question.
    lacking = np.clip(in_all - in_ledger, 0, needed)
    questions_left = round(lacking[1])
    hits = round(needed[1]) - questions_left
    dollars = price_of(config, task, lacking, record)
    return [task, judge, questions_left, hits, *dollars]
