"""What a run would ask and spend, counted beforehand: nothing is written or sent.

Questions that are known beforehand (reports, pairs, comparisons of the vocabulary) are looked up in the
ledger one by one. Of fits their number is a formula, sentences x steps, less the rounds that the ledger has.
The plan is that of a run; what follows from the counts is in `judges/estimate.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal

import pandas as pd

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.intake import take_in, take_in_structured
from lunguage_assets.corpus.texts.receiving import Received, receive
from lunguage_assets.current.plan import Stage, Wanted, plan
from lunguage_assets.current.standing import Standings
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.hedging import hedge_phrases, load_corrections
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary, newest_only
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.home.batch import Batch
from lunguage_assets.home.home import Home, Registration
from lunguage_assets.home.store import partition_path, read_table, stored_partitions
from lunguage_assets.judges.estimate import (
    FINDINGS_TOKENS_PER_SENTENCE,
    LABEL_TOKENS,
    PHRASES_TOKENS,
    PUBLISHED_STEPS,
    Estimate,
    EstimateLine,
    NotRecorded,
    Questions,
    RecordedJudge,
    answers_per_judge,
    line,
    recorded_answers,
)
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.opening import make_judge
from lunguage_assets.judges.policy import preflight
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge
from lunguage_assets.judges.requests import Prompt
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.structuring.contract import Sentence
from lunguage_assets.structuring.model.structurer import (
    load_structuring_prompts,
    sentences_asked,
    structuring_request,
)
from lunguage_assets.structuring.reading import read_reports, sectioned_reports
from lunguage_assets.structuring.rows import structured_tables
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.tables import HEDGE_PHRASES, TABLES

_ASKS = {"structured_findings": "structure", "hedge_phrases": "extract"}
"""What a stage asks, in the ledger's words; the other two ask to compare."""

_PROMPTS_MEASURED = 500
"""So many prompts of a fit are written out to know how long they are."""

_PUBLISHED_PATIENCE = 10


