"""What has become of every delivery, so that nothing is read twice, registered twice or forgotten, whenever a
pass is killed.

A small SQLite file in the home. It may be lost without harm: batches are recognised by their content, which
the home itself knows.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.landing.waiting import NEVER, Reading

State = Literal["watched", "landed", "skipped", "refused"]

SYNCHRONOUS = "FULL"
"""Every transaction is on the disk when it ends, so that a power cut loses none."""

_TABLES = """
CREATE TABLE IF NOT EXISTS about (record TEXT NOT NULL, landed INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS looks (
    name TEXT PRIMARY KEY, signature TEXT NOT NULL, state TEXT NOT NULL, batch TEXT NOT NULL, machine TEXT NOT NULL, seconds REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS batches (
    key TEXT PRIMARY KEY, sha256 TEXT NOT NULL, landed INTEGER UNIQUE, studies INTEGER NOT NULL, amended INTEGER NOT NULL,
    rows INTEGER NOT NULL, rejected INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS studies (study_id TEXT, batch TEXT, PRIMARY KEY (study_id, batch)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS indexed (batch TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS moves (name TEXT PRIMARY KEY, plan TEXT NOT NULL);
"""


class LandingBusy(LunguageError):
    """Another process is looking at the landing folder for this home."""


@dataclass(frozen=True)
class Look:
    """The last look at a delivery: as it was then, what was decided, and when it was first seen so."""

    name: str
    signature: str
    state: State
    batch: str = ""
    since: Reading = NEVER


@dataclass(frozen=True)
class LandedBatch:
    """A registered delivery; `landed` counts registrations by this record from 1. Numbers only: a file's name
    may name a patient.
    """

    key: str
    sha256: str
    landed: int
    studies: int
    amended: int
    rows: int
    rejected: int


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the landing of a home for this process; the system lets go when the process ends, however it ends.

    Raises:
        LandingBusy: another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LandingBusy(
                "another process is at work on the landing folder of this home; it will finish what it began."
            ) from None
        yield


class LandingRecord:
    """The record of one home; every method is a transaction of its own."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._database = sqlite3.connect(file, timeout=30.0, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            self._database.executescript(_TABLES)
            with self._database as transaction:
                transaction.execute(
                    "INSERT INTO about SELECT ?, 0 WHERE NOT EXISTS (SELECT 1 FROM about)",
                    (uuid.uuid4().hex[:12],),
                )
            self.identity = str(self._database.execute("SELECT record FROM about").fetchone()[0])
        except sqlite3.OperationalError:
            raise  # locked, or no space: nothing is wrong with the file
        except sqlite3.DatabaseError:
            raise ConfigurationError(
                f"{file}: found something else than the record of landed deliveries. Remove it: "
                "batches are recognised by their content."
            ) from None

    def close(self) -> None:
        self._database.close()

    def looks(self) -> dict[str, Look]:
        rows = self._database.execute("SELECT name, signature, state, batch, machine, seconds FROM looks")
        return {row[0]: Look(row[0], row[1], row[2], row[3], Reading(row[4], row[5])) for row in rows}

    def remember(self, looks: Collection[Look]) -> None:
        with self._database as transaction:
            self._remember(transaction, looks)

    @staticmethod
    def _remember(transaction: sqlite3.Connection, looks: Collection[Look]) -> None:
        rows = [
            (look.name, look.signature, look.state, look.batch, look.since.machine, look.since.seconds)
            for look in looks
        ]
        transaction.executemany("INSERT OR REPLACE INTO looks VALUES (?, ?, ?, ?, ?, ?)", rows)

    def forget(self, names: Collection[str]) -> None:
        with self._database as transaction:
            transaction.executemany("DELETE FROM looks WHERE name = ?", [(name,) for name in names])

    def intend(self, batch: LandedBatch, studies: Collection[str]) -> None:
        """Note, before a batch is registered, that it comes from here; its number is given when it is
        there.
        """
        with self._database as transaction:
            values = (batch.key, batch.sha256, batch.studies, batch.amended, batch.rows, batch.rejected)
            transaction.execute("INSERT OR REPLACE INTO batches VALUES (?, ?, NULL, ?, ?, ?, ?)", values)
            self._index(transaction, batch.key, studies)

    def settle(self, key: str, look: Look | None = None) -> LandedBatch:
        """The batch is registered: it gets the next number, once; `look` is the delivery that it came
        from.
        """
        with self._database as transaction:
            self._remember(transaction, [look] if look is not None else [])
            number = "SELECT 1 + landed FROM about"  # no number is given again, even when its batch is gone
            if transaction.execute(
                f"UPDATE batches SET landed = ({number}) WHERE key = ? AND landed IS NULL", (key,)
            ).rowcount:
                transaction.execute(f"UPDATE about SET landed = ({number})")
        return next(batch for batch in self._batches("WHERE key = ?", key))

    def withdraw(self, key: str) -> None:
        """The batch is not there, or no longer: it counts for nothing, and deliveries that became it are
        new.
        """
        with self._database as transaction:
            for table, column in (
                ("batches", "key"),
                ("studies", "batch"),
                ("indexed", "batch"),
                ("looks", "batch"),
            ):
                transaction.execute(f"DELETE FROM {table} WHERE {column} = ?", (key,))

    def batches(self) -> list[LandedBatch]:
        """All batches that come from here; `landed` is 0 while a registration is only intended."""
        return self._batches("")

    def landed_after(self, landed: int, limit: int) -> list[LandedBatch]:
        """Registered batches with higher numbers, in their order."""
        return self._batches("WHERE landed > ? ORDER BY landed LIMIT ?", landed, limit)

    def _batches(self, condition: str, *values: object) -> list[LandedBatch]:
        query = (
            "SELECT key, sha256, COALESCE(landed, 0), studies, amended, rows, rejected FROM batches "
            f"{condition}"
        )
        return [LandedBatch(*row) for row in self._database.execute(query, values)]

    def indexed(self) -> set[str]:
        """Batches whose studies are known, from here or not."""
        return {row[0] for row in self._database.execute("SELECT batch FROM indexed")}

    def index(self, key: str, studies: Collection[str]) -> None:
        with self._database as transaction:
            self._index(transaction, key, studies)

    @staticmethod
    def _index(transaction: sqlite3.Connection, key: str, studies: Collection[str]) -> None:
        transaction.execute("INSERT OR IGNORE INTO indexed VALUES (?)", (key,))
        transaction.executemany(
            "INSERT OR IGNORE INTO studies VALUES (?, ?)", [(study, key) for study in sorted(studies)]
        )

    def amended(self, studies: Collection[str]) -> int:
        """How many of these studies an earlier batch has."""
        find = "SELECT 1 FROM studies WHERE study_id = ? LIMIT 1"
        return sum(self._database.execute(find, (study,)).fetchone() is not None for study in studies)

    def plan_move(self, name: str, plan: dict[str, object]) -> None:
        """Note, before files are moved, where each goes; from now on the delivery is no longer looked at."""
        with self._database as transaction:
            transaction.execute("INSERT OR REPLACE INTO moves VALUES (?, ?)", (name, json.dumps(plan)))
            transaction.execute("DELETE FROM looks WHERE name = ?", (name,))

    def moves(self) -> dict[str, dict[str, object]]:
        return {
            name: json.loads(plan)
            for name, plan in self._database.execute("SELECT name, plan FROM moves ORDER BY name")
        }

    def moved(self, name: str, look: Look | None = None) -> None:
        """The move is done, or with `look`, cannot be done."""
        with self._database as transaction:
            transaction.execute("DELETE FROM moves WHERE name = ?", (name,))
            self._remember(transaction, [look] if look is not None else [])
