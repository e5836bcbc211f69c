"""Whether a stored table is current: its record compared with its recipe as it stands now. A table is stale
when something that it was made of is another now, or is itself stale; the reasons given are the roots
("pathways changed"), not the way down from them. And the plan of a run: which partitions have to be made, in
an order in which each finds what it reads; `lunguage run` and the estimate share it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Literal

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.lineage.input_fingerprints import NOTHING, InputFingerprints
from lunguage_assets.lineage.recipes import (
    BATCH,
    REBUILT,
    RECIPES,
    RELEASE,
    RESULT,
    SCORER,
    STEP_OF,
    STEPS_OF_JOB,
    STRUCTURER,
    Input,
    dimensions_of,
)
from lunguage_assets.settings import Settings, load_settings
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import (
    Lineage,
    TableRecord,
    partition_path,
    stored_record,
    verified_record,
)

Keys = tuple[str, ...]

CHANGED_BY_HAND = "changed after it was stored"
_RELEASE_RECORD = "made_of.json"
_FITS = "fitted_probabilities"


@dataclass(frozen=True)
class Staleness:
    """`current`, `stale` for these reasons, or `missing`."""

    state: Literal["current", "stale", "missing"]
    because: tuple[str, ...] = ()


CURRENT, MISSING = Staleness("current"), Staleness("missing")


class StalenessChecker:
    """Answers for one home at one moment, for judges as configured, with the user's own prompts, if any, and
    the releases in the home or in another folder (one folder per ranker). `fit` is who fits from now on,
    `panel` or `distilled`, where that was asked for. What was read once is kept.

    A table's record stands in its file's footer, and is believed: an archive is not read again for every
    stage. With `verify` the rows of every file are held against their record too, which finds a file that was
    changed in place: once at the beginning of a command that makes what is stale, and before a release.
    """

    def __init__(
        self,
        home: Home,
        judges: JudgesConfiguration,
        prompts: Path | None = None,
        releases: Path | None = None,
        fit: str = "",
        *,
        verify: bool = False,
    ) -> None:
        self._read_record = verified_record if verify else stored_record
        self.home, self.judges, self.releases = home, judges, releases or home.release
        self.fingerprints, self._fit = InputFingerprints(home, judges, prompts), fit
        self._kinds = {batch.key: batch.kind for batch in home.registered()}
        self.batches = list(self._kinds)
        """Keys of the registered batches, oldest first."""
        self.of, self.record = cache(self._of), cache(self._record)
        self.complete_batches = cache(self._complete_batches)

    @cached_property
    def _settings(self) -> Settings:
        return load_settings(self.home.settings_file)

    def is_text(self, batch: str) -> bool:
        """Whether a batch was delivered as raw reports."""
        return self._kinds.get(batch) == "text"

    def is_current(self, table: str, *keys: str) -> bool:
        """Whether a partition is stored and nothing that it was made of has changed."""
        return self.of(table, *keys).state == "current"

    def is_made(self, step: str, *keys: str) -> bool:
        """Whether all tables of a step are current."""
        return all(self.is_current(table, *keys) for table in RECIPES[step].tables)

    def exists(self, table: str, *keys: str) -> bool:
        """Whether a partition is stored, current or not."""
        return self.of(table, *keys).state != "missing"

    def _complete_batches(self, ranker: str) -> list[str]:
        read = {
            wanted.table: dimensions_of(wanted.table)
            for wanted in RECIPES[RELEASE].inputs
        }

        def is_complete(batch: str) -> bool:
            own = {BATCH: batch, "ranker": ranker}
            return all(
                self.exists(table, *map(own.__getitem__, dimensions))
                for table, dimensions in read.items()
                if BATCH in dimensions
            )

        return [batch for batch in self.batches if is_complete(batch)]

    def made_of(
        self,
        step: str,
        keys: Keys,
        versions: Mapping[tuple[str, Keys], str] | None = None,
    ) -> Lineage:
        """What a step's partition is made of when it is made now: of these `versions` of the partitions that
        were read, because files may have been replaced since; None: of those that are stored.
        """
        recipe, by_name = RECIPES[step], _named(step, keys)
        found = {}
        for wanted, place in self.inputs(step, keys):
            version = self._version(wanted.table, place)
            if versions is not None:
                version = versions.get((wanted.table, place), "")
            if version:
                found[_where(wanted.table, place)] = version
        return Lineage(
            recipe.code,
            found,
            {name: self.fingerprint(name, by_name) for name in recipe.reads},
        )

    def scorer_of(self, ranker: str, batch: str) -> str:
        """Version of the distilled model that fits a batch, `missing` when there is none yet, or `NOTHING`:
        its judges fit. `[explicit] fit` of the settings says who fits a new batch. A batch stays with who
        fitted it: a model learns from judges' fits, and a scored archive is not asked about by mistake.
        """
        chosen, record = (
            self._fit or self._settings.explicit.fit,
            self.record(_FITS, ranker, batch),
        )
        if record is not None and record.table == _FITS:
            chosen = (
                "panel"
                if self.is_fitted_by_judges(ranker, batch)
                else self._fit or "distilled"
            )
        if chosen == "panel":
            return NOTHING
        return self._version("distilled_scorer", (ranker,)) or "missing"

    def fingerprint(self, name: str, by_name: Mapping[str, str]) -> str:
        """Of what a step reads besides tables."""
        if name != SCORER:
            return self.fingerprints.of(name, by_name)
        scorer = self.scorer_of(by_name["ranker"], by_name[BATCH])
        return (
            scorer
            if scorer == NOTHING
            else f"{scorer}, unlike: {self._settings.distilled.unlike}"
        )

    def note_release(self, ranker: str, made_of: Lineage) -> TableRecord:
        """Keep beside a release what it was made of."""
        record = TableRecord(RELEASE, (ranker,), made_of, "")
        replace_text(
            self.releases / ranker / _RELEASE_RECORD, record.written(indent=1) + "\n"
        )
        return record

    def _of(self, table: str, *keys: str) -> Staleness:
        record = self.record(table, *keys)
        if record is None:
            return MISSING
        if record.table != table or record.keys != keys:
            return Staleness("stale", (f"{_place(table, keys)} {CHANGED_BY_HAND}",))
        reasons = dict.fromkeys(self._reasons(STEP_OF[table], keys, record.made_of))
        return Staleness("stale", tuple(reasons)) if reasons else CURRENT

    def _record(self, table: str, *keys: str) -> TableRecord | None:
        """None when nothing is stored. A file without a sound record gives one of no table."""
        try:
            if table == RELEASE:
                noted = json.loads(
                    (self.releases / keys[0] / _RELEASE_RECORD).read_text(
                        encoding="utf-8"
                    )
                )
                return TableRecord(RELEASE, keys, Lineage(**noted["made_of"]), "")
            path = partition_path(self.home.tables, table, *keys)
            return self._read_record(TABLES[table], path) or TableRecord(
                "", (), Lineage(), ""
            )
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, ValueError):  # of a release
            return None

    def _reasons(self, step: str, keys: Keys, made_of: Lineage) -> Iterator[str]:
        recipe, by_name = RECIPES[step], _named(step, keys)
        if made_of.code != recipe.code:
            yield f"code of {step} changed"
        for name in recipe.reads:
            before = made_of.reads.get(name, NOTHING if name == SCORER else None)
            if before != self.fingerprint(name, by_name):
                yield f"{name} changed"
        gone = set(made_of.inputs)
        for wanted, place in self.inputs(step, keys):
            gone.discard(where := _where(wanted.table, place))
            if wanted.on_request:
                continue
            above = self.of(wanted.table, *place)
            if (
                above.state == "stale" and not wanted.optional
            ):  # a run makes no analysis again
                yield from above.because
            elif above.state == "missing":
                yield f"{_place(wanted.table, place)} is missing"
            elif where not in made_of.inputs:
                yield f"{_place(wanted.table, place)} is new"
            elif made_of.inputs[where] != self._version(wanted.table, place):
                yield f"{_place(wanted.table, place)} made again"
        if gone and (
            recipe.by_query or any(wanted.by_panel for wanted in recipe.inputs)
        ):
            yield "a batch or an analysis was removed"

    def inputs(self, step: str, keys: Keys) -> Iterator[tuple[Input, Keys]]:
        """Every input of a step's partition, with the keys of the partition that is read."""
        own = _named(step, keys)
        for wanted in RECIPES[step].inputs:
            if wanted.of_texts and not self.is_text(own[BATCH]):
                continue
            along = [
                self._read_along(name, step, wanted, own)
                for name in dimensions_of(wanted.table)
            ]
            for place in product(*along):
                if not wanted.optional or self.record(wanted.table, *place) is not None:
                    yield wanted, place

    def _read_along(
        self, dimension: str, step: str, wanted: Input, own: Mapping[str, str]
    ) -> Sequence[str]:
        judges = self.judges
        match dimension, wanted.judge:
            case "judge", "extractor":
                return [judges.extractor]
            case "judge", "members":
                return judges.members(own["ranker"])
        if dimension in own:
            return [own[dimension]]
        if dimension == STRUCTURER:
            return judges.structurers if wanted.judge == "all" else [judges.structurer]
        if wanted.by_panel:
            return [
                batch
                for batch in self.batches
                if self.is_fitted_by_judges(own["ranker"], batch)
            ]
        return (
            self.complete_batches(own["ranker"])
            if RECIPES[step].by_query
            else self.batches
        )

    def is_fitted_by_judges(self, ranker: str, batch: str) -> bool:
        """Whether a batch has fits of which every answer is a judge's."""
        record = self.record(_FITS, ranker, batch)
        return (
            record is not None and record.made_of.reads.get(SCORER, NOTHING) == NOTHING
        )

    def _version(self, table: str, keys: Keys) -> str:
        record = self.record(table, *keys)
        return record.version if record is not None else ""


