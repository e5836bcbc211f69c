"""What a run would ask and spend, counted beforehand: a formula of counts.

Reports, tentative pairs, matches of the vocabulary, and sentences times the steps of a
fit, each with its range; less what the ledger holds. Nothing is made or sent. What
questions cost is not here, but in `judges.estimate`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.explicit.ranking import schedule
from lunguage_assets.judges.estimate import (
    FINDINGS_TOKENS,
    LABEL_TOKENS,
    PHRASES_TOKENS,
    PUBLISHED_PAIRS,
    PUBLISHED_PATIENCE,
    PUBLISHED_PHRASES,
    PUBLISHED_REPORTS,
    PUBLISHED_STEPS,
    Dollars,
    Range,
    answers_per_judge,
    price_of,
)
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.judges.protocol import ComparisonQuestion, ExtractionQuestion
from lunguage_assets.judges.requests import Prompt
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
EXAMPLE = "There may be a small opacity at the left base, more likely atelectasis."
"""An invented sentence, as long as those that judges see."""
REPORT = Prompt(EXAMPLE * 50, EXAMPLE * 10)
"""About as long as the question about a report, with its instructions."""

LINE = ["task", "judge", "questions", "in_ledger", *Dollars._fields]
"""What is estimated of each language model and task; the task in the ledger's words."""


class Task(NamedTuple):
    """Questions of one kind to one judge.

    Attributes:
        name: what is asked, in the ledger's words.
        judge: its key.
        job: that asks about a batch, with its key beside the batch.
        counted: column of what the questions are about.
        answers: about each of these.
        beside: questions about no batch: how many are needed.
        beside_in_all: with those that tables rest on which stay.
        prompt: an example.
        answer_tokens: of an answer.
    """

    name: str
    judge: str
    job: tuple[str, str]
    counted: str
    answers: Range | float
    prompt: Prompt
    answer_tokens: float
    beside: Range | float = 0.0
    beside_in_all: Range | float = 0.0


class Estimate(NamedTuple):
    """What a run would ask and spend.

    Attributes:
        batches: of the home and new ones, with reports and tentative pairs.
        lines: columns `LINE`, a row for each language model and task, and their total;
            without rows where nothing is asked. Dollars are missing when a price or a
            limit is not known.
        asks_models: whether language models are configured at all.
    """

    batches: pd.DataFrame
    lines: pd.DataFrame
    asks_models: bool


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
    batches["is_new"] = batches["batch"].isin(
        [entry.batch.key for entry in registrations if entry.is_new]
    )
    asks_models = False
    lines = []
    answered = _answered(configuration)
    for task in _tasks(configuration, ranker, batches, stages):
        if task.judge not in configuration.judges.models:
            continue
        asks_models = True
        needed_batches = [stage[-1] for stage in stages if stage[:-1] == task.job]
        is_needed = batches["is_new"] | batches["batch"].isin(needed_batches)
        in_all = task.answers * _total(batches, task.counted) + task.beside_in_all
        needed = task.answers * _total(batches[is_needed], task.counted) + task.beside
        if needed.any():
            lines.append(_line(configuration, task, needed, in_all, answered))
    return Estimate(batches, _with_total(lines), asks_models)


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


def _with_total(lines: Sequence[Sequence[object]]) -> pd.DataFrame:
    frame = pd.DataFrame(lines, columns=LINE)
    frame[LINE[2:]] = frame[LINE[2:]].astype("float64")
    if lines:
        # What is not known of one judge is not known of all.
        frame.loc[len(frame)] = ["total", "", *frame[LINE[2:]].sum(skipna=False)]
    return frame.astype({"questions": "int64", "in_ledger": "int64"})


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
        expected = reports * PUBLISHED_PAIRS / PUBLISHED_REPORTS
        pairs = UNREAD * expected
    else:
        # History takes no part (explicit.md section 0).
        is_hedged = findings["status"].isin(["tp", "tn"])
        reports = findings["study_id"].nunique()
        pairs = np.full(3, (is_hedged & (findings["section"] != "hist")).sum())
    texts = np.full(3, reports * is_text)
    return {"batch": batch, "reports": reports, "texts": texts, "pairs": pairs}


def _total(batches: pd.DataFrame, column: str) -> Range:
    total: Range = np.sum([np.zeros(3), *batches[column]], axis=0)
    return total


def _tasks(
    configuration: Configuration,
    ranker: str,
    batches: pd.DataFrame,
    stages: Collection[tuple[str, ...]],
) -> Iterator[Task]:
    """Yield what judges are asked, upstream first.

    Args:
        configuration: of the home.
        ranker: whose release is wanted.
        batches: registered and new ones.
        stages: of the plan, with their keys.
    """
    judges = configuration.judges
    prompts = load_prompts(configuration.prompts)
    yield Task(
        "structure",
        judges.second_reader or judges.structurer,
        ("structure", judges.structurer),
        "texts",
        OPEN_REPORTS if judges.second_reader else 1.0,
        REPORT,
        FINDINGS_TOKENS,
    )
    yield Task(
        "extract",
        judges.extractor,
        ("extract_hedges", judges.extractor),
        "pairs",
        1.0,
        prompts.extraction(ExtractionQuestion("opacity", EXAMPLE)).prompt,
        PHRASES_TOKENS,
    )
    # Before its first comparison a judge answers its trial, in both orders.
    trial = 2 * len(trial_questions())
    matches = _matches(configuration, _total(batches, "pairs"))
    members = judges.members(ranker)
    answers = _answers_of_a_fit(configuration, len(members))
    for judge in members:
        if judge not in judges.models:
            continue
        # Twice where both orders are asked.
        each = judges.models[judge].answers_each
        beside = each * matches + trial
        is_played = ("compare", judge) in stages or batches["is_new"].all()
        yield Task(
            "compare",
            judge,
            ("refit", ranker),
            "pairs",
            each * answers,
            prompts.comparison(ComparisonQuestion(EXAMPLE, EXAMPLE)).prompt,
            LABEL_TOKENS,
            is_played * beside,
            beside,
        )


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


def _answered(configuration: Configuration) -> pd.DataFrame:
    """Read what the ledger has answered; without rows: nobody was ever asked."""
    ledger = Ledger.find(configuration.ledger_location)
    if ledger is None:
        return pd.DataFrame(columns=["judge", "stage", "model"])
    with closing(ledger):
        return ledger.statistics()


def _line(
    configuration: Configuration,
    task: Task,
    needed: Range,
    in_all: Range,
    answered: pd.DataFrame,
) -> list[object]:
    """Estimate one kind of question to one judge, less what the ledger holds."""
    config = configuration.judges.models[task.judge]
    records = answered[
        (answered["judge"] == task.judge)
        & (answered["stage"] == task.name)
        & (answered["model"] == config.binding.model)
    ].to_dict("records")
    record = records[0] if records else None
    in_ledger = record["questions"] if record is not None else 0.0
    # Answers of tables that stay are in the ledger, too, and spare no question.
    settled = (in_all - needed)[1]
    hits = min(max(0.0, in_ledger - settled), needed[2])
    lacking = np.maximum(0.0, needed - hits)
    dollars = price_of(config, lacking, task.prompt, task.answer_tokens, record)
    return [task.name, task.judge, round(lacking[1]), round(hits), *dollars]
