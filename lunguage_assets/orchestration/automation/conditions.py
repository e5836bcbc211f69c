"""When a partition is to be made without a person: the conditions, each told from one look at the instance.

A batch that was taken in is carried on for the rankers in use: those whose ranking has been made. Whatever
decides is in the instance's record of events (`latest`, `batch_flow`), not in a cursor: a daemon that was
stopped, restarted, or lost its state asks for nothing twice and forgets nothing.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

import dagster as dg

from lunguage_assets.home.store import PARTITIONED_BY
from lunguage_assets.orchestration.assets.explicit import TABLES_OF_FIT
from lunguage_assets.orchestration.assets.implicit import TABLES_OF_EXPANSION, TABLES_OF_RESOLUTION
from lunguage_assets.orchestration.automation.batch_flow import BATCH, BatchFlow, Place
from lunguage_assets.orchestration.latest import (
    first_made,
    made,
    notes,
    processes_that_made,
    run_that_made,
    run_that_tried,
    tried,
)
from lunguage_assets.orchestration.partitions import REPORT_BATCH, Partitions
from lunguage_assets.orchestration.runs.workers import PROCESS_TAG, is_gone

CARRIED = (
    "hedge_phrases",
    *TABLES_OF_FIT,
    "deduplicated_findings",
    *TABLES_OF_EXPANSION,
    *TABLES_OF_RESOLUTION,
)
"""Tables that a new batch is carried through, upstream first."""

AT_ONCE = 100
"""Partitions of a table requested at one look; what waits for something may not keep the others out, so each
look takes the next ones.
"""

BETWEEN_RUNS_S = 60
"""A process that executes one run after the other, such as `lunguage run`, counts as at work for so long
after a run.
"""


class Look:
    """What the conditions know at one look at the instance; read once per tick, tables upstream first.

    What is read later is at least as new: a result can only seem newer than what it was made from, never
    older.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        partitions: Partitions,
        reads: Callable[[str], Iterable[str]],
        now: datetime,
    ) -> None:
        self.instance, self.partitions, self.now = instance, partitions, now
        of_batches = [table for table, dimensions in PARTITIONED_BY.items() if BATCH in dimensions]
        self.flow = BatchFlow(
            batches=instance.get_dynamic_partitions(REPORT_BATCH.name),
            rankers=tuple(partitions.panel_members),
            extractor=partitions.extractor,
            reads={table: frozenset(reads(table)) for table in of_batches},
            made={table: made(instance, table) for table in of_batches},
            tried={table: tried(instance, table) for table in CARRIED},
        )
        self.vocabularies = notes(instance, "hedge_vocabulary")
        self.rankings = notes(instance, "reference_ranking", set(partitions.panel_members))
        self.in_use_since = {
            ranker: first_made(instance, "reference_ranking", ranker) or 0 for ranker in self.rankings
        }

    @property
    def vocabulary_version(self) -> Any:
        """Version of the extractor's vocabulary."""
        return self.vocabularies.get(self.partitions.extractor, {}).get("vocabulary_version")

    def was_tried_with(self, place: Place) -> bool:
        """Whether the run that made the newest input has set out to make this partition too: then it is under
        way there, or failed there.
        """
        newest = self.flow.newest_input(place)
        if newest is None or not self.flow.tried_at(place):
            return False
        run = run_that_tried(self.instance, place.table, self.flow.key(place))
        return run != "" and run == run_that_made(self.instance, newest.table, self.flow.key(newest))

    def carried_by_a_command(self, places: Iterable[Place]) -> set[Place]:
        """Those whose newest input comes from a process that executes runs one after the other, and is still
        at it.
        """
        by_table: dict[str, dict[str, list[Place]]] = {}
        for place in places:
            if (newest := self.flow.newest_input(place)) is not None:
                by_table.setdefault(newest.table, {}).setdefault(self.flow.key(newest), []).append(place)
        found: set[Place] = set()
        for table, waiting in by_table.items():
            processes = processes_that_made(self.instance, table, set(waiting))
            at_work = {process for process in set(processes.values()) if self._is_at_work(process)}
            found |= {
                place for key, process in processes.items() if process in at_work for place in waiting[key]
            }
        return found

    def _is_at_work(self, process: str) -> bool:
        if is_gone(process):
            return False
        (last,) = self.instance.get_run_records(dg.RunsFilter(tags={PROCESS_TAG: process}), limit=1)
        return last.end_time is None or abs(
            self.now - datetime.fromtimestamp(last.end_time, UTC)
        ) < timedelta(seconds=BETWEEN_RUNS_S)

    def extractor_is_in_use(self) -> bool:
        """Not where the configured extractor was changed and nobody has made its vocabulary yet: all batches
        would be read again.
        """
        return not self.vocabularies or self.partitions.extractor in self.vocabularies

    def due_matches(self) -> set[str]:
        """Judges of the rankers in use whose matches are of another vocabulary than the present one, and were
        not tried since it is there.
        """
        judges = {judge for ranker in self.rankings for judge in self.partitions.panel_members[ranker]}
        noted, last = (
            notes(self.instance, "comparison_matches", judges),
            tried(self.instance, "comparison_matches"),
        )
        there = made(self.instance, "hedge_vocabulary").get(self.partitions.extractor, 0)
        return {
            judge
            for judge in judges
            if there > last.get(judge, 0)
            and noted.get(judge, {}).get("vocabulary_version") != self.vocabulary_version
        }

    def due_rankings(self) -> set[str]:
        """Rankers in use of another vocabulary than the present one, for which all members' matches are of
        the present one.
        """
        noted, last = notes(self.instance, "comparison_matches"), tried(self.instance, "reference_ranking")
        played = made(self.instance, "comparison_matches")
        return {
            ranker
            for ranker, ranking in self.rankings.items()
            if ranking.get("vocabulary_version") != self.vocabulary_version
            and all(
                noted.get(j, {}).get("vocabulary_version") == self.vocabulary_version
                for j in self.partitions.panel_members[ranker]
            )
            and max(played[judge] for judge in self.partitions.panel_members[ranker]) > last.get(ranker, 0)
        }

    def ranker_is_in_use(self, place: Place) -> bool:
        """Whether the ranker has a ranking, of the present vocabulary, and something was made for this batch
        since it has one.
        """
        ranking = self.rankings.get(place.ranker)
        if ranking is None or ranking.get("vocabulary_version") != self.vocabulary_version:
            return False
        newest = self.flow.newest_input(place)
        return newest is not None and self.flow.made_at(newest) > self.in_use_since[place.ranker]


