"""Versions of a release beside each other; what is in them is not known here.

    release/<ranker>/v1/...     a version: complete, sealed, never changed again
    release/<ranker>/LATEST     the name of the current one: a file, as archives lose links

A version is built aside and renamed, so that there is the whole of it or nothing; then `LATEST` is replaced.
One writer at a time: others wait for the lock.
"""

from __future__ import annotations

import fcntl
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

LATEST = "LATEST"
"""The file that names the current version."""
SUMS = "SHA256SUMS"

_NAME = re.compile(r"v([1-9][0-9]*)")
_WRITE_BITS = 0o222


@dataclass(frozen=True)
class Written:
    """A written release: its version's folder, whether it is new, `summary.json`."""

    folder: Path
    is_new: bool
    summary: Mapping[str, Any]

    @property
    def version(self) -> str:
        return self.folder.name

    @property
    def report(self) -> Path:
        return report_of(self.folder)


def publish(
    folder: Path, build: Callable[[Path], Mapping[str, Any]], keep: int = 0
) -> Written:
    """Build a version below `folder` (`release/<ranker>`) and let `LATEST` name it; a sealed one of the same
    files stands for it. `build` fills an empty folder and returns the summary; `keep` is how many of the
    highest versions stay beside the current one, 0 all. Raises `ConfigurationError` when the sealed version
    of the same files has lost one, or one was changed.
    """
    with _only_writer(folder):
        before = _versions(folder)
        staging = folder / ".version.tmp"
        staging.mkdir()
        try:
            summary = build(staging)
            version = _sealed(staging, before)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        if current_version(folder) != version:
            replace_text(folder / LATEST, f"{version.name}\n")
        for path in _versions(folder)[:-keep] if keep else ():
            if path != version:  # a half-removed version must not look like one
                shutil.rmtree(path.rename(folder / f".{path.name}.tmp"))
    return Written(version, version not in before, summary)


def current_version(folder: Path) -> Path | None:
    """The version that `LATEST` names, in the folder of a ranker's releases; None without that file."""
    file = folder / LATEST
    return folder / file.read_text(encoding="utf-8").strip() if file.is_file() else None


def report_of(version: Path) -> Path:
    """The report: in the open part of invented reports, in the restricted part of patients'."""
    shared = version / "open" / "report.html"
    return shared if shared.exists() else version / "restricted" / "report.html"


def file_digest(path: Path) -> str:
    """SHA-256 of a file, 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Wait for other writers, and remove what a killed one left half-made."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for abandoned in folder.glob(".*.tmp"):
            shutil.rmtree(abandoned) if abandoned.is_dir() else abandoned.unlink()
        yield


def _versions(folder: Path) -> list[Path]:
    """The folders of all sealed versions by number."""
    found = [
        path
        for path in folder.iterdir()
        if _NAME.fullmatch(path.name) and path.is_dir()
    ]
    return sorted(found, key=_number)


def _number(version: Path) -> int:
    return int(version.name[1:])


def _sealed(staging: Path, before: list[Path]) -> Path:
    """Give what was built its checksums, write protection and name; or name the same files sealed before."""
    for part in (*sorted(path for path in staging.iterdir() if path.is_dir()), staging):
        paths = sorted(path for path in part.rglob("*") if path.is_file())
        lines = [
            f"{file_digest(path)}  {path.relative_to(part).as_posix()}\n"
            for path in paths
        ]
        replace_text(part / SUMS, "".join(lines))  # each part can be passed on alone
    for version in before:
        sums = version / SUMS
        if sums.exists() and sums.read_bytes() == (staging / SUMS).read_bytes():
            _require_whole(version)
            return version
    for path in staging.rglob("*"):
        if path.is_file():
            path.chmod(path.stat().st_mode & ~_WRITE_BITS)
    return staging.rename(
        staging.with_name(f"v{max(map(_number, before), default=0) + 1}")
    )


def _require_whole(version: Path) -> None:
    for line in (version / SUMS).read_text(encoding="utf-8").splitlines():
        digest, path = line.split("  ", 1)
        there = version / path
        if not there.is_file() or file_digest(there) != digest:
            raise ConfigurationError(
                f"{there}: found {'another file' if there.exists() else 'no file'}; expected that of version "
                f"{version.name}, which is sealed. Restore it, or remove the folder {version} and write the "
                "release again."
            )
