"""Looks at what lies in a landing folder: deliveries and their files.

Whoever delivers can lay anything there: links, FIFOs, names that are no UTF-8, folders
without end. So nothing is opened here; files and folders are only listed.

Not here: what becomes of a delivery (`landing.py`), and copying its files
(`delivery_copy.py`).
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lunguage_assets.corpus.declaration import DECLARATION
from lunguage_assets.corpus.delivery import METADATA, VOCABULARY, name_without_gz
from lunguage_assets.errors import InputError, printable

QUARANTINE = "quarantine"
"""The folder below the landing folder to which unusable deliveries are moved."""
SHARED_FILES = (DECLARATION, VOCABULARY)
"""Files that may lie beside deliveries, for all that have none of their own."""
_SIDE_FILES = {name.lower() for name in (*SHARED_FILES, METADATA)}
TABLE_ENDING = re.compile(
    r"\.(?:(?:csv|json|jsonl)(?:\.gz)?|parquet|zip|tgz)$", re.IGNORECASE
)
"""How a file ends that can be a delivery by itself."""
_USED_NAME = re.compile(
    r"\.(?:(?:csv|txt|xml|json|jsonl)(?:\.gz)?|parquet|zip|tgz)$|^corpus\.toml$",
    re.IGNORECASE,
)
_PASSED_OVER = re.compile(
    rf"^[.~_]|^{QUARANTINE}$|(?:~|\.done|\.rejected\.csv)$"
    r"|\.(?:te?mp|part|partial|filepart|crdownload|download|upload|uploading"
    r"|incomplete|swp)(?:\.csv|\.csv\.gz|\.parquet)?$",
    re.IGNORECASE,
)
"""Names of hidden files, of what other programs still write, and of what we wrote."""
_MAX_DEPTH = 100
"""Folders inside each other in one delivery; MIMIC-CXR has four."""
_SIGNATURE_DIGITS = 32


class Postponed(Exception):
    """A delivery cannot be taken in this pass; the message says why."""


@dataclass(frozen=True)
class LandedDelivery:
    """A delivery at one look: a file, or a folder with its files at any depth.

    Attributes:
        path: of the file or folder.
        is_folder: which of them it is.
        files: those to take, links whatever they point to.
        signature: changes with every change of its files, hidden ones among them.
        written_at: time of the youngest file.
        changed_at: the same; of a copy that keeps its time that of the copying.
        is_marked: whether a marker that is no older says that it is complete.
        problem: why it could not be looked at as a whole.
    """

    path: Path
    is_folder: bool
    files: list[Path]
    signature: str
    written_at: float
    changed_at: float
    is_marked: bool
    problem: InputError | Postponed | None = None

    @property
    def name(self) -> str:
        r"""Its name on one line; a byte that is not UTF-8 is shown as `\udcff`."""
        return printable(self.path.name)

    @property
    def is_begun_only(self) -> bool:
        """Whether neither findings nor reports lie in it yet."""
        return all(name_without_gz(path) in _SIDE_FILES for path in self.files)

    def require_unchanged(self) -> None:
        """Postpone a delivery that is another one now.

        Raises:
            Postponed: its files were changed, or are gone.
        """
        with suppress(FileNotFoundError):
            if look_at(self.path).signature == self.signature:
                return
        raise Postponed("it changed while it was read")


@dataclass
class _Listing:
    """Files of a delivery as they are listed, and what stood in the way."""

    files: list[Path] = field(default_factory=list)
    links: set[Path] = field(default_factory=set)
    """Folders that are links: they are not followed."""
    closed: list[Path] = field(default_factory=list)
    """Folders that may not be listed."""
    problems: list[InputError | Postponed] = field(default_factory=list)


def is_passed_over(name: str) -> bool:
    """Whether a name in a landing folder is no delivery's."""
    return _PASSED_OVER.search(name) is not None


def look_at(path: Path) -> LandedDelivery:
    """Look at a delivery.

    Raises:
        FileNotFoundError: it is not there any more.
    """
    own_status = path.lstat()
    is_folder = stat.S_ISDIR(own_status.st_mode)
    listing = _list_folder(path) if is_folder else _Listing(files=[path])
    status_by_path = _statuses(listing)
    if listing.problems:
        # So little may be seen of it that it would have the signature of any other.
        status_by_path[path] = own_status
    markers = _marker_times(path, status_by_path)
    statuses = status_by_path.values()
    written_at = max((status.st_mtime for status in statuses), default=0.0)
    # A copy may keep the time of its original; its inode tells when it was copied.
    inode_changed_at = max((status.st_ctime for status in statuses), default=0.0)
    return LandedDelivery(
        path=path,
        is_folder=is_folder,
        files=[file for file in status_by_path if _is_used(file, path, listing)],
        signature=_signature(path, status_by_path),
        written_at=written_at,
        changed_at=max(written_at, inode_changed_at),
        # An older marker is that of an earlier delivery of this name.
        is_marked=any(marked_at >= written_at for marked_at in markers),
        problem=next(iter(listing.problems), None),
    )


