"""Whoever may launch runs chooses what is run, not what the operator of the deployment
has chosen.
"""

from __future__ import annotations

import dagster as dg
import pytest
from dagster._core.errors import DagsterInvalidConfigError

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.jobs import JOBS
from lunguage_assets.workspace.home import Home


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    return build_defs(Configuration(Home(tmp_path_factory.mktemp("home"))))


def refused(
    definitions: dg.Definitions, job: str, resource: str, config: object
) -> str:
    """What Dagster says of a launch with such a config; whatever launches
    validates so.
    """
    with pytest.raises(DagsterInvalidConfigError) as refusal:
        dg.validate_run_config(
            definitions.resolve_job_def(job),
            {"resources": {resource: {"config": config}}},
        )
    return str(refusal.value)


def test_no_launch_sets_a_field_of_the_home_or_of_its_tables(
    definitions: dg.Definitions,
) -> None:
    fields_of = {
        "configuration": list(Configuration.model_fields),
        "io_manager": ["root", "database"],
    }
    for job in JOBS:
        for resource, names in fields_of.items():
            message = refused(definitions, job, resource, dict.fromkeys(names, "x"))
            assert [name for name in names if name not in message] == [], job
