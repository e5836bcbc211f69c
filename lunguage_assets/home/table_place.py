"""Where a home's tables lie: a folder in the home, or a place on shared or object storage that belongs to
this home alone.

`$LUNGUAGE_TABLES` names such a place, as any fsspec URL, when the home is made; the home keeps it, so that no
process can look for the tables elsewhere later. A small file at the place says whose it is, so that two homes
never write over each other. Tables move by a back-up that is loaded at another place.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

from upath import UPath

from lunguage_assets.errors import ConfigurationError, CorpusMismatch
from lunguage_assets.files import replace_file, replace_text

TABLES_VARIABLE = "LUNGUAGE_TABLES"
_RECORD = "tables_at.json"
OWNER = "+home.json"  # '+' occurs in no table's name
"""The file at the place that says which home it belongs to."""


def is_local(place: Path | UPath) -> bool:
    """Whether a place is a folder of this machine's file systems."""
    return getattr(place, "protocol", "") in ("", "file", "local")


def open_place(named: str) -> Path | UPath:
    """A place by its path or URL. Remote listings are never kept: another machine may have added a table
    since.

    Raises:
        ConfigurationError: no installed package can open such a URL.
    """
    try:
        place = UPath(named)
        if is_local(place):
            return Path(str(place.path)).expanduser().resolve()
        place = UPath(named.rstrip("/"), use_listings_cache=False)
        place.fs  # noqa: B018 - imports what the protocol needs
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"{named} cannot be opened: {error}. For s3:// install the extra: pip install "
            "'lunguage-assets[scale]'; else name a folder."
        ) from None
    return place


def tables_place(home: Path) -> Path | UPath:
    """Where the tables of a home lie.

    Raises:
        ConfigurationError: `$LUNGUAGE_TABLES` names another place than the one that the home keeps.
    """
    record, named = _read(home / _RECORD), os.environ.get(TABLES_VARIABLE, "").strip()
    kept = open_place(record["tables"]) if record else home / "tables"
    if not named or str(open_place(named)) == str(kept):
        return kept
    if not record and not (home / "corpus.json").exists():  # a home that is still to be made
        return open_place(named)
    raise ConfigurationError(
        f"{home} keeps its tables at {kept}; found ${TABLES_VARIABLE} = {named}. Unset it. To move the "
        "tables, back the home up and restore it with this set (deploy/README.md)."
    )


def claim_place(home: Path) -> None:
    """Make the place where a home's tables lie, or will lie, its own; the same again changes nothing.

    Raises:
        CorpusMismatch: the place belongs to another home.
        ConfigurationError: as in `tables_place`.
    """
    place = tables_place(home)
    _bind(home, place, _require_free(home, place))


def load_tables(home: Path, folder: Path, place: Path | UPath | None = None) -> int:
    """Copy tables of a back-up to where the home keeps its tables, or to another place, which it keeps from
    now on; returns how many.

    Raises:
        CorpusMismatch: the place belongs to another home.
        ConfigurationError: as in `copy_tables`.
    """
    goal = tables_place(home) if place is None else place
    identity = _require_free(home, goal)
    copied = copy_tables(folder, goal)
    _bind(home, goal, identity)
    return copied


def copy_tables(source: Path | UPath, target: Path | UPath) -> int:
    """Copy every table file into a place without tables, and nothing half-written; returns how many.

    Raises:
        ConfigurationError: there are tables already, or a file did not arrive whole.
    """
    if there := len(_table_files(target)):
        raise ConfigurationError(
            f"{target} holds {there} table files; expected none. Name an empty place, or remove them."
        )
    files = _table_files(source)
    for path in files:
        goal = target.joinpath(*str(path)[len(str(source)) :].strip("/").split("/"))
        content = path.read_bytes()
        publish(content, goal)
        if goal.read_bytes() != content:
            raise ConfigurationError(
                f"{goal} did not arrive whole: its bytes are not those of {path}. Try again."
            )
    return len(files)


def publish(content: bytes, path: Path | UPath) -> None:
    """Write a whole file at once: object stores show it when the upload is complete, and not before."""
    if is_local(path):
        replace_file(Path(UPath(path).path), lambda stream: stream.write(content))
    else:
        there = UPath(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.fs.pipe_file(there.path, content)


def _require_free(home: Path, place: Path | UPath) -> str:
    """The identity of a home, made if it has none, for a place that is nobody's or its own."""
    identity = _read(home / _RECORD).get("home") or uuid.uuid4().hex
    owner = _read(place / OWNER).get("home", identity)
    if owner != identity:
        raise CorpusMismatch(f"{place} holds the tables of another home (id {owner}). Name another place.")
    return identity


def _bind(home: Path, place: Path | UPath, identity: str) -> None:
    """Record at both ends that a home's tables lie at a place; its own folder needs no record."""
    kept, record = _read(home / _RECORD), {"home": identity, "tables": str(place)}
    if not kept and place == home / "tables":
        return
    if kept != record:
        replace_text(home / _RECORD, json.dumps(record, indent=2, sort_keys=True) + "\n")
    if not _read(place / OWNER):
        publish((json.dumps({"home": identity}) + "\n").encode(), place / OWNER)


def _table_files(root: Path | UPath) -> list[UPath]:
    found = (path for path in UPath(root).rglob("*.parquet") if not path.name.startswith("."))
    return sorted(found, key=str)


def _read(record: Path | UPath) -> dict[str, str]:
    try:
        return dict(json.loads(record.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
