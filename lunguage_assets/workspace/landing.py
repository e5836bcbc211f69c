"""New reports in a folder: each delivery is registered, recognised or quarantined.

A pass may be killed anywhere and done again: the home registers a batch as a whole or
not at all and knows the content of its batches, and a delivery is moved to quarantine
last. Deliveries are taken in the order of their writing, so that of two versions of a
study the newer is the amendment. `docs/dagster.md` says how to deliver.

Not here: what counts as a delivery (`landed_delivery.py`), copying it
(`delivery_copy.py`), and the sensor that makes passes (`orchestration/automation.py`).
"""

from __future__ import annotations

import errno
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.intake import read_files
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.errors import (
    InputError,
    KeyTaken,
    LunguageError,
    damaged,
    printable,
)
from lunguage_assets.files import replace_text
from lunguage_assets.locks import LockHeld, exclusive_lock_at_once
from lunguage_assets.settings import CorpusSettings, LandingSettings, load_settings
from lunguage_assets.workspace.batch_keys import usable_key
from lunguage_assets.workspace.delivery_copy import copy_delivery, copy_file
from lunguage_assets.workspace.home import Home, Registration
from lunguage_assets.workspace.landed_delivery import (
    QUARANTINE,
    SHARED_FILES,
    TABLE_ENDING,
    LandedDelivery,
    Postponed,
    is_passed_over,
    look_at,
    marker_beside,
    passing_over_missing_marker,
    unreadable,
)

_MAX_NAME_BYTES = 255
"""Of the name of a file; file systems allow no more."""
_SIGNATURE_SHOWN = 8
"""Digits of a delivery's signature that tell its name from another's."""

State = Literal[
    "registered", "skipped", "quarantined", "waiting", "passed over", "landed before"
]


class Outcome(NamedTuple):
    """What became of a delivery, and why or as what."""

    state: State
    message: str


class LandingRecord(BaseModel):
    """What passes over a landing folder remember; its loss does no harm.

    Attributes:
        seen: signature of each delivery that was dealt with, and the keys of the
            batches with its content, by name.
        batches: order and sha256 of the registered batches, by key.
    """

    seen: dict[str, tuple[str, list[str]]] = {}
    batches: dict[str, tuple[int, str]] = {}


def record_folder(home: Home) -> Path:
    """Name the folder of the record, the lock and the staged delivery."""
    return home.root / "landing-record"


def load_record(home: Home) -> LandingRecord:
    """Read the record; an empty one when there is none that can be read."""
    file = record_folder(home) / "record.json"
    try:
        return LandingRecord.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return LandingRecord()


@dataclass
class PassReport:
    """What a pass did: state, name in the landing folder, and why or as what.

    A name, and what is said of a quarantined delivery, may name a patient: not for
    logs.
    """

    outcomes: list[tuple[State, str, str]] = field(default_factory=list)

    def of(self, state: State) -> dict[str, str]:
        """Give the messages about the deliveries in a state, by name."""
        return {
            name: message
            for outcome_state, name, message in self.outcomes
            if outcome_state == state
        }

    def add(self, delivery_name: str, outcome: Outcome) -> None:
        """Note what became of a delivery."""
        self.outcomes.append((outcome.state, delivery_name, outcome.message))

    @property
    def summary(self) -> str:
        """How many deliveries are in which state: numbers only."""
        counts = []
        for state in get_args(State):
            deliveries = self.of(state)
            if deliveries:
                counts.append(f"{len(deliveries)} {state}")
        return f"Landing folder: {', '.join(counts) or 'nothing there'}."


def landing_folder(home: Home, settings: LandingSettings) -> Path | None:
    """Find the landing folder; None where there is none.

    `$LUNGUAGE_LANDING` names it, else the option `url`, relative to the home.
    """
    path = os.environ.get("LUNGUAGE_LANDING", "").strip() or settings.url.strip()
    return home.root / Path(path).expanduser() if path else None


@contextmanager
def only_one(home: Home) -> Iterator[None]:
    """Hold the landing of a home for this process.

    Raises:
        LunguageError: another process holds it.
    """
    home.create()
    record_folder(home).mkdir(exist_ok=True, mode=0o700)
    try:
        with exclusive_lock_at_once(record_folder(home) / "lock"):
            yield
    except LockHeld:
        raise LunguageError(
            "another process is at work on the landing folder of this home."
        ) from None


