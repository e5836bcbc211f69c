"""What lies in a landing folder, and how a delivery is copied out of it.

Whoever delivers can lay anything there: a link to another person's file, a FIFO that blocks whoever opens it.
Only regular files are ever opened.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lunguage_assets.corpus.delivery import DECLARATION, FINDINGS, FINDINGS_PARQUET, METADATA, VOCABULARY
from lunguage_assets.corpus.texts.source import table_holds
from lunguage_assets.corpus.unpacking import Unpacked, require_size
from lunguage_assets.errors import InputError, LunguageError, damaged
from lunguage_assets.home.home import Home
from lunguage_assets.settings import LandingSettings

FOLDER_VARIABLE = "LUNGUAGE_LANDING"
QUARANTINE = "quarantine"
REJECTED_SUFFIX = ".rejected.csv"
FOR_ALL = (DECLARATION, VOCABULARY)
"""Files that may lie beside deliveries, for all that have none of their own."""
_MARKERS_INSIDE = (".done", "_SUCCESS")
_TABLE = re.compile(r"\.(?:csv|csv\.gz|parquet|zip)$", re.IGNORECASE)
_TAKEN = re.compile(r"\.(?:csv|parquet|zip|txt|xml|csv\.gz|txt\.gz|xml\.gz)$|^corpus\.toml$", re.IGNORECASE)
_PASSED_OVER = re.compile(
    rf"^[.~_]|^{QUARANTINE}$|(?:~|\.done|{re.escape(REJECTED_SUFFIX)})$"
    r"|\.(?:te?mp|part|partial|filepart|crdownload|download|upload|uploading|incomplete|swp)"
    r"(?:\.csv|\.csv\.gz|\.parquet)?$",
    re.IGNORECASE,
)


class LandingUnreachable(LunguageError):
    """The landing folder cannot be read at present."""


class Later(Exception):
    """A delivery cannot be taken in this pass; the message says why."""


@dataclass(frozen=True)
class Entry:
    """A delivery at one look: a file, or a folder with its files at any depth.

    Args:
        path: the file or folder.
        is_folder: which of the two it is.
        files: those to take.
        odd: name of a file in it that may not be opened, and why.
        signature: a hash that changes with every change of its files, hidden ones among them.
        written: time of the youngest file.
        changed: the same, but of a copy that keeps the time of a file the time of the copying.
        is_marked: whether a marker says that it is complete; an older one is of an earlier delivery.
    """

    path: Path
    is_folder: bool
    files: tuple[Path, ...]
    odd: tuple[str, str] | None
    signature: str
    written: float
    changed: float
    is_marked: bool

    @property
    def name(self) -> str:
        return readable(self.path.name)

    @property
    def key_name(self) -> str:
        """The name without the ending of a file."""
        return self.name if self.is_folder else _TABLE.sub("", self.name)

    @property
    def is_begun_only(self) -> bool:
        """Whether neither findings nor reports lie in it, so that it is still to come."""
        beside = {name.lower() for name in (*FOR_ALL, METADATA)}
        return not self.odd and all(path.name.lower().removesuffix(".gz") in beside for path in self.files)


def readable(name: str) -> str:
    """A name with `\\udcff` in the place of a byte that is not UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def landing_folder(home: Home, settings: LandingSettings) -> Path | None:
    """`$LUNGUAGE_LANDING`, else the option `url`, relative to the home; None: there is no landing folder."""
    written = os.environ.get(FOLDER_VARIABLE, "").strip() or settings.url.strip()
    return home.root / Path(written).expanduser() if written else None


def list_entries(folder: Path) -> tuple[list[Entry], Entry, list[str]]:
    """The deliveries, the files for all of them as one entry, and names of foreign files.

    Raises:
        LandingUnreachable: the folder is not there, or cannot be read.
    """
    try:
        found = [path for path in sorted(folder.iterdir()) if not _PASSED_OVER.search(readable(path.name))]
    except OSError as error:
        raise LandingUnreachable(
            f"landing folder {folder}: it is not there or cannot be read ({type(error).__name__}). Make or "
            "mount it, look at its rights, or correct url in [landing]."
        ) from None
    shared = [path for path in found if path.name in FOR_ALL]
    entries, others = list[Entry](), list[str]()
    for path in found:
        if path in shared:
            continue
        with contextlib.suppress(FileNotFoundError):
            entry = look(path)
            if entry.is_folder or entry.odd or (_TABLE.search(entry.name) and not entry.is_begun_only):
                entries.append(entry)
            else:
                others.append(entry.name)
    return entries, _entry(folder, True, shared), others


