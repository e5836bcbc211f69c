"""Finds the files of a delivery by their names, raw reports also by their columns.

Nothing but headers and first entries is read here; docs/reports.md lists what is
accepted. Not here: how each layout is read (`texts/layouts.py`, `texts/published.py`).
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
    is_utf_8,
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
    "files), .txt files, or the published files of CheXpert Plus, ReXGradient or "
    "PadChest-GR"
)
_TREES = ("files", "ecgen-radiology", "mimic-cxr-reports")
"""Names of folders in which published collections keep a file for each report."""
_TABLE = re.compile(r"\.(?:csv|csv\.gz|parquet)$", re.IGNORECASE)
_SIDE_TABLE = re.compile(r"projections|master_table", re.IGNORECASE)
"""Names of tables that say more of the reports in another file."""
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


def find_delivery(path: Path, table_columns: tuple[str, str] | None = None) -> Delivery:
    """Find the delivery in a folder, or the one that a file is.

    Letter case does not matter. Vocabulary, image metadata and reports of findings lie
    beside it.

    Args:
        path: a folder or a file.
        table_columns: columns of ids and of texts, of a file that is a table of
            reports with names of its own.

    Raises:
        InputError: there are no findings and no raw reports, or both, or more than one
            of a kind; `corpus.toml` is wrong.
    """
    if not path.exists():
        remedy = "Name the folder that holds the files."
        raise InputError(str(path), "no such folder", _ACCEPTED, remedy)
    folder = path if path.is_dir() else path.parent
    if table_columns is not None:
        _require_table(path)
        findings = None
        sources = [TextSource("table", path, columns=table_columns)]
    else:
        findings, sources = _main_files(path, folder)
    _require_one_form(path, findings, sources)
    vocabulary = _file_named(folder, VOCABULARY)
    metadata = _metadata(folder, looks_above=bool(sources))
    reports = None
    # Beside raw reports such a table would be raw reports, too.
    if findings is not None:
        reports = _file_named(folder, REPORTS)
    delivery = Delivery(
        folder=folder,
        findings=findings,
        vocabulary=vocabulary,
        metadata=metadata,
        reports=reports,
        declared=read_declaration(folder / DECLARATION),
        texts=next(iter(sources), None),
    )
    _require_utf8_names(delivery)
    return delivery


def _main_files(path: Path, folder: Path) -> tuple[Path | None, list[TextSource]]:
    """Find the findings and the raw reports in a folder, or those that a file is."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    findings: Path | None = None
    if path.is_dir():
        findings = _file_named(folder, FINDINGS, FINDINGS_PARQUET)
    elif _holds_findings(path):
        findings = path
    # A licence or a note may lie beside findings: its text is no report.
    sources = _text_sources(path, files, takes_any_text=findings is None)
    if findings is not None:
        # So may a table of texts, which are those of the findings' studies.
        return findings, [source for source in sources if source.layout != "table"]
    if sources or path.is_file():
        return None, sources
    # A home stores a file that was named at its registration under its own name.
    findings = next((file for file in files if table_holds(file) == "findings"), None)
    return findings, []


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


def _require_table(path: Path) -> None:
    if path.is_file() and _TABLE.search(path.name):
        return
    remedy = "Name the file with --data, or leave out --text-column and --id-column."
    expected = "a CSV or Parquet file of reports"
    raise InputError(str(path), "no table", expected, remedy)


def _require_one_form(
    path: Path, findings: Path | None, sources: Sequence[TextSource]
) -> None:
    """Refuse a delivery of nothing, or in more than one form."""
    forms = [] if findings is None else [FINDINGS]
    forms += [f"{source.layout} ({source.path.name})" for source in sources]
    if len(forms) > 1:
        remedy = "Remove all but the one to use, or lay them into folders of their own."
        expected = "findings, or raw reports in one form"
        raise InputError(str(path), " and ".join(forms), expected, remedy)
    if forms:
        return
    remedy = "Put the files there or name another place."
    if path.is_dir():
        names = sorted(entry.name for entry in path.iterdir())[:_NAMES_SHOWN]
        raise InputError(str(path), ", ".join(names) or "nothing", _ACCEPTED, remedy)
    if _TABLE.search(path.name):
        remedy = (
            "Name the columns of a table of reports with --text-column and --id-column."
        )
    problem = f"a file of another kind{_description(path)}"
    raise InputError(str(path), problem, _ACCEPTED, remedy)


def _description(path: Path) -> str:
    """Name the columns of a table, or the keys of a JSON file, as far as known."""
    with suppress(InputError):
        if JSON_FORM.search(path.name):
            return f" with {published.shown_keys(path)}"
        if _TABLE.search(path.name):
            names = columns.shown_names(read_header(path), _KNOWN_COLUMNS)
            return f" with the columns {names}"
    return ""


def _require_utf8_names(delivery: Delivery) -> None:
    """Refuse a file whose name is not UTF-8: no table can say that a row is from it."""
    paths = delivery.tables
    if delivery.texts is not None and delivery.texts.path.is_file():
        paths += [delivery.texts.path, *delivery.texts.further_paths]
    for path in paths:
        if not is_utf_8(path.name):
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
    lower_names = [name.lower() for name in names]
    files = sorted(
        path
        for path in folder.iterdir()
        if name_without_gz(path) in lower_names and path.is_file()
    )
    if len(files) > 1:
        present = ", ".join(path.name for path in files)
        remedy = "Remove all but the one to use."
        raise InputError(str(folder), present, f"one {names[0]}", remedy)
    return files[0] if files else None