def land(
    home: Home,
    folder: Path,
    stable_s: float | None = 30.0,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.time,
) -> PassReport:
    """Make one pass over a landing folder.

    Args:
        home: that registers the deliveries.
        folder: the landing folder.
        stable_s: a delivery without a marker is complete when its files have not
            changed for so many seconds; None: nothing is waited for.
        seconds: after which no further delivery is begun.
        clock: what tells the time, as seconds since 1970.

    Raises:
        LunguageError: the landing folder is the home or cannot be read, another process
            makes a pass, or the folder's own `corpus.toml` or vocabulary is wrong.
    """
    with only_one(home):
        if folder.resolve() == home.root.resolve():
            raise LunguageError(
                f"landing folder {folder}: it is the home itself. Name another folder: "
                "url in [landing]."
            )
        return _Pass(home, folder, stable_s).make(clock(), seconds)


class _Pass:
    """A pass over a landing folder; the caller holds the landing of the home."""

    def __init__(self, home: Home, folder: Path, stable_s: float | None) -> None:
        self._home = home
        self._folder = folder
        self._stable_s = stable_s
        self._report = PassReport()
        self._record = load_record(home)
        self._staged = record_folder(home) / "staging" / "delivery"
        self._batch_reports = load_settings(home.settings_file).corpus.batch_reports
        self._shared_files: dict[Path, float] = {}
        """Files for all deliveries -> when they changed."""

    def make(self, begun_at: float, seconds: float) -> PassReport:
        """Deal with all deliveries, the oldest first.

        Args:
            begun_at: when the pass began, as seconds since 1970.
            seconds: after which no further delivery is begun.
        """
        deadline = time.monotonic() + seconds
        # What a pass that was killed left.
        for abandoned in record_folder(self._home).glob(".*.tmp"):
            abandoned.unlink()
        deliveries = list(self._deliveries())
        self._forget_what_is_gone(deliveries)
        # Of a study that comes twice the newer batch counts, so that the order of
        # arrival matters.
        deliveries.sort(key=lambda delivery: (delivery.written_at, delivery.name))
        for delivery in deliveries:
            is_out_of_time = time.monotonic() >= deadline
            outcome = self._left_alone(delivery, begun_at)
            if outcome is None and is_out_of_time:
                outcome = Outcome("waiting", "it is for the next pass")
            if outcome is None:
                outcome = self._take(delivery)
            self._report.add(delivery.name, outcome)
        self._save()
        return self._report

    def _deliveries(self) -> Iterator[LandedDelivery]:
        """List the deliveries; names of what is none go to the report."""
        try:
            for path in sorted(self._folder.iterdir()):
                if is_passed_over(printable(path.name)):
                    continue
                # It may have been taken away since the folder was listed.
                with suppress(FileNotFoundError):
                    delivery = look_at(path)
                    if path.name in SHARED_FILES:
                        self._shared_files[path] = delivery.changed_at
                    elif _may_be_delivery(delivery):
                        yield delivery
                    else:
                        message = "expected findings or reports, or a folder"
                        self._report.add(delivery.name, Outcome("passed over", message))
        except OSError as error:
            raise LunguageError(
                f"landing folder {self._folder}: it is not there or cannot be read "
                f"({type(error).__name__}). Make or mount it, look at its rights, or "
                "correct url in [landing]."
            ) from None

    def _forget_what_is_gone(self, deliveries: Sequence[LandedDelivery]) -> None:
        record = self._record
        sha256_by_batch = {batch.key: batch.sha256 for batch in self._home.registered()}
        record.batches = {
            key: (number, sha256)
            for key, (number, sha256) in record.batches.items()
            if sha256_by_batch.get(key) == sha256
        }
        names = {delivery.name for delivery in deliveries}
        # A delivery whose batch was removed since is looked at again.
        record.seen = {
            name: (signature, keys)
            for name, (signature, keys) in record.seen.items()
            if name in names and sha256_by_batch.keys() >= set(keys)
        }

    def _left_alone(self, delivery: LandedDelivery, begun_at: float) -> Outcome | None:
        """Say why a delivery is not taken in this pass; None where it is."""
        signature, _ = self._record.seen.get(delivery.name, ("", []))
        if signature == delivery.signature:
            return Outcome("landed before", "")
        if delivery.is_begun_only and delivery.problem is None:
            return Outcome(
                "waiting", "there is no Lunguage.csv and no raw report in it"
            )
        if self._stable_s is None:
            return None
        unchanged_s = begun_at - delivery.changed_at
        if not delivery.is_marked and unchanged_s < self._stable_s:
            return Outcome("waiting", "it may still be written to")
        shared_changed_at = max(self._shared_files.values(), default=0.0)
        if begun_at - shared_changed_at < self._stable_s:
            return Outcome(
                "waiting", "a file for all deliveries may still be written to"
            )
        return None

    def _take(self, delivery: LandedDelivery) -> Outcome:
        """Register a delivery, recognise it, or put it aside; else say why it waits."""
        lent_files: list[str] = []
        shutil.rmtree(self._staged.parent, ignore_errors=True)
        try:
            try:
                self._stage(delivery, lent_files)
                return self._register(delivery)
            except Exception as failure:
                error = _error_of_delivery(delivery, failure)
                if error is None:
                    raise
                # What was read half old, half new is not to blame.
                delivery.require_unchanged()
                return self._refuse(delivery, error, lent_files)
        except Postponed as reason:
            return Outcome("waiting", str(reason))
        finally:
            shutil.rmtree(self._staged.parent, ignore_errors=True)

    def _stage(self, delivery: LandedDelivery, lent_files: list[str]) -> None:
        """Copy a delivery, and of the files for all those that it has not.

        Args:
            delivery: that is copied.
            lent_files: gets the names of the files for all, before they are copied.
        """
        if delivery.problem is not None:
            raise delivery.problem
        copy_delivery(delivery, self._staged)
        for path in self._shared_files:
            if not (self._staged / path.name).exists():
                lent_files.append(path.name)
                copy_file(path, self._staged / path.name)
        delivery.require_unchanged()

    def _register(self, delivery: LandedDelivery) -> Outcome:
        """Register the batches of a delivery that are not known by their content."""
        name = delivery.name
        if not delivery.is_folder:
            name = TABLE_ENDING.sub("", name)
        key = usable_key(name)
        try:
            registrations = self._examine(key)
        except KeyTaken:
            # Another delivery of this name came before: this one is known by its
            # content.
            key = f"{key}-{delivery.signature[:_SIGNATURE_SHOWN]}"
            registrations = self._examine(key)
        key_by_content = {
            registration.batch.sha256: registration.batch.key
            for registration in registrations
            if registration.is_new
        }
        self._postpone_removed(key_by_content)
        if key_by_content:
            keys = ", ".join(key_by_content.values())
            counts = _counts(registrations)
            outcome = Outcome("registered", f"batch {keys}, {counts}")
            self._note_batches(key_by_content)
            self._home.register(self._staged, key, batch_reports=self._batch_reports)
        else:
            same_batch = registrations[0].batch.key
            outcome = Outcome("skipped", f"same content as batch {same_batch}")
        batches = [registration.batch.key for registration in registrations]
        self._record.seen[delivery.name] = (delivery.signature, batches)
        return outcome

    def _examine(self, key: str) -> list[Registration]:
        return self._home.examine(self._staged, key, batch_reports=self._batch_reports)

    def _postpone_removed(self, key_by_content: dict[str, str]) -> None:
        """Leave to a person what a person has removed."""
        for removal in self._home.removed():
            if removal.sha256 in key_by_content:
                raise Postponed(
                    f"its content was removed as batch {removal.key} on "
                    f"{removal.when[:10]}; `lunguage register` takes it in again"
                )

    def _note_batches(self, key_by_content: dict[str, str]) -> None:
        """Number new batches and save the record, before they are registered.

        After a kill in between the sensor asks for them; a number that no batch has
        does no harm.
        """
        numbers = [number for number, _ in self._record.batches.values()]
        first = max([time.time_ns(), *numbers]) + 1
        for number, (sha256, key) in enumerate(key_by_content.items(), first):
            self._record.batches[key] = (number, sha256)
        self._save()

    def _save(self) -> None:
        file = record_folder(self._home) / "record.json"
        replace_text(file, self._record.model_dump_json())

    def _refuse(
        self, delivery: LandedDelivery, error: InputError, lent_files: Sequence[str]
    ) -> Outcome:
        """Put a delivery aside, unless a file for all deliveries is to blame.

        Args:
            delivery: that cannot be used.
            error: what is wrong with one of its files.
            lent_files: names of the files for all that it uses.

        Raises:
            LunguageError: one of these is wrong.
        """
        file_name = Path(error.file).name
        if file_name in lent_files:
            message = error.of_file(f"{file_name} in the landing folder")
            raise LunguageError(f"{message} No delivery is taken until then.") from None
        # A single file was renamed in the copy: the name that was delivered says more.
        is_own_name = delivery.is_folder and file_name != self._staged.name
        shown_name = file_name if is_own_name else delivery.name
        return self._put_aside(delivery, error.of_file(shown_name))

    def _put_aside(self, delivery: LandedDelivery, error: InputError) -> Outcome:
        """Move a delivery to quarantine: the reason first, its marker, itself last."""
        folder = self._folder / QUARANTINE / _quarantine_name(delivery)
        marker = marker_beside(delivery.path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Nothing is written through a link of that name.
            (folder / "REASON.txt").unlink(missing_ok=True)
            with (folder / "REASON.txt").open("x", encoding="utf-8") as reason:
                reason.write(_reason_text(error))
            with passing_over_missing_marker():
                marker.rename(folder / marker.name)
            delivery.path.rename(folder / delivery.path.name)
        except OSError as problem:
            stays = f"It stays where it lies ({type(problem).__name__} in {folder})."
            error = InputError(
                error.file, error.found, error.expected, f"{error.remedy} {stays}"
            )
        return Outcome("quarantined", str(error))


def _may_be_delivery(delivery: LandedDelivery) -> bool:
    if delivery.is_folder:
        return True
    is_table = TABLE_ENDING.search(delivery.name) is not None
    return is_table and not delivery.is_begun_only


def _quarantine_name(delivery: LandedDelivery) -> str:
    """Name the folder of a delivery in quarantine; two of one name are kept apart."""
    ending = f"-{delivery.signature[:_SIGNATURE_SHOWN]}"
    most = _MAX_NAME_BYTES - len(ending)
    # A cut may fall inside a letter, which goes then.
    beginning = delivery.name.encode()[:most].decode("utf-8", "ignore")
    return f"{beginning}{ending}"


def _reason_text(error: InputError) -> str:
    lines = ["This delivery was not used.\n\n"]
    for part in ("file", "row", "column", "found", "expected", "remedy"):
        value = getattr(error, part)
        if value is not None:
            lines.append(f"{part + ':':<10} {printable(str(value))}\n")
    lines.append(
        "\nFix the delivery and put it into the landing folder again, under any name.\n"
    )
    return "".join(lines)


def _error_of_delivery(
    delivery: LandedDelivery, failure: Exception
) -> InputError | None:
    """Blame a failure on its delivery.

    Returns:
        The failure as an error of the delivery; None where it is not to blame: it
        waits, or the home cannot take any.
    """
    if isinstance(failure, InputError):
        return failure
    if isinstance(failure, KeyTaken):
        return InputError(
            delivery.name,
            found="a name whose batch keys stand for other content",
            expected="a name of its own",
            remedy="Give it another name.",
        )
    if isinstance(failure, OSError) and failure.errno == errno.ENAMETOOLONG:
        error = unreadable(delivery.path, failure)
        return error if isinstance(error, InputError) else None
    # An error of the system has a number, as that of a full disk. One without comes
    # from a reader of files.
    is_of_system = isinstance(failure, OSError) and failure.errno is not None
    if is_of_system or isinstance(failure, LunguageError | Postponed):
        return None
    return damaged(
        delivery.name,
        "something that the readers do not expect",
        failure,
        "findings or raw reports",
        "Report this.",
    )


class _UsableRows(NamedTuple):
    """What can be used of a delivery, and the rows that cannot."""

    studies: int
    rows: int
    rejected: list[Any]


def _counts(registrations: Sequence[Registration]) -> str:
    """Say how many studies and rows there are, by reading all as the intake will.

    Raises:
        InputError: no row can be used; says of one what is wrong.
    """
    counted = [_usable_rows(registration.delivery) for registration in registrations]
    studies = sum(usable.studies for usable in counted)
    rows = sum(usable.rows for usable in counted)
    rejected = [row for usable in counted for row in usable.rejected]
    if not rows:
        first = rejected[0]
        raise InputError(
            first.file,
            found=f"no record that can be used; this one for {first.reason!r}",
            expected=first.expected,
            remedy=first.remedy,
            row=first.line,
            column=first.column or None,
        )
    return f"{studies} studies, {rows + len(rejected)} rows ({len(rejected)} rejected)"


def _usable_rows(delivery: Delivery) -> _UsableRows:
    if delivery.kind == "text":
        received = receive(delivery, CorpusSettings())
        reports = len(received.report_texts)
        return _UsableRows(reports, reports, list(received.rejected.itertuples()))
    log = IntakeLog()
    studies = read_files(delivery, log)[0].values()
    rows = sum(len(study.rows) for study in studies)
    return _UsableRows(len(studies), rows, list(log.rejected_frame().itertuples()))
