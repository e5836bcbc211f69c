"""Registered batches: their records, how their files come into the home as a whole or not at all, and how a
batch goes with all tables that are of it alone.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from upath import UPath

from lunguage_assets.corpus.delivery import DECLARATION, METADATA, Delivery, DeliveryKind
from lunguage_assets.corpus.side_files import split_metadata
from lunguage_assets.corpus.texts.reading import SourceParts, pack
from lunguage_assets.corpus.texts.source import PACKED
from lunguage_assets.files import replace_text
from lunguage_assets.home.store import PARTITIONED_BY, partition_path, stored_partitions

_REMOVALS = "removals.json"


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
    staging = {part: _aside(batches, batch.key) for part, batch in new.items()}
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


def _aside(batches: Path, key: str) -> Path:
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


def following(root: Path, tables: Path | UPath, key: str) -> Following:
    """What is stored of a batch alone in a home whose tables lie at a place."""
    own = (
        (table, keys)
        for table, dimensions in PARTITIONED_BY.items()
        if dimensions[-1] == "report_batch"
        for keys in stored_partitions(tables, table)
        if keys[-1] == key
    )
    return Following(tuple(own), tuple(sorted(root.glob(f"review/*/{key}.csv"))))


def remove_batch(root: Path, tables: Path | UPath, batch: Batch, who: str, when: str) -> Removal:
    """Remove a batch, its files last: a removal that was killed is done by doing it again. What several
    batches made together and sealed releases stay. The home's registration is locked by the caller.
    """
    found = following(root, tables, batch.key)
    for table, keys in found.tables:
        partition_path(tables, table, *keys).unlink(missing_ok=True)
    for file in found.review:
        file.unlink(missing_ok=True)
    removal = Removal(batch.key, batch.sha256, batch.number, who, when, len(found.tables))
    replace_text(root / _REMOVALS, as_json([asdict(one) for one in (*removals(root), removal)]))
    (root / "batches" / batch.key).rename(_aside(root / "batches", batch.key))
    clear_abandoned(root / "batches")
    return removal


def removals(root: Path) -> list[Removal]:
    """All removals of a home, the oldest first."""
    file = root / _REMOVALS
    noted = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return [Removal(**{field.name: one[field.name] for field in fields(Removal)}) for one in noted]
