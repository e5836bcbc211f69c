"""The way of a batch from its findings to its result, and which steps of it are due. Told from moments alone;
nothing of Dagster here.

Every table of a batch follows from tables of the same batch. A step is due when something that it reads was
made after the step was last tried. So a batch that is taken in again flows again, and a step that failed
waits until something that it reads changes. The measuring stick (vocabulary, comparisons, ranking) is read on
the way, and making it anew makes no step due.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from lunguage_assets.home.store import PARTITIONED_BY

BATCH = "report_batch"

Moments = Mapping[str, Mapping[str, int]]
"""Table -> partition -> moment; a later moment is a larger number."""


@dataclass(frozen=True)
class Place:
    """One partition on the way: of a batch alone, of the extractor's reading of it, or of a ranker's."""

    table: str
    batch: str
    ranker: str = ""


@dataclass(frozen=True)
class BatchFlow:
    """What is known at one look.

    Args:
        batches: registered batches.
        rankers: `panel` and the judges that rank alone.
        extractor: judge whose phrases are used.
        reads: table -> the tables that it reads.
        made: when partitions were last made.
        tried: when a run last set out to make them, or made them.
    """

    batches: Collection[str]
    rankers: Collection[str]
    extractor: str
    reads: Mapping[str, Collection[str]]
    made: Moments
    tried: Moments

    def places(self, table: str) -> Iterator[Place]:
        """All partitions of a table on the way: of phrases, only the extractor's."""
        for batch in self.batches:
            if "ranker" in PARTITIONED_BY[table]:
                yield from (Place(table, batch, ranker) for ranker in self.rankers)
            else:
                yield Place(table, batch)

    def key(self, place: Place) -> str:
        """The partition's key as Dagster writes it: dimensions in alphabetical order, joined by a bar."""
        named = {BATCH: place.batch, "ranker": place.ranker, "judge": self.extractor}
        return "|".join(named[dimension] for dimension in sorted(PARTITIONED_BY[place.table]))

    def inputs(self, place: Place) -> list[Place]:
        """What a partition reads of the same batch; the measuring stick is not part of it."""
        tables = (
            table
            for table in self.reads.get(place.table, ())
            if BATCH in PARTITIONED_BY.get(table, ()) and table != place.table
        )
        return [
            Place(table, place.batch, place.ranker if "ranker" in PARTITIONED_BY[table] else "")
            for table in sorted(tables)
        ]

    def made_at(self, place: Place) -> int:
        """When it was last made; 0 for never."""
        return self.made.get(place.table, {}).get(self.key(place), 0)

    def newest_input(self, place: Place) -> Place | None:
        """Of what a partition reads, what was made last; None when it reads nothing of its batch."""
        return max(self.inputs(place), key=self.made_at, default=None)

    def tried_at(self, place: Place) -> int:
        """When a run last set out to make it, or made it; 0 for never."""
        return self.tried.get(place.table, {}).get(self.key(place), 0)

    def is_due(self, place: Place) -> bool:
        """Whether everything that it reads of its batch is there, and some of it was made after it was last
        tried.
        """
        moments = [self.made_at(above) for above in self.inputs(place)]
        return bool(moments) and min(moments) > 0 and max(moments) > self.tried_at(place)

    def is_current(self, place: Place, about_to_be_made: Collection[Place] = ()) -> bool:
        """Whether a partition is there (or about to be made) and, all the way up, nothing that it was made
        from was made later.
        """
        inputs = self.inputs(place)
        if not all(self.is_current(above, about_to_be_made) for above in inputs):
            return False
        return place in about_to_be_made or self.made_at(place) > max(map(self.made_at, inputs), default=0)

    def is_ready(self, place: Place, about_to_be_made: Collection[Place] = ()) -> bool:
        """Whether everything that a partition reads of its batch is current."""
        return all(self.is_current(above, about_to_be_made) for above in self.inputs(place))
