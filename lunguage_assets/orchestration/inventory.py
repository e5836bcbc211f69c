"""What there is of a home's tables, and which of it is current.

Told from what the instance noted with each table and from the tables' files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal

import dagster as dg
import pandas as pd

from lunguage_assets.explicit.hedges.hedging import has_corrections, load_corrections
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import PARTITIONED_BY, is_stored, partition_path, read_table
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.orchestration.assets.corpus import TABLES_OF_INTAKE, intake_settings
from lunguage_assets.orchestration.assets.explicit import TABLES_OF_FIT, fit_settings, stick_settings
from lunguage_assets.orchestration.assets.implicit import merge_settings
from lunguage_assets.orchestration.latest import made, notes
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.instance import configuration_of, dagster_instance
from lunguage_assets.tables import HEDGE_PHRASES, TABLES

Step = Literal["ingest", "extract_hedges", "fit", "expand"]
"""A job that a batch goes through."""

# In the order in which they follow from each other.
_OF_A_RESULT = ("fitted_probabilities", "deduplicated_findings", "lunguage_plus_plus", "accounting")


class Inventory:
    """What there is in a home at one moment; read table by table when it is asked for, and then not again."""

    def __init__(self, home: Home, instance: dg.DagsterInstance, judges: JudgesConfiguration) -> None:
        self._home, self._instance, self._judges = home, instance, judges
        self._resource = HomeResource(root=str(home.root))
        self._notes = cache(self._read_notes)
        self._made = cache(self._read_made)
        self._is_corrected = cache(self._read_corrected)

    @cached_property
    def batches(self) -> list[str]:
        """Keys of the registered batches, in the order of their registration."""
        return [batch.key for batch in self._home.registered()]

    def is_taken_in(self, batch: str) -> bool:
        return all(self.is_stored(table, batch) for table in TABLES_OF_INTAKE)

    def has_phrases(self, judge: str, batch: str) -> bool:
        """Whether the judge, as it is now, has extracted the phrases of a batch, and a person's present
        corrections are in them.
        """
        return (
            self.is_stored("hedge_phrases", judge, batch)
            and self.noted("hedge_phrases", judge, batch).get("judge") == self._resource.identity(judge)
            and self._is_corrected(judge, batch)
        )

    def is_fitted(self, ranker: str, batch: str) -> bool:
        """Finished, from the present ranking, each table after the one that it follows from, with nothing
        that is no longer in force.
        """
        return (
            self.noted("lunguage_plus_plus", ranker, batch).get("ranking_version")
            == self.noted("reference_ranking", ranker).get("ranking_version")
            and all(self.is_stored(table, ranker, batch) for table in _OF_A_RESULT)
            and self._in_order(
                ("findings", batch),
                ("hedge_phrases", self._judges.extractor, batch),
                *((table, ranker, batch) for table in _OF_A_RESULT),
            )
            and not self.outdated(ranker, batch)
        )

    def outdated(self, ranker: str, batch: str) -> list[str]:
        """What a batch's tables were made with and is no longer in force: settings, files in the home. Of a
        table without a note, nothing is known.
        """
        found = []
        if self._differs(("findings", batch), "intake_settings", self._intake_settings):
            found.append("corpus settings")
        if not self._is_corrected(self._judges.extractor, batch):
            found.append("corrections.csv")
        if self._differs(("fitted_probabilities", ranker, batch), "fit_settings", self._fit_settings):
            found.append("settings or anchors of the fit")
        if self._differs(("deduplicated_findings", ranker, batch), "merge_settings", self._merge_settings):
            found.append("implicit settings, pathways or blacklist")
        return found

    def first_step(self, ranker: str, batch: str) -> Step | None:
        """From where on a batch is to be made again, so that nothing before it is; None when it is finished.

        With other pathways only what follows from the fits is made again, and no judge is asked.
        """
        extractor = self._judges.extractor
        if self.is_fitted(ranker, batch):
            return None
        if not self.is_taken_in(batch) or self._differs(
            ("findings", batch), "intake_settings", self._intake_settings
        ):
            return "ingest"
        if not self.has_phrases(extractor, batch) or not self._in_order(
            ("findings", batch), ("hedge_phrases", extractor, batch)
        ):
            return "extract_hedges"
        fits = ("fitted_probabilities", ranker, batch)
        if (
            not all(self.is_stored(table, ranker, batch) for table in TABLES_OF_FIT)
            or self.noted(*fits).get("ranking_version")
            != self.noted("reference_ranking", ranker).get("ranking_version")
            or self._differs(fits, "fit_settings", self._fit_settings)
            or not self._in_order(("hedge_phrases", extractor, batch), fits)
        ):
            return "fit"
        return "expand"

    def pending(self, ranker: str, requested: str | None = None) -> list[str]:
        """The batches that a run makes (again): the requested one, and every other one that is not
        finished.
        """
        return [batch for batch in self.batches if batch == requested or not self.is_fitted(ranker, batch)]

    def is_current(self, table: str, key: str, members: Sequence[str], vocabulary: str | None = None) -> bool:
        """A part of the measuring stick: stored, with the present settings, extractor and judges, and for
        this vocabulary.
        """
        noted = self.noted(table, key)
        return (
            self.is_stored(table, key)
            and noted.get("settings") == stick_settings(self._resource, members)
            and (vocabulary is None or noted.get("vocabulary_version") == vocabulary)
        )

    def is_released(self, ranker: str) -> bool:
        """Whether the release is younger than everything that it is written from."""
        results = [
            moment for key, moment in self._made("lunguage_plus_plus").items() if key.split("|")[0] == ranker
        ]
        return self._made("release").get(ranker, 0) > max(
            [self._made("reference_ranking").get(ranker, 0), *results]
        )

    def is_stored(self, table: str, *keys: str) -> bool:
        """Whether a partition's file is there, of this version's schema, and its making is on record."""
        return _partition(table, keys) in self._made(table) and is_stored(
            TABLES[table], partition_path(self._home.tables, table, *keys)
        )

    def noted(self, table: str, *keys: str) -> Mapping[str, Any]:
        """Metadata of the latest materialization of a partition; keys as in `store.PARTITIONED_BY`; empty
        when there is none.
        """
        return self._notes(table, keys[0] if len(keys) > 1 else "").get(_partition(table, keys), {})

    def _read_notes(self, table: str, first: str) -> dict[str, dict[str, Any]]:
        """Notes of a table; of one with two dimensions, those of one judge or ranker in all batches."""
        named = [_partition(table, (first, batch)) for batch in self.batches] if first else None
        return notes(self._instance, table, named)

    def _read_made(self, table: str) -> dict[str, int]:
        return made(self._instance, table)

    def _differs(self, partition: tuple[str, ...], note: str, present: str) -> bool:
        """Whether a table was made with something else than the present; not when nothing is noted."""
        return self.noted(*partition).get(note, present) != present

    def _in_order(self, *partitions: tuple[str, ...]) -> bool:
        """Whether each was made before what follows from it, and not again since, as when a run was killed
        between the two.
        """
        moments = [self._made(table).get(_partition(table, keys), 0) for table, *keys in partitions]
        return moments == sorted(moments)

    def _read_corrected(self, judge: str, batch: str) -> bool:
        """Whether the stored phrases of a batch have the present corrections. The table is read only where
        there may be any.
        """
        path = partition_path(self._home.tables, "hedge_phrases", judge, batch)
        none = self._corrections is None and self.noted("hedge_phrases", judge, batch).get("corrected") == 0
        return (
            none
            or not is_stored(HEDGE_PHRASES, path)
            or has_corrections(read_table(HEDGE_PHRASES, path), self._corrections)
        )

    @cached_property
    def _corrections(self) -> pd.DataFrame | None:
        return load_corrections(self._home.corrections_file)

    @cached_property
    def _intake_settings(self) -> str:
        return intake_settings(self._resource)

    @cached_property
    def _merge_settings(self) -> str:
        return merge_settings(self._resource)

    @cached_property
    def _fit_settings(self) -> str:
        return fit_settings(self._resource)


def _partition(table: str, keys: Sequence[str]) -> str:
    """The partition key as the event log writes it: dimensions in the order of their names."""
    return "|".join(key for _, key in sorted(zip(PARTITIONED_BY[table], keys, strict=True)))


def batches_to_ask_about(home: Home, judges: JudgesConfiguration, ranker: str) -> list[str]:
    """Batches about which a run asks judges (again) besides the one it is asked for; none where there is no
    record of runs yet.
    """
    if not home.registered() or configuration_of(home) == "missing":
        return []
    with dagster_instance(home) as instance:
        there = Inventory(home, instance, judges)
        return [batch for batch in there.batches if there.first_step(ranker, batch) not in (None, "expand")]
