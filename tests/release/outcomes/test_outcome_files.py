"""Files of outcomes and labels: what is read, and how a bad one is refused."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

import pytest

from lunguage_assets.errors import InputError
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.release.outcomes.files import read_label_file, read_outcomes
from lunguage_assets.tables.labels import CHEXPERT


@lru_cache(maxsize=1)
def listed() -> LabelList:
    return load_label_list()


def written(folder: Path, text: str, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_outcomes_name_labels_as_either_list_does_and_studies_with_or_without_their_letter(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "study_id,label,outcome\n50000002,Edema,1.0\ns50000001,pulmonary edema,0\n")
    assert read_outcomes(path, listed()).values.tolist() == [
        ["s50000001", "pulmonary edema", 0],
        ["s50000002", "pulmonary edema", 1],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study_id,label\n50000001,edema\n", "no column ['outcome']"),
        ("study_id,label,outcome\n50000001,Edema,2\n", "row 1, column 'outcome': found 2; expected 0 or 1"),
        ("study_id,label,outcome\n50000001,Edema,yes\n", "row 1, column 'outcome': found text"),
        ("study_id,label,outcome\n50000001,Edema,1\n50000002,gout,1\n", "row 2, column 'label': found text"),
        ("study_id,label,outcome\nJane,Edema,1\n", "row 1, column 'study_id': found text"),
        (
            "study_id,label,outcome\n50000001,Edema,1\ns50000001,pulmonary edema,0\n",
            "row 2: found a study and label",
        ),
        ("study_id,label,outcome\n50000001,Edema,1,2\n", "row 1: found 4 values"),
        ("study_id,label,outcome\n50000001,Edema\n", "row 1: found 2 values"),
        ("", "unreadable file"),
    ],
)
def test_a_bad_file_of_outcomes_is_refused_by_row_and_column_and_no_text_of_it_is_quoted(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as refused:
        read_outcomes(written(tmp_path, text), listed())
    assert message in str(refused.value)
    assert "Jane" not in str(refused.value)
    assert "gout" not in str(refused.value)


def test_a_file_of_mimic_is_read_also_compressed(tmp_path: Path) -> None:
    head = ",".join(("subject_id", "study_id", *CHEXPERT))
    text = f"{head}\n10000001,50000001,1.0,0.0,-1.0{',' * 11}\n"
    path = tmp_path / "mimic-cxr-2.0.0-negbio.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    found = read_label_file(path, listed())
    said = dict(zip(found.cells["chexpert"], found.cells["said"], strict=True))
    assert (found.studies, found.ignored) == (1, ())
    assert [said[name] for name in CHEXPERT[:4]] == ["1", "0", "-1", "blank"]
    assert set(said) == set(CHEXPERT)


def test_the_radiologists_file_has_no_patients_fewer_labels_and_a_name_of_its_own(tmp_path: Path) -> None:
    found = read_label_file(
        written(tmp_path, "study_id,Airspace Opacity,Pneumonia,reader\n50000001,1,,x\n"), listed()
    )
    assert found.cells[["chexpert", "said"]].values.tolist() == [
        ["Lung Opacity", "1"],
        ["Pneumonia", "blank"],
    ]
    assert found.ignored == ("reader",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study,Pneumonia\n50000001,1\n", "no column 'study_id'"),
        ("study_id,reader\n50000001,1\n", "no column of a label"),
        ("study_id,Lung Opacity,Airspace Opacity\n50000001,1,1\n", "two columns of one label"),
        ("study_id,Pneumonia\n50000001,1\n50000001,0\n", "row 2, column 'study_id'"),
        ("study_id,Pneumonia\n50000001,3\n", "row 1, column 'Pneumonia': found 3; expected 1, 0, -1"),
    ],
)
def test_a_bad_file_of_labels_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match="expected") as refused:
        read_label_file(written(tmp_path, text), listed())
    assert message in str(refused.value)
