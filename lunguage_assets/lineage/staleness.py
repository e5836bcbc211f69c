"""Whether a stored table is current: its record, held against its recipe of now.

A table is stale when something that it was made of is another now, or is itself stale.
The reasons given are the roots ("pathways changed"), not the way down from them.

Not here: what a table is made of (`recipes.py`), how settings and files are hashed
(`input_fingerprints.py`), and what a run has to make (`run_plan.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Literal

from lunguage_assets.files import replace_text
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.lineage.input_fingerprints import NOTHING, InputFingerprints
from lunguage_assets.lineage.recipes import (
    BATCH,
    RECIPES,
    RELEASE,
    SCORER,
    STEP_OF,
    STRUCTURER,
    Input,
    dimensions_of,
)
from lunguage_assets.settings import Settings, load_settings
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import (
    partition_path,
    stored_record,
    verified_record,
)
from lunguage_assets.workspace.table_record import Lineage, TableRecord

Keys = tuple[str, ...]
"""Keys of a partition, in the order of `Table.partitioned_by`."""

CHANGED_BY_HAND = "changed after it was stored"
_RELEASE_RECORD = "made_of.json"
_FITS = "fitted_probabilities"
_NO_TABLE = TableRecord("", (), Lineage(), "")
"""Stands for the record of a file that has no sound one."""


@dataclass(frozen=True)
class Staleness:
    """Whether a partition is current, stale for these reasons, or missing."""

    state: Literal["current", "stale", "missing"]
    because: tuple[str, ...] = ()


CURRENT = Staleness("current")
MISSING = Staleness("missing")


class StalenessChecker:
    """Says of every table of a home whether it is current, as things are at one moment.

    What was read once is kept. A table's record stands in its file's footer, and is
    believed: an archive is not read again for every stage.

    Args:
        home: whose tables they are.
        judges: as they are configured.
        prompts: folder of the person's own prompts, or None.
        releases: folder with one folder for each ranker; None: the home's own.
        fit: who fits from now on, `panel` or `distilled`, where that was asked for.
        verify: hold the rows of every file against their record too, which finds a file
            that was changed in place. Once at the beginning of a command that makes
            what is stale, and before a release.
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
        self.home = home
        self.judges = judges
        self.releases = releases or home.release
        self.fingerprints = InputFingerprints(home, judges, prompts)
        self._read_record = verified_record if verify else stored_record
        self._fit = fit
        self._kind_by_batch = {batch.key: batch.kind for batch in home.registered()}
        self.batches = list(self._kind_by_batch)
        """Keys of the registered batches, oldest first."""
        self.of = cache(self._of)
        self.record = cache(self._record)
        self.complete_batches = cache(self._complete_batches)

    @cached_property
    def _settings(self) -> Settings:
        return load_settings(self.home.settings_file)

    # What a caller asks of a partition.

    def is_current(self, table: str, *keys: str) -> bool:
        """Whether a partition is stored and nothing that it was made of has changed."""
        return self.of(table, *keys).state == "current"

    def exists(self, table: str, *keys: str) -> bool:
        """Whether a partition is stored, current or not."""
        return self.of(table, *keys).state != "missing"

    def is_made(self, step: str, *keys: str) -> bool:
        """Whether all tables of a step are current."""
        return all(self.is_current(table, *keys) for table in RECIPES[step].tables)

    def is_text(self, batch: str) -> bool:
        """Whether a batch was delivered as raw reports."""
        return self._kind_by_batch.get(batch) == "text"

    def is_fitted_by_judges(self, ranker: str, batch: str) -> bool:
        """Whether a batch has fits of which every answer is a judge's."""
        record = self.record(_FITS, ranker, batch)
        if record is None:
            return False
        return record.made_of.reads.get(SCORER, NOTHING) == NOTHING

    def _complete_batches(self, ranker: str) -> list[str]:
        """List the batches of which everything is stored that a release reads."""
        return [batch for batch in self.batches if self._is_complete(ranker, batch)]

    def _is_complete(self, ranker: str, batch: str) -> bool:
        key_by_dimension = {BATCH: batch, "ranker": ranker}
        for source in RECIPES[RELEASE].inputs:
            dimensions = dimensions_of(source.table)
            if BATCH not in dimensions:
                continue
            keys = [key_by_dimension[dimension] for dimension in dimensions]
            if not self.exists(source.table, *keys):
                return False
        return True

    # Whether a partition is current.

    def _of(self, table: str, *keys: str) -> Staleness:
        record = self.record(table, *keys)
        if record is None:
            return MISSING
        # A file that was copied to another partition, or that another program wrote,
        # has the record of something else, or none.
        if record.table != table or record.keys != keys:
            reason = f"{_named_partition(table, keys)} {CHANGED_BY_HAND}"
            return Staleness("stale", (reason,))
        reasons = dict.fromkeys(self._reasons(STEP_OF[table], keys, record.made_of))
        return Staleness("stale", tuple(reasons)) if reasons else CURRENT

    def _reasons(self, step: str, keys: Keys, made_of: Lineage) -> Iterator[str]:
        """Say why what was made so would be made otherwise now."""
        recipe = RECIPES[step]
        # The code of the step gives another result than it gave then.
        if made_of.code != recipe.code:
            yield f"code of {step} changed"
        key_by_dimension = _keys_by_dimension(step, keys)
        for name in recipe.reads:
            recorded = made_of.reads.get(name)
            if recorded != self.fingerprint(name, key_by_dimension):
                yield f"{name} changed"
        removed = set(made_of.inputs)
        for source, source_keys in self.inputs(step, keys):
            removed.discard(_partition_id(source.table, source_keys))
            yield from self._reasons_of_input(source, source_keys, made_of)
        # A batch that was removed leaves no table to be stale: only the record names
        # it. The vocabulary keeps its phrases until it is made again on request.
        reads_several = any(source.by_panel for source in recipe.inputs)
        if removed and (recipe.by_query or reads_several):
            yield "a batch or an analysis was removed"

    def _reasons_of_input(
        self, source: Input, keys: Keys, made_of: Lineage
    ) -> Iterator[str]:
        """Say why a table that is read makes stale what was made of it."""
        if source.on_request:
            return
        upstream = self.of(source.table, *keys)
        name = _named_partition(source.table, keys)
        recorded_version = made_of.inputs.get(_partition_id(source.table, keys))
        # A run makes no analysis again: a stale one that is optional waits for a
        # person.
        if upstream.state == "stale" and not source.optional:
            yield from upstream.because
        elif upstream.state == "missing":
            yield f"{name} is missing"
        elif recorded_version is None:
            yield f"{name} is new"
        elif recorded_version != self._version(source.table, keys):
            yield f"{name} made again"

    # What a partition is made of.

    def made_of(
        self,
        step: str,
        keys: Keys,
        versions: Mapping[tuple[str, Keys], str] | None = None,
    ) -> Lineage:
        """Say what a step's partition is made of when it is made now.

        Args:
            step: that makes it.
            keys: of the partition.
            versions: of the partitions that were read, because files may have been
                replaced since; None: of those that are stored.
        """
        recipe = RECIPES[step]
        inputs: dict[str, str] = {}
        for source, source_keys in self.inputs(step, keys):
            if versions is None:
                version = self._version(source.table, source_keys)
            else:
                version = versions.get((source.table, source_keys), "")
            if version:
                inputs[_partition_id(source.table, source_keys)] = version
        key_by_dimension = _keys_by_dimension(step, keys)
        reads: dict[str, str] = {}
        for name in recipe.reads:
            reads[name] = self.fingerprint(name, key_by_dimension)
        return Lineage(recipe.code, inputs, reads)

    def inputs(self, step: str, keys: Keys) -> Iterator[tuple[Input, Keys]]:
        """List every input of a step's partition, with the keys that are read of it."""
        key_by_dimension = _keys_by_dimension(step, keys)
        for source in RECIPES[step].inputs:
            if source.of_texts and not self.is_text(key_by_dimension[BATCH]):
                continue
            keys_by_position = [
                self._keys_along(dimension, step, source, key_by_dimension)
                for dimension in dimensions_of(source.table)
            ]
            for source_keys in product(*keys_by_position):
                is_stored = self.record(source.table, *source_keys) is not None
                if is_stored or not source.optional:
                    yield source, source_keys

    def _keys_along(
        self,
        dimension: str,
        step: str,
        source: Input,
        key_by_dimension: Mapping[str, str],
    ) -> Sequence[str]:
        """List the keys of a dimension whose partitions a step reads of an input."""
        if dimension == "judge" and source.judge == "extractor":
            return [self.judges.extractor]
        if dimension == "judge" and source.judge == "members":
            return self.judges.members(key_by_dimension["ranker"])
        if dimension in key_by_dimension:
            return [key_by_dimension[dimension]]
        if dimension == STRUCTURER:
            reads_all = source.judge == "all"
            return self.judges.structurers if reads_all else [self.judges.structurer]
        # What is left is a step without batches, which reads those of all.
        if source.by_panel:
            ranker = key_by_dimension["ranker"]
            return [
                batch
                for batch in self.batches
                if self.is_fitted_by_judges(ranker, batch)
            ]
        if RECIPES[step].by_query:
            return self.complete_batches(key_by_dimension["ranker"])
        return self.batches

    def fingerprint(self, name: str, key_by_dimension: Mapping[str, str]) -> str:
        """Fingerprint something that a step reads besides tables.

        Args:
            name: one of the recipe's `reads`.
            key_by_dimension: the keys of the step's partition.
        """
        if name != SCORER:
            return self.fingerprints.of(name, key_by_dimension)
        scorer = self.scorer_of(key_by_dimension["ranker"], key_by_dimension[BATCH])
        if scorer == NOTHING:
            return NOTHING
        # The word is in records of stored tables, and stays as it was written there.
        return f"{scorer}, unlike: {self._settings.distilled.out_of_distribution}"

    def scorer_of(self, ranker: str, batch: str) -> str:
        """Find who fits a batch.

        `[explicit] fit` of the settings says it for a new batch. A batch stays with who
        fitted it: a model learns from judges' fits, and a scored archive is not asked
        about by mistake.

        Returns:
            Version of the distilled model, `missing` while there is none, or `NOTHING`:
            judges fit.
        """
        record = self.record(_FITS, ranker, batch)
        is_fitted = record is not None and record.table == _FITS
        fitter = self._fit or self._settings.explicit.fit
        if is_fitted and self.is_fitted_by_judges(ranker, batch):
            fitter = "panel"
        # Judges fit a scored batch anew only where `--fit panel` asks for it.
        elif is_fitted:
            fitter = self._fit or "distilled"
        if fitter == "panel":
            return NOTHING
        return self._version("distilled_scorer", (ranker,)) or "missing"

    # Records.

    def note_release(self, ranker: str, made_of: Lineage) -> TableRecord:
        """Keep beside a release what it was made of."""
        record = TableRecord(RELEASE, (ranker,), made_of, "")
        file = self.releases / ranker / _RELEASE_RECORD
        replace_text(file, record.to_json(indent=1) + "\n")
        return record

    def _record(self, table: str, *keys: str) -> TableRecord | None:
        """Read a record; None when nothing is stored.

        A file without a sound record gives one of no table, so that it is stale.
        """
        if table == RELEASE:
            return self._release_record(keys)
        path = partition_path(self.home.tables, table, *keys)
        try:
            return self._read_record(TABLES[table], path) or _NO_TABLE
        except FileNotFoundError:
            return None

    def _release_record(self, keys: Keys) -> TableRecord | None:
        (ranker,) = keys
        file = self.releases / ranker / _RELEASE_RECORD
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
            return TableRecord(RELEASE, keys, Lineage(**values["made_of"]), "")
        except (FileNotFoundError, KeyError, TypeError, ValueError):
            return None

    def _version(self, table: str, keys: Keys) -> str:
        record = self.record(table, *keys)
        return record.version if record is not None else ""


def asks_judges(staleness: StalenessChecker, ranker: str, batch: str) -> bool:
    """Whether a fit of a batch may ask judges.

    Of what a distilled model scores it asks only where the settings send sentences that
    are unlike its own to the panel.

    Args:
        staleness: who fits the batch from now on.
        ranker: whose judges would be asked.
        batch: that would be fitted.
    """
    fitted_by = staleness.fingerprint(SCORER, {"ranker": ranker, BATCH: batch})
    return fitted_by == NOTHING or fitted_by.endswith("panel")


def _keys_by_dimension(step: str, keys: Keys) -> dict[str, str]:
    return dict(zip(RECIPES[step].dimensions, keys, strict=True))


def _partition_id(table: str, keys: Sequence[str]) -> str:
    """Name a partition as records do."""
    return f"{table}/{'/'.join(keys)}"


def _named_partition(table: str, keys: Sequence[str]) -> str:
    """Name a partition as a person reads it."""
    return f"{table} ({', '.join(keys)})"
