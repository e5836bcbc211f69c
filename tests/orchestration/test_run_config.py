"""Whoever may launch runs chooses what is run, not what the operator of the deployment
has chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.errors import DagsterInvalidConfigError

from lunguage_assets.configuration import VARIABLES, Configuration
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.jobs import JOBS
from lunguage_assets.workspace.home import Home

KEY = "sk-not-a-real-key"


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
        "configuration": [field.name for field in fields(Configuration)],
        "io_manager": ["root", "database"],
    }
    for job in JOBS:
        for resource, names in fields_of.items():
            message = refused(definitions, job, resource, dict.fromkeys(names, "x"))
            assert [name for name in names if name not in message] == [], job


@pytest.mark.parametrize("field", VARIABLES)
def test_the_value_of_a_variable_is_in_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.chdir(tmp_path)  # a ledger is made wherever it is named
    monkeypatch.setenv(VARIABLES[field], KEY)
    uses: list[Callable[[Configuration], object]] = [
        lambda configuration: configuration.judges,
        lambda configuration: configuration.judge_context().open_ledger(),
        lambda configuration: configuration.open_judge("claude-opus-4-8"),
        lambda configuration: load_prompts(configuration.prompts),
        repr,
    ]
    messages = []
    for use in uses:
        try:
            messages.append(str(use(Configuration.from_environment(Home(tmp_path)))))
        except ConfigurationError as error:
            messages.append(str(error))
    assert KEY not in " ".join(messages)
