"""What commands say: short helps, mistyped names, what would stop a run, signs of
life.
"""

from __future__ import annotations

import errno
import io
import sys
from pathlib import Path

import pytest
from commands import lunguage

from lunguage_assets.cli import run_display
from lunguage_assets.judges.progress import Progress

JUDGES = """
preset = "cloud"
presets.cloud = { panel = "two", extractor = "one" }
panels.two = { members = ["one", "shy"] }
judges.one = { provider = "openai", model = "model-1" }
judges.shy = { provider = "openai", model = "model-3", allowed_data = [] }
"""


def test_a_wrong_preset_is_said_with_those_that_there_are(
    tmp_path: Path, five: Path
) -> None:
    run = ("run", "--data", five)
    errors = lunguage(tmp_path / "home", *run, "--preset", "panel-2025").stderr
    assert "judges.toml has no preset 'panel-2025'" in errors
    assert "Did you mean 'panel-2026'?" in errors
    errors = lunguage(tmp_path / "home", *run, LUNGUAGE_PRESET="ofline").stderr
    assert "Did you mean 'offline'? Name one of them with --preset or" in errors
    assert not (tmp_path / "home").exists()


def test_all_that_refuses_judges_is_said_before_the_first_stage(
    tmp_path: Path, five: Path
) -> None:
    (tmp_path / "judges.toml").write_text(JUDGES)
    done = lunguage(
        tmp_path / "home", "run", "--data", five,
        LUNGUAGE_JUDGES=str(tmp_path / "judges.toml"), OPENAI_API_KEY=None,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    for words in ("OPENAI_API_KEY is not set", "'shy' may not receive"):
        assert words in line, words
    assert not (tmp_path / "home" / "tables").exists()


def test_an_unusable_release_folder_is_said_before_anything_is_made(
    tmp_path: Path, five: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = lunguage(
        tmp_path / "home", "run", "--data", five, "--out", tmp_path / "file" / "x"
    )
    assert done.stderr.startswith("lunguage: Not a directory: ")
    assert "name another folder" in done.stderr
    assert not (tmp_path / "home").exists()


def test_a_reader_who_has_gone_stops_no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    printed_lines: list[str] = []
    monkeypatch.setattr(run_display, "LINE_EVERY_S", 0.0)
    monkeypatch.setattr(run_display.click, "echo", printed_lines.append)
    display = run_display.RunDisplay()
    progress = Progress("gpt", 4, 0, 1, 1, 0, 10, 1, 0.5)
    display.note(progress)
    assert "gpt" in printed_lines[0]
    monkeypatch.undo()
    monkeypatch.setattr(run_display, "LINE_EVERY_S", 0.0)
    monkeypatch.setattr(sys, "stdout", Gone())
    display.note(progress)
    (total,) = display.total.values()
    assert (total.judge, total.settled) == ("gpt", 2)
