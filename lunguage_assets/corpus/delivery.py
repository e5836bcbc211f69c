"""A delivery: a user's folder of files, found by name, raw reports also by what their columns are.

Only the corpus declaration is parsed here.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.packages import TABLE_FORM, is_package, only_member
from lunguage_assets.corpus.records import read_header, read_records
from lunguage_assets.corpus.side_files import read_patients
from lunguage_assets.corpus.texts import layouts, published
from lunguage_assets.corpus.texts.layouts import TextSource, raw_reports, reports_digest
from lunguage_assets.corpus.texts.raw import RawReport, patient_of, study_of
from lunguage_assets.errors import InputError, did_you_mean, printable
from lunguage_assets.settings import DataClass

FINDINGS = "Lunguage.csv"
FINDINGS_PARQUET = "Lunguage.parquet"
VOCABULARY = "Lunguage_vocab.csv"
METADATA = "mimic-cxr-2.0.0-metadata.csv"
REPORTS = "reports.csv"
DECLARATION = "corpus.toml"
PACKED = "raw_reports.parquet"
"""Raw reports of any layout, as a home stores them."""
_ACCEPTED = (
    f"a file {FINDINGS} (or another table of its columns, or .gz), or raw reports: reports.csv or "
    "reports.parquet (study_id, report), MIMIC-CXR's text files or mimic-cxr-reports.zip, the Open-i "
    "collection (indiana_reports.csv or its XML files), .txt files, or the published files of CheXpert Plus, "
    "ReXGradient, PadChest-GR or RadGraph"
)
_TREES = ("files", "ecgen-radiology", "mimic-cxr-reports")
_TABLE = re.compile(r"\.(?:csv|csv\.gz|parquet)$", re.IGNORECASE)
_BESIDE = re.compile(r"projections|master_table", re.IGNORECASE)
_LARGEST_DECLARATION = 1 << 16
_MOST_DOTS = 1_000
"""Outside comments of a declaration: tables in tables of tables (`a.a.a = 1`) take the square of their depth
to parse.
"""
_MOST_TEXT = 4 << 30
"""Bytes of all raw reports of a delivery, which are held while it is registered; MIMIC-CXR's are 0.2 GiB."""


@validated(frozen=True, config=ConfigDict(extra="forbid"))
class Corpus:
    """The name of a corpus, and whether its text is patient data, as undeclared text is."""

    name: str = ""
    data_class: DataClass = "credentialed"

    @property
    def title(self) -> str:
        """What pages call it: "synthetic", the name of the bundled sample, says nothing in a heading."""
        return "the synthetic sample" if self.name == "synthetic" else self.name


_DECLARED = TypeAdapter(Corpus)
_DECLARABLE = ("name", "data_class")

TableKind = Literal[
    "findings",
    "open-i",
    "projections",
    "reports",
    "patients",
    "rexgradient",
    "chexpert-plus",
]
_COLUMNS_OF: Mapping[TableKind, Sequence[str]] = {
    "findings": columns.REQUIRED,
    "open-i": layouts.OPENI_REQUIRED,
    "projections": layouts.PROJECTIONS,
    "reports": layouts.REQUIRED,
    "patients": published.PATIENTS,
}
_KNOWN_COLUMNS = {
    *(name for required in _COLUMNS_OF.values() for name in required),
    *(
        *columns.OPTIONAL,
        *layouts.OPTIONAL,
        *layouts.OPENI_OPTIONAL,
        *published.CHEXPERT_PLUS,
    ),
    *(*published.REXGRADIENT, *published.REXGRADIENT_IDS),
}
DeliveryKind = Literal["findings", "text"]
"""What a delivery holds: findings in the Lunguage structure, or raw reports."""


