"""A damaged file of a home is named, with what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lunguage_assets.errors import InputError
from lunguage_assets.workspace.home import Home


@pytest.mark.parametrize("content", ["", '{"name": "inv', "[1]", '{"key": 1}', "\xff"])
@pytest.mark.parametrize("name", ["corpus.json", "batches/a/batch.json"])
def test_a_damaged_record_is_named_with_what_to_do(
    tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / "reports.csv").write_text("study_id,report\n1,No effusion.\n")
    home = Home(tmp_path / "home")
    home.register(tmp_path / "reports.csv", "a")
    (home.root / name).write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match="found a damaged record") as refused:
        home.register(tmp_path / "reports.csv", "a")
    assert refused.value.file == str(home.root / name)
    assert "from a backup" in refused.value.remedy


@pytest.mark.parametrize("content", ["{", json.dumps([{"key": "a"}]), "3"])
def test_a_damaged_list_of_removals_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "removals.json").write_text(content)
    with pytest.raises(InputError, match=r"removals\.json: found a damaged record"):
        Home(tmp_path).removed()
