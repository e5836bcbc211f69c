"""New reports in a folder: a complete delivery becomes a batch, or is moved aside.

A delivery is a file or a folder. The home registers a batch as a whole or not at all,
and knows it by its content: a pass that was killed is made again. `docs/dagster.md`
says how to deliver.

Not here: the sensor that makes passes (`orchestration/landing_sensor.py`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from lunguage_assets.corpus.delivery import METADATA, VOCABULARY
from lunguage_assets.errors import (
    InputError,
    KeyTaken,
    LunguageError,
    damaged,
    printable,
)
from lunguage_assets.files import read_record, replace_text
from lunguage_assets.settings import LandingSettings, load_settings
from lunguage_assets.workspace.batch_keys import batch_key, usable_key
from lunguage_assets.workspace.home import Home, Registration

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
_SIGNATURE_SHOWN = 8
"""Digits of a signature that tell two deliveries of one name apart."""

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
    odd_file: str


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
        LunguageError: the landing folder is the home or cannot be read.
    """
    if folder.resolve() == home.root.resolve():
        raise LunguageError(
            f"landing folder {folder}: it is the home itself. Name another folder: url "
            "in [landing]."
        )
    deadline = time.monotonic() + seconds
    landed = landed_before(home)
    outcomes = []
    for delivery in _deliveries(folder):
        name = delivery.path.name
        is_still = stable_s is None or time.time() - delivery.changed_at >= stable_s
        if name in landed and landed[name].signature == delivery.signature:
            outcome = Outcome(name, "landed before")
        elif not delivery.changed_at:
            outcome = Outcome(name, "waiting", "there is no file in it")
        elif not (delivery.is_marked or is_still):
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
    deliveries = []
    try:
        for path in folder.iterdir():
            may_be_one = path.is_dir() or _SINGLE_FILE.search(path.name) is not None
            if may_be_one and not _PASSED_OVER.search(path.name):
                # It may have been taken away since the folder was listed.
                with suppress(FileNotFoundError):
                    deliveries.append(_look_at(path))
    except OSError as error:
        raise LunguageError(
            f"landing folder {folder}: it is not there or cannot be read "
            f"({type(error).__name__}). Make or mount it, look at its rights, or "
            "correct url in [landing]."
        ) from None
    # Of a study that comes twice the newer batch counts.
    return sorted(deliveries, key=lambda delivery: (delivery.changed_at, delivery.path))


def _look_at(path: Path) -> _Delivery:
    """Look at a delivery; nothing is opened: it may be a FIFO, which waits for ever."""
    entries = {path}
    for parent, folders, files in os.walk(path):
        entries |= {Path(parent, name) for name in (*folders, *files)}
    markers = {path.with_name(f"{path.name}.done"), path / ".done", path / "_SUCCESS"}
    digest = hashlib.sha256()
    written_at = changed_at = 0.0
    odd_file = ""
    for entry in sorted(entries - markers):
        status = entry.lstat()
        if stat.S_ISDIR(status.st_mode):
            continue
        if not stat.S_ISREG(status.st_mode):
            odd_file = entry.name
        line = f"{entry.relative_to(path.parent)}\0{status.st_size}\0"
        digest.update(os.fsencode(f"{line}{status.st_mtime_ns}\n"))
        written_at = max(written_at, status.st_mtime)
        # A copy may keep the time of its original; its inode tells when it was copied.
        changed_at = max(changed_at, status.st_mtime, status.st_ctime)
    # An older marker is that of an earlier delivery of this name.
    is_marked = any(
        marker.is_file() and marker.lstat().st_mtime >= written_at for marker in markers
    )
    return _Delivery(path, digest.hexdigest(), changed_at, is_marked, odd_file)


def _take(
    home: Home, folder: Path, delivery: _Delivery, landed: dict[str, Landed]
) -> Outcome:
    """Register a delivery by its content, or move it aside.

    Args:
        home: that registers it.
        folder: the landing folder.
        delivery: the delivery.
        landed: gets the delivery and its batches.

    Raises:
        LunguageError: the home can take none, whatever is delivered.
    """
    name = delivery.path.name
    try:
        try:
            registrations = _register(home, delivery)
        except InputError as error:
            return _moved_aside(folder, delivery, error)
        except (OSError, LunguageError):
            raise
        except Exception as failure:
            problem = "something that the readers do not expect"
            unread = damaged(name, problem, failure, "a delivery", "Report this.")
            return _moved_aside(folder, delivery, unread)
    except OSError as error:
        # A full disk or a network that is away may pass.
        problem = f"it cannot be taken at present ({type(error).__name__})"
        return Outcome(name, "waiting", problem)
    keys = [registration.batch.key for registration in registrations]
    landed[name] = Landed(delivery.signature, keys)
    if any(registration.is_new for registration in registrations):
        return Outcome(name, "registered", f"batch {', '.join(keys)}")
    return Outcome(name, "skipped", f"same content as batch {keys[0]}")


def _register(home: Home, delivery: _Delivery) -> list[Registration]:
    """Register a delivery, under a numbered key where its own has other content."""
    if delivery.odd_file:
        raise InputError(
            printable(delivery.odd_file),
            "a link, a FIFO or the like",
            "a file of its own",
            "Lay a copy of the file there.",
        )
    key = batch_key(delivery.path)
    settings = load_settings(home.settings_file).corpus
    for number in itertools.count(2):
        try:
            return home.take_in(
                delivery.path, key, batch_reports=settings.batch_reports
            )
        except KeyTaken:
            key = f"{batch_key(delivery.path)}-{number}"
    raise AssertionError("a number is free")


def _moved_aside(folder: Path, delivery: _Delivery, error: InputError) -> Outcome:
    """Move a delivery to quarantine, the reason first."""
    path = delivery.path
    ending = delivery.signature[:_SIGNATURE_SHOWN]
    target = folder / QUARANTINE / f"{usable_key(path.name)}-{ending}"
    remedy = "Fix it and put it into the landing folder again."
    replace_text(
        target / "REASON.txt", f"This delivery was not used.\n\n{error}\n\n{remedy}\n"
    )
    path.rename(target / path.name)
    return Outcome(path.name, "quarantined", str(error))
