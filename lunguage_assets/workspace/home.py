"""The home: the folder with everything that a corpus produces, and its batches.

A home holds one corpus of one data class. A batch comes in as a whole or not at all,
and never changes once it is registered. `docs/dagster.md` says what lies where.

Not here: how a delivery is recognised (`corpus/delivery.py`), the tables (`store.py`),
and the landing folder, from which batches are registered without a person
(`landing.py`).
"""

from __future__ import annotations

import getpass
import json
import math
import shutil
import tomllib
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from upath import UPath

from lunguage_assets import __version__
from lunguage_assets.corpus.declaration import DECLARATION, Corpus
from lunguage_assets.corpus.delivery import (
    PACKED,
    Delivery,
    DeliveryKind,
    content_hash,
    in_parts,
)
from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.texts.sources import write_packed
from lunguage_assets.errors import ConfigurationError, CorpusMismatch, KeyTaken
from lunguage_assets.files import read_record, replace_text
from lunguage_assets.locks import exclusive_lock
from lunguage_assets.permissions import require_private
from lunguage_assets.settings import DataClass
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.batch_keys import batch_keys, is_usable, require_usable
from lunguage_assets.workspace.tables_location import claim_location, tables_location

ENVIRONMENT_VARIABLE = "LUNGUAGE_HOME"
LAYOUT = 4
"""Of what a home stores; counted up when a home of before can't be read any more."""
_CORPUS = "corpus.json"
_MANIFEST = "batch.json"
_REMOVALS = "removals.json"


@dataclass(frozen=True)
class Batch:
    """A registered set of reports.

    Attributes:
        key: its partition key.
        number: counts registrations: of two versions of a study the one with the higher
            number is newer.
        sha256: of its content, whatever the files are called.
        kind: whether findings or raw reports were delivered.
    """

    key: str
    number: int
    sha256: str
    kind: DeliveryKind = "findings"


@dataclass(frozen=True)
class Registration:
    """What a registration does, or would do: files, corpus, and batch, new or known."""

    delivery: Delivery
    corpus: Corpus
    batch: Batch
    is_new: bool


@dataclass(frozen=True)
class Removal:
    """A removed batch: what it was, who removed it, and when (ISO, UTC)."""

    key: str
    number: int
    sha256: str
    who: str
    when: str


class _HomeRecord(NamedTuple):
    """What was recorded when the home was made."""

    name: str
    data_class: DataClass
    layout: int = 0
    version: str = "before 1.0"


