"""The one file of state: deliveries that were dealt with, and batches from the landing folder."""

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


class Look(BaseModel):
    """A delivery that was dealt with: its signature, and the batches that have its content."""

    signature: str
    batches: list[str] = []


class LandedBatch(BaseModel):
    """A registered delivery in numbers only: the name of a file may name a patient.

    `number` orders the batches of a home; a batch that comes back after its removal has a new one.
    """

    key: str
    sha256: str
    number: int
    studies: int
    rows: int
    rejected: int

    @property
    def counts(self) -> str:
        """Its numbers in words."""
        return f"{self.studies} studies, {self.rows} rows ({self.rejected} rejected)"


class LandingRecord(BaseModel):
    """The state of one home's landing: looks by name of the delivery, batches by key. Its loss does no harm:
    the home knows the content of its batches.
    """

    looks: dict[str, Look] = {}
    batches: dict[str, LandedBatch] = {}

    def next_number(self) -> int:
        """Higher than all before."""
        return max([time.time_ns(), *(batch.number + 1 for batch in self.batches.values())])

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
