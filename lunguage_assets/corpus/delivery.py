"""A delivery: a user's folder of files, found by name, raw reports also by what their columns are.

Only the corpus declaration is parsed here.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lunguage_assets.corpus.records import require_whole
from lunguage_assets.corpus.side_files import read_patients
from lunguage_assets.corpus.texts.reading import SourceParts, survey
from lunguage_assets.corpus.texts.source import ACCEPTED, TextSource, is_tree, table_holds, text_sources
from lunguage_assets.errors import InputError

FINDINGS = "Lunguage.csv"
FINDINGS_PARQUET = "Lunguage.parquet"
VOCABULARY = "Lunguage_vocab.csv"
METADATA = "mimic-cxr-2.0.0-metadata.csv"
REPORTS = "reports.csv"
DECLARATION = "corpus.toml"
_LARGEST_DECLARATION = 1 << 16


class CorpusDeclaration(BaseModel):
    """The name and data class of a corpus; undeclared text counts as patient data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    data_class: Literal["synthetic", "credentialed"] = "credentialed"

    @property
    def is_declared(self) -> bool:
        return "data_class" in self.model_fields_set


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
    def tables(self) -> list[Path]:
        """The files that exist, without those of raw reports."""
        return [path for path in (self.findings, self.vocabulary, self.metadata, self.reports) if path]

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that exist, findings or texts first; a folder stands for its texts."""
        return (*(self.texts.files if self.texts is not None else ()), *self.tables)


def find_delivery(place: Path) -> Delivery:
    """The delivery in a folder, or the one that a file is.

    Findings are `Lunguage.csv` (also `Lunguage.parquet`), and if present the vocabulary, the image metadata
    and raw reports beside them; raw reports alone are what `texts.source.ACCEPTED` says. All also `.gz`;
    letter case does not matter. Of a file the content decides; the others are looked for beside it.

    Raises:
        InputError: there are no findings and no raw reports, or both, or more than one of a kind;
            `corpus.toml` is wrong.
    """
    expected = f"a file {FINDINGS} (or another table of its columns, or .gz), or raw reports: {ACCEPTED}"
    if not place.exists():
        raise InputError(str(place), "no such folder", expected, "Name the folder that holds the files.")
    folder = place if place.is_dir() else place.parent
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    if place.is_dir():
        findings = _one(folder, FINDINGS, FINDINGS_PARQUET)
    else:
        is_named = _folded(place) in (FINDINGS.lower(), FINDINGS_PARQUET.lower())
        findings = place if is_named or table_holds(place) == "findings" else None
    sources = text_sources(place, paths, loose=findings is None)
    if place.is_dir() and findings is None and not sources:  # under another name, as they were registered
        findings = next((path for path in paths if table_holds(path) == "findings"), None)
    if findings is not None:  # a table of texts may lie beside findings
        sources = [source for source in sources if source.layout != "table"]
    kinds = [FINDINGS] if findings is not None else []
    kinds += [f"{source.layout} ({source.place.name})" for source in sources]
    if not kinds:
        names = "a file of another kind"
        if place.is_dir():
            names = ", ".join(sorted(path.name for path in place.iterdir())[:8]) or "nothing"
        raise InputError(str(place), names, expected, "Put the files there or name another place.")
    if len(kinds) > 1:
        remedy = "Remove all but the one to use, or lay them into folders of their own."
        raise InputError(str(place), " and ".join(kinds), "findings, or raw reports in one form", remedy)
    above, metadata = folder, _one(folder, METADATA)
    while sources and metadata is None and is_tree(above):  # a part of MIMIC-CXR's tree
        above = above.parent
        metadata = _one(above, METADATA)
    return Delivery(
        folder,
        findings,
        _one(folder, VOCABULARY),
        metadata,
        None if findings is None else _one(folder, REPORTS),
        read_declaration(folder / DECLARATION),
        sources[0] if sources else None,
    )


def _folded(path: Path) -> str:
    return path.name.lower().removesuffix(".gz")


def _one(folder: Path, *names: str) -> Path | None:
    """The file of one of the names in a folder, whatever the letter case, with or without `.gz`."""
    wanted = [name.lower() for name in names]
    found = sorted(path for path in folder.iterdir() if _folded(path) in wanted and path.is_file())
    if len(found) > 1:
        there = ", ".join(path.name for path in found)
        raise InputError(str(folder), there, f"one {names[0]}", "Remove all but the one to use.")
    return found[0] if found else None


def content_hash(delivery: Delivery, texts: str | None = None) -> str:
    """sha256 over names and bytes of the delivered files, of raw reports over what is read from them.

    How raw reports are packed does not count. `texts` is their digest when it is known (`reading.survey`).
    """
    digest = hashlib.sha256()
    if delivery.texts is not None:
        digest.update((texts or survey(delivery.texts).digests[0]).encode())
    for path in delivery.tables:
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def require_whole_files(delivery: Delivery) -> None:
    """Refuse a delivery of which a table was cut on its way: a batch never changes."""
    for path in delivery.tables:  # those of raw reports are read in parts anyway
        if _folded(path).endswith(".csv"):
            require_whole(path)


def in_parts(
    delivery: Delivery, most: int | None = None
) -> tuple[list[tuple[Delivery, str]], SourceParts | None]:
    """The delivery in parts of `most` raw reports, each with its content hash; and which report is in which.

    Findings are one part, as are no more raw reports than that. All reports of a patient are in one.
    """
    if delivery.texts is None:
        return [(delivery, content_hash(delivery))], None
    metadata, texts = delivery.metadata, delivery.texts
    found = survey(texts, most, cache(lambda: {} if metadata is None else read_patients(metadata)))
    parts = [
        (replace(delivery, texts=replace(texts, chosen=found.chosen(part))), content_hash(delivery, digest))
        for part, digest in enumerate(found.digests)
    ]
    return parts, found


def read_declaration(path: Path) -> CorpusDeclaration:
    """The declaration of a `corpus.toml`; a missing file declares nothing.

    Raises:
        InputError: it is not TOML, or says something else than name and data class.
    """
    if not path.is_file():
        return CorpusDeclaration()
    try:
        with path.open("rb") as stream:
            written = stream.read(_LARGEST_DECLARATION + 1)
        if len(written) > _LARGEST_DECLARATION:
            raise ValueError
        return CorpusDeclaration.model_validate(tomllib.loads(written.decode()))
    except ValueError as error:  # of pydantic, TOML and UTF-8
        wrong = str(error.errors()[0]["loc"][0]) if isinstance(error, ValidationError) else None
    found = "an unknown key or value" if wrong else "no such text"
    expected = "name (a text in quotes) and data_class ('synthetic' or 'credentialed'), in at most 64 KiB"
    raise InputError(str(path), found, expected, "Correct or remove the file.", column=wrong)
