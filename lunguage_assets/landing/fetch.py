"""Bringing a delivery into the home's own staging folder, under the published names, whatever its form and
file system.

Packed files are unpacked, so that the same content packed twice is the same delivery. The readers of `corpus`
do the rest.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lunguage_assets.corpus.delivery import FINDINGS, FINDINGS_PARQUET
from lunguage_assets.errors import InputError
from lunguage_assets.landing.entries import Entry, canonical_name
from lunguage_assets.landing.place import LandingPlace, LandingUnreachable, Seen

_BLOCK = 1 << 22


@dataclass(frozen=True)
class Fetched:
    """Files of a delivery as they were: `originals` maps published to delivered names; `sha256` is over all
    names and bytes.
    """

    folder: Path
    originals: dict[str, str]
    sha256: str


def fetch(place: LandingPlace, entry: Entry, folder: Path) -> Fetched:
    """Copy the files of a delivery into an empty folder, each under its own name.

    Raises:
        LandingUnreachable: a file went away or cannot be read.
        OSError: the copy cannot be written.
    """
    folder.mkdir(parents=True)
    digest = hashlib.sha256()
    for file in entry.files:
        digest.update(f"{file.name if entry.is_folder else ''}\0".encode())
        fetch_file(place, file, folder, digest.update)
    return Fetched(
        folder, {_published_name(entry, file.name): file.name for file in entry.files}, digest.hexdigest()
    )


def fetch_file(
    place: LandingPlace, file: Seen, folder: Path, noting: Callable[[bytes], object] = lambda block: None
) -> None:
    """Copy one file into a folder; `noting` is given all its bytes."""
    with (folder / file.name).open("wb") as target, _opened(place, file) as source:
        while block := _read(source, place):
            noting(block)
            target.write(block)


def _opened(place: LandingPlace, file: Seen) -> BinaryIO:
    try:
        return place.open(file.path)
    except Exception as error:  # every file system has errors of its own
        raise _unreadable(place, error) from None


def _read(source: BinaryIO, place: LandingPlace) -> bytes:
    try:
        return source.read(_BLOCK)
    except Exception as error:
        raise _unreadable(place, error) from None


def _unreadable(place: LandingPlace, error: Exception) -> LandingUnreachable:
    return LandingUnreachable(
        f"landing folder {place.shown}: a file cannot be read ({type(error).__name__}). Look at its rights."
    )


def prepare(fetched: Fetched, entry: Entry, folder: Path) -> None:
    """Make of fetched files a delivery as `corpus` reads it; they are moved, and unpacked where they are
    packed.

    Raises:
        InputError: a packed file is damaged, or two files are the same one in two forms.
    """
    folder.mkdir(parents=True)
    for file in entry.files:
        target = folder / _published_name(entry, file.name)
        if target.exists():
            raise InputError(
                entry.name, f"{target.name} in two forms", "each file once", "Remove all but the one to use."
            )
        source = fetched.folder / file.name
        if file.name.lower().endswith(".gz"):
            _unpack(source, target, file.name)
        else:
            source.rename(target)


def _published_name(entry: Entry, name: str) -> str:
    if entry.is_folder:
        return canonical_name(name) or name
    return FINDINGS_PARQUET if name.lower().endswith(".parquet") else canonical_name(name) or FINDINGS


def _unpack(source: Path, target: Path, name: str) -> None:
    with target.open("wb") as unpacked, gzip.open(source, "rb") as packed:
        while True:
            try:
                block = packed.read(_BLOCK)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise InputError(
                    name,
                    f"a file that cannot be unpacked ({type(error).__name__})",
                    "a whole .gz file",
                    "Deliver it again.",
                ) from None
            if not block:
                return
            unpacked.write(block)


def lend(shared: Path, folder: Path) -> None:
    """Put a file that serves all deliveries beside one that brings none of its own."""
    if not (folder / shared.name).exists():
        shutil.copyfile(shared, folder / shared.name)
