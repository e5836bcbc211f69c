"""A poisoned partition is never stored, and what others read is never poisoned.

Two batches share no study; the second is poisoned on its way. Blocking checks of
Dagster alone would let the release and the vocabulary read it: they look at other
partitions than the check.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pandas as pd
import pyarrow.parquet as pq
import pytest
from finished_homes import Finished
from platform_support import contents
from small_homes import SmallHome, said_of

from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.orchestration.assets import implicit
from lunguage_assets.workspace.store import partition_path
from lunguage_assets.workspace.versions import current_version

SOUND, POISONED = "first", "second"
RESULT = "lunguage_plus_plus"
SIDE_TABLES = ("resolution_log", "conflicts", "accounting", "set_aside")
BATCH = {"ranker": "panel", "report_batch": SOUND}


@pytest.fixture(scope="module")
def poisoned_studies(finished: Finished) -> set[str]:
    path = finished.home / "tables" / "reports" / f"{POISONED}.parquet"
    return set(pq.read_table(path, columns=["study_id"])["study_id"].to_pylist())


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


def released_studies(small: SmallHome) -> set[str]:
    version = current_version(small.home.release / "panel")
    assert version is not None
    file = version / "restricted" / "Lunguage_plus_plus.parquet"
    return set(pq.read_table(file, columns=["study_id"])["study_id"].to_pylist())


def test_a_poisoned_batch_is_not_stored_and_no_release_waits_for_it(
    small: SmallHome, poisoned_studies: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a batch that came anew: nothing of its result is there."""
    files = [
        Path(str(partition_path(small.home.tables, table, "panel", POISONED)))
        for table in (RESULT, *SIDE_TABLES)
    ]
    for file in files:
        file.unlink()
    resolving(lambda rows: rows.assign(support=2.0), monkeypatch, poisoned_studies)
    results = [
        small.make([RESULT], {**BATCH, "report_batch": batch}, raise_on_error=False)
        for batch in (SOUND, POISONED)
    ]
    assert [result.success for result in results] == [True, False]
    assert [file for file in files if file.exists()] == []
    released = small.make(["release"], "panel")
    (event,) = released.get_asset_materialization_events()
    assert event.materialization.metadata["batches_not_included"].value == POISONED
    assert released_studies(small)
    assert not released_studies(small) & poisoned_studies


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
    small: SmallHome,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[pd.DataFrame], pd.DataFrame],
    named: str,
) -> None:
    before = contents(small.home.root / "tables")
    resolving(spoil, monkeypatch, None)
    result = small.make([RESULT], BATCH, raise_on_error=False)
    assert not result.success
    assert named in said_of(result)
    assert contents(small.home.root / "tables") == before
    (evaluation,) = result.get_asset_check_evaluations()
    assert (evaluation.check_name, evaluation.passed, evaluation.blocking) == (
        "conflict_free",
        False,
        True,
    )
    assert evaluation.severity is dg.AssetCheckSeverity.ERROR
    assert named in str(evaluation.metadata["note"].value)
    assert "remedy" in evaluation.metadata


def test_a_ranking_of_another_vocabulary_is_not_used(small: SmallHome) -> None:
    (small.home.root / "settings.toml").write_text(
        '[explicit]\nreference_scale = "published"\n'
    )
    small.make(["hedge_vocabulary"], "lexicon")
    for table, partition in (
        ("reference_ranking", "panel"),
        ("fitted_probabilities", BATCH),
    ):
        result = small.make([table], partition, raise_on_error=False)
        assert not result.success
        assert "another version of the hedge vocabulary" in said_of(result)
