"""Targets for training: labels as arrays, in the order of a library or a list, under a policy by its name.

The order of TorchXRayVision is that of `torchxrayvision.datasets.default_pathologies`, CheXpert's that of its
`train.csv`, MIMIC-CXR's that of `mimic-cxr-2.0.0-chexpert.csv`. The policies are those of the CheXpert paper
(arXiv 1901.07031, section 4.1). What a label says is decided in `labels.py`.
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

from lunguage_assets.errors import ConfigurationError, InputError, did_you_mean
from lunguage_assets.files import replace_file
from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.tables.released import CHEXPERT, LABELS, NO_FINDING
from lunguage_assets.workspace.parquet_rows import row_groups
from lunguage_assets.workspace.versions import current_version

ORDERS: dict[str, tuple[str, ...]] = {
    "torchxrayvision": (
        "Atelectasis", "Consolidation", "Infiltration", "Pneumothorax", "Edema", "Emphysema", "Fibrosis",
        "Effusion", "Pneumonia", "Pleural_Thickening", "Cardiomegaly", "Nodule", "Mass", "Hernia",
        "Lung Lesion", "Fracture", "Lung Opacity", "Enlarged Cardiomediastinum",
    ),
    "chexpert": (
        "No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion", "Edema",
        "Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion", "Pleural Other",
        "Fracture", "Support Devices",
    ),
    "mimic-cxr": CHEXPERT,
}  # fmt: skip
POLICIES = ("soft", "U-Ones", "U-Zeros", "U-Ignore", "estimate")

_OTHER_NAMES = {"effusion": "pleural effusion"}
_NO_LABEL = {
    "infiltration",
    "fibrosis",
    "pleural_thickening",
    "nodule",
    "mass",
    "hernia",
}
"""Names of TorchXRayVision that no label of ours is: their columns have no targets."""
_NEEDED = ("label", "chexpert", "source", "p", "p_low", "p_high", "p_source", "status")
_IMAGES = ("dicom_id", "path_to_image")
_CHEXPERT_STUDY = r"patient(\d+)\D+study(\d+)"

Floats = NDArray[np.float32]


class HasLabels(Protocol):
    """What `annotate` returns; this package does not import it, which lies above."""

    @property
    def labels(self) -> pd.DataFrame:
        """A frame of LABELS."""


@dataclass(frozen=True)
class Targets:
    """Labels of n studies or images as targets. NaN stands wherever there is none, never 0.

    Args:
        ids: (n,) text: ids of the studies, or of the images.
        p: (n, labels) float32: the target under the policy; under "soft" the probability that the finding is
            present.
        mask: (n, labels) bool: where there is a target.
        low: (n, labels) float32: the lower end of the 95% interval of the report's p, whatever the policy.
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
        """A row per id: `id`, and per label its target, `_low` and `_high`."""
        columns: dict[str, Any] = {"id": self.ids}
        for number, name in enumerate(self.labels):
            parts = {"": self.p, "_low": self.low, "_high": self.high}
            columns |= {name + end: values[:, number] for end, values in parts.items()}
        return pd.DataFrame(columns)

    def write(self, path: Path) -> None:
        """Write `frame` as Parquet, null where there is no target; policy and `implied` are its metadata."""
        table = pa.Table.from_pandas(self.frame(), preserve_index=False)
        table = table.replace_schema_metadata(
            {"policy": self.policy, "implied": str(self.implied).lower()}
        )
        replace_file(path, lambda stream: pq.write_table(table, stream))


def targets(
    release: str | PathLike[str] | pd.DataFrame | HasLabels,
    order: str | Sequence[str] = "chexpert",
    policy: str = "soft",
    implied: bool = False,
    images: str | PathLike[str] | None = None,
) -> Targets:
    """The labels of a release as targets of a classifier.

    Args:
        release: the folder of a version, or of a ranker (`release/panel`: its current version); or what
            `annotate` returns, or its `labels` alone.
        order: "torchxrayvision" (18 names), "chexpert", "mimic-cxr" (14 each), or names of labels, by this
            package's, CheXpert's or TorchXRayVision's name.
        policy: "soft": p. The others take 1 and 0 of what is stated without doubt, and of a hedge 1
            ("U-Ones"), 0 ("U-Zeros") or no target ("U-Ignore"); the denial of a kind ("no large effusion")
            is 0, and a hedged "No Finding" has no target, as in CheXpert's files. "estimate": p, and
            of what is implied the column `p_estimate`, which only older releases have.
        implied: whether what only a pathway implies is a target, too.
        images: a table of images, `dicom_id` and `study_id` (MIMIC-CXR's metadata) or `path_to_image`
            (CheXpert Plus), .csv or .csv.gz: a row per image of a study of the release, in its order.

    Raises:
        ConfigurationError: there is no release, or `order` or `policy` is unknown.
        InputError: `release` is none of these, its labels lack a column or hold a p that is no probability;
            the table of images has other columns, or no image of a study of the release.
    """
    implied = implied or policy == "estimate"
    if policy not in POLICIES:
        raise ConfigurationError(
            f"policy {policy!r}: expected one of {', '.join(POLICIES)}"
        )
    names: tuple[str, ...] = ()
    parts: list[_PartOfTargets] = []
    for labels in _label_parts(release):
        names, columns = _columns(labels, order)
        parts.append(_part_of_targets(labels, columns, len(names), policy, implied))
    values = np.concatenate([part.values for part in parts], axis=1)
    ids = np.concatenate([part.ids for part in parts])
    if images is not None:
        studies = pd.concat([part.studies for part in parts], ignore_index=True)
        study, named = _images(Path(images), studies)
        values, ids = values[:, study], np.array(named)
    mask = ~np.isnan(values[0])
    return Targets(
        np.asarray(ids, dtype=np.str_),
        values[0],
        mask,
        values[1],
        values[2],
        names,
        policy,
        implied,
    )


