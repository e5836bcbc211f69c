"""What a run would ask and spend, counted beforehand: nothing is written or sent.

Questions that are known beforehand (reports, pairs, comparisons of the vocabulary) are looked up in the
ledger one by one. Of fits their number is a formula, sentences x steps, less the rounds that the ledger has.
The plan is that of a run; what follows from the counts is in `judges/estimate.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle

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
from lunguage_assets.judges.estimate import (
    FINDINGS_TOKENS_PER_SENTENCE,
    LABEL_TOKENS,
    PHRASES_TOKENS,
    PUBLISHED_STEPS,
    Estimate,
    EstimateLine,
    NotRecorded,
    RecordedJudge,
    RunStage,
    answers_per_judge,
    line,
)
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.judges.opening import make_judge
from lunguage_assets.judges.policy import preflight
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge
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
    ledger = Ledger.at(home.ledger_place) if home.judges.models else None
    try:
        counting = _Counting(home, wanted, ranker, ledger)
        counting.count(rebuild)
        return counting.estimate()
    finally:
        if ledger is not None:
            ledger.close()


@dataclass(frozen=True)
class PreviewHome(Home):
    """A home with the registrations of a delivery, which are not made: its files are read where they lie."""

    registrations: dict[str, Registration] = field(kw_only=True)

    def registered(self) -> list[Batch]:
        """All batches after the registrations, oldest first."""
        return [*super().registered(), *(new.batch for new in self.registrations.values() if new.is_new)]

    def batch(self, key: str) -> Batch:
        """A batch, also one that is not registered yet."""
        return self.registrations[key].batch if key in self.registrations else super().batch(key)

    def delivery(self, key: str) -> Delivery:
        """Files of a batch, where they lie."""
        return self.registrations[key].delivery if key in self.registrations else super().delivery(key)


class _Counting:
    """The stages of a plan, and what each would ask of each language model."""

    def __init__(
        self,
        resource: HomeResource,
        registrations: Sequence[Registration],
        ranker: str,
        ledger: Ledger | None,
    ) -> None:
        self.resource, self.ranker, self.ledger = resource, ranker, ledger
        self.home = PreviewHome(
            resource.home.root, registrations={one.batch.key: one for one in registrations}
        )
        self.data_class = registrations[0].corpus.data_class
        self.judges, self.settings = resource.judges, resource.settings
        self.members: tuple[str, ...] = self.judges.members(ranker)
        self.prompts = load_prompts(resource.prompts)
        asked = {self.judges.extractor, *self.members}
        if any(batch.kind == "text" for batch in self.home.registered()):
            asked.add(self.judges.structurer)
        self.models = {key: slot for key, slot in self.judges.models.items() if key in asked}
        self.stages: list[Stage] = []
        self.lines: list[EstimateLine] = []
        self.findings, self.pairs = dict[str, pd.DataFrame](), dict[str, pd.DataFrame]()
        self.to_structure: list[Sequence[Sentence]] = []
        self.remarks = list[str]()
        self.steps: float | None = None

    def judge(self, key: str) -> Judge:
        """A judge that sends nothing: what the ledger has of a language model, or the rules."""
        slot = self.models.get(key)
        return RecordedJudge(key, slot, self.prompts, self.ledger) if slot else make_judge(key, self.judges)

    def count(self, rebuild: bool) -> None:
        """Count what a run would ask in the stages of its plan."""
        if not self.models:
            for batch in self.home.registrations:
                self.findings_of(batch)  # unusable files would stop an offline run too
            self.remarks.append(
                "No language model is asked: the judges are rule-based and run in this process. It costs "
                "nothing."
            )
            return
        now = Standings(self.home, self.judges, self.resource.prompts)
        self.stages = plan(now, self.ranker, rebuild=rebuild)
        for batch in dict.fromkeys([*self.planned("extract_hedges"), *self.planned("refit")]):
            self.findings[batch] = self.findings_of(batch)
        self.structured()
        vocabulary = self.collected(guessed=self.extracted())
        ranking = self.compared(vocabulary)
        if self.planned("refit"):
            self.fitted(vocabulary, ranking)

    def planned(self, job: str) -> list[str]:
        """The last key of every partition that a job would make."""
        return [stage.keys[-1] for stage in self.stages if stage.job == job]

    def stored(self, table: str, *keys: str) -> pd.DataFrame:
        """A partition of a table of this home."""
        return read_table(TABLES[table], partition_path(self.home.tables, table, *keys))

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
        judge = RecordedJudge(self.judges.structurer, slot, self.prompts, self.ledger)
        prompts = load_structuring_prompts(self.resource.prompts)
        judge.look_up([structuring_request(prompts.question(one), slot.mode) for one in sent])
        sentences = sum(map(len, sent)) / len(sent)
        self.note("structured_findings", judge, FINDINGS_TOKENS_PER_SENTENCE * sentences)

    def extracted(self) -> bool:
        """Count the pairs; whether phrases that the ledger lacks are the lexicon's."""
        extractor, corrections = self.judges.extractor, load_corrections(self.home.corrections_file)
        judge = self.judge(extractor)
        for batch, frame in self.findings.items():
            if batch in self.planned("extract_hedges"):
                self.pairs[batch] = hedge_phrases(frame, judge, corrections)
            else:
                self.pairs[batch] = self.stored("hedge_phrases", extractor, batch)
        self.note("hedge_phrases", judge, PHRASES_TOKENS)
        return isinstance(judge, RecordedJudge) and judge.hits < len(judge.keys)

    def collected(self, guessed: bool) -> pd.DataFrame:
        """The vocabulary that a run would compare."""
        extractor = self.judges.extractor
        if extractor not in self.planned("build_vocabulary"):
            return self.stored("hedge_vocabulary", extractor)
        frames = {
            batch: self.stored("hedge_phrases", extractor, batch)
            for judge, batch in stored_partitions(self.home.tables, "hedge_phrases")
            if judge == extractor
        }
        hedges = newest_only(frames | self.pairs, [batch.key for batch in self.home.registered()])
        collected = HEDGE_PHRASES.frame() if hedges is None else hedges
        # phrases of the rules lack some that a model will find: they do not decide against its own ranking
        anchors = None if guessed else self.resource.anchor_set()
        return hedge_vocabulary(collected, self.settings.explicit, anchors)

    def compared(self, vocabulary: pd.DataFrame) -> pd.DataFrame | None:
        """The ranking: that stored, or that of comparisons which the ledger has all; None: not known yet."""
        matches, options = dict[str, pd.DataFrame](), self.settings.explicit
        for key in self.members:
            judge = self.judge(key)
            with suppress(NotRecorded):
                if key not in self.planned("compare"):
                    matches[key] = self.stored("comparison_matches", key)
                else:
                    matches[key] = comparison_matches(vocabulary, judge, options)
            self.note("comparison_matches", judge, LABEL_TOKENS)
        try:
            if self.planned("compare"):
                self.resource.require_anchors(set(vocabulary["phrase"][vocabulary["retained"]]))
            if self.ranker not in self.planned("rank"):
                return self.stored("reference_ranking", self.ranker)
            if len(matches) < len(self.members):
                return None
            identities = [self.judge(key).identity for key in self.members]
            own = reference_ranking(vocabulary, matches, options, identities)
            return self.resource.on_a_scale(own, identities)
        except MethodError as error:
            self.remarks.append(f"With phrases like these a run would stop before the fits: {error}")
            return None

    def fitted(self, vocabulary: pd.DataFrame, ranking: pd.DataFrame | None) -> None:
        """Count the questions of fits: those that the ledger has whole are played again, of the others the
        questions are sentences x steps. A sentence of several batches is paid for once.
        """
        panel = [self.judge(key) for key in self.members]
        models = [judge for judge in panel if isinstance(judge, RecordedJudge)]
        batches, options = self.planned("refit"), self.settings.explicit
        whole, done = set[str](), dict.fromkeys(self.members, 0)
        for batch in batches if ranking is not None and self.ledger is not None else ():
            before = {judge.key: judge.hits for judge in models}
            tables = self.findings[batch], self.pairs[batch], vocabulary, ranking
            with suppress(NotRecorded):
                fit_pairs(*tables, panel, self.resource.anchors(ranking), options)
                whole |= self.sentences([batch])
                done = {judge.key: done[judge.key] + judge.hits - before[judge.key] for judge in models}
        lacking = sorted(self.sentences(batches) - whole)
        if not self.sentences(batches):
            return
        phrases = int(vocabulary["retained"].sum())
        most = max(1, min(options.step_limit, options.opponent_limit * phrases))  # explicit.md section 5, 4
        fewest = min(options.patience, most)
        self.steps = min(max(self.mean_steps(), fewest), most)
        answers = [
            len(lacking) * answers_per_judge(steps, options.panel_steps, len(self.members))
            for steps in (fewest, self.steps, most)
        ]
        examples = [one for row in vocabulary["example_sentences"] for one in row] or [""]
        shown = [
            self.prompts.comparison(ComparisonQuestion(one, other)).prompt
            for one, other in zip(lacking[:_PROMPTS_MEASURED], cycle(examples), strict=False)
        ]
        for judge in models:
            partly = judge.hits - done[judge.key]
            least, expected, largest = (max(0.0, count - partly) for count in answers)
            judge.prompts, rounds = shown, self.steps * len(batches)
            self.note("fitted_probabilities", judge, LABEL_TOKENS, (least, expected, largest), rounds)

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

    def note(
        self,
        stage: RunStage,
        judge: Judge,
        answer_tokens: float,
        lacking: tuple[float, float, float] | None = None,
        rounds: float = 1.0,
    ) -> None:
        """Note what a stage asks a judge, if it is a language model; `lacking`: see `judges.estimate.line`,
        None: every question is known.
        """
        if not isinstance(judge, RecordedJudge) or not (judge.keys or lacking):
            return
        unanswered = float(len(judge.keys) - judge.hits)
        counts = lacking or (unanswered, unanswered, unanswered)
        slot, task = self.models[judge.key], _ASKS.get(stage, "compare")
        record = self.ledger.experience(judge.key, task, slot.model) if self.ledger is not None else None
        self.lines.append(
            line(stage, judge.key, slot, judge.hits, counts, judge.prompts, answer_tokens, record, rounds)
        )

    def examined(self) -> list[str]:
        """What would stop the run, or soon might, of the judges that would be asked."""
        found = list[str]()
        for key in dict.fromkeys(one.judge for one in self.lines if one.calls):
            today = datetime.now(UTC).date()
            for severity, message in preflight(key, self.models[key], os.environ, self.data_class, today):
                what = "A run would be refused" if severity == "refusal" else "Warning"
                found.append(f"{what}: {message}")
        return found

    def estimate(self) -> Estimate:
        """What was counted, with prices."""
        prices = [slot.price for slot in self.models.values() if slot.price is not None]
        return Estimate(
            preset=self.judges.preset,
            ranker=self.ranker,
            batches=tuple(self.findings or self.home.registrations),
            reports=sum(frame["study_id"].nunique() for frame in self.findings.values()),
            pairs=sum(map(len, self.pairs.values())),
            sentences=len(self.sentences(list(self.pairs))),
            steps=self.steps,
            lines=tuple(self.lines),
            prices_as_of=tuple(sorted({price.as_of.isoformat() for price in prices})),
            remarks=(*self.remarks, *self.examined()),
        )
