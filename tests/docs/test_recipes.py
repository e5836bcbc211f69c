"""The recipes of the page run, and print what can be counted by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="the recipes need scikit-learn")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
OUTCOMES, AGREEMENT, STRUCTURERS = re.findall(
    r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of a release lie for a recipe."""
    monkeypatch.chdir(tmp_path)
    restricted = tmp_path / "release" / "panel" / "v1" / "restricted"
    restricted.mkdir(parents=True)
    return restricted


def test_p_is_held_against_outcomes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = [f"000{number}" for number in range(40)]
    p = [0.2, 0.8] * 20
    cells = pd.DataFrame({"source_id": ids, "label": "edema", "p": p, "status": "tp"})
    implied = {"source_id": "0000", "label": "opacity", "p": 0.8, "status": "dp"}
    unmentioned = {"source_id": "0000", "label": "mass"}
    rows = pd.concat([cells, pd.DataFrame([implied, unmentioned])])
    rows["p_is_bound"] = rows["label"] == "opacity"
    rows.to_csv(folder / "labels.csv", index=False)
    # One of five with p of 0.2, and four of five with 0.8.
    outcome = [0, 1, 0, 1, 0, 1, 0, 1, 1, 0] * 4
    outcomes = rows.assign(outcome=[*outcome, 1, 1])
    outcomes[["source_id", "label", "outcome"]].to_csv("outcomes.csv", index=False)

    exec(OUTCOMES, {})

    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("all: 41,")
    assert printed[1] == "hedged: 40, observed 0.500, p 0.500, Brier 0.160"
    assert printed[2].startswith("edema: 40,")
    assert printed[-1] in ("slope 1.00, intercept 0.00", "slope 1.00, intercept -0.00")


def test_labels_are_held_beside_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    studies = pd.DataFrame({"subject_id": [1, 1, 2, 3], "study_id": [10, 11, 12, 13]})
    ours = studies.assign(Edema=[1, 0, -1, None])
    ours.to_csv(folder / "labels_chexpert.csv", index=False)
    p = studies.assign(Edema=[1.0, 0.0, 0.7, None])
    p.to_csv(folder / "labels_probability.csv", index=False)
    # The order of the rows is another one, and a study is not in the release.
    theirs = studies.assign(Edema=[1, 0, 1, None]).iloc[::-1]
    stranger = pd.DataFrame({"subject_id": [9], "study_id": [99], "Edema": [1]})
    path = "mimic-cxr-2.0.0-chexpert.csv.gz"
    pd.concat([theirs, stranger]).to_csv(path, index=False)

    exec(AGREEMENT, {})

    # Three of four agree; by chance they would in 4 of 16.
    (line, *_) = capsys.readouterr().out.splitlines()
    assert line == "Edema: agreement 0.750, kappa 0.667, AUROC of p 1.000"


def test_rows_of_a_structurer_are_held_beside_those_of_people(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coded = pd.DataFrame(
        [
            ("s1", "find", "An opacity, and an opacity.", "opacity", "definitive"),
            ("s1", "find", "An opacity, and an opacity.", "opacity", "tentative"),
            ("s1", "find", "Edema.", "edema", "definitive"),
        ],
        columns=["study_id", "section", "sent", "normed_ent", "dx_certainty"],
    ).assign(dx_status="positive")
    # Two of the three rows are read, one with its status, and an invented one; nobody
    # coded the other study.
    read = coded.assign(sent=coded["sent"].str.upper(), dx_certainty="definitive")
    read["normed_ent"] = ["opacity", "opacity", "mass"]
    other_study = coded.assign(study_id="s2")
    rows_by_folder = {"rules": pd.concat([read, other_study]), "people": coded}
    for name, rows in rows_by_folder.items():
        Path(name).mkdir()
        rows.to_csv(f"{name}/Lunguage.csv", index=False)

    exec(STRUCTURERS, {})

    assert capsys.readouterr().out.splitlines() == [
        "rows: 2 agree, precision 0.667, recall 0.667, F1 0.667",
        "status: 1 agree, precision 0.333, recall 0.333, F1 0.333",
    ]
