"""Opens packed files: `.gz`, and the files in a `.zip`.

A package holds reports of one file each, or one table or JSON file
(`master_table.csv.zip`).
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from pathlib import Path
from typing import IO, cast

from lunguage_assets.errors import InputError, damaged

MOST_ENTRIES = 1_000_000
"""Files and folders in one `.zip`; MIMIC-CXR's has 300,000."""
TABLE_FORM = re.compile(r"\.csv$", re.IGNORECASE)
DAMAGES = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, RuntimeError)
"""What reading a member may raise.

RuntimeError: it has a password, or asks for a newer unpacker.
"""
_NOT_DELIVERED = re.compile(r"(?:^|/)(?:[._~]|__MACOSX/)")
"""Hidden files, and what a Mac lays beside each file."""
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Those that `zipfile` unpacks piece by piece, so that it can be stopped at a size."""


def is_package(path: Path) -> bool:
    """Tell whether a file is a `.zip` by its name."""
    return path.name.lower().endswith(".zip")


def open_unpacked(path: Path, form: re.Pattern[str]) -> IO[bytes]:
    """Open a file, unpacked where its name says `.gz` or `.zip`.

    Args:
        path: any file.
        form: that of the only such file in a package.

    Raises:
        InputError: a package cannot be opened, or has not one such file.
    """
    if is_package(path):
        return _open_only_member(path, form)
    if path.name.lower().endswith(".gz"):
        return cast("IO[bytes]", gzip.open(path))
    return path.open("rb")


def names_in_package(path: Path) -> list[str]:
    """List the files of a package.

    Raises:
        InputError: it cannot be opened, has too many, or two of one name.
    """
    try:
        with zipfile.ZipFile(path) as package:
            names = [item.filename for item in package.infolist() if not item.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        problem = "a package that cannot be opened"
        raise damaged(path.name, problem, error, "a whole .zip file") from None
    if len(names) > MOST_ENTRIES:
        raise InputError(
            path.name,
            f"{len(names):,} files in one package",
            f"at most {MOST_ENTRIES:,}",
            "Deliver it in several packages.",
        )
    repeated = len(names) - len(set(names))
    # A member is opened by its name, which would open the last one of it each time.
    if repeated:
        raise InputError(
            path.name,
            f"{repeated} files whose name another file has",
            "every name once in a package",
            "Pack the files into a new package, each under its own name.",
        )
    return names


def open_member(package: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Open a file of a package, if its unpacking can be stopped at a size.

    Raises:
        Exception: one of `DAMAGES`.
    """
    if package.getinfo(name).compress_type not in _COMPRESSIONS:
        raise zipfile.BadZipFile("packed otherwise than usual")
    return package.open(name)


def only_member(path: Path, form: re.Pattern[str]) -> str:
    """Name the only file of a form in a package; empty without one, or with several."""
    names = [
        name
        for name in names_in_package(path)
        if form.search(name) and not _NOT_DELIVERED.search(name)
    ]
    return names[0] if len(names) == 1 else ""


def _open_only_member(path: Path, form: re.Pattern[str]) -> IO[bytes]:
    """Open the only file of a form in a package.

    Raises:
        InputError: there is none, or several; it cannot be opened.
    """
    name = only_member(path, form)
    if not name:
        problem = "no such file, or several"
        remedy = "Deliver the file itself, or a package with it alone."
        raise InputError(path.name, problem, "one file of the delivery", remedy)
    try:
        # Not closed here: the member reads on from the package's file.
        return open_member(zipfile.ZipFile(path), name)
    except DAMAGES as error:
        problem = "a file that cannot be unpacked"
        raise damaged(path.name, problem, error, "a whole file") from None
