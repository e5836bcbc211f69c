"""Put the code location together: https://docs.dagster.io, "Definitions".

A test, the command line and production differ only in the home that they pass. Assets,
jobs, sensors and resources themselves are in the modules of those names.
"""

from __future__ import annotations

import logging

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import keep_place_only
from lunguage_assets.orchestration.assets.analysis import analysis_assets
from lunguage_assets.orchestration.assets.corpus import corpus_assets
from lunguage_assets.orchestration.assets.explicit import explicit_assets
from lunguage_assets.orchestration.assets.implicit import implicit_assets
from lunguage_assets.orchestration.assets.release import release_assets
from lunguage_assets.orchestration.automation import (
    automation_sensor,
    nightly_schedule,
)
from lunguage_assets.orchestration.io_manager import ParquetStore
from lunguage_assets.orchestration.jobs import asset_jobs
from lunguage_assets.orchestration.landing_sensor import landing_sensor
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import configuration_resource
from lunguage_assets.orchestration.sources import source_assets, sources_sensor
from lunguage_assets.workspace.landing import landing_folder


def build_defs(configuration: Configuration | None = None) -> dg.Definitions:
    """Return all definitions for a home, with its judges, ledger and budget.

    Without a configuration the environment says which home (`$LUNGUAGE_HOME`).
    """
    configuration = configuration or Configuration()
    home = configuration.home
    settings = configuration.settings
    # Nothing is loaded for patients' reports in a folder that others can read.
    home.require_private(home.corpus())
    logging.getLogger("dagster.redacted_errors").addFilter(keep_place_only)

    partitions = Partitions(configuration.judges)
    jobs = asset_jobs()
    sensors = [automation_sensor(settings.automation), sources_sensor()]
    landing = landing_folder(home, settings.landing)
    if landing is not None:
        sensors.append(landing_sensor(home, landing, settings.landing, jobs))
    definitions = dg.Definitions(
        assets=[
            *source_assets(partitions),
            *corpus_assets(configuration, partitions),
            *explicit_assets(configuration, partitions),
            *implicit_assets(configuration, partitions),
            *analysis_assets(configuration, partitions),
            *release_assets(
                configuration, partitions, lambda: definitions.resolve_asset_graph()
            ),
        ],
        jobs=jobs,
        sensors=sensors,
        schedules=[nightly_schedule(configuration.judges.rankers, settings.automation)],
        resources={
            "configuration": configuration_resource(configuration),
            "io_manager": ParquetStore(home).definition(),
        },
        # A process for each step would cost two seconds a step; what runs beside each
        # other is whole runs, one a partition.
        executor=dg.in_process_executor,
    )
    return definitions
