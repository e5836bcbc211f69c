"""Files of one report each, in a folder's tree, a `.zip` or a `.tgz`.

They come in the order of their names, whatever they are packed in. Hidden files, and
those that data sets carry beside their reports (a licence, checksums), are no reports.
"""

from __future__ import annotations

import gzip
import os
import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from lunguage_assets.corpus.packages import (
    DAMAGES,
    is_package,
    names_in_package,
    open_member,
)
from lunguage_assets.corpus.records import require_size
from lunguage_assets.corpus.texts.raw import LARGEST
from lunguage_assets.errors import damaged

TEXT_FORM = re.compile(r"\.txt(?:\.gz)?$", re.IGNORECASE)
XML_FORM = re.compile(r"\.xml(?:\.gz)?$", re.IGNORECASE)
_TAR_FORM = re.compile(r"\.(?:tgz|tar\.gz)$", re.IGNORECASE)
_NO_REPORT = re.compile(
    r"(?:^|/)(?:[~_]|\.(?!\.?/))"
    r"|(?:^|/)(?:licen[cs]e|readme|sha256sums|md5sums|checksums|changes|changelog|"
    r"index|records|notes)\.(?:txt|xml)(?:\.gz)?$",
    re.IGNORECASE,
)


def is_archive(path: Path) -> bool:
    """Tell whether a file is a package of files by its name."""
    return is_package(path) or _TAR_FORM.search(path.name) is not None


def names_in(path: Path) -> list[str]:
    """Name the files of a folder or an archive, or the one that a file is.

    Raises:
        InputError: an archive cannot be opened, or has too many files.
    """
    if path.is_dir():
        names = list(_names_in_tree(path))
    elif is_package(path):
        names = names_in_package(path)
    elif is_archive(path):
        names = [name for name, _ in _tar_members(path)]
    else:
        names = [path.name]
    return sorted(name for name in names if not _NO_REPORT.search(name))


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
    if is_archive(path) and not is_package(path):
        # It has no index: all is read, and sorted afterwards.
        contents = dict(_tar_members(path))
        for name in filter(form.search, sorted(contents)):
            if not _NO_REPORT.search(name):
                yield name, contents[name]
        return
    unpacked = 0
    package = zipfile.ZipFile(path) if is_package(path) else None
    folder = path if path.is_dir() else path.parent
    for name in filter(form.search, names_in(path)):
        content = None
        with suppress(*DAMAGES):
            if package is not None:
                content = _read(open_member(package, name), name)
            # Whoever opened a FIFO would wait for somebody who writes.
            elif (folder / name).is_file():
                content = _read((folder / name).open("rb"), name)
        if package is not None:
            unpacked += len(content or b"")
            require_size(path.name, unpacked)
        yield name, content


def _read(stream: IO[bytes], name: str) -> bytes:
    """Read a report; one byte more shows that it is too large to be one."""
    with stream:
        if name.lower().endswith(".gz"):
            return gzip.GzipFile(fileobj=stream).read(LARGEST + 1)
        return stream.read(LARGEST + 1)


def _tar_members(path: Path) -> Iterator[tuple[str, bytes | None]]:
    """Read the files of a packed archive, in its order."""
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
                    content = _read(stream, member.name)
                yield member.name, content
    except (*DAMAGES, tarfile.TarError) as error:
        problem = "an archive that cannot be unpacked"
        raise damaged(path.name, problem, error, "a whole .tgz file") from None


def _names_in_tree(folder: Path) -> Iterator[str]:
    for subfolder, _, files in os.walk(folder):
        for name in files:
            yield Path(subfolder, name).relative_to(folder).as_posix()
