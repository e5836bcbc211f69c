"""Where the tables of a home lie: in its folder, or at a location on other storage.

`$LUNGUAGE_TABLES` names such a location, as any fsspec URL, when a home is made, and
the home keeps it. A small file at the location says which home it belongs to, so that
two homes never write over each other.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

from upath import UPath

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import read_record, replace_file, replace_text

TABLES_VARIABLE = "LUNGUAGE_TABLES"
OWNER = "+home.json"
"""The file at the location that says whose it is; no table's name has a "+" in it."""
_LOCATION_RECORD = "tables_at.json"
"""The file in the home that keeps the location."""


def tables_location(home: Path) -> Path | UPath:
    """Find where the tables of a home lie.

    Raises:
        ConfigurationError: `$LUNGUAGE_TABLES` names another location than the one that
            the home keeps.
    """
    record = _read_json(home / _LOCATION_RECORD)
    named = os.environ.get(TABLES_VARIABLE, "").strip()
    kept = open_location(record["tables"]) if record else home / "tables"
    if not named or str(open_location(named)) == str(kept):
        return kept
    is_new_home = not record and not (home / "corpus.json").exists()
    if is_new_home:
        return open_location(named)
    raise ConfigurationError(
        f"{home} keeps its tables at {kept}; found ${TABLES_VARIABLE} = {named}. Unset "
        "it, or make a new home with it set."
    )


def claim_location(home: Path) -> None:
    """Make a location outside the home its own, recorded at both ends.

    Doing it again changes nothing.

    Raises:
        ConfigurationError: the location belongs to another home; else as in
            `tables_location`.
    """
    location = tables_location(home)
    if location == home / "tables":
        return
    identity = _read_json(home / _LOCATION_RECORD).get("home") or uuid.uuid4().hex
    owner = _read_json(location / OWNER).get("home", identity)
    if owner != identity:
        raise ConfigurationError(
            f"{location} holds the tables of another home (id {owner}). Name another."
        )
    record = {"home": identity, "tables": str(location)}
    replace_text(
        home / _LOCATION_RECORD, json.dumps(record, indent=2, sort_keys=True) + "\n"
    )
    publish((json.dumps({"home": identity}) + "\n").encode(), location / OWNER)


def open_location(named: str) -> Path | UPath:
    """Open a location by its path or URL.

    Raises:
        ConfigurationError: no installed package can open such a URL.
    """
    try:
        location = UPath(named)
        if is_local(location):
            return Path(str(location.path)).expanduser().resolve()
        # Listings are never kept: another machine may have added a table.
        location = UPath(named.rstrip("/"), use_listings_cache=False)
        location.fs  # noqa: B018 - imports what the protocol needs
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"{named} cannot be opened: {error}. For s3:// install the extra: pip "
            "install 'lunguage-assets[scale]'; else name a folder."
        ) from None
    return location


def is_local(location: Path | UPath) -> bool:
    """Whether a location is a folder of this machine's file systems."""
    return getattr(location, "protocol", "") in ("", "file", "local")


def publish(content: bytes, path: Path | UPath) -> None:
    """Write a whole file at once, so that a reader sees the old one or the new one."""
    if is_local(path):
        replace_file(Path(UPath(path).path), lambda stream: stream.write(content))
        return
    # An object store shows a file when its upload is complete, and not before.
    remote = UPath(path)
    remote.parent.mkdir(parents=True, exist_ok=True)
    remote.fs.pipe_file(remote.path, content)


def _read_json(path: Path | UPath) -> dict[str, str]:
    if not path.exists():
        return {}
    return read_record(
        path,
        dict,
        "Restore it from a backup: it says where the tables of a home are, or whose.",
    )
