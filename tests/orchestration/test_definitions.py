"""The code location: its graph as a golden file, what its assets show of themselves,
and that it loads without keys, extras, network and heavy libraries.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from hostile_words import HOSTILE

from lunguage_assets.configuration import Configuration
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.lineage.recipes import STEP_OF
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.jobs import asset_jobs
from lunguage_assets.orchestration.metadata import (
    JUDGES_POOL,
    SHOWN,
    as_written,
    column_schema,
    counts,
    markdown,
    table_options,
)
from lunguage_assets.tables import FINDINGS, HEDGE_PHRASES, TABLES
from lunguage_assets.workspace.home import Home

GOLDEN = Path(__file__).with_name("asset_graph.txt")


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    return build_defs(Configuration(Home(tmp_path_factory.mktemp("home"))))


def dimensions(partitions: dg.PartitionsDefinition | None) -> str:
    if isinstance(partitions, dg.MultiPartitionsDefinition):
        return " x ".join(dimension.name for dimension in partitions.partitions_defs)
    if isinstance(partitions, dg.StaticPartitionsDefinition):
        return "ranker" if "panel" in partitions.get_partition_keys() else "judge"
    return str(getattr(partitions, "name", None))


def drawn(definitions: dg.Definitions) -> str:
    """One paragraph per asset: group and partitions, what it reads and through which
    mapping, its checks.
    """
    graph = definitions.resolve_asset_graph()
    lines = []
    for key in sorted(graph.get_all_asset_keys(), key=lambda k: k.to_user_string()):
        node = graph.get(key)
        partitions = node.partitions_def
        lines.append(
            f"{key.to_user_string()}  [{node.group_name}; {dimensions(partitions)}]"
        )
        for parent in sorted(node.parent_keys, key=lambda k: k.to_user_string()):
            mapping = node.partition_mappings.get(parent)
            lines.append(
                f"  reads {parent.to_user_string()}"
                + (f" ({type(mapping).__name__})" if mapping else "")
            )
        lines += [
            f"  check {check.name}"
            for check in sorted(node.check_keys, key=lambda check: check.name)
        ]
    return "\n".join(lines) + "\n"


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
    with_text = {
        name
        for name, tags_of_asset in tags.items()
        if tags_of_asset.get("contains") == "report-text"
    }
    restricted = {
        name
        for name, table in TABLES.items()
        if any(column.restricted for column in table.columns)
    }
    assert with_text == {STEP_OF[name] for name in restricted} | {"release"}
    assert {
        name
        for name, tags_of_asset in tags.items()
        if tags_of_asset.get("paid") == "llm"
    } == {
        "hedge_phrases",
        "comparison_matches",
        "fitted_probabilities",
        "structured_findings",
    }


def test_columns_tell_report_text_and_codes_without_losing_a_word() -> None:
    descriptions = {
        column.name: column.description or ""
        for column in column_schema(HEDGE_PHRASES).columns
    }
    assert "[report text]" in descriptions["sent"]
    assert (
        as_written("every mention as <finding>; 3 < 5")
        == "every mention as `<finding>`; 3 < 5"
    )
    codes = {
        column.name: column.description or ""
        for column in column_schema(FINDINGS).columns
    }
    assert "dp (certainly present)" in codes["status"]
    assert "OTH (devices and procedures)" in codes["cat"]


def test_jobs_that_ask_judges_say_how_to_estimate_their_cost() -> None:
    descriptions = {job.name: job.description or "" for job in asset_jobs()}
    asking = {
        job for job, text in descriptions.items() if "`lunguage estimate`" in text
    }
    assert asking == {"structure", "extract_hedges", "compare", "fit", "refit"}
    assert "`lunguage estimate`" in table_options("hedge_phrases")["description"]
    assert "`lunguage estimate`" not in table_options("findings")["description"]


@pytest.mark.parametrize(
    ("preset", "pool"), [("offline", None), ("panel-2026", JUDGES_POOL)]
)
def test_only_what_asks_language_models_waits_in_their_pool(
    preset: str, pool: str | None
) -> None:
    judges = load_judges(preset=preset)
    assert table_options("fitted_probabilities", judges)["pool"] == pool
    assert table_options("reference_ranking", judges)["pool"] is None


@pytest.mark.parametrize("step", ["hedge_phrases", "hedge_vocabulary"])
def test_the_phrases_of_a_judge_say_whose_are_ranked_and_how_others_are_chosen(
    step: str,
) -> None:
    options = table_options(step, load_judges(preset="panel-2026"))
    assert options["metadata"]["ranked_phrases_of"] == "gemini-3.8-flash"
    assert "Of its partitions only that of `gemini-3.8-flash`" in options["description"]
    assert '`extractor = "..."` of the preset `panel-2026`' in options["description"]


def test_counts_are_a_table_with_shares_of_all() -> None:
    table = str(counts({"kept": 8, "merged": 2, "never": 0}, "disposition").value)
    assert table.splitlines() == [
        "| disposition | rows | share |",
        "|---|---|---|",
        "| kept | 8 | 80.0% |",
        "| merged | 2 | 20.0% |",
    ]
    text = str(
        counts({f"{n:02d}": 3 for n in range(30)} | {"often": 10}, "name").value
    ).splitlines()[2:]
    assert (len(text), text[1]) == (SHOWN, "| 00 | 3 | 3.0% |"), (
        "of all, also of those not shown"
    )
    assert counts({}, "nothing").value == "none"


def test_the_ui_shows_no_markup_of_a_corpus() -> None:
    words = f"{HOSTILE} ![x](http://evil.example/) `a` b|c"
    for table in (
        counts({words: 1}, "word"),
        markdown(["word"], [[words]]),
    ):
        last = str(table.value).splitlines()[-1]
        assert not re.search(r"(?<!\\)[<\[`]", last), last
        assert "\\<script>" in last


ROOT = Path(__file__).resolve().parents[2]
KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "AZURE_OPENAI_API_KEY",
)

HEAVY = (
    "alembic", "anthropic", "boto3", "celery", "dagster._daemon.controller", "google.genai",
    "great_expectations", "jinja2", "matplotlib", "openai", "PIL", "plotly",
    "psycopg2", "redis", "s3fs", "scipy.optimize", "scipy.stats", "sentence_transformers",
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
        if name not in KEYS and not name.startswith("LUNGUAGE_")
    }
    command = [
        sys.executable,
        "-c",
        ALONE,
        "openai,anthropic,torch,transformers,sentence_transformers,psycopg2,redis,celery",
    ]
    done = subprocess.run(
        command,
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
