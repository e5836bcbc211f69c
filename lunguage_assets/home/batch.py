"""A registered batch: its record, and how its files come into the home, as a whole or not at all."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from lunguage_assets.corpus.delivery import DECLARATION, METADATA, Delivery, DeliveryKind
from lunguage_assets.corpus.side_files import split_metadata
from lunguage_assets.corpus.texts.reading import SourceParts, pack
from lunguage_assets.corpus.texts.source import PACKED
from lunguage_assets.files import replace_text


@dataclass(frozen=True)
class Batch:
    """One delivered set of reports.

    `number` counts registrations: of two versions of a study the one with the higher number is newer. `kind`
    says whether findings or raw reports were delivered.
    """

    key: str
    number: int
    sha256: str
    files: tuple[str, ...]
    kind: DeliveryKind = "findings"


def store_findings(batches: Path, batch: Batch, delivery: Delivery) -> None:
    """Copy the files of a delivery into the folder of the batch."""
    staging = _staging(batches, batch)
    for path in delivery.files:
        shutil.copyfile(path, staging / path.name)
    _complete(batches, batch, staging, delivery)


def store_texts(batches: Path, new: Mapping[int, Batch], delivery: Delivery, parts: SourceParts) -> None:
    """Store the raw reports of the new parts, each with the vocabulary and its studies' metadata.

    Raises:
        InputError: the delivery is not what was surveyed.
    """
    assert delivery.texts is not None
    staging = {part: _staging(batches, batch) for part, batch in new.items()}
    places = {part: folder / PACKED for part, folder in staging.items()}
    studies = pack(replace(delivery.texts, chosen=None), parts, places)
    copied = [delivery.vocabulary]
    if len(parts.digests) == 1:
        copied.append(delivery.metadata)
    elif delivery.metadata is not None:
        split_metadata(
            delivery.metadata, {folder / METADATA: studies[part] for part, folder in staging.items()}
        )
    for part, batch in new.items():
        for path in filter(None, copied):
            shutil.copyfile(path, staging[part] / path.name)
        _complete(batches, batch, staging[part], delivery)


def _staging(batches: Path, batch: Batch) -> Path:
    batches.mkdir(parents=True, exist_ok=True)
    for abandoned in batches.glob(f".{batch.key}.*.tmp"):  # left by a registration that was killed
        shutil.rmtree(abandoned, ignore_errors=True)
    staging = batches / f".{batch.key}.{uuid.uuid4().hex}.tmp"
    staging.mkdir()
    return staging


def _complete(batches: Path, batch: Batch, staging: Path, delivery: Delivery) -> None:
    declared_file = delivery.folder / DECLARATION
    if declared_file.is_file():
        shutil.copyfile(declared_file, staging / DECLARATION)
    replace_text(staging / "batch.json", as_json(asdict(batch)))
    staging.rename(batches / batch.key)


def read_batch(manifest: Path) -> Batch:
    """The record of a batch, also one from before there were kinds."""
    values = json.loads(manifest.read_text(encoding="utf-8"))
    return Batch(
        values["key"],
        values["number"],
        values["sha256"],
        tuple(values["files"]),
        values.get("kind", "findings"),
    )


def is_staging(folder: Path) -> bool:
    """Whether the folder belongs to an unfinished or killed registration."""
    return folder.name.startswith(".") and folder.name.endswith(".tmp")


def as_json(values: object) -> str:
    """As the home's records are written."""
    return json.dumps(values, indent=2, sort_keys=True) + "\n"
