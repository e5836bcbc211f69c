"""Which files hold raw reports, and in what layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lunguage_assets.corpus.columns import REQUIRED as FINDING_COLUMNS
from lunguage_assets.corpus.columns import folded_name
from lunguage_assets.corpus.records import read_header
from lunguage_assets.corpus.texts import layouts
from lunguage_assets.corpus.texts.layouts import TEXT_FORM, XML_FORM, names_in
from lunguage_assets.errors import InputError

PACKED = "raw_reports.parquet"
Layout = Literal["packed", "table", "open-i table", "open-i XML", "text files"]
"""`packed`: as a home stores raw reports of any other layout."""

ACCEPTED = (
    "reports.csv or reports.parquet (study_id, report), MIMIC-CXR's text files or mimic-cxr-reports.zip, the "
    "Open-i collection (indiana_reports.csv or its XML files), or .txt files"
)
_TREES = ("files", "ecgen-radiology", "mimic-cxr-reports")


@dataclass(frozen=True)
class TextSource:
    """Raw reports of one layout.

    Args:
        layout: how they are written.
        place: a table, a package (`.zip`), one text file, or the folder under which the files of one report
            each lie.
        projections: views of an Open-i table.
        chosen: which records belong, one byte (0 or 1) for each in the order of reading; None: all.
    """

    layout: Layout
    place: Path
    projections: Path | None = None
    chosen: bytes | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, a folder for all that are in it."""
        return (self.place,) if self.projections is None else (self.place, self.projections)


def text_sources(place: Path, files: Sequence[Path], *, loose: bool = True) -> list[TextSource]:
    """The raw reports of a folder with these files at its top, or of a file with these beside it; more than
    one: it is not clear which count.

    `loose` text files count only where nothing else does: a licence or a note may lie beside anything.
    """
    if place.is_file():
        if TEXT_FORM.search(place.name):
            return [TextSource("text files", place)]
        views = [path for path in files if path != place and "projections" in path.name.lower()]
        return [source for source in _of_files([place, *views]) if source.place == place]
    if packed := [TextSource("packed", path) for path in files if path.name == PACKED]:
        return packed
    found = _of_files(files)
    is_nested = any(is_tree(path) for path in place.iterdir() if path.is_dir())
    if is_nested or (loose and not found):
        inside = _of_tree(place)
        found += inside[:1] if is_nested else inside
    return found


def is_tree(path: Path) -> bool:
    """Whether a folder's name is one that the published collections have (`files`, `p10`, `p10000032`)."""
    name = path.name.lower()
    return name in _TREES or (name[:1] == "p" and name[1:].isascii() and name[1:].isdecimal())


def _of_tree(place: Path) -> list[TextSource]:
    """Files of one report each in a folder or a package."""
    found = list[TextSource]()
    if any(True for _ in names_in(place, XML_FORM)):
        found.append(TextSource("open-i XML", place))
    if any(True for _ in names_in(place, TEXT_FORM)):
        found.append(TextSource("text files", place))
    return found


def _of_files(files: Sequence[Path]) -> list[TextSource]:
    """Tables of reports, and packages of files of one report each."""
    tables = [path for path in files if path.name.lower().endswith((".csv", ".csv.gz", ".parquet"))]
    held = {path: table_holds(path) for path in tables}
    projections = next((path for path, what in held.items() if what == "projections"), None)
    found = [
        TextSource("open-i table", path, projections) if what == "open-i" else TextSource("table", path)
        for path, what in held.items()
        if what in ("open-i", "reports")
    ]
    for path in files:
        if path.name.lower().endswith(".zip"):
            found += _of_tree(path)[-1:]  # text files before others
    return found


def table_holds(path: Path) -> Literal["findings", "open-i", "projections", "reports", ""]:
    """What a table holds, by its columns; a file called reports that is none is said to be one, to complain.

    Empty: something else, or nothing that can be read.
    """
    is_named = path.name.lower().removesuffix(".gz") in ("reports.csv", "reports.parquet")
    try:
        names = {folded_name(name) for name in read_header(path)}
    except InputError:
        return "reports" if is_named else ""
    if names >= {*FINDING_COLUMNS}:
        return "findings"
    if names >= {*layouts.OPENI_REQUIRED}:
        return "open-i"
    if names >= {*layouts.PROJECTIONS}:
        return "projections"
    return "reports" if is_named or names >= {*layouts.REQUIRED} else ""
