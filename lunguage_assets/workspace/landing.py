"""New reports in a folder: every complete delivery is registered once, recognised, or put into quarantine.

Whoever delivers can lay anything there, so only regular files are opened. A pass may be killed anywhere and
done again: the home registers a batch as a whole or not at all and knows the content of its batches, and a
delivery is moved to quarantine last. Deliveries are taken in the order of their writing, so that of two
versions of a study the newer is the amendment.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import hashlib
import math
import os
import re
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError

from lunguage_assets.corpus.declaration import DECLARATION
from lunguage_assets.corpus.delivery import METADATA, VOCABULARY
from lunguage_assets.corpus.discovery import table_holds
from lunguage_assets.corpus.intake import read_files
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import require_size
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.errors import (
    InputError,
    KeyTaken,
    LunguageError,
    damaged,
    printable,
)
from lunguage_assets.files import replace_text
from lunguage_assets.settings import CorpusSettings, LandingSettings, load_settings
from lunguage_assets.workspace.home import Home, Registration, usable_key

QUARANTINE = "quarantine"
_SHARED = (DECLARATION, VOCABULARY)
"""Files that may lie beside deliveries, for all that have none of their own."""
_BESIDE = {name.lower() for name in (*_SHARED, METADATA)}
_TABLE = re.compile(r"\.(?:csv|csv\.gz|parquet|zip|json|json\.gz)$", re.IGNORECASE)
_TAKEN = re.compile(
    r"\.(?:(?:csv|txt|xml|json)(?:\.gz)?|parquet|zip)$|^corpus\.toml$", re.IGNORECASE
)
_PASSED_OVER = re.compile(
    rf"^[.~_]|^{QUARANTINE}$|(?:~|\.done|\.rejected\.csv)$"
    r"|\.(?:te?mp|part|partial|filepart|crdownload|download|upload|uploading|incomplete|swp)"
    r"(?:\.csv|\.csv\.gz|\.parquet)?$",
    re.IGNORECASE,
)
_DEEPEST = 100
"""Folders inside each other in one delivery; MIMIC-CXR has four."""
_LONGEST_NAME = 255
"""Bytes of the name of a file; file systems allow no more."""


class _Later(Exception):
    """A delivery cannot be taken in this pass; the message says why."""


class LandingRecord(BaseModel):
    """Signature of each delivery that was dealt with, and the keys of the batches with its content; order and
    sha256 of the registered batches by key. Its loss does no harm.
    """

    seen: dict[str, tuple[str, list[str]]] = {}
    batches: dict[str, tuple[int, str]] = {}


def record_folder(home: Home) -> Path:
    """Where the record, the lock and the staging folder are."""
    return home.root / "landing-record"


def load_record(home: Home) -> LandingRecord:
    """The record; an empty one when there is none that can be read."""
    try:
        return LandingRecord.model_validate_json(
            (record_folder(home) / "record.json").read_bytes()
        )
    except (FileNotFoundError, ValidationError):
        return LandingRecord()


State = Literal[
    "registered", "skipped", "quarantined", "waiting", "passed over", "landed before"
]


@dataclass
class PassReport:
    """What a pass did: state, name in the landing folder, and why or as what. A name, and what is said of a
    quarantined delivery, may name a patient: not for logs.
    """

    outcomes: list[tuple[State, str, str]] = field(default_factory=list)

    def of(self, state: State) -> dict[str, str]:
        """What is said of the deliveries in a state, by name."""
        return {name: told for found, name, told in self.outcomes if found == state}

    @property
    def summary(self) -> str:
        """Numbers only."""
        counts = {state: len(self.of(state)) for state in get_args(State)}
        told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        return f"Landing folder: {told or 'nothing there'}."


def landing_folder(home: Home, settings: LandingSettings) -> Path | None:
    """`$LUNGUAGE_LANDING`, else the option `url`, relative to the home; None: there is no landing folder."""
    written = os.environ.get("LUNGUAGE_LANDING", "").strip() or settings.url.strip()
    return home.root / Path(written).expanduser() if written else None


@contextlib.contextmanager
def only_one(home: Home) -> Iterator[None]:
    """Hold the landing of a home for this process; a `LunguageError` when another holds it."""
    home.create()
    record_folder(home).mkdir(exist_ok=True, mode=0o700)
    with (record_folder(home) / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LunguageError(
                "another process is at work on the landing folder of this home."
            ) from None
        yield


def land(
    home: Home,
    folder: Path,
    stable_s: float | None = 30.0,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.time,
) -> PassReport:
    """Make one pass; it begins no further delivery after so many `seconds`.

    A delivery without a marker is complete when its files have not changed for `stable_s` seconds; None:
    nothing is waited for. Raises `LunguageError`: the landing folder is the home or cannot be read, another
    process makes a pass, or the folder's own `corpus.toml` or vocabulary is wrong.
    """
    with only_one(home):
        if folder.resolve() == home.root.resolve():
            remedy = "Name another folder: url in [landing]."
            raise LunguageError(
                f"landing folder {folder}: it is the home itself. {remedy}"
            )
        return _Pass(home, folder).make(clock(), stable_s, seconds)


@dataclass(frozen=True)
class _Entry:
    """A delivery at one look: a file, or a folder with its files at any depth.

    `files` are those to take, links whatever they point to. `signature` changes with every change of its
    files, hidden ones among them. `written` is the time of the youngest, `changed` of a copy that keeps its
    time that of the copying. A marker that is no older says that it is complete. `problem`: why it could not
    be looked at as a whole.
    """

    path: Path
    is_folder: bool
    files: list[Path]
    signature: str
    written: float
    changed: float
    is_marked: bool
    problem: InputError | _Later | None = None

    @property
    def name(self) -> str:
        """Its name as it is told: on one line, with `\\udcff` in the place of a byte that is not UTF-8."""
        return printable(self.path.name)

    @property
    def is_begun_only(self) -> bool:
        """Whether neither findings nor reports lie in it, so that it is still to come."""
        return all(
            path.name.lower().removesuffix(".gz") in _BESIDE for path in self.files
        )


def _look(path: Path) -> _Entry:
    """Look at a delivery; raises FileNotFoundError when it is not there any more."""
    own_status = path.lstat()
    is_folder = stat.S_ISDIR(own_status.st_mode)
    problems: list[InputError | _Later] = []
    closed: list[Path] = []

    def cannot_be_listed(error: OSError) -> None:
        closed.append(Path(error.filename or path))
        problems.append(_unreadable(closed[-1], error))

    inside, linked = [] if is_folder else [path], set[Path]()
    for place, folders, names in (
        os.walk(path, onerror=cannot_be_listed) if is_folder else ()
    ):
        folders[:] = [name for name in folders if not _PASSED_OVER.search(name)]
        if folders and len(Path(place).relative_to(path).parts) >= _DEEPEST:
            folders.clear()
            problems.append(_too_deep(path))
        linked.update(
            Path(place, name) for name in folders if _is_link(Path(place, name))
        )
        inside += [Path(place, name) for name in names]
    markers = [path.with_name(f"{path.name}.done"), path / ".done", path / "_SUCCESS"]
    statuses = dict[Path, os.stat_result]()
    for one in sorted({*inside, *linked, *closed}):
        try:
            statuses[one] = one.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(_unreadable(one, error))
    if problems:  # of which so little may be seen that it would be signed as any other
        statuses[path] = own_status
    with _no_such_marker():
        statuses[markers[0]] = markers[0].lstat()
    marked = [statuses.pop(marker).st_mtime for marker in markers if marker in statuses]
    written = max((status.st_mtime for status in statuses.values()), default=0.0)
    signed = ""
    for one, status in statuses.items():
        signed += (
            f"{one.relative_to(path.parent)}\0{status.st_size}\0{status.st_mtime_ns}\n"
        )

    def is_taken(one: Path) -> bool:
        named = (
            _TAKEN.search(one.name) is not None
            and _PASSED_OVER.search(one.name) is None
        )
        return named or one == path or one in linked

    return _Entry(
        path,
        is_folder,
        list(filter(is_taken, statuses)),
        hashlib.sha256(os.fsencode(signed)).hexdigest()[:32],
        written,
        max([written, *(status.st_ctime for status in statuses.values())]),
        any(at >= written for at in marked),
        next(iter(problems), None),
    )


def _is_link(path: Path) -> bool:
    """Whether a path is a link; one that cannot be looked at is found out when it is listed."""
    with contextlib.suppress(OSError):
        return path.is_symlink()
    return False


@contextlib.contextmanager
def _no_such_marker() -> Iterator[None]:
    """Pass over a marker that is not there: none can be where its name is too long for a file."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
            raise


