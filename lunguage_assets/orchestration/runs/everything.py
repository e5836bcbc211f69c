"""Job `everything`: what `lunguage run` does for what is registered, launched from the UI, a schedule,
GraphQL or Dagster's command line.

One op plans and executes the usual runs, each with its own record, in the same process and thread: Dagster's
logging deadlocks when jobs run in several threads of one process. No `from __future__ import annotations`
here: Dagster reads the op's annotations.
"""

import dagster as dg

from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.pools import JUDGES_POOL
from lunguage_assets.orchestration.runs.workers import executed_here

PARENT_TAG = "lunguage/parent_run"
"""Run tag of the inner runs: the run of job `everything` that they are part of."""

OP = "carry_everything_on"  # an op must not have the name of a job


class EverythingConfig(dg.Config):
    """What to materialise; without a change, everything that is registered and not finished, for the
    panel.
    """

    ranker: str = "panel"
    """`panel` (all judges pooled) or one judge."""

    batch: str = ""
    """A registered batch that is processed again even if it is finished; empty: only those that are not."""

    rebuild_ranking: bool = False
    """Make the measuring stick (vocabulary, comparisons, ranking) anew."""


@dg.op(
    name=OP,
    pool=JUDGES_POOL,
    out=dg.Out(dg.Nothing),
    description="Take in, rank, fit, expand and release whatever is registered and not finished; every "
    "step is a run of its own.",
)
def carry_everything_on(context: dg.OpExecutionContext, home: HomeResource, config: EverythingConfig) -> None:
    from lunguage_assets.orchestration.runs.runner import (
        RunFailed,
        RunInterrupted,
        Runner,
        Stage,
    )  # they import the definitions

    instance, run_id = context.instance, context.run_id
    instance.add_run_tags(run_id, executed_here(run_id))

    def is_being_cancelled() -> bool:
        run = instance.get_run_by_id(run_id)
        return run is not None and run.status is dg.DagsterRunStatus.CANCELING

    def tell(stage: Stage, done: int, total: int) -> None:
        context.log.info(f"[{done + 1}/{total}] {stage.announced}")

    try:
        _require_names(home, config)
        runner = Runner(
            home.home, instance, home.judges, tags={PARENT_TAG: run_id}, stopped=is_being_cancelled
        )
        outcome = runner.run(
            config.ranker, config.batch or None, rebuild_ranking=config.rebuild_ranking, progress=tell
        )
        if outcome.checks_failed:
            raise RunFailed(f"{len(outcome.checks_failed)} checks failed: {'; '.join(outcome.checks_failed)}")
    except LunguageError as error:
        raise dg.Failure(
            description=str(error), metadata={"kind": type(error).__name__}, allow_retries=False
        ) from None
    except RunInterrupted as stop:
        if stop.cancelled and not is_being_cancelled():
            raise dg.Failure(
                description=f"its run {stop.run_id} was cancelled; launch this job again to go on.",
                allow_retries=False,
            ) from None
        raise dg.DagsterExecutionInterruptedError from None
    context.add_output_metadata(
        {
            "runs": outcome.runs,
            "checks_passed": outcome.checks_passed,
            "warnings": dg.MetadataValue.md(
                "\n".join(f"- {warning}" for warning in outcome.warnings) or "none"
            ),
        }
    )


def _require_names(home: HomeResource, config: EverythingConfig) -> None:
    if config.batch:
        home.home.batch(config.batch)
    home.judges.members(config.ranker)


@dg.job(
    executor_def=dg.in_process_executor,
    description=(
        "Take in, rank, fit, expand and release whatever is registered and not finished, as "
        "`lunguage run` does. Its steps are runs of their own, "
        f"tagged {PARENT_TAG}; cancelling this run cancels the one in progress, and launching it "
        "again goes on from there."
    ),
)
def everything() -> None:
    carry_everything_on()
