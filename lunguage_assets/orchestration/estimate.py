"""What a run would ask and spend, counted beforehand: nothing is written or sent.

Questions that are known beforehand (reports, pairs, comparisons of the vocabulary) are looked up in the
ledger one by one. Of fits their number is a formula, sentences x steps, less the rounds that the ledger has.
The plan is that of a run; what follows from the counts is in `judges/estimate.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle
from typing import Any

import pandas as pd

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.intake import take_in, take_in_structured
from lunguage_assets.corpus.texts.receiving import Received, receive
from lunguage_assets.current.plan import Stage, plan
from lunguage_assets.current.standing import Standings
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.hedging import (
    hedge_phrases,
    hedge_vocabulary,
    load_corrections,
    newest_only,
)
from lunguage_assets.explicit.rating.ranking import comparison_matches, reference_ranking
from lunguage_assets.home.home import Batch, Home, Registration
from lunguage_assets.home.store import partition_path, read_table, stored_partitions
from lunguage_assets.judges import estimate
from lunguage_assets.judges.estimate import NotRecorded, RecordedAsker
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge, load_prompts
from lunguage_assets.judges.opening import make_judge
from lunguage_assets.judges.policy import preflight
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.structuring.contract import Sentence
from lunguage_assets.structuring.model.structurer import (
    load_structuring_prompts,
    sentences_asked,
    structuring_request,
)
from lunguage_assets.structuring.rows import read_reports, sectioned_reports, structured_tables
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.tables import HEDGE_PHRASES, TABLES

_ASKS = {"structured_findings": "structure", "hedge_phrases": "extract"}
"""What a stage asks, in the ledger's words; the others ask to compare."""

_PUBLISHED_PATIENCE = 10
_FREE = "No language model is asked: the judges are rule-based and run in this process. It costs nothing."


def estimate_run(
    home: HomeResource, registrations: Sequence[Registration], ranker: str, *, rebuild: bool = False
) -> dict[str, Any]:
    """Calls, tokens, dollars and minutes of `lunguage run`, before anything is spent, as JSON has them.

    `lines` are as `judges.estimate.line` has them, `total` and `minutes` as `totals`. `steps` is the mean of
    a fit that is expected, None without fits. `remarks` say what is unknown, and what would stop a run.

    Args:
        home: need not exist.
        registrations: of the batches, as `Home.examine` returns them.
        ranker: `panel` or one judge.
        rebuild: as with `--rebuild-ranking`.

    Raises:
        LunguageError: what would stop the run before its first question: unusable files, settings, templates.
    """
    ledger = Ledger.at(home.ledger_place) if home.judges.models else None
    with nullcontext() if ledger is None else closing(ledger):
        preview = _Preview(home, registrations, ranker, ledger)
        preview.count(rebuild)
        return preview.estimate()


