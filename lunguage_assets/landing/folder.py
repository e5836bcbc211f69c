"""What lies in a landing folder: deliveries, files for all deliveries, and foreign files.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lunguage_assets.corpus.delivery import (
    DECLARATION,
    FINDINGS,
    FINDINGS_PARQUET,
    METADATA,
    REPORTS,
    VOCABULARY,
)
from lunguage_assets.corpus.texts.source import table_holds
from lunguage_assets.corpus.unpacking import Unpacked, require_size
from lunguage_assets.errors import InputError, LunguageError, damaged
from lunguage_assets.home.home import Home
from lunguage_assets.settings import LandingSettings

FOLDER_VARIABLE = "LUNGUAGE_LANDING"
QUARANTINE = "quarantine"
REJECTED_SUFFIX = ".rejected.csv"
_NAMES = (FINDINGS, FINDINGS_PARQUET, VOCABULARY, DECLARATION, METADATA, REPORTS)
_PUBLISHED = {name.lower(): name for name in _NAMES}
_MARKERS_INSIDE = (".done", "_SUCCESS")
_FORM = re.compile(r"(\.csv|\.csv\.gz|\.parquet|\.zip)$", re.IGNORECASE)
_TEXT_FORM = re.compile(r"\.(?:txt|xml)(?:\.gz)?$", re.IGNORECASE)
_TEMPORARY = re.compile(
    r"\.(tmp|temp|part|partial|filepart|crdownload|download|upload|uploading|incomplete|swp)"
    r"(\.csv|\.csv\.gz|\.parquet)?$",
    re.IGNORECASE,
)
_PASSED_OVER = re.compile(rf"^[.~_]|^{QUARANTINE}$|(~|\.done|{re.escape(REJECTED_SUFFIX)})$", re.IGNORECASE)
_KINDS = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}


class LandingUnreachable(LunguageError):
    """The landing folder cannot be read at present."""


class Later(Exception):
    """A delivery cannot be taken in this pass; the message says why."""


@dataclass(frozen=True)
class Seen:
    """A file at one look: its own status, that of a link where it is one."""

    path: Path
    status: os.stat_result

    @property
    def name(self) -> str:
        return readable(self.path.name)

    @property
    def published(self) -> str | None:
        """The published name behind any letter case, with or without `.gz`."""
        return _PUBLISHED.get(self.name.lower().removesuffix(".gz"))

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def oddity(self) -> str:
        """Why it may not be opened, or nothing."""
        if not self.is_folder and not stat.S_ISREG(self.status.st_mode):
            return _KINDS.get(stat.S_IFMT(self.status.st_mode), "a device")
        return "" if readable(str(self.path)) == str(self.path) else "a name that is not UTF-8"

    @property
    def passed_over(self) -> bool:
        return _PASSED_OVER.search(self.name) is not None or _TEMPORARY.search(self.name) is not None

    @property
    def may_hold_reports(self) -> bool:
        is_other = self.published is not None and self.published != REPORTS
        form = _FORM.search(self.name) or _TEXT_FORM.search(self.name)
        return form is not None and not is_other and not self.passed_over


@dataclass(frozen=True)
class Entry:
    """A delivery at one look: the files to take, and all files, hidden ones too, whose growth is a sign of
    writing. A `hindrance` says why it is not complete, however old it is.
    """

    path: Path
    is_folder: bool
    files: tuple[Seen, ...]
    every: tuple[Seen, ...]
    is_marked: bool = False
    hindrance: str = ""

    @property
    def name(self) -> str:
        return readable(self.path.name)

    @property
    def key_name(self) -> str:
        """The name without the ending of a file."""
        return self.name if self.is_folder else _FORM.sub("", self.name)

    @property
    def signature(self) -> str:
        """A hash that changes with every change of its files."""
        parts = (
            f"{one.path.relative_to(self.path.parent)}\0{one.status.st_size}\0{one.status.st_mtime_ns}\n"
            for one in self.every
        )
        return hashlib.sha256(os.fsencode("".join(parts))).hexdigest()[:32]

    @property
    def written(self) -> float:
        """Time of its youngest file."""
        return max((one.status.st_mtime for one in self.every), default=0.0)

    def age(self, now: float) -> float:
        """Seconds since the last change; a copy that keeps the time of a file changes its status."""
        return now - max((max(one.status.st_mtime, one.status.st_ctime) for one in self.every), default=0.0)


@dataclass(frozen=True)
class Listing:
    """Deliveries, the files for all deliveries as one entry, and names of foreign files."""

    entries: list[Entry]
    shared: Entry
    others: list[str]


def readable(name: str) -> str:
    """A name with `\\udcff` in the place of a byte that is not UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def landing_folder(home: Home, settings: LandingSettings) -> Path | None:
    """`$LUNGUAGE_LANDING`, else the option `url`, relative to the home; None: there is no landing folder."""
    written = os.environ.get(FOLDER_VARIABLE, "").strip() or settings.url.strip()
    return home.root / Path(written).expanduser() if written else None


