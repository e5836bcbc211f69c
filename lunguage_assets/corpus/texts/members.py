"""Files of one report each, in a folder's tree or in a `.zip`, in the order of their names.

Hidden files, and those that data sets carry beside their reports (a licence, checksums), are no reports.
"""

from __future__ import annotations

import gzip
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from lunguage_assets.corpus.texts.raw import LARGEST
from lunguage_assets.errors import InputError

TEXT_FORM = re.compile(r"\.txt(?:\.gz)?$", re.IGNORECASE)
XML_FORM = re.compile(r"\.xml(?:\.gz)?$", re.IGNORECASE)
_HIDDEN = re.compile(r"(?:^|/)[.~_]")
_NO_REPORT = re.compile(
    r"(?:^|/)(?:licen[cs]e|readme|sha256sums|md5sums|checksums|changes|changelog|index|records|notes)"
    r"\.(?:txt|xml)(?:\.gz)?$",
    re.IGNORECASE,
)
UNREADABLE = "unreadable-file"


def names_in(place: Path, form: re.Pattern[str]) -> list[str]:
    """Names of all reports of a form in a folder or a `.zip`, relative to it, sorted.

    Raises:
        InputError: the package is damaged.
    """
    found = _in_package(place) if place.is_file() else _in_tree(place)
    return sorted(name for name in found if _is_report(name, form))


def has_any(place: Path, form: re.Pattern[str]) -> bool:
    """Whether there is a report of this form; the search ends with the first one."""
    found = _in_package(place) if place.is_file() else _in_tree(place)
    return any(_is_report(name, form) for name in found)


def contents(place: Path, names: list[str]) -> Iterator[tuple[str, bytes | None]]:
    """Each file's name and its unpacked bytes, a little more than `LARGEST` at most; None: it is damaged."""
    if place.is_dir():
        for name in names:
            yield name, _content(place / name)
        return
    with zipfile.ZipFile(place) as package:
        for name in names:
            yield name, _content(zipfile.Path(package, name))


def _content(path: Path | zipfile.Path) -> bytes | None:
    try:
        with path.open("rb") as stream:
            unpacked = gzip.GzipFile(fileobj=stream) if path.name.lower().endswith(".gz") else stream
            return unpacked.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return None  # RuntimeError: it has a password; NotImplementedError: its compression is not known


def _is_report(name: str, form: re.Pattern[str]) -> bool:
    return bool(form.search(name)) and not _HIDDEN.search(name) and not _NO_REPORT.search(name)


def _in_tree(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder, followlinks=True):
        folders.sort()
        inside = PurePosixPath(Path(place).relative_to(folder).as_posix())
        yield from (str(inside / name) for name in sorted(files))


def _in_package(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as package:
            return [item.filename for item in package.infolist() if not item.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise InputError(
            path.name,
            f"a package that cannot be opened ({type(error).__name__})",
            "a whole .zip file",
            "Deliver it again.",
        ) from None