def asks_judges(now: StalenessChecker, ranker: str, batch: str) -> bool:
    """Whether a fit of a batch may ask judges: of what a distilled model scores only when it is told so."""
    fitted_by = now.fingerprint(SCORER, {"ranker": ranker, BATCH: batch})
    return fitted_by == NOTHING or fitted_by.endswith("panel")


def _named(step: str, keys: Keys) -> dict[str, str]:
    return dict(zip(RECIPES[step].dimensions, keys, strict=True))


def _where(table: str, keys: Sequence[str]) -> str:
    return f"{table}/{'/'.join(keys)}"


def _place(table: str, keys: Sequence[str]) -> str:
    return f"{table} ({', '.join(keys)})"


@dataclass(frozen=True)
class Stage:
    """One Dagster run to come: a job on a partition, and why it is needed; as text `job (partition)`."""

    job: str
    keys: Keys
    because: tuple[str, ...] = field(default=(), compare=False)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """What its keys are of, in their order."""
        return RECIPES[STEPS_OF_JOB[self.job][0]].dimensions

    @property
    def reason(self) -> str:
        """The first reason, and how many more there are."""
        more = f" and {len(self.because) - 1} more" if len(self.because) > 1 else ""
        return self.because[0] + more if self.because else ""

    def __str__(self) -> str:
        return f"{self.job} ({' x '.join(self.keys)})"


