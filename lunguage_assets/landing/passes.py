"""One pass over the landing folder: every complete delivery becomes a batch, is recognised or quarantined.

A pass may be killed anywhere and done again: its intentions are in the record before they are carried out,
and the home registers a batch as a whole or not at all. Deliveries are taken in the order of their writing,
so that of two versions of a study the newer is the amendment.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.delivery import find_delivery, in_parts, require_whole_files
from lunguage_assets.errors import ConfigurationError, CorpusMismatch, InputError, LunguageError
from lunguage_assets.files import sheet_frame, write_private
from lunguage_assets.home.home import Home, batch_keys, usable_key
from lunguage_assets.landing.contents import (
    Contents,
    NoUsableRow,
    corpus_of,
    examine,
    fetch,
    no_usable_row,
    studies_of,
)
from lunguage_assets.landing.entries import (
    REJECTED_SUFFIX,
    Entry,
    Listing,
    has_changed,
    list_entries,
    shown,
)
from lunguage_assets.landing.quarantine import carry_out, plan_move, renamed
from lunguage_assets.landing.record import (
    LandedBatch,
    LandingRecord,
    LastLook,
    Move,
    load_record,
    only_one,
    record_folder,
)
from lunguage_assets.landing.seen import Later, put
from lunguage_assets.settings import load_settings

_BOOT = Path("/proc/sys/kernel/random/boot_id")


class SharedFileWrong(LunguageError):
    """A file for all deliveries cannot be used; no delivery is blamed, and none is taken."""


@dataclass
class PassReport:
    """What a pass did, by name in the landing folder; such a name may name a patient: not for logs."""

    registered: dict[str, LandedBatch] = field(default_factory=dict)
    """Name, of several batches with "(1 of 3)" behind it -> the new batch."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Name -> key of the batch, or the first of the batches, with the same content."""
    quarantined: dict[str, Move] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    """Name -> why."""
    others: list[str] = field(default_factory=list)
    """Names of what is no delivery."""
    known: int = 0
    """Unchanged deliveries that earlier passes dealt with."""

    @property
    def summary(self) -> str:
        """Numbers only."""
        counts = {
            "registered": len(self.registered),
            "skipped (content known)": len(self.skipped),
            "quarantined": len(self.quarantined),
            "waiting": len(self.waiting),
            "landed before": self.known,
            "of other kinds": len(self.others),
        }
        told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        return f"Landing folder: {told or 'nothing there'}."


def uptime() -> tuple[str, float]:
    """A name of this machine since its start, and seconds.

    The easy version, the calendar, may be set by a person or a time server: a delivery would be taken too
    early, or wait for ever. After a restart the wait begins anew.
    """
    return _BOOT.read_text().strip() if _BOOT.exists() else socket.gethostname(), time.monotonic()


def land(
    home: Home,
    url: str,
    stable_s: float | None = 30.0,
    seconds: float = math.inf,
    clock: Callable[[], tuple[str, float]] = uptime,
) -> PassReport:
    """Make one pass; it begins no further delivery after so many `seconds`.

    A delivery without a marker must lie unchanged for `stable_s` seconds; None: nothing is waited for.

    Raises:
        LandingUnreachable: the landing folder cannot be read.
        LandingBusy: another process makes a pass for this home.
        ConfigurationError: the landing folder is the home, or the record is damaged.
        SharedFileWrong: the folder's own `corpus.toml` or vocabulary is wrong.
    """
    with only_one(home):
        listing = list_entries(url)
        if Path(listing.shared.path.path) == home.root:
            raise ConfigurationError(
                f"landing folder {shown(url)}: it is the home itself. Name another folder: url in [landing]."
            )
        return _Pass(home, listing, clock()).make(stable_s, seconds)


