"""Removing a registered batch with all tables that are of it alone.

Its files go last: a removal that was killed is done by doing it again. What several batches made together (a
vocabulary, a ranking) and releases that are sealed stay: they are made of it among others.
"""

from __future__ import annotations

import json
import shutil
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from upath import UPath

from lunguage_assets.files import replace_text
from lunguage_assets.home.batch import Batch, as_json
from lunguage_assets.home.store import PARTITIONED_BY, partition_path, stored_partitions

_RECORD = "removals.json"
_BATCH = "report_batch"

Place = Path | UPath


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


def following(root: Path, tables: Place, key: str) -> Following:
    """What is stored of a batch alone in a home whose tables lie at a place."""
    own = (
        (table, keys)
        for table, dimensions in PARTITIONED_BY.items()
        if _BATCH in dimensions
        for keys in stored_partitions(tables, table)
        if keys[-1] == key
    )
    return Following(tuple(own), tuple(sorted(root.glob(f"review/*/{key}.csv"))))


def remove_batch(root: Path, tables: Place, batch: Batch, who: str, when: str) -> Removal:
    """Remove a batch. The home's registration is locked by the caller."""
    found = following(root, tables, batch.key)
    for table, keys in found.tables:
        partition_path(tables, table, *keys).unlink(missing_ok=True)
    for file in found.review:
        file.unlink(missing_ok=True)
    removal = Removal(batch.key, batch.sha256, batch.number, who, when, len(found.tables))
    noted = [asdict(one) for one in (*removals(root), removal)]
    replace_text(root / _RECORD, as_json(noted))
    folder = root / "batches" / batch.key
    folder.rename(folder.with_name(f".{batch.key}.{uuid.uuid4().hex}.tmp"))  # as a whole or not at all
    clear_abandoned(root / "batches")
    return removal


def clear_abandoned(batches: Path) -> None:
    """Remove what a registration or a removal left that was killed; the caller holds the lock."""
    for abandoned in batches.glob(".*.tmp"):
        shutil.rmtree(abandoned)


def removals(root: Path) -> list[Removal]:
    """All removals of a home, the oldest first."""
    file = root / _RECORD
    noted = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return [
        Removal(**{name: value for name, value in one.items() if name != "finished"}) for one in noted
    ]  # `finished` was noted by earlier versions
