"""What a run would ask and spend, counted beforehand: nothing is written or sent.

The plan of the run (`lineage.run_plan.plan`) says which steps it would make. They are
made here in memory, by the functions that the assets call, with judges that only look
into the ledger. What a step reads is what was made here before it, else what is stored.

Questions that are known beforehand (reports, pairs, comparisons of the vocabulary) are
looked up in the ledger one by one, and fits that it has are played again. The questions
of other fits are a formula, sentences x steps. What they cost is not here, but in
`judges.estimate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple, cast

import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.vocabulary import (
    hedge_vocabulary as collect_vocabulary,
)
from lunguage_assets.explicit.open_judges import offline_judge
from lunguage_assets.explicit.rating.matches import comparison_matches as play_matches
from lunguage_assets.judges.asking.asker import Asker
from lunguage_assets.judges.estimate import (
    FINDINGS_TOKENS_PER_SENTENCE,
    LABEL_TOKENS,
    PHRASES_TOKENS,
    PUBLISHED_PATIENCE,
    PUBLISHED_STEPS,
    NotRecorded,
    RecordedAsker,
    answers_per_judge,
    estimate_line,
    estimate_totals,
    mean,
)
from lunguage_assets.judges.judge_config import OfflineJudgeConfig
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge, load_prompts
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge
from lunguage_assets.judges.requests import Prompt
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.lineage.recipes import RECIPES, STEPS_OF_JOB
from lunguage_assets.lineage.run_plan import Stage, plan
from lunguage_assets.lineage.staleness import Keys, asks_judges
from lunguage_assets.orchestration.assets.corpus import read_texts, take_in_batch
from lunguage_assets.orchestration.assets.explicit import (
    extract_phrases,
    hedges_of_newest_studies,
    panel_comparisons,
    rank_comparisons,
    retained_phrases,
)
from lunguage_assets.orchestration.assets.steps import (
    StepInputs,
    Tables,
    read_partitions,
    step_inputs,
)
from lunguage_assets.orchestration.preview import PreviewHome, PreviewTables
from lunguage_assets.orchestration.resources import (
    anchor_set,
    anchors_of,
    ranking_on_scale,
    require_anchor_phrases,
)
from lunguage_assets.structuring.contract import SectionedReport
from lunguage_assets.structuring.model.structurer import (
    load_structuring_prompts,
    sentences_asked,
    structuring_request,
)
from lunguage_assets.structuring.rows import sectioned_reports, structured_tables
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.workspace.home import Registration
from lunguage_assets.workspace.store import stored_partitions
from lunguage_assets.workspace.table_record import Lineage

LEARNT_FROM = 2000
"""Sentences that a panel is asked about, once, so that a distilled model can learn
(docs/distilled.md).
"""

PROMPTS_SHOWN = 500
"""Prompts of fits that are written to know how long one is."""

_CURRENT = "Everything is current: a run would make and ask nothing."
_FREE = (
    "No language model is asked: the judges are rule-based and run in this process. It "
    "costs nothing."
)


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
        as `estimate_totals`. `by_fit` has what fits alone would ask: of the `panel`,
        or, `distilled`, of the panel about `LEARNT_FROM` sentences from which a model
        learns. `steps` is the expected mean of a fit, None without fits by a language
        model. `remarks` say what would stop a run for want of a scale.

    Raises:
        LunguageError: what would stop the run before its first question: unusable
            files, settings, templates.
    """
    ledger = None
    if configuration.judges.models:
        ledger = Ledger.open_read_only(configuration.ledger_location)
    with nullcontext() if ledger is None else closing(ledger):
        preview = RunPreview(configuration, registrations, ranker, ledger)
        preview.make(rebuild)
        return preview.estimate()