def plan(now: StalenessChecker, ranker: str, *, rebuild: bool = False) -> list[Stage]:
    """The stages to the results and the release of a ranker, upstream first; none when everything is current.
    A judge that is no ranker ends with its comparisons; `rebuild` makes the reference scale again although it
    is current. Raises `ConfigurationError` when no batch is registered, or there is no such judge.
    """
    if not now.batches:
        raise ConfigurationError(
            "no batch is registered. `lunguage register --data DIR` registers one."
        )
    judges, extractor = now.judges, now.judges.extractor
    stages: list[Stage] = []
    to_make: set[tuple[str, Keys]] = set()

    def needs(step: str, *keys: str) -> bool:
        if (step, keys) in to_make or not now.is_made(step, *keys):
            return True
        # a batch that is not complete yet is no input of the release, but will be
        if step == RELEASE and any(
            made == RESULT and of[0] == keys[0] for made, of in to_make
        ):
            return True
        return any(
            (STEP_OF[wanted.table], place) in to_make
            for wanted, place in now.inputs(step, keys)
            if not wanted.on_request
        )

    def add(job: str, *keys: str) -> None:
        steps = STEPS_OF_JOB[job]
        if (rebuild and job in REBUILT) or any(needs(step, *keys) for step in steps):
            to_make.update((step, keys) for step in steps)
            # nobody needs to be told why a missing table is made
            tables = [table for step in steps for table in RECIPES[step].tables]
            because = [
                reason for table in tables for reason in now.of(table, *keys).because
            ]
            stages.append(Stage(job, keys, tuple(dict.fromkeys(because))))

    for batch in now.batches:
        if now.is_text(batch):
            add("read_reports", batch)
            add("structure", judges.structurer, batch)
        add("ingest", batch)
        add("extract_hedges", extractor, batch)
    add("build_vocabulary", extractor)
    ranks = ranker in judges.rankers
    for judge in judges.members(ranker) if ranks else (ranker,):
        add("compare", judge)
    if ranks:
        add("rank", ranker)
        for batch in now.batches:
            add(
                "refit" if needs("fitted_probabilities", ranker, batch) else "expand",
                ranker,
                batch,
            )
        add("release", ranker)
    return stages
