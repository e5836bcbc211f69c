"""Versions of a release beside each other; what is in them is not known here.

    release/<ranker>/v1/...     a version: complete, sealed, never changed again
    release/<ranker>/LATEST     names the current one: a file, as archives lose links

A version is built aside and renamed, so that there is the whole of it or nothing; then
`LATEST` is replaced. One writer at a time: others wait for the lock.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text
from lunguage_assets.locks import exclusive_lock

LATEST = "LATEST"
"""The file that names the current version."""
SUMS = "SHA256SUMS"

_NAME = re.compile(r"v([1-9][0-9]*)")
_WRITE_BITS = 0o222


@dataclass(frozen=True)
class Written:
    """A written release.

    Attributes:
        folder: of its version.
        is_new: whether no version with the same files was there.
        summary: the content of `summary.json`.
    """

    folder: Path
    is_new: bool
    summary: Mapping[str, Any]

    @property
    def version(self) -> str:
        return self.folder.name


def publish(
    folder: Path, build: Callable[[Path], Mapping[str, Any]], keep: int = 0
) -> Written:
    """Build a version, and let `LATEST` name it.

    A sealed version of the same files stands for it.

    Args:
        folder: of a ranker's releases (`release/<ranker>`).
        build: fills an empty folder, and returns the summary.
        keep: how many of the highest versions stay beside the current one; 0: all.

    Raises:
        ConfigurationError: the sealed version of the same files has lost one, or one
            was changed.
    """
    with _only_writer(folder):
        sealed_before = sealed_versions(folder)
        staging = folder / ".version.tmp"
        staging.mkdir()
        try:
            summary = build(staging)
            version = _seal(staging, sealed_before)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        if current_version(folder) != version:
            replace_text(folder / LATEST, f"{version.name}\n")
        if keep:
            _remove_old(folder, keep, current=version)
    return Written(version, version not in sealed_before, summary)


def current_version(folder: Path) -> Path | None:
    """Find the version of a ranker's releases that `LATEST` names.

    None where there is no such version: somebody may have deleted it, or have written
    something else.
    """
    file = folder / LATEST
    name = file.read_text(encoding="utf-8").strip() if file.is_file() else ""
    version = folder / name
    return version if _NAME.fullmatch(name) and version.is_dir() else None


def changes_since_sealing(version: Path) -> list[str]:
    """Say of a version's files which are not as they were sealed; none: all are."""
    sums = version / SUMS
    if not sums.is_file():
        return [f"{sums}: found no file"]
    changes = []
    for line in sums.read_text(encoding="utf-8").splitlines():
        digest, name = line.split("  ", 1)
        file = version / name
        if not file.is_file():
            changes.append(f"{file}: found no file")
        elif file_digest(file) != digest:
            changes.append(f"{file}: found another file")
    return changes


def report_of(version: Path) -> Path:
    """Find the report of a version.

    It stands in the open part where the reports are invented, and in the restricted
    part where they are patients'.
    """
    shared = version / "open" / "report.html"
    return shared if shared.exists() else version / "restricted" / "report.html"


def file_digest(path: Path) -> str:
    """Hash a file with SHA-256 into 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Wait for other writers, and remove what a killed one left half-made."""
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(folder / ".lock"):
        for abandoned in folder.glob(".*.tmp"):
            if abandoned.is_dir():
                shutil.rmtree(abandoned)
            else:
                abandoned.unlink()
        yield


def sealed_versions(folder: Path) -> list[Path]:
    """List the folders of all sealed versions by number."""
    if not folder.is_dir():
        return []
    versions = [
        path
        for path in folder.iterdir()
        if _NAME.fullmatch(path.name) and path.is_dir()
    ]
    return sorted(versions, key=_number)


def _number(version: Path) -> int:
    return int(version.name[1:])


def _remove_old(folder: Path, keep: int, *, current: Path) -> None:
    for path in sealed_versions(folder)[:-keep]:
        if path != current:
            # Renamed first: a half-removed version must not look like one.
            shutil.rmtree(path.rename(folder / f".{path.name}.tmp"))


def _seal(staging: Path, sealed_before: list[Path]) -> Path:
    """Give what was built its checksums, write protection and name.

    Returns:
        The new version, or the one of the same files that was sealed before.
    """
    _write_checksums(staging)
    for version in sealed_before:
        sums = version / SUMS
        if sums.exists() and sums.read_bytes() == (staging / SUMS).read_bytes():
            changes = changes_since_sealing(version)
            if changes:
                raise ConfigurationError(
                    f"{changes[0]}; expected that of version {version.name}, which is "
                    f"sealed. Restore it, or remove the folder {version} and write the "
                    "release again."
                )
            return version
    for path in staging.rglob("*"):
        if path.is_file():
            path.chmod(path.stat().st_mode & ~_WRITE_BITS)
    number = 1 + max(map(_number, sealed_before), default=0)
    return staging.rename(staging.with_name(f"v{number}"))


def _write_checksums(version: Path) -> None:
    """Write checksums of each part, which can be passed on alone, and then of all."""
    parts = sorted(path for path in version.iterdir() if path.is_dir())
    for part in (*parts, version):
        files = sorted(path for path in part.rglob("*") if path.is_file())
        lines = [
            f"{file_digest(file)}  {file.relative_to(part).as_posix()}\n"
            for file in files
        ]
        replace_text(part / SUMS, "".join(lines))
