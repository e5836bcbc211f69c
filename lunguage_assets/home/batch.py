"""Registered batches: their records, and how their files come into the home as a whole or not at all."""

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


def stored_names(delivery: Delivery) -> tuple[str, ...]:
    """Names of a delivery's files in the home, where all raw reports are in one."""
    files = delivery.files
    if delivery.texts is not None:
        files = (Path(PACKED), *files[len(delivery.texts.files) :])
    return tuple(path.name for path in files)


def store_batches(
    batches: Path, new: Mapping[int, Batch], delivery: Delivery, parts: SourceParts | None
) -> None:
    """Store the new parts of a delivery: the files of findings as they are; raw reports packed, each part
    with the vocabulary and its studies' metadata.

    Raises:
        InputError: the delivery is not what was surveyed.
    """
    staging = {part: aside(batches, batch.key) for part, batch in new.items()}
    for folder in staging.values():
        folder.mkdir(parents=True)
    copied = [*delivery.files]
    if (declaration := delivery.folder / DECLARATION).is_file():
        copied.append(declaration)
    if parts is not None and delivery.texts is not None:
        copied = [path for path in copied if path not in delivery.texts.files]
        places = {part: folder / PACKED for part, folder in staging.items()}
        studies = pack(replace(delivery.texts, chosen=None), parts, places)
        if delivery.metadata is not None and len(parts.digests) > 1:
            copied.remove(delivery.metadata)
            split = {folder / METADATA: studies[part] for part, folder in staging.items()}
            split_metadata(delivery.metadata, split)
    for part, batch in new.items():
        for path in copied:
            shutil.copyfile(path, staging[part] / path.name)
        replace_text(staging[part] / "batch.json", as_json(asdict(batch)))
        staging[part].rename(batches / batch.key)


def aside(batches: Path, key: str) -> Path:
    return batches / f".{key}.{uuid.uuid4().hex}.tmp"


def clear_abandoned(batches: Path) -> None:
    """Remove what a registration or a removal left that was killed; the caller holds the lock."""
    for abandoned in batches.glob(".*.tmp"):
        shutil.rmtree(abandoned)


def read_batch(manifest: Path) -> Batch:
    """The record of a batch, also one from before there were kinds."""
    values = json.loads(manifest.read_text(encoding="utf-8"))
    return Batch(**values | {"files": tuple(values["files"])})


def as_json(values: object) -> str:
    """As the home's records are written."""
    return json.dumps(values, indent=2, sort_keys=True) + "\n"


@dataclass(frozen=True)
class Removal:
    """A removed batch: what it was, who removed it, when (ISO, UTC), and how many tables went."""

    key: str
    sha256: str
    number: int
    who: str
    when: str
    tables: int


@dataclass(frozen=True)
class Following:
    """What there is of a batch alone: tables, and review queues."""

    tables: tuple[tuple[str, tuple[str, ...]], ...]
    review: tuple[Path, ...]