@dataclass(frozen=True)
class Delivery:
    """The files of a delivery: findings, or raw reports as `texts`, never both; the others are optional.

    `reports` are texts beside findings. `held` are the records of a part of the raw reports, already read.
    """

    folder: Path
    findings: Path | None
    vocabulary: Path | None
    metadata: Path | None
    reports: Path | None
    declared: Corpus
    texts: TextSource | None = None
    held: Sequence[RawReport] | None = field(default=None, repr=False)

    @property
    def kind(self) -> DeliveryKind:
        return "findings" if self.findings is not None else "text"

    @property
    def tables(self) -> list[Path]:
        """The files that exist, without those of raw reports."""
        return [
            path
            for path in (self.findings, self.vocabulary, self.metadata, self.reports)
            if path
        ]

    @property
    def main_file(self) -> str:
        """Name of the file or folder with the findings or the raw reports."""
        return (
            self.findings
            or (self.texts.place if self.texts is not None else self.folder)
        ).name

    def raw_reports(self) -> Iterable[RawReport]:
        """The raw reports in the order of reading."""
        if self.held is not None or self.texts is None:
            return self.held or ()
        return raw_reports(self.texts)


def find_delivery(
    place: Path, table_columns: tuple[str, str] | None = None
) -> Delivery:
    """The delivery in a folder, or the one that a file is, as `_ACCEPTED` says; letter case does not matter.
    Vocabulary, image metadata and reports of findings lie beside it. With `table_columns` (of ids, of texts)
    the place is a table of reports. Raises `InputError`: there are no findings and no raw reports, or both,
    or more than one of a kind; `corpus.toml` is wrong.
    """
    if not place.exists():
        raise InputError(
            str(place),
            "no such folder",
            _ACCEPTED,
            "Name the folder that holds the files.",
        )
    folder = place if place.is_dir() else place.parent
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    if place.is_dir():
        findings = _one(folder, FINDINGS, FINDINGS_PARQUET)
    else:
        is_named = _folded(place) in (FINDINGS.lower(), FINDINGS_PARQUET.lower())
        findings = place if is_named or table_holds(place) == "findings" else None
    if table_columns is not None:
        if not (place.is_file() and _TABLE.search(place.name)):
            remedy = (
                "Name the file with --data, or leave out --text-column and --id-column."
            )
            raise InputError(
                str(place), "no table", "a CSV or Parquet file of reports", remedy
            )
        findings, sources = None, [TextSource("table", place, columns=table_columns)]
    else:
        sources = _text_sources(place, paths, loose=findings is None)
    if (
        place.is_dir() and findings is None and not sources
    ):  # under another name, as they were registered
        findings = next(
            (path for path in paths if table_holds(path) == "findings"), None
        )
    if findings is not None:  # a table of texts may lie beside findings
        sources = [source for source in sources if source.layout != "table"]
    kinds = [FINDINGS] if findings is not None else []
    kinds += [f"{source.layout} ({source.place.name})" for source in sources]
    if not kinds:
        names, remedy = (
            f"a file of another kind{_told(place)}",
            "Put the files there or name another place.",
        )
        if place.is_file() and _TABLE.search(place.name):
            remedy = "Name the columns of a table of reports with --text-column and --id-column."
        if place.is_dir():
            names = (
                ", ".join(sorted(path.name for path in place.iterdir())[:8])
                or "nothing"
            )
        raise InputError(str(place), names, _ACCEPTED, remedy)
    if len(kinds) > 1:
        remedy = "Remove all but the one to use, or lay them into folders of their own."
        raise InputError(
            str(place),
            " and ".join(kinds),
            "findings, or raw reports in one form",
            remedy,
        )
    above, metadata = folder, _one(folder, METADATA)
    while (
        sources and metadata is None and _is_tree(above)
    ):  # a part of MIMIC-CXR's tree
        above = above.parent
        metadata = _one(above, METADATA)
    delivery = Delivery(
        folder,
        findings,
        _one(folder, VOCABULARY),
        metadata,
        None if findings is None else _one(folder, REPORTS),
        read_declaration(folder / DECLARATION),
        sources[0] if sources else None,
    )
    _require_names(delivery)
    return delivery


def _require_names(delivery: Delivery) -> None:
    """Refuse a file whose name is not UTF-8: no table can hold it as the place of a row."""
    paths = delivery.tables
    if delivery.texts is not None and delivery.texts.place.is_file():
        paths += [delivery.texts.place, *delivery.texts.more]
    for path in paths:
        if path.name != path.name.encode("utf-8", "replace").decode():
            name = printable(path.name)
            raise InputError(
                name, "a name that is not UTF-8", "a name in UTF-8", "Rename the file."
            )


