"""Job `everything`: what `lunguage run` does for what is registered, launched from the UI or a schedule.

The op plans, and hands its plan to Dagster as one backfill: the daemon orders, queues and retries its runs,
and the UI shows and cancels them. Its options are plain values: a `dg.Config` would take `{env: NAME}` too,
and messages would show the variable's value. No `from __future__ import annotations` here: Dagster reads the
op's annotations.
"""

import dagster as dg

from lunguage_assets.current.plan import Wanted, plan
from lunguage_assets.orchestration.metadata import COSTS
from lunguage_assets.orchestration.partitions import build_partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.backfill import queue
from lunguage_assets.orchestration.withheld import plain_failures

OPTIONS = {
    "ranker": dg.Field(str, "panel", description="`panel` (all judges pooled) or one judge."),
    "rebuild_ranking": dg.Field(
        bool,
        False,
        description="Make the measuring stick (vocabulary, comparisons, ranking) again, current or not.",
    ),
}
"""What to make; without a change, everything that is registered and not current, for the panel."""


@dg.op(out=dg.Out(dg.Nothing), config_schema=OPTIONS)  # an op must not have the name of a job
def hand_over_everything(context: dg.OpExecutionContext, home: HomeResource) -> None:
    """Plan what is not current, and hand it to the daemon as one backfill."""
    ranker, rebuild = context.op_config["ranker"], context.op_config["rebuild_ranking"]
    with plain_failures():
        home.judges.members(ranker)
        stages = plan(home.standings(), Wanted(ranker, rebuild=rebuild))
        for stage in stages:
            context.log.info(stage.announced)
        if not stages:
            context.add_output_metadata({"note": "Everything is current: nothing to do."})
            return
        partitions, title = build_partitions(home.judges), f"everything for {ranker}"
        backfill = queue(partitions, context.instance, stages, title)
    context.add_output_metadata({"backfill": backfill, "stages": len(stages)})


@dg.job(
    executor_def=dg.in_process_executor,
    description="Take in, rank, fit, expand and release whatever is registered and not current, as `lunguage "
    "run` does. The work is one backfill, listed under Runs > Backfills; launching this again goes on from "
    f"there. {COSTS}",
)
def everything() -> None:
    """One op."""
    hand_over_everything()
