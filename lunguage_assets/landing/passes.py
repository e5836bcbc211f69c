"""One pass over the landing folder: every complete delivery becomes a batch, is recognised or quarantined.

A pass may be killed anywhere and done again. The home registers a batch as a whole or not at all and knows
the content of its batches; a delivery is moved to quarantine by renames, itself last. Deliveries are taken in
the order of their writing, so that of two versions of a study the newer is the amendment.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.delivery import (
    DECLARATION,
    CorpusDeclaration,
    Delivery,
    find_delivery,
    in_parts,
    require_whole_files,
)
from lunguage_assets.corpus.intake import read_files
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.errors import ConfigurationError, CorpusMismatch, InputError, LunguageError, damaged
from lunguage_assets.files import sheet_frame
from lunguage_assets.home.home import Corpus, Home, batch_keys, usable_key
from lunguage_assets.landing.folder import (
    QUARANTINE,
    REJECTED_SUFFIX,
    Entry,
    Later,
    fetch,
    list_entries,
    look_again,
)
from lunguage_assets.landing.record import LandedBatch, Look, load_record, only_one, record_folder
from lunguage_assets.settings import CorpusSettings, load_settings

_AFTERWARDS = "Fix the delivery and put it into the landing folder again, under any name."
_PARTS = ("file", "row", "column", "found", "expected", "remedy")
_REPORTED = ["file", "row", "study_id", "column", "reason", "expected", "remedy"]
"""Columns of the list of rejected rows: no cell of the delivery but the study's id."""


class SharedFileWrong(LunguageError):
    """A file for all deliveries cannot be used; no delivery is blamed, and none is taken."""


class NoUsableRow(InputError):
    """Every row of a delivery was rejected; their list says why."""


@dataclass(frozen=True)
class Refusal:
    """Why a delivery cannot be used, for people and without names for logs."""

    reason: str
    reason_without_names: str


@dataclass
class PassReport:
    """What a pass did, by name in the landing folder; such a name may name a patient: not for logs."""

    registered: dict[str, LandedBatch] = field(default_factory=dict)
    """Name, of several batches with "(1 of 3)" behind it -> the new batch."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Name -> key of the batch, or the first of the batches, with the same content."""
    quarantined: dict[str, Refusal] = field(default_factory=dict)
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


def land(
    home: Home,
    folder: Path,
    stable_s: float | None = 30.0,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.time,
) -> PassReport:
    """Make one pass; it begins no further delivery after so many `seconds`.

    A delivery without a marker is complete when its files have not changed for `stable_s` seconds; None:
    nothing is waited for.

    Raises:
        LandingUnreachable: the landing folder cannot be read.
        LandingBusy: another process makes a pass for this home.
        ConfigurationError: the landing folder is the home, or the record is damaged.
        SharedFileWrong: the folder's own `corpus.toml` or vocabulary is wrong.
    """
    with only_one(home):
        if folder.resolve() == home.root.resolve():
            raise ConfigurationError(
                f"landing folder {folder}: it is the home itself. Name another folder: url in [landing]."
            )
        return _Pass(home, folder, clock()).make(stable_s, seconds)


