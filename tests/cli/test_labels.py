"""Labels from the command line: targets of a finished home, and published corpora under
the ids of their studies.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from commands import lunguage
from finished_homes import Finished

from lunguage_assets.corpus.texts.layouts import layouts


def test_targets_are_written_without_python(finished: Finished, tmp_path: Path) -> None:
    file = tmp_path / "targets.parquet"
    options = ("--order", "Pneumonia, Effusion", "--policy", "U-Ones", "--out", file)
    done = lunguage(finished.home, "targets", *options)
    assert done.returncode == 0, done.stderr
    targets = pd.read_parquet(file)
    assert targets.columns[::3].tolist() == ["id", "Pneumonia_high", "Effusion_high"]
    labels = pd.read_csv(finished.restricted / "labels.csv")
    assert len(targets) == labels["study_id"].nunique()
    assert "U-Ones" in done.stdout


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
