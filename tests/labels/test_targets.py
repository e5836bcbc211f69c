"""Labels as targets: in the order and under the policy that was asked for, and never a
0 for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import lunguage_assets
from lunguage_assets.errors import ConfigurationError, InputError
from lunguage_assets.labels.targets import ORDERS, POLICIES
from lunguage_assets.tables.released import CHEXPERT

REPORTS = {
    "certain": "FINDINGS: There is a pleural effusion. No pneumothorax.",
    "hedged": "FINDINGS: Possible pneumonia. No large pleural effusion.",
    "both": "FINDINGS: There is a pneumothorax. No pneumothorax.",
    "silent": "FINDINGS: Portable film.",
}


@pytest.fixture(scope="module")
def labels() -> pd.DataFrame:
    frame = pd.DataFrame({"study_id": list(REPORTS), "report": list(REPORTS.values())})
    return lunguage_assets.annotate(frame).labels


def cell(
    labels: pd.DataFrame, study: str, label: str, policy: str = "soft", **options: Any
) -> float:
    targets = lunguage_assets.targets(labels, [label], policy, **options)
    return float(targets.p[targets.ids.tolist().index(study), 0])


def test_unmentioned_and_contradictory_labels_are_masked_and_not_zero(
    labels: pd.DataFrame,
) -> None:
    targets = lunguage_assets.targets(labels, ["pneumothorax", "fracture"])
    assert targets.ids.tolist() == list(REPORTS)
    assert np.argwhere(targets.mask).tolist() == [[0, 0]]
    for values in (targets.p, targets.low, targets.high):
        assert np.array_equal(np.isnan(values), ~targets.mask)
    assert targets.p[0, 0] == 0.0


def test_a_hedge_without_information_is_masked(labels: pd.DataFrame) -> None:
    source = labels["p_source"].mask(labels["status"] == "tp", "none")
    silenced = labels.assign(p_source=source)
    assert np.isnan(cell(silenced, "hedged", "pneumonia"))


def test_what_was_not_understood_is_a_target_only_when_it_is_asked_for(
    labels: pd.DataFrame,
) -> None:
    source = labels["source"].mask(labels["status"] == "tp", "unresolved")
    unread = labels.assign(source=source)
    assert np.isnan(cell(unread, "hedged", "pneumonia"))
    p = cell(labels, "hedged", "pneumonia")
    assert cell(unread, "hedged", "pneumonia", unresolved=True) == p
    assert cell(unread, "hedged", "pneumonia", "U-Ones", unresolved=True) == 1.0


@pytest.mark.parametrize("policy", POLICIES[1:4])
def test_a_hedged_no_finding_is_a_target_of_the_soft_policy_alone(
    labels: pd.DataFrame, policy: str
) -> None:
    assert np.isnan(cell(labels, "hedged", "No Finding", policy))
    assert 0.0 < cell(labels, "hedged", "No Finding") < 1.0


def test_implied_labels_are_targets_only_when_they_are_asked_for(
    labels: pd.DataFrame,
) -> None:
    assert np.isnan(cell(labels, "hedged", "lung opacity"))
    assert cell(labels, "hedged", "lung opacity", implied=True) > 0.2


def test_columns_stand_in_the_order_of_the_library(labels: pd.DataFrame) -> None:
    targets = lunguage_assets.targets(labels, "torchxrayvision")
    assert targets.labels[7] == "Effusion"
    assert targets.p[0, 7] == 1.0
    no_labels = [targets.labels.index(name) for name in ("Hernia", "Mass")]
    assert not targets.mask[:, no_labels].any()
    assert len(targets.labels) == 18
    assert set(ORDERS["chexpert"]) == set(CHEXPERT)


@pytest.mark.parametrize(("options", "message"), [
    ({"order": ["pneumonia", "Pneumonia"]}, "name it once"),
    ({"order": ["pnuemonia"]}, "Did you mean 'pneumonia'"),
    ({"order": "nih"}, "expected torchxrayvision, chexpert"),
    ({"policy": "u-one"}, "expected one of soft, U-Ones"),
])  # fmt: skip
def test_what_is_unknown_is_named(
    labels: pd.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        lunguage_assets.targets(labels, **options)


@pytest.mark.lengthy
def test_every_image_of_a_study_has_the_targets_of_the_study(
    version: Path, tmp_path: Path
) -> None:
    studies = lunguage_assets.targets(version.parent, "mimic-cxr")
    delivered_ids = [study.removeprefix("s") for study in studies.ids[[1, 0, 1]]]
    file = tmp_path / "metadata.csv.gz"
    images = {"dicom_id": ["b1", "a", "b2", "x"], "study_id": [*delivered_ids, "1"]}
    pd.DataFrame(images).to_csv(file, index=False)
    targets = lunguage_assets.targets(version, "mimic-cxr", images=file)
    assert targets.ids.tolist() == ["b1", "a", "b2"]
    for name in ("p", "mask", "low", "high"):
        of_studies = getattr(studies, name)[[1, 0, 1]]
        assert np.array_equal(getattr(targets, name), of_studies, equal_nan=True)


def test_images_of_chexpert_plus_are_found_by_patient_and_study(
    labels: pd.DataFrame, tmp_path: Path
) -> None:
    patient = "patient00007"
    ids = {"certain": f"{patient}/study2", "hedged": f"{patient}/study12"}
    source = labels["study_id"].map(ids).fillna(labels["study_id"])
    paths = [f"train/{patient}/study{n}/view1_frontal.jpg" for n in (12, 2, 1)]
    plus = pd.DataFrame({"path_to_image": paths, "report": ""})
    plus.to_csv(tmp_path / "plus.csv", index=False)
    delivered = labels.assign(source_id=source)
    file = tmp_path / "plus.csv"
    targets = lunguage_assets.targets(delivered, ["effusion"], images=file)
    assert targets.ids.tolist() == paths[:2]
    assert targets.p[1, 0] == 1.0


def test_a_table_of_no_images_of_the_release_is_refused(
    labels: pd.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "images.csv").write_text("dicom_id,study_id\na,1\n")
    with pytest.raises(InputError, match="1 images of other studies"):
        lunguage_assets.targets(labels, images=tmp_path / "images.csv")
    (tmp_path / "images.csv").write_text("dicom,study\na,1\n")
    expected = "expected dicom_id and study_id, or path_to_image"
    with pytest.raises(InputError, match=expected):
        lunguage_assets.targets(labels, images=tmp_path / "images.csv")


def test_the_parquet_says_the_same_with_null_for_no_target(
    version: Path, tmp_path: Path
) -> None:
    targets = lunguage_assets.targets(version, policy="U-Ignore")
    targets.write(tmp_path / "targets.parquet")
    table = pq.read_table(tmp_path / "targets.parquet")
    assert table.schema.metadata[b"policy"] == b"U-Ignore"
    is_null = ~targets.mask[:, targets.labels.index("Fracture")]
    assert table.column("Fracture").null_count == is_null.sum()
    stored = table.to_pandas()
    p = stored[list(targets.labels)].to_numpy()
    assert np.array_equal(p, targets.p, equal_nan=True)
    assert stored["id"].tolist() == targets.ids.tolist()


def test_a_folder_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="found no labels"):
        lunguage_assets.targets(tmp_path)


@pytest.mark.parametrize(("wrong", "message"), [
    (lambda _: {}, "release: found a dict; expected the folder"),
    (lambda labels: labels.drop(columns="p_low"), "column 'p_low': found no column"),
    (lambda labels: pd.concat([labels, labels]), "column 'label': found a label of"),
])  # fmt: skip
def test_labels_that_are_none_are_refused_by_row_and_column(
    labels: pd.DataFrame, wrong: Callable[[pd.DataFrame], Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        lunguage_assets.targets(wrong(labels))