def _told(path: Path) -> str:
    """The columns of a table, or the keys of a JSON file, as far as they are known."""
    with suppress(InputError):
        if published.JSON_FORM.search(path.name):
            return f" with {published.told_keys(path)}"
        if _TABLE.search(path.name):
            return f" with the columns {columns.shown_names(read_header(path), _KNOWN_COLUMNS)}"
    return ""


def _folded(path: Path) -> str:
    return path.name.lower().removesuffix(".gz")


def _one(folder: Path, *names: str) -> Path | None:
    """The file of one of the names in a folder, whatever the letter case, with or without `.gz`."""
    wanted = [name.lower() for name in names]
    found = sorted(
        path for path in folder.iterdir() if _folded(path) in wanted and path.is_file()
    )
    if len(found) > 1:
        there = ", ".join(path.name for path in found)
        raise InputError(
            str(folder), there, f"one {names[0]}", "Remove all but the one to use."
        )
    return found[0] if found else None


def _text_sources(
    place: Path, files: Sequence[Path], *, loose: bool
) -> list[TextSource]:
    """The raw reports of a folder with these files at its top, or of a file with these beside it. `loose`:
    text files count where nothing else does, as a licence or a note may lie beside anything.
    """
    if place.is_file():
        if layouts.TEXT_FORM.search(place.name):
            return [TextSource("text files", place)]
        besides = [
            path for path in files if path != place and _BESIDE.search(path.name)
        ]
        return [
            source for source in _of_files([place, *besides]) if source.place == place
        ]
    if packed := [TextSource("packed", path) for path in files if path.name == PACKED]:
        return packed
    found = _of_files(files)
    is_nested = any(_is_tree(path) for path in place.iterdir() if path.is_dir())
    if is_nested or (loose and not found):
        inside = _of_tree(place)
        found += inside[:1] if is_nested else inside
    return found


def _is_tree(path: Path) -> bool:
    """Whether a folder's name is one that the published collections have (`files`, `p10`, `p10000032`)."""
    name = path.name.lower()
    return name in _TREES or (
        name[:1] == "p" and name[1:].isascii() and name[1:].isdecimal()
    )


def _of_tree(place: Path) -> list[TextSource]:
    """Files of one report each in a folder or a package."""
    forms = {"open-i XML": layouts.XML_FORM, "text files": layouts.TEXT_FORM}
    return [
        TextSource(layout, place)
        for layout, form in forms.items()
        if any(True for _ in layouts.names_in(place, form))
    ]


def _of_files(files: Sequence[Path]) -> list[TextSource]:
    """Tables of reports, JSON files, either of them also alone in a package, and packages of reports."""
    held = {path: table_holds(path) for path in files if _holds_table(path)}
    beside = {what: path for path, what in reversed(held.items())}
    layout_of = {
        "open-i": "open-i table",
        "reports": "table",
        "chexpert-plus": "chexpert-plus",
    }
    found = [
        TextSource(layout_of[what], path, beside.get("projections"))
        for path, what in held.items()
        if what in layout_of
    ]
    shaped = {
        path: published.shape_of(path) for path in files if published.holds_json(path)
    }
    splits = [path for path, shape in shaped.items() if shape == "rexgradient"]
    if (
        splits := [path for path in splits if "view_position" in path.name.lower()]
        or splits
    ):
        found.append(TextSource("rexgradient", splits[0], more=tuple(splits[1:])))
    # the JSON file of the same split has the same studies, with their views
    read_splits = {_split(path) for path in splits}
    tables = [
        path
        for path, what in held.items()
        if what == "rexgradient" and _split(path) not in read_splits
    ]
    if tables:
        found.append(TextSource("rexgradient table", tables[0], more=tuple(tables[1:])))
    found += [
        TextSource(shape, path, beside.get("patients"))
        for path, shape in shaped.items()
        if shape in ("padchest-gr", "radgraph")
    ]
    read = {source.place for source in found}
    for path in files:
        if is_package(path) and path not in read:
            found += _of_tree(path)[-1:]  # text files before others
    return found


def _split(path: Path) -> str:
    """The split that a file of ReXGradient is named after: `train` of `train_metadata.csv`."""
    return path.name.lower().partition("_metadata")[0]