class _PartOfTargets(NamedTuple):
    """Targets of some studies: target, low and high by study and label; ids; `study_id` and `own` of each."""

    values: Floats
    ids: NDArray[Any]
    studies: pd.DataFrame


def _part_of_targets(
    labels: pd.DataFrame,
    columns: Mapping[str, int],
    width: int,
    policy: str,
    implied: bool,
) -> _PartOfTargets:
    """The targets of the studies of a frame of LABELS.

    Args:
        labels: all labels of these studies.
        columns: column of the targets by label.
        width: how many columns there are.
        policy: as for `targets`.
        implied: as for `targets`.
    """
    own = labels["study_id"].astype("str")
    if "source_id" in labels:  # what the delivery called it
        own = (
            labels["source_id"]
            .astype("str")
            .where(labels["source_id"].fillna("") != "", own)
        )
    rows, ids = pd.factorize(own.to_numpy())
    column = labels["label"].astype("str").map(columns)
    said = ["stated", "denied", "implied"] if implied else ["stated", "denied"]
    there = (
        column.notna()
        & labels["source"].isin(said)
        & (labels["p_source"] != "none").fillna(False)
    )
    at = rows[there], column[there].astype(int).to_numpy()
    known = labels[there]
    values = np.full((3, len(ids), width), np.nan, dtype=np.float32)
    for layer, layer_values in enumerate(
        (_under(policy, known), known["p_low"], known["p_high"])
    ):
        values[(layer, *at)] = layer_values.astype("float32")
    values[1:, np.isnan(values[0])] = np.nan
    studies = labels.assign(own=own)[["study_id", "own"]].drop_duplicates("own")
    return _PartOfTargets(values, np.asarray(ids), studies)


def _label_parts(
    release: str | PathLike[str] | pd.DataFrame | HasLabels,
) -> Iterator[pd.DataFrame]:
    """Frames of LABELS, each with all labels of its studies: one in memory, or of a release's file in parts,
    because the labels of an archive are many times as large as its targets.
    """
    labels = _given_labels(release)
    if isinstance(labels, pd.DataFrame):
        yield labels
        return
    waiting: pd.DataFrame | None = None
    for part in labels:
        rows = (
            part if waiting is None else pd.concat([waiting, part], ignore_index=True)
        )
        if not len(rows):
            continue
        # The last study may go on in the next part of the file.
        is_last = rows["study_id"] == rows["study_id"].iloc[-1]
        waiting = rows[is_last]
        if not is_last.all():
            yield rows[~is_last]
    yield pd.DataFrame(columns=["study_id", *_NEEDED]) if waiting is None else waiting


def _given_labels(
    release: str | PathLike[str] | pd.DataFrame | HasLabels,
) -> pd.DataFrame | Iterator[pd.DataFrame]:
    """A frame of LABELS from whatever `targets` takes, checked, or parts of those of a release's file."""
    labels = (
        release
        if isinstance(release, pd.DataFrame)
        else getattr(release, "labels", release)
    )
    if isinstance(labels, str | PathLike):
        return _released(Path(labels))
    if not isinstance(labels, pd.DataFrame):
        raise InputError(
            "release",
            f"a {type(release).__name__}",
            "the folder of a release, or what `annotate` returns",
            "Give such as 'release/panel', or lunguage_assets.annotate(frame).",
        )
    missing = [name for name in ("study_id", *_NEEDED) if name not in labels]
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
    _require_each_once(labels)
    return labels.copy()


def _require_each_once(labels: pd.DataFrame) -> None:
    """Refuse a label that a report has twice: of two reports of one id the last would win unseen."""
    named = [name for name in ("study_id", "source_id", "label") if name in labels]
    again = labels.duplicated(named)
    if again.any():
        raise InputError(
            "labels",
            "a label of one report twice",
            "each label of a report once",
            "Give every report an id of its own before frames are joined.",
            row=int(np.flatnonzero(again.to_numpy())[0]),
            column="label",
        )


def _require_probabilities(values: pd.Series, column: str) -> None:
    """Refuse a column in which something is neither missing nor a number between 0 and 1."""
    numbers = pd.to_numeric(values, errors="coerce")
    is_wrong = values.notna() & ~numbers.between(0.0, 1.0)
    if is_wrong.any():
        row = int(np.flatnonzero(is_wrong.to_numpy())[0])
        found = (
            str(numbers.iloc[row])
            if pd.notna(numbers.iloc[row])
            else "something that is no number"
        )
        raise InputError(
            "labels",
            found,
            "a probability between 0 and 1, or nothing",
            "Give the frame `labels` as `annotate` returns it.",
            row=row,
            column=column,
        )


