"""What lies in a landing folder: deliveries, their markers, files for all deliveries, and foreign files.

The folder may be on any fsspec file system. So nothing here relies on renames, on locks, or on empty folders.
"""

from __future__ import annotations

import hashlib
import os
import re
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
from lunguage_assets.landing.seen import Seen, files_below, inside, see
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


class LandingUnreachable(LunguageError):
    """The landing folder cannot be read at present."""


@dataclass(frozen=True)
class Entry:
    """A delivery, one file or a folder; `signature` changes with every change of its files.

    A `hindrance` says why it is not complete, however long it lies unchanged. Where something in it may not
    be opened, the `files` are these alone.
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
            found, problem = inside(root, root), ""
    except (ImportError, ValueError):
        problem = "no file system for this address. Correct it, or install its package, such as s3fs"
    except Exception as error:  # every file system has errors of its own
        problem = f"it cannot be read ({type(error).__name__}). Look at its rights"
    if problem:
        raise LandingUnreachable(f"landing folder {shown(url)}: {problem}.")
    markers = {seen.name: seen for seen in found if seen.name.endswith(".done")}
    found = [seen for seen in found if not _hidden(seen)]
    files = [seen for seen in found if not seen.is_folder]
    shared = tuple(file for file in files if file.published in (DECLARATION, VOCABULARY))
    others = [file for file in files if file.published == METADATA or not _FORM.search(file.name)]
    others = [file for file in others if file not in shared and not file.oddity]
    passed = {file.name for file in (*shared, *others)}
    return Listing(
        [_entry(seen, markers.get(f"{seen.name}.done"), root) for seen in found if seen.name not in passed],
        Entry("", root, True, shared, _signature(shared)),
        [file.name for file in others],
    )


def has_changed(entry: Entry) -> bool:
    """Whether a delivery is not what it was, or not there."""
    entry.path.fs.invalidate_cache()
    place = entry.path.parent
    seen = see(entry.path, place)
    return seen is None or _entry(seen, None, place).signature != entry.signature


def _entry(seen: Seen, marker: Seen | None, place: UPath) -> Entry:
    if not seen.is_folder:
        return Entry(seen.name, seen.path, False, (seen,), _signature([seen]), marker)
    try:
        top = inside(seen.path, place)
        own = [file for file in top if not file.is_folder]
        has_findings = any(file.published in (FINDINGS, FINDINGS_PARQUET) for file in own)
        deeper = [] if has_findings else files_below(top, place, _PASSED_OVER)
    except Exception:  # every file system has errors of its own
        return Entry(seen.name, seen.path, True, (), "", None, "it cannot be read")
    marker = next((file for file in own if file.name in _MARKERS_INSIDE), marker)
    content = [file for file in own if file.name not in _MARKERS_INSIDE]
    signature = _signature([*content, *deeper])
    if odd := tuple(file for file in (*content, *deeper) if file.oddity and not _hidden(file)):
        return Entry(seen.name, seen.path, True, odd, signature, marker)
    files = tuple(file for file in content if file.published is not None or (not has_findings and _raw(file)))
    files += tuple(file for file in deeper if _TEXT_FORM.search(file.name))
    hindrance = ""
    if marker is None and not has_findings and not any(_raw(file) for file in files):
        hindrance = f"there is no {FINDINGS} and no raw report in it"
    elif marker is None and any(_TEMPORARY.search(file.name) for file in (*content, *deeper)):
        hindrance = "a file in it has a temporary name"
    return Entry(seen.name, seen.path, True, files, signature, marker, hindrance)


def _raw(file: Seen) -> bool:
    """Whether raw reports may be in a file: texts, packages, and tables that are none of the other files."""
    is_other = file.published is not None and file.published != REPORTS
    form = _FORM.search(file.name) or _TEXT_FORM.search(file.name)
    return form is not None and not is_other and not _hidden(file)


def _hidden(file: Seen) -> bool:
    return _PASSED_OVER.search(file.name) is not None or _TEMPORARY.search(file.name) is not None


def _signature(files: Sequence[Seen]) -> str:
    """Over all files, hidden ones too: growth of any of them is a sign of writing."""
    stamps = "\n".join(f"{file.name}\0{file.stamp}" for file in files)
    return hashlib.sha256(stamps.encode()).hexdigest()[:32]