def _list_folder(path: Path) -> _Listing:
    """List all files below a folder."""
    listing = _Listing()

    def note_closed(error: OSError) -> None:
        listing.closed.append(Path(error.filename or path))
        listing.problems.append(unreadable(listing.closed[-1], error))

    for folder, subfolders, names in os.walk(path, onerror=note_closed):
        # Changed in place, so that `os.walk` does not go down into what is left out.
        subfolders[:] = [name for name in subfolders if not is_passed_over(name)]
        depth = len(Path(folder).relative_to(path).parts)
        if subfolders and depth >= _MAX_DEPTH:
            subfolders.clear()
            listing.problems.append(_too_deep(path))
        subfolder_paths = [Path(folder, name) for name in subfolders]
        listing.links.update(filter(_is_link, subfolder_paths))
        listing.files += [Path(folder, name) for name in names]
    return listing


def _statuses(listing: _Listing) -> dict[Path, os.stat_result]:
    """Look up size and times of all files, links and closed folders, sorted by path."""
    status_by_path: dict[Path, os.stat_result] = {}
    for path in sorted({*listing.files, *listing.links, *listing.closed}):
        try:
            status_by_path[path] = path.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            listing.problems.append(unreadable(path, error))
    return status_by_path


def marker_beside(path: Path) -> Path:
    """Name the marker file beside a delivery that says that it is complete."""
    return path.with_name(f"{path.name}.done")


def _marker_times(
    path: Path, status_by_path: dict[Path, os.stat_result]
) -> list[float]:
    """Take the markers of a delivery out of its files, and tell their times."""
    beside = marker_beside(path)
    with passing_over_missing_marker():
        status_by_path[beside] = beside.lstat()
    markers = (beside, path / ".done", path / "_SUCCESS")
    return [
        status_by_path.pop(marker).st_mtime
        for marker in markers
        if marker in status_by_path
    ]


def _signature(path: Path, status_by_path: Mapping[Path, os.stat_result]) -> str:
    lines = [
        f"{file.relative_to(path.parent)}\0{status.st_size}\0{status.st_mtime_ns}\n"
        for file, status in status_by_path.items()
    ]
    digest = hashlib.sha256(os.fsencode("".join(lines))).hexdigest()
    return digest[:_SIGNATURE_DIGITS]


def _is_used(file: Path, delivery: Path, listing: _Listing) -> bool:
    """Whether a file is taken; a link is, so that its refusal is reported."""
    if file == delivery or file in listing.links:
        return True
    return bool(_USED_NAME.search(file.name)) and not is_passed_over(file.name)


def _is_link(path: Path) -> bool:
    # A path that cannot be looked at is found out when it is listed.
    with suppress(OSError):
        return path.is_symlink()
    return False


@contextmanager
def passing_over_missing_marker() -> Iterator[None]:
    """Pass over a marker that is not there.

    None can be where the delivery's name is so long that with ".done" it is no file's.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
            raise


def unreadable(path: Path, error: OSError) -> InputError | Postponed:
    """Say what becomes of a delivery of which a file or folder cannot be read.

    It is put aside where that lasts, and waits where it may pass, as on a network.
    """
    name = printable(path.name)
    # Rights do not change by waiting.
    if error.errno in (errno.EACCES, errno.EPERM):
        return InputError(
            name,
            found="a file or folder that may not be read",
            expected="what the account of this process may read",
            remedy="Change the rights (chmod -R u+rwX, chown) and deliver it again.",
        )
    if error.errno == errno.ENAMETOOLONG:
        return InputError(
            name,
            found="a path that is too long",
            expected="a path that a file can have",
            remedy="Use shorter names, or fewer folders inside each other.",
        )
    return Postponed(f"it cannot be read at present ({type(error).__name__})")


def _too_deep(path: Path) -> InputError:
    return InputError(
        printable(path.name),
        found=f"more than {_MAX_DEPTH} folders inside each other",
        expected=f"at most {_MAX_DEPTH}",
        remedy="Lay the files into fewer folders.",
    )
