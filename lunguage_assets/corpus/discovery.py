"""Finds the files of a delivery by their names, raw reports also by their columns.

Nothing but headers and first entries is read here. How each layout is read is in
`texts/layouts.py` and `texts/published.py`; docs/reports.md lists what is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.declaration import DECLARATION, read_declaration
from lunguage_assets.corpus.delivery import (
    FINDINGS,
    FINDINGS_PARQUET,
    METADATA,
    PACKED,
    REPORTS,
    VOCABULARY,
    Delivery,
    name_without_gz,
)
from lunguage_assets.corpus.packages import TABLE_FORM, is_package, only_member
from lunguage_assets.corpus.records import read_header
from lunguage_assets.corpus.texts import layouts, published
from lunguage_assets.corpus.texts.json_entries import JSON_FORM, holds_json
from lunguage_assets.corpus.texts.layouts import TextSource
from lunguage_assets.errors import InputError, printable

_ACCEPTED = (
    f"a file {FINDINGS} (or another table of its columns, or .gz), or raw reports: "
    "reports.csv or reports.parquet (study_id, report), MIMIC-CXR's text files or "
    "mimic-cxr-reports.zip, the Open-i collection (indiana_reports.csv or its XML "
    "files), .txt files, or the published files of CheXpert Plus, ReXGradient, "
    "PadChest-GR or RadGraph"
)
_TREES = ("files", "ecgen-radiology", "mimic-cxr-reports")
"""Names of folders in which published collections keep a file for each report."""
_TABLE = re.compile(r"\.(?:csv|csv\.gz|parquet)$", re.IGNORECASE)
_BESIDE = re.compile(r"projections|master_table", re.IGNORECASE)
"""Tables that say more of the reports of another file."""
_NAMES_SHOWN = 8

TableKind = Literal[
    "findings",
    "open-i",
    "projections",
    "reports",
    "patients",
    "rexgradient",
    "chexpert-plus",
]
_REQUIRED_COLUMNS: Mapping[TableKind, Sequence[str]] = {
    "findings": columns.REQUIRED,
    "open-i": layouts.OPENI_REQUIRED,
    "projections": layouts.PROJECTIONS,
    "reports": layouts.REQUIRED,
    "patients": published.PATIENTS,
}
"""A table is of the first kind all of whose columns it has."""
_LAYOUT_OF_TABLE: Mapping[str, str] = {
    "open-i": "open-i table",
    "reports": "table",
    "chexpert-plus": "chexpert-plus",
}
_KNOWN_COLUMNS = {
    *(name for required in _REQUIRED_COLUMNS.values() for name in required),
    *columns.OPTIONAL,
    *layouts.OPTIONAL,
    *layouts.OPENI_OPTIONAL,
    *published.CHEXPERT_PLUS,
    *published.REXGRADIENT,
    *published.REXGRADIENT_IDS,
}


def find_delivery(
    place: Path, table_columns: tuple[str, str] | None = None
) -> Delivery:
    """Find the delivery in a folder, or the one that a file is.

    Letter case does not matter. Vocabulary, image metadata and reports of findings lie
    beside it.

    Args:
        place: a folder or a file.
        table_columns: columns of ids and of texts, of a file that is a table of
            reports with names of its own.

    Raises:
        InputError: there are no findings and no raw reports, or both, or more than one
            of a kind; `corpus.toml` is wrong.
    """
    if not place.exists():
        remedy = "Name the folder that holds the files."
        raise InputError(str(place), "no such folder", _ACCEPTED, remedy)
    folder = place if place.is_dir() else place.parent
    if table_columns is not None:
        _require_table(place)
        findings = None
        sources = [TextSource("table", place, columns=table_columns)]
    else:
        findings, sources = _main_files(place, folder)
    _require_one_kind(place, findings, sources)
    delivery = Delivery(
        folder,
        findings,
        _file_named(folder, VOCABULARY),
        _metadata(folder, looks_above=bool(sources)),
        None if findings is None else _file_named(folder, REPORTS),
        read_declaration(folder / DECLARATION),
        sources[0] if sources else None,
    )
    _require_names(delivery)
    return delivery


def _main_files(place: Path, folder: Path) -> tuple[Path | None, list[TextSource]]:
    """Find the findings and the raw reports of a folder or file."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    if place.is_dir():
        findings = _file_named(folder, FINDINGS, FINDINGS_PARQUET)
    else:
        findings = place if _holds_findings(place) else None
    sources = _text_sources(place, files, takes_any_text=findings is None)
    if place.is_dir() and findings is None and not sources:
        # Findings under another name, as they were registered.
        findings = next(
            (path for path in files if table_holds(path) == "findings"), None
        )
    if findings is not None:
        # A table of texts may lie beside findings.
        sources = [source for source in sources if source.layout != "table"]
    return findings, sources


