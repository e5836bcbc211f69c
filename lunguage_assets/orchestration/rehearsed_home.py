"""A home for an estimate: the real one is read, and nothing is written or sent.

Tables are kept in memory, the delivery is read where it lies, and every language model is stood in for by a
rehearsal judge, which counts what it is asked.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from pydantic import PrivateAttr
from upath import UPath

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.home.batch import Batch
from lunguage_assets.home.home import Home, Registration
from lunguage_assets.home.store import partition_path, stored_partitions
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.binding_record import BindingRecord
from lunguage_assets.judges.estimating.rehearsal import RehearsalJudge, RunStage, Tally
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.opening import make_judge
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.rules.published import ruler_sentences
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.structuring.contract import Structurer
from lunguage_assets.structuring.model.prompts import load_structuring_prompts
from lunguage_assets.structuring.model.rehearsal import RehearsalStructurer
from lunguage_assets.structuring.rules.structurer import RuleStructurer

if TYPE_CHECKING:
    from lunguage_assets.explicit.fit.anchors import AnchorSet

STEPS = ("reading", "structuring", "intake", "extraction", "collecting", "comparing", "ranking", "fitting")
"""Up to the end of the explicit half, upstream first: what asks judges, and what it reads."""


@dataclass(frozen=True)
class MemoryHome(Home):
    """A home with the registrations of a delivery, which are not made, and its tables in memory."""

    registrations: tuple[Registration, ...] = field(kw_only=True)
    place: UPath = field(kw_only=True)

    @property
    def tables(self) -> UPath:
        """In memory."""
        return self.place

    def registered(self) -> list[Batch]:
        """All batches after the registrations, oldest first."""
        return [*super().registered(), *(new.batch for new in self.registrations if new.is_new)]

    def batch(self, key: str) -> Batch:
        """A batch, also the one that is not registered yet."""
        found = self._preview(key)
        return super().batch(key) if found is None else found.batch

    def delivery(self, key: str) -> Delivery:
        """Files of a batch, where they lie."""
        found = self._preview(key)
        return super().delivery(key) if found is None else found.delivery

    def _preview(self, key: str) -> Registration | None:
        return next((one for one in self.registrations if one.batch.key == key), None)


class RehearsedHome(HomeResource):
    """`HomeResource` whose language models are rehearsal judges."""

    _home: MemoryHome = PrivateAttr()
    _judges_asked: dict[str, RehearsalJudge] = PrivateAttr(default_factory=dict)
    _structured: dict[str, Tally] = PrivateAttr(default_factory=dict)
    _recorded: LedgerReader | None = PrivateAttr(default=None)
    _remarks: list[str] = PrivateAttr(default_factory=list)

    @property
    def home(self) -> MemoryHome:
        """The home with its tables in memory."""
        return self._home

    @property
    def recorded(self) -> LedgerReader | None:
        """The ledger, where there is one and a language model would be asked."""
        return self._recorded

    def tallies(self, stage: RunStage) -> dict[str, Tally]:
        """What every language model was asked in a stage, by key."""
        if stage == "structured_findings":
            return {key: tally for key, tally in self._structured.items() if tally.questions}
        return {key: one.tallies[stage] for key, one in self._judges_asked.items() if stage in one.tallies}

    @property
    def models(self) -> dict[str, ModelSlot]:
        """Language models that a run could ask: judges, and the structurer where there are raw reports."""
        texts = any(batch.kind == "text" for batch in self._home.registered())
        keys = {*self._judges_asked, *([self.judges.structurer] if texts else [])}
        return {key: slot for key, slot in self.judges.models.items() if key in keys}

    @property
    def remarks(self) -> list[str]:
        """What would stop a run that went as this rehearsal does."""
        return self._remarks

    def judge(self, key: str, progress: Callable[[Progress], None] | None = None) -> Judge:
        """The rehearsal judge of a language model; rule-based judges answer themselves."""
        return self._judges_asked.get(key) or make_judge(key, self.judges)

    def structurer(
        self, key: str, terms: pd.DataFrame, progress: Callable[[Progress], None] | None = None
    ) -> Structurer:
        """The offline structurer, or the rehearsed one of a language model, for which it makes up answers."""
        rules = RuleStructurer(terms)
        slot = self.judges.judges.get(key)
        if not isinstance(slot, ModelSlot):
            return rules
        prompts, tally = load_structuring_prompts(self.prompts), self._structured.setdefault(key, Tally())
        return RehearsalStructurer(key, slot, prompts, rules, tally, self._recorded)

    def anchors_that_choose(self, extractor: str) -> AnchorSet | None:
        """None for a language model: what it made up here lacks phrases that it will find."""
        return None if extractor in self._judges_asked else super().anchors_that_choose(extractor)

    def require_anchors(self, phrases: Collection[str]) -> None:
        """Note a missing anchor: made-up phrases are not those of a run."""
        try:
            super().require_anchors(phrases)
        except MethodError as error:
            ends = "use the published ruler and ask no comparisons"
            if self.settings.explicit.ruler != "auto" or set(phrases) == set(ruler_sentences()):
                ends = "stop before the comparisons"
            self._remarks.append(f"With phrases like those of this rehearsal a run would {ends}: {error}")

    def anchors(self, ranking: pd.DataFrame) -> Sequence[Anchor]:
        """The home's anchors; where a made-up ranking lacks them, its ends: a fit asks the same questions."""
        try:
            return super().anchors(ranking)
        except MethodError:
            ends = ranking.sort_values("mu")["phrase"].tolist()
            return [Anchor(ends[0], 0.1, 0.05, 0.2), Anchor(ends[-1], 0.9, 0.8, 0.95)]

    def on_a_scale(self, own: pd.DataFrame, identities: Sequence[str]) -> pd.DataFrame:
        """The ranking itself: made-up answers say nothing about the real ones."""
        return own

    def keep_review_queue(self, judge: str, batch: str, queue: pd.DataFrame) -> Path:
        """Where a run would keep the queue; nothing is written."""
        return self.home.review_queue(judge, batch)


