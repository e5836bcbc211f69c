"""`lunguage calibrate` and `lunguage compare-labels` on a finished home, and the asset
of the same table.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import lunguage
from finished_homes import Finished

from lunguage_assets.workspace.versions import current_version


@pytest.fixture
def restricted(finished: Finished) -> Path:
    version = current_version(finished.home / "release" / "panel")
    assert version is not None
    return version / "restricted"


def outcomes(restricted: Path, file: Path) -> pd.DataFrame:
    """An outcome for every label with p, drawn with this p, and one of a study that
    nobody delivered.
    """
    labels = pd.read_parquet(restricted / "labels.parquet")
    labels = labels[labels["p"].notna()]
    happened = np.random.default_rng(0).random(len(labels)) < labels["p"]
    frame = labels[["study_id", "label"]].assign(outcome=happened.astype(int))
    frame.loc[len(frame) + 10_000] = ["s99999999", "pneumonia", 1]
    frame.to_csv(file, index=False)
    return frame


@pytest.mark.lengthy
def test_a_release_is_held_against_outcomes(
    finished: Finished, restricted: Path, tmp_path: Path
) -> None:
    outcome_rows = outcomes(restricted, tmp_path / "outcomes.csv")
    done = [
        lunguage(
            finished.home,
            "calibrate",
            "--outcomes",
            tmp_path / "outcomes.csv",
            "--out",
            tmp_path / folder,
        )
        for folder in ("once", "again")
    ]
    assert done[0].returncode == 0, done[0].stderr
    assert "1 of 1 studies" in done[0].stdout
    table = pd.read_csv(
        tmp_path / "once" / "calibration.csv", keep_default_na=False
    ).set_index("by")
    assert table.loc["all", "cells"] == len(outcome_rows) - 1
    files = {path.name: path.read_bytes() for path in (tmp_path / "once").iterdir()}
    assert files == {
        path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()
    }
    assert {"calibration.csv", "reliability.csv", "reliability.png"} <= set(files)
    sentences = pd.read_parquet(restricted / "Lunguage_plus_plus.parquet")["sent"]
    for sentence in set(sentences[sentences.str.len() > 30]):
        assert all(sentence.encode() not in content for content in files.values())


def test_labels_agree_wholly_with_their_own_file(
    finished: Finished, restricted: Path, tmp_path: Path
) -> None:
    done = lunguage(
        finished.home,
        "compare-labels",
        "--with",
        restricted / "labels_chexpert.csv",
        "--out",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    agreement = pd.read_csv(tmp_path / "agreement.csv").set_index("label")
    assert (agreement["agreement"] == 1.0).all()
    assert agreement.loc["all labels", "kappa"] == pytest.approx(1.0)
    crossed = pd.read_csv(tmp_path / "crossed.csv")
    assert (
        crossed.query("label == 'all labels'")[["1", "0", "-1", "blank"]]
        .to_numpy()
        .sum()
        == (agreement.loc["all labels", "cells"])
    )


def test_targets_are_written_without_python(
    finished: Finished, restricted: Path, tmp_path: Path
) -> None:
    file = tmp_path / "targets.parquet"
    done = lunguage(
        finished.home,
        "targets",
        "--order",
        "Pneumonia, Effusion",
        "--policy",
        "U-Ones",
        "--out",
        file,
    )
    assert done.returncode == 0, done.stderr
    targets = pd.read_parquet(file)
    assert targets.columns[::3].tolist() == ["id", "Pneumonia_high", "Effusion_high"]
    assert len(targets) == len(
        pd.read_csv(restricted / "labels.csv")["study_id"].unique()
    )
    assert "U-Ones" in done.stdout
