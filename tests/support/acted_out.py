"""A code location whose runs are acted out: they are created as the daemon creates
them, and their events are written without computing anything.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.events import DagsterEvent, DagsterEventType, StepMaterializationData
from dagster._core.execution.api import create_execution_plan
from dagster._core.storage.tags import PARTITION_NAME_TAG
from quick_instance import quick_instance

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.current import DATA_VERSION
from lunguage_assets.workspace.home import Home

TAKEN_IN = ("reports", "rejected", "intake_notes", "terms", "findings")
STEPS_OF_FINDINGS = (
    "hedge_phrases",
    "fit_log",
    "fitted_probabilities",
    "deduplicated_findings",
    "pathway_matches",
    "expansions",
    "resolution_log",
    "conflicts",
    "accounting",
    "set_aside",
    "lunguage_plus_plus",
)
"""Assets that a batch is carried through, upstream first."""

OF_RANKER = frozenset(STEPS_OF_FINDINGS) - {"hedge_phrases"}
"""Assets that a batch's run for one ranker makes."""

Requested = dict[str, set[str]]


class CodeLocation:
    """Definitions, and the jobs with which runs of them are created; nothing is
    computed in it, so tests share it.
    """

    def __init__(self, definitions: dg.Definitions) -> None:
        self.definitions = definitions
        self._jobs: dict[frozenset[str], tuple[dg.JobDefinition, Any]] = {}

    def job(self, tables: frozenset[str]) -> tuple[dg.JobDefinition, Any]:
        """The job that makes these tables, and its execution plan."""
        if tables not in self._jobs:
            keys = {dg.AssetKey(table) for table in tables}
            job_of_all = (
                self.definitions.get_repository_def().get_implicit_job_def_for_assets(
                    keys
                )
            )
            assert job_of_all is not None
            job = job_of_all.get_subset(asset_selection=keys)
            self._jobs[tables] = job, create_execution_plan(job)
        return self._jobs[tables]


@cache
def defined(settings: str = "") -> CodeLocation:
    """The code location of an empty home with these settings."""
    with tempfile.TemporaryDirectory() as root:
        return located(Path(root), settings)


def located(root: Path, settings: str = "") -> CodeLocation:
    """The code location of a home in a folder."""
    (root / "settings.toml").write_text(settings)
    return CodeLocation(build_defs(Configuration(Home(root))))


class Acted:
    """An instance on which batches are delivered, the daemon ticks, and runs succeed or
    break off.
    """

    def __init__(self, location: CodeLocation | None = None) -> None:
        self._location = location or defined()
        self.definitions = self._location.definitions
        self.instance = quick_instance()
        self._cursor: Any = None

    def tick(self) -> Requested:
        """What one look of the automation requests: table -> partitions."""
        looked_at = (*STEPS_OF_FINDINGS, "comparison_matches", "reference_ranking")
        result = dg.evaluate_automation_conditions(
            self.definitions,
            self.instance,
            asset_selection=dg.AssetSelection.assets(*looked_at),
            cursor=self._cursor,
        )
        self._cursor = result.cursor
        partitions_by_table = {
            table: set(result.get_requested_partitions(dg.AssetKey(table)))
            for table in looked_at
        }
        return {
            table: partitions
            for table, partitions in partitions_by_table.items()
            if partitions
        }

    def start(self, tables: Iterable[str], partition: str) -> dg.DagsterRun:
        """Create a run that sets out to make these tables of a partition."""
        chosen = frozenset(tables)
        job, plan = self._location.job(chosen)
        run = self.instance.create_run_for_job(
            job,
            plan,
            tags={PARTITION_NAME_TAG: partition},
            asset_selection={dg.AssetKey(table) for table in chosen},
        )
        self._says(run, DagsterEventType.RUN_START)
        return run

    def make(self, run: dg.DagsterRun, table: str) -> None:
        """Its rows come out otherwise each time."""
        partition = run.tags[PARTITION_NAME_TAG]
        materialization = dg.AssetMaterialization(
            table, partition=partition, tags={DATA_VERSION: run.run_id}
        )
        event = DagsterEvent(
            DagsterEventType.ASSET_MATERIALIZATION.value,
            run.job_name,
            event_specific_data=StepMaterializationData(materialization),
        )
        self.instance.report_dagster_event(event, run.run_id)

    def fail(self, run: dg.DagsterRun) -> None:
        self.instance.report_run_failed(run)

    def succeed(self, run: dg.DagsterRun) -> None:
        self._says(run, DagsterEventType.RUN_SUCCESS)

    def done(self, tables: Sequence[str], partition: str) -> None:
        """A whole run that makes these tables of a partition."""
        run = self.start(tables, partition)
        for table in tables:
            self.make(run, table)
        self.succeed(run)

    def deliver(self, *batches: str) -> None:
        """Register batches and take them in."""
        self.instance.add_dynamic_partitions("report_batch", list(batches))
        for batch in batches:
            self.there(TAKEN_IN, batch)

    def there(self, tables: Iterable[str], partition: str) -> None:
        """These tables of a partition are made; the run that did is not acted out,
        which costs most.
        """
        for table in tables:
            self.instance.report_runless_asset_event(
                dg.AssetMaterialization(table, partition=partition)
            )

    def build_stick(self, *rankers: str) -> None:
        """A vocabulary of the extractor, matches of both judges, and the rankings."""
        self.there(["hedge_vocabulary"], "lexicon")
        for judge in ("lexicon", "cues"):
            self.there(["comparison_matches"], judge)
        for ranker in rankers:
            self.there(["reference_ranking"], ranker)

    def finish(self, requested: Requested) -> None:
        """Do all that was requested."""
        for partition in sorted(requested.get("hedge_phrases", ())):
            self.done(["hedge_phrases"], partition)
        for partition in sorted(
            set().union(*(requested.get(table, set()) for table in OF_RANKER))
        ):
            requests = [
                table
                for table in STEPS_OF_FINDINGS
                if partition in requested.get(table, ())
            ]
            self.done(requests, partition)

    def carry(self, limit: int = 6) -> list[Requested]:
        """Tick and do what is requested, until nothing is; what was requested, tick by
        tick.
        """
        ticks = []
        for _ in range(limit):
            requested = self.tick()
            if not requested:
                return ticks
            ticks.append(requested)
            self.finish(requested)
        raise AssertionError(f"still requests after {limit} ticks: {ticks[-1]}")

    def _says(self, run: dg.DagsterRun, event_type: DagsterEventType) -> None:
        self.instance.report_dagster_event(
            DagsterEvent(event_type.value, run.job_name), run.run_id
        )


def everything_of(*partitions: str) -> Requested:
    """A request of all tables that a batch's run for a ranker makes."""
    return {table: set(partitions) for table in OF_RANKER}


def in_use(acted: Acted) -> Acted:
    """With one finished batch `old` of ranker `panel`."""
    acted.deliver("old")
    acted.there(["hedge_phrases"], "lexicon|old")
    acted.build_stick("panel")
    acted.there(
        [table for table in STEPS_OF_FINDINGS if table in OF_RANKER], "panel|old"
    )
    return acted
