"""A release is a data set as Hugging Face and PhysioNet know one; the former's own library reads it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml


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
    records = (version / "restricted" / "RECORDS").read_text(encoding="utf-8").splitlines()
    assert records == (studies["subject_id"] + "/" + studies["study_id"]).tolist()
