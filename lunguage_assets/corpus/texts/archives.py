"""Opens files wherever they lie: a folder, a `.zip`, a `.tgz`, a `.gz`.

Files of one report each come in the order of their names, whatever they are packed in.
Hidden files, and those that data sets carry beside their reports (a licence,
checksums), are no reports. A package may hold one table or JSON file instead
(`master_table.csv.zip`).
"""

from __future__ import annotations

import gzip
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from lunguage_assets.corpus.texts.raw import LARGEST
from lunguage_assets.errors import InputError, damaged

MOST_UNPACKED = 1 << 30
"""Bytes that are unpacked of one file or package.

All reports of MIMIC-CXR are a fifth of it.
"""
TEXT_FORM = re.compile(r"\.txt(?:\.gz)?$", re.IGNORECASE)
XML_FORM = re.compile(r"\.xml(?:\.gz)?$", re.IGNORECASE)
_ANY_FORM = re.compile("")
_ARCHIVE_FORM = re.compile(r"\.(?:zip|tgz|tar\.gz)$", re.IGNORECASE)
_NO_REPORT = re.compile(
    r"(?:^|/)(?:[~_]|\.(?!\.?/))"
    r"|(?:^|/)(?:licen[cs]e|readme|sha256sums|md5sums|checksums|changes|changelog|"
    r"index|records|notes)\.(?:txt|xml)(?:\.gz)?$",
    re.IGNORECASE,
)
_DAMAGES = (
    OSError,
    EOFError,
    ValueError,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
    RuntimeError,
)
"""What reading a packed file may raise.

RuntimeError: it has a password, or asks for a newer unpacker.
"""
Member = tuple[str, Callable[[], Any]]
"""The name of a file in a folder or package, and what opens it."""


def require_size(file: str, unpacked: int) -> None:
    """Stop when more than `MOST_UNPACKED` bytes came out of a file."""
    if unpacked <= MOST_UNPACKED:
        return
    largest = f"{MOST_UNPACKED >> 20:,} MiB"
    raise InputError(
        file,
        f"more than {largest} when unpacked",
        f"at most {largest}",
        "Deliver it unpacked, or in several deliveries.",
    )


def is_archive(path: Path) -> bool:
    """Tell whether a file is a package of files by its name."""
    return _ARCHIVE_FORM.search(path.name) is not None


def holds(path: Path, form: re.Pattern[str]) -> bool:
    """Tell whether there are files of a form in a folder or an archive."""
    return next(_members(path, form), None) is not None


def only_member(path: Path, form: re.Pattern[str]) -> str:
    """Name the only file of a form in an archive; empty without one, or with several.

    A file that is no archive is its own only one.
    """
    names = [name for name, _ in _members(path, form)]
    return names[0] if len(names) == 1 else ""


def content_of(path: Path, form: re.Pattern[str], most: int | None = None) -> bytes:
    """Read a file, unpacked where its name says so.

    Args:
        path: any file.
        form: that of the only such file in an archive.
        most: bytes that are read, from the beginning; None: all.

    Raises:
        InputError: it cannot be unpacked, unpacks to too much, or has not one such
            file.
    """
    if not is_archive(path):
        form = _ANY_FORM
    # A plain file may be larger than what is unpacked.
    limit = max(MOST_UNPACKED, path.stat().st_size)
    contents = contents_in(path, form, most or limit + 1)
    content = contents[0][1] if len(contents) == 1 else None
    if content is None:
        raise InputError(
            path.name,
            "a file that cannot be unpacked, no such file, or several",
            "one whole file of the delivery",
            "Deliver the file itself again, or a package with it alone.",
        )
    return content


def contents_in(
    path: Path, form: re.Pattern[str], most: int = LARGEST + 1
) -> list[tuple[str, bytes | None]]:
    """Read the files of a form in a folder or an archive, or the one that a file is.

    Args:
        path: where they are.
        form: of their names.
        most: bytes that are read of each.

    Returns:
        The name and the unpacked content of each, by name; None for a damaged one.

    Raises:
        InputError: an archive cannot be opened, or unpacks to too much.
    """
    contents: list[tuple[str, bytes | None]] = []
    unpacked = 0
    for name, opened in _members(path, form):
        content = None
        with suppress(*_DAMAGES), opened() as stream:
            if name.lower().endswith(".gz"):
                stream = gzip.GzipFile(fileobj=stream)
            content = stream.read(most)
            unpacked += len(content)
        contents.append((name, content))
        if path.is_file() and unpacked > path.stat().st_size:
            require_size(path.name, unpacked)
    return sorted(contents, key=lambda member: member[0])


def _members(path: Path, form: re.Pattern[str]) -> Iterator[Member]:
    """List files of a form that may be reports, each with what opens it.

    Raises:
        InputError: an archive is damaged.
    """
    try:
        for name, opened in _all_members(path):
            if form.search(name) and not _NO_REPORT.search(name):
                yield name, opened
    except _DAMAGES as error:
        problem = "a package that cannot be opened"
        raise damaged(path.name, problem, error, "a whole package") from None


def _all_members(path: Path) -> Iterator[Member]:
    if path.is_dir() or not is_archive(path):
        folder = path if path.is_dir() else path.parent
        for file in chain([path], path.rglob("*")):
            if not file.is_dir():
                yield file.relative_to(folder).as_posix(), partial(_opened, file)
    elif path.name.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as package:
            for item in package.infolist():
                if not item.is_dir():
                    yield item.filename, partial(package.open, item)
    else:
        with tarfile.open(path, "r|gz") as archive:
            for member in archive:
                if member.isreg():
                    yield member.name, partial(archive.extractfile, member)


def _opened(path: Path) -> Any:
    # Whoever opened a FIFO would wait for somebody who writes.
    if not path.is_file():
        raise FileNotFoundError(path)
    return path.open("rb")
