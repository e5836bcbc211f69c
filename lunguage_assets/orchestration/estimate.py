"""What a run would ask and spend, counted beforehand: a formula of counts.

Reports, tentative pairs, matches of the vocabulary, and sentences times the steps of a
fit, each with its range; less what the ledger holds. Nothing is made, written or sent.
What questions cost is not here, but in `judges.estimate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.explicit.rating.matches import schedule
from lunguage_assets.judges.estimate import (
    FINDINGS_TOKENS_PER_SENTENCE,
    LABEL_TOKENS,
    PHRASES_TOKENS,
    PUBLISHED_PAIRS,
    PUBLISHED_PATIENCE,
    PUBLISHED_PHRASES,
    PUBLISHED_REPORTS,
    PUBLISHED_STEPS,
    Questions,
    Range,
    answers_per_judge,
    estimate_line,
    estimate_totals,
    exactly,
    record_of,
    total,
)
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.judges.protocol import ComparisonQuestion, ExtractionQuestion
from lunguage_assets.judges.requests import Prompt
from lunguage_assets.judges.trust import trial_questions
from lunguage_assets.orchestration.instance import dagster_instance
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.run import Runner
from lunguage_assets.structuring.contract import Sentence, Span
from lunguage_assets.structuring.model.structurer import load_structuring_prompts
from lunguage_assets.workspace.home import Registration
from lunguage_assets.workspace.store import partition_path

LETTERS_OF_A_SENTENCE = 60
"""Of a report, about."""

OPEN_REPORTS = Range(0.0, 0.3, 1.0)
"""The share of reports in which the rules leave a sentence open, about."""
OPEN_SENTENCES = 2
"""How many they leave open in each of these."""

EXAMPLE = "There may be a small opacity at the left base, more likely atelectasis."
"""An invented sentence, as long as those that judges see."""

_EXAMPLE_SENTENCE = Sentence("find", 1, Span(0, len(EXAMPLE)), EXAMPLE)

FEWER_PAIRS = 0.2
MORE_PAIRS = 2.0
"""Tentative pairs of raw reports that nobody has read are so many times the expected
number: some radiologists hedge a third as often as others.
"""

_FREE = (
    "No language model is asked: the judges are rule-based and run in this process. It "
    "costs nothing."
)
_CURRENT = "Everything is current: a run would make and ask nothing."

Asked = tuple[Questions, float]
"""Questions of one stage, and those that were asked for tables which stay."""


class BatchCounts(NamedTuple):
    """What a batch would be asked about.

    Attributes:
        key: of the batch.
        is_text: whether raw reports were delivered.
        reports: in it.
        letters: of all its raw reports, in bytes.
        pairs: tentative findings with their sentences.
        sentences: different masked sentences of these.
    """

    key: str
    is_text: bool
    reports: int
    letters: int
    pairs: Range
    sentences: Range


def estimate_run(
    configuration: Configuration,
    registrations: Sequence[Registration],
    ranker: str,
    *,
    rebuild: bool = False,
) -> dict[str, Any]:
    """Count what `lunguage run` would ask and spend, before anything is spent.

    Args:
        configuration: of a home that need not exist.
        registrations: of new batches, as `Home.examine` returns them; without any, what
            is registered counts.
        ranker: `panel` or one judge.
        rebuild: as with `--rebuild-ranking`.

    Returns:
        Values of JSON. `lines` are as `estimate_line` has them, `total` and `minutes`
        as `estimate_totals`. `steps` is the expected mean of a fit, None without fits
        by a language model.

    Raises:
        LunguageError: what would stop the run before its first question: unusable
            files, settings, templates.
    """
    judges = configuration.judges
    counter = _Counter(configuration, registrations, ranker, rebuild=rebuild)
    statistics = _statistics(configuration)
    lines = [
        estimate_line(questions, record_of(questions, statistics))
        for questions in _less_the_ledger(counter.asked(), statistics)
    ]
    minutes, in_all = estimate_totals(lines)
    prices = [judges.models[line["judge"]].price for line in lines]
    return {
        "preset": judges.preset,
        "ranker": ranker,
        "batches": [batch.key for batch in counter.batches],
        "reports": sum(batch.reports for batch in counter.batches),
        "pairs": round(total(batch.pairs for batch in counter.batches).expected),
        "sentences": round(
            total(batch.sentences for batch in counter.batches).expected
        ),
        "steps": counter.steps if lines else None,
        "lines": lines,
        "prices_as_of": sorted({price.as_of.isoformat() for price in prices if price}),
        "remarks": [] if lines else [counter.why_nothing_is_asked()],
        "minutes": minutes,
        "total": in_all,
    }


def _statistics(configuration: Configuration) -> pd.DataFrame | None:
    """Read what the ledger has answered; None: nobody was ever asked."""
    if not configuration.judges.models:
        return None
    ledger = Ledger.open_read_only(configuration.ledger_location)
    if ledger is None:
        return None
    with closing(ledger):
        return ledger.statistics()


def _less_the_ledger(
    asked: Iterator[Asked], statistics: pd.DataFrame | None
) -> Iterator[Questions]:
    """Take from questions what the ledger has answered, and no table was made of."""
    everything = list(asked)
    unused: dict[tuple[str, str], float] = {}
    if statistics is not None:
        for row in statistics.to_dict("records"):
            key = str(row["judge"]), str(row["stage"])
            unused[key] = unused.get(key, 0.0) + float(row["questions"])
    for questions, settled in everything:
        key = questions.key, questions.task
        unused[key] = unused.get(key, 0.0) - settled
    for questions, _ in everything:
        key = questions.key, questions.task
        hits = min(max(0.0, unused[key]), questions.number.at_most)
        unused[key] -= hits
        if questions.number.at_most:
            yield questions._replace(hits=hits)


class _Counter:
    """Counts batches, and the questions of each stage about them.

    Attributes:
        batches: registered and new ones.
        steps: the expected mean of a fit.
    """

    def __init__(
        self,
        configuration: Configuration,
        registrations: Sequence[Registration],
        ranker: str,
        *,
        rebuild: bool,
    ) -> None:
        self._configuration = configuration
        self._judges = configuration.judges
        self._settings = configuration.settings.explicit
        self._ranker = ranker
        self._members = self._judges.members(ranker)
        home = configuration.home
        registered = home.registered()
        self._needed: set[tuple[str, tuple[str, ...]]] = set()
        if registered:
            with dagster_instance(home) as instance:
                runner = Runner(configuration, instance)
                for stage in runner.plan(ranker, rebuild=rebuild, notes=False):
                    self._needed.add((stage.job, stage.keys))
        new = [known for known in registrations if known.is_new]
        self._new_batches = {registration.batch.key for registration in new}
        deliveries = {batch.key: home.delivery(batch.key) for batch in registered}
        deliveries |= {known.batch.key: known.delivery for known in new}
        self.batches = [self._count(*delivery) for delivery in deliveries.items()]
        self.steps = self._mean_steps()

    def _count(self, key: str, delivery: Delivery) -> BatchCounts:
        """Count a batch by its stored findings, else by its files."""
        is_text = delivery.kind == "text"
        lengths = [*map(len, delivery.raw_reports()["content"])]
        findings = self._stored("findings", key)
        if findings is None and not is_text:
            findings = take_in(delivery, self._configuration.settings.corpus).findings
        if findings is None:
            expected = len(lengths) * PUBLISHED_PAIRS / PUBLISHED_REPORTS
            pairs = Range(FEWER_PAIRS * expected, expected, MORE_PAIRS * expected)
            return BatchCounts(key, is_text, len(lengths), sum(lengths), pairs, pairs)
        # History takes no part (explicit.md section 0).
        is_hedged = findings["status"].isin(["tp", "tn"])
        pairs = exactly(int((is_hedged & (findings["section"] != "hist")).sum()))
        phrases = self._stored("hedge_phrases", self._judges.extractor, key)
        sentences = pairs
        if phrases is not None:
            sentences = exactly(phrases["masked_sentence"].nunique())
        reports = findings["study_id"].nunique()
        return BatchCounts(key, is_text, reports, sum(lengths), pairs, sentences)

    def _stored(self, table: str, *keys: str) -> pd.DataFrame | None:
        tables = self._configuration.home.tables
        is_there = partition_path(tables, table, *keys).exists()
        return stored_table(tables, table, *keys) if is_there else None

    def _needs(self, job: str, *keys: str) -> bool:
        """Whether a run would make a partition that asks judges."""
        return keys[-1] in self._new_batches or (job, keys) in self._needed

    def _split(self, job: str, key: str) -> list[Range]:
        """Add up what batches count that a job is to make, and what all others do."""
        halves = []
        for is_needed in (True, False):
            batches = [
                batch
                for batch in self.batches
                if self._needs(job, key, batch.key) == is_needed
            ]
            # A fit is of a sentence, whatever it says of how many findings.
            counted = "sentences" if job == "refit" else "pairs"
            halves.append(total(getattr(batch, counted) for batch in batches))
        return halves

    def why_nothing_is_asked(self) -> str:
        """Say whether a run asks no language model, or none any more."""
        asked = {self._judges.extractor, *self._members}
        if any(batch.is_text for batch in self.batches):
            asked |= {self._judges.structurer, self._judges.second_reader}
        return _FREE if asked.isdisjoint(self._judges.models) else _CURRENT

    def asked(self) -> Iterator[Asked]:
        """Yield the questions of each stage to each language model, upstream first."""
        yield from self._about_reports()
        extractor = self._judges.extractor
        prompts = load_prompts(self._configuration.prompts)
        pairs, settled_pairs = self._split("extract_hedges", extractor)
        if extractor in self._judges.models:
            prompt = prompts.extraction(ExtractionQuestion("opacity", EXAMPLE)).prompt
            questions = self._questions(
                "hedge_phrases", extractor, pairs, prompt, PHRASES_TOKENS
            )
            yield questions, settled_pairs.expected
        matches = self._matches()
        fits, settled_fits = self._split("refit", self._ranker)
        answers = self._answers_of_a_fit()
        trial = exactly(2 * len(trial_questions()))
        for judge in self._members:
            if judge not in self._judges.models:
                continue
            model = self._judges.models[judge]
            each = exactly(model.answers_each)
            question = ComparisonQuestion(EXAMPLE, EXAMPLE)
            prompt = prompts.comparison(question, model.mode).prompt
            is_compared = not self._needs("compare", judge)
            fitted = fits.times(answers).times(each)
            settled = settled_fits.times(answers).times(each)
            is_asked = fits.at_most or (matches.at_most and not is_compared)
            # Before its first comparison a judge answers its trial, in both orders.
            for stage, number, done, rounds in (
                ("comparison_matches", matches.times(each), is_compared, 1.0),
                ("trial", trial if is_asked else exactly(0), False, 1.0),
                ("fitted_probabilities", fitted, False, self.steps),
            ):
                asked = exactly(0) if done else number
                questions = self._questions(stage, judge, asked, prompt, LABEL_TOKENS)
                used = number.expected if done else 0.0
                if stage == "fitted_probabilities":
                    used = settled.expected
                yield questions._replace(rounds=rounds), used

    def _questions(
        self, stage: str, judge: str, number: Range, prompt: Prompt, tokens: float
    ) -> Questions:
        return Questions(
            stage, judge, self._judges.models[judge], number, 0.0, prompt, tokens
        )

    def _about_reports(self) -> Iterator[Asked]:
        structurer = self._judges.structurer
        reader = self._judges.second_reader or structurer
        batches = [batch for batch in self.batches if batch.is_text]
        if reader not in self._judges.models or not batches:
            return
        reports = sum(batch.reports for batch in batches)
        needed = sum(
            batch.reports
            for batch in batches
            if self._needs("structure", structurer, batch.key)
        )
        letters = sum(batch.letters for batch in batches) // max(reports, 1)
        sentences = max(1, letters // LETTERS_OF_A_SENTENCE)
        number = exactly(needed)
        if self._judges.second_reader:
            number = number.times(OPEN_REPORTS)
            sentences = OPEN_SENTENCES
        prompts = load_structuring_prompts(self._configuration.prompts)
        questions = self._questions(
            "structured_findings",
            reader,
            number,
            prompts.question([_EXAMPLE_SENTENCE] * sentences),
            FINDINGS_TOKENS_PER_SENTENCE * sentences,
        )
        yield questions, reports - needed

    def _matches(self) -> Range:
        """Count the comparisons of the vocabulary: known where it is stored."""
        extractor = self._judges.extractor
        vocabulary = self._stored("hedge_vocabulary", extractor)
        if vocabulary is not None and not self._needs("build_vocabulary", extractor):
            return exactly(len(schedule(vocabulary, self._settings)))
        if self._settings.reference_scale == "published":
            return exactly(0)
        counts = []
        for pairs in total(batch.pairs for batch in self.batches):
            phrases = min(1.0, pairs / PUBLISHED_PAIRS) * PUBLISHED_PHRASES
            # Fewer phrases of its own: the published scale is used, and nobody asked.
            is_scale = phrases >= self._settings.reference_scale_minimum
            if is_scale or self._settings.reference_scale == "own":
                matches = self._settings.repetitions * phrases * (phrases - 1) / 2
                counts.append(max(0.0, matches))
            else:
                counts.append(0.0)
        return Range(*counts)

    def _answers_of_a_fit(self) -> Range:
        """Count what each judge answers about a sentence (explicit.md section 5)."""
        fewest, most = self._bounds_of_steps()
        return Range(
            *(
                answers_per_judge(steps, self._settings.panel_steps, len(self._members))
                for steps in (fewest, self.steps, most)
            )
        )

    def _bounds_of_steps(self) -> tuple[float, float]:
        # A fit ends when it has met every phrase so often as it may.
        most = self._settings.opponent_limit * PUBLISHED_PHRASES
        most = max(1, min(self._settings.step_limit, most))
        return min(self._settings.patience, most), most

    def _mean_steps(self) -> float:
        """Return the mean steps of this ranker's stored fits, else the paper's.

        The paper's are for its patience, and are scaled to that of the settings.
        """
        fewest, most = self._bounds_of_steps()
        expected = PUBLISHED_STEPS * self._settings.patience / PUBLISHED_PATIENCE
        fits = [
            self._stored("fitted_probabilities", self._ranker, batch.key)
            for batch in self.batches
        ]
        made = [frame for frame in fits if frame is not None]
        if made:
            steps = pd.concat(made).drop_duplicates("sentence_key")["steps"]
            # A sentence without a fit took no steps.
            mean = steps[steps > 0].mean()
            expected = expected if pd.isna(mean) else float(mean)
        return min(max(expected, fewest), most)
