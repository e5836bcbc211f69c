"""Turns labels into targets for training: arrays, in an order, under a policy.

The order of TorchXRayVision is that of `torchxrayvision.datasets.default_pathologies`,
CheXpert's that of its `train.csv`, MIMIC-CXR's that of `mimic-cxr-2.0.0-chexpert.csv`.
The policies are those of the CheXpert paper (arXiv 1901.07031, section 4.1). What a
label says is decided in `evidence.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lunguage_assets.corpus.whole_tables import read_table
from lunguage_assets.errors import ConfigurationError, InputError, did_you_mean
from lunguage_assets.files import replace_file
from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.tables.released import CHEXPERT, LABELS, NO_FINDING
from lunguage_assets.workspace.versions import current_version

ORDERS: dict[str, tuple[str, ...]] = {
    "torchxrayvision": (
        "Atelectasis", "Consolidation", "Infiltration", "Pneumothorax", "Edema",
        "Emphysema", "Fibrosis", "Effusion", "Pneumonia", "Pleural_Thickening",
        "Cardiomegaly", "Nodule", "Mass", "Hernia", "Lung Lesion", "Fracture",
        "Lung Opacity", "Enlarged Cardiomediastinum",
    ),
    "chexpert": (
        "No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity",
        "Lung Lesion", "Edema", "Consolidation", "Pneumonia", "Atelectasis",
        "Pneumothorax", "Pleural Effusion", "Pleural Other", "Fracture",
        "Support Devices",
    ),
    "mimic-cxr": CHEXPERT,
}  # fmt: skip
POLICIES = ("soft", "U-Ones", "U-Zeros", "U-Ignore")

_TARGET_OF_HEDGE = {"U-Ones": 1.0, "U-Zeros": 0.0, "U-Ignore": np.nan}
_LABEL_OF_NAME = {"effusion": "pleural effusion"}
"""A name of TorchXRayVision that neither list of labels has."""
_NO_LABEL = {
    "infiltration",
    "fibrosis",
    "pleural_thickening",
    "nodule",
    "mass",
    "hernia",
}
"""Names of TorchXRayVision that no label of ours is: their columns have no targets."""
_COLUMNS = ("label", "chexpert", "source", "p", "p_low", "p_high", "p_source", "status")
_CHEXPERT_STUDY = r"patient(\d+)\D+study(\d+)"

Floats = NDArray[np.float32]


class HasLabels(Protocol):
    """What `annotate` returns; this package does not import it, which lies above."""

    @property
    def labels(self) -> pd.DataFrame:
        """A frame of LABELS."""


Release = str | PathLike[str] | pd.DataFrame | HasLabels
"""Where labels are: a folder, a frame of LABELS, or what holds one."""


@dataclass(frozen=True)
class Targets:
    """Labels of n studies or images as targets.

    NaN stands wherever there is none, never 0.

    Args:
        ids: (n,) text: ids of the studies, or of the images.
        p: (n, labels) float32: the target under the policy; under "soft" the
            probability that the finding is present.
        mask: (n, labels) bool: where there is a target.
        low: (n, labels) float32: the lower end of the 95% interval of the report's p,
            whatever the policy.
        high: (n, labels) float32: its upper end.
        labels: names of the columns, in the order that was asked for.
        policy: what was done with p, one of `POLICIES`.
        implied: whether what only a pathway implies is a target, too; its p is a bound.
    """

    ids: NDArray[np.str_]
    p: Floats
    mask: NDArray[np.bool_]
    low: Floats
    high: Floats
    labels: tuple[str, ...]
    policy: str
    implied: bool

    def frame(self) -> pd.DataFrame:
        """Make a row per id: `id`, and per label its target, `_low` and `_high`."""
        # The ends stand beside their target, as in LABELS.
        columns: dict[str, Any] = {"id": self.ids}
        for number, name in enumerate(self.labels):
            columns[name] = self.p[:, number]
            columns[f"{name}_low"] = self.low[:, number]
            columns[f"{name}_high"] = self.high[:, number]
        return pd.DataFrame(columns)

    def write(self, path: Path) -> None:
        """Write `frame` as Parquet, null where there is no target.

        Policy and `implied` are its metadata.
        """
        table = pa.Table.from_pandas(self.frame(), preserve_index=False)
        metadata = {"policy": self.policy, "implied": str(self.implied).lower()}
        table = table.replace_schema_metadata(metadata)
        replace_file(path, lambda stream: pq.write_table(table, stream))


def targets(
    release: Release,
    order: str | Sequence[str] = "chexpert",
    policy: str = "soft",
    implied: bool = False,
    images: str | PathLike[str] | None = None,
    unresolved: bool = False,
) -> Targets:
    """Turn the labels of a release into targets of a classifier.

    Args:
        release: the folder of a version, or of a ranker (`release/panel`: its current
            version); or what `annotate` returns, or its `labels` alone.
        order: "torchxrayvision" (18 names), "chexpert", "mimic-cxr" (14 each), or names
            of labels, by this package's, CheXpert's or TorchXRayVision's name.
        policy: "soft": p. The others take 1 and 0 of what is stated without doubt, and
            of a hedge 1 ("U-Ones"), 0 ("U-Zeros") or no target ("U-Ignore"); the denial
            of a kind ("no large effusion") is 0, and a hedged "No Finding" has no
            target, as in CheXpert's files.
        implied: whether what only a pathway implies is a target, too.
        images: a table of images, `dicom_id` and `study_id` (MIMIC-CXR's metadata) or
            `path_to_image` (CheXpert Plus), .csv or .csv.gz: a row per image of a study
            of the release, in its order.
        unresolved: whether what the reader left open is a target, too, like a hedge.

    Raises:
        ConfigurationError: there is no release, or `order` or `policy` is unknown.
        InputError: `release` is none of these, its labels lack a column or hold a
            label twice; the table of images has other columns, or no image
            of a study of the release.
    """
    if policy not in POLICIES:
        raise ConfigurationError(
            f"policy {policy!r}: expected one of {', '.join(POLICIES)}"
        )
    labels = _labels_of(release)
    names, column_by_label = _columns(labels, order)
    ids = labels["study_id"].astype("str")
    if "source_id" in labels:
        # What the delivery called the study, where it had a name of its own.
        delivered = labels["source_id"].astype("str").fillna("")
        ids = delivered.where(delivered != "", ids)
    study_rows, distinct_ids = pd.factorize(ids)
    label_numbers, listed_labels = pd.factorize(labels["label"])
    column_of_number = [column_by_label.get(name, -1) for name in listed_labels]
    columns = np.array(column_of_number, dtype=np.int64)[label_numbers]
    sources = ["stated", "denied"]
    sources += ["implied"] * implied + ["unresolved"] * unresolved
    # A p of source "none" says only that nothing is known of the certainty.
    has_p = ~labels["p_source"].isin(["none"])
    is_target = (columns >= 0) & labels["source"].isin(sources) & has_p
    targeted = labels[is_target]
    cells = study_rows[is_target], columns[is_target]
    # NaN is no target: a label that is not mentioned is not absent (docs/reports.md).
    values = np.full((3, len(distinct_ids), len(names)), np.nan, dtype=np.float32)
    values[0][cells] = _targets_under(policy, targeted)
    values[1][cells] = targeted["p_low"].astype("float32")
    values[2][cells] = targeted["p_high"].astype("float32")
    # A policy may leave a hedge without a target; it has no interval then.
    values[1:, np.isnan(values[0])] = np.nan
    output_ids = np.asarray(distinct_ids, dtype=np.str_)
    if images is not None:
        studies = labels.assign(id=ids)[["study_id", "id"]].drop_duplicates("id")
        # An image has the labels of its study.
        image_rows, output_ids = _images(Path(images), studies)
        values = values[:, image_rows]
    return Targets(
        ids=output_ids,
        p=values[0],
        mask=~np.isnan(values[0]),
        low=values[1],
        high=values[2],
        labels=names,
        policy=policy,
        implied=implied,
    )


def _labels_of(
    release: Release,
) -> pd.DataFrame:
    """Read LABELS of a release, or check those that are in memory."""
    if isinstance(release, str | PathLike):
        return _released(Path(release))
    labels = getattr(release, "labels", release)
    remedy = "Give the folder of a release, or the frame `labels` of `annotate`."
    if not isinstance(labels, pd.DataFrame):
        type_name = f"a {type(labels).__name__}"
        raise InputError("release", type_name, "the folder of a release", remedy)
    for column in ("study_id", *_COLUMNS):
        if column not in labels:
            expected = f"the columns of {LABELS.name}"
            raise InputError("labels", "no column", expected, remedy, column=column)
    # Of two reports of one id the last would win unseen.
    key = [name for name in ("study_id", "source_id", "label") if name in labels]
    is_repeated = labels.duplicated(key).to_numpy()
    if is_repeated.any():
        found = "a label of one report twice"
        expected = "each label of a report once"
        row = int(is_repeated.argmax())
        raise InputError("labels", found, expected, remedy, row=row, column="label")
    return labels


def _targets_under(policy: str, labels: pd.DataFrame) -> pd.Series:
    """Give labels with p their targets under a policy; NaN: none."""
    p = labels["p"].astype("float64")
    if policy == "soft":
        return p
    # The denial of a kind leaves nothing open: "no large effusion" is 0, as in
    # CheXpert's files.
    is_tentative = labels["status"].isin(["tp", "tn"])
    is_hedged = is_tentative & (labels["p_source"] != QUALIFIER)
    is_no_finding = labels["chexpert"] == NO_FINDING
    targets_of_certain = labels["status"].isin(["dp", "tp"]).astype("float64")
    hedges_replaced = targets_of_certain.mask(is_hedged, _TARGET_OF_HEDGE[policy])
    # Their files have no hedged "No Finding", so there is no rule for one.
    return hedges_replaced.mask(is_hedged & is_no_finding)


def _columns(
    labels: pd.DataFrame, order: str | Sequence[str]
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Find the names that were asked for, and the column of every label of ours."""
    if not isinstance(order, str):
        names = tuple(order)
    elif order.lower() in ORDERS:
        names = ORDERS[order.lower()]
    else:
        raise ConfigurationError(
            f"order {order!r}: expected {', '.join(ORDERS)}, or a list of labels"
        )
    label_by_name: dict[str, str] = {}
    both_names = labels[["chexpert", "label"]].drop_duplicates()
    for chexpert, label in both_names.itertuples(index=False):
        label_by_name |= {chexpert.lower(): label, label.lower(): label}
    column_by_label: dict[str, int] = {}
    for column, name in enumerate(names):
        lower_name = name.lower()
        label = label_by_name.get(_LABEL_OF_NAME.get(lower_name, lower_name), "")
        if label in column_by_label:
            first_name = names[column_by_label[label]]
            raise ConfigurationError(
                f"order: {name!r} and {first_name!r} are one label; name it once"
            )
        if label:
            column_by_label[label] = column
        # A release without a study has no names to compare with.
        elif len(labels) and lower_name not in _NO_LABEL:
            hint = did_you_mean(lower_name, label_by_name)
            raise ConfigurationError(
                f"order: no label {name!r}; expected some of "
                f"{', '.join(label_by_name)}.{hint}"
            )
    return names, column_by_label


def _released(folder: Path) -> pd.DataFrame:
    """Read LABELS of a version, or of the current one of a ranker."""
    version = current_version(folder) or folder
    path = version / "restricted" / "labels.parquet"
    if not path.is_file():
        raise ConfigurationError(
            f"{folder}: found no labels; expected the folder of a version or of a "
            "ranker, such as release/panel. `lunguage run` writes one."
        )
    columns = ["study_id", "source_id", *_COLUMNS]
    # Words by number: an archive has millions of rows, and few different words.
    with pq.ParquetFile(path, read_dictionary=columns, pre_buffer=False) as file:
        rows: pd.DataFrame = file.read(columns, use_threads=False).to_pandas()
    return rows


def _images(
    path: Path, studies: pd.DataFrame
) -> tuple[NDArray[np.integer[Any]], NDArray[np.str_]]:
    """Read the images of studies from a table of MIMIC-CXR or CheXpert Plus.

    Args:
        path: of the table.
        studies: `study_id` and `id` of each study, row by row.

    Returns:
        (images,) the row of each image's study, and the ids of the images, in the
        order of the table.
    """
    table = read_table(path)
    if "dicom_id" in table and "study_id" in table:
        # MIMIC-CXR's metadata write the id without its letter; either form is read.
        image_ids = table["dicom_id"]
        study_of_image = "s" + table["study_id"].str.removeprefix("s")
        study_of_row = studies["study_id"].astype("str")
    elif "path_to_image" in table and "dicom_id" not in table:
        image_ids = table["path_to_image"]
        study_of_image = _chexpert_study(image_ids)
        study_of_row = _chexpert_study(studies["id"])
    else:
        raise InputError(
            path.name,
            "other columns",
            "dicom_id and study_id, or path_to_image",
            "Name MIMIC-CXR's metadata or CheXpert Plus.",
        )
    row_by_study = {study: row for row, study in enumerate(study_of_row)}
    # An image of another study has no row; nor has one without a study in its name.
    rows = np.array([row_by_study.get(study, -1) for study in study_of_image])
    is_of_release = (rows >= 0) & study_of_image.notna()
    if not is_of_release.any():
        raise InputError(
            path.name,
            f"{len(table)} images of other studies",
            "images of studies of the release",
            "Name its own table.",
        )
    return rows[is_of_release], image_ids[is_of_release].to_numpy(dtype=np.str_)


def _chexpert_study(names: pd.Series) -> pd.Series:
    """Take patient and study of `train/patient42142/study5/view1_frontal.jpg`."""
    numbers = names.astype("str").str.extract(_CHEXPERT_STUDY)
    return numbers[0] + "/" + numbers[1]