class RunPreview:
    """The steps of a run's plan, made in memory, and what each would ask."""

    def __init__(
        self,
        configuration: Configuration,
        registrations: Sequence[Registration],
        ranker: str,
        ledger: Ledger | None,
    ) -> None:
        self._home = PreviewHome(
            configuration.home.root,
            registrations={
                registration.batch.key: registration for registration in registrations
            },
        )
        self._configuration = replace(configuration, home=self._home, processes=1)
        self._judges = configuration.judges
        self._settings = configuration.settings.explicit
        self._ranker = ranker
        self._members: Sequence[str] = self._judges.members(ranker)
        self._ledger = ledger
        self._prompts = load_prompts(configuration.prompts)
        self._staleness = self._configuration.staleness()
        self._tables = PreviewTables(self._home)
        self._stages: Sequence[Stage] = []
        self._previews: Mapping[str, Callable[[Keys], Tables]] = {
            "report_texts": self._read_texts,
            "structured_findings": self._structure,
            "findings": self._take_in,
            "hedge_phrases": self._extract,
            "hedge_vocabulary": self._collect,
            "comparison_matches": self._compare,
            "reference_ranking": self._rank,
        }
        self._askers: dict[tuple[str, str], RecordedAsker] = {}
        self._sentences_of_reports: list[int] = []
        self._phrases_are_guessed = False
        self._unknown_comparisons: set[str] = set()
        self._ranking_is_known = True
        self._lines: list[dict[str, Any]] = []
        self._remarks: list[str] = []
        self._steps: float | None = None
        self._by_fit: dict[str, dict[str, Any]] = {}

    def make(self, rebuild: bool) -> None:
        """Make what the plan says, as far as the ledger has the answers."""
        if not self._asks_language_models():
            self._take_in_new_batches()
            self._remarks.append(_FREE)
            return
        self._stages = plan(self._staleness, self._ranker, rebuild=rebuild)
        if not self._stages:
            self._remarks.append(_CURRENT)
        # In the order of the plan each step finds what it reads. A step that needs an
        # answer that nobody has yet makes nothing; what follows is counted without it.
        for stage in self._stages:
            for step in STEPS_OF_JOB[stage.job]:
                self._make_step(step, stage.keys)
        self._lines = [
            estimate_line(step, asker, self._answer_tokens(step))
            for step in RECIPES
            for asker in self._askers_of(step)
            if asker.keys
        ]
        if self._planned("refit"):
            self._count_fits()

    def _asks_language_models(self) -> bool:
        judges = {self._judges.extractor, *self._members}
        if any(batch.kind == "text" for batch in self._home.registered()):
            judges.add(self._judges.structurer)
        return not judges.isdisjoint(self._judges.models)

    def _take_in_new_batches(self) -> None:
        """Unusable files would stop a run that costs nothing, too."""
        for batch in self._home.registrations:
            if self._home.batch(batch).kind == "text":
                self._make_step("report_texts", (batch,))
                structurer = self._judges.structurer
                self._make_step("structured_findings", (structurer, batch))
            self._make_step("findings", (batch,))

    def _make_step(self, step: str, keys: Keys) -> None:
        if step in self._previews:
            self._tables.add(self._previews[step](keys), keys)

    def _inputs(self, step: str, keys: Keys) -> StepInputs:
        frames = read_partitions(self._staleness, step, keys, self._tables)
        return step_inputs(step, keys, frames, Lineage())

    def _planned(self, job: str) -> list[str]:
        """Return the last key of every partition that a job would make."""
        return [stage.keys[-1] for stage in self._stages if stage.job == job]

    # Judges that only look into the ledger

    def _judge(self, step: str, key: str) -> Judge:
        """Return a judge whose questions are counted for a step, over all batches."""
        judge_config = self._judges.judge_config(key)
        if isinstance(judge_config, OfflineJudgeConfig):
            return offline_judge(key, judge_config)
        asker = self._asker(step, key)
        # It has all of an `Asker` that a judge uses.
        return ModelJudge(cast(Asker, asker), self._prompts, judge_config.mode)

    def _asker(self, step: str, key: str) -> RecordedAsker:
        if (step, key) not in self._askers:
            model = self._judges.models[key]
            self._askers[step, key] = RecordedAsker(key, model, self._ledger)
        return self._askers[step, key]

    def _askers_of(self, step: str) -> list[RecordedAsker]:
        """Return the language models that a step would ask."""
        return [
            asker
            for (asking_step, _), asker in self._askers.items()
            if asking_step == step
        ]

    def _answer_tokens(self, step: str) -> float:
        if step == "structured_findings":
            sentences = self._sentences_of_reports
            return FINDINGS_TOKENS_PER_SENTENCE * sum(sentences) / len(sentences)
        return PHRASES_TOKENS if step == "hedge_phrases" else LABEL_TOKENS

    # The steps, upstream first

    def _read_texts(self, keys: Keys) -> Tables:
        return read_texts(self._configuration, *keys)

    def _structure(self, keys: Keys) -> Tables:
        """Count the reports that a model would be asked about.

        The findings are those of the rules: what a model will find nobody knows.
        """
        structurer_key, batch = keys
        inputs = self._inputs("structured_findings", keys)
        reports = list(
            sectioned_reports(
                inputs.tables["report_texts"], inputs.tables["report_sentences"]
            )
        )
        if structurer_key in self._judges.models:
            self._ask_structurer(structurer_key, reports)
        terms = read_terms(self._home.delivery(batch).vocabulary, IntakeLog())
        # Also where a model is asked: later steps need some findings to count on.
        rules = RuleStructurer(terms, self._home.assertion_file)
        return structured_tables(reports, rules.structure(reports))._asdict()

    def _ask_structurer(self, key: str, reports: Sequence[SectionedReport]) -> None:
        # Some reports have nothing to ask about, such as those without findings.
        sentences_of_reports = list(filter(None, map(sentences_asked, reports)))
        prompts = load_structuring_prompts(self._configuration.prompts)
        mode = self._judges.models[key].mode
        requests = [
            structuring_request(prompts.question(sentences), mode)
            for sentences in sentences_of_reports
        ]
        self._sentences_of_reports += map(len, sentences_of_reports)
        with suppress(NotRecorded):
            self._asker("structured_findings", key).ask(requests, str)

    def _take_in(self, keys: Keys) -> Tables:
        inputs = self._inputs("findings", keys)
        return take_in_batch(self._configuration, inputs)

    def _extract(self, keys: Keys) -> Tables:
        key, _ = keys
        inputs = self._inputs("hedge_phrases", keys)
        judge = self._judge("hedge_phrases", key)
        try:
            phrases = extract_phrases(self._configuration, inputs, judge)
        except NotRecorded:
            self._phrases_are_guessed = True
            # About as many phrases as a model will find, for the steps that follow.
            rules = LexiconJudge.bundled(key)
            phrases = extract_phrases(self._configuration, inputs, rules)
        return {"hedge_phrases": phrases}

    def _collect(self, keys: Keys) -> Tables:
        inputs = self._inputs("hedge_vocabulary", keys)
        hedges = hedges_of_newest_studies(self._configuration, inputs)
        # Phrases of the rules lack some that a model will find: they do not decide
        # against its own ranking.
        anchors = None
        if not self._phrases_are_guessed:
            anchors = anchor_set(self._configuration)
        vocabulary = collect_vocabulary(hedges, self._settings, anchors)
        return {"hedge_vocabulary": vocabulary}

    def _compare(self, keys: Keys) -> Tables:
        (key,) = keys
        judge = self._judge("comparison_matches", key)
        try:
            matches = play_matches(self._vocabulary(), judge, self._settings)
        except NotRecorded:
            self._unknown_comparisons.add(key)
            return {}
        return {"comparison_matches": matches}

    def _rank(self, keys: Keys) -> Tables:
        """Rank the phrases, if the ledger has all comparisons."""
        try:
            if self._planned("compare"):
                phrases = retained_phrases(self._vocabulary())
                require_anchor_phrases(self._configuration, phrases)
            if not self._unknown_comparisons:
                inputs = self._inputs("reference_ranking", keys)
                panel = panel_comparisons(self._configuration, inputs)
                own_ranking = rank_comparisons(self._configuration, panel)
                ranking = ranking_on_scale(
                    self._configuration, own_ranking, panel.identities
                )
                return {"reference_ranking": ranking}
        except MethodError as error:
            self._remarks.append(
                f"With phrases like these a run would stop before the fits: {error}"
            )
        self._ranking_is_known = False
        return {}

    # Fits

    def _count_fits(self) -> None:
        """Count the questions of fits.

        Fits that the ledger has whole are played again; of the others the questions are
        sentences x steps. A sentence of several batches is paid for once.
        """
        panel = [self._judge("fitted_probabilities", key) for key in self._members]
        askers = self._askers_of("fitted_probabilities")
        batches = self._planned("refit")
        sentences = self._sentences(batches)
        if not askers or not sentences:
            return
        replayed = self._replay_fits(batches, panel, askers)
        lacking = sorted(sentences - replayed.sentences)
        for asker in askers:
            asker.prompts = self._example_prompts(lacking)
        answers_of_a_fit = self._answers_of_a_fit(len(panel))
        # Rounds follow each other, because each waits for the answers before it.
        rounds = (self._steps or 0.0) * len(batches)
        lines_for = partial(_fit_lines, askers, replayed.hits, answers_of_a_fit, rounds)

        is_distilled = self._staleness.is_current("distilled_scorer", self._ranker)
        learnt_from = 0 if is_distilled else min(LEARNT_FROM, len(lacking))
        for fit, count in (("panel", len(lacking)), ("distilled", learnt_from)):
            _, total = estimate_totals(lines_for(count))
            self._by_fit[fit] = {
                "sentences": count,
                "scored": len(lacking) - count,
                **total,
            }
        fitted_by_judges = [
            batch
            for batch in batches
            if asks_judges(self._staleness, self._ranker, batch)
        ]
        if fitted_by_judges:
            to_fit = self._sentences(fitted_by_judges) - replayed.sentences
            self._lines += lines_for(len(to_fit))

    def _replay_fits(
        self,
        batches: Sequence[str],
        panel: Sequence[Judge],
        askers: Sequence[RecordedAsker],
    ) -> ReplayedFits:
        """Fit the sentences of batches anew, as far as the ledger has the answers.

        Args:
            batches: that are to be fitted.
            panel: the judges, who send nothing.
            askers: what the language models among them are asked through.
        """
        sentences: set[str] = set()
        hits = dict.fromkeys(self._members, 0)
        if not self._ranking_is_known:
            return ReplayedFits(sentences, hits)
        for batch in batches:
            hits_before = {asker.key: asker.hits for asker in askers}
            tables = self._inputs("fitted_probabilities", (self._ranker, batch)).tables
            ranking = tables["reference_ranking"]
            try:
                fit_pairs(
                    tables["findings"],
                    tables["hedge_phrases"],
                    tables["hedge_vocabulary"],
                    ranking,
                    panel,
                    anchors_of(self._configuration, ranking),
                    self._settings,
                )
                sentences |= self._sentences([batch])
            except NotRecorded:
                for asker in askers:
                    hits[asker.key] += asker.hits - hits_before[asker.key]
        return ReplayedFits(sentences, hits)

    def _answers_of_a_fit(self, judges: int) -> list[float]:
        """Return the answers of one judge about a sentence.

        They are at least, expected and at most; explicit.md section 5, step 4 says when
        a fit ends.
        """
        settings = self._settings
        retained = int(self._vocabulary()["retained"].sum())
        # A fit ends when it has met every phrase so often as it may.
        most = settings.opponent_limit * retained
        most = max(1, min(settings.step_limit, most))
        fewest = min(settings.patience, most)
        self._steps = min(max(self._mean_steps(), fewest), most)
        return [
            answers_per_judge(steps, settings.panel_steps, judges)
            for steps in (fewest, self._steps, most)
        ]

    def _mean_steps(self) -> float:
        """Return the mean steps of this ranker's stored fits, else the paper's.

        The paper's are for its patience, and are scaled to that of the settings.
        """
        steps_of_sentence: dict[str, int] = {}
        for keys in stored_partitions(self._home.tables, "fitted_probabilities"):
            if keys[0] == self._ranker:
                fits = self._tables.read("fitted_probabilities", keys)
                steps = zip(fits["sentence_key"], fits["steps"], strict=True)
                steps_of_sentence.update(steps)
        # A sentence without a fit took no steps.
        steps_of_fits = [steps for steps in steps_of_sentence.values() if steps > 0]
        published = PUBLISHED_STEPS * self._settings.patience / PUBLISHED_PATIENCE
        return mean(steps_of_fits) or published

    def _example_prompts(self, sentences: Sequence[str]) -> list[Prompt]:
        """Return prompts that are as long as those of the fits will be."""
        examples = [
            example
            for examples in self._vocabulary()["example_sentences"]
            for example in examples
        ]
        questions = map(
            ComparisonQuestion, sentences[:PROMPTS_SHOWN], cycle(examples or [""])
        )
        return [self._prompts.comparison(question).prompt for question in questions]

    def _vocabulary(self) -> pd.DataFrame:
        return self._tables.read("hedge_vocabulary", (self._judges.extractor,))

    def _pairs(self, batch: str) -> pd.DataFrame:
        return self._tables.read("hedge_phrases", (self._judges.extractor, batch))

    def _sentences(self, batches: Iterable[str]) -> set[str]:
        """Return the different masked sentences of these batches."""
        sentences: set[str] = set()
        for batch in batches:
            sentences.update(self._pairs(batch)["masked_sentence"].dropna())
        return sentences

    # The result

    def estimate(self) -> dict[str, Any]:
        """Return what was counted, with sums."""
        minutes, total = estimate_totals(self._lines)
        batches = list(
            dict.fromkeys([*self._planned("extract_hedges"), *self._planned("refit")])
        )
        prices = [self._judges.models[line["judge"]].price for line in self._lines]
        registered = [batch.key for batch in self._home.registered()]
        return {
            "preset": self._judges.preset,
            "ranker": self._ranker,
            "batches": batches or list(self._home.registrations) or registered,
            "reports": sum(map(self._count_reports, batches)),
            "pairs": sum(len(self._pairs(batch)) for batch in batches),
            "sentences": len(self._sentences(batches)),
            "steps": self._steps,
            "lines": self._lines,
            "by_fit": self._by_fit,
            "prices_as_of": sorted(
                {price.as_of.isoformat() for price in prices if price}
            ),
            "remarks": self._remarks,
            "minutes": minutes,
            "total": total,
        }

    def _count_reports(self, batch: str) -> int:
        return int(self._tables.read("findings", (batch,))["study_id"].nunique())


class ReplayedFits(NamedTuple):
    """Fits that the ledger has.

    Args:
        sentences: whose fits it has whole.
        hits: answers that it has of fits of other sentences, by judge.
    """

    sentences: set[str]
    hits: Mapping[str, int]


def _fit_lines(
    askers: Sequence[RecordedAsker],
    hits: Mapping[str, int],
    answers_of_a_fit: Sequence[float],
    rounds: float,
    sentences: int,
) -> list[dict[str, Any]]:
    """Return a line per language model, for the fits of so many sentences.

    Args:
        askers: of the language models.
        hits: answers about these sentences that the ledger has, by judge.
        answers_of_a_fit: of one judge about a sentence: at least, expected, at most.
        rounds: that follow each other.
        sentences: how many are fitted.
    """
    lines = []
    for asker in askers:
        lacking = [
            max(0.0, sentences * answers - hits[asker.key])
            for answers in answers_of_a_fit
        ]
        line = estimate_line(
            "fitted_probabilities", asker, LABEL_TOKENS, lacking, rounds
        )
        lines.append(line)
    return lines
