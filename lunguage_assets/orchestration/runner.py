"""Materialising, from the command line, what a batch needs, through the persistent Dagster instance, one run per partition.

Per-batch stages always run again (they are deterministic, and paid answers are never paid for twice); the measuring stick is kept
unless it is missing, was made with other settings or judges, or a rebuild is asked for.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg

from lunguage_assets.data_files import dagster_yaml
from lunguage_assets.errors import LunguageError
from lunguage_assets.files import replace_text
from lunguage_assets.home import Home
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.orchestration.assets.explicit import fit_settings, stick_settings
from lunguage_assets.orchestration.assets.implicit import merge_settings
from lunguage_assets.orchestration.assets.release import BUNDLE_OP
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.io_manager import build_catalog
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.resources import HomeResource, judges_file
from lunguage_assets.store import PARTITIONED_BY, is_stored, partition_path, remove_abandoned_files
from lunguage_assets.tables import TABLES

PROCESS_TAG = "lunguage/process"
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class RunFailed(LunguageError):
    """A Dagster run failed; the message is the reason, on one line."""


@dataclass
class Stage:
    """One Dagster run to come: a job on a partition; '' for a job without partitions."""

    job: str
    partition: str | dict[str, str]

    @property
    def key(self) -> str | dg.MultiPartitionKey | None:
        return (self.partition or None) if isinstance(self.partition, str) else dg.MultiPartitionKey(self.partition)

    @property
    def label(self) -> str:
        return (self.partition or "this home") if isinstance(self.partition, str) else " x ".join(self.partition.values())


@dataclass
class Outcome:
    """What the runs reported: checks passed, those that failed, and those that only warn."""

    checks_passed: int = 0
    checks_failed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@contextmanager
def dagster_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """The persistent instance; sets `DAGSTER_HOME` to the home's own unless it is set already."""
    prepare_dagster_home(home)
    with dg.DagsterInstance.get() as instance:
        yield instance


def prepare_dagster_home(home: Home) -> None:
    """Point `DAGSTER_HOME` at the home and put the instance configuration there."""
    home.create()
    if not os.environ.get("DAGSTER_HOME"):
        os.environ["DAGSTER_HOME"] = str(home.dagster)
    if Path(os.environ["DAGSTER_HOME"]) == home.dagster:
        home.dagster.mkdir(parents=True, exist_ok=True)
        target = home.dagster / "dagster.yaml"
        if not target.exists():
            replace_text(target, dagster_yaml().read_text(encoding="utf-8"))


def close_abandoned_runs(instance: dg.DagsterInstance) -> int:
    """Report runs as failed whose process on this machine was killed: nobody else will, and the UI would show them as running."""
    closed = 0
    unfinished = (dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)
    for run in instance.get_runs(dg.RunsFilter(statuses=list(unfinished))):
        host, _, pid = run.tags.get(PROCESS_TAG, "").rpartition(":")
        if host == socket.gethostname() and not _is_alive(int(pid)):
            instance.report_run_failed(run, "The process was killed; a later `lunguage run` took the work up again.")
            closed += 1
    return closed


