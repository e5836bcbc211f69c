"""Where a home's tables lie: a folder in the home, or shared or object storage of this home alone.

`$LUNGUAGE_TABLES` names such a place, as any fsspec URL, when the home is made; the home keeps it, so that no
process can look for the tables elsewhere later. A small file at the place says whose it is, so that two homes
never write over each other.
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
"""The file at a place that names its home."""


def is_local(place: Path | UPath) -> bool:
    """Whether a place is a folder of this machine's file systems."""
    return getattr(place, "protocol", "") in ("", "file", "local")


def open_place(named: str) -> Path | UPath:
    """A place by its path or URL.

    Remote listings are never kept: another machine may have added a table since.

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
    kept, named = kept_place(home), os.environ.get(TABLES_VARIABLE, "").strip()
    if not named or str(open_place(named)) == str(kept):
        return kept
    if _record(home) is None and not (home / "corpus.json").exists():  # a home that is still to be made
        return open_place(named)
    raise ConfigurationError(
        f"{home} keeps its tables at {kept}; found ${TABLES_VARIABLE} = {named}. Unset it, or move the "
        f"tables first: lunguage tables move {named}"
    )


def kept_place(home: Path) -> Path | UPath:
    """The recorded place of a home's tables, without regard to the environment."""
    record = _record(home)
    return open_place(record["tables"]) if record else home / "tables"


def claim_place(home: Path) -> None:
    """Take the place that `$LUNGUAGE_TABLES` names for this home; do nothing without one.

    Raises:
        CorpusMismatch: the place belongs to another home.
        ConfigurationError: the home keeps its tables at another place.
    """
    place = tables_place(home)
    if _record(home) or place != home / "tables":
        _bind(home, place)


def load_tables(home: Path, folder: Path, place: Path | UPath | None = None) -> int:
    """Copy tables of a back-up to the home's place, or to another place from now on; returns their number.

    Raises:
        CorpusMismatch: the place belongs to another home.
        ConfigurationError: there are tables already, or a file did not arrive whole.
    """
    goal = tables_place(home) if place is None else place
    _require_free(home, goal)
    require_no_tables(goal)
    copied = copy_tables(folder, goal)
    if _record(home) or goal != home / "tables":
        _bind(home, goal)
    return copied


def move_tables(home: Path, place: Path | UPath) -> int:
    """Copy a home's tables to a place and keep them there from now on; returns the number of files.

    The old copy stays.

    Raises:
        CorpusMismatch: the place belongs to another home.
        ConfigurationError: there are tables at the place already, or a file did not arrive whole.
    """
    _require_free(home, place)
    require_no_tables(place)
    copied = copy_tables(kept_place(home), place)
    _bind(home, place)
    return copied


def require_no_tables(place: Path | UPath) -> None:
    """Refuse a place that already holds tables.

    Raises:
        ConfigurationError: there are tables already.
    """
    if there := len(_table_files(place)):
        raise ConfigurationError(
            f"{place} holds {there} table files; expected none. Name an empty place, or remove them."
        )


def copy_tables(source: Path | UPath, target: Path | UPath) -> int:
    """Copy every whole table file and return the number.

    Further files of the target stay.

    Raises:
        ConfigurationError: a file did not arrive whole.
    """
    files = _table_files(source)
    for path in files:
        goal = target.joinpath(*_below(path, source))
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


def _bind(home: Path, place: Path | UPath) -> None:
    """Record at both ends that a home's tables lie at a place; the same again changes nothing."""
    identity, owner = _require_free(home, place)
    record = {"home": identity, "tables": str(place)}
    if _record(home) != record:
        replace_text(home / _RECORD, json.dumps(record, indent=2, sort_keys=True) + "\n")
    if owner is None:
        publish((json.dumps({"home": identity}) + "\n").encode(), place / OWNER)


def _require_free(home: Path, place: Path | UPath) -> tuple[str, str | None]:
    """The home's identity, and the identity recorded at the place (None: none)."""
    record, owner = _record(home), _owner(place)
    identity = record["home"] if record else uuid.uuid4().hex
    if owner not in (None, identity):
        raise CorpusMismatch(f"{place} holds the tables of another home (id {owner}). Name another place.")
    return identity, owner


def _table_files(root: Path | UPath) -> list[UPath]:
    found = (path for path in UPath(root).rglob("*.parquet") if not path.name.startswith("."))
    return sorted(found, key=str)


def _below(path: UPath, root: Path | UPath) -> tuple[str, ...]:
    return tuple(str(path)[len(str(root)) :].strip("/").split("/"))


def _record(home: Path) -> dict[str, str] | None:
    file = home / _RECORD
    if not file.exists():
        return None
    record: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return record


def _owner(place: Path | UPath) -> str | None:
    try:
        return str(json.loads((place / OWNER).read_text(encoding="utf-8"))["home"])
    except FileNotFoundError:
        return None
