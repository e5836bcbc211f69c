"""Removing a registered batch with all tables that are of it alone; recorded, and finished after a kill.

The record is written before anything goes. From then on the batch is not registered, and whoever registers or
removes next finishes what a killed process left. What several batches made together (a vocabulary, a ranking)
and releases that are sealed stay: they are made of it among others, and `kept` names the tables.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from upath import UPath

from lunguage_assets.files import replace_text
from lunguage_assets.home.batch import Batch, as_json
from lunguage_assets.home.store import PARTITIONED_BY, partition_path, stored_partitions, stored_record
from lunguage_assets.tables import TABLES

_RECORD = "removals.json"
_BATCH = "report_batch"

Place = Path | UPath


@dataclass(frozen=True)
class Removal:
    """A removed batch: what it was, who removed it, when (ISO, UTC); `finished` when all of it is gone."""

    key: str
    sha256: str
    number: int
    who: str
    when: str
    tables: int
    finished: bool = False


@dataclass(frozen=True)
class Following:
    """What there is of a batch: tables of it alone, tables made of it among others, review queues."""

    own: tuple[tuple[str, tuple[str, ...]], ...]
    kept: tuple[tuple[str, tuple[str, ...]], ...]
    review: tuple[Path, ...]


def following(root: Path, tables: Place, key: str) -> Following:
    """What is stored of a batch in a home whose tables lie at a place."""
    own, kept = [], []
    for table, dimensions in PARTITIONED_BY.items():
        for keys in stored_partitions(tables, table):
            if _BATCH in dimensions:
                if keys[-1] == key:
                    own.append((table, keys))
            elif _is_made_of(tables, table, keys, key):
                kept.append((table, keys))
    return Following(tuple(own), tuple(kept), tuple(sorted(root.glob(f"review/*/{key}.csv"))))


def remove_batch(root: Path, tables: Place, batch: Batch, who: str, when: str) -> Removal:
    """Remove a batch. The home's registration is locked by the caller, and earlier removals are finished."""
    count = len(following(root, tables, batch.key).own)
    removal = Removal(batch.key, batch.sha256, batch.number, who, when, count)
    _write(root, [*removals(root), removal])
    finish_removals(root, tables)
    return replace(removal, finished=True)


def finish_removals(root: Path, tables: Place) -> None:
    """Finish what was begun; the caller holds the lock of the registration."""
    noted = removals(root)
    begun = [removal.key for removal in noted if not removal.finished]
    for key in begun:
        folder = root / "batches" / key
        if folder.exists():  # renamed first: it is not registered any more, at once
            folder.rename(folder.with_name(f".{key}.{uuid.uuid4().hex}.tmp"))
        found = following(root, tables, key)
        for table, keys in found.own:
            partition_path(tables, table, *keys).unlink(missing_ok=True)
        for file in found.review:
            file.unlink(missing_ok=True)
        for aside in (root / "batches").glob(f".{key}.*.tmp"):
            shutil.rmtree(aside)
    if begun:
        _write(root, [replace(removal, finished=True) for removal in noted])


def removals(root: Path) -> list[Removal]:
    """All removals of a home, the oldest first."""
    file = root / _RECORD
    return [Removal(**one) for one in json.loads(file.read_text(encoding="utf-8"))] if file.exists() else []


def _is_made_of(tables: Place, table: str, keys: Sequence[str], batch: str) -> bool:
    record = stored_record(TABLES[table], partition_path(tables, table, *keys))
    inputs = (place.split("/") for place in (record.made_of.inputs if record is not None else ()))
    return any(_BATCH in PARTITIONED_BY.get(place[0], ()) and place[-1] == batch for place in inputs)


def _write(root: Path, noted: Sequence[Removal]) -> None:
    replace_text(root / _RECORD, as_json([asdict(removal) for removal in noted]))
