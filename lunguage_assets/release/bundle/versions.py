"""Numbered versions of a release beside each other, and the newest one's files by their plain names; what is
in them is not known here.

    release/<ranker>/r1-4f1c07aa/...      a version: complete, sealed, never changed again
    release/<ranker>/LATEST               the name of the current one
    release/<ranker>/<file>               its files

A version is named by a number, which counts the distinct contents of the folder, and by its content. It is
built aside and renamed, so that there is the whole of it or nothing. A plain file is a hard link to the
version's, or a copy where the file system has no links; links and versions are write-protected, so that
nobody changes a version who means its copy. One writer at a time: others wait for the lock.
"""

from __future__ import annotations

import fcntl
import filecmp
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text

LATEST = "LATEST"
"""The file that names the current version."""
SUMS = "SHA256SUMS"

_NAME = re.compile(r"r([1-9][0-9]*)-([0-9a-f]{8})")
_STAGING = ".version.tmp"
_WRITE_BITS = 0o222


@dataclass(frozen=True)
class Version:
    """A sealed version; `number` counts from 1, `content` is what its name says of its content (8 hexadecimal
    digits).
    """

    folder: Path
    number: int
    content: str

    @property
    def name(self) -> str:
        return self.folder.name


def version_name(number: int, content: str) -> str:
    return f"r{number}-{content}"


def file_digest(path: Path) -> str:
    """SHA-256 of a file, 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_digest(digests: Mapping[str, str]) -> str:
    """8 hexadecimal digits that stand for files by path and SHA-256, whatever their order."""
    lines = "".join(f"{digest}  {path}\n" for path, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode("utf-8")).hexdigest()[:8]


def write_sums(folder: Path) -> None:
    """`SHA256SUMS` of everything below a folder, as `sha256sum -c` reads it there."""
    paths = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path != folder / SUMS
    )
    replace_text(folder / SUMS, "".join(f"{file_digest(folder / path)}  {path}\n" for path in paths))


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

    def versions(self) -> list[Version]:
        """All sealed versions by number."""
        found = [(path, _NAME.fullmatch(path.name)) for path in self.folder.iterdir() if path.is_dir()]
        named = [Version(path, int(match[1]), match[2]) for path, match in found if match]
        return sorted(named, key=lambda version: (version.number, version.content))

    def current(self) -> Version | None:
        """The version that `LATEST` names; None when there is none, or it is gone."""
        try:
            name = (self.folder / LATEST).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        return next((version for version in self.versions() if version.name == name), None)

    def with_content(self, content: str) -> Version | None:
        """The version that has this content already."""
        return next((version for version in self.versions() if version.content == content), None)

    def before(self) -> Version | None:
        """The version to which a new one is compared: the current one, or where nothing names it the last."""
        return self.current() or next(reversed(self.versions()), None)

    def next_number(self) -> int:
        return max((version.number for version in self.versions()), default=0) + 1

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """An empty folder to build a version in; what has not been sealed in the end is removed."""
        folder = self.folder / _STAGING
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def seal(self, staging: Path, name: str) -> Version:
        """Make a version of what was built: checksums, write protection, its name. Files that the current
        version has are shared with it.
        """
        for part in (path for path in staging.iterdir() if path.is_dir()):
            write_sums(part)
        write_sums(staging)
        before = self.current()
        if before is not None:
            _share(staging, before.folder)
        for path in staging.rglob("*"):
            if path.is_file():
                path.chmod(path.stat().st_mode & ~_WRITE_BITS)
        match = _NAME.fullmatch(name)
        assert match is not None
        return Version(staging.rename(self.folder / name), int(match[1]), match[2])

    def require_whole(self, version: Version, staging: Path, built: Collection[str]) -> None:
        """Refuse a version that has lost a file, or some of whose files are not those that were just built
        again (by their size).

        Raises:
            ConfigurationError: names the first file and what to do.
        """
        sums = version.folder / SUMS
        listed = (
            [line.split("  ", 1)[1] for line in sums.read_text(encoding="utf-8").splitlines()]
            if sums.exists()
            else [SUMS]
        )
        for path in sorted({*built, *listed}):
            there = version.folder / path
            if not there.is_file() or (
                path in built and there.stat().st_size != (staging / path).stat().st_size
            ):
                raise ConfigurationError(
                    f"{there}: found {'another file' if there.exists() else 'no file'}; expected "
                    f"that of version {version.name}, which is sealed. "
                    f"Restore it, or remove the folder {version.folder} and write the release again."
                )

    def make_current(self, version: Version, files: Mapping[str, str], last: str) -> None:
        """Give the version's files (plain name -> path in the version) their plain names, one by one.

        Files that are right already are not touched; then those go that only the version before had; then
        `LATEST` names the version, and the file `last` follows, so that whoever sees a new one finds
        everything else in place.
        """
        before = self.current()
        for name in sorted(set(files) - {last}):
            _place(version.folder / files[name], self.folder / name)
        if before is not None and before != version:
            self._remove_only_in(before, files)
        if before != version:
            replace_text(self.folder / LATEST, f"{version.name}\n")
        if last in files:
            _place(version.folder / files[last], self.folder / last)

    def _remove_only_in(self, before: Version, names: Collection[str]) -> None:
        for path in sorted(before.folder.rglob("*")):
            plain = self.folder / path.name
            if path.is_file() and path.name not in names and plain.is_file() and _same(path, plain):
                plain.unlink()

    def retire(self, keep: int) -> list[str]:
        """Remove all but the `keep` versions of the highest numbers, and never the current one; 0 keeps all.
        Returns the names removed.
        """
        current = self.current()
        old = self.versions()[:-keep] if keep else []
        removed = [version for version in old if version != current]
        for version in removed:
            aside = version.folder.rename(
                self.folder / f".{version.name}.tmp"
            )  # a half-removed version must not look like one
            shutil.rmtree(aside)
        return [version.name for version in removed]


def _share(staging: Path, before: Path) -> None:
    """Replace files that are the same in another version by links to it: an unchanged file takes no room
    twice.
    """
    for path in sorted(staging.rglob("*")):
        there = before / path.relative_to(staging)
        if path.is_file() and there.is_file() and _same(path, there):
            _link(there, path)


def _place(source: Path, target: Path) -> None:
    """The file under another name, replaced as a whole: a hard link, or where there are none a copy."""
    if target.is_file() and _same(source, target):
        return
    if not _link(source, target):
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        shutil.copyfile(source, temporary)
        temporary.chmod(source.stat().st_mode)
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.replace(target)


def _link(source: Path, target: Path) -> bool:
    """Make `target` a hard link to `source`; False where the file system has none."""
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        os.link(source, temporary)
    except OSError:
        return False
    temporary.replace(target)
    temporary.unlink(
        missing_ok=True
    )  # renaming one link of a file over another does nothing, and leaves both
    return True


def _same(first: Path, second: Path) -> bool:
    return first.samefile(second) or (
        first.stat().st_size == second.stat().st_size and filecmp.cmp(first, second, shallow=False)
    )
