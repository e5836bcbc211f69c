"""Assembling the code location: a test, the command line and production differ only in what they pass."""

from __future__ import annotations

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.lineage.recipes import RECIPES, STEPS_OF_JOB
from lunguage_assets.orchestration.assets import analysis, corpus, explicit, implicit
from lunguage_assets.orchestration.assets.edited_files import edited_files
from lunguage_assets.orchestration.assets.release import release_asset
from lunguage_assets.orchestration.assets.table_asset import TableAsset
from lunguage_assets.orchestration.automation import (
    JOB_OF_KIND,
    alerts_sensor,
    automation_sensor,
    landing_sensor,
    nightly_schedule,
)
from lunguage_assets.orchestration.io_manager import TableStore
from lunguage_assets.orchestration.metadata import COSTS
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import withhold_messages
from lunguage_assets.orchestration.resources import configuration_resource

TABLE_ASSETS: dict[str, TableAsset] = {
    found.name: found
    for module in (corpus, explicit, implicit, analysis)
    for found in vars(module).values()
    if isinstance(found, TableAsset)
}
"""The assets that are tables, by name, in the order of the method."""


def asset_jobs() -> list[dg.UnresolvedAssetJobDefinition]:
    """One job per entry of `STEPS_OF_JOB`, described as its assets are."""
    jobs = []
    for job, steps in STEPS_OF_JOB.items():
        told = [
            TABLE_ASSETS[step].compute.__doc__ or ""
            for step in steps
            if step in TABLE_ASSETS
        ]
        told += [COSTS] if any(RECIPES[step].asks_judges for step in steps) else []
        description = (
            " ".join(" ".join(told).split())
            or "Write the bundle of a ranker over all its batches."
        )
        jobs.append(
            dg.define_asset_job(
                job, dg.AssetSelection.assets(*steps), description=description
            )
        )
    return jobs


def build_defs(configuration: Configuration | None = None) -> dg.Definitions:
    """All definitions for a home, with its judges, ledger and budget; None: as the environment says."""
    configuration = configuration or Configuration.from_environment()
    place, settings = configuration.home, configuration.settings
    corpus = place.corpus()
    place.require_private(corpus)
    withhold_messages(corpus.data_class if corpus is not None else None)
    partitions, jobs = Partitions(configuration.judges), asset_jobs()
    first_jobs = [job for job in jobs if job.name in JOB_OF_KIND.values()]
    landing = landing_sensor(place, settings.landing, first_jobs)
    tables = [
        one.definition(partitions, configuration) for one in TABLE_ASSETS.values()
    ]
    return dg.Definitions(
        assets=[*tables, release_asset(partitions), *edited_files()],
        jobs=jobs,
        sensors=[automation_sensor(settings.automation), landing, alerts_sensor()],
        schedules=[nightly_schedule(configuration.judges.rankers, settings.automation)],
        resources={
            "configuration": configuration_resource(configuration),
            "io_manager": TableStore(
                str(place.tables), str(place.database)
            ).definition(),
        },
        executor=dg.in_process_executor,
    )
