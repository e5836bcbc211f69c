"""The home: the folder with everything that a corpus produces, and the register of its batches, whose files
come in as a whole or not at all.

A home holds one corpus of one data class; a batch, once registered, never changes.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import re
import shutil
import tomllib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from upath import UPath

from lunguage_assets.corpus.declaration import DECLARATION, Corpus
from lunguage_assets.corpus.delivery import (
    METADATA,
    PACKED,
    Delivery,
    DeliveryKind,
    content_hash,
    in_parts,
    require_whole_files,
)
from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.side_files import split_metadata
from lunguage_assets.corpus.texts.layouts import write_packed
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.errors import ConfigurationError, CorpusMismatch, KeyTaken
from lunguage_assets.files import replace_text
from lunguage_assets.permissions import require_private
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import (
    claim_place,
    partition_path,
    stored_partitions,
    tables_place,
)

ENVIRONMENT_VARIABLE = "LUNGUAGE_HOME"
_KEY = re.compile(r"(?!\.)[a-z0-9._-]{1,128}")


@dataclass(frozen=True)
class Batch:
    """One delivered set of reports.

    `number` counts registrations: of two versions of a study the one with the higher number is newer. `kind`
    says whether findings or raw reports were delivered.
    """

    key: str
    number: int
    sha256: str
    files: tuple[str, ...]
    kind: DeliveryKind = "findings"


@dataclass(frozen=True)
class Registration:
    """Preview of a registration: files, corpus, and the batch, new or registered."""

    delivery: Delivery
    corpus: Corpus
    batch: Batch
    is_new: bool


@dataclass(frozen=True)
class Removal:
    """A removed batch: what it was, who removed it, and when (ISO, UTC)."""

    key: str
    sha256: str
    who: str
    when: str


class _Place:
    """A file or folder of a home, by its name there."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: Home, kind: type[Home]) -> Path:
        return home.root / self._name