def _this_process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Runner:
    """Plans and executes the runs for a home."""

    def __init__(self, home: Home, instance: dg.DagsterInstance, judges: JudgesConfiguration | None = None) -> None:
        self._home, self._instance = home, instance
        self._judges = judges or load_judges(judges_file())
        self._definitions = build_defs(home, self._judges)
        self._resource = HomeResource(root=str(home.root))

    def register_partitions(self) -> None:
        """Make every registered batch a partition (again, should the instance be new)."""
        self._instance.add_dynamic_partitions(REPORT_BATCH.name, [batch.key for batch in self._home.registered()])

    def pending_batches(self, ranker: str, requested: str) -> list[str]:
        """The requested batch, and every other one whose result is missing or was made with another ranking or another fit."""
        return [batch.key for batch in self._home.registered() if batch.key == requested or not self._is_fitted(ranker, batch.key)]

    def _is_fitted(self, ranker: str, batch: str) -> bool:
        """Finished, from the present ranking, with the present settings of the fit and of what follows it."""
        partition: dict[str, str] = {"ranker": ranker, "report_batch": batch}
        result = self._noted("lunguage_plus_plus", partition)
        return (
            all(
                self._stored(table, ranker, batch)
                for table in ("fitted_probabilities", "deduplicated_findings", "lunguage_plus_plus", "accounting")
            )
            and result.get("ranking_version") == self._noted("reference_ranking", ranker).get("ranking_version")
            and self._noted("deduplicated_findings", partition).get("merge_settings") == merge_settings(self._resource)
            and self._noted("fitted_probabilities", partition).get("fit_settings") == fit_settings(self._resource)
        )

    def run(
        self,
        ranker: str,
        batch: str,
        *,
        out: str = "",
        rebuild_ranking: bool = False,
        progress: Callable[[Stage, int, int], None] = lambda *_: None,
    ) -> Outcome:
        """Materialise everything that `release[ranker]` needs for a batch.

        Raises:
            RunFailed: a run failed; what was finished stays, and the same call goes on from there.
        """
        outcome = Outcome()
        close_abandoned_runs(self._instance)
        remove_abandoned_files(self._home.tables)
        self.register_partitions()
        build_catalog(self._home.tables, self._home.database)  # always: an upgrade may have changed a table's columns
        extractor = self._judges.extractor
        done = 0

        def execute(stages: list[Stage], more: int = 0) -> None:
            nonlocal done
            for position, stage in enumerate(stages):
                progress(stage, done, done + len(stages) - position + more)
                self._execute(stage, outcome, {"out": out} if stage.job == "release" else None)
                done += 1

        rest = 4  # fit, expand, release and, about, what the measuring stick still needs
        reading = self.pending_batches(ranker, batch)
        execute(
            [stage for key in reading for stage in (Stage("ingest", key), self._on_batch("extract_hedges", "judge", extractor, key))], rest
        )
        self._build_stick(ranker, extractor, rebuild_ranking, execute)
        batches = self.pending_batches(ranker, batch)  # a new ranking makes other batches pending too
        execute(
            [
                stage
                for key in batches
                for stage in (self._on_batch("fit", "ranker", ranker, key), self._on_batch("expand", "ranker", ranker, key))
            ],
            1,
        )
        execute([Stage("release", ranker)])
        return outcome

    def analyse(self, ranker: str, *, progress: Callable[[Stage, int, int], None] = lambda *_: None) -> Outcome:
        """Materialise the analyses of a ranker: agreement, robustness, validation. The ranking must be there.

        Raises:
            RunFailed: there is no ranking yet, or a run failed.
        """
        close_abandoned_runs(self._instance)
        self.register_partitions()
        if not self._stored("reference_ranking", ranker):
            raise RunFailed(f"there is no ranking of {ranker!r} in {self._home.root} to analyse. Run `lunguage run` first.")
        outcome, stages = Outcome(), [Stage("draw_pathways", ""), Stage("analyse", ranker)]
        for done, stage in enumerate(stages):
            progress(stage, done, len(stages))
            self._execute(stage, outcome, None)
        build_catalog(self._home.tables, self._home.database)
        return outcome

    def _build_stick(self, ranker: str, extractor: str, rebuild: bool, execute: Callable[[list[Stage], int], None]) -> None:
        """Vocabulary, comparisons and ranking, as far as they are missing or stale."""
        if rebuild or not self._is_current("hedge_vocabulary", extractor, ()):
            execute([Stage("build_vocabulary", extractor)], 4)
        vocabulary = self._noted("hedge_vocabulary", extractor).get("vocabulary_version")
        members = self._judges.members(ranker)
        replay = [key for key in members if rebuild or not self._is_current("comparison_matches", key, [key], vocabulary)]
        execute([Stage("compare", key) for key in replay], 4)
        if replay or not self._is_current("reference_ranking", ranker, members, vocabulary):
            execute([Stage("rank", ranker)], 3)

    @staticmethod
    def _on_batch(job: str, dimension: str, key: str, batch: str) -> Stage:
        return Stage(job, {dimension: key, "report_batch": batch})

    def _stored(self, table: str, *keys: str) -> bool:
        partition: str | dict[str, str] = keys[0] if len(keys) == 1 else dict(zip(PARTITIONED_BY[table], keys, strict=True))
        return is_stored(TABLES[table], partition_path(self._home.tables, table, *keys)) and bool(self._noted(table, partition))

    def _is_current(self, table: str, key: str, members: Sequence[str], vocabulary: str | None = None) -> bool:
        """Stored, with the present settings, extractor and judges, and for this vocabulary."""
        noted = self._noted(table, key)
        return (
            self._stored(table, key)
            and noted.get("settings") == stick_settings(self._resource, members)
            and (vocabulary is None or noted.get("vocabulary_version") == vocabulary)
        )

    def _noted(self, table: str, partition: str | dict[str, str]) -> Mapping[str, Any]:
        """Metadata of the latest materialization of a partition; empty when there is none."""
        key = partition if isinstance(partition, str) else dg.MultiPartitionKey(partition)
        records = self._instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=dg.AssetKey(table), asset_partitions=[key]), limit=1
        ).records
        if not records or records[0].asset_materialization is None:
            return {}
        return {name: value.value for name, value in records[0].asset_materialization.metadata.items()}

    def _execute(self, stage: Stage, outcome: Outcome, release_config: dict[str, str] | None) -> None:
        job = self._definitions.resolve_job_def(stage.job)
        config: dict[str, Any] = dict(QUIET)
        if release_config is not None:
            config["ops"] = {BUNDLE_OP: {"config": release_config}}
        result = job.execute_in_process(
            run_config=config, instance=self._instance, partition_key=stage.key, raise_on_error=False, tags={PROCESS_TAG: _this_process()}
        )
        for evaluation in result.get_asset_check_evaluations():
            if evaluation.passed:
                outcome.checks_passed += 1
            else:
                warns = evaluation.severity is dg.AssetCheckSeverity.WARN
                said = outcome.warnings if warns else outcome.checks_failed
                said.append(f"{evaluation.asset_key.to_user_string()}: {evaluation.check_name} ({stage.label})")
        if not result.success:
            raise RunFailed(f"{stage.job} ({stage.label}): {_reason(result)} [Dagster run {result.run_id}]")


def _reason(result: dg.ExecuteInProcessResult) -> str:
    """Why a run failed, on one line: the failure's own description, or the kind of the unexpected error."""
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            if failure.user_failure_data is not None and failure.user_failure_data.description:
                return " ".join(failure.user_failure_data.description.split())
            error = failure.error
            while error is not None and error.cause is not None:
                error = error.cause
            if error is not None and error.cls_name == "DagsterRedactedUserCodeError":
                return "an unexpected error, whose message is withheld because it may quote a report; its place is in the run's log"
            if error is not None:
                return f"unexpected {error.cls_name}; the full report is in the run's log"
    return "a blocking check failed" if any(not e.passed for e in result.get_asset_check_evaluations()) else "the run failed"