def totals(lines: Sequence[Mapping[str, Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """Minutes of each stage, where the slowest judge counts, and sums over judges and stages.

    Dollars are those of the judges with a price; at most: None when one judge's worst case is unknown.
    """
    minutes: dict[str, float] = {}
    for one in lines:
        minutes[one["stage"]] = max(one["minutes"], minutes.get(one["stage"], 0.0))
    names = ["questions", "hits", "calls", "input_tokens", "output_tokens"]
    names += ["usd", "usd_at_least", "usd_at_most"]
    total: dict[str, Any] = {name: sum(one[name] or 0 for one in lines) for name in names}
    unpriced = list(dict.fromkeys(one["judge"] for one in lines if one["usd_at_most"] is None))
    if unpriced:
        total["usd_at_most"] = None
    return minutes, {**total, "minutes": sum(minutes.values()), "judges_without_price": unpriced}


@dataclass(frozen=True)
class _PreviewHome(Home):
    """A home with the registrations of a delivery, which are not made: its files are read where they lie."""

    registrations: dict[str, Registration] = field(kw_only=True)

    def registered(self) -> list[Batch]:
        return [*super().registered(), *(new.batch for new in self.registrations.values() if new.is_new)]

    def batch(self, key: str) -> Batch:
        return self.registrations[key].batch if key in self.registrations else super().batch(key)

    def delivery(self, key: str) -> Delivery:
        return self.registrations[key].delivery if key in self.registrations else super().delivery(key)


class _Preview:
    """The stages of a plan, and what each would ask of each language model."""

    def __init__(
        self, resource: HomeResource, new: Sequence[Registration], ranker: str, ledger: Ledger | None
    ) -> None:
        self.resource, self.ranker, self.ledger = resource, ranker, ledger
        self.home = _PreviewHome(resource.home.root, registrations={one.batch.key: one for one in new})
        self.data_class = new[0].corpus.data_class
        self.judges, self.options = resource.judges, resource.settings.explicit
        self.members: tuple[str, ...] = self.judges.members(ranker)
        self.prompts = load_prompts(resource.prompts)
        self.stages: list[Stage] = []
        self.lines = list[dict[str, Any]]()
        self.findings, self.pairs = dict[str, pd.DataFrame](), dict[str, pd.DataFrame]()
        self.to_structure: list[Sequence[Sentence]] = []
        self.remarks = list[str]()
        self.steps: float | None = None

    def judge(self, key: str) -> tuple[Judge, RecordedAsker | None]:
        """A judge that sends nothing: what the ledger has of a language model, or the rules."""
        slot = self.judges.models.get(key)
        if slot is None:
            return make_judge(key, self.judges), None
        asker: Any = RecordedAsker(key, slot, self.ledger)
        return ModelJudge(asker, self.prompts, slot.mode), asker

    def count(self, rebuild: bool) -> None:
        """Count what a run would ask in the stages of its plan, upstream first."""
        asked = {self.judges.extractor, *self.members}
        if any(batch.kind == "text" for batch in self.home.registered()):
            asked.add(self.judges.structurer)
        if asked.isdisjoint(self.judges.models):
            for batch in self.home.registrations:
                self.findings_of(batch)  # unusable files would stop an offline run too
            self.remarks.append(_FREE)
            return
        now = Standings(self.home, self.judges, self.resource.prompts)
        self.stages = plan(now, self.ranker, rebuild=rebuild)
        for batch in dict.fromkeys([*self.planned("extract_hedges"), *self.planned("refit")]):
            self.findings[batch] = self.findings_of(batch)
        self.structured()
        vocabulary = self.extracted()
        ranking = self.compared(vocabulary)
        if self.planned("refit"):
            self.fitted(vocabulary, ranking)

    def planned(self, job: str) -> list[str]:
        """The last key of every partition that a job would make."""
        return [stage.keys[-1] for stage in self.stages if stage.job == job]

    def stored(self, table: str, *keys: str) -> pd.DataFrame:
        """A partition of a table of this home."""
        return read_table(TABLES[table], partition_path(self.home.tables, table, *keys))

    def stored_of(self, table: str, first: str) -> dict[str, pd.DataFrame]:
        """The stored partitions of a table with this first key, by the second."""
        found = stored_partitions(self.home.tables, table)
        return {batch: self.stored(table, key, batch) for key, batch in found if key == first}

    def findings_of(self, batch: str) -> pd.DataFrame:
        """The findings of a batch: those stored, or as a run would read them, with the offline structurer's
        where a model has not answered yet.
        """
        if self.stages and batch not in self.planned("ingest"):
            return self.stored("findings", batch)
        delivery, options = self.home.delivery(batch), self.resource.settings.corpus
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
        slot, sent = self.judges.models.get(self.judges.structurer), self.to_structure
        if slot is not None and sent:
            asker = RecordedAsker(self.judges.structurer, slot, self.ledger)
            prompts = load_structuring_prompts(self.resource.prompts)
            with suppress(NotRecorded):
                asker.ask([structuring_request(prompts.question(one), slot.mode) for one in sent], str)
            sentences = sum(map(len, sent)) / len(sent)
            self.note("structured_findings", asker, estimate.FINDINGS_TOKENS_PER_SENTENCE * sentences)

    def extracted(self) -> pd.DataFrame:
        """Count the pairs; the vocabulary that a run would compare."""
        extractor, corrections = self.judges.extractor, load_corrections(self.home.corrections_file)
        (judge, asker), guessed = self.judge(extractor), False
        for batch, frame in self.findings.items():
            if batch not in self.planned("extract_hedges"):
                self.pairs[batch] = self.stored("hedge_phrases", extractor, batch)
                continue
            try:
                self.pairs[batch] = hedge_phrases(frame, judge, corrections)
            except NotRecorded:
                guessed = True
                self.pairs[batch] = hedge_phrases(frame, LexiconJudge.bundled(extractor), corrections)
        self.note("hedge_phrases", asker, estimate.PHRASES_TOKENS)
        if extractor not in self.planned("build_vocabulary"):
            return self.stored("hedge_vocabulary", extractor)
        frames = self.stored_of("hedge_phrases", extractor) | self.pairs
        hedges = newest_only(frames, [batch.key for batch in self.home.registered()])
        # phrases of the rules lack some that a model will find: they do not decide against its own ranking
        anchors = None if guessed else self.resource.anchor_set()
        return hedge_vocabulary(HEDGE_PHRASES.frame() if hedges is None else hedges, self.options, anchors)

    def compared(self, vocabulary: pd.DataFrame) -> pd.DataFrame | None:
        """The ranking: that stored, or that of comparisons which the ledger has all; None: not known yet."""
        matches, panel = dict[str, pd.DataFrame](), [self.judge(key) for key in self.members]
        for judge, asker in panel:
            with suppress(NotRecorded):
                if judge.key not in self.planned("compare"):
                    matches[judge.key] = self.stored("comparison_matches", judge.key)
                else:
                    matches[judge.key] = comparison_matches(vocabulary, judge, self.options)
            self.note("comparison_matches", asker, estimate.LABEL_TOKENS)
        try:
            if self.planned("compare"):
                self.resource.require_anchors(set(vocabulary["phrase"][vocabulary["retained"]]))
            if self.ranker not in self.planned("rank"):
                return self.stored("reference_ranking", self.ranker)
            if len(matches) < len(panel):
                return None
            identities = [judge.identity for judge, _ in panel]
            own = reference_ranking(vocabulary, matches, self.options, identities)
            return self.resource.on_a_scale(own, identities)
        except MethodError as error:
            self.remarks.append(f"With phrases like these a run would stop before the fits: {error}")
            return None

    def fitted(self, vocabulary: pd.DataFrame, ranking: pd.DataFrame | None) -> None:
        """Count the questions of fits: those that the ledger has whole are played again, of the others the
        questions are sentences x steps. A sentence of several batches is paid for once.
        """
        opened, options = [self.judge(key) for key in self.members], self.options
        panel, models = [judge for judge, _ in opened], [asker for _, asker in opened if asker is not None]
        batches, whole, done = self.planned("refit"), set[str](), dict.fromkeys(self.members, 0)
        for batch in batches if ranking is not None and self.ledger is not None else ():
            before = {asker.key: asker.hits for asker in models}
            tables = self.findings[batch], self.pairs[batch], vocabulary, ranking
            with suppress(NotRecorded):
                fit_pairs(*tables, panel, self.resource.anchors(ranking), options)
                whole |= self.sentences([batch])
                done = {one.key: done[one.key] + one.hits - before[one.key] for one in models}
        if not self.sentences(batches):
            return
        lacking = sorted(self.sentences(batches) - whole)
        most = options.opponent_limit * int(vocabulary["retained"].sum())
        most = max(1, min(options.step_limit, most))  # explicit.md section 5, 4
        fewest = min(options.patience, most)
        self.steps = min(max(self.mean_steps(), fewest), most)
        answers = [
            len(lacking) * estimate.answers_per_judge(steps, options.panel_steps, len(panel))
            for steps in (fewest, self.steps, most)
        ]
        examples = [one for row in vocabulary["example_sentences"] for one in row] or [""]
        pairs = zip(lacking[:500], cycle(examples), strict=False)  # enough to know how long prompts are
        shown = [self.prompts.comparison(ComparisonQuestion(one, other)).prompt for one, other in pairs]
        for asker in models:
            partly, asker.prompts = asker.hits - done[asker.key], shown
            counts = tuple(max(0.0, count - partly) for count in answers)
            rounds = self.steps * len(batches)
            self.note("fitted_probabilities", asker, estimate.LABEL_TOKENS, counts, rounds)

    def sentences(self, batches: Iterable[str]) -> set[str]:
        """Different masked sentences of these batches."""
        return {one for batch in batches for one in self.pairs[batch]["masked_sentence"].dropna()}

    def mean_steps(self) -> float:
        """Steps of a fit: the mean of this ranker's stored fits, else the paper's, for this patience."""
        steps = dict[str, int]()
        for fits in self.stored_of("fitted_probabilities", self.ranker).values():
            steps |= zip(fits["sentence_key"], fits["steps"], strict=True)
        taken = [number for number in steps.values() if number > 0]
        published = estimate.PUBLISHED_STEPS * self.options.patience / _PUBLISHED_PATIENCE
        return sum(taken) / len(taken) if taken else published

    def note(self, stage: str, asker: RecordedAsker | None, answer_tokens: float, *counts: Any) -> None:
        """Note what a stage asks a judge, if it is a language model; `counts` as in `estimate.line`."""
        if asker is not None and (asker.keys or counts):
            task, model = _ASKS.get(stage, "compare"), asker.binding.model
            record = self.ledger.experience(asker.key, task, model) if self.ledger is not None else None
            self.lines.append(estimate.line(stage, asker, answer_tokens, record, *counts))

    def estimate(self) -> dict[str, Any]:
        """What was counted, with prices, and what would stop the run, or soon might."""
        today = datetime.now(UTC).date()
        for key in dict.fromkeys(one["judge"] for one in self.lines if one["calls"]):
            slot = self.judges.models[key]
            for severity, message in preflight(key, slot, os.environ, self.data_class, today):
                what = "A run would be refused" if severity == "refusal" else "Warning"
                self.remarks.append(f"{what}: {message}")
        slots = [self.judges.models[key] for key in dict.fromkeys(one["judge"] for one in self.lines)]
        minutes, total = totals(self.lines)
        return {
            "preset": self.judges.preset,
            "ranker": self.ranker,
            "batches": list(self.findings or self.home.registrations),
            "reports": sum(frame["study_id"].nunique() for frame in self.findings.values()),
            "pairs": sum(map(len, self.pairs.values())),
            "sentences": len(self.sentences(self.pairs)),
            "steps": self.steps,
            "lines": self.lines,
            "prices_as_of": sorted({slot.price.as_of.isoformat() for slot in slots if slot.price}),
            "remarks": self.remarks,
            "minutes": minutes,
            "total": total,
        }
