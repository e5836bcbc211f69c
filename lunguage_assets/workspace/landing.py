"""New reports in a folder: a complete delivery becomes a batch, or is moved aside.

A delivery is a file or a folder. The home registers a batch as a whole or not at all,
and knows it by its content: a pass that was killed is made again. `docs/dagster.md`
says how to deliver.

Not here: the sensor that makes passes (`orchestration/landing_sensor.py`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from lunguage_assets.corpus.delivery import METADATA, VOCABULARY
from lunguage_assets.errors import InputError, KeyTaken, LunguageError, printable
from lunguage_assets.files import read_record, replace_text
from lunguage_assets.settings import LandingSettings, load_settings
from lunguage_assets.workspace.batch_keys import batch_key, usable_key
from lunguage_assets.workspace.home import Batch, Home, Registration

QUARANTINE = "quarantine"
"""The folder below the landing folder to which unusable deliveries are moved."""
_SINGLE_FILE = re.compile(r"\.(?:(?:csv|jsonl?)(?:\.gz)?|parquet|zip|tgz)$", re.I)
"""How a file ends that can be a delivery by itself."""
_PASSED_OVER = re.compile(
    rf"^[.~_]|^{QUARANTINE}$|^{METADATA}|^{VOCABULARY}"
    r"|\.(?:te?mp|part|partial|filepart|crdownload|uploading|incomplete)$"
)
"""Names of hidden files, of what other programs still write, and of files that may lie
beside deliveries, for all of them.
"""
_RECORD = "landed.json"

State = Literal["registered", "skipped", "quarantined", "waiting", "landed before"]


class Outcome(NamedTuple):
    """What became of a delivery, and why or as what.

    Its name and the reason of a refusal may name a patient: not for logs.
    """

    name: str
    state: State
    message: str = ""


class Landed(NamedTuple):
    """A delivery that was taken: signature of its files, keys of its batches."""

    signature: str
    batches: list[str]


class _Delivery(NamedTuple):
    """A file or folder at one look; its signature changes with each of its files."""

    path: Path
    signature: str
    changed_at: float
    is_marked: bool


def landing_folder(home: Home, settings: LandingSettings) -> Path | None:
    """Find the landing folder; None where there is none.

    `$LUNGUAGE_LANDING` names it, else the option `url`, relative to the home.
    """
    path = os.environ.get("LUNGUAGE_LANDING", "").strip() or settings.url.strip()
    return home.root / Path(path).expanduser() if path else None


def landed_before(home: Home) -> dict[str, Landed]:
    """Read which deliveries were taken, by name.

    Raises:
        InputError: the record is damaged.
    """
    file = home.root / _RECORD
    if not file.exists():
        return {}
    return read_record(
        file,
        lambda record: {name: Landed(*values) for name, values in record.items()},
        "Delete it: what lies in the landing folder is known by its content.",
    )


def batches_landed_after(home: Home, number: int) -> list[Batch]:
    """List the batches that came by the landing folder after the one of this number."""
    landed = landed_before(home).values()
    keys = {key for delivery in landed for key in delivery.batches}
    return [
        batch
        for batch in home.registered()
        if batch.number > number and batch.key in keys
    ]


def land(
    home: Home,
    folder: Path,
    stable_s: float | None = 30.0,
    seconds: float = math.inf,
) -> list[Outcome]:
    """Make one pass over a landing folder, the oldest delivery first.

    Args:
        home: that registers the deliveries.
        folder: the landing folder.
        stable_s: a delivery without a marker is complete when its files have not
            changed for so many seconds; None: nothing is waited for.
        seconds: after which no further delivery is begun.

    Raises:
        LunguageError: the landing folder is the home or is not there.
    """
    if folder.resolve() == home.root.resolve() or not folder.is_dir():
        raise LunguageError(
            f"landing folder {folder}: it is not there, or the home itself. Make or "
            "mount it, or name another: url in [landing]."
        )
    deadline = time.monotonic() + seconds
    landed = landed_before(home)
    outcomes = []
    for delivery in _deliveries(folder):
        name = delivery.path.name
        is_still = stable_s is None or time.time() - delivery.changed_at >= stable_s
        is_complete = delivery.changed_at and (delivery.is_marked or is_still)
        if name in landed and landed[name].signature == delivery.signature:
            outcome = Outcome(name, "landed before")
        elif not is_complete:
            outcome = Outcome(name, "waiting", "it may still be written to")
        elif time.monotonic() >= deadline:
            outcome = Outcome(name, "waiting", "it is for the next pass")
        else:
            outcome = _take(home, folder, delivery, landed)
            replace_text(home.root / _RECORD, json.dumps(landed, indent=2) + "\n")
        outcomes.append(outcome._replace(name=printable(name)))
    return outcomes


def summary(outcomes: Sequence[Outcome]) -> str:
    """Say how many deliveries are in which state: numbers only."""
    deliveries = Counter(outcome.state for outcome in outcomes)
    counts = [f"{count} {state}" for state, count in sorted(deliveries.items())]
    return f"Landing folder: {', '.join(counts) or 'nothing there'}."


def _deliveries(folder: Path) -> list[_Delivery]:
    """List the deliveries by their age."""
    deliveries = [
        _look_at(path)
        for path in folder.iterdir()
        if (path.is_dir() or _SINGLE_FILE.search(path.name))
        and not _PASSED_OVER.search(path.name)
    ]
    # Of a study that comes twice the newer batch counts.
    return sorted(deliveries, key=lambda delivery: (delivery.changed_at, delivery.path))


def _look_at(path: Path) -> _Delivery:
    markers = {path.with_name(f"{path.name}.done"), path / ".done", path / "_SUCCESS"}
    files = {file for file in (path, *path.rglob("*")) if file.is_file()} - markers
    digest = hashlib.sha256()
    written_at = changed_at = 0.0
    for file in sorted(files):
        status = file.stat()
        line = f"{file.relative_to(path.parent)}\0{status.st_size}\0"
        digest.update(os.fsencode(f"{line}{status.st_mtime_ns}\n"))
        written_at = max(written_at, status.st_mtime)
        # A copy may keep the time of its original; its inode tells when it was copied.
        changed_at = max(changed_at, status.st_mtime, status.st_ctime)
    # An older marker is that of an earlier delivery of this name.
    is_marked = any(
        marker.is_file() and marker.stat().st_mtime >= written_at for marker in markers
    )
    return _Delivery(path, digest.hexdigest(), changed_at, is_marked)


def _take(
    home: Home, folder: Path, delivery: _Delivery, landed: dict[str, Landed]
) -> Outcome:
    """Register a delivery by its content, or move it aside, the reason first.

    Args:
        home: that registers it.
        folder: the landing folder.
        delivery: the delivery.
        landed: gets the delivery and its batches.

    Raises:
        LunguageError: the home can take none, whatever is delivered.
    """
    path = delivery.path
    try:
        registrations = _register(home, path)
    except InputError as error:
        # Two deliveries of one name are told apart.
        name = f"{usable_key(path.name)}-{delivery.signature[:8]}"
        target = folder / QUARANTINE / name
        replace_text(
            target / "REASON.txt",
            f"This delivery was not used.\n\n{error}\n\nFix it and put it into the "
            "landing folder again.\n",
        )
        path.rename(target / path.name)
        return Outcome(path.name, "quarantined", str(error))
    keys = [registration.batch.key for registration in registrations]
    landed[path.name] = Landed(delivery.signature, keys)
    if any(registration.is_new for registration in registrations):
        return Outcome(path.name, "registered", f"batch {', '.join(keys)}")
    return Outcome(path.name, "skipped", f"same content as batch {keys[0]}")


def _register(home: Home, path: Path) -> list[Registration]:
    """Register a delivery, under a numbered key where its own has other content."""
    batch_reports = load_settings(home.settings_file).corpus.batch_reports
    key = batch_key(path)
    number = 1
    while True:
        try:
            return home.take_in(path, key, batch_reports=batch_reports)
        except KeyTaken:
            number += 1
            key = f"{batch_key(path)}-{number}"
