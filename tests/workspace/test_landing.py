"""A complete delivery in the landing folder is registered once, by its content; what
cannot be is moved aside with its reason, and nothing stops the rest.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from killed_process import killed_at
from landing_drops import DECLARED, SPOKEN, Landing, csv, parquet

from lunguage_assets.errors import LunguageError
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.landing import land


@pytest.fixture
def landing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Landing:
    monkeypatch.setattr("os.fsync", lambda _: None)  # No test cuts the power.
    (tmp_path / "landing").mkdir()
    return Landing(tmp_path / "landing", Home(tmp_path / "home"))


def test_content_is_registered_once_under_any_name_and_after_its_removal(
    landing: Landing,
) -> None:
    landing.drop("Night 1.csv", csv(1))
    landing.drop("week.parquet", parquet(2))
    landing.drop("f/Lunguage.csv", csv(3))
    landing.drop("notes.txt", "for people")
    landing.drop("x.csv.part", csv(4))
    taken = landing.land()
    assert {state for state, _ in taken.values()} == {"registered"}
    assert sorted(landing.batches) == ["f", "night-1", "week"]
    landing.drop("odd.csv", csv(5) + b"p1,s3,find\n")
    assert landing.land()["odd.csv"] == ("registered", "batch odd")
    landing.drop("again.csv", csv(1))
    assert landing.land()["again.csv"] == ("skipped", "same content as batch night-1")
    landing.home.remove("f")
    assert {state for state, _ in landing.land().values()} == {"landed before"}
    (landing.home.root / "landed.json").unlink()
    landing.home.register(landing.root / "f", "f")
    assert {state for state, _ in landing.land().values()} == {"skipped"}


def test_other_content_under_a_known_name_gets_a_numbered_key(landing: Landing) -> None:
    for study in (1, 2, 3):
        landing.drop("night.csv", csv(study))
        landing.land()
    assert landing.batches == ["night", "night-2", "night-3"]


@pytest.mark.parametrize("marker", ["f.done", "f/.done", "f/_SUCCESS"])
def test_a_delivery_is_complete_with_its_marker_or_after_a_while(
    landing: Landing, marker: str
) -> None:
    landing.drop(marker, "")
    os.utime(landing.root / marker, (1000, 1000))
    landing.drop("f/Lunguage.csv", csv(1))
    assert landing.land(30.0)["f"] == ("waiting", "it may still be written to")
    landing.drop(marker, "")
    assert landing.land(30.0)["f"][0] == "registered"
    landing.drop("a.csv", csv(2))
    assert landing.land(0.0)["a.csv"][0] == "registered"


@pytest.mark.parametrize(
    ("lay", "reason"),
    [
        (lambda path: path.write_text(f"{SPOKEN},y\n1,2\n"), "'y'"),
        (lambda path: path.write_bytes(b""), "(columns: [])"),
    ],
)
def test_what_cannot_be_used_is_moved_aside_with_its_reason(
    landing: Landing, lay: Callable[[Path], object], reason: str
) -> None:
    lay(landing.root / "bad.csv")
    landing.drop("good.csv", csv(1))
    state, message = landing.land()["bad.csv"]
    assert (state, landing.batches) == ("quarantined", ["good"])
    (file,) = landing.root.glob("quarantine/bad*/REASON.txt")
    assert reason in message
    assert message in file.read_text()
    assert (file.parent / "bad.csv").exists()
    assert not (landing.root / "bad.csv").exists()


def test_a_folder_is_moved_aside_whole_and_a_declaration_serves_its_neighbours(
    landing: Landing,
) -> None:
    landing.drop("corpus.toml", DECLARED)
    landing.drop("a.csv", csv(1))
    landing.drop("f/Lunguage.csv", csv(2))
    landing.drop("f/corpus.toml", "data_class = 'secret'")
    assert "data_class" in landing.land()["f"][1]
    assert landing.home.corpus().data_class == "synthetic"  # type: ignore[union-attr]
    (folder,) = landing.root.glob("quarantine/f-*/f")
    assert {path.name for path in folder.iterdir()} == {"Lunguage.csv", "corpus.toml"}


def test_too_many_reports_become_several_batches(landing: Landing) -> None:
    landing.home.create()
    landing.home.settings_file.write_text("[corpus]\nbatch_reports = 2\n")
    reports = "".join(f"{number},No effusion.\n" for number in range(5))
    landing.drop("year.csv", f"study_id,report\n{reports}")
    landing.land()
    assert landing.batches == ["year-001", "year-002", "year-003"]


def test_a_missing_folder_and_the_home_itself_are_refused(landing: Landing) -> None:
    with pytest.raises(LunguageError, match="it is not there"):
        land(landing.home, landing.root / "nowhere")
    with pytest.raises(LunguageError, match="the home itself"):
        land(landing.home, landing.home.root)


def test_a_pass_that_was_killed_anywhere_is_made_again_to_the_same_end(
    landing: Landing, tmp_path: Path
) -> None:
    landing.drop("a.csv", csv(1))
    landing.drop("bad.csv", "x,y\n1,2\n")
    for step in itertools.count(0, 3):
        copy = Landing(tmp_path / f"{step}", Home(tmp_path / f"home-{step}"))
        shutil.copytree(landing.root, copy.root)
        was_killed = killed_at(step, copy.land)
        copy.land()
        assert copy.batches == ["a"]
        assert len([*copy.root.glob("quarantine/*/bad.csv")]) == 1
        assert not [*copy.home.batches.glob(".*.tmp")]
        if not was_killed:
            break
    assert step > 3