def _holds_table(path: Path) -> bool:
    """Whether a file is a table by its name, or a package with one table."""
    return _TABLE.search(path.name) is not None or (
        is_package(path) and only_member(path, TABLE_FORM) != ""
    )


def table_holds(path: Path) -> TableKind | Literal[""]:
    """What a table holds, by its columns; a file called reports is one in any case, to complain."""
    is_named = _folded(path) in ("reports.csv", "reports.parquet")
    try:
        names = {columns.folded_name(name) for name in read_header(path)}
    except InputError:
        return "reports" if is_named else ""
    for held, required in _COLUMNS_OF.items():
        if names >= {*required}:
            return held
    if len(names & {*published.CHEXPERT_PLUS}) > 1:
        return "chexpert-plus"
    if names >= {*published.REXGRADIENT} and not names.isdisjoint(
        published.REXGRADIENT_IDS
    ):
        return "rexgradient"
    return "reports" if is_named else ""


def content_hash(delivery: Delivery) -> str:
    """sha256 over names and bytes of the delivered files, of raw reports over what is read from them: how
    they are packed does not count.
    """
    digest = hashlib.sha256()
    if delivery.kind == "text":
        digest.update(reports_digest(delivery.raw_reports()).encode())
    for path in delivery.tables:
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def require_whole_files(delivery: Delivery) -> None:
    """Refuse a delivery of which a table was cut on its way: its last record breaks off, with no line end."""
    for path in delivery.tables:  # those of raw reports are read in parts anyway
        if _folded(path).endswith(".csv"):
            deque(read_records(path, may_be_empty=True, keep_bytes=True)[1], maxlen=0)


def in_parts(delivery: Delivery, most: int | None = None) -> list[Delivery]:
    """The delivery in parts of `most` raw reports, which are `held`, or a few more: all reports of a patient
    are in one; findings are one part. Raises `InputError`: they cannot be read, or are too many to be held.
    """
    if delivery.texts is None:
        return [delivery]
    metadata, held = delivery.metadata, 0
    patients = cache(lambda: {} if metadata is None else read_patients(metadata))
    parts: list[list[RawReport]] = [[]]
    part_of: dict[str, list[RawReport]] = {}
    for report in raw_reports(delivery.texts):
        held += len(report.content) + len(report.graph) + len(report.second_graph)
        if held > _MOST_TEXT:
            found, expected = (
                "more than 4 GiB of raw reports",
                "at most 4 GiB in a delivery",
            )
            raise InputError(
                delivery.main_file,
                found,
                expected,
                "Deliver them in several deliveries.",
            )
        patient = report.patient
        if not patient and most is not None:
            patient = patients().get(study_of(report.study), "")
        owner = patient_of(patient) if patient else f"s{report.study}"
        if most is not None and len(parts[-1]) >= most and owner not in part_of:
            parts.append([])
        part_of.setdefault(owner, parts[-1]).append(report)
    return [replace(delivery, held=part) for part in parts]


def read_declaration(path: Path) -> Corpus:
    """The declaration of a `corpus.toml`; a missing file declares nothing. Raises `InputError`: it is not
    TOML, or says something else than name and data class.
    """
    if not path.is_file():
        return Corpus()
    try:
        with path.open("rb") as stream:
            written = stream.read(_LARGEST_DECLARATION + 1)
        if len(written) > _LARGEST_DECLARATION:
            raise ValueError
        text = written.decode()
        said = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        if "".join(said).count(".") > _MOST_DOTS:
            raise ValueError
        return _DECLARED.validate_python(tomllib.loads(text))
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        found = "an unknown key or value"
    except (
        ValueError,
        RecursionError,
    ):  # of UTF-8 and TOML, and of brackets in brackets
        key = ""
        found = "no such text"
    expected = "name (a text in quotes) and data_class ('synthetic' or 'credentialed'), in at most 64 KiB"
    remedy = "Correct or remove the file."
    is_known = key in _DECLARABLE
    if key and not is_known:  # the words of a delivered file are not repeated
        remedy += did_you_mean(key, _DECLARABLE)
    raise InputError(
        str(path), found, expected, remedy, column=key if is_known else None
    )
