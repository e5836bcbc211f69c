"""Ten times as many batches are ten times the work: manifests and records are read once each, not once for
each other.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from lunguage_assets.current.plan import Wanted, plan
from lunguage_assets.current.standing import Standings
from lunguage_assets.home import home as homes
from lunguage_assets.home.home import Home
from lunguage_assets.home.record import MadeOf, TableRecord
from lunguage_assets.judges.configuration import load_judges


def work(root: Path, batches: int, patch: pytest.MonkeyPatch) -> Counter[str]:
    """How often what is read, to plan a run of so many batches of which a half waits for its hedges."""
    done: Counter[str] = Counter()
    home = Home(root)
    for number in range(batches):
        folder = home.batches / f"b{number:04d}"
        folder.mkdir(parents=True)
        told = {"key": folder.name, "number": number, "sha256": folder.name, "files": []}
        (folder / "batch.json").write_text(json.dumps(told))
    read, reasons = homes.read_batch, Standings._reasons

    def record(table: str, *keys: str) -> TableRecord | None:
        done["records"] += 1
        waits = table == "hedge_phrases" and keys[-1] >= f"b{batches // 2:04d}"
        return None if waits else TableRecord(table, keys, MadeOf(), "v")

    def counted(self: Standings, *of: object) -> object:
        for reason in reasons(self, *of):  # type: ignore[arg-type]
            done["reasons"] += 1
            yield reason

    with patch.context() as within:
        within.setattr(homes, "read_batch", lambda path: (done.update(["manifests"]), read(path))[1])
        within.setattr(Standings, "_reasons", counted)
        standings = Standings(home, load_judges())
        standings.record = cache(record)  # type: ignore[method-assign]
        assert len(plan(standings, Wanted("panel"))) > batches
    return done


def test_planning_reads_ten_times_as_much_for_ten_times_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = (work(tmp_path / str(n), n, monkeypatch) for n in (20, 200))
    assert few["manifests"] >= 20
    for what in few:
        assert many[what] <= 11 * few[what], what