class _Pass:
    def __init__(self, home: Home, listing: Listing, now: tuple[str, float]) -> None:
        self.home, self.listing, self.place = home, listing, listing.shared.path
        self.staging = record_folder(home) / "staging"
        self.report = PassReport(others=listing.others)
        self.registered = {batch.key: batch.sha256 for batch in home.registered()}
        self.removed = home.removed()
        self.most = load_settings(home.settings_file).corpus.batch_reports
        self.earlier: set[str] | None = None
        self.lent: dict[str, str] | None = None
        machine, self.now = now
        self.record = self._agreed(load_record(home), machine)

    def _agreed(self, record: LandingRecord, machine: str) -> LandingRecord:
        """The home has the last word: a batch that is not there is forgotten, so that its delivery is new."""
        names = {entry.name for entry in (*self.listing.entries, self.listing.shared)}
        present, same_machine = self.registered.keys(), machine == record.machine
        record.looks = {
            name: look
            for name, look in record.looks.items()
            if name in names and (present >= {look.batch, *look.further} if look.batch else same_machine)
        }
        record.batches = {
            key: batch for key, batch in record.batches.items() if self.registered.get(key) == batch.sha256
        }
        record.machine = machine
        return record

    def make(self, stable_s: float | None, seconds: float) -> PassReport:
        begun = time.monotonic()
        shutil.rmtree(self.staging, ignore_errors=True)
        for abandoned in record_folder(self.home).glob(".*.tmp"):  # by a pass that was killed
            abandoned.unlink()
        for name in list(self.record.moves):
            self._move(name)
        ready = self._ready(stable_s)
        self.record.save(self.home)
        for entry in ready:
            if time.monotonic() - begun < seconds:
                self._take(entry)
                shutil.rmtree(self.staging / "delivery", ignore_errors=True)
            else:
                self.report.waiting[entry.name] = "it is for the next pass"
        shutil.rmtree(self.staging, ignore_errors=True)
        self.record.save(self.home)
        return self.report

    def _ready(self, stable_s: float | None) -> list[Entry]:
        """New and changed deliveries that are complete, in the order of their writing."""
        ready = []
        shared_settled = not self.listing.shared.files or self._is_complete(self.listing.shared, stable_s)
        for entry in self.listing.entries:
            move, look = self.record.moves.get(entry.name), self.record.looks.get(entry.name)
            if move is not None and move.signature == entry.signature:
                continue
            if look is not None and look.batch and look.signature == entry.signature:
                self.report.known += 1
            elif not self._is_complete(entry, stable_s):
                self.report.waiting[entry.name] = entry.hindrance or "it may still be written to"
            elif not shared_settled:
                self.report.waiting[entry.name] = "a file for all deliveries may still be written to"
            else:
                ready.append(entry)
        return sorted(ready, key=lambda entry: (entry.modified, entry.name))

    def _is_complete(self, entry: Entry, stable_s: float | None) -> bool:
        look = self.record.looks.get(entry.name)
        seen_before = look is not None and look.signature == entry.signature and look.since <= self.now
        if look is None or not seen_before:
            look = self.record.looks[entry.name] = LastLook(signature=entry.signature, since=self.now)
        settled = stable_s is None or (seen_before and self.now - look.since >= stable_s)
        return not entry.hindrance and (settled or entry.is_marked)

    def _take(self, entry: Entry) -> None:
        """Fetch a delivery and decide: known content, a new batch, or not usable."""
        folder = self.staging / "delivery"
        originals, borrowed = dict[str, str](), set[str]()
        try:
            try:
                originals |= fetch(entry, folder)
                borrowed |= self._lend(folder)
                self._require_unchanged(entry)
                self._register(entry, folder, originals)
            except InputError as error:
                self._require_unchanged(entry)
                if Path(error.file).name in borrowed:
                    raise _blaming_none(error) from None
                self._put_aside(entry, error, originals)
        except Later as why:
            self.report.waiting[entry.name] = str(why)

    def _require_unchanged(self, entry: Entry) -> None:
        if has_changed(entry):
            raise Later("it changed while it was read")

    def _lend(self, folder: Path) -> set[str]:
        """Lay the files for all deliveries beside one that has none of its own; their names."""
        lent = self.staging / "lent"
        if self.lent is None:
            shutil.rmtree(lent, ignore_errors=True)
            try:
                self.lent = fetch(self.listing.shared, lent)
            except InputError as error:
                raise _blaming_none(error) from None
        borrowed = {name for name in self.lent if not (folder / name).exists()}
        for name in borrowed:
            shutil.copyfile(lent / name, folder / name)
        return borrowed

    def _register(self, entry: Entry, folder: Path, originals: dict[str, str]) -> None:
        delivery = find_delivery(folder)
        parts, _ = in_parts(delivery, self.most)
        corpus = corpus_of(delivery.declared, self.home.corpus())
        hashes = [sha256 for _, sha256 in parts]
        known = {sha256: key for key, sha256 in self.registered.items()}
        if gone := next((one for one in self.removed if one.sha256 in set(hashes) - known.keys()), None):
            raise Later(
                f"its content was removed as batch {gone.key} on {gone.when[:10]}; `lunguage register` takes "
                "it in again"
            )
        if known.keys() >= set(hashes):
            keys = [known[sha256] for sha256 in hashes]
            self.report.skipped[entry.name] = keys[0]
        else:
            require_whole_files(delivery)
            contents = [examine(part) for part, _ in parts]
            rejected = pd.concat([found.rejected for found in contents], ignore_index=True)
            self._list_rejected(entry, rejected.replace({"file": originals}))
            if not any(found.usable for found in contents):
                raise no_usable_row(delivery, contents[0].rejected)
            key = self._free_key(entry, hashes)
            keys = batch_keys(key, len(parts))
            batches = self._intend(keys, hashes, contents)
            try:
                self.home.register(folder, key, corpus.name, batch_reports=self.most)
            except CorpusMismatch:  # another process was quicker; the next pass decides
                for own in keys:
                    del self.record.batches[own]
                raise Later("the home has just changed") from None
            self.earlier = (self.earlier or set()).union(*(found.studies for found in contents))
            self.registered |= zip(keys, hashes, strict=True)
            for part, batch in enumerate(batches, 1):
                name = entry.name if len(batches) == 1 else f"{entry.name} ({part} of {len(batches)})"
                self.report.registered[name] = batch
        self.record.looks[entry.name] = LastLook(
            signature=entry.signature, since=self.now, batch=keys[0], further=keys[1:]
        )

    def _free_key(self, entry: Entry, hashes: Sequence[str]) -> str:
        """The delivery's name; when other content has it, with the beginning of the content hash.

        A name is free also when only parts of this delivery have it, which a killed pass stored.
        """
        plain = usable_key(entry.key_name)
        return next(
            key
            for key in (plain, *(f"{plain}-{hashes[0][:length]}" for length in (8, 16, 64)))
            if all(
                self.registered.get(own, sha256) == sha256
                for own, sha256 in zip(batch_keys(key, len(hashes)), hashes, strict=True)
            )
        )

    def _intend(
        self, keys: Sequence[str], hashes: Sequence[str], contents: Sequence[Contents]
    ) -> list[LandedBatch]:
        """Record batches before their registration, with the count of studies that an earlier batch has."""
        if self.earlier is None:
            others = self.registered.keys() - set(keys)
            self.earlier = set[str]().union(*(studies_of(self.home, key) for key in others))
        batches = [
            LandedBatch(
                key=key,
                sha256=sha256,
                number=self.record.next_number(),
                studies=len(found.studies),
                amended=len(found.studies & self.earlier),
                rows=found.rows,
                rejected=len(found.rejected),
            )
            for key, sha256, found in zip(keys, hashes, contents, strict=True)
        ]
        self.record.batches |= {batch.key: batch for batch in batches}
        self.record.save(self.home)
        return batches

    def _list_rejected(self, entry: Entry, rejected: pd.DataFrame | None) -> None:
        """Lay the list of rejected rows beside the delivery; the table `rejected` has them in any case."""
        beside = self.place / f"{entry.name}{REJECTED_SUFFIX}"
        with contextlib.suppress(Exception):  # where nothing may be written
            if rejected is not None and len(rejected):
                put(beside, sheet_frame(rejected).to_csv(index=False, lineterminator="\n").encode())
            else:
                beside.unlink(missing_ok=True)

    def _put_aside(self, entry: Entry, error: InputError, originals: dict[str, str]) -> None:
        if not isinstance(error, NoUsableRow):  # the list is of an earlier delivery of the same name
            self._list_rejected(entry, None)
        self.record.moves[entry.name] = plan_move(self.place, entry, error, originals)
        self.record.save(self.home)
        self._move(entry.name)

    def _move(self, name: str) -> None:
        """Make a planned move; where it cannot be made, keep the reason in the home and try again later."""
        move = self.report.quarantined[name] = self.record.moves[name]
        try:
            carry_out(self.place, move)
            del self.record.moves[name]
        except Exception as error:  # every file system has errors of its own
            self.report.waiting[name] = f"it cannot be put aside at present ({type(error).__name__})"
            for path, text in move.texts.items():
                write_private(record_folder(self.home) / path, text.encode())


def _blaming_none(error: InputError) -> SharedFileWrong:
    named = renamed(error, f"{Path(error.file).name} in the landing folder")
    return SharedFileWrong(f"{named} No delivery is taken until then.")
