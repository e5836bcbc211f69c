"""Assembling the code location, so that a test, the command line and production differ only in what they
pass.
"""

from __future__ import annotations

import warnings

import dagster as dg

from lunguage_assets.home.home import Home
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.orchestration.assets.analysis import analysis_assets
from lunguage_assets.orchestration.assets.corpus import corpus_assets
from lunguage_assets.orchestration.assets.explicit import explicit_assets
from lunguage_assets.orchestration.assets.implicit import implicit_assets
from lunguage_assets.orchestration.assets.release import release_assets
from lunguage_assets.orchestration.automation.attachment import automated, automation_sensor
from lunguage_assets.orchestration.automation.landing_sensor import landing_sensor
from lunguage_assets.orchestration.automation.schedules import automation_schedules
from lunguage_assets.orchestration.checks.membership import membership_checks
from lunguage_assets.orchestration.checks.tables import all_checks
from lunguage_assets.orchestration.code_links import linked_to_code
from lunguage_assets.orchestration.io_manager import TableStore
from lunguage_assets.orchestration.jobs import stage_jobs
from lunguage_assets.orchestration.partitions import build_partitions
from lunguage_assets.orchestration.resources import HomeResource, judges_file, preset_name
from lunguage_assets.orchestration.runs.everything import everything
from lunguage_assets.orchestration.withheld import withhold_messages
from lunguage_assets.settings import load_settings


def build_defs(home: Home | None = None, judges: JudgesConfiguration | None = None) -> dg.Definitions:
    """Definitions for a home (default: `$LUNGUAGE_HOME`) and a judges configuration (default:
    `$LUNGUAGE_JUDGES` or the bundled one).
    """
    place = home or Home.from_environment()
    corpus = place.corpus()
    withhold_messages(corpus.data_class if corpus is not None else None)
    # Partition mappings and partitioned checks are marked beta and preview; the dagster range in
    # pyproject.toml bounds what may change.
    warnings.filterwarnings("ignore", category=dg.BetaWarning)
    warnings.filterwarnings("ignore", category=dg.PreviewWarning)
    partitions = build_partitions(judges or load_judges(judges_file(), preset_name()))
    automation = load_settings(place.settings_file).automation
    return dg.Definitions(
        assets=linked_to_code(
            automated(
                [
                    *corpus_assets(partitions),
                    *explicit_assets(partitions),
                    *analysis_assets(partitions),
                    *implicit_assets(partitions),
                    *release_assets(partitions, place.tables),
                ],
                partitions,
                automation,
            )
        ),
        asset_checks=[*all_checks(partitions), *membership_checks(partitions)],
        jobs=[*stage_jobs(), everything],
        sensors=[automation_sensor(automation), landing_sensor(place)],
        schedules=automation_schedules(partitions, automation),
        resources={
            "home": HomeResource(root=str(place.root)),
            "io_manager": TableStore(root=str(place.tables), database=str(place.database)),
        },
        executor=dg.in_process_executor,
    )
