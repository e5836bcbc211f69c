"""The home: the folder with everything that a corpus produces, and the register of its batches.

A home holds one corpus of one data class; a batch, once registered, never changes. Nothing here knows what is
inside the files.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from upath import UPath

from lunguage_assets.corpus.delivery import Delivery, DeliveryKind, content_hash, find_delivery
from lunguage_assets.errors import ConfigurationError, CorpusMismatch
from lunguage_assets.files import replace_text
from lunguage_assets.home.table_place import claim_place, tables_place
from lunguage_assets.settings import DataClass

ENVIRONMENT_VARIABLE = "LUNGUAGE_HOME"
_KEY = re.compile(r"[a-z0-9._-]+")


@dataclass(frozen=True)
class Corpus:
    """The corpus of a home: its name, and whether its text is patient data."""

    name: str
    data_class: DataClass


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
    """Preview of a registration: files, corpus, and the batch of the delivery, new or registered."""

    delivery: Delivery
    corpus: Corpus
    batch: Batch
    is_new: bool


@dataclass(frozen=True)
class Home:
    """Paths under `$LUNGUAGE_HOME` and the batches registered there."""

    root: Path

    @classmethod
    def from_environment(cls) -> Home:
        """`$LUNGUAGE_HOME`, by default `.lunguage` in the working directory."""
        return cls(Path(os.environ.get(ENVIRONMENT_VARIABLE) or ".lunguage").expanduser().resolve())

    @property
    def tables(self) -> Path | UPath:
        """The folder of the tables, or the home's place on other storage."""
        return tables_place(self.root)

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
    def release(self) -> Path:
        """Where releases go unless a run names another folder."""
        return self.root / "release"

    @property
    def settings_file(self) -> Path:
        return self.root / "settings.toml"

    @property
    def binding_file(self) -> Path:
        """The record of the model behind every judge that has answered here (`judges.binding_record`)."""
        return self.root / "judges.json"

    @property
    def anchor_ratings(self) -> Path:
        """Optional ratings of the anchor phrases (explicit.md section 6)."""
        return self.root / "anchor_ratings.csv"

    @property
    def corrections_file(self) -> Path:
        """Optional corrections of extracted phrases (explicit.md section 1)."""
        return self.root / "corrections.csv"

    @property
    def pathways_file(self) -> Path | None:
        """The person's own pathways, in the form of resources/pathways.yaml, or None: the packaged ones."""
        return _if_there(self.root / "pathways.yaml")

    @property
    def blacklist_file(self) -> Path | None:
        """The person's own blacklist, in the form of resources/blacklist.yaml, or None: the packaged one."""
        return _if_there(self.root / "blacklist.yaml")

    @property
    def expert_responses(self) -> Path:
        """Optional answers of human experts to a survey (explicit.md section 4)."""
        return self.root / "expert_responses.csv"

    @property
    def expert_descriptions(self) -> Path:
        """Optional description of these experts."""
        return self.root / "experts.csv"

    def review_queue(self, judge: str, batch: str) -> Path:
        """The review queue of a batch, by one judge's extraction."""
        return self.root / "review" / judge / f"{batch}.csv"

    def create(self) -> None:
        """Make the folder, readable by its owner only: it will hold report text."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def corpus(self) -> Corpus | None:
        """The corpus of this home; None while it is empty."""
        path = self.root / "corpus.json"
        if not path.exists():
            return None
        return Corpus(**json.loads(path.read_text(encoding="utf-8")))

    def claim(self, corpus: Corpus) -> None:
        """Bind the home to a corpus, or refuse when it holds another."""
        self._require(corpus)
        self.create()
        claim_place(self.root)
        if self.corpus() is None:
            replace_text(self.root / "corpus.json", _json(asdict(corpus)))

    def _require(self, corpus: Corpus) -> None:
        present = self.corpus()
        if present is not None and present != corpus:
            raise CorpusMismatch(
                f"{self.root} holds corpus {present.name!r} ({present.data_class}); found {corpus.name!r} "
                f"({corpus.data_class}). One home holds one corpus and one data class: set LUNGUAGE_HOME (or "
                "--home) to another folder, or name the same corpus with --corpus."
            )

    def registered(self) -> list[Batch]:
        """All batches in the order of their registration."""
        manifests = [
            path for path in sorted(self.batches.glob("*/batch.json")) if not _is_staging(path.parent)
        ]
        return sorted(map(_read_batch, manifests), key=lambda batch: batch.number)

    def batch(self, key: str) -> Batch:
        manifest = (
            self.batches / key / "batch.json"
        )  # this one alone: of hundreds of batches each is asked for
        if _KEY.fullmatch(key) and manifest.exists():
            return _read_batch(manifest)
        raise ConfigurationError(
            f"batch {key!r} is not registered in {self.root}. Register "
            f"its files first: lunguage register --data DIR --batch {key}"
        )

    def delivery(self, key: str) -> Delivery:
        """The files of a registered batch."""
        self.batch(key)
        return find_delivery(self.batches / key)

    def register(
        self, folder: Path, key: str, corpus_name: str | None = None, data_class: DataClass | None = None
    ) -> Batch:
        """Copy a delivery into the home as an immutable batch.

        The same content under the same key changes nothing.

        Raises:
            LunguageError: as `examine`.
        """
        with self._registering():
            found = self.examine(folder, key, corpus_name, data_class)
            self.claim(found.corpus)
            if found.is_new:
                self._store(found.batch, list(found.delivery.files), declared_file=folder / "corpus.toml")
        return found.batch

    def register_all(
        self,
        folder: Path,
        key: str,
        corpus_name: str | None = None,
        data_class: DataClass | None = None,
        *,
        batch_reports: int,
    ) -> list[Batch]:
        """As `register`; raw reports of more than `batch_reports` become batches `key-001`, `key-002`...

        All reports of a patient are in one batch.

        Raises:
            LunguageError: as `examine`.
        """
        return [self.register(folder, key, corpus_name, data_class)]

    @contextmanager
    def _registering(self) -> Iterator[None]:
        """One registration at a time, so that no two batches have one number."""
        self.create()
        self.batches.mkdir(parents=True, exist_ok=True)
        with (self.batches / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def examine(
        self, folder: Path, key: str, corpus_name: str | None = None, data_class: DataClass | None = None
    ) -> Registration:
        """Preview what `register` would do.

        Raises:
            CorpusMismatch: the home holds another corpus or data class, or the key is taken by other content.
            ConfigurationError: an unusable key.
            InputError: the folder holds no Lunguage files.
        """
        if not _KEY.fullmatch(key):
            raise ConfigurationError(
                f"batch key {key!r} is not usable; expected lower-case letters, digits, '.', '_' and '-' "
                "only. Name it with --batch KEY."
            )
        delivery = find_delivery(folder)
        declared = delivery.declared
        if data_class is not None and declared.is_declared and data_class != declared.data_class:
            raise CorpusMismatch(
                f"{folder / 'corpus.toml'} declares data class {declared.data_class!r}, the command line "
                f"says {data_class!r}. Make the two agree."
            )
        corpus = Corpus(corpus_name or declared.name or "unnamed", data_class or declared.data_class)
        self._require(corpus)
        sha256 = content_hash(delivery)
        batches = self.registered()
        for batch in batches:
            if batch.key == key:
                if batch.sha256 == sha256:
                    return Registration(delivery, corpus, batch, is_new=False)
                raise CorpusMismatch(
                    f"batch {key!r} is registered with other content (sha256 {batch.sha256[:12]}, found "
                    f"{sha256[:12]}). A batch never changes: give the new files another key with --batch."
                )
        number = 1 + max((batch.number for batch in batches), default=-1)
        new = Batch(key, number, sha256, tuple(path.name for path in delivery.files), delivery.kind)
        return Registration(delivery, corpus, new, is_new=True)

    def examine_all(
        self,
        folder: Path,
        key: str,
        corpus_name: str | None = None,
        data_class: DataClass | None = None,
        *,
        batch_reports: int,
    ) -> list[Registration]:
        """Preview what `register_all` would do.

        Raises:
            LunguageError: as `examine`.
        """
        return [self.examine(folder, key, corpus_name, data_class)]

    def _store(self, batch: Batch, files: list[Path], declared_file: Path) -> None:
        self.batches.mkdir(parents=True, exist_ok=True)
        for abandoned in self.batches.glob(f".{batch.key}.*.tmp"):  # left by a registration that was killed
            shutil.rmtree(abandoned, ignore_errors=True)
        staging = self.batches / f".{batch.key}.{uuid.uuid4().hex}.tmp"
        staging.mkdir()
        for path in [*files, *([declared_file] if declared_file.exists() else [])]:
            shutil.copyfile(path, staging / path.name)
        replace_text(staging / "batch.json", _json(asdict(batch)))
        staging.rename(self.batches / batch.key)


def batch_key(folder: Path) -> str:
    """A usable partition key from a folder's name."""
    return usable_key(folder.resolve().name)


def usable_key(name: str) -> str:
    """A partition key from any name.

    Lower case; other characters become hyphens; at most a hundred characters.
    """
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")[:100].strip("-.") or "batch"


def _read_batch(manifest: Path) -> Batch:
    values = json.loads(manifest.read_text(encoding="utf-8"))
    return Batch(
        values["key"],
        values["number"],
        values["sha256"],
        tuple(values["files"]),
        values.get("kind", "findings"),
    )


def _is_staging(folder: Path) -> bool:
    """Whether the folder belongs to an unfinished or killed registration."""
    return folder.name.startswith(".") and folder.name.endswith(".tmp")


def _json(values: object) -> str:
    return json.dumps(values, indent=2, sort_keys=True) + "\n"


def _if_there(path: Path) -> Path | None:
    return path if path.exists() else None
