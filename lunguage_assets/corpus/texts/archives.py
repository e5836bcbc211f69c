"""Opens delivered files: single ones, and those of one report each.

A table or JSON file may be packed as `.gz` or `.zip`; files of one report each lie in a
folder, a `.zip` or a `.tgz`. Hidden files, and those that data sets carry beside their
reports (a licence, checksums), are no reports.
"""

from __future__ import annotations

import gzip
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from fsspec.implementations.local import LocalFileSystem

from lunguage_assets.corpus.texts.raw import LARGEST
from lunguage_assets.errors import damaged

PACKAGES = (".zip", ".tgz", ".tar.gz")
"""How a file ends that may be a package of files of one report."""
_NO_REPORT = re.compile(
    r"(?:^|/)(?:[~_]|\.(?!\.?/))"
    r"|(?:^|/)(?:licen[cs]e|readme|sha256sums|md5sums|checksums|changes|changelog|"
    r"index|records|notes)\.(?:txt|xml)(?:\.gz)?$",
    re.IGNORECASE,
)


def content_of(path: Path, most: int = -1) -> bytes:
    """Read a single file, unpacked where its name ends with `.gz` or `.zip`.

    Args:
        path: the file; of a `.zip` the first file in it is read.
        most: bytes that are read, from the beginning; -1: all.

    Raises:
        InputError: it cannot be read or unpacked.
    """
    try:
        with LocalFileSystem().open(path.absolute(), compression="infer") as stream:
            return bytes(stream.read(most))
    # A stranger's bytes make an unpacker raise anything.
    except Exception as error:
        raise damaged(
            path.name,
            "a file that cannot be read or unpacked",
            error,
            "one whole file",
            "Deliver the file itself again.",
        ) from None


def contents_in(path: Path, names: str) -> Iterator[tuple[str, bytes | None]]:
    """Read files of a folder or package, or the one that a file is.

    Args:
        path: the folder, package or file.
        names: a pattern of the names of the files.

    Returns:
        The name and the unpacked content of each; None for a damaged one. Of one that
        is too large for a report a little more than that is read.

    Raises:
        InputError: a package cannot be opened.
    """
    try:
        for name, opened in _members(path):
            if not re.search(names, name) or _NO_REPORT.search(name):
                continue
            content = None
            with suppress(Exception), opened() as stream:
                if name.lower().endswith(".gz"):
                    stream = gzip.GzipFile(fileobj=stream)
                content = stream.read(LARGEST + 1)
            yield name, content
    except Exception as error:
        raise damaged(
            path.name, "a package that cannot be opened", error, "a whole package"
        ) from None


def _members(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name each file of a folder or package, with what opens it."""
    name = path.name.lower()
    if name.endswith(".zip"):
        with zipfile.ZipFile(path) as package:
            for item in package.infolist():
                yield item.filename, partial(package.open, item)
    elif name.endswith(PACKAGES):
        with tarfile.open(path, "r|gz") as archive:
            for member in archive:
                yield member.name, partial(archive.extractfile, member)
    else:
        folder = path if path.is_dir() else path.parent
        for file in [path, *path.rglob("*")]:
            yield file.relative_to(folder).as_posix(), partial(file.open, "rb")
