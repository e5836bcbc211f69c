"""The asset graph as a readable golden file: a change of a dependency, partition or check shows in review."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg
import pytest

from lunguage_assets.current.recipes import STEP_OF
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.tables import TABLES

GOLDEN = Path(__file__).with_name("asset_graph.txt")


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    return build_defs(HomeResource(root=str(tmp_path_factory.mktemp("home"))))


def dimensions(partitions: dg.PartitionsDefinition | None) -> str:
    if isinstance(partitions, dg.MultiPartitionsDefinition):
        return " x ".join(dimension.name for dimension in partitions.partitions_defs)
    if isinstance(partitions, dg.StaticPartitionsDefinition):
        return "ranker" if "panel" in partitions.get_partition_keys() else "judge"
    return str(getattr(partitions, "name", None))


def drawn(definitions: dg.Definitions) -> str:
    """One paragraph per asset: group and partitions, what it reads and through which mapping, its checks."""
    graph = definitions.resolve_asset_graph()
    lines = []
    for key in sorted(graph.get_all_asset_keys(), key=lambda k: k.to_user_string()):
        node = graph.get(key)
        partitions = node.partitions_def
        lines.append(f"{key.to_user_string()}  [{node.group_name}; {dimensions(partitions)}]")
        for parent in sorted(node.parent_keys, key=lambda k: k.to_user_string()):
            mapping = node.partition_mappings.get(parent)
            lines.append(
                f"  reads {parent.to_user_string()}" + (f" ({type(mapping).__name__})" if mapping else "")
            )
        lines += [f"  check {check.name}" for check in sorted(node.check_keys, key=lambda check: check.name)]
    return "\n".join(lines) + "\n"


def test_the_asset_graph_is_the_reviewed_one(definitions: dg.Definitions) -> None:
    found = drawn(definitions)
    if os.environ.get("LUNGUAGE_WRITE_GOLDEN"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text(), "a deliberate change? LUNGUAGE_WRITE_GOLDEN=1 make test"


def test_tags_tell_what_holds_report_text_and_what_may_cost_money(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    tags = {key.to_user_string(): graph.get(key).tags for key in graph.get_all_asset_keys()}
    with_text = {name for name, found in tags.items() if found.get("contains") == "report-text"}
    restricted = {
        name for name, table in TABLES.items() if any(column.restricted for column in table.columns)
    }
    assert with_text == {STEP_OF[name] for name in restricted} | {"release"}
    assert {name for name, found in tags.items() if found.get("paid") == "llm"} == {
        "hedge_phrases",
        "comparison_matches",
        "fitted_probabilities",
        "structured_findings",
    }