@dataclass(frozen=True)
class Home:
    """Paths under `$LUNGUAGE_HOME` and the batches registered there."""

    root: Path

    @classmethod
    def from_environment(cls) -> Home:
        """`$LUNGUAGE_HOME`, by default `.lunguage` in the working directory."""
        return cls(
            Path(os.environ.get(ENVIRONMENT_VARIABLE) or ".lunguage")
            .expanduser()
            .resolve()
        )

    database = _Place("lunguage.duckdb")
    dagster = _Place("dagster")
    batches = _Place("batches")
    release = _Place("release")
    """Where releases go unless a run names another folder."""
    settings_file = _Place("settings.toml")
    distilled = _Place("distilled")
    """What distilled models learnt, by ranker: as restricted as the reports."""

    # what a person may put there, or not
    anchor_ratings = _Place("anchor_ratings.csv")
    corrections_file = _Place("corrections.csv")
    gold_findings = _Place("gold_findings.csv")
    expert_responses = _Place("expert_responses.csv")
    expert_descriptions = _Place("experts.csv")

    @property
    def tables(self) -> Path | UPath:
        """The folder of the tables, or the home's place on other storage."""
        return tables_place(self.root)

    @property
    def pathways_file(self) -> Path | None:
        """The person's own pathways, in the form of resources/pathways.yaml, or None: the packaged ones."""
        return self._if_there("pathways.yaml")

    @property
    def blacklist_file(self) -> Path | None:
        """The person's own blacklist, in the form of resources/blacklist.yaml, or None: the packaged one."""
        return self._if_there("blacklist.yaml")

    @property
    def assertion_file(self) -> Path | None:
        """The person's own cues, which are added to those of resources/assertion, or None."""
        return self._if_there("assertion.yaml")

    def _if_there(self, name: str) -> Path | None:
        return self.root / name if (self.root / name).exists() else None

    def review_queue(self, judge: str, batch: str) -> Path:
        """The review queue of a batch, by one judge's extraction."""
        return self.root / "review" / judge / f"{batch}.csv"

    def create(self) -> None:
        """Make the folder, readable by its owner only: it will hold report text."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def corpus(self) -> Corpus | None:
        """The corpus of this home; None while it is empty."""
        path = self.root / "corpus.json"
        return (
            Corpus(**json.loads(path.read_text(encoding="utf-8")))
            if path.exists()
            else None
        )

    def claim(self, corpus: Corpus) -> None:
        """Bind the home to a corpus, or refuse when it holds another."""
        self._require(corpus)
        self.create()
        self.require_private(corpus)
        claim_place(self.root)
        if self.corpus() is None:
            self._record("corpus.json", asdict(corpus))

    def remember_preset(self, preset: str) -> None:
        """Write the preset into the home's settings, unless one is there: further runs use it, when they name
        no other.
        """
        file = self.settings_file
        with (self.root / ".settings.lock").open("a") as lock:
            fcntl.flock(
                lock, fcntl.LOCK_EX
            )  # two first runs would write over each other
            text = file.read_text(encoding="utf-8") if file.exists() else ""
            if "preset" not in tomllib.loads(text):
                replace_text(file, f'preset = "{preset}"  # of the first run\n{text}')

    def require_private(self, corpus: Corpus | None) -> None:
        """Refuse a home of patients' reports that other accounts can read. Raises `ConfigurationError`: it is
        open to others.
        """
        if corpus is not None and corpus.data_class == "credentialed":
            require_private(self.root, "the home")

    def _require(self, corpus: Corpus) -> None:
        present = self.corpus()
        if present is not None and present != corpus:
            raise CorpusMismatch(
                DECLARATION,
                f"corpus {corpus.name!r} ({corpus.data_class}, as text without a declaration is)",
                f"corpus {present.name!r} ({present.data_class}), which the home holds",
                f"Name that one in {DECLARATION}, or use another home (--home).",
                column="name"
                if corpus.data_class == present.data_class
                else "data_class",
            )

    def _record(self, name: str, values: object) -> None:
        replace_text(
            self.root / name, json.dumps(values, indent=2, sort_keys=True) + "\n"
        )

    def registered(self) -> list[Batch]:
        """All batches in the order of their registration."""
        found = map(
            _read_batch, self.batches.glob("[!.]*/batch.json")
        )  # others are being registered
        return sorted(found, key=lambda batch: batch.number)

    def batch(self, key: str) -> Batch:
        """A registered batch. Raises `ConfigurationError`: no such batch."""
        manifest = self.batches / key / "batch.json"
        if _KEY.fullmatch(key) and manifest.exists():
            return _read_batch(manifest)
        raise ConfigurationError(
            f"batch {key!r} is not registered in {self.root}. Register its files first: lunguage register "
            f"--data DIR --batch {key}. If the key was mistyped, `lunguage batches remove {key}` takes the "
            "partition away."
        )

    def delivery(self, key: str) -> Delivery:
        """The files of a registered batch."""
        self.batch(key)
        return find_delivery(self.batches / key)

    def register(
        self,
        place: Path,
        key: str,
        *,
        batch_reports: int | None = None,
        columns: tuple[str, str] | None = None,
    ) -> list[Batch]:
        """Copy a delivery into the home as one immutable batch; raw reports of more than `batch_reports`
        become batches `key-001`, `key-002`..., all reports of a patient in one of them. `columns` as in
        `find_delivery`.

        The same content changes nothing, also under another key: its batch is the one that is there. Raises
        `LunguageError`: as `examine`.
        """
        with self._registering():
            found = self.examine(
                place, key, batch_reports=batch_reports, columns=columns
            )
            self.claim(found[0].corpus)
            self._store([one for one in found if one.is_new], in_parts=len(found) > 1)
        return [one.batch for one in found]

    @contextmanager
    def _registering(self) -> Iterator[None]:
        """One registration or removal at a time; what a killed one left is removed first."""
        self.create()
        self.batches.mkdir(parents=True, exist_ok=True)
        with (self.batches / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._clear_abandoned()
            yield

    def _clear_abandoned(self) -> None:
        for abandoned in self.batches.glob(".*.tmp"):
            shutil.rmtree(abandoned)

    def _aside(self, key: str) -> Path:
        return self.batches / f".{key}.{uuid.uuid4().hex}.tmp"

    def _store(self, new: list[Registration], *, in_parts: bool) -> None:
        """Store batches: the files of findings as they are, raw reports packed; of a delivery in parts each
        has the image metadata of its own studies.
        """
        metadata: dict[Path, set[str]] = {}
        staged = [(self._aside(one.batch.key), one) for one in new]
        for folder, one in staged:
            folder.mkdir(parents=True)
            delivery, copied = (
                one.delivery,
                [*one.delivery.tables, one.delivery.folder / DECLARATION],
            )
            if delivery.held is not None:
                write_packed(delivery.held, folder / PACKED)
            if in_parts and delivery.metadata is not None:
                copied.remove(delivery.metadata)
                metadata[folder / METADATA] = {
                    study_of(own.study) for own in delivery.held or () if own.study
                }
            for path in copied:
                if path.is_file():
                    shutil.copyfile(path, folder / path.name)
        if metadata and new[0].delivery.metadata is not None:
            split_metadata(new[0].delivery.metadata, metadata)
        for folder, one in staged:
            self._record(f"batches/{folder.name}/batch.json", asdict(one.batch))
            folder.rename(self.batches / one.batch.key)

    def following(
        self, key: str
    ) -> tuple[list[tuple[str, tuple[str, ...]]], list[Path]]:
        """What is stored of a registered batch alone: tables with their keys, review queues; raises as
        `batch`.
        """
        self.batch(key)
        tables = [
            (table, keys)
            for table, declared in TABLES.items()
            if declared.partitioned_by[-1] == "report_batch"
            for keys in stored_partitions(self.tables, table)
            if keys[-1] == key
        ]
        return tables, sorted(self.root.glob(f"review/*/{key}.csv"))

    def remove(self, key: str) -> None:
        """Remove a registered batch with the tables of it alone, its files last: a removal that was killed is
        done by doing it again. What several batches made together and sealed releases stay. Raises as
        `batch`.
        """
        with self._registering():
            batch, (tables, review) = self.batch(key), self.following(key)
            for table, keys in tables:
                partition_path(self.tables, table, *keys).unlink(missing_ok=True)
            for file in review:
                file.unlink(missing_ok=True)
            when = datetime.now(UTC).isoformat(timespec="seconds")
            removal = Removal(key, batch.sha256, getpass.getuser(), when)
            self._record(
                "removals.json", [asdict(one) for one in (*self.removed(), removal)]
            )
            (self.batches / key).rename(self._aside(key))
            self._clear_abandoned()

    def removed(self) -> list[Removal]:
        """Batches that were removed, the oldest first."""
        file = self.root / "removals.json"
        noted = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        names = [field.name for field in fields(Removal)]  # records of before have more
        return [Removal(**{name: one[name] for name in names}) for one in noted]

    def examine(
        self,
        place: Path,
        key: str,
        *,
        batch_reports: int | None = None,
        columns: tuple[str, str] | None = None,
    ) -> list[Registration]:
        """Preview what `register` would do.

        Raises:
            CorpusMismatch: the home holds another corpus or data class.
            KeyTaken: the key is taken by other content.
            ConfigurationError: an unusable key.
            InputError: there are neither Lunguage files nor raw reports, or they cannot be read.
        """
        if not _KEY.fullmatch(key):
            raise ConfigurationError(
                f"batch key {key[:200]!r} is not usable; expected up to 128 lower-case letters, digits, '.', "
                "'_' and '-', and no '.' at the beginning. Name it with --batch KEY."
            )
        delivery = find_delivery(place, columns)
        corpus = self._corpus_of(delivery)
        parts, batches = in_parts(delivery, batch_reports), self.registered()
        of_key = {batch.key: batch for batch in batches}
        of_content = {batch.sha256: batch for batch in reversed(batches)}
        number = 1 + max((batch.number for batch in batches), default=-1)
        registrations: list[Registration] = []
        for own, part in zip(batch_keys(key, len(parts)), parts, strict=True):
            sha256 = content_hash(part)
            if own in of_key and of_key[own].sha256 != sha256:
                raise KeyTaken(
                    f"batch {own!r} is registered with other content (sha256 {of_key[own].sha256[:12]}, "
                    f"found {sha256[:12]}). A batch never changes: give the new files another key with "
                    "--batch."
                )
            files = ([PACKED] if part.kind == "text" else []) + [
                path.name for path in part.tables
            ]
            known = of_key.get(own) or of_content.get(sha256)
            batch = known or Batch(own, number, sha256, tuple(files), part.kind)
            number += known is None
            registrations.append(Registration(part, corpus, batch, known is None))
        if any(one.is_new for one in registrations):
            require_whole_files(delivery)
        return registrations

    def _corpus_of(self, delivery: Delivery) -> Corpus:
        """The corpus of a delivery; one without a name is the home's own if the data class agrees."""
        declared, present = delivery.declared, self.corpus()
        shared = present is not None and present.data_class == declared.data_class
        name = declared.name or (
            present.name if present is not None and shared else "unnamed"
        )
        corpus = Corpus(name, declared.data_class)
        self._require(corpus)
        return corpus


def _read_batch(manifest: Path) -> Batch:
    """The record of a batch, also one from before there were kinds."""
    values = json.loads(manifest.read_text(encoding="utf-8"))
    return Batch(**values | {"files": tuple(values["files"])})


def batch_key(place: Path) -> str:
    """A usable partition key from the name of a folder or file, without the file's ending; a folder that is
    called by its version alone (`mimic-cxr/2.1.0`) is named with the one above it.
    """
    place = place.resolve()
    if place.is_file():
        return usable_key(place.name.split(".")[0])
    is_version = re.fullmatch(r"v?\d+(\.\d+)+", place.name)
    return usable_key(f"{place.parent.name}-{place.name}" if is_version else place.name)


def batch_keys(key: str, parts: int) -> list[str]:
    """Keys of the batches of a delivery in so many parts: its own, or `key-001`, `key-002`..."""
    return [key] if parts == 1 else [f"{key}-{part + 1:03d}" for part in range(parts)]


def usable_key(name: str) -> str:
    """A partition key from any name: lower case, hyphens for other characters, at most a hundred of them."""
    return (
        re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")[:100].strip("-.")
        or "batch"
    )
