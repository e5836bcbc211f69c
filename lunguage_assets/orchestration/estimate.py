"""What a run would ask and spend, counted beforehand: a formula of counts.

Reports, tentative pairs, matches of the vocabulary, and sentences times the steps of a
fit, each with its range; less what the ledger holds. Nothing is made, written or sent.
What questions cost is not here, but in `judges.estimate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from lunguage_assets.orchestration.run_plan import Stage
from lunguage_assets.structuring.contract import Sentence, Span
from lunguage_assets.structuring.model.structurer import load_structuring_prompts
from lunguage_assets.workspace.home import Batch, Registration
from lunguage_assets.workspace.store import partition_path

LETTERS_OF_A_SENTENCE = 60
"""Of a report, about."""

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


class BatchCounts(NamedTuple):
    """What a batch would be asked about.

    Attributes:
        key: of the batch.
        reports: in it.
        letters: of all its raw reports, in bytes; 0 where findings were delivered.
        pairs: tentative findings with their sentences.
        sentences: different masked sentences of these.
    """

    key: str
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
    counter = _Counter(configuration, registrations, ranker, rebuild=rebuild)
    statistics = None
    if configuration.judges.models:
        ledger = Ledger.open_read_only(configuration.ledger_location)
        if ledger is not None:
            with closing(ledger):
                statistics = ledger.statistics()
    lines = []
    for questions in counter.questions(statistics):
        lines.append(estimate_line(questions, record_of(questions, statistics)))
    minutes, in_all = estimate_totals(lines)
    batches = counter.batches
    prices = [configuration.judges.models[line["judge"]].price for line in lines]
    remarks = []
    if not counter.asks_language_models:
        remarks.append(_FREE)
    elif not lines:
        remarks.append(_CURRENT)
    return {
        "preset": configuration.judges.preset,
        "ranker": ranker,
        "batches": [batch.key for batch in batches],
        "reports": sum(batch.reports for batch in batches),
        "pairs": round(total(batch.pairs for batch in batches).expected),
        "sentences": round(total(batch.sentences for batch in batches).expected),
        "steps": counter.steps if lines else None,
        "lines": lines,
        "prices_as_of": sorted({price.as_of.isoformat() for price in prices if price}),
        "remarks": remarks,
        "minutes": minutes,
        "total": in_all,
    }


class _Counter:
    """Counts the questions of each stage, upstream first."""

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
        self._tables = configuration.home.tables
        self._ranker = ranker
        self._members = self._judges.members(ranker)
        new = {
            registration.batch.key: registration
            for registration in registrations
            if registration.is_new
        }
        registered = configuration.home.registered()
        self._stages = _planned(configuration, registered, ranker, rebuild=rebuild)
        self._new_keys = new.keys()
        self._kind_by_batch = {batch.key: batch.kind for batch in registered}
        self._kind_by_batch |= {
            key: registration.batch.kind for key, registration in new.items()
        }
        deliveries: dict[str, Delivery | None] = dict.fromkeys(
            [batch.key for batch in registered]
        )
        deliveries |= {key: registration.delivery for key, registration in new.items()}
        pairs_of_a_report = self._pairs_of_a_report(registered)
        self.batches = [
            self._count(key, delivery, pairs_of_a_report)
            for key, delivery in deliveries.items()
        ]
        self.steps = self._mean_steps()

    @property
    def asks_language_models(self) -> bool:
        """Whether a run may ask any."""
        asked = {self._judges.extractor, *self._members}
        if "text" in self._kind_by_batch.values():
            asked.add(self._judges.structurer)
        return not asked.isdisjoint(self._judges.models)

    # What there is

    def _count(
        self, key: str, delivery: Delivery | None, pairs_of_a_report: float
    ) -> BatchCounts:
        """Count a batch by its stored tables, else by its files."""
        delivery = delivery or self._configuration.home.delivery(key)
        letters = 0
        if self._kind_by_batch[key] == "text":
            lengths = [*map(len, delivery.raw_reports()["content"])]
            letters = sum(lengths)
        if self._is_stored("findings", key):
            findings = stored_table(self._tables, "findings", key)
        elif self._kind_by_batch[key] == "findings":
            corpus_settings = self._configuration.settings.corpus
            findings = take_in(delivery, corpus_settings).findings
        else:
            expected = len(lengths) * pairs_of_a_report
            pairs = Range(FEWER_PAIRS * expected, expected, MORE_PAIRS * expected)
            return BatchCounts(key, len(lengths), letters, pairs, pairs)
        pairs = exactly(len(_tentative(findings)))
        sentences = pairs
        extractor = self._judges.extractor
        if self._is_stored("hedge_phrases", extractor, key):
            phrases = stored_table(self._tables, "hedge_phrases", extractor, key)
            sentences = exactly(phrases["masked_sentence"].nunique())
        reports = int(findings["study_id"].nunique())
        return BatchCounts(key, reports, letters, pairs, sentences)

    def _pairs_of_a_report(self, registered: Sequence[Batch]) -> float:
        """Return the pairs of a report in what the home has read, else the paper's."""
        read = [
            stored_table(self._tables, "findings", batch.key)
            for batch in registered
            if self._is_stored("findings", batch.key)
        ]
        reports = sum(frame["study_id"].nunique() for frame in read)
        if not reports:
            return PUBLISHED_PAIRS / PUBLISHED_REPORTS
        return sum(len(_tentative(frame)) for frame in read) / reports

    def _is_stored(self, table: str, *keys: str) -> bool:
        return bool(partition_path(self._tables, table, *keys).exists())

    def _needs(self, job: str, *keys: str) -> bool:
        """Whether a run would make a partition that asks judges."""
        if keys[-1] in self._new_keys:
            return True
        return any(stage.job == job and stage.keys == keys for stage in self._stages)

    # What is asked, upstream first

    def questions(self, statistics: pd.DataFrame | None) -> Iterable[Questions]:
        """Yield the questions of each stage to each language model.

        Args:
            statistics: of the ledger; None: there is none.
        """
        asked = [
            *self._about_reports(),
            *self._about_pairs(),
            *self._about_phrases(),
            *self._about_sentences(),
        ]
        # Before its first comparison a judge answers its trial, in both orders.
        compared = {
            questions.key: questions
            for questions in asked
            if questions.task == "compare"
        }
        trial_calls = exactly(2 * len(trial_questions()))
        asked += [
            questions._replace(stage="trial", number=trial_calls, rounds=1.0)
            for questions in compared.values()
        ]
        answered = _answered(statistics)
        for questions in asked:
            key = questions.key, questions.task
            # Answers that stored tables were made of are asked about no more.
            unused = answered.get(key, 0.0) - self._used(questions)
            hits = min(max(0.0, unused), questions.number.at_most)
            answered[key] = answered.get(key, 0.0) - hits
            yield questions._replace(hits=hits)

    def _about_reports(self) -> Iterable[Questions]:
        structurer = self._judges.structurer
        batches = [
            batch
            for batch in self.batches
            if self._kind_by_batch[batch.key] == "text"
            and self._needs("structure", structurer, batch.key)
        ]
        reports = sum(batch.reports for batch in batches)
        if structurer not in self._judges.models or not reports:
            return
        letters = sum(batch.letters for batch in batches) // reports
        prompts = load_structuring_prompts(self._configuration.prompts)
        sentences = max(1, letters // LETTERS_OF_A_SENTENCE)
        yield Questions(
            "structured_findings",
            structurer,
            self._judges.models[structurer],
            exactly(reports),
            0.0,
            prompts.question([_EXAMPLE_SENTENCE] * sentences),
            FINDINGS_TOKENS_PER_SENTENCE * sentences,
        )

    def _about_pairs(self) -> Iterable[Questions]:
        extractor = self._judges.extractor
        pairs = total(
            batch.pairs
            for batch in self.batches
            if self._needs("extract_hedges", extractor, batch.key)
        )
        if extractor not in self._judges.models or not pairs.at_most:
            return
        question = ExtractionQuestion("opacity", EXAMPLE)
        prompts = load_prompts(self._configuration.prompts)
        yield Questions(
            "hedge_phrases",
            extractor,
            self._judges.models[extractor],
            pairs,
            0.0,
            prompts.extraction(question).prompt,
            PHRASES_TOKENS,
        )

    def _about_phrases(self) -> Iterable[Questions]:
        matches = self._matches()
        if not matches.at_most:
            return
        for judge in self._members:
            is_first = not self._is_stored("comparison_matches", judge)
            if judge in self._judges.models and (
                is_first or self._needs("compare", judge)
            ):
                yield self._comparisons("comparison_matches", judge, matches)

    def _matches(self) -> Range:
        """Count the comparisons of the vocabulary: known where it is stored."""
        extractor = self._judges.extractor
        is_stored = self._is_stored("hedge_vocabulary", extractor)
        if is_stored and not self._needs("build_vocabulary", extractor):
            vocabulary = stored_table(self._tables, "hedge_vocabulary", extractor)
            return exactly(len(schedule(vocabulary, self._settings)))
        if self._settings.reference_scale == "published":
            return exactly(0)
        pairs = total(batch.pairs for batch in self.batches)
        phrases = [
            min(PUBLISHED_PHRASES, PUBLISHED_PHRASES * count / PUBLISHED_PAIRS)
            for count in pairs
        ]
        if self._settings.reference_scale == "auto":
            # Fewer phrases of its own: the published scale is used, and nobody asked.
            least = self._settings.reference_scale_minimum
            phrases = [count if count >= least else 0.0 for count in phrases]
        counted = (
            self._settings.repetitions * count * (count - 1) / 2 for count in phrases
        )
        return Range(*(max(0.0, count) for count in counted))

    def _about_sentences(self) -> Iterable[Questions]:
        sentences = total(
            batch.sentences
            for batch in self.batches
            if self._needs("refit", self._ranker, batch.key)
        )
        if not sentences.at_most:
            return
        fewest, most = self._bounds_of_steps()
        answers = Range(
            *(
                answers_per_judge(steps, self._settings.panel_steps, len(self._members))
                for steps in (fewest, self.steps, most)
            )
        )
        for judge in self._members:
            if judge in self._judges.models:
                yield self._comparisons(
                    "fitted_probabilities", judge, sentences.times(answers), self.steps
                )

    def _comparisons(
        self, stage: str, judge: str, number: Range, rounds: float = 1.0
    ) -> Questions:
        prompts = load_prompts(self._configuration.prompts)
        model = self._judges.models[judge]
        question = ComparisonQuestion(EXAMPLE, EXAMPLE)
        prompt: Prompt = prompts.comparison(question, model.mode).prompt
        number = number.times(exactly(model.answers_each))
        return Questions(stage, judge, model, number, 0.0, prompt, LABEL_TOKENS, rounds)

    def _bounds_of_steps(self) -> tuple[float, float]:
        """Return the fewest and the most steps of a fit (explicit.md section 5)."""
        # A fit ends when it has met every phrase so often as it may.
        most = self._settings.opponent_limit * PUBLISHED_PHRASES
        most = max(1, min(self._settings.step_limit, most))
        return min(self._settings.patience, most), most

    def _mean_steps(self) -> float:
        """Return the mean steps of this ranker's stored fits, else the paper's.

        The paper's are for its patience, and are scaled to that of the settings.
        """
        fewest, most = self._bounds_of_steps()
        steps = pd.concat([pd.Series(dtype=float), *self._stored_steps()])
        # A sentence without a fit took no steps.
        steps = steps[steps > 0]
        published = PUBLISHED_STEPS * self._settings.patience / PUBLISHED_PATIENCE
        expected = float(steps.mean()) if len(steps) else published
        return min(max(expected, fewest), most)

    def _stored_steps(self) -> list[pd.Series]:
        """Return the steps of the fits of each batch, one for each sentence."""
        steps = []
        for batch in self._kind_by_batch:
            if self._is_stored("fitted_probabilities", self._ranker, batch):
                fitted = stored_table(
                    self._tables, "fitted_probabilities", self._ranker, batch
                )
                steps.append(fitted.drop_duplicates("sentence_key")["steps"])
        return steps

    def _used(self, questions: Questions) -> float:
        """Count the answers of a judge that are in stored tables which stay."""
        task = questions.task
        if questions.stage == "trial":
            return 0.0
        if task == "structure":
            return sum(
                batch.reports
                for batch in self.batches
                if not self._needs("structure", questions.key, batch.key)
                and self._is_stored("structured_findings", questions.key, batch.key)
            )
        if task == "extract":
            return sum(
                batch.pairs.expected
                for batch in self.batches
                if not self._needs("extract_hedges", questions.key, batch.key)
                and self._is_stored("hedge_phrases", questions.key, batch.key)
            )
        used = 2.0 * len(trial_questions())
        each = self._judges.models[questions.key].answers_each
        if not self._needs("compare", questions.key) and self._is_stored(
            "comparison_matches", questions.key
        ):
            matches = stored_table(self._tables, "comparison_matches", questions.key)
            used += each * len(matches)
        for batch in self._kind_by_batch:
            is_stored = self._is_stored("fitted_probabilities", self._ranker, batch)
            if is_stored and not self._needs("refit", self._ranker, batch):
                fitted = stored_table(
                    self._tables, "fitted_probabilities", self._ranker, batch
                )
                steps = fitted.drop_duplicates("sentence_key")["steps"]
                used += each * sum(
                    answers_per_judge(
                        count, self._settings.panel_steps, len(self._members)
                    )
                    for count in steps
                )
        return used


def _planned(
    configuration: Configuration,
    registered: Sequence[Batch],
    ranker: str,
    *,
    rebuild: bool,
) -> list[Stage]:
    """Plan the run of what is registered; nothing of a home that is not there."""
    if not registered:
        return []
    with dagster_instance(configuration.home) as instance:
        runner = Runner(configuration, instance)
        return runner.plan(ranker, rebuild=rebuild, notes=False)


def _tentative(findings: pd.DataFrame) -> pd.DataFrame:
    """Return the tentative findings; history takes no part (explicit.md section 0)."""
    is_tentative = findings["status"].isin(["tp", "tn"])
    return findings[is_tentative & (findings["section"] != "hist")]


def _answered(statistics: pd.DataFrame | None) -> dict[tuple[str, str], float]:
    """Count the questions that the ledger has answered, by judge and task."""
    if statistics is None:
        return {}
    answered: dict[tuple[str, str], float] = {}
    for row in statistics.to_dict("records"):
        key = str(row["judge"]), str(row["stage"])
        answered[key] = answered.get(key, 0.0) + float(row["questions"])
    return answered
