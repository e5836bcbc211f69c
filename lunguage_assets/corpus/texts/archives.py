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
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO

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
    if path.is_dir():
        names = [
            Path(folder, name).relative_to(path).as_posix()
            for folder, _, files in os.walk(path)
            for name in files
        ]
    elif is_archive(path):
        status = path.stat()
        names = _names_in_archive(path, status.st_mtime_ns, status.st_size)
    else:
        names = [path.name]
    return sorted(name for name in names if not _NO_REPORT.search(name))


@lru_cache(maxsize=16)
def _names_in_archive(path: Path, *version: int) -> list[str]:
    """List the files of an archive, once for each version of it."""
    try:
        if _is_zip(path):
            with zipfile.ZipFile(path) as package:
                items = package.infolist()
            names = [item.filename for item in items if not item.is_dir()]
        else:
            names = [name for name, _ in _tar_contents(path, None)]
    except _DAMAGES as error:
        problem = "a package that cannot be opened"
        raise damaged(path.name, problem, error, "a whole package") from None
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


def only_member(path: Path, form: re.Pattern[str]) -> str:
    """Name the only file of a form in an archive; empty without one, or with several.

    A file that is no archive is its own only one.
    """
    if not is_archive(path):
        return path.name if form.search(path.name) else ""
    names = [name for name in names_in(path) if form.search(name)]
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
    name = only_member(path, form) if is_archive(path) else path.name
    if not name:
        problem = "no such file, or several"
        remedy = "Deliver the file itself, or a package with it alone."
        raise InputError(path.name, problem, "one file of the delivery", remedy)
    is_packed = is_archive(path) or name.lower().endswith(".gz")
    limit = most
    if limit is None:
        limit = MOST_UNPACKED + 1 if is_packed else -1
    try:
        if is_archive(path):
            content = dict(_contents(path, [name], limit))[name]
        else:
            content = _read(path.open("rb"), name, limit)
        if content is None:
            raise OSError("a damaged member, or one with a password")
    except _DAMAGES as error:
        problem = "a file that cannot be unpacked"
        raise damaged(path.name, problem, error, "a whole file") from None
    if is_packed and most is None:
        require_size(path.name, len(content))
    return content


def contents_in(
    path: Path, form: re.Pattern[str]
) -> Iterator[tuple[str, bytes | None]]:
    """Read the files of a form in a folder or an archive, or the one that a file is.

    Args:
        path: where they are.
        form: of their names.

    Returns:
        The name and the unpacked content of each, a little more than `LARGEST` at most;
        None for a damaged one.

    Raises:
        InputError: an archive cannot be opened, or unpacks to too much.
    """
    names = list(filter(form.search, names_in(path)))
    if is_archive(path):
        # Archives hold their files in any order.
        yield from sorted(_contents(path, names, LARGEST + 1))
        return
    folder = path if path.is_dir() else path.parent
    for name in names:
        content = None
        with suppress(*_DAMAGES):
            # Whoever opened a FIFO would wait for somebody who writes.
            if (folder / name).is_file():
                content = _read((folder / name).open("rb"), name, LARGEST + 1)
        yield name, content


def _is_zip(path: Path) -> bool:
    return path.name.lower().endswith(".zip")


def _contents(
    path: Path, names: list[str], most: int
) -> Iterator[tuple[str, bytes | None]]:
    """Read some files of an archive, so many bytes of each; None for a damaged one."""
    if not _is_zip(path):
        wanted = set(names)
        for name, content in _tar_contents(path, most):
            if name in wanted:
                yield name, content
        return
    unpacked = 0
    with zipfile.ZipFile(path) as package:
        for name in names:
            content = None
            with suppress(*_DAMAGES):
                content = _read(package.open(name), name, most)
            unpacked += len(content or b"")
            require_size(path.name, unpacked)
            yield name, content


def _read(stream: IO[bytes], name: str, most: int) -> bytes:
    """Read a file; one byte more than is allowed shows that it is too large."""
    with stream:
        if name.lower().endswith(".gz"):
            return gzip.GzipFile(fileobj=stream).read(most)
        return stream.read(most)


def _tar_contents(path: Path, most: int | None) -> Iterator[tuple[str, bytes | None]]:
    """Read the files of a `.tgz`, which has no index, in its order; None: names alone.

    Raises:
        InputError: it is damaged, or unpacks to too much.
    """
    unpacked = 0
    try:
        with tarfile.open(path, "r|gz") as archive:
            for member in archive:
                unpacked += member.size
                require_size(path.name, unpacked)
                stream = archive.extractfile(member) if member.isreg() else None
                if stream is None:
                    continue
                content = None
                # A member that is packed itself may be damaged alone.
                with suppress(gzip.BadGzipFile):
                    if most is not None:
                        content = _read(stream, member.name, most)
                yield member.name, content
    except _DAMAGES as error:
        problem = "an archive that cannot be unpacked"
        raise damaged(path.name, problem, error, "a whole .tgz file") from None
