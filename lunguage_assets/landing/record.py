"""The one file of state: last looks, batches from the landing folder, and unfinished moves to quarantine.

Its loss does no harm: the home knows the content of its batches. A database is not needed, because one
process at a time writes, and always the whole.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ValidationError

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.files import replace_text
from lunguage_assets.home.home import Home


class LandingBusy(LunguageError):
    """Another process makes a pass for this home."""


class LastLook(BaseModel):
    """A delivery since its last change: first look in seconds of uptime, batch key once it was dealt with.

    `further`: keys of the batches behind the first, of raw reports that were too many for one.
    """

    signature: str
    since: float
    batch: str = ""
    further: list[str] = []


class LandedBatch(BaseModel):
    """A registered delivery in numbers only: the name of a file may name a patient.

    `number` orders the batches of a home; a batch that comes back after its removal has a new one.
    """

    key: str
    sha256: str
    number: int
    studies: int
    amended: int
    rows: int
    rejected: int

    @property
    def counts(self) -> str:
        """Its numbers in words."""
        return (
            f"{self.studies} studies ({self.amended} of them came in an earlier batch), {self.rows} rows "
            f"({self.rejected} rejected)"
        )


class Move(BaseModel):
    """A planned move to quarantine: (source, goal, stamp) of files below the landing folder.

    A source is written as in an address (`%FF`), as its name may not be UTF-8.
    """

    signature: str
    files: list[tuple[str, str, str]]
    texts: dict[str, str]
    """Path -> content of the files with the reason."""
    reason: str
    reason_without_names: str


class LandingRecord(BaseModel):
    """The state of one home's landing; looks and moves by name of the delivery."""

    machine: str = ""
    looks: dict[str, LastLook] = {}
    batches: dict[str, LandedBatch] = {}
    moves: dict[str, Move] = {}
    last: int = 0
    """The highest number that a batch had, also a removed one."""

    def next_number(self) -> int:
        """Higher than all before, whatever the clock says."""
        self.last = max(time.time_ns(), self.last + 1)
        return self.last

    def save(self, home: Home) -> None:
        replace_text(record_folder(home) / "record.json", self.model_dump_json())


def record_folder(home: Home) -> Path:
    """Where the record, the lock and the staging folder are."""
    return home.root / "landing-record"


def load_record(home: Home) -> LandingRecord:
    """The record; an empty one when there is none."""
    file = record_folder(home) / "record.json"
    try:
        return LandingRecord.model_validate_json(file.read_bytes()) if file.exists() else LandingRecord()
    except ValidationError:
        raise ConfigurationError(
            f"{file}: found something else than the record of the landing. Remove it: batches are "
            "recognised by their content."
        ) from None


@contextmanager
def only_one(home: Home) -> Iterator[None]:
    """Hold the landing of a home for this process, until it ends.

    Raises:
        LandingBusy: another process holds it.
    """
    home.create()
    record_folder(home).mkdir(exist_ok=True, mode=0o700)
    with (record_folder(home) / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LandingBusy("another process is at work on the landing folder of this home.") from None
        yield
