"""A delivery: a user's folder of files, found by name.

Only the corpus declaration is parsed here.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lunguage_assets.corpus.texts.source import TextSource
from lunguage_assets.errors import InputError

FINDINGS = "Lunguage.csv"
FINDINGS_PARQUET = "Lunguage.parquet"
VOCABULARY = "Lunguage_vocab.csv"
METADATA = "mimic-cxr-2.0.0-metadata.csv"
REPORTS = "reports.csv"
DECLARATION = "corpus.toml"


@dataclass(frozen=True)
class CorpusDeclaration:
    """The name and data class of a corpus; undeclared text counts as patient data."""

    name: str = ""
    data_class: Literal["synthetic", "credentialed"] = "credentialed"
    is_declared: bool = False


DeliveryKind = Literal["findings", "text"]
"""What a delivery holds: findings in the Lunguage structure, or raw reports."""


@dataclass(frozen=True)
class Delivery:
    """The files of a delivery: findings, or raw reports as `texts`, never both; the others are optional.

    `reports` are texts beside findings.
    """

    folder: Path
    findings: Path | None
    vocabulary: Path | None
    metadata: Path | None
    reports: Path | None
    declared: CorpusDeclaration
    texts: TextSource | None = None

    @property
    def kind(self) -> DeliveryKind:
        return "findings" if self.findings is not None else "text"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the delivery that exist, findings or texts first; a folder stands for its texts."""
        texts = () if self.texts is None else self.texts.files
        others = (self.findings, *texts, self.vocabulary, self.metadata, self.reports)
        return tuple(path for path in others if path is not None)


def find_delivery(folder: Path) -> Delivery:
    """The delivery in a folder.

    `Lunguage.csv`, and if present the vocabulary, the image metadata and raw reports (each also `.gz`).
    Letter case does not matter; the findings may also be `Lunguage.parquet`.

    Raises:
        InputError: the folder or the findings file is missing, a file is there twice, or `corpus.toml` is
            wrong.
    """
    if not folder.is_dir():
        raise InputError(
            str(folder),
            "no such folder",
            f"a folder with {FINDINGS}",
            "Name the folder that holds the Lunguage files.",
        )
    present: dict[str, list[Path]] = {}
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        present.setdefault(path.name.lower().removesuffix(".gz"), []).append(path)

    def one(name: str, *other_names: str) -> Path | None:
        found = [path for wanted in (name, *other_names) for path in present.get(wanted.lower(), [])]
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise InputError(str(folder), f"{names}", f"one {name}", "Remove all but the one to use.")
        return found[0] if found else None

    findings = one(FINDINGS, FINDINGS_PARQUET)
    if findings is None:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        raise InputError(
            str(folder),
            names,
            f"a file {FINDINGS} (or {FINDINGS}.gz)",
            "Put the findings file there or name another folder.",
        )
    return Delivery(
        folder, findings, one(VOCABULARY), one(METADATA), one(REPORTS), read_declaration(folder / DECLARATION)
    )


def content_hash(delivery: Delivery) -> str:
    """sha256 over names and bytes of the delivered files."""
    digest = hashlib.sha256()
    for path in delivery.files:
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def read_declaration(path: Path) -> CorpusDeclaration:
    """The declaration of a `corpus.toml`; a missing file declares nothing.

    Raises:
        InputError: it is not TOML, or says something else than name and data class.
    """
    if not path.exists():
        return CorpusDeclaration()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            str(path),
            "text that is not TOML",
            "keys name and data_class",
            f"Mend the file ({type(error).__name__}).",
        ) from None
    unknown = sorted(set(values) - {"name", "data_class"})
    if unknown:
        raise InputError(
            str(path), f"keys {unknown}", "keys name and data_class only", "Correct or remove them."
        )
    if not isinstance(values.get("name", ""), str):
        raise InputError(
            str(path), "a name that is not text", "a name in quotes", "Correct it.", column="name"
        )
    data_class = values.get("data_class", "credentialed")
    if data_class not in ("synthetic", "credentialed"):
        raise InputError(
            str(path), repr(data_class), "'synthetic' or 'credentialed'", "Correct it.", column="data_class"
        )
    return CorpusDeclaration(values.get("name", ""), data_class, is_declared="data_class" in values)
