"""Turns labels into targets for training: arrays, in an order, under a policy.

The order of TorchXRayVision is that of `torchxrayvision.datasets.default_pathologies`,
CheXpert's that of its `train.csv`, MIMIC-CXR's that of `mimic-cxr-2.0.0-chexpert.csv`.
The policies are those of the CheXpert paper (arXiv 1901.07031, section 4.1). What a
label says is decided in `evidence.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lunguage_assets.corpus.whole_tables import read_table
from lunguage_assets.errors import (
    ConfigurationError,
    InputError,
    damaged,
    did_you_mean,
)
from lunguage_assets.files import replace_file
from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.tables.released import CHEXPERT, LABELS, NO_FINDING
from lunguage_assets.workspace.parquet_rows import row_groups
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
_IMAGE_COLUMNS = ("dicom_id", "path_to_image")
_CHEXPERT_STUDY = r"patient(\d+)\D+study(\d+)"

Floats = NDArray[np.float32]


class HasLabels(Protocol):
    """What `annotate` returns; this package does not import it, which lies above."""

    @property
    def labels(self) -> pd.DataFrame:
        """A frame of LABELS."""


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
    release: str | PathLike[str] | pd.DataFrame | HasLabels,
    order: str | Sequence[str] = "chexpert",
    policy: str = "soft",
    implied: bool = False,
    images: str | PathLike[str] | None = None,
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

    Raises:
        ConfigurationError: there is no release, or `order` or `policy` is unknown.
        InputError: `release` is none of these, its labels lack a column or hold a p
            that is no probability; the table of images has other columns, or no image
            of a study of the release.
    """
    if policy not in POLICIES:
        raise ConfigurationError(
            f"policy {policy!r}: expected one of {', '.join(POLICIES)}"
        )
    names: tuple[str, ...] = ()
    parts: list[_PartOfTargets] = []
    for labels in _label_parts(release):
        names, column_by_label = _columns(labels, order)
        part = _part_of_targets(labels, column_by_label, len(names), policy, implied)
        parts.append(part)
    values = np.concatenate([part.values for part in parts], axis=1)
    studies = pd.concat([part.studies for part in parts], ignore_index=True)
    ids = studies["id"].to_numpy()
    if images is not None:
        study_rows, image_ids = _images(Path(images), studies)
        # An image has the labels of its study.
        values = values[:, study_rows]
        ids = np.array(image_ids)
    return Targets(
        ids=np.asarray(ids, dtype=np.str_),
        p=values[0],
        mask=~np.isnan(values[0]),
        low=values[1],
        high=values[2],
        labels=names,
        policy=policy,
        implied=implied,
    )


class _PartOfTargets(NamedTuple):
    """Targets of some studies.

    Attributes:
        values: (3, studies, labels): target, lower and upper end.
        studies: `study_id` and `id`, what the delivery called it, of each study.
    """

    values: Floats
    studies: pd.DataFrame


def _part_of_targets(
    labels: pd.DataFrame,
    column_by_label: Mapping[str, int],
    width: int,
    policy: str,
    implied: bool,
) -> _PartOfTargets:
    """Make the targets of the studies of a frame of LABELS.

    Args:
        labels: all labels of these studies.
        column_by_label: of the targets.
        width: how many columns there are.
        policy: as for `targets`.
        implied: as for `targets`.
    """
    ids = labels["study_id"].astype("str")
    if "source_id" in labels:
        # What the delivery called the study, where it had a name of its own.
        delivered = labels["source_id"]
        is_named = delivered.fillna("") != ""
        ids = delivered.astype("str").where(is_named, ids)
    studies = labels.assign(id=ids)[["study_id", "id"]].drop_duplicates("id")
    study_rows = pd.factorize(ids.to_numpy())[0]
    columns = labels["label"].astype("str").map(column_by_label)
    sources = ["stated", "denied"]
    if implied:
        sources.append("implied")
    # A p of source "none" says only that nothing is known of the certainty.
    has_p = (labels["p_source"] != "none").fillna(False)
    is_target = columns.notna() & labels["source"].isin(sources) & has_p
    target_labels = labels[is_target]
    rows = study_rows[is_target]
    target_columns = columns[is_target].astype(int).to_numpy()
    # NaN is no target: a label that is not mentioned is not absent (docs/reports.md).
    values = np.full((3, len(studies), width), np.nan, dtype=np.float32)
    layers = (
        _targets_under(policy, target_labels),
        target_labels["p_low"],
        target_labels["p_high"],
    )
    for layer, layer_values in enumerate(layers):
        values[layer, rows, target_columns] = layer_values.astype("float32")
    # A policy may leave a hedge without a target; it has no interval then.
    values[1:, np.isnan(values[0])] = np.nan
    return _PartOfTargets(values, studies)


def _label_parts(
    release: str | PathLike[str] | pd.DataFrame | HasLabels,
) -> Iterator[pd.DataFrame]:
    """Yield frames of LABELS, each with all labels of its studies.

    One that is in memory, or parts of a release's file, because the labels of an
    archive are many times as large as its targets.
    """
    labels = release
    if not isinstance(release, pd.DataFrame):
        labels = getattr(release, "labels", release)
    if not isinstance(labels, str | PathLike):
        yield _checked_labels(labels)
        return
    unfinished = pd.DataFrame(columns=["study_id", *_COLUMNS])
    for rows in _released(Path(labels)):
        if len(unfinished):
            rows = pd.concat([unfinished, rows], ignore_index=True)
        if not len(rows):
            continue
        # The last study may go on in the next part of the file.
        is_last = rows["study_id"] == rows["study_id"].iloc[-1]
        unfinished = rows[is_last]
        if not is_last.all():
            yield rows[~is_last]
    # Without a study, too: the order is checked all the same.
    yield unfinished


