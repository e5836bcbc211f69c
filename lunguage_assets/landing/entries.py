"""What lies in a landing folder: deliveries, their markers, files for all deliveries, and foreign files.

The folder may be on any fsspec file system. So nothing here relies on renames, on locks, or on empty folders.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from upath import UPath

from lunguage_assets.corpus.delivery import (
    DECLARATION,
    FINDINGS,
    FINDINGS_PARQUET,
    METADATA,
    REPORTS,
    VOCABULARY,
)
from lunguage_assets.errors import LunguageError
from lunguage_assets.home.home import Home
from lunguage_assets.settings import LandingSettings

URL_VARIABLE = "LUNGUAGE_LANDING"
QUARANTINE = "quarantine"
REJECTED_SUFFIX = ".rejected.csv"
_MARKERS_INSIDE = (".done", "_SUCCESS")
_FORM = re.compile(r"(\.csv|\.csv\.gz|\.parquet|\.zip)$", re.IGNORECASE)
_TEXT_FORM = re.compile(r"\.(?:txt|xml)(?:\.gz)?$", re.IGNORECASE)
_TEMPORARY = re.compile(
    r"\.(tmp|temp|part|partial|filepart|crdownload|download|upload|uploading|incomplete|swp)"
    r"(\.csv|\.csv\.gz|\.parquet)?$",
    re.IGNORECASE,
)
_PASSED_OVER = re.compile(rf"^[.~_]|^{QUARANTINE}$|(~|\.done|{re.escape(REJECTED_SUFFIX)})$", re.IGNORECASE)
_NAMES = (FINDINGS, FINDINGS_PARQUET, VOCABULARY, DECLARATION, METADATA, REPORTS)
_PUBLISHED = {name.lower(): name for name in _NAMES}


class LandingUnreachable(LunguageError):
    """The landing folder cannot be read at present."""


class Later(Exception):
    """A delivery cannot be taken in this pass; the message says why."""


@dataclass(frozen=True)
class Seen:
    """A file or folder at one look; `stamp` (size and time) is another one after a change."""

    path: UPath
    is_folder: bool
    modified: float
    stamp: str

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def published(self) -> str | None:
        """The published name behind any letter case, with or without `.gz`."""
        return _PUBLISHED.get(self.name.lower().removesuffix(".gz"))


@dataclass(frozen=True)
class Entry:
    """A delivery, one file or a folder; `signature` changes with every change of its files.

    A `hindrance` says why it is not complete, however long it lies unchanged.
    """

    name: str
    path: UPath
    is_folder: bool
    files: tuple[Seen, ...]
    signature: str
    marker: Seen | None = None
    hindrance: str = ""

    @property
    def key_name(self) -> str:
        """The name without the ending of a file."""
        return self.name if self.is_folder else _FORM.sub("", self.name)

    @property
    def modified(self) -> float:
        """The time of its youngest file."""
        return max((file.modified for file in self.files), default=0.0)

    @property
    def is_marked(self) -> bool:
        """A marker older than a file belongs to an earlier delivery of the same name."""
        return self.marker is not None and self.marker.modified >= self.modified


@dataclass(frozen=True)
class Listing:
    """Deliveries, the files for all deliveries as one entry, and names of foreign files."""

    entries: list[Entry]
    shared: Entry
    others: list[str]


def landing_url(home: Home, settings: LandingSettings) -> str | None:
    """`$LUNGUAGE_LANDING`, else the option `url`, relative to the home; None: there is no landing folder."""
    written = os.environ.get(URL_VARIABLE, "").strip() or settings.url.strip()
    if not written:
        return None
    return written if "://" in written else str(home.root / Path(written).expanduser())


def shown(url: str) -> str:
    """An address without its password."""
    return re.sub(r"//[^/@]*@", "//", url).rstrip("/")


def list_entries(url: str) -> Listing:
    """Look at the whole landing folder.

    Raises:
        LandingUnreachable: it is not there, or cannot be read.
    """
    problem = "there is no such folder. Make or mount it, or correct url in [landing]"
    try:
        root = UPath(url)
        root.fs.invalidate_cache()
        if root.is_dir():
            found, problem = _inside(root), ""
    except (ImportError, ValueError):
        problem = "no file system for this address. Correct it, or install its package, such as s3fs"
    except Exception as error:  # every file system has errors of its own
        problem = f"it cannot be read ({type(error).__name__}). Look at its rights"
    if problem:
        raise LandingUnreachable(f"landing folder {shown(url)}: {problem}.")
    markers = {seen.name: seen for seen in found if seen.name.endswith(".done")}
    found = [seen for seen in found if not (_PASSED_OVER.search(seen.name) or _TEMPORARY.search(seen.name))]
    files = [seen for seen in found if not seen.is_folder]
    shared = tuple(file for file in files if file.published in (DECLARATION, VOCABULARY))
    others = [file for file in files if file.published == METADATA or not _FORM.search(file.name)]
    others = [file for file in others if file not in shared]
    return Listing(
        [_entry(seen, markers.get(f"{seen.name}.done")) for seen in found if seen not in (*shared, *others)],
        Entry("", root, True, shared, _signature(shared)),
        [file.name for file in others],
    )


def see(path: UPath) -> Seen | None:
    """What is at a path; links are followed."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    modified = float(status.st_mtime or getattr(status, "st_birthtime", 0.0))  # some stores know births only
    return Seen(path, stat.S_ISDIR(status.st_mode), modified, f"{status.st_size}:{modified!r}")


