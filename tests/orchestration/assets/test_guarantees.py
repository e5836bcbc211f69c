"""Write, audit, publish: what is wrong is not stored, is reported by key, and is not read further."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pandas as pd
import pyarrow.parquet as pq
import pytest
from platform_support import contents
from small_homes import SmallHome, contradicting_itself, store_unchecked

from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.home.store import partition_path, read_table, stored_record, write_table
from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.orchestration.assets import implicit
from lunguage_assets.tables import LUNGUAGE_PLUS_PLUS

BATCH = {"ranker": "panel", "report_batch": "first"}


RESULT = RECIPES["lunguage_plus_plus"].tables


def inverted(rows: pd.DataFrame) -> pd.DataFrame:
    """An interval that does not hold its probability: no column by itself is wrong."""
    return rows.assign(
        p_low=rows["p_low"].mask(rows.index == 0, 1.0), prob=rows["prob"].mask(rows.index == 0, 0.5)
    )


def poison(small: SmallHome) -> pd.DataFrame:
    """A result that breaks a guarantee, with a sound record: as code with a fault could store it."""
    path = partition_path(small.home.tables, "lunguage_plus_plus", "panel", "first")
    record = stored_record(LUNGUAGE_PLUS_PLUS, path)
    assert record is not None
    rows = contradicting_itself(read_table(LUNGUAGE_PLUS_PLUS, path))
    write_table(LUNGUAGE_PLUS_PLUS, rows, path, record.keys, record.made_of)
    return rows


def resolve(small: SmallHome) -> dg.ExecuteInProcessResult:
    return small.make(RESULT, BATCH, raise_on_error=False)


def reasons(result: dg.ExecuteInProcessResult) -> str:
    failures = [event.step_failure_data for event in result.all_events if event.is_step_failure]
    return " ".join(str(f.user_failure_data and f.user_failure_data.description) for f in failures)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda rows: rows.assign(ranking_version=["0ther", *rows["ranking_version"][1:]]), "has one value"),
        (lambda rows: pd.concat([rows, rows.head(1)], ignore_index=True), "(finding_id) is unique"),
        (lambda rows: rows.assign(support=2.0), "support <= 1"),
    ],
    ids=["two rankings", "a key twice", "every study"],
)
def test_a_run_stores_nothing_of_a_result_that_is_wrong_as_a_whole_and_keeps_the_last_good_one(
    small: SmallHome,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[pd.DataFrame], pd.DataFrame],
    named: str,
) -> None:
    before = contents(Path(str(small.home.tables)))
    honest = implicit.resolve_chunk

    def broken(*arguments: object, **options: object) -> Resolution:
        found = honest(*arguments, **options)  # type: ignore[arg-type]
        return Resolution(spoil(found.rows), found.log, found.conflicts)

    monkeypatch.setattr(implicit, "resolve_chunk", broken)
    result = resolve(small)
    assert not result.success
    assert named in reasons(result)
    assert contents(Path(str(small.home.tables))) == before
    (found,) = result.get_asset_check_evaluations()
    assert (found.check_name, found.passed, found.blocking) == ("conflict_free", False, True)
    assert found.severity is dg.AssetCheckSeverity.ERROR
    assert named in str(found.metadata["note"].value)
    assert "remedy" in found.metadata


def test_a_file_poisoned_on_disk_is_not_released_and_the_last_release_stays(small: SmallHome) -> None:
    before = contents(small.home.release)
    path = Path(str(partition_path(small.home.tables, "lunguage_plus_plus", "panel", "first")))
    honest = path.read_bytes()
    rows = read_table(LUNGUAGE_PLUS_PLUS, path)
    by_hand = "first (lunguage_plus_plus (panel, first) changed after it was stored)"
    poisons: list[tuple[str, Callable[[], object]]] = [
        (by_hand, lambda: store_unchecked(LUNGUAGE_PLUS_PLUS, inverted(rows), path)),
        ("violations", lambda: poison(small)),
        (by_hand, lambda: pq.write_table(pq.read_table(path).drop_columns(["ranking_version"]), path)),
    ]
    for named, spoil in poisons:
        path.write_bytes(honest)
        spoil()
        result = small.make(["release"], "panel", raise_on_error=False)
        assert not result.success, named
        assert named in reasons(result)
        assert contents(small.home.release) == before


def test_a_ranking_of_another_vocabulary_is_not_used(small: SmallHome) -> None:
    (small.home.root / "settings.toml").write_text('[explicit]\nruler = "published"\n')
    small.make(["hedge_vocabulary"], "lexicon")
    for tables, partition in (
        (["reference_ranking"], "panel"),
        (RECIPES["fitted_probabilities"].tables, BATCH),
    ):
        result = small.make(tables, partition, raise_on_error=False)
        assert not result.success
        assert "another version of the hedge vocabulary" in reasons(result)
