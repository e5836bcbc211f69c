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
    VOCABULARY,
    CorpusDeclaration,
    Delivery,
    find_delivery,
    in_parts,
    read_declaration,
)
from lunguage_assets.corpus.intake import read_files
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.errors import ConfigurationError, InputError, LunguageError, damaged
from lunguage_assets.files import sheet_frame
from lunguage_assets.home.home import Corpus, Home, batch_keys, usable_key
from lunguage_assets.landing.folder import (
    QUARANTINE,
    REJECTED_SUFFIX,
    Entry,
    Later,
    fetch,
    list_entries,
    look,
)
from lunguage_assets.landing.record import LandedBatch, Look, load_record, only_one, record_folder
from lunguage_assets.settings import CorpusSettings, load_settings

_AFTERWARDS = "Fix the delivery and put it into the landing folder again, under any name."
_PARTS = ("file", "row", "column", "found", "expected", "remedy")
_REPORTED = ["file", "row", "study_id", "column", "reason", "expected", "remedy"]
"""Columns of the list of rejected rows: no cell of the delivery but the study's id."""


class SharedFileWrong(LunguageError):
    """A file for all deliveries cannot be used; no delivery is blamed, and none is taken."""


@dataclass
class PassReport:
    """What a pass did, by name in the landing folder; such a name may name a patient: not for logs."""

    registered: dict[str, LandedBatch] = field(default_factory=dict)
    """Name, of several batches with "(1 of 3)" behind it -> the new batch."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Name -> key of the batch, or the first of the batches, with the same content."""
    quarantined: dict[str, InputError] = field(default_factory=dict)
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


