"""The code location: its graph as a golden file, what its assets show of themselves,
what no launch may change, and that it loads without keys, extras, network and heavy
libraries.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.errors import DagsterInvalidConfigError

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.jobs import JOBS, asset_jobs
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home

GOLDEN = Path(__file__).with_name("asset_graph.txt")


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    return build_defs(Configuration(Home(tmp_path_factory.mktemp("home"))))


def dimensions(partitions: dg.PartitionsDefinition | None) -> str:
    if partitions is None:
        return ""
    if isinstance(partitions, dg.MultiPartitionsDefinition):
        names = [dimension.name for dimension in partitions.partitions_defs]
    elif isinstance(partitions, dg.StaticPartitionsDefinition):
        keys = partitions.get_partition_keys()
        names = [
            "ranker" if "panel" in keys else "judge" if "cues" in keys else "structurer"
        ]
    else:
        names = [str(partitions.name)]
    return f" by {' x '.join(names)}"


def drawn(definitions: dg.Definitions) -> str:
    """One paragraph per step: its partitions, what it makes, what it reads and through
    which mapping of `Partitions`, its checks. Then the sources.
    """
    graph = definitions.resolve_asset_graph()
    partitions = Partitions(Configuration().judges)
    names = [(mapping, name) for name, mapping in vars(partitions).items()]
    steps, sources = [], []
    for step in graph.assets_defs:
        made = sorted(key.to_user_string() for key in step.keys)
        node = graph.get(dg.AssetKey(made[0]))
        if not step.is_materializable:
            sources.append(f"source {made[0]}{dimensions(node.partitions_def)}")
            continue
        lines = [
            f"{step.node_def.name} [{node.group_name}]{dimensions(node.partitions_def)}"
        ]
        lines += [f"  makes {table}" for table in made]
        for parent in sorted(node.parent_keys, key=lambda key: key.to_user_string()):
            mapping = node.partition_mappings.get(parent)
            through = [name for known, name in names if known == mapping]
            lines.append(f"  reads {' through '.join([parent.path[-1], *through])}")
        lines += sorted(
            f"  check {check.asset_key.path[-1]}.{check.name}"
            for check in step.check_keys
        )
        steps.append("\n".join(lines))
    return "\n".join([*sorted(steps), *sorted(sources)]) + "\n"


def test_the_asset_graph_is_the_reviewed_one(definitions: dg.Definitions) -> None:
    graph = drawn(definitions)
    if os.environ.get("LUNGUAGE_WRITE_GOLDEN"):
        GOLDEN.write_text(graph)
    assert graph == GOLDEN.read_text(), (
        "a deliberate change? LUNGUAGE_WRITE_GOLDEN=1 make test"
    )


def test_tags_tell_what_holds_report_text_and_what_may_cost_money(
    definitions: dg.Definitions,
) -> None:
    graph = definitions.resolve_asset_graph()
    tags = {
        key.to_user_string(): graph.get(key).tags for key in graph.get_all_asset_keys()
    }
    with_text = {name for name in tags if tags[name].get("contains") == "report-text"}
    restricted = {
        name
        for name, table in TABLES.items()
        if any(column.restricted for column in table.columns)
    }
    assert with_text == restricted | {"release"}
    assert {name for name in tags if "paid" in tags[name]} == {
        *("structured_findings", "sentence_accounts", "refused_values"),
        *("hedge_phrases", "comparison_matches"),
        *("fitted_probabilities", "fit_log"),
    }


def test_what_asks_judges_says_how_to_estimate_its_cost(
    definitions: dg.Definitions,
) -> None:
    descriptions = {job.name: job.description or "" for job in asset_jobs()}
    asking = {
        job for job, text in descriptions.items() if "`lunguage estimate`" in text
    }
    assert asking == {"structure", "extract_hedges", "compare", "refit"}
    graph = definitions.resolve_asset_graph()
    for table, is_paid in (("hedge_phrases", True), ("findings", False)):
        description = graph.get(dg.AssetKey(table)).description or ""
        assert ("`lunguage estimate`" in description) == is_paid


def test_no_launch_sets_a_field_of_the_home_or_of_its_tables(
    definitions: dg.Definitions,
) -> None:
    """Whoever may launch runs chooses what is run, not what the operator has chosen."""
    fields_of = {
        "configuration": list(Configuration.model_fields),
        "io_manager": ["root", "database"],
    }
    for job in JOBS:
        for resource, names in fields_of.items():
            config = {"resources": {resource: {"config": dict.fromkeys(names, "x")}}}
            with pytest.raises(DagsterInvalidConfigError) as refusal:
                dg.validate_run_config(definitions.resolve_job_def(job), config)
            message = str(refusal.value)
            assert [name for name in names if name not in message] == [], job


ROOT = Path(__file__).resolve().parents[2]

HEAVY = (
    "alembic", "anthropic", "boto3", "celery", "dagster._daemon.controller", "google.genai",
    "great_expectations", "jinja2", "matplotlib", "openai", "PIL", "plotly",
    "psycopg2", "redis", "s3fs", "scipy.optimize", "scipy.stats", "sentence_transformers", "sklearn",
    "torch", "transformers",
)  # fmt: skip

ALONE = """
import json, socket, sys

def refused(*arguments, **named):
    raise AssertionError("definitions asked the network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refused
extras = sys.argv[1].split(",")

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in extras:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from lunguage_assets.definitions import defs
repository = defs().get_repository_def()
repository.load_all_definitions()
print(json.dumps({"assets": len(repository.asset_graph.get_all_asset_keys()), "loaded": sorted(sys.modules)}))
"""
"""Loads the code location in a process without network and as if the libraries named
first were not installed.
"""


def test_definitions_load_without_keys_extras_network_and_heavy_libraries(
    tmp_path: Path,
) -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LUNGUAGE_") and not name.endswith("_API_KEY")
    }
    extras = "openai,anthropic,torch,transformers,sentence_transformers,psycopg2,redis,celery"
    done = subprocess.run(
        [sys.executable, "-c", ALONE, extras],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**environment, "LUNGUAGE_HOME": str(tmp_path)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert loaded["assets"] > 12
    assert [name for name in HEAVY if name in loaded["loaded"]] == []
    assert list(tmp_path.iterdir()) == [], "loading writes nothing"
