"""An edited file shows on the lineage: what rests on it is unsynced, and nothing
else.
"""

from __future__ import annotations

import dagster as dg
from dagster._core.definitions.data_version import (
    CachingStaleStatusResolver,
    StaleStatus,
)
from dagster._core.loader import LoadingContextForTest
from lunguage_assets.lineage.recipes import RECIPES
from lunguage_assets.orchestration.assets.edited_files import (
    FILES,
    note_versions,
    version_of,
)
from small_homes import SmallHome

from lunguage_assets.orchestration.build import build_defs


def observed(small: SmallHome) -> dict[str, int]:
    """How often each file was observed with another content."""
    return {
        name: len(
            small.instance.fetch_observations(dg.AssetKey(name), limit=10).records
        )
        for name in FILES
    }


def test_every_file_that_a_recipe_reads_is_a_source_asset() -> None:
    not_files = {
        "delivery",
        "text rules",
        "labels",
        "statements",
        "terms",
        "encoder",
        "scorer",
    }
    files_read = {name for recipe in RECIPES.values() for name in recipe.reads}
    assert files_read - not_files == {
        name for file in FILES.values() for name in file.reads
    }


def test_a_version_follows_the_content_and_is_noted_once(small: SmallHome) -> None:
    note_versions(small.instance, small.configuration)
    note_versions(small.instance, small.configuration)
    assert set(observed(small).values()) == {1}
    before = version_of(small.configuration, "settings_file")
    file = small.home.settings_file
    kept = file.read_text() if file.exists() else ""
    file.write_text(kept + "[landing]\nstable_s = 5.0\n")
    assert version_of(small.configuration, "settings_file") == before, (
        "no option of the method"
    )
    file.write_text(kept + "[implicit]\nmerge_threshold = 0.5\n")
    note_versions(small.instance, small.configuration)
    assert {name for name, times in observed(small).items() if times == 2} == {
        "settings_file"
    }


def test_a_home_that_gets_cues_has_another_version_of_that_file_alone(
    small: SmallHome,
) -> None:
    before = {name: version_of(small.configuration, name) for name in FILES}
    file = small.home.root / "assertion.yaml"
    file.write_text("[]\n")
    after = {name: version_of(small.configuration, name) for name in FILES}
    file.unlink()
    assert {name for name in FILES if before[name] != after[name]} == {"assertion_file"}


def test_what_rests_on_an_edited_file_is_stale_for_dagster(small: SmallHome) -> None:
    table = dg.AssetKey("deduplicated_findings")
    partition = "panel|first"

    def status() -> StaleStatus:
        graph = build_defs(small.configuration).resolve_asset_graph()
        context = LoadingContextForTest(small.instance)
        return CachingStaleStatusResolver(small.instance, graph, context).get_status(
            table, partition
        )

    note_versions(small.instance, small.configuration)
    small.make(
        [table.path[-1]],
        dg.MultiPartitionKey({"ranker": "panel", "report_batch": "first"}),
    )
    assert status() is StaleStatus.FRESH
    (small.home.root / "blacklist.yaml").write_text("term_pairs: []\n")
    note_versions(small.instance, small.configuration)
    assert status() is StaleStatus.STALE
