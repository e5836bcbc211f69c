"""What a run would ask and spend, counted beforehand: a formula of counts.

Reports, tentative pairs, matches of the vocabulary, and sentences times the steps of a
fit, each with its range; less what the ledger holds. Nothing is made or sent. What
questions cost is not here, but in `judges.estimate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

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
    exactly,
    price_of,
)
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.judges.protocol import ComparisonQuestion, ExtractionQuestion
from lunguage_assets.judges.requests import Prompt
from lunguage_assets.judges.trust import trial_questions
from lunguage_assets.orchestration.instance import dagster_instance
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.run import Runner
from lunguage_assets.workspace.home import Registration
from lunguage_assets.workspace.store import partition_path

OPEN_REPORTS = Range(0.0, 0.3, 1.0)
"""The share of reports in which the rules leave a sentence open, about."""
UNREAD = Range(0.2, 1.0, 2.0)
"""Tentative pairs of reports that nobody has read are so many times the expected
number: some radiologists hedge a third as often as others.
"""
EXAMPLE = "There may be a small opacity at the left base, more likely atelectasis."
"""An invented sentence, as long as those that judges see."""
REPORT = Prompt(EXAMPLE * 50, EXAMPLE * 10)
"""About as long as the question about a report, with its instructions."""

LINE = ["task", "judge", "questions", "in_ledger", *Dollars._fields]
"""What is estimated of each language model and task; the task in the ledger's words."""


class Questions(NamedTuple):
    """Questions of one kind to one judge.

    Attributes:
        task: what is asked.
        judge: its key.
        needed: how many the run asks.
        in_all: with those that tables rest on which stay.
        prompt: an example.
        answer_tokens: of an answer.
    """

    task: str
    judge: str
    needed: Range
    in_all: Range
    prompt: Prompt
    answer_tokens: float


class _Counter:
    """Counts batches, and the questions of each task about them.

    Attributes:
        batches: key, whether they are raw reports, reports, and tentative pairs with
            their range.
    """

    def __init__(
        self,
        configuration: Configuration,
        registrations: Sequence[Registration],
        ranker: str,
        *,
        rebuild: bool,
    ) -> None:
        home = configuration.home
        self._configuration = configuration
        self._ranker = ranker
        self._new = [entry.batch.key for entry in registrations if entry.is_new]
        deliveries = {
            entry.key: home.delivery(entry.key) for entry in home.registered()
        }
        self._stages: set[tuple[str, ...]] = set()
        if deliveries:
            with dagster_instance(home) as instance:
                stages = Runner(configuration, instance).plan(ranker, rebuild=rebuild)
            self._stages = {(stage.job, *stage.keys) for stage in stages}
        deliveries |= {entry.batch.key: entry.delivery for entry in registrations}
        self.batches = pd.DataFrame(
            [self._count(*delivery) for delivery in deliveries.items()],
            columns=["batch", "is_text", "reports", *Range._fields],
        )

    def _count(self, batch: str, delivery: Delivery) -> tuple[object, ...]:
        """Count a batch by its stored findings, else by its files."""
        is_text = delivery.kind == "text"
        findings = self._stored("findings", batch)
        if findings is None and not is_text:
            findings = take_in(delivery, self._configuration.settings.corpus).findings
        if findings is None:
            reports = len(delivery.raw_reports())
            pairs = reports * PUBLISHED_PAIRS / PUBLISHED_REPORTS
            return batch, is_text, reports, *UNREAD.times(exactly(pairs))
        # History takes no part (explicit.md section 0).
        is_counted = findings["section"] != "hist"
        pairs = int((is_counted & findings["status"].isin(["tp", "tn"])).sum())
        return batch, is_text, findings["study_id"].nunique(), *exactly(pairs)

    def _stored(self, table: str, *keys: str) -> pd.DataFrame | None:
        tables = self._configuration.home.tables
        is_there = partition_path(tables, table, *keys).exists()
        return stored_table(tables, table, *keys) if is_there else None

    def _is_needed(self, job: str, *keys: str) -> bool:
        return keys[-1] in self._new or (job, *keys) in self._stages

    def _pairs(self, job: str = "", key: str = "") -> Range:
        """Add up the pairs of batches that a job would make, or of all."""
        batches = self.batches
        if job:
            needed = [self._is_needed(job, key, batch) for batch in batches["batch"]]
            batches = batches[needed]
        return Range(*batches[[*Range._fields]].sum())

    def questions(self) -> Iterator[Questions]:
        """Yield the questions of each task to each judge, upstream first."""
        judges = self._configuration.judges
        texts = self.batches[self.batches["is_text"]]
        is_unread = [
            self._is_needed("structure", judges.structurer, batch)
            for batch in texts["batch"]
        ]
        share = OPEN_REPORTS if judges.second_reader else exactly(1)
        yield Questions(
            "structure",
            judges.second_reader or judges.structurer,
            share.times(exactly(texts.loc[is_unread, "reports"].sum())),
            share.times(exactly(texts["reports"].sum())),
            REPORT,
            FINDINGS_TOKENS,
        )
        prompts = load_prompts(self._configuration.prompts)
        yield Questions(
            "extract",
            judges.extractor,
            self._pairs("extract_hedges", judges.extractor),
            self._pairs(),
            prompts.extraction(ExtractionQuestion("opacity", EXAMPLE)).prompt,
            PHRASES_TOKENS,
        )
        matches = self._matches()
        answers = self._answers_of_a_fit()
        fits = self._pairs("refit", self._ranker).times(answers)
        # Before its first comparison a judge answers its trial, in both orders.
        trial = exactly(2 * len(trial_questions()))
        question = prompts.comparison(ComparisonQuestion(EXAMPLE, EXAMPLE))
        for judge in judges.members(self._ranker):
            played = self._is_needed("compare", judge)
            needed = fits.plus(matches.times(exactly(played)))
            in_all = self._pairs().times(answers).plus(matches)
            yield Questions(
                "compare",
                judge,
                needed.plus(trial) if needed.at_most else needed,
                in_all.plus(trial),
                question.prompt,
                LABEL_TOKENS,
            )

    def _matches(self) -> Range:
        """Count the comparisons of the vocabulary: known where it is stored."""
        settings = self._configuration.settings.explicit
        extractor = self._configuration.judges.extractor
        vocabulary = self._stored("hedge_vocabulary", extractor)
        if vocabulary is not None:
            return exactly(len(schedule(vocabulary, settings)))
        counts = []
        for pairs in self._pairs():
            phrases = min(1.0, pairs / PUBLISHED_PAIRS)
            phrases *= PUBLISHED_PHRASES
            # Of fewer phrases the published scale is used, and nobody is asked.
            is_own = phrases >= settings.reference_scale_minimum
            matches = is_own * settings.repetitions * phrases * (phrases - 1) / 2
            counts.append(matches)
        return Range(*counts)

    def _answers_of_a_fit(self) -> Range:
        """Count what each judge answers about a sentence (explicit.md section 5).

        The paper's steps are for its patience, and are scaled to that of the settings.
        """
        settings = self._configuration.settings.explicit
        members = len(self._configuration.judges.members(self._ranker))
        scale = settings.patience / PUBLISHED_PATIENCE
        steps = (
            settings.patience,
            min(PUBLISHED_STEPS * scale, settings.step_limit),
            settings.step_limit,
        )
        return Range(
            *(
                answers_per_judge(count, settings.panel_steps, members)
                for count in steps
            )
        )