@dataclass(frozen=True)
class Home:
    """Paths under `$LUNGUAGE_HOME` and the batches registered there."""

    root: Path

    # Paths. What the package makes:

    @property
    def database(self) -> Path:
        return self.root / "lunguage.duckdb"

    @property
    def dagster(self) -> Path:
        return self.root / "dagster"

    @property
    def batches(self) -> Path:
        return self.root / "batches"

    @property
    def tables(self) -> Path | UPath:
        """The folder of the tables, or the home's location on other storage."""
        return tables_location(self.root)

    @property
    def release(self) -> Path:
        """Where releases go unless a run names another folder."""
        return self.root / "release"

    @property
    def distilled(self) -> Path:
        """What distilled models learnt, by ranker: as restricted as the reports."""
        return self.root / "distilled"

    def review_queue(self, judge: str, batch: str) -> Path:
        """Name the review queue of a batch, by one judge's extraction."""
        return self.root / "review" / judge / f"{batch}.csv"

    # What a person may put there, or not:

    @property
    def settings_file(self) -> Path:
        return self.root / "settings.toml"

    @property
    def anchor_ratings(self) -> Path:
        return self.root / "anchor_ratings.csv"

    @property
    def corrections_file(self) -> Path:
        return self.root / "corrections.csv"

    @property
    def expert_responses(self) -> Path:
        return self.root / "expert_responses.csv"

    @property
    def pathways_file(self) -> Path | None:
        """The person's own pathways, in the place of the packaged ones, or None."""
        return self._existing("pathways.yaml")

    @property
    def blacklist_file(self) -> Path | None:
        """The person's own blacklist, in the place of the packaged one, or None."""
        return self._existing("blacklist.yaml")

    @property
    def assertion_file(self) -> Path | None:
        """The person's own cues, added to those of resources/assertion, or None."""
        return self._existing("assertion.yaml")

    def _existing(self, name: str) -> Path | None:
        path = self.root / name
        return path if path.exists() else None

    # The corpus that the home holds.

    def create(self) -> None:
        """Make the folder, readable by its owner only: it will hold report text."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def corpus(self) -> Corpus | None:
        """Read which corpus the home holds; None while it is empty."""
        record = self._record()
        return Corpus(record.name, record.data_class) if record else None

    def require_this_layout(self) -> None:
        """Refuse a home that another version stored otherwise.

        An empty home has no layout yet. Versions before 1.0 recorded none.

        Raises:
            ConfigurationError: says what becomes of it.
        """
        record = self._record()
        if record is None or record.layout == LAYOUT:
            return
        raise ConfigurationError(
            f"{self.root} was made by version {record.version}, and this is version "
            f"{__version__}, which stores a home otherwise: register the deliveries "
            "again in a new home (lunguage register --data DIR --home NEW). To go on "
            "with its paid answers, name its ledger with $LUNGUAGE_LEDGER."
        )

    def _record(self) -> _HomeRecord | None:
        """Read what was recorded when the home was made; None while it is empty."""
        path = self.root / _CORPUS
        if not path.exists():
            return None
        return read_record(
            path,
            lambda values: _HomeRecord(**values),
            "Restore it from a backup, or register the deliveries in another home "
            "(--home).",
        )

    def claim(self, corpus: Corpus) -> None:
        """Bind the home to a corpus.

        Raises:
            CorpusMismatch: it holds another one.
            ConfigurationError: other accounts can read it, or its tables' location
                belongs to another home.
        """
        self._require_same(corpus)
        self.create()
        self.require_private(corpus)
        claim_location(self.root)
        if self.corpus() is None:
            made_by = {"layout": LAYOUT, "version": __version__}
            self._write_json(_CORPUS, asdict(corpus) | made_by)

    def require_private(self, corpus: Corpus | None) -> None:
        """Refuse a home of patients' reports that other accounts can read.

        Raises:
            ConfigurationError: it is open to others.
        """
        if corpus is not None and corpus.data_class == "credentialed":
            require_private(self.root, "the home")

    def _require_same(self, corpus: Corpus) -> None:
        present = self.corpus()
        if present is None or present == corpus:
            return
        is_same_class = corpus.data_class == present.data_class
        raise CorpusMismatch(
            DECLARATION,
            f"corpus {corpus.name!r} ({corpus.data_class}, as text without a "
            "declaration is)",
            f"corpus {present.name!r} ({present.data_class}), which the home holds",
            f"Name that one in {DECLARATION}, or use another home (--home).",
            column="name" if is_same_class else "data_class",
        )

    def remember_preset(self, preset: str) -> None:
        """Write the preset of a first run into the settings, where none is set.

        Further runs use it when they name no other.
        """
        file = self.settings_file
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        if "preset" not in tomllib.loads(text):
            replace_text(file, f'preset = "{preset}"  # of the first run\n{text}')

    # The register of batches.

    def registered(self) -> list[Batch]:
        """List all batches in the order of their registration."""
        # Hidden folders are of batches that are being registered.
        manifests = self.batches.glob(f"[!.]*/{_MANIFEST}")
        return sorted(map(_read_batch, manifests), key=lambda batch: batch.number)

    def batch(self, key: str) -> Batch:
        """Find a registered batch.

        Raises:
            ConfigurationError: there is no such batch.
        """
        manifest = self.batches / key / _MANIFEST
        if is_usable(key) and manifest.exists():
            return _read_batch(manifest)
        raise ConfigurationError(
            f"batch {key!r} is not registered in {self.root}. Register its files "
            f"first: lunguage register --data DIR --batch {key}. If the key was "
            f"mistyped, `lunguage batches remove {key}` takes the partition away."
        )

    def delivery(self, key: str) -> Delivery:
        """Find the files of a registered batch."""
        self.batch(key)
        return find_delivery(self.batches / key)

    def register(self, path: Path, key: str, **how: Any) -> list[Batch]:
        """Register a delivery, as `take_in` does; returns its batches."""
        return [taken.batch for taken in self.take_in(path, key, **how)]

    def take_in(
        self,
        path: Path,
        key: str,
        *,
        batch_reports: int | None = None,
        columns: tuple[str, str] | None = None,
    ) -> list[Registration]:
        """Copy a delivery into the home as one immutable batch, or as several.

        The same content changes nothing, also under another key: its batch is the one
        that is there.

        Args:
            path: folder or file of the delivery.
            key: of the batch.
            batch_reports: raw reports of more than so many become batches `key-001`,
                `key-002`..., all reports of a patient in one of them; None: one batch.
            columns: of the study and the text in a table of reports, as in
                `find_delivery`.

        Returns:
            A registration for each batch with this content, new or known.

        Raises:
            LunguageError: as `examine`, and as `claim`.
        """
        with self._register_lock():
            registrations = self.examine(
                path, key, batch_reports=batch_reports, columns=columns
            )
            self.claim(registrations[0].corpus)
            self._store_new(registrations)
        return registrations

    def examine(
        self,
        path: Path,
        key: str,
        *,
        batch_reports: int | None = None,
        columns: tuple[str, str] | None = None,
    ) -> list[Registration]:
        """Preview what `register` would do.

        Args:
            path: as in `register`.
            key: as in `register`.
            batch_reports: as in `register`.
            columns: as in `register`.

        Raises:
            CorpusMismatch: the home holds another corpus or data class.
            KeyTaken: the key is taken by other content.
            ConfigurationError: an unusable key.
            InputError: there are neither Lunguage files nor raw reports, or they cannot
                be read.
        """
        require_usable(key)
        delivery = find_delivery(path, columns)
        corpus = self._corpus_of(delivery)
        parts = in_parts(delivery, batch_reports or math.inf)
        return self._matched(parts, batch_keys(key, len(parts)), corpus)

    def _corpus_of(self, delivery: Delivery) -> Corpus:
        """Name the corpus of a delivery, and refuse one that the home does not hold.

        A delivery without a name is of the home's own corpus, if the data class agrees.
        """
        declared = delivery.declared
        present = self.corpus()
        name = declared.name
        if present is not None and present.data_class == declared.data_class:
            name = name or present.name
        corpus = Corpus(name or "unnamed", declared.data_class)
        self._require_same(corpus)
        return corpus

    def _matched(
        self, parts: Sequence[Delivery], keys: Sequence[str], corpus: Corpus
    ) -> list[Registration]:
        """Find for each part the batch that has its content, or make one."""
        batches = self.registered()
        batch_by_key = {batch.key: batch for batch in batches}
        # The oldest one, where the same content was registered under two keys.
        batch_by_content = {batch.sha256: batch for batch in reversed(batches)}
        # A number of a removed batch is not given again: who remembers it, as the
        # landing sensor does, would take the new batch for the old one.
        numbers = [batch.number for batch in batches]
        numbers += [removal.number for removal in self.removed()]
        number = 1 + max(numbers, default=-1)
        registrations: list[Registration] = []
        for key, part in zip(keys, parts, strict=True):
            sha256 = content_hash(part)
            batch = batch_by_key.get(key)
            if batch is not None and batch.sha256 != sha256:
                raise KeyTaken(
                    f"batch {key!r} is registered with other content (sha256 "
                    f"{batch.sha256[:12]}, found {sha256[:12]}). A batch never "
                    "changes: give the new files another key with --batch."
                )
            batch = batch or batch_by_content.get(sha256)
            is_new = batch is None
            if batch is None:
                batch = Batch(key, number, sha256, part.kind)
                number += 1
            registrations.append(Registration(part, corpus, batch, is_new))
        return registrations

    @contextmanager
    def _register_lock(self) -> Iterator[None]:
        """Hold the register; what a killed registration or removal left is removed."""
        self.create()
        self.batches.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(self.batches / ".lock"):
            for abandoned in self.batches.glob(".*.tmp"):
                shutil.rmtree(abandoned)
            yield

    def _hidden_folder(self, key: str) -> Path:
        """Name a folder for a batch that is not there yet, or not there any more."""
        return self.batches / f".{key}.{uuid.uuid4().hex}.tmp"

    def _store_new(self, registrations: Sequence[Registration]) -> None:
        """Store the new batches; each appears with all its files at once."""
        for registration in registrations:
            if registration.is_new:
                folder = self._hidden_folder(registration.batch.key)
                _copy_files(registration.delivery, folder)
                manifest = f"batches/{folder.name}/{_MANIFEST}"
                self._write_json(manifest, asdict(registration.batch))
                folder.rename(self.batches / registration.batch.key)

    def remove(self, key: str) -> None:
        """Remove a registered batch with the tables of it alone.

        Its own files go last: a removal that was killed is done by doing it again. What
        several batches made together, and sealed releases, stay.

        Raises:
            ConfigurationError: there is no such batch.
        """
        with self._register_lock():
            batch = self.batch(key)
            for name, table in TABLES.items():
                if "report_batch" in table.partitioned_by:
                    keys = [
                        key if dimension == "report_batch" else "*"
                        for dimension in table.partitioned_by
                    ]
                    files = UPath(self.tables, name).glob("/".join(keys) + ".parquet")
                    for file in list(files):
                        file.unlink()
            for queue in sorted(self.root.glob(f"review/*/{key}.csv")):
                queue.unlink()
            when = datetime.now(UTC).isoformat(timespec="seconds")
            removal = Removal(key, batch.number, batch.sha256, getpass.getuser(), when)
            removals = [asdict(removed) for removed in [*self.removed(), removal]]
            self._write_json(_REMOVALS, removals)
            # Renamed first: a half-removed batch must not look like one.
            hidden_folder = self._hidden_folder(key)
            (self.batches / key).rename(hidden_folder)
            shutil.rmtree(hidden_folder)

    def removed(self) -> list[Removal]:
        """List the batches that were removed, the oldest first."""
        file = self.root / _REMOVALS
        if not file.exists():
            return []
        return read_record(
            file,
            lambda records: [Removal(**record) for record in records],
            "Restore it from a backup, or delete it: removed batches are forgotten.",
        )

    def _write_json(self, name: str, values: object) -> None:
        text = json.dumps(values, indent=2, sort_keys=True) + "\n"
        replace_text(self.root / name, text)


def _read_batch(manifest: Path) -> Batch:
    """Read the record of a batch."""
    return read_record(
        manifest,
        lambda values: Batch(**values),
        "Restore it from a backup, or delete the batch's folder and register its files "
        "again under the same key.",
    )


def _copy_files(delivery: Delivery, folder: Path) -> None:
    """Copy the files of findings as they are, and pack raw reports."""
    folder.mkdir(parents=True)
    if delivery.loaded_reports is not None:
        write_packed(delivery.loaded_reports, folder / PACKED)
    for path in (*delivery.tables, delivery.folder / DECLARATION):
        if path.is_file():
            shutil.copyfile(path, folder / path.name)
