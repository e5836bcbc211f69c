"""Files of one report each, in a folder's tree or in a `.zip`, in the order of their names: text files in
MIMIC-CXR's own tree (`files/p10/p10000032/s50414267.txt`) or any other, and XML files.

Hidden files, and those that data sets carry beside their reports (a licence, checksums), are no reports.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import IO

from lunguage_assets.corpus.texts.raw import LARGEST
from lunguage_assets.corpus.unpacking import MOST_ENTRIES, require_size
from lunguage_assets.errors import InputError, damaged

TEXT_FORM = re.compile(r"\.txt(?:\.gz)?$", re.IGNORECASE)
XML_FORM = re.compile(r"\.xml(?:\.gz)?$", re.IGNORECASE)
_HIDDEN = re.compile(r"(?:^|/)(?:[~_]|\.(?!\.?/))")
_NO_REPORT = re.compile(
    r"(?:^|/)(?:licen[cs]e|readme|sha256sums|md5sums|checksums|changes|changelog|index|records|notes)"
    r"\.(?:txt|xml)(?:\.gz)?$",
    re.IGNORECASE,
)


def names_in(place: Path, form: re.Pattern[str]) -> list[str]:
    """Names of all reports of a form in a folder or a `.zip`, relative to it, sorted.

    Raises:
        InputError: the package is damaged.
    """
    return sorted(_names(place, form))


def has_any(place: Path, form: re.Pattern[str]) -> bool:
    """Whether there is a report of this form; the search ends with the first one."""
    return next(_names(place, form), None) is not None


def contents(place: Path, names: list[str]) -> Iterator[tuple[str, bytes | None]]:
    """Each file's name and its unpacked bytes, a little more than `LARGEST` at most; None: it is damaged.

    Nothing is written: a name in a package is only a name, whatever folder it points to.

    Raises:
        InputError: more than `MOST_UNPACKED` bytes were packed.
    """
    unpacked = 0
    with zipfile.ZipFile(place) if place.is_file() else nullcontext() as package:
        for name in names:
            content = _content(name, package or place)
            if content is not None and (package is not None or _is_packed(name)):
                unpacked += len(content)
                require_size(place.name, unpacked)
            yield name, content


def _opened(name: str, place: Path | zipfile.ZipFile) -> IO[bytes]:
    """A regular file of a folder, or a member of a package.

    Members that are packed otherwise than usual are not read: their unpacking cannot be stopped half-way.
    """
    if isinstance(place, Path):
        descriptor = os.open(place / name, os.O_RDONLY | os.O_NONBLOCK)  # a FIFO is opened without waiting
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError("no file")
        return os.fdopen(descriptor, "rb")
    if place.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile("packed otherwise than usual")
    return place.open(name)


def _content(name: str, place: Path | zipfile.ZipFile) -> bytes | None:
    try:
        with _opened(name, place) as stream:
            return (gzip.GzipFile(fileobj=stream) if _is_packed(name) else stream).read(LARGEST + 1)
    except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, RuntimeError):
        return None  # RuntimeError: it has a password, or says that it needs a newer unpacker


def _is_packed(name: str) -> bool:
    return name.lower().endswith(".gz")


def _names(place: Path, form: re.Pattern[str]) -> Iterator[str]:
    for name in _in_package(place) if place.is_file() else _in_tree(place):
        if form.search(name) and not _HIDDEN.search(name) and not _NO_REPORT.search(name):
            yield name


def _in_tree(folder: Path) -> Iterator[str]:
    """All files; links to folders are followed, each folder is looked into once."""
    seen = set[tuple[int, int]]()
    for place, folders, files in os.walk(folder, followlinks=True):
        with suppress(OSError):  # removed meanwhile
            status = Path(place).stat()
            if (status.st_dev, status.st_ino) in seen:
                folders.clear()
                continue
            seen.add((status.st_dev, status.st_ino))
        folders.sort()
        inside = PurePosixPath(Path(place).relative_to(folder).as_posix())
        yield from (str(inside / name) for name in sorted(files))


def _in_package(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as package:
            names = [item.filename for item in package.infolist() if not item.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise damaged(path.name, "a package that cannot be opened", error, "a whole .zip file") from None
    if len(names) > MOST_ENTRIES:
        expected, remedy = f"at most {MOST_ENTRIES:,}", "Deliver it in several packages."
        raise InputError(path.name, f"{len(names):,} files in one package", expected, remedy)
    return names