def look(path: Path) -> Entry:
    """Look at a delivery.

    Raises:
        FileNotFoundError: it is not there any more.
    """
    is_folder = stat.S_ISDIR(path.lstat().st_mode)
    return _entry(path, is_folder, _files_below(path) if is_folder else [path])


def _files_below(folder: Path) -> list[Path]:
    """All files, and links whatever they point to; hidden folders are passed over."""
    found = list[Path]()
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = [name for name in folders if name not in links and not _PASSED_OVER.search(name)]
        found += [Path(place, name) for name in (*links, *files)]
    return sorted(found)


def _entry(path: Path, is_folder: bool, inside: Iterable[Path]) -> Entry:
    markers = [path.with_name(f"{path.name}.done"), *(path / name for name in _MARKERS_INSIDE)]
    statuses = dict[Path, os.stat_result]()
    for one in {**dict.fromkeys(inside), markers[0]: None}:
        with contextlib.suppress(FileNotFoundError):
            statuses[one] = one.lstat()
    marked = [statuses.pop(marker).st_mtime for marker in markers if marker in statuses]
    seen = [one for one in statuses if one == path or not _PASSED_OVER.search(readable(one.name))]
    written = max((status.st_mtime for status in statuses.values()), default=0.0)
    signed = (
        f"{one.relative_to(path.parent)}\0{status.st_size}\0{status.st_mtime_ns}\n"
        for one, status in statuses.items()
    )
    return Entry(
        path,
        is_folder,
        tuple(one for one in seen if not is_folder or _TAKEN.search(one.name)),
        next((odd for one in seen if (odd := _oddity(one, statuses[one]))), None),
        hashlib.sha256(os.fsencode("".join(signed))).hexdigest()[:32],
        written,
        max([written, *(status.st_ctime for status in statuses.values())]),
        any(time >= written for time in marked),
    )


def _oddity(path: Path, status: os.stat_result) -> tuple[str, str] | None:
    if not stat.S_ISREG(status.st_mode):
        return readable(path.name), "a link, a FIFO or the like"
    return None if readable(str(path)) == str(path) else (readable(path.name), "a name that is not UTF-8")


def fetch(entry: Entry, folder: Path) -> dict[str, str]:
    """Copy a delivery into an empty folder, each file unpacked, so that the same content packed twice is the
    same delivery; a single file gets the name of what it holds. Returns these names -> delivered names.

    Raises:
        InputError: something in it may not be opened, a packed file is damaged or unpacks to too much, or one
            file comes in two forms.
        Later: a file cannot be read.
    """
    if entry.odd:
        raise InputError(*entry.odd, "a file of its own", "Lay a copy of the file there.")
    folder.mkdir(parents=True)
    originals, unpacked = dict[str, str](), 0
    for path in entry.files:
        own = path.relative_to(entry.path).as_posix() if entry.is_folder else _stored_name(path)
        is_packed = own.lower().endswith(".gz")
        target = folder / (own[: -len(".gz")] if is_packed else own)
        if target.exists():
            found, remedy = f"{target.name} in two forms", "Remove all but the one to use."
            raise InputError(path.name, found, "each file once", remedy)
        _copy(path, target)
        if is_packed:
            unpacked += target.stat().st_size
            require_size(path.name, unpacked)
        if not entry.is_folder and table_holds(target) in ("reports", "open-i"):
            target = target.rename(target.with_stem("reports"))
        originals[target.relative_to(folder).as_posix()] = path.name
    return originals


def _stored_name(path: Path) -> str:
    """The name of a single file, which may be called anything: findings, until it is read."""
    forms = {".parquet": FINDINGS_PARQUET, ".zip": "mimic-cxr-reports.zip", ".gz": f"{FINDINGS}.gz"}
    return forms.get(path.suffix.lower(), FINDINGS)


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    is_packed = path.name.lower().endswith(".gz")
    try:
        with _opened(path) as source, target.open("wb") as copy:
            shutil.copyfileobj(Unpacked(source, path.name) if is_packed else source, copy)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(path.name, "a file that cannot be unpacked", error, "a whole .gz file") from None
    except OSError as error:
        raise Later(f"it cannot be read at present ({type(error).__name__})") from None


def _opened(path: Path) -> BinaryIO:
    """A regular file; what has become a link or a FIFO since the look is neither followed nor waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Later("it changed while it was read")
    return os.fdopen(descriptor, "rb")
