"""Keys of batches: from the name of what was delivered, or as a person gives them.

A key is a partition key in Dagster, and the name of a folder and of files.
"""

from __future__ import annotations

import re
from pathlib import Path

from lunguage_assets.errors import ConfigurationError

_KEY = re.compile(r"(?!\.)[a-z0-9._-]{1,128}")
_VERSION_FOLDER = re.compile(r"v?\d+(\.\d+)+")
_LONGEST_FROM_NAME = 100
"""Shorter than a key may be: `-001` may follow."""
_SHOWN = 200
"""Characters of a wrong key that an error repeats."""


def is_usable(key: str) -> bool:
    """Whether a text can be the key of a batch."""
    return _KEY.fullmatch(key) is not None


def require_usable(key: str) -> None:
    """Refuse a text that cannot be the key of a batch.

    Raises:
        ConfigurationError: it cannot.
    """
    if not is_usable(key):
        raise ConfigurationError(
            f"batch key {key[:_SHOWN]!r} is not usable; expected up to 128 lower-case "
            "letters, digits, '.', '_' and '-', and no '.' at the beginning. Name it "
            "with --batch KEY."
        )


def batch_key(path: Path) -> str:
    """Make a key from the name of a folder or file, without the file's ending.

    A folder that is called by its version alone is named with the one above it:
    `mimic-cxr/2.1.0` gives `mimic-cxr-2.1.0`.
    """
    path = path.resolve()
    # Without all endings: `findings.csv.gz` is `findings`.
    if path.is_file():
        return usable_key(path.name.split(".")[0])
    if _VERSION_FOLDER.fullmatch(path.name):
        return usable_key(f"{path.parent.name}-{path.name}")
    return usable_key(path.name)


def usable_key(name: str) -> str:
    """Make a key from any name: lower case, hyphens for other characters."""
    hyphenated = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")
    return hyphenated[:_LONGEST_FROM_NAME].strip("-.") or "batch"


def batch_keys(key: str, parts: int) -> list[str]:
    """List the keys of a delivery in parts: its own, or `key-001`, `key-002`..."""
    if parts == 1:
        return [key]
    return [f"{key}-{part:03d}" for part in range(1, parts + 1)]
