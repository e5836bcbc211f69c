"""One pass over the landing folder: every complete delivery becomes a batch, is recognised, or is put aside;
the rest waits.

A pass may be killed anywhere and done again: what it began is on record before it happens, and the home
registers a batch as a whole or not at all. Deliveries are taken in the order in which they were written, so
that of two versions of a study the newer is the amendment.
"""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.delivery import (
    DECLARATION,
    VOCABULARY,
    content_hash,
    find_delivery,
    read_declaration,
)
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.errors import ConfigurationError, CorpusMismatch, InputError
from lunguage_assets.home.home import Batch, Home, usable_key
from lunguage_assets.landing.entries import (
    QUARANTINE,
    REJECTED_SUFFIX,
    Entry,
    Listing,
    list_entries,
    seen_again,
)
from lunguage_assets.landing.examination import (
    Examination,
    NoUsableRow,
    corpus_of,
    delivered_studies,
    examine,
)
from lunguage_assets.landing.fetch import Fetched, fetch, fetch_file, lend, prepare
from lunguage_assets.landing.place import LandingPlace, LandingUnreachable
from lunguage_assets.landing.quarantine import Reason, carry_out, plan
from lunguage_assets.landing.record import LandedBatch, LandingRecord, Look, only_one
from lunguage_assets.landing.waiting import Clock, UptimeClock, has_settled, must_wait_anew

_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class Bounds:
    """After so many deliveries, or so many seconds, a pass begins no further delivery; `stable_s` is how long
    one must lie unchanged.

    With `as_they_lie` nothing is waited for.
    """

    stable_s: float = 30.0
    deliveries: int = 50
    seconds: float = 20.0
    as_they_lie: bool = False


@dataclass
class Outcome:
    """What a pass did. Keys of the dictionaries are names as in the landing folder, which may name patients:
    not for logs.
    """

    registered: list[LandedBatch] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Batch key -> name of the delivery."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Name -> key of the batch that has the same content."""
    quarantined: list[Reason] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)
    """Name -> why."""
    others: dict[str, str] = field(default_factory=dict)
    """Name -> why it is no delivery."""
    refused: int = 0
    """Deliveries that cannot be used, and not be put aside either, because nothing may be written where they
    lie.
    """
    known: int = 0
    """Deliveries that earlier passes have dealt with and that lie there unchanged."""
    left: int = 0
    """Complete deliveries that the next pass will take."""


def folder_of(home: Home) -> Path:
    """Where record and staging of the landing are."""
    return home.root / "landing-record"


def record_of(home: Home) -> LandingRecord:
    home.create()
    return LandingRecord(folder_of(home) / "record.sqlite")


def land(
    home: Home, place: LandingPlace, bounds: Bounds | None = None, clock: Clock | None = None
) -> Outcome:
    """Make one pass.

    Raises:
        LandingUnreachable: the landing folder cannot be read.
        LandingBusy: another process makes a pass for this home.
        ConfigurationError: the landing folder is the home.
        InputError: a file that serves all deliveries (`corpus.toml`, the shared vocabulary) is wrong; no
            delivery is blamed for it.
    """
    if Path(place.root) == home.root:
        raise ConfigurationError(
            f"landing folder {place.shown}: it is the home itself. Name another folder: url in [landing]."
        )
    home.create()
    with only_one(folder_of(home)):
        record = record_of(home)
        try:
            return _Pass(home, place, record, bounds or Bounds(), clock or UptimeClock()).make()
        finally:
            record.close()