_LOOKS: WeakKeyDictionary[Any, Look] = WeakKeyDictionary()


class _FromLook(dg.AutomationCondition):
    """A condition that is told from one look at the instance, partition by partition."""

    said = ""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    @property
    def name(self) -> str:
        return self.said

    @property
    def description(self) -> str:
        return (self.__doc__ or "").strip()

    @property
    def requires_cursor(self) -> bool:
        return False

    def evaluate(self, context: dg.AutomationContext) -> dg.AutomationResult:
        if context.candidate_subset.is_empty:
            return dg.AutomationResult(context, context.get_empty_subset())
        keys = self.holding(self._look(context), context.key.path[-1], context)
        return dg.AutomationResult(
            context, context.candidate_subset.compute_intersection_with_partition_keys(keys)
        )

    @abstractmethod
    def holding(self, look: Look, table: str, context: dg.AutomationContext) -> set[str]:
        """Keys of the partitions for which the condition holds."""

    def _look(self, context: dg.AutomationContext) -> Look:
        view, graph = context.asset_graph_view, context.asset_graph
        if view not in _LOOKS:
            _LOOKS[view] = Look(
                view.instance,
                self._partitions,
                lambda table: [key.path[-1] for key in graph.get(dg.AssetKey(table)).parent_keys],
                context.evaluation_time,
            )
        return _LOOKS[view]