def list_entries(folder: Path) -> Listing:
    """Look at the whole landing folder.

    Raises:
        LandingUnreachable: it is not there, or cannot be read.
    """
    try:
        found = _inside(folder)
    except OSError as error:
        remedy = "Make or mount it, or correct url in [landing]"
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            remedy = f"It cannot be read ({type(error).__name__}). Look at its rights"
        raise LandingUnreachable(f"landing folder {folder}: there is no such folder. {remedy}.") from None
    markers = {one.name: one for one in found if stat.S_ISREG(one.status.st_mode)}
    entries, shared, others = [], [], []
    for one in (one for one in found if not one.passed_over):
        is_file = not one.is_folder and not one.oddity
        if not one.is_folder and one.published in (DECLARATION, VOCABULARY):
            shared.append(one)
        elif is_file and (one.published == METADATA or not _FORM.search(one.name)):
            others.append(one.name)
        else:
            entries.append(_entry(one, markers.get(f"{one.name}.done")))
    return Listing(entries, Entry(folder, True, tuple(shared), tuple(shared)), others)


def look_again(entry: Entry) -> None:
    """Raises:
    Later: a delivery is not what it was, or not there.
    """
    try:
        now = _entry(Seen(entry.path, entry.path.lstat()), None)
    except OSError:
        now = None
    if now is None or now.signature != entry.signature:
        raise Later("it changed while it was read")


def _inside(folder: Path) -> list[Seen]:
    """What lies in a folder, by name; what goes meanwhile is left out."""
    found = []
    for path in sorted(folder.iterdir()):
        with contextlib.suppress(FileNotFoundError):
            found.append(Seen(path, path.lstat()))
    return found


def _files_below(found: Sequence[Seen]) -> Iterator[Seen]:
    """All files in the folders among these, at any depth; hidden folders are passed over."""
    for one in found:
        if one.is_folder and not one.passed_over:
            inside = _inside(one.path)
            yield from (file for file in inside if not file.is_folder)
            yield from _files_below(inside)


def _entry(seen: Seen, marker: Seen | None) -> Entry:
    if not seen.is_folder:
        is_marked = marker is not None and marker.status.st_mtime >= seen.status.st_mtime
        return Entry(seen.path, False, (seen,), (seen,), is_marked)
    try:
        top = _inside(seen.path)
        own = [one for one in top if not one.is_folder]
        has_findings = any(one.published in (FINDINGS, FINDINGS_PARQUET) for one in own)
        deeper = [] if has_findings else list(_files_below(top))
    except OSError:
        return Entry(seen.path, True, (), (), hindrance="it cannot be read")
    marker = next((one for one in own if one.name in _MARKERS_INSIDE), marker)
    own = [one for one in own if one.name not in _MARKERS_INSIDE]
    every = (*own, *deeper)
    is_marked = marker is not None and all(marker.status.st_mtime >= one.status.st_mtime for one in every)
    if odd := tuple(one for one in every if one.oddity and not one.passed_over):
        return Entry(seen.path, True, odd, every, is_marked)
    files = tuple(one for one in own if one.published or (not has_findings and one.may_hold_reports))
    files += tuple(one for one in deeper if _TEXT_FORM.search(one.name))
    hindrance = ""
    if marker is None and not has_findings and not any(one.may_hold_reports for one in files):
        hindrance = f"there is no {FINDINGS} and no raw report in it"
    elif marker is None and any(_TEMPORARY.search(one.name) for one in every):
        hindrance = "a file in it has a temporary name"
    return Entry(seen.path, True, files, every, is_marked, hindrance)


def fetch(entry: Entry, folder: Path) -> dict[str, str]:
    """Copy a delivery into an empty folder under the published names; these -> delivered names.

    Packed files are unpacked, so that the same content packed twice is the same delivery.

    Raises:
        InputError: something in it may not be opened, a packed file is damaged or unpacks to too much, or one
            file comes in two forms.
        Later: a file cannot be read.
    """
    folder.mkdir(parents=True)
    originals, unpacked = dict[str, str](), 0
    for file in entry.files:
        if file.oddity:
            raise InputError(file.name, file.oddity, "a file of its own", "Lay a copy of the file there.")
        target = folder / _fetched_name(entry, file)
        if target.exists():
            remedy = "Remove all but the one to use."
            raise InputError(file.name, f"{target.name} in two forms", "each file once", remedy)
        _copy(file, target)
        if file.name.lower().endswith(".gz"):
            unpacked += target.stat().st_size
            require_size(file.name, unpacked)
        if not entry.is_folder and table_holds(target) in ("reports", "open-i"):
            target = target.rename(target.with_stem("reports"))
        originals[target.relative_to(folder).as_posix()] = file.name
    return originals


def _copy(file: Seen, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _opened(file.path) as source, target.open("wb") as copy:
            packed = file.name.lower().endswith(".gz")
            shutil.copyfileobj(Unpacked(source, file.name) if packed else source, copy)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(file.name, "a file that cannot be unpacked", error, "a whole .gz file") from None
    except OSError as error:
        raise Later(f"it cannot be read at present ({type(error).__name__})") from None


def _opened(path: Path) -> BinaryIO:
    """A regular file; what has become a link or a FIFO since the look is neither followed nor waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Later("it changed while it was read")
    return os.fdopen(descriptor, "rb")


def _fetched_name(entry: Entry, file: Seen) -> str:
    """Its published name, in a folder else its own without `.gz`."""
    if not entry.is_folder:  # it may be called anything: findings, until it is read
        forms = {".parquet": FINDINGS_PARQUET, ".zip": "mimic-cxr-reports.zip"}
        return forms.get(file.path.suffix.lower(), FINDINGS)
    own = file.path.relative_to(entry.path).as_posix()
    return file.published or (own[: -len(".gz")] if own.lower().endswith(".gz") else own)
