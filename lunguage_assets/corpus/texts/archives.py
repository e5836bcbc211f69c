"""Opens files wherever they lie: a folder, a `.zip`, a `.tgz`, a `.gz`.

Files of one report each come in the order of their names, whatever they are packed in.
Hidden files, and those that data sets carry beside their reports (a licence,
checksums), are no reports. A package may hold one table or JSON file instead
(`master_table.csv.zip`).
"""

from __future__ import annotations

import gzip
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, Any

from lunguage_assets.corpus.texts.raw import LARGEST
from lunguage_assets.errors import InputError, damaged

MOST_UNPACKED = 1 << 30
"""Bytes that are unpacked of one file or package, or of all `.gz` files that land.

All reports of MIMIC-CXR are a fifth of it.
"""
TEXT_FORM = re.compile(r"\.txt(?:\.gz)?$", re.IGNORECASE)
XML_FORM = re.compile(r"\.xml(?:\.gz)?$", re.IGNORECASE)
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


def names_in(path: Path) -> list[str]:
    """Name the files of a folder or an archive, or the one that a file is, in order.

    Raises:
        InputError: an archive cannot be opened, or has two files of one name.
    """
    if not is_archive(path):
        return _names(path)
    status = path.stat()
    return _names_in_archive(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _names_in_archive(path: Path, *version: int) -> list[str]:
    """List the files of an archive, once for each version of it."""
    return _names(path)


def _names(path: Path) -> list[str]:
    names = sorted(name for name, _ in _members(path))
    repeated = len(names) - len(set(names))
    if repeated:
        raise InputError(
            path.name,
            f"{repeated} files whose name another file has",
            "every name once in a package",
            "Pack the files into a new package, each under its own name.",
        )
    return names


def only_member(path: Path, form: re.Pattern[str]) -> str:
    """Name the only file of a form in an archive; empty without one, or with several.

    A file that is no archive is its own only one.
    """
    names = [path.name]
    if is_archive(path):
        names = names_in(path)
    of_form = list(filter(form.search, names))
    return of_form[0] if len(of_form) == 1 else ""


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
    only_name = path.name
    if is_archive(path):
        only_name = only_member(path, form)
    # A plain file may be larger than what is unpacked.
    limit = max(MOST_UNPACKED, path.stat().st_size)
    for name, opened in _members(path):
        if name == only_name:
            try:
                content = _read(opened(), name, most or limit + 1)
            except _DAMAGES as error:
                problem = "a file that cannot be unpacked"
                raise damaged(path.name, problem, error, "a whole file") from None
            if len(content) > limit:
                require_size(path.name, len(content))
            return content
    problem = "no such file, or several"
    remedy = "Deliver the file itself, or a package with it alone."
    raise InputError(path.name, problem, "one file of the delivery", remedy)


def contents_in(path: Path, form: re.Pattern[str]) -> list[tuple[str, bytes | None]]:
    """Read the files of a form in a folder or an archive, or the one that a file is.

    Args:
        path: where they are.
        form: of their names.

    Returns:
        The name and the unpacked content of each, by name, a little more than `LARGEST`
        at most; None for a damaged one.

    Raises:
        InputError: an archive cannot be opened, or unpacks to too much.
    """
    contents: dict[str, bytes | None] = {}
    unpacked = 0
    for name, opened in _members(path):
        if form.search(name):
            contents[name] = None
            with suppress(*_DAMAGES):
                content = _read(opened(), name, LARGEST + 1)
                contents[name] = content
                unpacked += len(content)
            if is_archive(path):
                require_size(path.name, unpacked)
    return sorted(contents.items())


def _members(path: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """List files that may be reports, each with what opens it.

    Raises:
        InputError: an archive is damaged, or unpacks to too much.
    """
    try:
        for name, opened in _all_members(path):
            if not _NO_REPORT.search(name):
                yield name, opened
    except _DAMAGES as error:
        problem = "a package that cannot be opened"
        raise damaged(path.name, problem, error, "a whole package") from None


def _all_members(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    if path.is_dir():
        for folder, _, names in os.walk(path):
            for name in names:
                file = Path(folder, name)
                yield file.relative_to(path).as_posix(), partial(_opened, file)
    elif not is_archive(path):
        yield path.name, partial(_opened, path)
    elif path.name.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as package:
            for item in package.infolist():
                if not item.filename.endswith("/"):
                    yield item.filename, partial(package.open, item)
    else:
        unpacked = 0
        with tarfile.open(path, "r|gz") as archive:
            for member in archive:
                unpacked += member.size
                require_size(path.name, unpacked)
                if member.isreg():
                    yield member.name, partial(archive.extractfile, member)


def _opened(path: Path) -> IO[bytes]:
    # Whoever opened a FIFO would wait for somebody who writes.
    if not path.is_file():
        raise FileNotFoundError(path)
    return path.open("rb")


def _read(stream: IO[bytes], name: str, most: int) -> bytes:
    """Read a file; one byte more than is allowed shows that it is too large."""
    with stream:
        if name.lower().endswith(".gz"):
            return gzip.GzipFile(fileobj=stream).read(most)
        return stream.read(most)
