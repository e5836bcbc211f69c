"""Assembling the code location: a test, the command line and production differ only in what they pass."""

from __future__ import annotations

import dagster as dg

from lunguage_assets.orchestration.assets.groups import TABLE_ASSETS
from lunguage_assets.orchestration.assets.release import release_asset
from lunguage_assets.orchestration.automation.alerts import alerts_sensor
from lunguage_assets.orchestration.automation.conditions import automated, automation_sensor
from lunguage_assets.orchestration.automation.landing_sensor import JOB_OF_KIND, landing_sensor
from lunguage_assets.orchestration.automation.schedules import nightly_schedule
from lunguage_assets.orchestration.io_manager import TableStore
from lunguage_assets.orchestration.jobs import asset_jobs
from lunguage_assets.orchestration.partitions import build_partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import withhold_messages


def build_defs(home: HomeResource | None = None) -> dg.Definitions:
    """All definitions for a home, with its judges, ledger and budget; None: as the environment says."""
    chosen = home or HomeResource.from_environment()
    place = chosen.home
    corpus = place.corpus()
    place.require_private(corpus)
    withhold_messages(corpus.data_class if corpus is not None else None)
    partitions = build_partitions(chosen.judges)
    automation = chosen.settings.automation
    jobs = asset_jobs()
    first_jobs = [job for job in jobs if job.name in JOB_OF_KIND.values()]
    assets = [*(one.definition(partitions) for one in TABLE_ASSETS.values()), release_asset(partitions)]
    return dg.Definitions(
        assets=automated(assets, automation, chosen),
        jobs=jobs,
        sensors=[
            automation_sensor(automation),
            landing_sensor(place, first_jobs),
            alerts_sensor(),
        ],
        schedules=[nightly_schedule(list(partitions.panel_members), automation)],
        resources={
            "home": chosen,
            "io_manager": TableStore(root=str(place.tables), database=str(place.database)),
        },
        executor=dg.in_process_executor,
    )
