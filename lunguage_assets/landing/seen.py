"""One look at a path of the landing folder: what lies there, and whether it may be read.

Whoever delivers can lay anything there: a link to another person's file, links in a circle, a FIFO that
blocks whoever opens it. Only regular files inside the landing folder are ever opened. Links are looked at on
local disks; other file systems have none.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from upath import UPath

from lunguage_assets.corpus.delivery import (
    DECLARATION,
    FINDINGS,
    FINDINGS_PARQUET,
    METADATA,
    REPORTS,
    VOCABULARY,
)

_NAMES = (FINDINGS, FINDINGS_PARQUET, VOCABULARY, DECLARATION, METADATA, REPORTS)
_PUBLISHED = {name.lower(): name for name in _NAMES}


class Later(Exception):
    """A delivery cannot be taken in this pass; the message says why."""


@dataclass(frozen=True)
class Seen:
    """A file or folder at one look; `stamp` (size and time) is another one after a change.

    An `oddity` says what is wrong with it, such as a FIFO: it is never opened.
    """

    path: UPath
    is_folder: bool
    modified: float
    stamp: str
    oddity: str = ""

    @property
    def name(self) -> str:
        return readable(self.path.name)

    @property
    def published(self) -> str | None:
        """The published name behind any letter case, with or without `.gz`."""
        return _PUBLISHED.get(self.name.lower().removesuffix(".gz"))


def see(path: UPath, place: UPath) -> Seen | None:
    """What is at a path of the landing folder `place`; None: nothing. No link to a folder is followed."""
    try:
        status, oddity = _looked_at(path.path, place.path) if _is_local(path) else (path.stat(), "")
    except FileNotFoundError:
        return None
    if readable(path.path) != path.path:
        oddity = oddity or "a name that is not UTF-8"
    modified = float(status.st_mtime or getattr(status, "st_birthtime", 0.0))  # some stores know births only
    return Seen(
        path, stat.S_ISDIR(status.st_mode), modified, f"{status.st_size}:{modified!r}{oddity}", oddity
    )


def readable(name: str) -> str:
    """A name with `\\udcff` in the place of a byte that is not UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def inside(folder: UPath, place: UPath) -> list[Seen]:
    """What lies in a folder, by name."""
    found = (seen for path in folder.iterdir() if (seen := see(path, place)) is not None)
    return sorted(found, key=lambda seen: seen.name)


def files_below(top: Sequence[Seen], place: UPath, passed_over: re.Pattern[str] | None = None) -> list[Seen]:
    """All files in the folders among these, at any depth; names of some folders are `passed_over`.

    A folder that was removed meanwhile has none.
    """
    files = []
    for folder in top:
        if folder.is_folder and not (passed_over and passed_over.search(folder.name)):
            with suppress(FileNotFoundError):
                found = inside(folder.path, place)
                files += [file for file in found if not file.is_folder]
                files += files_below(found, place, passed_over)
    return files


def open_seen(file: Seen) -> BinaryIO:
    """The file, for reading.

    Raises:
        Later: it has become something else since it was looked at.
    """
    if not _is_local(file.path):
        return file.path.open("rb")
    descriptor = os.open(file.path.path, os.O_RDONLY | os.O_NONBLOCK)  # a FIFO is opened without waiting
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Later("it changed while it was read")
    return os.fdopen(descriptor, "rb")


def put(path: UPath, content: bytes) -> None:
    """Write a small file, never through a link or into a FIFO that has its name."""
    if _is_local(path) and os.path.lexists(path.path) and not stat.S_ISREG(os.lstat(path.path).st_mode):
        path.unlink()
    path.write_bytes(content)


def move(file: Seen, goal: UPath) -> None:
    """Move a file, or whatever it is, without opening what is odd."""
    if _is_local(file.path):
        shutil.move(file.path.path, goal.path)
    else:  # `UPath.rename` reads a name with brackets as a pattern
        file.path.fs.cp_file(file.path.path, goal.path)
        file.path.fs.rm_file(file.path.path)


def _is_local(path: UPath) -> bool:
    return path.protocol in ("", "file", "local")


def _looked_at(path: str, place: str) -> tuple[os.stat_result, str]:
    """The status of a file, folder, or file behind a link, and what is odd; then the status is its own."""
    status = os.lstat(path)
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return status, ""
    if not stat.S_ISLNK(status.st_mode):
        kinds = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
        return status, next((kind for is_it, kind in kinds if is_it(status.st_mode)), "a device")
    try:
        goal = Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        return status, "a link to nothing"
    except OSError:
        return status, "a link in a circle of links"
    if not goal.is_relative_to(os.path.realpath(place)):
        return status, "a link that leads out of the landing folder"
    behind = goal.stat()
    return (behind, "") if stat.S_ISREG(behind.st_mode) else (status, "a link to something else than a file")