def has_changed(entry: Entry) -> bool:
    """Whether a delivery is not what it was, or not there."""
    entry.path.fs.invalidate_cache()
    seen = see(entry.path)
    return seen is None or _entry(seen, None).signature != entry.signature


def _inside(folder: UPath) -> list[Seen]:
    return sorted(
        (seen for path in folder.iterdir() if (seen := see(path)) is not None), key=lambda seen: seen.name
    )


def _entry(seen: Seen, marker: Seen | None) -> Entry:
    if not seen.is_folder:
        return Entry(seen.name, seen.path, False, (seen,), _signature([seen]), marker)
    try:
        inside = [file for file in _inside(seen.path) if not file.is_folder]
        has_findings = any(file.published in (FINDINGS, FINDINGS_PARQUET) for file in inside)
        below = [] if has_findings else _below(seen.path)
    except Exception:  # every file system has errors of its own
        return Entry(seen.name, seen.path, True, (), "", None, "it cannot be read")
    marker = next((file for file in inside if file.name in _MARKERS_INSIDE), marker)
    content = [file for file in inside if file.name not in _MARKERS_INSIDE]
    files = tuple(file for file in content if file.published is not None or (not has_findings and _raw(file)))
    files += tuple(file for file in below if _TEXT_FORM.search(file.name))
    hindrance = ""
    if marker is None and not has_findings and not any(_raw(file) for file in files):
        hindrance = f"there is no {FINDINGS} and no raw report in it"
    elif marker is None and any(_TEMPORARY.search(file.name) for file in (*content, *below)):
        hindrance = "a file in it has a temporary name"
    return Entry(seen.name, seen.path, True, files, _signature([*content, *below]), marker, hindrance)


def _raw(file: Seen) -> bool:
    """Whether raw reports may be in a file: texts, packages, and tables that are none of the other files."""
    is_other = file.published is not None and file.published != REPORTS
    form = _FORM.search(file.name) or _TEXT_FORM.search(file.name)
    return form is not None and not is_other and not _hidden(file)


def _hidden(file: Seen) -> bool:
    return _PASSED_OVER.search(file.name) is not None or _TEMPORARY.search(file.name) is not None


def _below(folder: UPath) -> list[Seen]:
    """Files in the folders of a folder, at any depth."""
    found = []
    for seen in _inside(folder):
        if seen.is_folder and not _PASSED_OVER.search(seen.name):
            found += [file for file in _inside(seen.path) if not file.is_folder]
            found += _below(seen.path)
    return found


def _signature(files: Sequence[Seen]) -> str:
    """Over all files, hidden ones too: growth of any of them is a sign of writing."""
    stamps = "\n".join(f"{file.name}\0{file.stamp}" for file in files)
    return hashlib.sha256(stamps.encode()).hexdigest()[:32]