def _holds_findings(file: Path) -> bool:
    names = (FINDINGS.lower(), FINDINGS_PARQUET.lower())
    return name_without_gz(file) in names or table_holds(file) == "findings"


def _metadata(folder: Path, *, looks_above: bool) -> Path | None:
    """Find the image metadata; of a part of MIMIC-CXR's tree they lie above it."""
    metadata = _file_named(folder, METADATA)
    while looks_above and metadata is None and _is_tree(folder):
        folder = folder.parent
        metadata = _file_named(folder, METADATA)
    return metadata


def _require_table(place: Path) -> None:
    if place.is_file() and _TABLE.search(place.name):
        return
    remedy = "Name the file with --data, or leave out --text-column and --id-column."
    expected = "a CSV or Parquet file of reports"
    raise InputError(str(place), "no table", expected, remedy)


def _require_one_kind(
    place: Path, findings: Path | None, sources: Sequence[TextSource]
) -> None:
    """Refuse a delivery of nothing, or of more than one kind."""
    kinds = [] if findings is None else [FINDINGS]
    kinds += [f"{source.layout} ({source.place.name})" for source in sources]
    if len(kinds) > 1:
        remedy = "Remove all but the one to use, or lay them into folders of their own."
        expected = "findings, or raw reports in one form"
        raise InputError(str(place), " and ".join(kinds), expected, remedy)
    if kinds:
        return
    remedy = "Put the files there or name another place."
    if place.is_dir():
        names = sorted(path.name for path in place.iterdir())[:_NAMES_SHOWN]
        raise InputError(str(place), ", ".join(names) or "nothing", _ACCEPTED, remedy)
    if _TABLE.search(place.name):
        remedy = (
            "Name the columns of a table of reports with --text-column and --id-column."
        )
    found = f"a file of another kind{_content_told(place)}"
    raise InputError(str(place), found, _ACCEPTED, remedy)


def _content_told(path: Path) -> str:
    """Tell the columns of a table, or the keys of a JSON file, as far as known."""
    with suppress(InputError):
        if JSON_FORM.search(path.name):
            return f" with {published.told_keys(path)}"
        if _TABLE.search(path.name):
            names = columns.shown_names(read_header(path), _KNOWN_COLUMNS)
            return f" with the columns {names}"
    return ""


def _require_names(delivery: Delivery) -> None:
    """Refuse a file whose name is not UTF-8: no table can say that a row is from it."""
    paths = delivery.tables
    if delivery.texts is not None and delivery.texts.place.is_file():
        paths += [delivery.texts.place, *delivery.texts.more]
    for path in paths:
        if path.name != path.name.encode("utf-8", "replace").decode():
            raise InputError(
                printable(path.name),
                "a name that is not UTF-8",
                "a name in UTF-8",
                "Rename the file.",
            )


def _file_named(folder: Path, *names: str) -> Path | None:
    """Find the file of one of these names in a folder, with or without `.gz`.

    Raises:
        InputError: there are several.
    """
    wanted = [name.lower() for name in names]
    files = sorted(
        path
        for path in folder.iterdir()
        if name_without_gz(path) in wanted and path.is_file()
    )
    if len(files) > 1:
        found = ", ".join(path.name for path in files)
        remedy = "Remove all but the one to use."
        raise InputError(str(folder), found, f"one {names[0]}", remedy)
    return files[0] if files else None


def _text_sources(
    place: Path, files: Sequence[Path], *, takes_any_text: bool
) -> list[TextSource]:
    """Find the raw reports of a folder, or of a file.

    Args:
        place: the folder or the file.
        files: at the top of the folder, or beside the file.
        takes_any_text: text files count where nothing else does. They do not beside
            findings, as a licence or a note may lie beside anything.
    """
    if place.is_file():
        return _source_of_file(place, files)
    packed = [TextSource("packed", path) for path in files if path.name == PACKED]
    if packed:
        return packed
    sources = _sources_of_files(files)
    has_tree = any(_is_tree(path) for path in place.iterdir() if path.is_dir())
    if has_tree:
        return sources + _sources_of_tree(place)[:1]
    if takes_any_text and not sources:
        return _sources_of_tree(place)
    return sources


