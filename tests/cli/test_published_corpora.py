"""Published corpora become labels by one command, under the ids of their studies."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from commands import lunguage

from lunguage_assets.corpus.texts.layouts import layouts


def write_example(name: str, folder: Path) -> list[str]:
    """The example of a layout; its studies, by the ids of the corpus."""
    for file, content in layouts()[name].example["files"].items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content, encoding="utf-8")
    (folder / "corpus.toml").write_text('data_class = "synthetic"\n')
    return [report["study"] for report in layouts()[name].example["reports"]]


@pytest.mark.lengthy
def test_labels_come_of_published_corpora_and_an_own_id_explains_itself(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    studies: list[str] = []
    for name in ("chexpert-plus", "padchest-gr", "rexrank"):
        studies += write_example(name, tmp_path / name)
        done = lunguage(home, "register", "--data", tmp_path / name)
        assert done.returncode == 0, done.stderr
    done = lunguage(home, "run")
    assert done.returncode == 0, done.stderr
    folder = home / "release" / "panel" / "v1" / "restricted"
    labels = pd.read_csv(folder / "labels.csv", dtype=str)
    assert set(labels["source_id"]) == set(studies)
    explained = lunguage(home, "explain", "patient00001/study2")
    assert "pleural effusion" in explained.stdout, explained.stderr
