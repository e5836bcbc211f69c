"""Backfills: what one judge needs to have everything, and handing a plan to a running daemon."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from lunguage_assets.current.plan import Stage, Wanted, plan
from lunguage_assets.current.standing import Standings
from lunguage_assets.errors import ConfigurationError, LunguageError, MethodError
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.orchestration.dagster_private import add_backfill, silent_daemons
from lunguage_assets.orchestration.jobs import tables_of_job
from lunguage_assets.orchestration.partitions import Partitions, partition_key

_NEEDED_DAEMONS = ("BACKFILL", "QUEUED_RUN_COORDINATOR")


class NoDaemon(LunguageError):
    """Nobody would take up what is queued."""


def plan_backfill(standings: Standings, wanted: Wanted) -> list[Stage]:
    """The stages that give one judge everything: comparisons, ranking, fits, results and release, and where
    wanted its phrases and vocabulary; what is current is left out, unless it is to be rebuilt.

    Raises:
        ConfigurationError: no such judge, or no such batch.
        MethodError: the vocabulary is stale and would have to be made again, for every judge.
    """
    judges = standings.judges
    _require_known(judges, wanted.ranker)
    vocabulary = standings.of("hedge_vocabulary", judges.extractor)
    if vocabulary.state == "stale":
        raise MethodError(
            f"the hedge vocabulary of {judges.extractor!r} is {vocabulary}, and every judge's results rest "
            "on it. Make it again with `lunguage run --rebuild-ranking`, or undo the change; then backfill."
        )
    # the panel's vocabulary is rebuilt for everybody, not for one judge
    return [
        stage
        for stage in plan(standings, wanted)
        if stage != Stage("build_vocabulary", (judges.extractor,)) or vocabulary.state == "missing"
    ]


def queue(partitions: Partitions, instance: dg.DagsterInstance, stages: Sequence[Stage], title: str) -> str:
    """Hand stages to the daemon as one Dagster backfill; its id.

    Raises:
        NoDaemon: no daemon of this instance has given a sign of life lately.
    """
    require_daemon(instance)
    keys: dict[str, list[str]] = {}
    for stage in stages:
        key = str(partition_key(stage.dimensions, stage.keys))
        for table in tables_of_job(stage.job):
            keys.setdefault(table, []).append(key)
    count = sum(map(len, keys.values()))
    asked = {table: (partitions.of(table), chosen) for table, chosen in keys.items()}
    return add_backfill(instance, asked, title, f"{count} partitions of {len(keys)} assets.")


def require_daemon(instance: dg.DagsterInstance) -> None:
    """Refuse when nobody would take up what is queued."""
    if silent := silent_daemons(instance, _NEEDED_DAEMONS):
        named = ", ".join(name.lower().replace("_", " ") for name in silent)
        raise NoDaemon(
            f"no Dagster daemon works on this home ({named}: no sign of life lately). Start `lunguage ui` "
            "(or the service) and say this again, or leave out --queue to do the work here and now."
        )


def _require_known(judges: JudgesConfiguration, judge: str) -> None:
    if judge in judges.active_judges:
        return
    if judge in judges.judges:
        raise ConfigurationError(
            f"judge {judge!r} takes no part in preset {judges.preset!r}. Add it to candidates = [...] of "
            f"[presets.{judges.preset}] in the judges file (it then ranks alone, and no result of the panel "
            "changes), or choose its preset."
        )
    raise ConfigurationError(
        f"judge {judge!r} is not known; expected one of {', '.join(judges.active_judges)}. Add "
        f"[judges.{judge}] to a copy of the judges file, name it in candidates = [...] of "
        f"[presets.{judges.preset}] there, and point $LUNGUAGE_JUDGES at the copy."
    )
