"""Vectors of phrases on disk: one SQLite file per encoder, shared by all processes of a home.

A file that is damaged is thrown away with a note, and a vector that is damaged is not given: the phrase is
encoded again, and no result ever depends on what is kept here. Phrases are stored as digests; still the file
is of the same class as the reports.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.implicit.encoders.contract import unit_rows

_FORMAT = "1; unit vectors, 32-bit floats, little-endian"
_NUMBERS = np.dtype("<f4")
_ASKED_AT_ONCE = 5000
_WAIT_S = 120.0
_PASSING = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
    }
)
"""Errors that say nothing about the file's content."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS vectors (phrase BLOB PRIMARY "
    "KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL)",
)
_log = logging.getLogger(__name__)


class _Damaged(Exception):
    """The content of the file is damaged."""


class VectorCache:
    """Vectors of one encoder.

    A vector that cannot be kept is computed again: no trouble with the file stops a run.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self._identity = identity
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", identity)[:60].strip("-.")
        self.path = (
            folder / f"{name}-{hashlib.sha256(f'{identity}; {_FORMAT}'.encode()).hexdigest()[:16]}.sqlite"
        )
        self._usable = True
        self._seen: int | None = None

    def read(self, phrases: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """An n x d array and which of its rows are known; the other rows are undefined.

        d is 0 while nothing is kept.
        """
        nothing = np.empty((len(phrases), 0), dtype=np.float32), np.zeros(len(phrases), dtype=bool)
        if not self._usable or not self.path.exists():
            return nothing
        with self._trouble_noted("read"), self._opened() as file:
            width = self._width(file)
            return self._found(file, phrases, width) if width else nothing
        return nothing

    def add(self, phrases: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Keep the vectors of distinct phrases (n x d) and return the kept ones.

        Where another process kept a vector first, that one stays.
        """
        if not self._usable:
            return vectors
        with self._trouble_noted("written"):
            self._create()
            with self._opened() as file:
                return self._added(file, phrases, vectors)
        return vectors

    def discard(self, why: str) -> None:
        """Throw the file away, unless another process has already put a new one in its place."""
        _log.warning("%s is thrown away: %s; its phrases are encoded again", self.path, why)
        try:
            with self._locked(fcntl.LOCK_EX):
                if self.path.exists() and self._seen in (None, self.path.stat().st_ino):
                    self.path.unlink()
                    self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)
        except OSError:
            self._usable = False

    def _found(
        self, file: sqlite3.Connection, phrases: Sequence[str], width: int
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        vectors = np.zeros((len(phrases), width), dtype=np.float32)
        known = np.zeros(len(phrases), dtype=bool)
        rows: dict[bytes, list[int]] = {}
        for number, phrase in enumerate(phrases):
            rows.setdefault(_key(phrase), []).append(number)
        damaged = 0
        for key, vector in _kept(file, sorted(rows), width):
            damaged += vector is None
            if vector is not None:
                vectors[rows[key]], known[rows[key]] = vector, True
        known &= unit_rows(vectors)
        if damaged:
            _log.warning("%s: %d vectors are damaged; their phrases are encoded again", self.path, damaged)
        return vectors, known

    def _added(
        self, file: sqlite3.Connection, phrases: Sequence[str], vectors: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        result = vectors.copy()
        new = {_key(phrase): number for number, phrase in enumerate(phrases)}
        file.execute("BEGIN IMMEDIATE")
        for statement in _TABLES:
            file.execute(statement)
        if self._width(file) not in (0, vectors.shape[1]):
            raise _Damaged("its vectors are of another length than the encoder's")
        file.executemany("INSERT OR IGNORE INTO about VALUES (?, ?)", self._about(vectors.shape[1]).items())
        for key, vector in _kept(file, sorted(new), vectors.shape[1]):
            if vector is not None and unit_rows(vector[None])[0]:
                result[new.pop(key)] = vector
        contents = ((key, vectors[number].astype(_NUMBERS).tobytes()) for key, number in new.items())
        file.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
            ((key, content, _checksum(key, content)) for key, content in contents),
        )
        file.execute("COMMIT")
        return result

    def _about(self, width: int) -> dict[str, str]:
        return {"encoder": self._identity, "format": _FORMAT, "length": str(width)}

    def _width(self, file: sqlite3.Connection) -> int:
        """Length of the vectors, 0 when nothing is kept yet.

        Raises `_Damaged` when the file is not this encoder's.
        """
        if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchall():
            return 0
        about = dict(file.execute("SELECT name, value FROM about").fetchall())
        if not about:
            return 0
        length = str(about.get("length"))
        if not length.isdigit() or about != self._about(int(length)):
            raise _Damaged("it does not say that it is of this encoder")
        return int(length)

    def _create(self) -> None:
        """Create the file, readable by its owner only from the first byte on."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in (self._lock, self.path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))

    @property
    def _lock(self) -> Path:
        return self.path.with_suffix(".lock")

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        """A lock: shared for use of the file, exclusive for its removal.

        Without it a new file would take the old one's journal for its own.
        """
        with self._lock.open("rb") as stream:
            fcntl.flock(stream, kind)
            yield

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._locked(fcntl.LOCK_SH):
            self._seen = self.path.stat().st_ino
            address = f"file:{quote(str(self.path.resolve()))}?mode=rw"
            with closing(sqlite3.connect(address, uri=True, timeout=_WAIT_S, isolation_level=None)) as file:
                yield file

    @contextmanager
    def _trouble_noted(self, what: str) -> Iterator[None]:
        """Throw a damaged file away; after any other trouble this run does without the file."""
        try:
            yield
        except _Damaged as problem:
            self.discard(str(problem))
        except sqlite3.Error as error:
            if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _PASSING:
                self._do_without(what, error)
            else:
                self.discard(f"it cannot be {what} ({type(error).__name__})")
        except OSError as error:
            self._do_without(what, error)
        except (
            ValueError,
            TypeError,
            OverflowError,
        ) as error:  # a damaged value, or text in it that is no text
            self.discard(f"it cannot be {what} ({type(error).__name__})")

    def _do_without(self, what: str, error: Exception) -> None:
        self._usable = False
        _log.warning(
            "%s cannot be %s (%s): this run encodes without it", self.path, what, type(error).__name__
        )


def _key(phrase: str) -> bytes:
    return hashlib.sha256(phrase.encode("utf-8", "surrogatepass")).digest()


def _checksum(key: bytes, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(key))


def _kept(
    file: sqlite3.Connection, keys: Sequence[bytes], width: int
) -> Iterator[tuple[bytes, NDArray[np.float32] | None]]:
    """Kept vectors of some keys; None for a damaged one."""
    for start in range(0, len(keys), _ASKED_AT_ONCE):
        part = keys[start : start + _ASKED_AT_ONCE]
        marks = ",".join("?" * len(part))
        for key, content, checksum in file.execute(
            f"SELECT phrase, vector, checksum FROM vectors WHERE phrase IN ({marks})", part
        ):
            whole = (
                isinstance(content, bytes)
                and len(content) == width * _NUMBERS.itemsize
                and checksum == _checksum(key, content)
            )
            yield key, np.frombuffer(content, dtype=_NUMBERS) if whole else None
