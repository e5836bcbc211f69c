"""Versions of a release beside each other; what is in them is not known here.

    release/<ranker>/v1/...     a version: complete, sealed, never changed again
    release/<ranker>/LATEST     the name of the current one

A version is built aside and renamed, so that there is the whole of it or nothing; then `LATEST` is replaced.
`LATEST` is a file: archives, object stores and some drives lose links or follow them. The same checksums as
those of an earlier version make no new one. Files are write-protected. One writer at a time: others wait for
the lock.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text

LATEST = "LATEST"
"""The file that names the current version."""
SUMS = "SHA256SUMS"

_NAME = re.compile(r"v([1-9][0-9]*)")
_STAGING = ".version.tmp"
_WRITE_BITS = 0o222


def file_digest(path: Path) -> str:
    """SHA-256 of a file, 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_sums(folder: Path) -> None:
    """Write `SHA256SUMS` into each part of a version, which can be passed on alone, and into the version."""
    for part in (*sorted(path for path in folder.iterdir() if path.is_dir()), folder):
        paths = sorted(path for path in part.rglob("*") if path.is_file())
        lines = (f"{file_digest(path)}  {path.relative_to(part).as_posix()}\n" for path in paths)
        replace_text(part / SUMS, "".join(lines))


def current_version(folder: Path) -> Path | None:
    """The version that `LATEST` names, in the folder of a ranker's releases; None without that file."""
    file = folder / LATEST
    return folder / file.read_text(encoding="utf-8").strip() if file.is_file() else None


def report_of(version: Path) -> Path:
    """The report: in the open part of invented reports, in the restricted part of patients'."""
    shared = version / "open" / "report.html"
    return shared if shared.exists() else version / "restricted" / "report.html"


@contextmanager
def writing(folder: Path) -> Iterator[VersionedFolder]:
    """The folder for one writer; others wait here. What a killed writer left half-made is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for abandoned in folder.glob(".*.tmp"):
            shutil.rmtree(abandoned) if abandoned.is_dir() else abandoned.unlink()
        yield VersionedFolder(folder)


class VersionedFolder:
    """Versions in a folder, as its only writer sees them (`writing`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def versions(self) -> list[Path]:
        """The folders of all sealed versions by number."""
        found = (path for path in self.folder.iterdir() if _NAME.fullmatch(path.name) and path.is_dir())
        return sorted(found, key=_number)

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """An empty folder to build a version in; what has not been sealed in the end is removed."""
        folder = self.folder / _STAGING
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def seal(self, staging: Path) -> Path:
        """Make a version of what was built: checksums (`write_sums`), write protection, its name. A version
        that has the same checksums already is returned instead.

        Raises:
            ConfigurationError: that version has lost a file, or one was changed.
        """
        write_sums(staging)
        for version in self.versions():
            sums = version / SUMS
            if sums.exists() and sums.read_bytes() == (staging / SUMS).read_bytes():
                require_whole(version)
                return version
        for path in staging.rglob("*"):
            if path.is_file():
                path.chmod(path.stat().st_mode & ~_WRITE_BITS)
        number = max(map(_number, self.versions()), default=0) + 1
        return staging.rename(self.folder / f"v{number}")

    def make_current(self, version: Path) -> None:
        """Let `LATEST` name the version."""
        if current_version(self.folder) != version:
            replace_text(self.folder / LATEST, f"{version.name}\n")

    def retire(self, keep: int) -> list[str]:
        """Remove all but the `keep` versions of the highest numbers, and never the current one; 0 keeps all.
        Returns the names removed.
        """
        current = current_version(self.folder)
        removed = [path for path in (self.versions()[:-keep] if keep else []) if path != current]
        for path in removed:  # a half-removed version must not look like one
            shutil.rmtree(path.rename(self.folder / f".{path.name}.tmp"))
        return [path.name for path in removed]


def require_whole(version: Path) -> None:
    """Refuse a version of which a file is missing, or is another one, with `ConfigurationError`."""
    for line in (version / SUMS).read_text(encoding="utf-8").splitlines():
        digest, path = line.split("  ", 1)
        there = version / path
        if not there.is_file() or file_digest(there) != digest:
            raise ConfigurationError(
                f"{there}: found {'another file' if there.exists() else 'no file'}; expected that of version "
                f"{version.name}, which is sealed. Restore it, or remove the folder {version} and write the "
                "release again."
            )


def _number(version: Path) -> int:
    return int(version.name[1:])
