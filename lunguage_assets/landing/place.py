"""The landing folder as a place: where it is, what lies there, and the few things that are done to its files.

Any fsspec file system will do, so nothing here relies on renames of folders, on locks, or on folders that
exist without files.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

from upath import UPath

from lunguage_assets.errors import LunguageError
from lunguage_assets.home.home import Home
from lunguage_assets.settings import LandingSettings

URL_VARIABLE = "LUNGUAGE_LANDING"
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "modified", "created", "timeModified")
_TELL_OF_CHANGE = ("size", *_TIMES, "ETag", "etag", "content_md5", "md5Hash", "generation")


class LandingUnreachable(LunguageError):
    """The landing folder, or a file in it, cannot be read at present."""


def landing_url(home: Home, settings: LandingSettings) -> str | None:
    """The landing folder: `$LUNGUAGE_LANDING`, else the option `url`; a relative path counts from the home.
    None: there is none.
    """
    written = os.environ.get(URL_VARIABLE, "").strip() or settings.url.strip()
    if not written:
        return None
    return written if "://" in written else str(home.root / Path(written).expanduser())


@dataclass(frozen=True)
class Seen:
    """A file or folder as a look at the place found it; `stamp` is another one when the file is another
    one.
    """

    name: str
    path: str
    is_folder: bool
    size: int
    modified: float
    """Seconds since 1970 by the clock of the place; 0 where it keeps none."""
    stamp: str


class LandingPlace:
    """A folder on any fsspec file system."""

    def __init__(self, url: str) -> None:
        self.shown = re.sub(r"//[^/@]*@", "//", url)
        """The address without a password that it may carry."""
        try:
            folder = UPath(url)
            self._fs, self.root = folder.fs, folder.path
        except (ImportError, ValueError) as error:
            raise LandingUnreachable(
                f"landing folder {self.shown}: no file system for this address "
                f"({type(error).__name__}). Correct it, or install the "
                "fsspec package of its kind, such as s3fs, gcsfs or adlfs."
            ) from None

    def at(self, *parts: str) -> str:
        """A path below the root."""
        return "/".join([self.root.rstrip("/"), *parts])

    def look(self, path: str | None = None) -> list[Seen]:
        """What lies in a folder (default: the landing folder itself), by name; links are followed, broken
        ones left out.

        A folder below it that has just gone is empty.

        Raises:
            LandingUnreachable: there is no such folder, or it cannot be read.
        """
        folder = self.root if path is None else path
        try:
            self._fs.invalidate_cache()
            if path is None and not self._fs.isdir(folder):
                raise FileNotFoundError
            found = [self._seen(info) for info in self._fs.ls(folder, detail=True)]
        except FileNotFoundError:
            if path is not None:
                return []
            raise LandingUnreachable(
                f"landing folder {self.shown}: there is no such folder. Make or mount it, or "
                "correct the option url in [landing]."
            ) from None
        except Exception as error:  # every file system has errors of its own
            raise LandingUnreachable(
                f"landing folder {self.shown}: it cannot be read ({type(error).__name__}). Look "
                "at its rights."
            ) from None
        return sorted(
            (seen for seen in found if seen is not None and seen.path != folder.rstrip("/")),
            key=lambda seen: seen.name,
        )

    def look_at(self, path: str) -> Seen | None:
        """One file or folder; None when it is not there."""
        try:
            self._fs.invalidate_cache()
            return self._seen(self._fs.info(path))
        except FileNotFoundError:
            return None

    def _seen(self, info: Mapping[str, Any]) -> Seen | None:
        if info.get("islink"):
            try:
                info = self._fs.info(info["name"])
            except FileNotFoundError:
                return None
        path = str(info["name"]).rstrip("/")
        times = (_seconds(info.get(key)) for key in _TIMES)
        told = [f"{key}={_plain(info[key])}" for key in _TELL_OF_CHANGE if info.get(key) is not None]
        return Seen(
            name=path.rsplit("/", 1)[-1],
            path=path,
            is_folder=info["type"] == "directory",
            size=int(info.get("size") or 0),
            modified=next((time for time in times if time is not None), 0.0),
            stamp=hashlib.sha256("\n".join(told).encode()).hexdigest(),
        )

    def files_below(self, folder: str) -> list[Seen]:
        """Every file below a folder, at any depth."""
        found = []
        for seen in self.look(folder):
            found += self.files_below(seen.path) if seen.is_folder else [seen]
        return found

    def open(self, path: str) -> BinaryIO:
        return cast(BinaryIO, self._fs.open(path, "rb"))

    def write(self, path: str, content: bytes) -> None:
        self._fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        self._fs.pipe_file(path, content)

    def move(self, source: str, target: str) -> None:
        """Move one file; where the place cannot rename, it is copied first and then removed."""
        self._fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
        self._fs.mv(source, target)

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        if self._fs.exists(path):
            self._fs.rm_file(path)

    def remove_empty_folders(self, folder: str) -> None:
        """Remove a folder and those below it, as far as nothing is in them."""
        for seen in self.look(folder) if self._fs.isdir(folder) else []:
            if seen.is_folder:
                self.remove_empty_folders(seen.path)
        if self._fs.isdir(folder) and not self._fs.ls(folder, detail=False):
            self._fs.rmdir(folder)


def _seconds(value: object) -> float | None:
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return None
    return None


def _plain(value: object) -> str:
    seconds = _seconds(value)  # some file systems tell a time in two ways
    return repr(seconds) if seconds is not None else str(value)