def _text_sources(
    path: Path, files: Sequence[Path], *, takes_any_text: bool
) -> list[TextSource]:
    """Find the raw reports of a folder, or of a file.

    Args:
        path: the folder or the file.
        files: at the top of the folder, or beside the file.
        takes_any_text: text files count where nothing else does.
    """
    if path.is_file():
        return _sources_of_file(path, files)
    packed = [TextSource("packed", file) for file in files if file.name == PACKED]
    if packed:
        return packed
    sources = _sources_of_files(files)
    has_tree = any(_is_tree(entry) for entry in path.iterdir() if entry.is_dir())
    if has_tree:
        return sources + _sources_of_tree(path)[:1]
    if takes_any_text and not sources:
        return _sources_of_tree(path)
    return sources


def _sources_of_file(path: Path, files: Sequence[Path]) -> list[TextSource]:
    """Find the raw reports that a file is, or has in it."""
    if layouts.TEXT_FORM.search(path.name):
        return [TextSource("text files", path)]
    # The views of an Open-i table lie beside it, and the patients of PadChest-GR.
    side_tables = [
        file for file in files if file != path and _SIDE_TABLE.search(file.name)
    ]
    sources = _sources_of_files([path, *side_tables])
    return [source for source in sources if source.path == path]


def _is_tree(path: Path) -> bool:
    """Tell whether a folder is named as in the published collections.

    Such names are `files`, `p10`, `p10000032`.
    """
    name = path.name.lower()
    if name in _TREES:
        return True
    number = name.removeprefix("p")
    return number != name and number.isascii() and number.isdecimal()


def _sources_of_tree(path: Path) -> list[TextSource]:
    """Find files of one report each in a folder or a package."""
    form_by_layout = {
        "open-i XML": layouts.XML_FORM,
        "text files": layouts.TEXT_FORM,
    }
    return [
        TextSource(layout, path)
        for layout, form in form_by_layout.items()
        if next(layouts.names_in(path, form), None) is not None
    ]


def _sources_of_files(files: Sequence[Path]) -> list[TextSource]:
    """Find tables of reports, JSON files and packages of reports.

    A table or JSON file may also stand alone in a package.
    """
    kind_by_table = {path: table_holds(path) for path in files if _is_table(path)}
    shape_by_json = {
        path: published.shape_of(path) for path in files if holds_json(path)
    }
    sources = _sources_of_tables(kind_by_table)
    sources += _rexgradient_sources(shape_by_json, kind_by_table)
    patients = _first_table(kind_by_table, "patients")
    for path, shape in shape_by_json.items():
        if shape == "padchest-gr":
            sources.append(TextSource(shape, path, patients))
    # A package with one table, or one JSON file, was read as that.
    recognised = [source.path for source in sources]
    for path in files:
        if is_package(path) and path not in recognised:
            # The last are text files, which go before others.
            sources += _sources_of_tree(path)[-1:]
    return sources


def _sources_of_tables(
    kind_by_table: Mapping[Path, TableKind | Literal[""]],
) -> list[TextSource]:
    projections = _first_table(kind_by_table, "projections")
    return [
        TextSource(_LAYOUT_OF_TABLE[table_kind], path, projections)
        for path, table_kind in kind_by_table.items()
        if table_kind in _LAYOUT_OF_TABLE
    ]


def _first_table(
    kind_by_table: Mapping[Path, TableKind | Literal[""]], table_kind: TableKind
) -> Path | None:
    for path in kind_by_table:
        if kind_by_table[path] == table_kind:
            return path
    return None


def _rexgradient_sources(
    shape_by_json: Mapping[Path, str],
    kind_by_table: Mapping[Path, TableKind | Literal[""]],
) -> list[TextSource]:
    """Find ReXGradient's splits; the JSON file of a split is better than its table.

    Both have the same studies, and the JSON file with view positions has their views.
    """
    json_files = [
        path for path, shape in shape_by_json.items() if shape == "rexgradient"
    ]
    with_views = [path for path in json_files if "view_position" in path.name.lower()]
    json_files = with_views or json_files
    json_splits = {_split(path) for path in json_files}
    tables = [
        path
        for path, table_kind in kind_by_table.items()
        if table_kind == "rexgradient" and _split(path) not in json_splits
    ]
    files_by_layout = {"rexgradient": json_files, "rexgradient table": tables}
    return [
        TextSource(layout, files[0], further_paths=tuple(files[1:]))
        for layout, files in files_by_layout.items()
        if files
    ]


def _split(path: Path) -> str:
    """Name the split of a file: `train` of `train_metadata.csv`."""
    return path.name.lower().partition("_metadata")[0]


def _is_table(path: Path) -> bool:
    """Tell whether a file is a table by its name, or a package with one table."""
    if _TABLE.search(path.name):
        return True
    return is_package(path) and only_member(path, TABLE_FORM) != ""


def table_holds(path: Path) -> TableKind | Literal[""]:
    """Tell what a table holds, by its columns; empty for anything else.

    A file called `reports` is taken for a table of reports in any case, so that the
    message says which column is missing.
    """
    is_called_reports = name_without_gz(path) in ("reports.csv", "reports.parquet")
    fallback: TableKind | Literal[""] = "reports" if is_called_reports else ""
    try:
        names = {columns.folded_name(name) for name in read_header(path)}
    except InputError:
        return fallback
    for table_kind, required in _REQUIRED_COLUMNS.items():
        if names.issuperset(required):
            return table_kind
    # Two of the three columns are enough: its reader says which one is missing.
    if len(names.intersection(published.CHEXPERT_PLUS)) > 1:
        return "chexpert-plus"
    has_ids = not names.isdisjoint(published.REXGRADIENT_IDS)
    if has_ids and names.issuperset(published.REXGRADIENT):
        return "rexgradient"
    return fallback
