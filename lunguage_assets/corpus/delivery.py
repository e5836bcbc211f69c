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


def find_delivery(place: Path) -> Delivery:
    """The delivery in a folder, or the one that a file is.

    Findings are `Lunguage.csv` (also `Lunguage.parquet`), and if present the vocabulary, the image metadata
    and raw reports beside them; raw reports alone are what `texts.source.ACCEPTED` says. All also `.gz`;
    letter case does not matter. Of a file the content decides; the others are looked for beside it.

    Raises:
        InputError: there are no findings and no raw reports, or both, or more than one of a kind;
            `corpus.toml` is wrong.
    """
    if not place.exists():
        remedy = "Name the folder that holds the files."
        raise InputError(str(place), "no such folder", f"a folder with {FINDINGS} or raw reports", remedy)
    files = _Files(place if place.is_dir() else place.parent)
    findings = files.one(FINDINGS, FINDINGS_PARQUET) if place.is_dir() else _findings_of(place)
    sources = text_sources(place, files.paths, loose=findings is None)
    if findings is not None:  # a table of texts may lie beside findings
        sources = [source for source in sources if source.layout != "table"]
    if findings is None and not sources:
        names = "a file of another kind"
        if place.is_dir():
            names = ", ".join(sorted(path.name for path in place.iterdir())[:8]) or "nothing"
        expected = f"a file {FINDINGS} (or another table of its columns, or .gz), or raw reports: {ACCEPTED}"
        raise InputError(str(place), names, expected, "Put the files there or name another place.")
    if (findings is not None) + len(sources) > 1:
        kinds = [f"{source.layout} ({source.place.name})" for source in sources]
        found = " and ".join([FINDINGS, *kinds] if findings is not None else kinds)
        remedy = "Remove all but the one to use, or lay them into folders of their own."
        raise InputError(str(place), found, "findings, or raw reports in one form", remedy)
    return files.delivery(findings, sources[0] if sources else None)


def _findings_of(path: Path) -> Path | None:
    is_named = path.name.lower().removesuffix(".gz") in (FINDINGS.lower(), FINDINGS_PARQUET.lower())
    return path if is_named or table_holds(path) == "findings" else None


class _Files:
    """The files at the top of a folder, by name whatever the letter case, with or without `.gz`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths = sorted(path for path in folder.iterdir() if path.is_file())
        self._named: dict[str, list[Path]] = {}
        for path in self.paths:
            self._named.setdefault(path.name.lower().removesuffix(".gz"), []).append(path)

    def one(self, name: str, *other_names: str) -> Path | None:
        found = [path for wanted in (name, *other_names) for path in self._named.get(wanted.lower(), [])]
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise InputError(str(self.folder), f"{names}", f"one {name}", "Remove all but the one to use.")
        return found[0] if found else None

    def delivery(self, findings: Path | None, texts: TextSource | None) -> Delivery:
        reports = None if findings is None else self.one(REPORTS)
        declared = read_declaration(self.folder / DECLARATION)
        vocabulary, metadata = self.one(VOCABULARY), self.one(METADATA)
        place = self.folder
        while texts is not None and metadata is None and is_tree(place):  # a part of MIMIC-CXR's tree
            place = place.parent
            metadata = _Files(place).one(METADATA)
        return Delivery(self.folder, findings, vocabulary, metadata, reports, declared, texts)


def content_hash(delivery: Delivery, texts: str | None = None) -> str:
    """sha256 over names and bytes of the delivered files, of raw reports over what is read from them.

    How raw reports are packed does not count. `texts` is their digest when it is known (`reading.survey`).
    """
    digest = hashlib.sha256()
    if delivery.texts is not None:
        digest.update((texts or survey(delivery.texts).digests[0]).encode())
    files = (delivery.findings, delivery.vocabulary, delivery.metadata, delivery.reports)
    for path in filter(None, files):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def require_whole_files(delivery: Delivery) -> None:
    """Refuse a delivery of which a table was cut on its way: a batch never changes.

    Raises:
        InputError: as `records.require_whole`.
    """
    tables = (delivery.findings, delivery.vocabulary, delivery.metadata, delivery.reports)
    for path in filter(None, tables):  # those of raw reports are read in parts anyway
        if path.name.lower().removesuffix(".gz").endswith(".csv"):
            require_whole(path)


def in_parts(
    delivery: Delivery, most: int | None = None
) -> tuple[list[tuple[Delivery, str]], SourceParts | None]:
    """The delivery in parts of `most` raw reports, each with its content hash; and which report is in which.

    Findings are one part, as are no more raw reports than that. All reports of a patient are in one.

    Raises:
        InputError: a table or package is unusable as a whole.
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
    expected = "name (a text in quotes) and data_class ('synthetic' or 'credentialed'), in at most 64 KiB"
    try:
        with path.open("rb") as stream:
            written = stream.read(_LARGEST_DECLARATION + 1)
        if len(written) > _LARGEST_DECLARATION:
            raise ValueError
        values = tomllib.loads(written.decode())
    except ValueError:  # of TOML and of UTF-8 too
        raise InputError(str(path), "no such text", expected, "Correct or remove the file.") from None
    data_class = values.pop("data_class", None)
    wrong = sorted(values.keys() - {"name"})
    if not isinstance(values.get("name", ""), str):
        wrong.append("name")
    if data_class not in (None, "synthetic", "credentialed"):
        wrong.append("data_class")
    if wrong:
        found = f"an unknown key or value: {wrong[0]}"
        raise InputError(str(path), found, expected, "Correct or remove it.", column=wrong[0])
    return CorpusDeclaration(
        values.get("name", ""), data_class or "credentialed", is_declared=data_class is not None
    )