def _unreadable(path: Path, error: OSError) -> InputError | _Later:
    """What becomes of a delivery of which a file or folder cannot be read: it is put aside where that lasts,
    and waits where it may pass, as on a network.
    """
    name = printable(path.name)
    if error.errno in (errno.EACCES, errno.EPERM):
        expected = "what the account of this process may read"
        remedy = "Change the rights (chmod -R u+rwX, chown) and deliver it again."
        return InputError(
            name, "a file or folder that may not be read", expected, remedy
        )
    if error.errno == errno.ENAMETOOLONG:
        remedy = "Use shorter names, or fewer folders inside each other."
        return InputError(
            name, "a path that is too long", "a path that a file can have", remedy
        )
    return _Later(f"it cannot be read at present ({type(error).__name__})")


def _too_deep(path: Path) -> InputError:
    found = f"more than {_DEEPEST} folders inside each other"
    remedy = "Lay the files into fewer folders."
    return InputError(printable(path.name), found, f"at most {_DEEPEST}", remedy)


def _require_unchanged(entry: _Entry) -> None:
    with contextlib.suppress(FileNotFoundError):
        if _look(entry.path).signature == entry.signature:
            return
    raise _Later("it changed while it was read")


def _fetch(entry: _Entry, folder: Path) -> None:
    """Copy a delivery into a new folder, unpacked, a single file under the name of what it holds: the same
    content packed or named otherwise is the same delivery.
    """
    folder.mkdir(parents=True)
    unpacked = 0
    for path in entry.files:
        own = path.relative_to(entry.path).as_posix()
        if not entry.is_folder:
            own = "Lunguage" + path.name[len(_TABLE.sub("", path.name)) :].lower()
        is_packed = own.lower().endswith(".gz")
        target = folder / (own[: -len(".gz")] if is_packed else own)
        if target.exists():
            found, remedy = (
                f"{target.name} in two forms",
                "Remove all but the one to use.",
            )
            raise InputError(path.name, found, "each file once", remedy)
        _copy(path, target)
        unpacked += target.stat().st_size if is_packed else 0
        require_size(path.name, unpacked)
        if not entry.is_folder and table_holds(target) in (
            "reports",
            "open-i",
            "chexpert-plus",
        ):
            target.rename(target.with_stem("reports"))