def _under(policy: str, known: pd.DataFrame) -> pd.Series:
    """The targets of labels with p under a policy, NaN for none."""
    p = known["p"].astype("float64")
    if policy == "estimate":
        if "p_estimate" not in known:
            raise ConfigurationError(
                "policy 'estimate': this release has no column p_estimate; only older ones have it, where "
                "it was asked for. Use policy 'soft' with implied=True (--implied): the bound, which ranks as "
                "well (docs/method/implicit.md, section 4)."
            )
        return p.mask(known["source"] == "implied", known["p_estimate"])
    if policy == "soft":
        return p
    hedged = known["status"].isin(["tp", "tn"]) & (known["p_source"] != QUALIFIER)
    certain = known["status"].isin(["dp", "tp"]).astype("float64")
    value = {"U-Ones": 1.0, "U-Zeros": 0.0, "U-Ignore": np.nan}[policy]
    return certain.mask(hedged, value).mask(hedged & (known["chexpert"] == NO_FINDING))


def _columns(
    labels: pd.DataFrame, order: str | Sequence[str]
) -> tuple[tuple[str, ...], dict[str, int]]:
    """The names that were asked for, and the column of every label of ours."""
    if isinstance(order, str) and order.lower() not in ORDERS:
        known = ", ".join(ORDERS)
        raise ConfigurationError(
            f"order {order!r}: expected {known}, or a list of labels"
        )
    names = tuple(ORDERS[order.lower()] if isinstance(order, str) else order)
    named = labels[["chexpert", "label"]].drop_duplicates().to_numpy().tolist()
    ours = {name.lower(): both[1] for both in named for name in both if name}
    columns: dict[str, int] = {}
    for number, name in enumerate(names):
        label = ours.get(_OTHER_NAMES.get(name.lower(), name.lower()))
        if label in columns:
            raise ConfigurationError(
                f"order: {name!r} and {names[columns[label]]!r} are one label; name it once"
            )
        if label is not None:
            columns[label] = number
        elif len(labels) and name.lower() not in _NO_LABEL:
            raise ConfigurationError(
                f"order: no label {name!r}.{did_you_mean(name.lower(), ours)}"
            )
    return names, columns


def _released(folder: Path) -> Iterator[pd.DataFrame]:
    """LABELS of a version, or of the current one of a ranker, some rows at a time."""
    version = current_version(folder) or folder
    path = version / "restricted" / "labels.parquet"
    if not path.is_file():
        raise ConfigurationError(
            f"{folder}: found no labels; expected the folder of a version or of a ranker, such as "
            "release/panel. `lunguage run` writes one."
        )
    schema = pq.read_schema(path)
    if missing := [name for name in ("study_id", *_NEEDED) if name not in schema.names]:
        raise ConfigurationError(
            f"{path}: found no column {missing[0]!r}; expected the columns of {LABELS.name}"
        )
    wanted = [
        "study_id",
        *_NEEDED,
        *(name for name in ("source_id", "p_estimate") if name in schema.names),
    ]
    return (rows.to_pandas() for rows in row_groups(path, wanted))


def _images(path: Path, studies: pd.DataFrame) -> tuple[NDArray[Any], list[str]]:
    """Of every image of these studies (study_id, own), in the order of the file: the study's row, the id."""
    try:
        table = pd.read_csv(
            path, dtype="str", usecols=lambda name: name in (*_IMAGES, "study_id")
        )
    except (OSError, ValueError) as error:
        raise InputError(
            path.name, type(error).__name__, "a table of images", "Name the CSV."
        ) from None
    image = next((name for name in _IMAGES if name in table), None)
    if image is None or (image == "dicom_id" and "study_id" not in table):
        expected = "dicom_id and study_id, or path_to_image"
        raise InputError(
            path.name,
            "other columns",
            expected,
            "Name MIMIC-CXR's metadata or CheXpert Plus.",
        )
    if image == "dicom_id":
        of_image = "s" + table["study_id"].str.removeprefix("s")
        of_study = studies["study_id"].astype("str")
    else:
        of_image, of_study = (
            _chexpert_study(names) for names in (table[image], studies["own"])
        )
    place = dict(zip(of_study.tolist(), range(len(studies)), strict=True))
    row = of_image.map(place)
    found = row.notna()
    if not found.any():
        expected = "images of studies of the release"
        raise InputError(
            path.name,
            f"{len(table)} images of other studies",
            expected,
            "Name its own table.",
        )
    return row[found].to_numpy(np.int64), table.loc[found, image].tolist()


def _chexpert_study(names: pd.Series) -> pd.Series:
    """Patient and study of names such as `train/patient42142/study5/view1_frontal.jpg`."""
    found = names.astype("str").str.extract(_CHEXPERT_STUDY)
    return found[0] + "/" + found[1]