def estimate_run(
    home: HomeResource,
    registration: Registration | Sequence[Registration],
    ranker: str,
    *,
    rebuild: bool = False,
) -> Estimate:
    """Calls, tokens, dollars and minutes of `lunguage run`, before anything is spent.

    Args:
        home: need not exist.
        registration: of the batch or batches, as `Home.examine` returns them.
        ranker: `panel` or one judge.
        rebuild: as with `--rebuild-ranking`.

    Raises:
        LunguageError: what would stop the run before its first question: unusable files, settings, templates.
    """
    wanted = [registration] if isinstance(registration, Registration) else registration
    ledger = LedgerReader.at(home.ledger_place) if home.judges.models else None
    try:
        counting = _Counting(home, wanted, ranker, ledger)
        counting.count(rebuild)
        counting.examine()
        return counting.estimate()
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
        self.lines: list[EstimateLine] = []
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
        """Count the reports that a language model would be asked about."""
        slot, sent = self.models.get(self.judges.structurer), self.to_structure
        if slot is None or not sent:
            return
        prompts = load_structuring_prompts(self.resource.prompts)
        requests = [structuring_request(prompts.question(one), slot.mode) for one in sent]
        count = len({request_key(slot.binding, one) for one in requests})
        hits = len(recorded_answers(self.ledger, slot.binding, requests))
        answer_tokens = FINDINGS_TOKENS_PER_SENTENCE * sum(map(len, sent)) / len(sent)
        shown = [request.prompt for request in requests]
        asked = Questions(
            "structured_findings", count, hits, count - hits, count - hits, shown, answer_tokens
        )
        self.ask(self.judges.structurer, asked)

    def extracted(self, findings: Mapping[str, pd.DataFrame]) -> None:
        """Count the pairs; the phrases that are not known are the lexicon's."""
        extractor, corrections = self.judges.extractor, load_corrections(self.home.corrections_file)
        judge = self.judge(extractor)
        for batch, frame in findings.items():
            if batch in self.planned("extract_hedges"):
                self.pairs[batch] = hedge_phrases(frame, judge, corrections)
            else:
                self.pairs[batch] = self.stored("hedge_phrases", extractor, batch)
        self.guessed = self.ask_recorded("hedge_phrases", judge, PHRASES_TOKENS)

    def collected(self) -> pd.DataFrame:
        """The vocabulary that a run would compare."""
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
            self.ask_recorded("comparison_matches", judge, LABEL_TOKENS)
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
        """Count the questions of fits: those that the ledger has whole are played again, of the others the
        questions are sentences x steps.

        A sentence of several batches is fitted in each, and paid for once.
        """
        panel = [self.judge(key) for key in self.members]
        models = [judge for judge in panel if isinstance(judge, RecordedJudge)]
        batches, options = self.planned("refit"), self.settings.explicit
        whole, done = set[str](), dict.fromkeys(self.members, 0)
        for batch in batches if ranking is not None and self.ledger is not None else ():
            anchors = self.resource.anchors(ranking)
            tables = findings[batch], self.pairs[batch], self.vocabulary, ranking
            before = {judge.key: judge.hits for judge in models}
            with suppress(NotRecorded):
                fit_pairs(*tables, panel, anchors, options)
                whole |= self.sentences([batch])
                done = {judge.key: done[judge.key] + judge.hits - before[judge.key] for judge in models}
        if not self.sentences(batches):
            return
        phrases = int(self.vocabulary["retained"].sum())
        most = max(1, min(options.step_limit, options.opponent_limit * phrases))  # explicit.md section 5, 4
        fewest = min(options.patience, most)
        self.steps = min(max(self.mean_steps(), fewest), most)
        open_ = sorted(self.sentences(batches) - whole)
        at_least, expected, at_most = (
            len(open_) * answers_per_judge(steps, options.panel_steps, len(self.members))
            for steps in (fewest, self.steps, most)
        )
        for judge in models:
            hits, partly = judge.hits, judge.hits - done[judge.key]
            asked = Questions(
                "fitted_probabilities", max(done[judge.key] + expected, hits), hits,
                max(0.0, at_least - partly), max(0.0, at_most - partly), self.fit_prompts(open_),
                LABEL_TOKENS, self.steps * len(batches),
            )  # fmt: skip
            self.ask(judge.key, asked)

    # --- what the formula of a fit needs

    def sentences(self, batches: Sequence[str]) -> set[str]:
        """Different masked sentences of these batches."""
        return {one for batch in batches for one in self.pairs[batch]["masked_sentence"].dropna()}

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
        return float(steps.mean()) if len(steps) else published

    def fit_prompts(self, sentences: Sequence[str]) -> list[Prompt]:
        """Prompts that show some of these sentences beside examples of the vocabulary."""
        examples = [one for row in self.vocabulary["example_sentences"] for one in row] or [""]
        step = max(1, len(sentences) // _PROMPTS_MEASURED)
        return [
            self.prompts.comparison(ComparisonQuestion(one, examples[number % len(examples)]))
            for number, one in enumerate(sentences[::step])
        ]

    # --- what all stages share

    def stored(self, table: str, *keys: str) -> pd.DataFrame:
        """A partition of a table of this home."""
        return read_table(TABLES[table], partition_path(self.home.tables, table, *keys))

    def ask_recorded(
        self, stage: Literal["hedge_phrases", "comparison_matches"], judge: Judge, answer_tokens: float
    ) -> bool:
        """Note what a stage asks a language model, if it is one; whether the ledger lacks an answer."""
        if not isinstance(judge, RecordedJudge) or not judge.keys:
            return False
        count, hits = len(judge.keys), judge.hits
        open_ = count - hits
        self.ask(judge.key, Questions(stage, count, hits, open_, open_, judge.prompts, answer_tokens))
        return open_ > 0

    def ask(self, key: str, asked: Questions) -> None:
        """Note what a stage asks a judge."""
        slot, task = self.models[key], _ASKS.get(asked.stage, "compare")
        record = self.ledger.experience(key, task, slot.model) if self.ledger is not None else None
        self.lines.append(line(key, slot, asked, record))

    def examine(self) -> None:
        """Note what is unknown of the judges that would be asked, and what would stop the run."""
        for key in dict.fromkeys(one.judge for one in self.lines if one.calls):
            slot, data_class = self.models[key], self.home.registrations[0].corpus.data_class
            if any(one.judge == key and one.usd_at_most is None for one in self.lines):
                self.remarks.append(
                    f"judge {key!r} has no price in the judges file, or no limit on output tokens in its "
                    "parameters: what it costs at most is not known."
                )
            for problem in preflight(key, slot, os.environ, data_class, datetime.now(UTC).date()):
                what = "A run would be refused" if problem.severity == "refusal" else "Warning"
                self.remarks.append(f"{what}: {problem.message}")

    def estimate(self) -> Estimate:
        """What was counted, with prices."""
        prices = [slot.price for slot in self.models.values() if slot.price is not None]
        return Estimate(
            preset=self.judges.preset,
            ranker=self.ranker,
            batches=tuple(self.reports or (one.batch.key for one in self.home.registrations)),
            reports=sum(self.reports.values()),
            pairs=sum(map(len, self.pairs.values())),
            sentences=len(self.sentences(list(self.pairs))),
            steps=self.steps,
            lines=tuple(self.lines),
            prices_as_of=tuple(sorted({price.as_of.isoformat() for price in prices})),
            remarks=tuple(self.remarks),
        )