def _source_of_file(place: Path, files: Sequence[Path]) -> list[TextSource]:
    if layouts.TEXT_FORM.search(place.name):
        return [TextSource("text files", place)]
    beside = [path for path in files if path != place and _BESIDE.search(path.name)]
    sources = _sources_of_files([place, *beside])
    return [source for source in sources if source.place == place]


def _is_tree(path: Path) -> bool:
    """Tell whether a folder is named as in the published collections.

    Such names are `files`, `p10`, `p10000032`.
    """
    name = path.name.lower()
    if name in _TREES:
        return True
    return name[:1] == "p" and name[1:].isascii() and name[1:].isdecimal()


def _sources_of_tree(place: Path) -> list[TextSource]:
    """Find files of one report each in a folder or a package."""
    form_by_layout = {
        "open-i XML": layouts.XML_FORM,
        "text files": layouts.TEXT_FORM,
    }
    return [
        TextSource(layout, place)
        for layout, form in form_by_layout.items()
        if next(layouts.names_in(place, form), None) is not None
    ]


def _sources_of_files(files: Sequence[Path]) -> list[TextSource]:
    """Find tables of reports, JSON files and packages of reports.

    A table or JSON file may also stand alone in a package.
    """
    kind_of_table = {path: table_holds(path) for path in files if _is_table(path)}
    shape_of_json = {
        path: published.shape_of(path) for path in files if holds_json(path)
    }
    first_of_kind: dict[str, Path] = {}
    for path, kind in kind_of_table.items():
        first_of_kind.setdefault(kind, path)
    sources = [
        TextSource(_LAYOUT_OF_TABLE[kind], path, first_of_kind.get("projections"))
        for path, kind in kind_of_table.items()
        if kind in _LAYOUT_OF_TABLE
    ]
    sources += _rexgradient_sources(
        [path for path, shape in shape_of_json.items() if shape == "rexgradient"],
        [path for path, kind in kind_of_table.items() if kind == "rexgradient"],
    )
    sources += [
        TextSource(shape, path, first_of_kind.get("patients"))
        for path, shape in shape_of_json.items()
        if shape in ("padchest-gr", "radgraph")
    ]
    found = {source.place for source in sources}
    for path in files:
        if is_package(path) and path not in found:
            sources += _sources_of_tree(path)[-1:]  # text files before others
    return sources


def _rexgradient_sources(
    json_files: Sequence[Path], tables: Sequence[Path]
) -> list[TextSource]:
    """Find ReXGradient's splits; the JSON file of a split is better than its table.

    Both have the same studies, and the JSON file with view positions has their views.
    """
    with_views = [path for path in json_files if "view_position" in path.name.lower()]
    splits = with_views or json_files
    read_splits = {_split(path) for path in splits}
    only_tables = [path for path in tables if _split(path) not in read_splits]
    sources = []
    if splits:
        sources.append(TextSource("rexgradient", splits[0], more=tuple(splits[1:])))
    if only_tables:
        sources.append(
            TextSource("rexgradient table", only_tables[0], more=tuple(only_tables[1:]))
        )
    return sources


def _split(path: Path) -> str:
    """The split that a file is named after: `train` of `train_metadata.csv`."""
    return path.name.lower().partition("_metadata")[0]


def _is_table(path: Path) -> bool:
    """Tell whether a file is a table by its name, or a package with one table."""
    if _TABLE.search(path.name):
        return True
    return is_package(path) and only_member(path, TABLE_FORM) != ""


def table_holds(path: Path) -> TableKind | Literal[""]:
    """Tell what a table holds, by its columns; empty for anything else.

    A file called `reports` is taken for a table of reports in any case, so that what is
    missing in it is said.
    """
    is_called_reports = name_without_gz(path) in ("reports.csv", "reports.parquet")
    fallback: TableKind | Literal[""] = "reports" if is_called_reports else ""
    try:
        names = {columns.folded_name(name) for name in read_header(path)}
    except InputError:
        return fallback
    for kind, required in _REQUIRED_COLUMNS.items():
        if names.issuperset(required):
            return kind
    if len(names.intersection(published.CHEXPERT_PLUS)) > 1:
        return "chexpert-plus"
    has_ids = not names.isdisjoint(published.REXGRADIENT_IDS)
    if has_ids and names.issuperset(published.REXGRADIENT):
        return "rexgradient"
    return fallback