def renamed(error: InputError, file: str) -> InputError:
    """The same error of a file under another name."""
    return InputError(file, error.found, error.expected, error.remedy, row=error.row, column=error.column)


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
        self.entries, self.shared, others = list_entries(folder)
        self.report = PassReport(others=others)
        self.staging = record_folder(home) / "staging"
        self.registered = {batch.key: batch.sha256 for batch in home.registered()}
        self.most = load_settings(home.settings_file).corpus.batch_reports
        self.record = load_record(home)
        lying = {entry.name for entry in self.entries}
        self.record.looks = {
            name: seen
            for name, seen in self.record.looks.items()
            if name in lying and seen.batches and self.registered.keys() >= set(seen.batches)
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
        for entry in sorted(self.entries, key=lambda entry: (entry.written, entry.name)):
            seen = self.record.looks.get(entry.name)
            if seen is not None and seen.signature == entry.signature:
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
        if entry.is_begun_only:
            return "there is no Lunguage.csv and no raw report in it"
        if stable_s is None:
            return ""
        if not entry.is_marked and self.now - entry.changed < stable_s:
            return "it may still be written to"
        if self.now - self.shared.changed < stable_s:
            return "a file for all deliveries may still be written to"
        return ""

    def _take(self, entry: Entry) -> None:
        """Fetch a delivery and decide: known content, a new batch, or not usable."""
        originals = dict[str, str]()
        try:
            try:
                originals |= fetch(entry, self.staging / "delivery")
                self._lend(self.staging / "delivery")
                _require_unchanged(entry)
                self._register(entry, self.staging / "delivery", originals)
            except InputError as error:
                _require_unchanged(entry)
                published = Path(error.file).name
                named = originals.get(published, published if "." in published else entry.name)
                self._put_aside(entry, renamed(error, named))
        except Later as why:
            self.report.waiting[entry.name] = str(why)

    def _lend(self, folder: Path) -> None:
        """Lay the files for all deliveries beside one that has none of its own."""
        lent = self.staging / "lent"
        if not lent.exists():
            try:
                fetch(self.shared, lent)
                read_declaration(lent / DECLARATION)
                read_terms(lent / VOCABULARY if (lent / VOCABULARY).exists() else None, IntakeLog())
            except InputError as error:
                named = renamed(error, f"{Path(error.file).name} in the landing folder")
                raise SharedFileWrong(f"{named} No delivery is taken until then.") from None
        for path in lent.iterdir():
            if not (folder / path.name).exists():
                shutil.copyfile(path, folder / path.name)

    def _register(self, entry: Entry, folder: Path, originals: dict[str, str]) -> None:
        """Register the batches of a delivery, if they are not known by their content."""
        delivery = find_delivery(folder)
        parts, _ = in_parts(delivery, self.most)
        corpus = _corpus_of(delivery.declared, self.home.corpus())
        hashes = [sha256 for _, sha256 in parts]
        self._require_not_removed(hashes)
        known = {sha256: key for key, sha256 in self.registered.items()}
        if known.keys() >= set(hashes):
            keys = [known[sha256] for sha256 in hashes]
            self.report.skipped[entry.name] = keys[0]
        else:
            batches = self._examined(entry, parts, originals)
            self.record.batches |= {batch.key: batch for batch in batches}
            self.record.save(self.home)  # first, so that after a kill the sensor asks for them
            keys = [batch.key for batch in batches]
            self.home.register(folder, self._free_key(entry, hashes), corpus.name, batch_reports=self.most)
            self.registered |= zip(keys, hashes, strict=True)
            for part, batch in enumerate(batches, 1):
                name = entry.name if len(batches) == 1 else f"{entry.name} ({part} of {len(batches)})"
                self.report.registered[name] = batch
        self.record.looks[entry.name] = Look(signature=entry.signature, batches=keys)

    def _examined(
        self, entry: Entry, parts: Sequence[tuple[Delivery, str]], originals: dict[str, str]
    ) -> list[LandedBatch]:
        """The batches to come; the rows that were rejected are listed beside the delivery.

        Raises:
            InputError: no row can be used.
        """
        keys = batch_keys(self._free_key(entry, [sha256 for _, sha256 in parts]), len(parts))
        first, batches, lists = self.record.next_number(), list[LandedBatch](), list[pd.DataFrame]()
        for number, (key, (part, sha256)) in enumerate(zip(keys, parts, strict=True), first):
            studies, rows, rejected = _counted(part)
            counts = {"studies": studies, "rows": rows, "rejected": len(rejected)}
            batches.append(LandedBatch(key=key, sha256=sha256, number=number, **counts))
            lists.append(rejected.rename(columns={"line": "row"})[_REPORTED].replace({"file": originals}))
        rejected = pd.concat(lists, ignore_index=True)
        beside = self.folder / f"{entry.name}{REJECTED_SUFFIX}"
        with contextlib.suppress(OSError):  # where nothing may be written; the table `rejected` has them
            beside.unlink(missing_ok=True)
            if len(rejected):
                _put(beside, sheet_frame(rejected).to_csv(index=False, lineterminator="\n"))
        if all(batch.rejected == batch.rows for batch in batches):
            raise InputError(
                parts[0][0].files[0].name,
                f"{len(rejected)} records of which none can be used",
                "at least one usable record",
                f"The list NAME{REJECTED_SUFFIX} says of each what is wrong. Correct them.",
            )
        return batches

    def _require_not_removed(self, hashes: Sequence[str]) -> None:
        unknown = set(hashes) - set(self.registered.values())
        if gone := next((one for one in self.home.removed() if one.sha256 in unknown), None):
            raise Later(
                f"its content was removed as batch {gone.key} on {gone.when[:10]}; `lunguage register` takes "
                "it in again"
            )

    def _free_key(self, entry: Entry, hashes: Sequence[str]) -> str:
        """The delivery's name; when other content has it, with the beginning of the content hash.

        A name is free also when only parts of this delivery have it, which a killed pass stored.
        """
        plain = usable_key(entry.key_name)
        return next(
            key
            for key in (plain, *(f"{plain}-{hashes[0][:length]}" for length in (8, 64)))
            if all(
                self.registered.get(own, sha256) == sha256
                for own, sha256 in zip(batch_keys(key, len(hashes)), hashes, strict=True)
            )
        )

    def _put_aside(self, entry: Entry, error: InputError) -> None:
        """Move a delivery with its marker and its list to quarantine, the reason first and itself last."""
        aside = self.folder / QUARANTINE / f"{entry.name}-{entry.signature[:8]}"
        parts = ((part, getattr(error, part)) for part in _PARTS)
        reason = "\n".join(f"{part + ':':<10} {value}" for part, value in parts if value is not None)
        try:
            aside.mkdir(parents=True, exist_ok=True)
            _put(aside / "REASON.txt", f"This delivery was not used.\n\n{reason}\n\n{_AFTERWARDS}\n")
            for beside in (f"{entry.name}{REJECTED_SUFFIX}", f"{entry.name}.done"):
                with contextlib.suppress(FileNotFoundError):
                    (self.folder / beside).rename(aside / beside)
            entry.path.rename(aside / entry.path.name)
        except OSError as problem:
            remedy = f"{error.remedy} It stays where it lies ({type(problem).__name__} in {aside})."
            error = InputError(error.file, error.found, error.expected, remedy)
        self.report.quarantined[entry.name] = error


def _require_unchanged(entry: Entry) -> None:
    with contextlib.suppress(FileNotFoundError):
        if look(entry.path).signature == entry.signature:
            return
    raise Later("it changed while it was read")


def _put(path: Path, text: str) -> None:
    """Write a small file, never through a link or into a FIFO that has its name."""
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8", newline="") as stream:
        stream.write(text)


def _counted(delivery: Delivery) -> tuple[int, int, pd.DataFrame]:
    """Studies, rows and the rejected rows of a delivery, all files of which are read as the intake will.

    Raises:
        InputError: a file cannot be used as a whole.
    """
    try:
        if delivery.kind == "text":
            received = receive(delivery, CorpusSettings())
            read = len(received.report_texts)
            return read, read + len(received.rejected), received.rejected
        log = IntakeLog()
        studies = read_files(delivery, log).studies
        rejected = log.rejected_frame()
        rows = sum(study.rows_delivered for study in studies.values()) + int((rejected.study_id == "").sum())
        return len(studies), rows, rejected
    except (LunguageError, OSError, MemoryError):
        raise
    except Exception as error:  # of one delivery; the others must go on
        file, found = delivery.files[0].name, "something that the readers do not expect"
        raise damaged(file, found, error, "findings or raw reports", "Report this.") from None


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
    raise InputError(
        DECLARATION,
        f"corpus {corpus.name!r} ({corpus.data_class}, as text without a declaration is)",
        f"corpus {present.name!r} ({present.data_class}), which the home holds",
        f"Correct or add {DECLARATION} with the delivery or in the landing folder, or use another home.",
        column="name" if agrees else "data_class",
    )
