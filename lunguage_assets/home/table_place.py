"""Where a home's tables lie: a folder in it, or a place on other storage that belongs to this home alone.

`$LUNGUAGE_TABLES` names such a place, as any fsspec URL, when the home is made; the home keeps it. A small
file at the place says whose it is, so that two homes never write over each other.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

from upath import UPath

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_file, replace_text

TABLES_VARIABLE = "LUNGUAGE_TABLES"
_RECORD = "tables_at.json"
OWNER = "+home.json"  # '+' occurs in no table's name
"""The file at the place that says which home it belongs to."""


def is_local(place: Path | UPath) -> bool:
    """Whether a place is a folder of this machine's file systems."""
    return getattr(place, "protocol", "") in ("", "file", "local")


def open_place(named: str) -> Path | UPath:
    """A place by its path or URL. Remote listings are never kept: another machine may have added a table.

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
        f"{home} keeps its tables at {kept}; found ${TABLES_VARIABLE} = {named}. Unset it, or make a new "
        "home with it set."
    )


def claim_place(home: Path) -> None:
    """Make a place outside the home its own, recorded at both ends; the same again changes nothing.

    Raises:
        ConfigurationError: the place belongs to another home; else as in `tables_place`.
    """
    place = tables_place(home)
    if place == home / "tables":
        return
    identity = _read(home / _RECORD).get("home") or uuid.uuid4().hex
    owner = _read(place / OWNER).get("home", identity)
    if owner != identity:
        raise ConfigurationError(f"{place} holds the tables of another home (id {owner}). Name another.")
    kept = json.dumps({"home": identity, "tables": str(place)}, indent=2, sort_keys=True) + "\n"
    replace_text(home / _RECORD, kept)
    publish((json.dumps({"home": identity}) + "\n").encode(), place / OWNER)


def publish(content: bytes, path: Path | UPath) -> None:
    """Write a whole file at once: object stores show it when the upload is complete, and not before."""
    if is_local(path):
        replace_file(Path(UPath(path).path), lambda stream: stream.write(content))
    else:
        there = UPath(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.fs.pipe_file(there.path, content)


def _read(record: Path | UPath) -> dict[str, str]:
    return dict(json.loads(record.read_text(encoding="utf-8"))) if record.exists() else {}
