"""`lunguage targets` on a finished home."""

from __future__ import annotations

from pathlib import Path

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
