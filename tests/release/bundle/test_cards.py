"""A release is a data set as Hugging Face and PhysioNet know one; the former's own library reads it."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml
from small_release import Made

from lunguage_assets.errors import InputError
from lunguage_assets.release.bundle.bundle import write_bundle
from lunguage_assets.release.bundle.studies import read_split, studies_frame
from lunguage_assets.tables import SET_ASIDE


def header(version: Path) -> dict[str, object]:
    _, block, _ = (version / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    read = yaml.safe_load(block)
    assert isinstance(read, dict)
    return read


def test_hugging_face_loads_the_folder(
    version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra dev (datasets)")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    rows = pd.read_parquet(version / "restricted" / "Lunguage_plus_plus.parquet")
    unnamed = datasets.load_dataset(str(version), cache_dir=str(tmp_path))["train"]
    assert unnamed["finding_id"][:] == rows["finding_id"].tolist()
    labels = datasets.load_dataset(str(version), "labels", cache_dir=str(tmp_path))["train"]
    assert labels.num_rows == len(pd.read_parquet(version / "restricted" / "labels.parquet"))
    studies = datasets.load_dataset(str(version), "studies", cache_dir=str(tmp_path))["train"]
    assert studies.features["study_number"].dtype == "int64"


def test_only_invented_reports_are_given_a_licence(version: Path, of_patients: Path) -> None:
    assert header(version)["license"] == "mit"
    assert header(of_patients)["license"] == "other"
    assert "No licence is granted" in (of_patients / "LICENSE").read_text(encoding="utf-8")


def test_every_study_is_recorded_once_with_its_identifiers_as_numbers(version: Path) -> None:
    studies = pd.read_csv(version / "restricted" / "studies.csv")
    accounts = pd.read_csv(version / "restricted" / "accounting.csv")
    assert sorted(studies["study_id"]) == sorted(accounts["study_id"])
    assert ("s" + studies["study_number"].astype(str)).equals(studies["study_id"])
    assert ("p" + studies["subject_number"].astype(str)).equals(studies["subject_id"])
    assert studies["split"].isna().all()
    records = (version / "restricted" / "RECORDS").read_text(encoding="utf-8").splitlines()
    assert records == (studies["subject_id"] + "/" + studies["study_id"]).tolist()


SPLIT = "dicom_id,study_id,subject_id,split\na,50000001,10000001,train\nb,50000001,10000001,train\nc,50000002,10000001,test\n"  # noqa: E501


def test_the_official_split_is_joined_by_study(tmp_path: Path) -> None:
    path = tmp_path / "mimic-cxr-2.0.0-split.csv.gz"
    path.write_bytes(gzip.compress(SPLIT.encode()))
    split = read_split(path)
    assert split.to_dict() == {50000001: "train", 50000002: "test"}
    studies = ["s50000002", "s50000001", "s50000003"]
    accounts = pd.DataFrame({"study_id": studies, "report_batch": "b", "rows_out": [0, 1, 2]})
    reports = pd.DataFrame({"study_id": studies, "subject_id": "p10000001", "view_information": ""})
    frame = studies_frame(accounts, reports, SET_ASIDE.frame(), split)
    assert frame["study_number"].tolist() == [50000001, 50000002, 50000003]
    assert frame["split"].tolist()[:2] == ["train", "test"]
    assert frame["split"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        (SPLIT.replace("c,50000002,10000001,test", "c,50000002,10000001,valid"), 3, "split"),
        (SPLIT.replace("50000002", "5"), 3, "study_id"),
        (SPLIT.replace("c,50000002,10000001,test", "c,50000001,10000001,test"), 1, "split"),
        ("study,part\n50000001,train\n", None, None),
    ],
    ids=["no part", "no study", "two parts", "no columns"],
)
def test_a_file_that_is_no_split_is_refused_by_row_and_column(
    text: str, row: int | None, column: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "mimic-cxr-2.0.0-split.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_split(path)
    assert (refused.value.row, refused.value.column) == (row, column)
    assert "mimic-cxr-2.0.0-split.csv" in str(refused.value)


def test_a_split_that_arrives_makes_the_release_stale(invented: Made) -> None:
    from lunguage_assets.current.recipes import RECIPES

    assert "split" in RECIPES["release"].reads


@pytest.mark.usefixtures("unreported")
def test_the_split_is_part_of_what_a_version_is(invented: Made, begun: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(begun, tmp_path / "panel")
    studies = folder / "v1" / "restricted" / "studies.csv"
    study = int(pd.read_csv(studies)["study_number"].iloc[0])
    path = tmp_path / "mimic-cxr-2.0.0-split.csv"
    path.write_text(f"study_id,split\n{study},validate\n")
    origin = invented.origin()
    origin = replace(origin, files={**origin.files, "split": ("home", path)})
    second = write_bundle(invented.release("first"), folder, origin, {}, invented.examples)
    assert second.is_new
    listed = pd.read_csv(second.folder / "restricted" / "studies.csv").set_index("study_number")
    assert listed["split"].dropna().to_dict() == {study: "validate"}
