"""What a run would ask and spend, counted beforehand: nothing is written or sent.

Questions that are known beforehand (reports, pairs, comparisons of the vocabulary) are looked up in the
ledger one by one. Of fits their number is a formula, sentences x steps, less the rounds that the ledger has.
The plan is that of a run; what follows from the counts is in `judges/estimate.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property

import pandas as pd

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.findings.structured import take_in_structured
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.texts.receiving import Received, receive
from lunguage_assets.current.plan import Stage, Wanted, plan
from lunguage_assets.current.standing import Standings
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.amendments import newest_only
from lunguage_assets.explicit.hedges.hedging import hedge_phrases, load_corrections
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.home.batch import Batch
from lunguage_assets.home.home import Home, Registration
from lunguage_assets.home.store import partition_path, read_table, stored_partitions
from lunguage_assets.judges.asking.budget import output_limit
from lunguage_assets.judges.estimate import (
    FINDINGS_TOKENS_PER_SENTENCE,
    LABEL_TOKENS,
    PHRASES_TOKENS,
    PUBLISHED_STEPS,
    RUN_STAGES,
    WRAPPED_TOKENS,
    Asked,
    Estimate,
    EstimateLine,
    PriceUsed,
    PromptSize,
    RunStage,
    answers_per_judge,
    expected_reasoning,
    line,
    stage_minutes,
)
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.opening import make_judge
from lunguage_assets.judges.policy import preflight
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge
from lunguage_assets.judges.recorded import NotRecorded, RecordedJudge, recorded_answers
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.structuring.contract import Sentence
from lunguage_assets.structuring.model.prompts import load_structuring_prompts, structuring_request
from lunguage_assets.structuring.model.structurer import sentences_asked
from lunguage_assets.structuring.reading import read_reports, sectioned_reports
from lunguage_assets.structuring.rows import structured_tables
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.tables import HEDGE_PHRASES, TABLES

_ASKS = {"structured_findings": "structure", "hedge_phrases": "extract"}
"""What a stage asks, in the ledger's words; the other two ask to compare."""

_WRAPPED = frozenset({"openai", "azure-openai", "anthropic"})
"""Providers whose constrained answer is a JSON object around the label."""

_PROMPTS_MEASURED = 500
"""So many prompts of a fit are written out to know how long they are."""

_PUBLISHED_PATIENCE = 10


def estimate_run(
    home: HomeResource,
    registration: Registration | Sequence[Registration],
    ranker: str,
    *,
    rebuild: bool = False,
    environ: Mapping[str, str] | None = None,
    today: date | None = None,
) -> Estimate:
    """Calls, tokens, dollars and minutes of `lunguage run`, before anything is spent.

    Args:
        home: need not exist.
        registration: of the batch or batches, as `Home.examine` returns them.
        ranker: `panel` or one judge.
        rebuild: as with `--rebuild-ranking`.
        environ: where the addresses of own servers are read; None: of this process.
        today: compared with the models' last days; None: today.

    Raises:
        LunguageError: what would stop the run before its first question: unusable files, settings, templates.
    """
    wanted = [registration] if isinstance(registration, Registration) else registration
    ledger = LedgerReader.at(home.ledger_place) if home.judges.models else None
    try:
        counting = _Counting(home, wanted, ranker, ledger)
        counting.count(rebuild)
        return counting.estimate(environ or os.environ, today or datetime.now(UTC).date())
    finally:
        if ledger is not None:
            ledger.close()


@dataclass(frozen=True)
class PreviewHome(Home):
    """A home with the registrations of a delivery, which are not made: its files are read where they lie."""

    registrations: tuple[Registration, ...] = field(kw_only=True)

    def registered(self) -> list[Batch]:
        """All batches after the registrations, oldest first."""
        return [*super().registered(), *(new.batch for new in self.registrations if new.is_new)]

    def batch(self, key: str) -> Batch:
        """A batch, also one that is not registered yet."""
        found = self._preview(key)
        return super().batch(key) if found is None else found.batch

    def delivery(self, key: str) -> Delivery:
        """Files of a batch, where they lie."""
        found = self._preview(key)
        return super().delivery(key) if found is None else found.delivery

    def _preview(self, key: str) -> Registration | None:
        return next((one for one in self.registrations if one.batch.key == key), None)