def _copy(path: Path, target: Path) -> None:
    """Copy a regular file, unpacked; a link is not followed, a FIFO is not waited for."""
    try:
        wrong = (
            "" if stat.S_ISREG(path.lstat().st_mode) else "a link, a FIFO or the like"
        )
        wrong = wrong if _is_utf_8(str(path)) else "a name that is not UTF-8"
        if wrong:
            remedy = "Lay a copy of the file there."
            raise InputError(printable(path.name), wrong, "a file of its own", remedy)
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as source, target.open("wb") as copy:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError("it was exchanged")
            is_packed = path.name.lower().endswith(".gz")
            stream = gzip.GzipFile(fileobj=source) if is_packed else source
            while block := stream.read(1 << 20):
                copy.write(block)
                if is_packed:
                    require_size(path.name, copy.tell())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(
            path.name, "a file that cannot be unpacked", error, "a whole .gz file"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _is_utf_8(name: str) -> bool:
    return name == name.encode("utf-8", "replace").decode()


class _Pass:
    """A pass over a landing folder; the caller holds the landing of the home."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home, self.folder, self.report = home, folder, PassReport()
        self.staged = record_folder(home) / "staging" / "delivery"
        self.most = load_settings(home.settings_file).corpus.batch_reports
        self.record, self.shared = load_record(home), dict[Path, float]()

    def make(self, now: float, stable_s: float | None, seconds: float) -> PassReport:
        begun, registered = (
            time.monotonic(),
            {one.key: one.sha256 for one in self.home.registered()},
        )
        for abandoned in record_folder(self.home).glob(
            ".*.tmp"
        ):  # by a pass that was killed
            abandoned.unlink()
        entries, record = list(self._entries()), self.record
        record.batches = {
            k: one for k, one in record.batches.items() if registered.get(k) == one[1]
        }
        names = {entry.name for entry in entries}
        record.seen = {name: one for name, one in record.seen.items() if name in names}
        for entry in sorted(entries, key=lambda entry: (entry.written, entry.name)):
            signature, keys = record.seen.get(entry.name, ("", []))
            if signature == entry.signature and registered.keys() >= set(keys):
                outcome: tuple[State, str] = "landed before", ""
            elif entry.is_begun_only and entry.problem is None:
                outcome = "waiting", "there is no Lunguage.csv and no raw report in it"
            elif (
                stable_s is not None
                and not entry.is_marked
                and now - entry.changed < stable_s
            ):
                outcome = "waiting", "it may still be written to"
            elif (
                stable_s is not None
                and now - max(self.shared.values(), default=0.0) < stable_s
            ):
                outcome = "waiting", "a file for all deliveries may still be written to"
            elif time.monotonic() - begun >= seconds:
                outcome = "waiting", "it is for the next pass"
            else:
                outcome = self._taken(entry)
            self.report.outcomes.append((outcome[0], entry.name, outcome[1]))
        self._save()
        return self.report

    def _entries(self) -> Iterator[_Entry]:
        """The deliveries; names of what is none go to the report."""
        try:
            for path in sorted(self.folder.iterdir()):
                if _PASSED_OVER.search(printable(path.name)):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    entry = _look(path)
                    if path.name in _SHARED:
                        self.shared[path] = entry.changed
                    elif entry.is_folder or (
                        _TABLE.search(entry.name) and not entry.is_begun_only
                    ):
                        yield entry
                    else:
                        told = "expected findings or reports, or a folder"
                        self.report.outcomes.append(("passed over", entry.name, told))
        except OSError as error:
            found = f"it is not there or cannot be read ({type(error).__name__})"
            remedy = (
                "Make or mount it, look at its rights, or correct url in [landing]."
            )
            raise LunguageError(
                f"landing folder {self.folder}: {found}. {remedy}"
            ) from None

    def _save(self) -> None:
        replace_text(
            record_folder(self.home) / "record.json", self.record.model_dump_json()
        )

    def _taken(self, entry: _Entry) -> tuple[State, str]:
        """Register a delivery, recognise it, or put it aside; else say why it waits."""
        lent = list[str]()
        shutil.rmtree(self.staged.parent, ignore_errors=True)
        try:
            try:
                self._stage(entry, lent)
                return self._registered(entry)
            except Exception as failure:
                error = _blamed_on(entry, failure)
                if error is None:
                    raise
                _require_unchanged(entry)
                named = Path(error.file).name
                if named in lent:
                    told = error.of_file(f"{named} in the landing folder")
                    raise LunguageError(
                        f"{told} No delivery is taken until then."
                    ) from None
                is_own = entry.is_folder and named != self.staged.name
                return self._put_aside(
                    entry, error.of_file(named if is_own else entry.name)
                )
        except _Later as why:
            return "waiting", str(why)
        finally:
            shutil.rmtree(self.staged.parent, ignore_errors=True)

    def _stage(self, entry: _Entry, lent: list[str]) -> None:
        """Copy a delivery, and what it has not of the files for all, whose names go to `lent`."""
        if entry.problem is not None:
            raise entry.problem
        _fetch(entry, self.staged)
        for path in self.shared:
            if not (self.staged / path.name).exists():
                lent.append(path.name)
                _copy(path, self.staged / path.name)
        _require_unchanged(entry)

    def _registered(self, entry: _Entry) -> tuple[State, str]:
        """Register the batches of a delivery, unless they are known by their content."""
        key = usable_key(entry.name if entry.is_folder else _TABLE.sub("", entry.name))
        try:
            found = self.home.examine(self.staged, key, batch_reports=self.most)
        except KeyTaken:
            key = f"{key}-{entry.signature[:8]}"
            found = self.home.examine(self.staged, key, batch_reports=self.most)
        new = {one.batch.sha256: one.batch.key for one in found if one.is_new}
        for gone in self.home.removed():
            if gone.sha256 in new:
                when = (
                    f"its content was removed as batch {gone.key} on {gone.when[:10]}"
                )
                raise _Later(f"{when}; `lunguage register` takes it in again")
        outcome: tuple[State, str] = (
            "skipped",
            f"same content as batch {found[0].batch.key}",
        )
        if new:
            outcome = "registered", f"batch {', '.join(new.values())}, {_counts(found)}"
            last = max(
                [
                    time.time_ns(),
                    *(number for number, _ in self.record.batches.values()),
                ]
            )
            for number, (sha256, own) in enumerate(new.items(), last + 1):
                self.record.batches[own] = (number, sha256)
            self._save()  # first, so that after a kill the sensor asks for them
            self.home.register(self.staged, key, batch_reports=self.most)
        self.record.seen[entry.name] = (
            entry.signature,
            [one.batch.key for one in found],
        )
        return outcome

    def _put_aside(self, entry: _Entry, error: InputError) -> tuple[State, str]:
        """Move a delivery with its marker to quarantine, the reason first and itself last."""
        ending = f"-{entry.signature[:8]}"
        beginning = entry.name.encode()[: _LONGEST_NAME - len(ending)].decode(
            "utf-8", "ignore"
        )
        aside = self.folder / QUARANTINE / f"{beginning}{ending}"
        told = "This delivery was not used.\n\n"
        for part in ("file", "row", "column", "found", "expected", "remedy"):
            if (value := getattr(error, part)) is not None:
                told += f"{part + ':':<10} {printable(str(value))}\n"
        told += "\nFix the delivery and put it into the landing folder again, under any name.\n"
        marker = f"{entry.path.name}.done"
        try:
            aside.mkdir(parents=True, exist_ok=True)
            (aside / "REASON.txt").unlink(
                missing_ok=True
            )  # nothing is written through a link of that name
            with (aside / "REASON.txt").open("x", encoding="utf-8") as reason:
                reason.write(told)
            with _no_such_marker():
                (self.folder / marker).rename(aside / marker)
            entry.path.rename(aside / entry.path.name)
        except OSError as problem:
            remedy = f"{error.remedy} It stays where it lies ({type(problem).__name__} in {aside})."
            error = InputError(error.file, error.found, error.expected, remedy)
        return "quarantined", str(error)


def _blamed_on(entry: _Entry, failure: Exception) -> InputError | None:
    """The failure of a delivery as an error of it; None where the delivery is not to blame: it waits, or the
    home cannot take any.
    """
    if isinstance(failure, InputError):
        return failure
    if isinstance(failure, KeyTaken):
        found = "a name whose batch keys stand for other content"
        return InputError(
            entry.name, found, "a name of its own", "Give it another name."
        )
    if isinstance(failure, OSError) and failure.errno == errno.ENAMETOOLONG:
        named = _unreadable(entry.path, failure)
        return named if isinstance(named, InputError) else None
    # An error of the system says which: of a full disk, say. One without comes from a reader of files.
    is_of_home = isinstance(failure, OSError) and failure.errno is not None
    if is_of_home or isinstance(failure, LunguageError | _Later):
        return None
    wrong, expected = (
        "something that the readers do not expect",
        "findings or raw reports",
    )
    return damaged(entry.name, wrong, failure, expected, "Report this.")


def _counts(found: Sequence[Registration]) -> str:
    """Studies and rows in words; all files are read as the intake will. Raises `InputError`: no row can be
    used; says of one what is wrong.
    """
    studies = used = 0
    refused = list[Any]()
    for delivery in (one.delivery for one in found):
        if delivery.kind == "text":
            received = receive(delivery, CorpusSettings())
            rejected, read = received.rejected, len(received.report_texts)
            used += read
        else:
            log = IntakeLog()
            rows = read_files(delivery, log)[0].values()
            rejected, read = log.rejected_frame(), len(rows)
            used += sum(len(study.rows) for study in rows)
        studies += read
        refused += rejected.itertuples()
    if not used:
        one = refused[0]
        unused = f"no record that can be used; this one for {one.reason!r}"
        place = {"row": one.line, "column": one.column or None}
        raise InputError(one.file, unused, one.expected, one.remedy, **place)
    return f"{studies} studies, {used + len(refused)} rows ({len(refused)} rejected)"
