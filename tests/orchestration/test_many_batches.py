"""What rests on all batches is right with more batches than Dagster compares across an
edge: a release is stale when one of three hundred has other rows, and only then.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from small_homes import SmallHome

from lunguage_assets.orchestration.current import DATA_VERSION
from lunguage_assets.workspace.home import Batch, Home
from lunguage_assets.workspace.store import partition_path

RESULT = "lunguage_plus_plus"
BATCHES = [Batch(f"b{number:03}", number, "0" * 64) for number in range(300)]


def made(small: SmallHome, batch: Batch, version: str) -> None:
    """The result of a batch is there, with rows of this version."""
    keys = ("panel", batch.key)
    path = Path(str(partition_path(small.home.tables, RESULT, *keys)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    small.instance.report_runless_asset_event(
        dg.AssetMaterialization(
            RESULT,
            partition="|".join(keys),
            tags={DATA_VERSION: version},
        )
    )


def reasons(small: SmallHome) -> list[str]:
    return small.current().reasons("release_inputs", "panel")


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallHome]:
    """A home whose batches are acted out; what a release reads of them was hashed."""
    monkeypatch.setattr(Home, "registered", lambda home: list(BATCHES))
    with SmallHome.opened(tmp_path / "home") as small:
        for batch in BATCHES:
            made(small, batch, "as it was")
        small.make("release_inputs")
        yield small


def test_a_release_of_many_batches_is_current_until_one_has_other_rows(
    many: SmallHome,
) -> None:
    assert reasons(many) == []
    made(many, BATCHES[217], "as it was")
    assert reasons(many) == [], "made again, it came out the same"
    made(many, BATCHES[217], "other rows")
    assert reasons(many) == ["a batch or an analysis changed"]
    many.make("release_inputs")
    assert reasons(many) == []


def test_a_release_of_many_batches_is_stale_when_one_is_removed(
    many: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Home, "registered", lambda home: BATCHES[:-1])
    assert reasons(many) == ["a batch or an analysis changed"]
