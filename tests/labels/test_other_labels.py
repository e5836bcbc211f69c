"""Files of outcomes and labels: what is read, and how a bad one is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.errors import InputError
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.labels.other_labels import (
    read_label_file,
    read_outcomes,
)
from lunguage_assets.tables.released import CHEXPERT

OUTCOMES = "study_id,label,outcome\n"
LABELS = "study_id,Pneumonia\n"


def chexbert_line(image: str, **labels: float | None) -> str:
    """A line of `impression_fixed.json`: every label that is not given is null."""
    label_values = dict.fromkeys(CHEXPERT) | {
        name.replace("_", " "): v for name, v in labels.items()
    }
    return json.dumps({"path_to_image": f"train/{image}.jpg", **label_values})


def write_file(folder: Path, text: str) -> Path:
    path = folder / "file.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_outcomes_may_name_labels_and_studies_in_either_form(
    tmp_path: Path,
) -> None:
    path = write_file(
        tmp_path, f"{OUTCOMES}50000002, Edema,1.0\ns50000001,pulmonary edema,0\n"
    )
    assert read_outcomes(path, load_label_list()).values.tolist() == [
        ["s50000001", "pulmonary edema", 0],
        ["s50000002", "pulmonary edema", 1],
    ]


@pytest.mark.parametrize(
    ("read_file", "text", "message"),
    [
        (read_outcomes, "study_id,label\n50000001,edema\n", "no column ['outcome']"),
        (
            read_outcomes,
            f"{OUTCOMES}50000001,Edema,2\n",
            "row 1, column 'outcome': found 2; expected 0 or 1",
        ),
        (
            read_outcomes,
            f"{OUTCOMES}50000001,Edema,yes\n",
            "row 1, column 'outcome': found text",
        ),
        (
            read_outcomes,
            f"{OUTCOMES}50000001,Edema,1\n50000002,gout,1\n",
            "row 2, column 'label': found text",
        ),
        (
            read_outcomes,
            f"{OUTCOMES},Edema,1\n",
            "row 1, column 'study_id': found nothing",
        ),
        (
            read_outcomes,
            f"{OUTCOMES}50000001,Edema,1\ns50000001,pulmonary edema,0\n",
            (
                "row 2, column 'label': found text; expected one outcome for a study "
                "and label"
            ),
        ),
        (
            read_outcomes,
            f"{OUTCOMES}50000001,Edema,1,2\n",
            "row 1: found too few or too many values",
        ),
        (
            read_outcomes,
            f"{OUTCOMES}50000001,Edema\n",
            "row 1: found too few or too many values",
        ),
        (read_outcomes, "", "an empty file"),
        (read_label_file, "study,Pneumonia\n50000001,1\n", "no column ['study_id']"),
        (read_label_file, "study_id,reader\n50000001,1\n", "no column of a label"),
        (
            read_label_file,
            "study_id,Lung Opacity,Airspace Opacity\n50000001,1,1\n",
            "two columns of one label",
        ),
        (
            read_label_file,
            f"{LABELS}50000001,1\n50000001,0\n",
            "row 2, column 'study_id'",
        ),
        (
            read_label_file,
            f"{LABELS}50000001,3\n",
            "row 1, column 'Pneumonia': found 3; expected 1, 0, -1",
        ),
    ],
)
def test_a_bad_file_is_refused_by_row_and_column_without_its_text(
    read_file: object, tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as refused:
        read_file(write_file(tmp_path, text), load_label_list())  # type: ignore[operator]
    assert message in str(refused.value)
    assert "Jane" not in str(refused.value)
    assert "gout" not in str(refused.value)


def test_a_study_may_be_named_as_it_was_delivered(tmp_path: Path) -> None:
    outcomes = read_outcomes(
        write_file(tmp_path, f"{OUTCOMES}st00001,Edema,1\n1,Edema,0\n"),
        load_label_list(),
    )
    assert outcomes["study_id"].tolist() == ["s00000001", study_of("st00001")]


def test_a_file_of_mimic_is_read_also_compressed(tmp_path: Path) -> None:
    head = ",".join(("subject_id", "study_id", *CHEXPERT))
    text = f"{head}\n10000001,50000001,1.0,0.0,-1.0{',' * 11}\n"
    path = tmp_path / "mimic-cxr-2.0.0-negbio.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    cells = read_label_file(path, load_label_list()).labels
    answers = dict(zip(cells["chexpert"], cells["other_answer"], strict=True))
    assert [answers[name] for name in CHEXPERT[:4]] == ["1", "0", "-1", "blank"]
    assert set(answers) == set(CHEXPERT)


def lines_of_chexbert(folder: Path, *lines: str) -> Path:
    path = folder / "impression_fixed.json"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_lines_of_chexbert_are_read_by_the_study_of_their_image(tmp_path: Path) -> None:
    path = lines_of_chexbert(
        tmp_path,
        chexbert_line(
            "patient00001/study1/view1_frontal", Edema=1.0, Pneumonia=-1.0, Fracture=0.0
        ),
        chexbert_line(
            "patient00001/study1/view2_lateral", Edema=1.0, Pneumonia=-1.0, Fracture=0.0
        ),
    )
    cells = read_label_file(path, load_label_list()).labels
    assert set(cells["study_id"]) == {study_of("patient00001/study1")}
    answers = dict(zip(cells["chexpert"], cells["other_answer"], strict=True))
    assert [
        answers[name] for name in ("Edema", "Pneumonia", "Fracture", "Atelectasis")
    ] == [
        "1",
        "-1",
        "0",
        "blank",
    ]


def test_of_repeated_lines_the_first_counts(
    tmp_path: Path,
) -> None:
    path = lines_of_chexbert(
        tmp_path,
        chexbert_line("patient00001/study1/view1_frontal", Edema=1.0),
        chexbert_line("patient00001/study1/view2_frontal", Edema=0.0),
        chexbert_line("patient00001/study2/view1_frontal"),
    )
    cells, differing = read_label_file(path, load_label_list())
    first = cells[
        (cells["chexpert"] == "Edema")
        & (cells["study_id"] == study_of("patient00001/study1"))
    ]
    assert first["other_answer"].tolist() == ["1"]
    assert differing == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (chexbert_line("Jane"), "row 2, column 'path_to_image': found text"),
        ('{"Edema": 1.0}', "row 2, column 'path_to_image': found nothing"),
        ("Jane", "row 2: found something else; expected a JSON object per line"),
        (
            chexbert_line("patient1/study2/view1_frontal", Edema=3),
            "row 2, column 'Edema': found 3",
        ),
    ],
)
def test_a_bad_line_of_chexbert_is_refused_by_its_number(
    tmp_path: Path, line: str, message: str
) -> None:
    path = lines_of_chexbert(
        tmp_path, chexbert_line("patient1/study1/view1_frontal"), line
    )
    with pytest.raises(InputError) as refused:
        read_label_file(path, load_label_list())
    assert message in str(refused.value)
    assert "Jane" not in str(refused.value)


def test_the_radiologists_file_without_patients_is_read(
    tmp_path: Path,
) -> None:
    text = "study_id,Airspace Opacity,Pneumonia,reader\n50000001,1,,x\n"
    cells = read_label_file(write_file(tmp_path, text), load_label_list()).labels
    assert cells[["chexpert", "other_answer"]].values.tolist() == [
        ["Lung Opacity", "1"],
        ["Pneumonia", "blank"],
    ]