class _Pass:
    def __init__(self, home: Home, folder: Path, now: float) -> None:
        self.home, self.folder, self.now = home, folder, now
        self.listing = list_entries(folder)
        self.report = PassReport(others=self.listing.others)
        self.staging = record_folder(home) / "staging"
        self.registered = {batch.key: batch.sha256 for batch in home.registered()}
        self.most = load_settings(home.settings_file).corpus.batch_reports
        self.lent: dict[str, str] | None = None
        self.record = load_record(home)
        lying = {entry.name for entry in self.listing.entries}
        self.record.looks = {
            name: look
            for name, look in self.record.looks.items()
            if name in lying and look.batches and self.registered.keys() >= set(look.batches)
        }
        self.record.batches = {
            key: batch
            for key, batch in self.record.batches.items()
            if self.registered.get(key) == batch.sha256
        }

    def make(self, stable_s: float | None, seconds: float) -> PassReport:
        begun = time.monotonic()
        shutil.rmtree(self.staging, ignore_errors=True)
        for abandoned in record_folder(self.home).glob(".*.tmp"):  # by a pass that was killed
            abandoned.unlink()
        for entry in sorted(self.listing.entries, key=lambda entry: (entry.written, entry.name)):
            look = self.record.looks.get(entry.name)
            if look is not None and look.signature == entry.signature:
                self.report.known += 1
            elif why := self._why_not_yet(entry, stable_s):
                self.report.waiting[entry.name] = why
            elif time.monotonic() - begun >= seconds:
                self.report.waiting[entry.name] = "it is for the next pass"
            else:
                self._take(entry)
                shutil.rmtree(self.staging / "delivery", ignore_errors=True)
        shutil.rmtree(self.staging, ignore_errors=True)
        self.record.save(self.home)
        return self.report

    def _why_not_yet(self, entry: Entry, stable_s: float | None) -> str:
        if entry.hindrance:
            return entry.hindrance
        if stable_s is None:
            return ""
        if not entry.is_marked and entry.age(self.now) < -stable_s:
            return "its time lies in the future: touch it, or mark it as complete"
        if not entry.is_marked and entry.age(self.now) < stable_s:
            return "it may still be written to"
        if self.listing.shared.every and self.listing.shared.age(self.now) < stable_s:
            return "a file for all deliveries may still be written to"
        return ""

    def _take(self, entry: Entry) -> None:
        """Fetch a delivery and decide: known content, a new batch, or not usable."""
        folder = self.staging / "delivery"
        originals, borrowed = dict[str, str](), set[str]()
        try:
            try:
                originals |= fetch(entry, folder)
                borrowed |= self._lend(folder)
                look_again(entry)
                self._register(entry, folder, originals)
            except InputError as error:
                look_again(entry)
                if Path(error.file).name in borrowed:
                    raise _blaming_none(error) from None
                self._put_aside(entry, error, originals)
        except Later as why:
            self.report.waiting[entry.name] = str(why)

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
        corpus = _corpus_of(delivery.declared, self.home.corpus())
        hashes = [sha256 for _, sha256 in parts]
        known = {sha256: key for key, sha256 in self.registered.items()}
        removed = (one for one in self.home.removed() if one.sha256 in set(hashes) - known.keys())
        if gone := next(removed, None):
            raise Later(
                f"its content was removed as batch {gone.key} on {gone.when[:10]}; `lunguage register` takes "
                "it in again"
            )
        if known.keys() >= set(hashes):
            keys = [known[sha256] for sha256 in hashes]
            self.report.skipped[entry.name] = keys[0]
        else:
            require_whole_files(delivery)
            contents = [_examined(part) for part, _ in parts]
            rejected = pd.concat([found.rejected for found in contents], ignore_index=True)
            self._list_rejected(entry, rejected.replace({"file": originals}))
            if not any(found.usable for found in contents):
                raise _no_usable_row(delivery, contents[0].rejected)
            keys = self._register_new(entry, folder, corpus, hashes, contents)
        self.record.looks[entry.name] = Look(signature=entry.signature, batches=keys)

    def _register_new(
        self, entry: Entry, folder: Path, corpus: Corpus, hashes: Sequence[str], contents: Sequence[_Contents]
    ) -> list[str]:
        """Record the batches, then register them; their keys."""
        key = self._free_key(entry, hashes)
        keys = batch_keys(key, len(hashes))
        batches = [
            LandedBatch(
                key=own,
                sha256=sha256,
                number=self.record.next_number(),
                studies=found.studies,
                rows=found.rows,
                rejected=len(found.rejected),
            )
            for own, sha256, found in zip(keys, hashes, contents, strict=True)
        ]
        self.record.batches |= {batch.key: batch for batch in batches}
        self.record.save(self.home)
        try:
            self.home.register(folder, key, corpus.name, batch_reports=self.most)
        except CorpusMismatch:  # another process was quicker; the next pass decides
            for own in keys:
                del self.record.batches[own]
            raise Later("the home has just changed") from None
        self.registered |= zip(keys, hashes, strict=True)
        for part, batch in enumerate(batches, 1):
            name = entry.name if len(batches) == 1 else f"{entry.name} ({part} of {len(batches)})"
            self.report.registered[name] = batch
        return keys

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

    def _list_rejected(self, entry: Entry, rejected: pd.DataFrame | None) -> None:
        """Lay the list of rejected rows beside the delivery; the table `rejected` has them in any case."""
        beside = self.folder / f"{entry.name}{REJECTED_SUFFIX}"
        with contextlib.suppress(OSError):  # where nothing may be written
            if rejected is not None and len(rejected):
                _put(beside, sheet_frame(rejected).to_csv(index=False, lineterminator="\n"))
            else:
                beside.unlink(missing_ok=True)

    def _put_aside(self, entry: Entry, error: InputError, originals: dict[str, str]) -> None:
        """Move a delivery with its marker and its list to quarantine, the reason first and itself last."""
        if not isinstance(error, NoUsableRow):  # the list is of an earlier delivery of the same name
            self._list_rejected(entry, None)
        published = Path(error.file).name
        named = _renamed(error, originals.get(published, published if "." in published else entry.name))
        parts = ((part, getattr(named, part)) for part in _PARTS)
        told = "\n".join(f"{part + ':':<10} {value}" for part, value in parts if value is not None)
        reason, aside = str(named), self.folder / QUARANTINE / f"{entry.name}-{entry.signature[:8]}"
        try:
            aside.mkdir(parents=True, exist_ok=True)
            _put(aside / "REASON.txt", f"This delivery was not used.\n\n{told}\n\n{_AFTERWARDS}\n")
            for beside in (f"{entry.name}{REJECTED_SUFFIX}", f"{entry.name}.done"):
                with contextlib.suppress(FileNotFoundError):
                    (self.folder / beside).rename(aside / beside)
            entry.path.rename(aside / entry.path.name)
        except OSError as problem:
            reason += f" It stays where it lies ({type(problem).__name__}: {aside} cannot be written)."
        self.report.quarantined[entry.name] = Refusal(reason, str(_renamed(error, "a delivery")))


