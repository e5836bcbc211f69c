"""What a run would ask and spend, counted beforehand: nothing is written or sent.

Questions that are known (reports, pairs, comparisons of the vocabulary) are looked up in the ledger one by
one, and fits that it has are played again; the other fits are a formula, sentences x steps. What the ledger
lacks is multiplied by the tokens of a question, as a range; a judge's own record goes before an assumption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.intake import take_in, take_in_structured
from lunguage_assets.corpus.texts.receiving import Received, receive
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.phrases import hedge_phrases
from lunguage_assets.explicit.hedges.review import load_corrections
from lunguage_assets.explicit.hedges.vocabulary import (
    hedge_vocabulary,
    newest_only,
)
from lunguage_assets.explicit.open_judges import offline_judge
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
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
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.lineage.staleness import Stage, StalenessChecker, asks_judges, plan
from lunguage_assets.orchestration.resources import (
    anchor_set,
    anchors_of,
    ranking_on_scale,
    require_anchor_phrases,
)
from lunguage_assets.structuring.contract import Sentence
from lunguage_assets.structuring.model.structurer import (
    load_structuring_prompts,
    sentences_asked,
    structuring_request,
)
from lunguage_assets.structuring.rows import (
    read_reports,
    sectioned_reports,
    structured_tables,
)
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.tables import HEDGE_PHRASES, TABLES
from lunguage_assets.workspace.home import Batch, Home, Registration
from lunguage_assets.workspace.store import (
    partition_path,
    read_table,
    stored_partitions,
)

LEARNT_FROM = 2000
"""Sentences that a panel is asked about, once, so that a distilled model can learn (docs/distilled.md)."""

_CURRENT = "Everything is current: a run would make and ask nothing."
_FREE = "No language model is asked: the judges are rule-based and run in this process. It costs nothing."


def estimate_run(
    configuration: Configuration,
    registrations: Sequence[Registration],
    ranker: str,
    *,
    rebuild: bool = False,
) -> dict[str, Any]:
    """Calls, tokens, dollars and minutes of `lunguage run`, before anything is spent, as JSON has them.

    `lines` are as `line` has them, `total` and `minutes` as `estimate_totals`. `by_fit` has what fits alone would ask:
    of the `panel`, or, `distilled`, of the panel about `LEARNT_FROM` sentences from which a model learns.
    `steps` is the mean of a fit that is expected, None without fits by a language model. `remarks` say what
    would stop a run for want of a scale.

    Args:
        configuration: of a home that need not exist.
        registrations: of new batches, as `Home.examine` returns them; without any, what is registered counts.
        ranker: `panel` or one judge.
        rebuild: as with `--rebuild-ranking`.

    Raises:
        LunguageError: what would stop the run before its first question: unusable files, settings, templates.
    """
    ledger = (
        Ledger.open_read_only(configuration.ledger_location)
        if configuration.judges.models
        else None
    )
    with nullcontext() if ledger is None else closing(ledger):
        preview = _Preview(configuration, registrations, ranker, ledger)
        preview.count(rebuild)
        return preview.estimate()


@dataclass(frozen=True)
class _PreviewHome(Home):
    """A home with the registrations of a delivery, which are not made: its files are read where they lie."""

    registrations: dict[str, Registration] = field(kw_only=True)

    def registered(self) -> list[Batch]:
        return [
            *super().registered(),
            *(new.batch for new in self.registrations.values() if new.is_new),
        ]

    def batch(self, key: str) -> Batch:
        return (
            self.registrations[key].batch
            if key in self.registrations
            else super().batch(key)
        )

    def delivery(self, key: str) -> Delivery:
        return (
            self.registrations[key].delivery
            if key in self.registrations
            else super().delivery(key)
        )


class _Preview:
    """The stages of a plan, and what each would ask of each language model."""

    def __init__(
        self,
        resource: Configuration,
        new: Sequence[Registration],
        ranker: str,
        ledger: Ledger | None,
    ) -> None:
        self.resource, self.ranker, self.ledger = resource, ranker, ledger
        self.home = _PreviewHome(
            resource.home.root, registrations={one.batch.key: one for one in new}
        )
        self.judges, self.options = resource.judges, resource.settings.explicit
        self.members: tuple[str, ...] = self.judges.members(ranker)
        self.prompts = load_prompts(resource.prompts)
        self.stages: list[Stage] = []
        self.lines = list[dict[str, Any]]()
        self.findings, self.pairs = dict[str, pd.DataFrame](), dict[str, pd.DataFrame]()
        self.to_structure: list[Sequence[Sentence]] = []
        self.remarks = list[str]()
        self.steps: float | None = None
        self.by_fit = dict[str, dict[str, Any]]()

    def judge(self, key: str) -> tuple[Judge, RecordedAsker | None]:
        """A judge that sends nothing: what the ledger has of a language model, or the rules."""
        slot = self.judges.judge_config(key)
        if isinstance(slot, OfflineJudgeConfig):
            return offline_judge(key, slot), None
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
        self.now = StalenessChecker(
            self.home, self.judges, self.resource.prompts, fit=self.resource.fit or ""
        )
        self.stages = plan(self.now, self.ranker, rebuild=rebuild)
        if not self.stages:
            self.remarks.append(_CURRENT)
        for batch in dict.fromkeys(
            [*self.planned("extract_hedges"), *self.planned("refit")]
        ):
            self.findings[batch] = self.findings_of(batch)
        self.structured()
        vocabulary = self.extracted()
        ranking = self.compared(vocabulary)
        if self.planned("refit"):
            self.fitted(vocabulary, ranking)

    @property
    def registered(self) -> list[str]:
        """Keys of the batches, oldest first."""
        return [batch.key for batch in self.home.registered()]

    def planned(self, job: str) -> list[str]:
        """The last key of every partition that a job would make."""
        return [stage.keys[-1] for stage in self.stages if stage.job == job]

    def stored(self, table: str, *keys: str) -> pd.DataFrame:
        """A partition of a table of this home."""
        return read_table(TABLES[table], partition_path(self.home.tables, table, *keys))

    def stored_of(self, table: str, first: str) -> dict[str, pd.DataFrame]:
        """The stored partitions of a table with this first key, by the second."""
        found = stored_partitions(self.home.tables, table)
        return {
            batch: self.stored(table, key, batch)
            for key, batch in found
            if key == first
        }

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
        structurer = RuleStructurer(received.terms, self.home.assertion_file)
        rows = structured_tables(reports, structurer.structure(reports))
        if batch in self.planned("structure"):
            self.to_structure += [
                sentences for one in reports if (sentences := sentences_asked(one))
            ]
        texts = Received(
            read.report_texts, read.rejected_reports, read.reading_notes, received.terms
        )
        return take_in_structured(texts, rows.structured_findings, options).findings

    def structured(self) -> None:
        """Count the reports that a language model would be asked about."""
        slot, sent = self.judges.models.get(self.judges.structurer), self.to_structure
        if slot is not None and sent:
            asker = RecordedAsker(self.judges.structurer, slot, self.ledger)
            prompts = load_structuring_prompts(self.resource.prompts)
            with suppress(NotRecorded):
                asker.ask(
                    [
                        structuring_request(prompts.question(one), slot.mode)
                        for one in sent
                    ],
                    str,
                )
            sentences = sum(map(len, sent)) / len(sent)
            self.note(
                "structured_findings", asker, FINDINGS_TOKENS_PER_SENTENCE * sentences
            )

    def extracted(self) -> pd.DataFrame:
        """Count the pairs; the vocabulary that a run would compare."""
        extractor, corrections = (
            self.judges.extractor,
            load_corrections(self.home.corrections_file),
        )
        (judge, asker), guessed = self.judge(extractor), False
        for batch, frame in self.findings.items():
            if batch not in self.planned("extract_hedges"):
                self.pairs[batch] = self.stored("hedge_phrases", extractor, batch)
                continue
            try:
                self.pairs[batch] = hedge_phrases(frame, judge, corrections)
            except NotRecorded:
                guessed = True
                self.pairs[batch] = hedge_phrases(
                    frame, LexiconJudge.bundled(extractor), corrections
                )
        self.note("hedge_phrases", asker, PHRASES_TOKENS)
        if extractor not in self.planned("build_vocabulary"):
            return self.stored("hedge_vocabulary", extractor)
        frames = self.stored_of("hedge_phrases", extractor) | self.pairs
        hedges = newest_only(frames, [batch.key for batch in self.home.registered()])
        # phrases of the rules lack some that a model will find: they do not decide against its own ranking
        anchors = None if guessed else anchor_set(self.resource)
        return hedge_vocabulary(
            HEDGE_PHRASES.frame() if hedges is None else hedges, self.options, anchors
        )

    def compared(self, vocabulary: pd.DataFrame) -> pd.DataFrame | None:
        """The ranking: that stored, or that of comparisons which the ledger has all; None: not known yet."""
        matches, panel = (
            dict[str, pd.DataFrame](),
            [self.judge(key) for key in self.members],
        )
        for judge, asker in panel:
            with suppress(NotRecorded):
                if judge.key not in self.planned("compare"):
                    matches[judge.key] = self.stored("comparison_matches", judge.key)
                else:
                    matches[judge.key] = comparison_matches(
                        vocabulary, judge, self.options
                    )
            self.note("comparison_matches", asker, LABEL_TOKENS)
        try:
            if self.planned("compare"):
                require_anchor_phrases(
                    self.resource, set(vocabulary["phrase"][vocabulary["retained"]])
                )
            if self.ranker not in self.planned("rank"):
                return self.stored("reference_ranking", self.ranker)
            if len(matches) < len(panel):
                return None
            identities = [judge.identity for judge, _ in panel]
            own = reference_ranking(vocabulary, matches, self.options, identities)
            return ranking_on_scale(self.resource, own, identities)
        except MethodError as error:
            self.remarks.append(
                f"With phrases like these a run would stop before the fits: {error}"
            )
            return None

    def fitted(self, vocabulary: pd.DataFrame, ranking: pd.DataFrame | None) -> None:
        """Count the questions of fits: those that the ledger has whole are played again, of the others the
        questions are sentences x steps. A sentence of several batches is paid for once.
        """
        opened, options = [self.judge(key) for key in self.members], self.options
        panel, models = (
            [judge for judge, _ in opened],
            [asker for _, asker in opened if asker is not None],
        )
        batches, whole, partly = (
            self.planned("refit"),
            set[str](),
            dict.fromkeys(self.members, 0),
        )
        by_judges = [one for one in batches if asks_judges(self.now, self.ranker, one)]
        if not models or not self.sentences(batches):
            return
        for batch in batches if ranking is not None else ():
            before = {asker.key: asker.hits for asker in models}
            tables = self.findings[batch], self.pairs[batch], vocabulary, ranking
            try:
                fit_pairs(*tables, panel, anchors_of(self.resource, ranking), options)
                whole |= self.sentences([batch])
            except NotRecorded:
                partly |= {
                    one.key: partly[one.key] + one.hits - before[one.key]
                    for one in models
                }
        lacking = sorted(self.sentences(batches) - whole)
        most = options.opponent_limit * int(vocabulary["retained"].sum())
        most = max(1, min(options.step_limit, most))  # explicit.md section 5, 4
        fewest = min(options.patience, most)
        self.steps = min(max(self.mean_steps(), fewest), most)
        per_sentence = [
            answers_per_judge(steps, options.panel_steps, len(panel))
            for steps in (fewest, self.steps, most)
        ]
        examples = [one for row in vocabulary["example_sentences"] for one in row] or [
            ""
        ]
        pairs = map(
            ComparisonQuestion, lacking[:500], cycle(examples)
        )  # enough to know how long prompts are
        shown = [self.prompts.comparison(pair).prompt for pair in pairs]
        rounds = self.steps * len(batches)

        def asked(sentences: int) -> list[dict[str, Any]]:
            answers = [sentences * count for count in per_sentence]
            lines = []
            for asker in models:
                asker.prompts = shown
                counts = [max(0.0, count - partly[asker.key]) for count in answers]
                lines.append(
                    estimate_line(
                        "fitted_probabilities", asker, LABEL_TOKENS, counts, rounds
                    )
                )
            return lines

        learnt = self.now.is_current("distilled_scorer", self.ranker)
        few = 0 if learnt else min(LEARNT_FROM, len(lacking))
        self.by_fit = {
            fit: {
                "sentences": count,
                "scored": len(lacking) - count,
                **estimate_totals(asked(count))[1],
            }
            for fit, count in (("panel", len(lacking)), ("distilled", few))
        }
        if by_judges:
            self.lines += asked(len(self.sentences(by_judges) - whole))

    def sentences(self, batches: Iterable[str]) -> set[str]:
        """Different masked sentences of these batches."""
        return {
            one
            for batch in batches
            for one in self.pairs[batch]["masked_sentence"].dropna()
        }

    def mean_steps(self) -> float:
        """Steps of a fit: the mean of this ranker's stored fits, else the paper's, for this patience."""
        steps = dict[str, int]()
        for fits in self.stored_of("fitted_probabilities", self.ranker).values():
            steps |= zip(fits["sentence_key"], fits["steps"], strict=True)
        taken = [number for number in steps.values() if number > 0]
        return (
            mean(taken) or PUBLISHED_STEPS * self.options.patience / PUBLISHED_PATIENCE
        )

    def note(
        self, stage: str, asker: RecordedAsker | None, answer_tokens: float
    ) -> None:
        """Note what a stage asks a judge, if it is a language model and asked anything."""
        if asker is not None and asker.keys:
            self.lines.append(estimate_line(stage, asker, answer_tokens))

    def estimate(self) -> dict[str, Any]:
        """What was counted, with sums."""
        prices = [self.judges.models[one["judge"]].price for one in self.lines]
        minutes, total = estimate_totals(self.lines)
        return {
            "preset": self.judges.preset,
            "ranker": self.ranker,
            "batches": list(self.findings or self.home.registrations)
            or self.registered,
            "reports": sum(
                frame["study_id"].nunique() for frame in self.findings.values()
            ),
            "pairs": sum(map(len, self.pairs.values())),
            "sentences": len(self.sentences(self.pairs)),
            "steps": self.steps,
            "lines": self.lines,
            "by_fit": self.by_fit,
            "prices_as_of": sorted(
                {price.as_of.isoformat() for price in prices if price}
            ),
            "remarks": self.remarks,
            "minutes": minutes,
            "total": total,
        }