def _checked_labels(labels: object) -> pd.DataFrame:
    """Check that a frame is one of LABELS, and copy it."""
    if not isinstance(labels, pd.DataFrame):
        raise InputError(
            "release",
            f"a {type(labels).__name__}",
            "the folder of a release, or what `annotate` returns",
            "Give such as 'release/panel', or lunguage_assets.annotate(frame).",
        )
    missing = [name for name in ("study_id", *_COLUMNS) if name not in labels]
    if missing:
        raise InputError(
            "labels",
            f"no column {missing[0]!r}",
            f"the columns of {LABELS.name}",
            "Give the frame `labels` as `annotate` returns it.",
            column=missing[0],
        )
    for column in ("p", "p_low", "p_high"):
        _require_probabilities(labels[column], column)
    # Of two reports of one id the last would win unseen.
    key = [name for name in ("study_id", "source_id", "label") if name in labels]
    is_repeated = labels.duplicated(key)
    if is_repeated.any():
        raise InputError(
            "labels",
            "a label of one report twice",
            "each label of a report once",
            "Give every report an id of its own before frames are joined.",
            row=int(np.flatnonzero(is_repeated.to_numpy())[0]),
            column="label",
        )
    return labels.copy()


def _require_probabilities(values: pd.Series, column: str) -> None:
    """Refuse a column with something that is neither missing nor a probability."""
    numbers = pd.to_numeric(values, errors="coerce")
    is_wrong = values.notna() & ~numbers.between(0.0, 1.0)
    if not is_wrong.any():
        return
    row = int(np.flatnonzero(is_wrong.to_numpy())[0])
    found = "something that is no number"
    if pd.notna(numbers.iloc[row]):
        found = str(numbers.iloc[row])
    raise InputError(
        "labels",
        found,
        "a probability between 0 and 1, or nothing",
        "Give the frame `labels` as `annotate` returns it.",
        row=row,
        column=column,
    )


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
    label_by_name = {}
    both_names = labels[["chexpert", "label"]].drop_duplicates()
    for chexpert, label in both_names.to_numpy().tolist():
        if chexpert:
            label_by_name[chexpert.lower()] = label
        label_by_name[label.lower()] = label
    column_by_label: dict[str, int] = {}
    for column, name in enumerate(names):
        lower_name = name.lower()
        listed_name = _LABEL_OF_NAME.get(lower_name, lower_name)
        label = label_by_name.get(listed_name)
        if label in column_by_label:
            first_name = names[column_by_label[label]]
            raise ConfigurationError(
                f"order: {name!r} and {first_name!r} are one label; name it once"
            )
        if label is not None:
            column_by_label[label] = column
        # A release without a study has no names to compare with.
        elif len(labels) and lower_name not in _NO_LABEL:
            hint = did_you_mean(lower_name, label_by_name)
            raise ConfigurationError(f"order: no label {name!r}.{hint}")
    return names, column_by_label


def _released(folder: Path) -> Iterator[pd.DataFrame]:
    """Read LABELS of a version, or of the current one of a ranker, part by part."""
    version = current_version(folder) or folder
    path = version / "restricted" / "labels.parquet"
    if not path.is_file():
        raise ConfigurationError(
            f"{folder}: found no labels; expected the folder of a version or of a "
            "ranker, such as release/panel. `lunguage run` writes one."
        )
    try:
        columns = pq.read_schema(path).names
    except pa.ArrowInvalid as error:
        remedy = "Restore the release from a backup, or run again with another --out."
        raise damaged(
            str(path), "damaged data", error, "a whole Parquet file", remedy
        ) from None
    wanted = ["study_id", "source_id", *_COLUMNS]
    for column in wanted:
        if column not in columns:
            raise ConfigurationError(
                f"{path}: found no column {column!r}; expected the columns of "
                f"{LABELS.name}"
            )
    for rows in row_groups(path, wanted):
        yield rows.to_pandas()


def _images(
    path: Path, studies: pd.DataFrame
) -> tuple[NDArray[np.integer[Any]], list[str]]:
    """Read the images of studies from a table of MIMIC-CXR or CheXpert Plus.

    Args:
        path: of the table.
        studies: `study_id` and `id` of each study, row by row.

    Returns:
        (images,) the row of each image's study, and the ids of the images, in the
        order of the table.
    """
    table = read_table(path, (*_IMAGE_COLUMNS, "study_id"))
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
    row_by_study = {study: row for row, study in enumerate(study_of_row.tolist())}
    # An image of another study has no row.
    rows = study_of_image.map(row_by_study)
    is_of_release = rows.notna()
    if not is_of_release.any():
        raise InputError(
            path.name,
            f"{len(table)} images of other studies",
            "images of studies of the release",
            "Name its own table.",
        )
    study_rows = rows[is_of_release].to_numpy(np.int64)
    return study_rows, image_ids[is_of_release].tolist()


def _chexpert_study(names: pd.Series) -> pd.Series:
    """Take patient and study of `train/patient42142/study5/view1_frontal.jpg`."""
    numbers = names.astype("str").str.extract(_CHEXPERT_STUDY)
    return numbers[0] + "/" + numbers[1]