def _put(path: Path, text: str) -> None:
    """Write a small file, never through a link or into a FIFO that has its name."""
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8", newline="") as stream:
        stream.write(text)


def _renamed(error: InputError, file: str) -> InputError:
    """The same error of a file under another name."""
    return InputError(file, error.found, error.expected, error.remedy, row=error.row, column=error.column)


def _blaming_none(error: InputError) -> SharedFileWrong:
    named = _renamed(error, f"{Path(error.file).name} in the landing folder")
    return SharedFileWrong(f"{named} No delivery is taken until then.")


@dataclass(frozen=True)
class _Contents:
    """Counts of a delivery, or of a part of one; `usable` when at least one row can be used."""

    studies: int
    rows: int
    rejected: pd.DataFrame
    usable: bool


def _examined(delivery: Delivery) -> _Contents:
    """Read all files of a fetched delivery, or of a part of one, as the intake will.

    Raises:
        InputError: a file cannot be used as a whole.
    """
    try:
        if delivery.kind == "text":
            received = receive(delivery, CorpusSettings())
            read, rejected = len(received.report_texts), received.rejected
            return _Contents(read, read + len(rejected), _reported(rejected), read > 0)
        log = IntakeLog()
        studies = read_files(delivery, log).studies
        rejected = log.rejected_frame()
        rows = sum(study.rows_delivered for study in studies.values()) + int((rejected.study_id == "").sum())
        usable = any(study.rows for study in studies.values())
        return _Contents(len(studies), rows, _reported(rejected), usable)
    except (LunguageError, OSError, MemoryError):
        raise
    except Exception as error:  # of one delivery; the others must go on
        file, found = delivery.files[0].name, "something that the readers do not expect"
        expected = "raw reports" if delivery.kind == "text" else "a Lunguage file"
        raise damaged(file, found, error, expected, "Report this.") from None


def _reported(rejected: pd.DataFrame) -> pd.DataFrame:
    return rejected.rename(columns={"line": "row"})[_REPORTED]


def _no_usable_row(delivery: Delivery, rejected: pd.DataFrame) -> NoUsableRow:
    file, thing = delivery.files[0].name, "report" if delivery.kind == "text" else "row"
    if not len(rejected):
        return NoUsableRow(
            file, f"no {thing}s", f"at least one {thing}", "Put the files with the reports there."
        )
    first = rejected.iloc[0]
    return NoUsableRow(
        file,
        f"{len(rejected)} {thing}s of which none can be used",
        f"at least one usable {thing} (of the first: {first['expected']})",
        f"The list of rejected {thing}s says for each what is wrong. Fix them and deliver them again.",
        row=int(first["row"]),
        column=str(first["column"]) or None,
    )


def _corpus_of(declared: CorpusDeclaration, present: Corpus | None) -> Corpus:
    """The corpus of a delivery; one without a name belongs to the home's own if the class agrees.

    Raises:
        InputError: the home holds another corpus.
    """
    agrees = present is not None and present.data_class == declared.data_class
    name = declared.name or (present.name if present is not None and agrees else "unnamed")
    corpus = Corpus(name, declared.data_class)
    if present is None or corpus == present:
        return corpus
    undeclared = "" if declared.is_declared else ", as text without a declaration is"
    raise InputError(
        DECLARATION,
        f"corpus {corpus.name!r} ({corpus.data_class}{undeclared})",
        f"corpus {present.name!r} ({present.data_class}), which the home holds",
        f"Correct or add {DECLARATION} in the folder of the delivery or in the landing folder, or let "
        "another home take it.",
        column="name" if agrees else "data_class",
    )