class Estimate(NamedTuple):
    """What a run would ask and spend.

    Attributes:
        batches: their keys.
        reports: in them.
        pairs: tentative findings, about.
        lines: columns `LINE`, a row for each language model and task, and their total;
            without rows where nothing is asked. Dollars are missing when a price or a
            limit is not known.
        asks_models: whether language models are configured at all.
    """

    batches: list[str]
    reports: int
    pairs: int
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
    counter = _Counter(configuration, registrations, ranker, rebuild=rebuild)
    models = configuration.judges.models
    questions = [asked for asked in counter.questions() if asked.judge in models]
    answered = _answered(configuration)
    lines = [
        _line(configuration, asked, answered)
        for asked in questions
        if asked.needed.at_most
    ]
    batches = counter.batches
    frame = pd.DataFrame(lines, columns=LINE)
    numbers = frame[LINE[2:]].astype("float64")
    frame[LINE[4:]] = numbers[LINE[4:]]
    if lines:
        # What is not known of one judge is not known of all.
        frame.loc[len(frame)] = ["total", "", *numbers.sum(skipna=False)]
    return Estimate(
        [*batches["batch"]],
        int(batches["reports"].sum()),
        round(batches["expected"].sum()),
        frame.astype({"questions": "int64", "in_ledger": "int64"}),
        any(asked.in_all.at_most for asked in questions),
    )


def _answered(configuration: Configuration) -> pd.DataFrame:
    """Read what the ledger has answered; without rows: nobody was ever asked."""
    ledger = Ledger.find(configuration.ledger_location)
    if ledger is None:
        return pd.DataFrame(columns=["judge", "stage", "model"])
    with closing(ledger):
        return ledger.statistics()


def _line(
    configuration: Configuration, asked: Questions, answered: pd.DataFrame
) -> list[object]:
    """Estimate one kind of question to one judge, less what the ledger holds."""
    config = configuration.judges.models[asked.judge]
    records = answered[
        (answered["judge"] == asked.judge)
        & (answered["stage"] == asked.task)
        & (answered["model"] == config.binding.model)
    ].to_dict("records")
    in_ledger = sum(record["questions"] for record in records)
    # Answers of tables that stay are in the ledger, too, and spare no question.
    settled = asked.in_all.expected - asked.needed.expected
    hits = min(max(0.0, in_ledger - settled), asked.needed.at_most)
    lacking = asked.needed.less(hits).times(exactly(config.answers_each))
    record = records[0] if records else None
    dollars = price_of(config, lacking, asked.prompt, asked.answer_tokens, record)
    return [asked.task, asked.judge, round(lacking.expected), round(hits), *dollars]
