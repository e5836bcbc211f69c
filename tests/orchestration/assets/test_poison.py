"""A poisoned partition is never stored, and what others read is never poisoned: in a
run, and on disk; what is wrong is reported by key, and a record names the rows that
were read.

Two batches share no study; the second is poisoned on its way. Blocking checks of
Dagster alone would let the release and the vocabulary read it: they look at other
partitions than the check.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import dagster as dg
import pandas as pd
import pyarrow.parquet as pq
import pytest
from finished_homes import Finished
from lunguage_assets.lineage.recipes import RECIPES
from platform_support import contents
from small_homes import SmallHome, contradicting_itself, said_of, store_unchecked
from stored_tables import store_table

from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.orchestration.assets import implicit, steps
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.tables import (
    DEDUPLICATED_FINDINGS,
    FITTED_PROBABILITIES,
    LUNGUAGE_PLUS_PLUS,
    TABLES,
)
from lunguage_assets.workspace.store import (
    partition_path,
    read_table,
    stored_partitions,
    stored_record,
)
from lunguage_assets.workspace.versions import current_version

BATCHES = ("first", "second")
SOUND, POISONED = BATCHES
RESULT = RECIPES["lunguage_plus_plus"].tables
BATCH = {"ranker": "panel", "report_batch": SOUND}


@pytest.fixture
def small(finished: Finished, tmp_path: Path) -> Iterator[SmallHome]:
    """A copy of the finished home in which nothing is resolved yet, and nothing
    released.
    """
    home = tmp_path / "home"
    shutil.copytree(finished.home, home)
    for folder in (*(home / "tables" / table for table in RESULT), home / "release"):
        shutil.rmtree(folder)
    record = [
        event
        for event in finished.record
        if event.asset_key.path[-1] not in (*RESULT, "release")
    ]
    with SmallHome.opened(home, record) as opened:
        yield opened


@pytest.fixture
def complete(finished: Finished, tmp_path: Path) -> Iterator[SmallHome]:
    """A copy of the finished home."""
    shutil.copytree(finished.home, tmp_path / "whole")
    with SmallHome.opened(tmp_path / "whole", finished.record) as opened:
        yield opened


@pytest.fixture(scope="module")
def poisoned_studies(finished: Finished) -> set[str]:
    path = finished.home / "tables" / "reports" / f"{POISONED}.parquet"
    return set(pq.read_table(path, columns=["study_id"])["study_id"].to_pylist())


def inverted(rows: pd.DataFrame) -> pd.DataFrame:
    """An interval that does not hold its probability: no column by itself is wrong."""
    return rows.assign(
        p_low=rows["p_low"].mask(rows.index == 0, 1.0),
        prob=rows["prob"].mask(rows.index == 0, 0.5),
    )


def resolving(
    spoil: Callable[[pd.DataFrame], pd.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    studies: set[str] | None,
) -> None:
    """Let the resolution of a batch with these studies, or of every batch, come out
    spoilt.
    """
    honest = implicit.resolve

    def spoilt(*arguments: object, **options: object) -> Resolution:
        resolution = honest(*arguments, **options)  # type: ignore[arg-type]
        struck = studies is None or set(resolution.rows["study_id"]) & studies
        return (
            resolution._replace(rows=spoil(resolution.rows)) if struck else resolution
        )

    monkeypatch.setattr(implicit, "resolve", spoilt)


def stored(small: SmallHome, table: str) -> set[str]:
    return {keys[-1] for keys in stored_partitions(small.home.tables, table)}


def released_studies(small: SmallHome) -> set[str]:
    version = current_version(small.home.release / "panel")
    assert version is not None
    file = version / "restricted" / "Lunguage_plus_plus.parquet"
    return set(pq.read_table(file, columns=["study_id"])["study_id"].to_pylist())


def test_the_sound_partitions_are_stored_and_no_release_reads_the_poisoned_one(
    small: SmallHome, poisoned_studies: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(contradicting_itself, monkeypatch, poisoned_studies)
    results = [
        small.make(RESULT, {**BATCH, "report_batch": batch}, raise_on_error=False)
        for batch in BATCHES
    ]
    assert [result.success for result in results] == [True, False]
    for table in RESULT:
        assert stored(small, table) == {SOUND}, table
    released = small.make(["release"], "panel")
    (event,) = released.get_asset_materialization_events()
    assert event.materialization.metadata["batches_not_included"].value == POISONED
    assert released_studies(small)
    assert not released_studies(small) & poisoned_studies


def test_a_file_poisoned_on_disk_is_read_by_no_asset(small: SmallHome) -> None:
    path = Path(
        str(
            partition_path(small.home.tables, "fitted_probabilities", "panel", POISONED)
        )
    )
    frame = read_table(FITTED_PROBABILITIES, path)
    store_unchecked(FITTED_PROBABILITIES, frame.assign(p=frame["p"] + 1.0), path)
    before = contents(Path(str(small.home.tables)))
    result = small.make(
        ["deduplicated_findings"],
        {"ranker": "panel", "report_batch": POISONED},
        raise_on_error=False,
    )
    assert not result.success
    assert "Materialise it again before anything reads it" in said_of(result)
    assert contents(Path(str(small.home.tables))) == before


def poison(small: SmallHome) -> pd.DataFrame:
    """A result that breaks a guarantee, with a sound record: as code with a fault could
    store it.
    """
    path = partition_path(small.home.tables, "lunguage_plus_plus", "panel", "first")
    record = stored_record(LUNGUAGE_PLUS_PLUS, path)
    assert record is not None
    rows = contradicting_itself(read_table(LUNGUAGE_PLUS_PLUS, path))
    store_table(LUNGUAGE_PLUS_PLUS, rows, path, record.keys, record.made_of)
    return rows


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (
            lambda rows: rows.assign(
                ranking_version=["0ther", *rows["ranking_version"][1:]]
            ),
            "has one value",
        ),
        (
            lambda rows: pd.concat([rows, rows.head(1)], ignore_index=True),
            "(finding_id) is unique",
        ),
        (lambda rows: rows.assign(support=2.0), "support <= 1"),
    ],
    ids=["two rankings", "a key twice", "every study"],
)
def test_a_wrong_result_is_not_stored_and_the_last_stays(
    complete: SmallHome,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[pd.DataFrame], pd.DataFrame],
    named: str,
) -> None:
    before = contents(Path(str(complete.home.tables)))
    resolving(spoil, monkeypatch, None)
    result = complete.make(RESULT, BATCH, raise_on_error=False)
    assert not result.success
    assert named in said_of(result)
    assert contents(Path(str(complete.home.tables))) == before
    (evaluation,) = result.get_asset_check_evaluations()
    assert (evaluation.check_name, evaluation.passed, evaluation.blocking) == (
        "conflict_free",
        False,
        True,
    )
    assert evaluation.severity is dg.AssetCheckSeverity.ERROR
    assert named in str(evaluation.metadata["note"].value)
    assert "remedy" in evaluation.metadata


def test_a_file_poisoned_on_disk_is_not_released(
    complete: SmallHome,
) -> None:
    before = contents(complete.home.release)
    path = Path(
        str(
            partition_path(complete.home.tables, "lunguage_plus_plus", "panel", "first")
        )
    )
    honest = path.read_bytes()
    rows = read_table(LUNGUAGE_PLUS_PLUS, path)
    by_hand = "first (lunguage_plus_plus (panel, first) changed after it was stored)"
    poisons: list[tuple[str, Callable[[], object]]] = [
        (by_hand, lambda: store_unchecked(LUNGUAGE_PLUS_PLUS, inverted(rows), path)),
        ("violations", lambda: poison(complete)),
        (
            by_hand,
            lambda: pq.write_table(
                pq.read_table(path).drop_columns(["ranking_version"]), path
            ),
        ),
    ]
    for named, spoil in poisons:
        path.write_bytes(honest)
        spoil()
        result = complete.make(["release"], "panel", raise_on_error=False)
        assert not result.success, named
        assert named in said_of(result)
        assert contents(complete.home.release) == before


def test_a_ranking_of_another_vocabulary_is_not_used(complete: SmallHome) -> None:
    (complete.home.root / "settings.toml").write_text(
        '[explicit]\nreference_scale = "published"\n'
    )
    complete.make(["hedge_vocabulary"], "lexicon")
    for tables, partition in (
        (["reference_ranking"], "panel"),
        (RECIPES["fitted_probabilities"].tables, BATCH),
    ):
        result = complete.make(tables, partition, raise_on_error=False)
        assert not result.success
        assert "another version of the hedge vocabulary" in said_of(result)


def test_the_record_names_the_rows_that_were_read(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("panel", "second")
    table = DEDUPLICATED_FINDINGS
    path = partition_path(small.home.tables, table.name, *keys)
    before = stored_record(table, path)
    assert before is not None

    def exchanging(
        root: Path, name: str, partition_keys: Sequence[str]
    ) -> pd.DataFrame:
        frame = stored_table(root, name, partition_keys)
        if name == table.name:
            store_table(table, frame.iloc[:-1], path, keys, before.made_of)
        return frame

    monkeypatch.setattr(steps, "stored_table", exchanging)
    small.make(["expansions"], {"ranker": "panel", "report_batch": "second"})
    after = stored_record(table, path)
    assert after is not None
    assert after.version != before.version
    for asset in ("expansions", "pathway_matches"):
        made_path = partition_path(small.home.tables, asset, *keys)
        record = stored_record(TABLES[asset], made_path)
        assert record is not None
        inputs = record.made_of.inputs
        assert inputs["deduplicated_findings/panel/second"] == before.version


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("settings.toml", "[implicit]\nmerge_threshold = 0.5\n", "merge settings"),
        ("blacklist.yaml", "term_pairs: []\n", "blacklist"),
    ],
)
def test_an_input_edited_during_a_step_leaves_nothing_stored(
    complete: SmallHome,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str,
    message: str,
) -> None:
    before = contents(Path(str(complete.home.tables)))
    merge = implicit.deduplicate

    def edited_meanwhile(*inputs: object) -> pd.DataFrame:
        (complete.home.root / name).write_text(content)
        return merge(*inputs)

    monkeypatch.setattr(implicit, "deduplicate", edited_meanwhile)
    result = complete.make(["deduplicated_findings"], BATCH, raise_on_error=False)
    assert not result.success
    assert f"{message} changed while deduplicated_findings was made" in said_of(result)
    assert contents(Path(str(complete.home.tables))) == before