class _Pass:
    def __init__(
        self, home: Home, place: LandingPlace, record: LandingRecord, bounds: Bounds, clock: Clock
    ) -> None:
        self.home, self.place, self.record, self.bounds = home, place, record, bounds
        self.now = clock.reading()
        self.outcome = Outcome()
        self.staging = folder_of(home) / "staging"
        self.begun = time.monotonic()
        self.registered: dict[str, Batch] = {}
        self.has_shared = False

    def make(self) -> Outcome:
        shutil.rmtree(self.staging, ignore_errors=True)
        self._agree_with_home()
        self._finish_moves()
        listing = list_entries(self.place)
        self.outcome.others = listing.others
        ready = self._ready(listing)
        for position, entry in enumerate(ready):
            if position >= self.bounds.deliveries or time.monotonic() - self.begun >= self.bounds.seconds:
                self.outcome.left = len(ready) - position
                break
            self._take(entry, listing)
            shutil.rmtree(self.staging / "delivery", ignore_errors=True)
        shutil.rmtree(self.staging, ignore_errors=True)
        return self.outcome

    def _agree_with_home(self) -> None:
        """The home has the last word: a registration that was cut off is finished or void, a batch that is
        gone is forgotten.
        """
        self.registered = {batch.key: batch for batch in self.home.registered()}
        for landed in self.record.batches():
            present = self.registered.get(landed.key)
            if present is None or present.sha256 != landed.sha256:
                self.record.withdraw(landed.key)
            elif not landed.landed:
                self.outcome.registered.append(self.record.settle(landed.key))

    def _finish_moves(self) -> None:
        for name, planned in self.record.moves().items():
            self._move(name, planned)

    def _ready(self, listing: Listing) -> list[Entry]:
        """Complete deliveries that are new or changed, in the order in which they were written; the others
        wait or are known.
        """
        looks, moving = self.record.looks(), self.record.moves()
        vocabulary = listing.vocabulary
        everything = [*listing.entries, *([vocabulary] if vocabulary is not None else [])]
        self.record.forget(set(looks) - {entry.name for entry in everything})
        watched: list[Look] = []
        unsettled = vocabulary is not None and not self._is_complete(vocabulary, looks, watched)
        ready = []
        for entry in listing.entries:
            look = looks.get(entry.name)
            if moving.get(entry.name, {}).get("signature") == entry.signature:
                continue
            if look is not None and look.signature == entry.signature and look.state != "watched":
                self.outcome.known += look.state != "refused"
                self.outcome.refused += look.state == "refused"
            elif self._is_complete(entry, looks, watched):
                if unsettled and not entry.has_vocabulary:
                    self.outcome.waiting[entry.name] = "the shared vocabulary is still changing"
                else:
                    ready.append(entry)
        self.record.remember(watched)
        return sorted(ready, key=lambda entry: (entry.modified, entry.name))

    def _is_complete(self, entry: Entry, looks: Mapping[str, Look], watched: list[Look]) -> bool:
        look = looks.get(entry.name)
        unchanged = look is not None and look.signature == entry.signature
        if not unchanged or look is None or must_wait_anew(look.since, self.now):
            look = Look(entry.name, entry.signature, "watched", since=self.now)
            watched.append(look)
            unchanged = False
        if entry.hindrance:
            self.outcome.waiting[entry.name] = entry.hindrance
            return False
        if (
            entry.is_marked
            or self.bounds.as_they_lie
            or (unchanged and has_settled(look.since, self.now, self.bounds.stable_s))
        ):
            return True
        self.outcome.waiting[entry.name] = "it may still be written to"
        return False

    def _take(self, entry: Entry, listing: Listing) -> None:
        """Fetch a delivery and decide: known content, a new batch, or not usable."""
        try:
            fetched = fetch(self.place, entry, self.staging / "delivery" / "as-delivered")
        except LandingUnreachable:
            self.outcome.waiting[entry.name] = "a file in it cannot be read"
            return
        if seen_again(self.place, entry) != entry.signature:
            self.outcome.waiting[entry.name] = "it changed while it was read"
            return
        ready = self.staging / "delivery" / "ready"
        self._fetch_shared(listing)
        try:
            prepare(fetched, entry, ready)
            self._lend(listing, ready)
            self._register(entry, fetched, ready)
        except InputError as error:
            self._put_aside(entry, fetched, error)

    def _fetch_shared(self, listing: Listing) -> None:
        """Fetch, once in a pass, what serves all deliveries; an error in it is told as such, and stops the
        pass.
        """
        shared = self.staging / "shared"
        if self.has_shared:
            return
        self.has_shared = True
        shared.mkdir(parents=True, exist_ok=True)
        if listing.declaration is not None:
            fetch_file(self.place, listing.declaration, shared)
            try:
                read_declaration(shared / DECLARATION)
            except InputError as error:
                raise _of_shared(error, DECLARATION) from None
        if listing.vocabulary is not None:
            try:
                prepare(
                    fetch(self.place, listing.vocabulary, shared / "packed"),
                    listing.vocabulary,
                    shared / "unpacked",
                )
                read_terms(shared / "unpacked" / VOCABULARY, IntakeLog())
            except InputError as error:
                raise _of_shared(error, listing.vocabulary.name) from None

    def _lend(self, listing: Listing, ready: Path) -> None:
        if listing.declaration is not None:
            lend(self.staging / "shared" / DECLARATION, ready)
        if listing.vocabulary is not None:
            lend(self.staging / "shared" / "unpacked" / VOCABULARY, ready)

    def _register(self, entry: Entry, fetched: Fetched, ready: Path) -> None:
        delivery = find_delivery(ready)
        corpus = corpus_of(delivery.declared, self.home.corpus())
        sha256 = content_hash(delivery)
        twin = next((batch for batch in self.registered.values() if batch.sha256 == sha256), None)
        if twin is not None:
            self._recognise(entry, twin.key)
            return
        examination = examine(ready)
        key = self._free_key(entry.key_name, sha256)
        self._index_batches()
        amended = self.record.amended(examination.studies)
        counts = (len(examination.studies), amended, examination.rows, len(examination.rejected))
        self.record.intend(LandedBatch(key, sha256, 0, *counts), examination.studies)
        self._list_rejected(entry, fetched, examination)
        try:
            self.registered[key] = self.home.register(ready, key, corpus.name)
        except (
            CorpusMismatch
        ):  # the home was claimed, or the key taken, since this pass began: the next one decides anew
            self.record.withdraw(key)
            self.outcome.waiting[entry.name] = "the home has just changed"
            return
        self.outcome.registered.append(
            self.record.settle(key, Look(entry.name, entry.signature, "landed", key, self.now))
        )
        self.outcome.names[key] = entry.name

    def _recognise(self, entry: Entry, key: str) -> None:
        """The content is a batch already: skip it, unless it is the very delivery whose registration was cut
        off.
        """
        finished_now = (
            any(batch.key == key for batch in self.outcome.registered) and key not in self.outcome.names
        )
        if finished_now:
            self.outcome.names[key] = entry.name
        else:
            self.outcome.skipped[entry.name] = key
        self.record.remember(
            [Look(entry.name, entry.signature, "landed" if finished_now else "skipped", key, self.now)]
        )

    def _free_key(self, name: str, sha256: str) -> str:
        """The delivery's name, and if other content has it already, with the beginning of the content
        hash.
        """
        plain = usable_key(name)
        candidates = [plain, *(f"{plain}-{sha256[:length]}" for length in (8, 16, 64))]
        return next(key for key in candidates if key not in self.registered)

    def _index_batches(self) -> None:
        """Learn the studies of batches that were registered in another way."""
        for key in sorted(set(self.registered) - self.record.indexed()):
            self.record.index(key, delivered_studies(self.home.batches / key))

    def _list_rejected(self, entry: Entry, fetched: Fetched, examination: Examination) -> None:
        """Lay the list of rejected rows beside the delivery; where nothing may be written, table `rejected`
        alone has them.
        """
        path = self.place.at(entry.name + REJECTED_SUFFIX)
        try:
            if len(examination.rejected):
                self.place.write(path, _as_csv(examination.rejected, fetched.originals).encode())
            else:
                self.place.remove(path)
        except Exception:
            return

    def _put_aside(self, entry: Entry, fetched: Fetched, error: InputError) -> None:
        reason = Reason.of(error, entry.name, fetched.sha256, fetched.originals)
        rejected = _as_csv(error.rejected, fetched.originals) if isinstance(error, NoUsableRow) else ""
        planned = plan(self.place, entry, reason, rejected)
        self.record.plan_move(entry.name, planned)
        self.outcome.quarantined.append(reason)
        self._move(entry.name, planned)

    def _move(self, name: str, planned: Mapping[str, Any]) -> None:
        try:
            carry_out(self.place, planned)
            self.record.moved(name)
        except Exception as error:  # every file system has errors of its own
            if not _is_forbidden(error):
                self.outcome.waiting[name] = f"it cannot be put aside at present ({type(error).__name__})"
                return
            reason = Reason(**planned["reason"])
            beside = folder_of(self.home) / "refused" / reason.folder
            beside.mkdir(parents=True, exist_ok=True)
            (beside / "REASON.txt").write_text(reason.text, encoding="utf-8")
            self.record.moved(name, Look(name, planned["signature"], "refused", since=self.now))


def quarantine_place(place: LandingPlace) -> str:
    """Where deliveries are put aside, as a person may be told it."""
    return f"{place.shown.rstrip('/')}/{QUARANTINE}"


def _of_shared(error: InputError, name: str) -> InputError:
    return InputError(
        f"{name} in the landing folder",
        error.found,
        error.expected,
        f"{error.remedy} No delivery is taken until then.",
        row=error.row,
    )


def _as_csv(rejected: pd.DataFrame, originals: Mapping[str, str]) -> str:
    files: Sequence[str] = [originals.get(file, file) for file in rejected["file"]]
    return str(rejected.assign(file=files).to_csv(index=False, lineterminator="\n"))


def _is_forbidden(error: Exception) -> bool:
    return isinstance(error, PermissionError | NotImplementedError) or (
        isinstance(error, OSError) and error.errno in _NOT_ALLOWED
    )
