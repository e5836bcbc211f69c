"""Every published corpus becomes labels by one command, and its studies keep their own
ids.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from commands import lunguage
from published_shapes import (
    chexbert_line,
    chexpert_row,
    padchest_study,
    rexgradient_entry,
    write_chexpert_plus,
    write_json,
)

DECLARED = 'data_class = "synthetic"\n'
SAID = "No pleural effusion. Possible pneumonia."


@pytest.mark.lengthy
def test_labels_come_of_every_shape_and_an_own_id_explains_itself(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    for shape in ("chexpert", "rexgradient", "padchest"):
        (tmp_path / shape).mkdir()
        (tmp_path / shape / "corpus.toml").write_text(DECLARED)
    write_chexpert_plus(
        tmp_path / "chexpert",
        [chexpert_row("patient00001/study1/view1_frontal", findings=SAID)],
    )
    write_json(
        tmp_path / "rexgradient" / "test_metadata_view_position.json",
        {"st1": rexgradient_entry(Findings=SAID)},
    )
    write_json(
        tmp_path / "padchest" / "grounded_reports_1.json",
        [padchest_study("9" * 44, *SAID.split(". "))],
    )
    for shape in ("chexpert", "rexgradient"):
        assert lunguage(home, "register", "--data", tmp_path / shape).returncode == 0
    done = lunguage(home, "run", "--data", tmp_path / "padchest")
    assert done.returncode == 0, done.stderr
    labels = pd.read_csv(
        home / "release" / "panel" / "v1" / "restricted" / "labels.csv", dtype=str
    )
    statuses = labels.set_index(["label", "source_id"])["status"]
    ids = ["patient00001/study1", "st1", "9" * 44]
    assert statuses["pneumonia"][ids].tolist() == ["tp"] * 3
    assert statuses["pleural effusion"][ids].tolist() == ["dn"] * 3
    line = chexbert_line(
        "patient00001/study1/view1_frontal", Pneumonia=-1.0, Pleural_Effusion=0.0
    )
    (tmp_path / "impression_fixed.json").write_text(f"{line}\n")
    compared = tmp_path / "compared"
    done = lunguage(
        home,
        "compare-labels",
        "--with",
        tmp_path / "impression_fixed.json",
        "--out",
        compared,
    )
    assert "1 studies in both; 0 only in impression_fixed.json" in done.stdout, (
        done.stderr
    )
    agreement = pd.read_csv(compared / "agreement.csv").set_index("label")
    assert agreement.loc[["Pneumonia", "Pleural Effusion"], "agreement"].tolist() == [
        1.0,
        1.0,
    ]
    explained = lunguage(home, "explain", "patient00001/study1")
    assert (explained.returncode, "pneumonia" in explained.stdout) == (0, True), (
        explained.stderr
    )