class InputsChanged(_FromLook):
    """Something that the partition reads of its batch was made after the partition was last tried."""

    said = "inputs_made_since_last_try"

    def holding(self, look: Look, table: str, context: dg.AutomationContext) -> set[str]:
        places = _candidates(look, table, context)
        return {
            key for key, place in places.items() if look.flow.is_due(place) and not look.was_tried_with(place)
        }


class InputsCurrent(_FromLook):
    """Everything that the partition reads of its batch is there, or will be made in the same run, and not
    itself out of date.
    """

    said = "inputs_up_to_date"

    def holding(self, look: Look, table: str, context: dg.AutomationContext) -> set[str]:
        about_to_be_made = _requested(context)
        return {
            key
            for key, place in _candidates(look, table, context).items()
            if look.flow.is_ready(place, about_to_be_made)
        }


class LeftToAutomation(_FromLook):
    """No `lunguage run`, or other command, is carrying the batch on right now."""

    said = "left_to_automation"

    def holding(self, look: Look, table: str, context: dg.AutomationContext) -> set[str]:
        places, about_to_be_made = _candidates(look, table, context), _requested(context)
        asked = [place for place in places.values() if about_to_be_made.isdisjoint(look.flow.inputs(place))]
        carried = look.carried_by_a_command(asked)
        return {key for key, place in places.items() if place not in carried}


class AmongTheNext(_FromLook):
    """The partition is among those requested at this look: at most a hundred, so that a look stays short, and
    all in turn.
    """

    said = "among_the_next"

    def holding(self, look: Look, table: str, context: dg.AutomationContext) -> set[str]:
        places, about_to_be_made = _candidates(look, table, context), _requested(context)
        riding = {
            key for key, place in places.items() if not about_to_be_made.isdisjoint(look.flow.inputs(place))
        }
        others = [key for key in places if key not in riding]
        looks = -(-len(others) // AT_ONCE)
        first = (context.evaluation_id % looks) * AT_ONCE if looks else 0
        return riding | set(others[first : first + AT_ONCE])


class ExtractorInUse(_FromLook):
    """The configured extractor has a vocabulary, or no judge has one yet."""

    said = "extractor_in_use"

    def holding(self, look: Look, table: str, context: dg.AutomationContext) -> set[str]:
        return set(_candidates(look, table, context)) if look.extractor_is_in_use() else set()


class RankerInUse(_FromLook):
    """The ranker has a ranking of the present vocabulary, and the batch's phrases are newer than its first
    ranking.
    """

    said = "ranker_in_use"

    def holding(self, look: Look, table: str, context: dg.AutomationContext) -> set[str]:
        return {
            key for key, place in _candidates(look, table, context).items() if look.ranker_is_in_use(place)
        }


class VocabularyChanged(_FromLook):
    """The judge belongs to a ranker in use, and the vocabulary is another one than its matches are of."""

    said = "vocabulary_changed"

    def holding(self, look: Look, table: str, context: dg.AutomationContext) -> set[str]:
        return look.due_matches()


class MatchesChanged(_FromLook):
    """The ranker is in use, and the matches of all its judges are of another vocabulary than its ranking."""

    said = "matches_changed"

    def holding(self, look: Look, table: str, context: dg.AutomationContext) -> set[str]:
        return look.due_rankings()


def _candidates(look: Look, table: str, context: dg.AutomationContext) -> dict[str, Place]:
    keys = context.candidate_subset.expensively_compute_partition_keys()
    return {key: place for place in look.flow.places(table) if (key := look.flow.key(place)) in keys}


def _requested(context: dg.AutomationContext) -> set[Place]:
    """What this tick requests already and the same run can make before the partition that is looked at."""
    found = set()
    for key, subset in context.request_subsets_by_key.items():
        if isinstance(key, dg.AssetKey) and "ranker" in PARTITIONED_BY.get(key.path[-1], ()):
            pairs = (str(partition).split("|") for partition in subset.expensively_compute_partition_keys())
            found |= {Place(key.path[-1], batch, ranker) for ranker, batch in pairs}
    return found