@contextmanager
def rehearsed(
    resource: HomeResource, registrations: Sequence[Registration], ranker: str
) -> Iterator[RehearsedHome]:
    """The rehearsed home of a resource, with copies of the stored tables that an estimate reads.

    Raises:
        ConfigurationError: a judge's key stands for another model in this home.
    """
    fields = {name: getattr(resource, name) for name in type(resource).model_fields if name != "root"}
    home = RehearsedHome(root=str(resource.home.root), **fields)
    place = UPath(f"memory://lunguage-{uuid.uuid4().hex}/tables")
    home._home = MemoryHome(resource.home.root, registrations=tuple(registrations), place=place)
    configuration, prompts = resource.judges, load_prompts(resource.prompts)
    asked = dict.fromkeys((configuration.extractor, *configuration.members(ranker)))
    slots = {key: slot for key in asked if isinstance(slot := configuration.judges[key], ModelSlot)}
    structurer = configuration.judges.get(configuration.structurer)
    for key in asked:
        BindingRecord(resource.home.binding_file).require(key, configuration.judges[key])
    if slots or isinstance(structurer, ModelSlot):
        home._recorded = LedgerReader.at(resource.ledger_place)
    home._judges_asked = {
        key: RehearsalJudge(key, slot, prompts, home._recorded) for key, slot in slots.items()
    }
    _copy_tables(resource.home, place)
    try:
        yield home
    finally:
        if place.exists():
            place.fs.rm(place.path, recursive=True)
        if home._recorded is not None:
            home._recorded.close()


def _copy_tables(home: Home, place: UPath) -> None:
    """Copy what the explicit half has stored; records come with it, so that what is current stays so."""
    for table in (table for step in STEPS for table in RECIPES[step].tables):
        for keys in stored_partitions(home.tables, table):
            goal = partition_path(place, table, *keys)
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.write_bytes(partition_path(home.tables, table, *keys).read_bytes())
