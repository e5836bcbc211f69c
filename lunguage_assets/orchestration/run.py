"""Make what is not current: one Dagster run per job and partition, in this process.

What is current is Dagster's answer (`current.py`). Runs that are launched in the UI or
by a sensor are Dagster's own.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dagster as dg

from lunguage_assets.caches import give_back_memory
from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.locks import command_at_work
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.current import Current
from lunguage_assets.orchestration.instance import OF_COMMAND
from lunguage_assets.orchestration.jobs import REBUILT
from lunguage_assets.orchestration.partitions import BATCH
from lunguage_assets.orchestration.sources import changed_sources
from lunguage_assets.structuring.model.second_reader import CHANGED_ROWS, SENTENCES
from lunguage_assets.workspace.catalog import build_catalog
from lunguage_assets.workspace.store import remove_abandoned_files

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Run configuration: a command shows its own progress, and no log of Dagster."""


class RunFailed(LunguageError):
    """A Dagster run failed; the message is the reason, on one line."""


class Stage(NamedTuple):
    """One Dagster run to come; as text `job (partition)`.

    Attributes:
        job: that is launched.
        keys: of the partition that it makes.
        reasons: why it is needed; none where only what it reads is made again.
    """

    job: str
    keys: tuple[str, ...]
    reasons: Sequence[str] = ()

    @property
    def partition(self) -> str:
        """Its keys, as text."""
        return " x ".join(self.keys)

    @property
    def reason(self) -> str:
        """Its reasons, as text."""
        return ", ".join(self.reasons) or "what it reads is made again"

    def __str__(self) -> str:
        return f"{self.job} ({self.partition})"


class RunSummary:
    """What came of a run; a check that blocks has ended it.

    Attributes:
        passed: how many checks passed.
        warned: what the others say.
        read_again: how many sentences a second reader read, and rows it changed.
    """

    def __init__(self) -> None:
        self.passed = 0
        self.warned: list[str] = []
        self.read_again: Counter[str] = Counter()

    def add(self, stage: Stage, result: dg.ExecuteInProcessResult) -> None:
        """Note the checks of a stage, and what a second reader did in it."""
        for check in result.get_asset_check_evaluations():
            if check.passed:
                self.passed += 1
                continue
            asset = check.asset_key.to_user_string()
            name = f"{asset}: {check.check_name} ({stage.partition})"
            self.warned.append(f"{name}: {check.description}")
        for event in result.get_asset_materialization_events():
            metadata = event.materialization.metadata
            for name in {SENTENCES, CHANGED_ROWS} & metadata.keys():
                count: Any = metadata[name].value
                self.read_again[name] += count


class Runner:
    """Plans and executes the runs for a home.

    Args:
        configuration: of the home.
        instance: that keeps what was materialised.
    """

    def __init__(
        self, configuration: Configuration, instance: dg.DagsterInstance
    ) -> None:
        self._configuration = configuration
        self._home = configuration.home
        self._instance = instance
        self._definitions = build_defs(configuration)
        self._graph = self._definitions.resolve_asset_graph()

    def current(self) -> Current:
        """Ask what is current now."""
        return Current(self._configuration, self._instance, self._graph)

    def prepare(self) -> None:
        """Tell Dagster which batches there are, and what changed outside of it."""
        registered = [batch.key for batch in self._home.registered()]
        # Batches may have been registered where no Dagster was at hand.
        self._instance.add_dynamic_partitions(BATCH, registered)
        for observation in changed_sources(
            self._instance, self._graph, self._configuration
        ):
            self._instance.report_runless_asset_event(observation)

    def plan(self, ranker: str, *, rebuild: bool = False) -> list[Stage]:
        """List the stages to the results and the release of a ranker, upstream first.

        Args:
            ranker: whose results are wanted.
            rebuild: make the reference scale again, although it is current.

        Returns:
            The stages; none when everything is current.

        Raises:
            ConfigurationError: no batch is registered.
        """
        self.prepare()
        judges = self._configuration.judges
        batches = self._home.registered()
        if not batches:
            raise ConfigurationError(
                "no batch is registered. `lunguage register --data DIR` registers one."
            )
        current = self.current()
        stages: list[Stage] = []

        def add(job: str, *keys: str, follows: bool = False) -> bool:
            """Add a stage that is stale, or that follows one; tell whether it is."""
            reasons = current.reasons_of(job, *keys)
            if rebuild and job in REBUILT:
                reasons.append("the scale is to be made again")
            if reasons or follows:
                stages.append(Stage(job, keys, reasons))
            return bool(reasons or follows)

        changed_batches = set()
        for batch in batches:
            follows = False
            if batch.kind == "text":
                follows = add("read_reports", batch.key)
                follows = add(
                    "structure", batch.key, judges.structurer, follows=follows
                )
            follows = add("ingest", batch.key, follows=follows)
            if add("extract_hedges", judges.extractor, batch.key, follows=follows):
                changed_batches.add(batch.key)
        # New phrases do not renew the scale, which would ask every judge again.
        is_collected = add("build_vocabulary", judges.extractor)
        is_compared = is_collected
        for judge in judges.members(ranker):
            is_compared |= add("compare", judge, follows=is_collected)
        is_ranked = add("rank", ranker, follows=is_compared)
        for batch in batches:
            follows = is_ranked or batch.key in changed_batches
            job = "refit"
            # A fit is not made again where only what follows from it is stale.
            if not follows and current.is_current(
                "fitted_probabilities", ranker, batch.key
            ):
                job = "expand"
            add(job, ranker, batch.key, follows=follows)
        add("release", ranker, follows=bool(stages))
        return stages

    def run(
        self,
        stages: Sequence[Stage],
        progress: Callable[[Stage, int, int], None] = lambda *_: None,
    ) -> RunSummary:
        """Make the stages of a plan.

        What was finished stays, whatever happens, and the same call goes on from there.

        Args:
            stages: in their order.
            progress: called before each with the stage, how many are done, and how many
                there are.

        Raises:
            RunFailed: a run failed.
            KeyboardInterrupt: the process was asked to stop.
        """
        summary = RunSummary()
        with command_at_work(self._home.root):
            remove_abandoned_files(self._home)
            build_catalog(self._home)
            for done, stage in enumerate(stages):
                progress(stage, done, len(stages))
                # What came before it may have come out the same: a vocabulary that is
                # collected again leaves comparisons, ranking and fits current.
                if stage.reasons or self.current().reasons_of(stage.job, *stage.keys):
                    summary.add(stage, self._make(stage))
                    give_back_memory()
        return summary

    def _make(self, stage: Stage) -> dg.ExecuteInProcessResult:
        run_id = str(uuid.uuid4())
        job = self._definitions.resolve_job_def(stage.job)
        try:
            return job.execute_in_process(
                run_config=QUIET,
                instance=self._instance,
                partition_key="|".join(stage.keys),
                tags=OF_COMMAND,
                run_id=run_id,
            )
        except dg.Failure as failure:
            reason = " ".join((failure.description or "").split())
            raise RunFailed(f"{stage}: {reason} [Dagster run {run_id}]") from None
        except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt):
            # Dagster itself notes some interruptions as failures, and some not at all.
            run = self._instance.get_run_by_id(run_id)
            if run is not None:
                self._instance.report_run_canceled(
                    run, message="Interrupted. What was finished is stored."
                )
            raise KeyboardInterrupt from None