class _Counting:
    """The stages of a plan, and what each would ask of each language model."""

    def __init__(
        self,
        resource: HomeResource,
        registrations: Sequence[Registration],
        ranker: str,
        ledger: LedgerReader | None,
    ) -> None:
        self.resource, self.ranker, self.ledger = resource, ranker, ledger
        self.home = PreviewHome(resource.home.root, registrations=tuple(registrations))
        self.judges, self.settings = resource.judges, resource.settings
        self.members: tuple[str, ...] = self.judges.members(ranker)
        self.prompts = load_prompts(resource.prompts)
        self.stages: list[Stage] = []
        self.asked: list[Asked] = []
        self.pairs: dict[str, pd.DataFrame] = {}  # `HEDGE_PHRASES` of the batches that would be read
        self.to_structure: list[Sequence[Sentence]] = []
        self.reports, self.remarks = dict[str, int](), list[str]()
        self.vocabulary, self.guessed = pd.DataFrame(), False
        self.steps: float | None = None

    @cached_property
    def models(self) -> dict[str, ModelSlot]:
        """Language models that this run could ask: judges, and the structurer where there are raw reports."""
        keys = {self.judges.extractor, *self.members}
        if any(batch.kind == "text" for batch in self.home.registered()):
            keys.add(self.judges.structurer)
        return {key: slot for key, slot in self.judges.models.items() if key in keys}

    def judge(self, key: str) -> Judge:
        """A judge that sends nothing: what the ledger has of a language model, or the rules."""
        slot = self.models.get(key)
        return RecordedJudge(key, slot, self.prompts, self.ledger) if slot else make_judge(key, self.judges)

    def count(self, rebuild: bool) -> None:
        """Count what a run would ask in the stages of its plan."""
        if not self.models:
            for batch in (one.batch.key for one in self.home.registrations):
                self.findings_of(batch)  # unusable files would stop an offline run too
            self.remarks.append(
                "No language model is asked: the judges are rule-based and run in this process. It costs "
                "nothing."
            )
            return
        now = Standings(self.home, self.judges, self.resource.prompts)
        self.stages = plan(now, Wanted(self.ranker, rebuild=rebuild))
        findings = {
            batch: self.findings_of(batch)
            for batch in dict.fromkeys([*self.planned("extract_hedges"), *self.planned("refit")])
        }
        self.reports = {batch: frame["study_id"].nunique() for batch, frame in findings.items()}
        self.structured()
        self.extracted(findings)
        self.vocabulary = self.collected()
        ranking = self.compared()
        if self.planned("refit"):
            self.fitted(findings, ranking)

    def planned(self, job: str) -> list[str]:
        """The last key of every partition that a job would make."""
        return [stage.keys[-1] for stage in self.stages if stage.job == job]

    # --- the stages, upstream first

    def findings_of(self, batch: str) -> pd.DataFrame:
        """The findings of a batch: those stored, or as a run would read them, with the offline structurer's
        where a model has not answered yet.
        """
        if self.stages and batch not in self.planned("ingest"):
            return self.stored("findings", batch)
        delivery, options = self.home.delivery(batch), self.settings.corpus
        if self.home.batch(batch).kind != "text":
            return take_in(delivery, options).findings
        received = receive(delivery, options)
        read = read_reports(received)
        reports = list(sectioned_reports(read.report_texts, read.report_sentences))
        rows = structured_tables(reports, RuleStructurer(received.terms).structure(reports))
        if batch in self.planned("structure"):
            self.to_structure += [sentences for one in reports if (sentences := sentences_asked(one))]
        texts = Received(read.report_texts, read.rejected_reports, read.reading_notes, received.terms)
        return take_in_structured(texts, rows.structured_findings, options).findings

    def structured(self) -> None:
        """Reports that a language model would be asked about."""
        slot, sent = self.models.get(self.judges.structurer), self.to_structure
        if slot is None or not sent:
            return
        prompts = load_structuring_prompts(self.resource.prompts)
        requests = [structuring_request(prompts.question(one), slot.mode) for one in sent]
        keys = [request_key(slot.binding, one) for one in requests]
        hits = len(recorded_answers(self.ledger, slot.binding, keys))
        answer_tokens = FINDINGS_TOKENS_PER_SENTENCE * sum(map(len, sent)) / len(sent)
        size = PromptSize.of(request.prompt for request in requests)
        self.ask("structured_findings", self.judges.structurer, len(set(keys)), hits, size, answer_tokens)

    def extracted(self, findings: Mapping[str, pd.DataFrame]) -> None:
        """The phrases of every batch, where they are not stored with the lexicon's for those not known."""
        extractor, corrections = self.judges.extractor, load_corrections(self.home.corrections_file)
        judge = self.judge(extractor)
        for batch, frame in findings.items():
            if batch in self.planned("extract_hedges"):
                self.pairs[batch] = hedge_phrases(frame, judge, corrections)
            else:
                self.pairs[batch] = self.stored("hedge_phrases", extractor, batch)
        if isinstance(judge, RecordedJudge) and judge.keys:
            size, self.guessed = PromptSize.of(judge.prompts), judge.hits < len(judge.keys)
            self.ask("hedge_phrases", extractor, len(judge.keys), judge.hits, size, PHRASES_TOKENS)

    def collected(self) -> pd.DataFrame:
        extractor = self.judges.extractor
        if extractor not in self.planned("build_vocabulary"):
            return self.stored("hedge_vocabulary", extractor)
        frames = {
            batch: self.stored("hedge_phrases", extractor, batch)
            for judge, batch in stored_partitions(self.home.tables, "hedge_phrases")
            if judge == extractor
        }
        order = [batch.key for batch in self.home.registered()]
        hedges = newest_only(frames | self.pairs, order)
        collected = HEDGE_PHRASES.frame() if hedges is None else hedges
        # phrases of the rules lack some that a model will find: they do not decide against its own ranking
        anchors = None if self.guessed else self.resource.anchor_set()
        return hedge_vocabulary(collected, self.settings.explicit, anchors)

    def compared(self) -> pd.DataFrame | None:
        """The ranking: that stored, or that of comparisons which the ledger has all; None: not known yet."""
        matches, options = dict[str, pd.DataFrame](), self.settings.explicit
        for key in self.members:
            judge = self.judge(key)
            with suppress(NotRecorded):
                if key not in self.planned("compare"):
                    matches[key] = self.stored("comparison_matches", key)
                else:
                    matches[key] = comparison_matches(self.vocabulary, judge, options)
            if isinstance(judge, RecordedJudge) and judge.keys:
                size = PromptSize.of(judge.prompts)
                self.ask("comparison_matches", key, len(judge.keys), judge.hits, size, self.label_tokens(key))
        try:
            if self.planned("compare"):
                self.resource.require_anchors(set(self.vocabulary["phrase"][self.vocabulary["retained"]]))
            if self.ranker not in self.planned("rank"):
                return self.stored("reference_ranking", self.ranker)
            if len(matches) < len(self.members):
                return None
            identities = [self.judge(key).identity for key in self.members]
            own = reference_ranking(self.vocabulary, matches, options, identities)
            return self.resource.on_a_scale(own, identities)
        except MethodError as error:
            self.remarks.append(f"With phrases like these a run would stop before the fits: {error}")
            return None

    def fitted(self, findings: Mapping[str, pd.DataFrame], ranking: pd.DataFrame | None) -> None:
        """Fits: those that the ledger has whole are played again, of the others the questions are a formula.

        A sentence of several batches is fitted in each, and paid for once.
        """
        panel = [self.judge(key) for key in self.members]
        models = [judge for judge in panel if isinstance(judge, RecordedJudge)]
        batches = self.planned("refit")
        whole, done = set[str](), dict.fromkeys(self.members, 0)
        for batch in batches if ranking is not None and self.ledger is not None else ():
            anchors = self.resource.anchors(ranking)
            tables = findings[batch], self.pairs[batch], self.vocabulary, ranking
            before = {judge.key: judge.hits for judge in models}
            with suppress(NotRecorded):
                fit_pairs(*tables, panel, anchors, self.settings.explicit)
                whole |= self.sentences([batch])
                done = {judge.key: done[judge.key] + judge.hits - before[judge.key] for judge in models}
        open_ = self.sentences(batches) - whole
        self.steps = self.mean_steps() if self.sentences(batches) else None
        if not self.steps:
            return
        fewest, most = self.step_limits()
        for judge in models:
            size, hits = self.fit_prompts(judge, sorted(open_)), judge.hits
            expected = done[judge.key] + len(open_) * self.answers(self.steps)
            less = hits - done[judge.key]
            at_least, at_most = (max(0.0, len(open_) * self.answers(n) - less) for n in (fewest, most))
            self.ask(
                "fitted_probabilities", judge.key, max(expected, float(hits)), hits, size,
                self.label_tokens(judge.key), (at_least, at_most), self.steps * max(1, len(batches)),
            )  # fmt: skip

    # --- what the formula of a fit needs

    def sentences(self, batches: Sequence[str]) -> set[str]:
        """Different masked sentences of these batches."""
        return {one for batch in batches for one in self.pairs[batch]["masked_sentence"].dropna()}

    def step_limits(self) -> tuple[int, int]:
        """Steps of a fit, at least and at most (explicit.md section 5, step 4)."""
        options = self.settings.explicit
        phrases = int(self.vocabulary["retained"].sum())
        most = max(1, min(options.step_limit, options.opponent_limit * phrases))
        return min(options.patience, most), most

    def mean_steps(self) -> float:
        """Steps of a fit: the mean of this ranker's stored fits, else the paper's, for this patience."""
        stored = [
            self.stored("fitted_probabilities", ranker, batch)[["sentence_key", "steps"]]
            for ranker, batch in stored_partitions(self.home.tables, "fitted_probabilities")
            if ranker == self.ranker
        ]
        fits = pd.concat(stored).drop_duplicates("sentence_key") if stored else pd.DataFrame({"steps": []})
        steps = fits["steps"][fits["steps"] > 0]
        published = PUBLISHED_STEPS * self.settings.explicit.patience / _PUBLISHED_PATIENCE
        fewest, most = self.step_limits()
        return min(max(float(steps.mean()) if len(steps) else published, fewest), most)

    def answers(self, steps: float) -> float:
        """Answers of one judge about a sentence."""
        return answers_per_judge(steps, self.settings.explicit.panel_steps, len(self.members))

    def fit_prompts(self, judge: RecordedJudge, sentences: Sequence[str]) -> PromptSize:
        """The size of prompts that show these sentences beside examples of the vocabulary."""
        examples = [one for row in self.vocabulary["example_sentences"] for one in row] or [""]
        step = max(1, len(sentences) // _PROMPTS_MEASURED)
        return PromptSize.of(
            self.prompts.comparison(ComparisonQuestion(one, examples[number % len(examples)]))
            for number, one in enumerate(sentences[::step])
        )

    # --- what all stages share

    def stored(self, table: str, *keys: str) -> pd.DataFrame:
        return read_table(TABLES[table], partition_path(self.home.tables, table, *keys))

    def label_tokens(self, key: str) -> float:
        slot = self.models[key]
        wrapped = slot.mode == "enum" and slot.provider in _WRAPPED
        return LABEL_TOKENS + WRAPPED_TOKENS * wrapped

    def ask(
        self,
        stage: RunStage,
        key: str,
        questions: float,
        hits: int,
        prompt: PromptSize,
        answer_tokens: float,
        limits: tuple[float, float] | None = None,
        rounds: float = 1.0,
    ) -> None:
        """Note what a stage asks a judge; `limits`: open questions at least and at most, where not known."""
        slot, task = self.models[key], _ASKS.get(stage, "compare")
        experience = self.ledger.experience(key, task, slot.model) if self.ledger is not None else None
        fewest, most = limits or (questions - hits, questions - hits)
        self.asked.append(
            Asked(stage, key, slot, questions, hits, fewest, most, prompt, answer_tokens, experience, rounds)
        )

    def estimate(self, environ: Mapping[str, str], today: date) -> Estimate:
        """What was counted, with prices."""
        asked = sorted(self.asked, key=lambda one: RUN_STAGES.index(one.stage))
        lines = tuple(line(one) for one in asked)
        remarks = [*self.remarks, *self.said_of([one for one in lines if one.calls], environ, today)]
        prices = {key: (slot.model, slot.price) for key, slot in self.models.items()}
        has_vocabulary = len(self.vocabulary) > 0
        return Estimate(
            preset=self.judges.preset,
            ranker=self.ranker,
            batches=tuple(self.reports or (one.batch.key for one in self.home.registrations)),
            reports=sum(self.reports.values()),
            pairs=sum(map(len, self.pairs.values())),
            sentences=len(self.sentences(list(self.pairs))),
            phrases=int(self.vocabulary["retained"].sum()) if has_vocabulary else 0,
            ruler=str(self.vocabulary["ruler"].iloc[0]) if has_vocabulary else "",
            ruler_reason=str(self.vocabulary["ruler_reason"].iloc[0]) if has_vocabulary else "",
            steps=self.steps,
            lines=lines,
            minutes={
                stage: stage_minutes([one for one in asked if one.stage == stage]) for stage in RUN_STAGES
            },
            prices=tuple(
                PriceUsed(key, model, price.input, price.output, price.as_of.isoformat())
                for key, (model, price) in prices.items()
                if price is not None
            ),
            remarks=tuple(dict.fromkeys(remarks)),
        )

    def said_of(
        self, asked: Sequence[EstimateLine], environ: Mapping[str, str], today: date
    ) -> Iterator[str]:
        """What is unknown of the judges that would be asked, and what would stop the run."""
        for one in asked:
            yield from _too_little_room(one, output_limit(self.models[one.judge].binding))
        guessed = {one.judge for one in asked if one.basis == "assumed"}
        for key in dict.fromkeys(one.judge for one in asked):
            slot = self.models[key]
            if slot.price is None:
                yield (
                    f"judge {key!r} has no price in the judges file: its tokens are counted, its dollars are "
                    "not known."
                )
            if output_limit(slot.binding) is None:
                yield (
                    f"judge {key!r} has no limit on output tokens in its parameters: its worst case is not "
                    "known."
                )
            if key in guessed and expected_reasoning(slot):
                yield (
                    f"judge {key!r} may think before it answers: how much is a guess until the ledger has "
                    "its answers."
                )
            data_class = self.home.registrations[0].corpus.data_class
            for problem in preflight(key, slot, environ, data_class, today):
                what = "A run would be refused" if problem.severity == "refusal" else "Warning"
                yield f"{what}: {problem.message}"


def _too_little_room(one: EstimateLine, limit: int | None) -> Iterator[str]:
    """What to do when a judge may not answer at the length at which a report is structured."""
    wanted = one.output_tokens // one.calls
    if one.stage == "structured_findings" and limit is not None and wanted > limit:
        yield (
            f"judge {one.judge!r} may answer with {limit} tokens at most, and the findings of a report take "
            f"about {wanted:,}: most reports would be unreadable. Name a structurer with more room in its "
            "parameters."
        )
