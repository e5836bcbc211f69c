"""Copies a landed delivery into a folder of the home, unpacked, regular files only.

What was delivered may change, or be exchanged for a link, at any moment: so the copy is
read from then on, and never what lies in the landing folder.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from pathlib import Path

from lunguage_assets.corpus.delivery import is_utf_8
from lunguage_assets.corpus.discovery import layout_of_file
from lunguage_assets.corpus.records import require_size
from lunguage_assets.errors import InputError, damaged, printable
from lunguage_assets.workspace.landed_delivery import (
    TABLE_ENDING,
    LandedDelivery,
    unreadable,
)

_BLOCK_BYTES = 1 << 20


def copy_delivery(delivery: LandedDelivery, folder: Path) -> None:
    """Copy a delivery into a new folder.

    A single file gets the name of what it holds: the same content, packed or named
    otherwise, is the same delivery.

    Raises:
        InputError: a file cannot be used.
        Postponed: a file cannot be read at present.
    """
    folder.mkdir(parents=True)
    unpacked_bytes = 0
    for path in delivery.files:
        name = _name_in_copy(path, delivery)
        is_packed = name.lower().endswith(".gz")
        target = folder / (name[: -len(".gz")] if is_packed else name)
        if target.exists():
            raise InputError(
                path.name,
                found=f"{target.name} in two forms",
                expected="each file once",
                remedy="Remove all but the one to use.",
            )
        copy_file(path, target)
        if is_packed:
            unpacked_bytes += target.stat().st_size
            require_size(path.name, unpacked_bytes)
        if not delivery.is_folder and layout_of_file(target):
            target.rename(target.with_stem("reports"))


def _name_in_copy(path: Path, delivery: LandedDelivery) -> str:
    if delivery.is_folder:
        return path.relative_to(delivery.path).as_posix()
    stem = TABLE_ENDING.sub("", path.name)
    return "Lunguage" + path.name[len(stem) :].lower()


def copy_file(path: Path, target: Path) -> None:
    """Copy a regular file, unpacked; a link is not followed, a FIFO is not waited for.

    Raises:
        InputError: it is no regular file, its name is no UTF-8, or it cannot be
            unpacked.
        Postponed: it cannot be read at present.
    """
    try:
        _require_regular(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy_bytes(path, target)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(
            path.name, "a file that cannot be unpacked", error, "a whole .gz file"
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None


def _require_regular(path: Path) -> None:
    problem = ""
    if not is_utf_8(str(path)):
        problem = "a name that is not UTF-8"
    elif not stat.S_ISREG(path.lstat().st_mode):
        problem = "a link, a FIFO or the like"
    if problem:
        raise InputError(
            printable(path.name),
            found=problem,
            expected="a file of its own",
            remedy="Lay a copy of the file there.",
        )


def _copy_bytes(path: Path, target: Path) -> None:
    # It may have been exchanged since it was looked at, for a link or a FIFO.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as source, target.open("wb") as copy:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it was exchanged")
        is_packed = path.name.lower().endswith(".gz")
        stream = gzip.GzipFile(fileobj=source) if is_packed else source
        while block := stream.read(_BLOCK_BYTES):
            copy.write(block)
            # A small .gz may unpack to terabytes.
            if is_packed:
                require_size(path.name, copy.tell())
