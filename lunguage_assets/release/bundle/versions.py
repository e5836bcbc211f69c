"""Versions of a release beside each other; what is in them is not known here.

    release/<ranker>/v1/...     a version: complete, sealed, never changed again
    release/<ranker>/LATEST     the name of the current one

A version is built aside and renamed, so that there is the whole of it or nothing; then `LATEST` is replaced.
`LATEST` is a file: archives, object stores and some drives lose links or follow them. `CONTENT` in a version
stands for its content: the same content makes no new version. Files are write-protected. One writer at a
time: others wait for the lock.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text

LATEST = "LATEST"
"""The file that names the current version."""
SUMS = "SHA256SUMS"
CONTENT = "CONTENT"
"""The file of a version that holds its `content_digest`."""

_NAME = re.compile(r"v([1-9][0-9]*)")
_STAGING = ".version.tmp"
_WRITE_BITS = 0o222


def file_digest(path: Path) -> str:
    """SHA-256 of a file, 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_digest(digests: Mapping[str, str]) -> str:
    """64 hexadecimal digits that stand for files by path and SHA-256, whatever their order."""
    return hashlib.sha256(_listed(digests).encode("utf-8")).hexdigest()


def _listed(digests: Mapping[str, str]) -> str:
    """As `sha256sum -c` reads it."""
    return "".join(f"{digest}  {path}\n" for path, digest in sorted(digests.items()))


def write_sums(folder: Path, known: Mapping[str, str]) -> None:
    """`SHA256SUMS` of a version and of each of its parts, which can be passed on alone.

    Args:
        folder: the version.
        known: SHA-256 of files that need not be read again, by path.
    """
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    digests = {path: known.get(path) or file_digest(folder / path) for path in paths}
    for part in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        own = f"{part}/"
        inside = {path.removeprefix(own): digest for path, digest in digests.items() if path.startswith(own)}
        replace_text(folder / part / SUMS, _listed(inside))
        digests[f"{part}/{SUMS}"] = file_digest(folder / part / SUMS)
    replace_text(folder / SUMS, _listed(digests))


def current_version(folder: Path) -> Path | None:
    """The version that `LATEST` names, in the folder of a ranker's releases; None without that file."""
    file = folder / LATEST
    return folder / file.read_text(encoding="utf-8").strip() if file.is_file() else None


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

    def current(self) -> Path | None:
        """The version that `LATEST` names, else the last one; None when there is none."""
        versions, named = self.versions(), current_version(self.folder)
        return named if named in versions else next(reversed(versions), None)

    def with_content(self, content: str) -> Path | None:
        """The version that has this content already."""
        files = (path / CONTENT for path in self.versions())
        there = (file for file in files if file.exists())
        return next((file.parent for file in there if file.read_text("utf-8").strip() == content), None)

    def next_name(self) -> str:
        return f"v{max(map(_number, self.versions()), default=0) + 1}"

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """An empty folder to build a version in; what has not been sealed in the end is removed."""
        folder = self.folder / _STAGING
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def seal(self, staging: Path, content: str, known: Mapping[str, str]) -> Path:
        """Make a version of what was built: checksums (`write_sums`), write protection, its name."""
        replace_text(staging / CONTENT, f"{content}\n")
        write_sums(staging, known)
        for path in staging.rglob("*"):
            if path.is_file():
                path.chmod(path.stat().st_mode & ~_WRITE_BITS)
        return staging.rename(self.folder / self.next_name())

    def require_whole(self, version: Path, built: Mapping[str, int]) -> None:
        """Refuse a version that lost a file, or that has another size of a file that was just built again.

        Args:
            version: its folder.
            built: bytes of the files that were built again, by path.

        Raises:
            ConfigurationError: names the first file and what to do.
        """
        sums = version / SUMS
        listed = sums.read_text(encoding="utf-8").splitlines() if sums.exists() else [f"  {SUMS}"]
        for path in sorted({*built, *(line.split("  ", 1)[1] for line in listed)}):
            there = version / path
            if not there.is_file() or there.stat().st_size != built.get(path, there.stat().st_size):
                raise ConfigurationError(
                    f"{there}: found {'another file' if there.exists() else 'no file'}; expected "
                    f"that of version {version.name}, which is sealed. "
                    f"Restore it, or remove the folder {version} and write the release again."
                )

    def make_current(self, version: Path) -> None:
        """Let `LATEST` name the version."""
        if current_version(self.folder) != version:
            replace_text(self.folder / LATEST, f"{version.name}\n")

    def retire(self, keep: int) -> list[str]:
        """Remove all but the `keep` versions of the highest numbers, and never the current one; 0 keeps all.
        Returns the names removed.
        """
        current = self.current()
        removed = [path for path in (self.versions()[:-keep] if keep else []) if path != current]
        for path in removed:  # a half-removed version must not look like one
            shutil.rmtree(path.rename(self.folder / f".{path.name}.tmp"))
        return [path.name for path in removed]


def _number(version: Path) -> int:
    return int(version.name[1:])
