"""Dagster shows what a changed file or setting makes stale, and names it; undone, all is fresh again."""

from __future__ import annotations

from collections.abc import Callable

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.loader import LoadingContextForTest
from small_homes import SmallHome

from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.data_files import resource
from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.orchestration.assets.edited import changed, note_changed
from lunguage_assets.orchestration.partitions import partition_key, store_keys
from lunguage_assets.tables import HEDGE_PHRASES

EXPANSION = {*RECIPES["expansion"].tables, *RECIPES["resolution"].tables}


def shown(small: SmallHome) -> dict[str, set[str]]:
    """Every partition that was made and that Dagster shows as stale -> what it names as the cause."""
    graph = small.definitions.resolve_asset_graph()
    context = LoadingContextForTest(small.instance)
    resolver = CachingStaleStatusResolver(small.instance, graph, context)
    found = {}
    for recipe in RECIPES.values():
        for table in recipe.tables:
            key = dg.AssetKey(table)
            for partition in small.instance.get_materialized_partitions(key):
                keys = partition_key(recipe.dimensions, store_keys(partition, recipe.dimensions))
                if resolver.get_status(key, str(keys)).value != "FRESH":
                    causes = resolver.get_stale_causes(key, str(keys))
                    found[f"{table} {partition}"] = {_named(cause) for cause in causes}
    return found


def _named(cause: object) -> str:
    at = cause.dependency  # type: ignore[attr-defined]
    return f"{at.asset_key.path[-1]} {at.partition_key}"


def pathways(small: SmallHome) -> None:
    text = resource("pathways.yaml").read_text(encoding="utf-8")
    (small.home.root / "pathways.yaml").write_text(text + "\n# another\n", encoding="utf-8")


def fit_settings(small: SmallHome) -> None:
    text = small.home.settings_file.read_text()
    small.home.settings_file.write_text(text.replace("[explicit]", "[explicit]\nstep_limit = 17"))


def correction(small: SmallHome) -> None:
    path = partition_path(small.home.tables, "hedge_phrases", "lexicon", "second")
    found = read_table(HEDGE_PHRASES, path)
    finding_id = found.loc[found["phrases"].map(len) > 0, "finding_id"].iloc[0]
    small.home.corrections_file.write_text(f"finding_id,phrases\n{finding_id},\n")


@pytest.mark.parametrize(
    ("change", "stale"),
    [
        (
            pathways,
            {
                f"{table} panel|{batch}": {"settings pathways"}
                for table in EXPANSION
                for batch in ("first", "second")
            },
        ),
        (
            fit_settings,
            {
                f"{table} panel|{batch}": {"settings fit"}
                for table in RECIPES["fitting"].tables
                for batch in ("first", "second")
            },
        ),
        (correction, {"hedge_phrases lexicon|second": {"corrections second"}}),
    ],
    ids=["pathways", "a setting of the fit", "a correction"],
)
def test_the_ui_shows_what_a_change_makes_stale_and_why_until_it_is_undone(
    change: Callable[[SmallHome], None], stale: dict[str, set[str]], small: SmallHome
) -> None:
    settings = small.home.settings_file.read_text()
    assert shown(small) == {}
    change(small)
    assert note_changed(small.instance, small.standings()) == 1
    assert shown(small) == stale
    small.home.settings_file.write_text(settings)
    (small.home.root / "pathways.yaml").unlink(missing_ok=True)
    small.home.corrections_file.unlink(missing_ok=True)
    assert note_changed(small.instance, small.standings()) == 1
    assert shown(small) == {}


def test_what_was_noted_is_not_noted_again(small: SmallHome) -> None:
    assert changed(small.instance, small.standings()) == []
    pathways(small)
    note_changed(small.instance, small.standings())
    assert note_changed(small.instance, small.standings()) == 0


def test_the_sensor_notes_an_edited_file_and_one_that_cannot_be_used_is_another_version_too(
    small: SmallHome,
) -> None:
    sensor = small.definitions.get_repository_def().get_sensor_def("note_edited_files")

    def look() -> dg.SensorResult:
        with dg.build_sensor_context(small.instance, resources={"home": small.resource}) as context:
            return sensor(context)  # type: ignore[return-value]

    assert not look().asset_events
    pathways(small)
    assert [(event.asset_key.path[-1], event.partition) for event in look().asset_events] == [
        ("settings", "pathways")
    ]
    small.home.settings_file.write_text("[implicit]\nmerge_threshold = 3\n")
    assert {("settings", "merge"), ("settings", "fit")} <= {
        (event.asset_key.path[-1], event.partition) for event in look().asset_events
    }
