"""Finds the files of a delivery by their names, raw reports also by their fields.

Nothing but headers and first entries is read here; docs/reports.md lists what is
accepted. Not here: which fields a layout has (`texts/layouts.py`), and how each kind of
file is read (`texts/sources.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lunguage_assets.corpus import columns
from lunguage_assets.corpus.columns import folded_name, shown_names
from lunguage_assets.corpus.declaration import DECLARATION, read_declaration
from lunguage_assets.corpus.delivery import (
    FINDINGS,
    FINDINGS_PARQUET,
    METADATA,
    PACKED,
    VOCABULARY,
    Delivery,
)
from lunguage_assets.corpus.records import TABLE_FORM, read_header
from lunguage_assets.corpus.texts import layouts
from lunguage_assets.corpus.texts.archives import (
    TEXT_FORM,
    XML_FORM,
    is_archive,
    names_in,
    only_member,
)
from lunguage_assets.corpus.texts.json_entries import holds_json, json_fields
from lunguage_assets.corpus.texts.layouts import Layout
from lunguage_assets.corpus.texts.sources import TextSource
from lunguage_assets.errors import InputError, printable

_TREES = re.compile(r"files|ecgen-radiology|mimic-cxr-reports|p\d+", re.I | re.ASCII)
"""Names of folders in which published collections keep a file for each report."""
_REPORTS_TABLE = ("reports.csv", "reports.parquet")
_TREE_FORMS = {"open-i-xml": XML_FORM, "texts": TEXT_FORM}
"""Layouts of files of one report each."""
_NAMES_SHOWN = 8


def find_delivery(path: Path, table_columns: tuple[str, str] | None = None) -> Delivery:
    """Find the delivery in a folder, or the one that a file is.

    Letter case does not matter. Vocabulary, image metadata and reports of findings lie
    beside it.

    Args:
        path: a folder or a file.
        table_columns: fields of ids and of texts, of a table or JSON file of reports
            with names of its own.

    Raises:
        InputError: there are no findings and no raw reports, or both, or more than one
            of a kind; `corpus.toml` is wrong.
    """
    if not path.exists():
        remedy = "Name the folder that holds the files."
        raise InputError(str(path), "no such folder", _accepted(), remedy)
    folder = path
    if path.is_file():
        folder = path.parent
    findings = None
    if table_columns is not None:
        if not (path.is_file() and has_records(path)):
            raise InputError(
                str(path),
                "no table",
                "a CSV, Parquet or JSON file of reports",
                "Name the file, or leave out --text-column and --id-column.",
            )
        names = (folded_name(table_columns[1]), folded_name(table_columns[0]))
        sources = [TextSource(layouts.layout_with(*names, known_by=names), (path,))]
    else:
        findings = _findings(path)
        sources = _sources(path, findings)
    forms = [source.title for source in sources]
    if findings is not None:
        forms.insert(0, FINDINGS)
    if not forms:
        raise _no_delivery(path)
    if len(forms) > 1:
        remedy = "Remove all but the one to use, or lay them into folders of their own."
        expected = "findings, or raw reports in one form"
        raise InputError(str(path), " and ".join(forms), expected, remedy)
    return Delivery(
        folder=folder,
        findings=findings,
        vocabulary=_file_named(folder, VOCABULARY),
        metadata=_metadata(folder, looks_above=bool(sources)),
        declared=read_declaration(folder / DECLARATION),
        texts=next(iter(sources), None),
    )


def _accepted() -> str:
    titles = ", ".join({layout.title: 1 for layout in layouts.layouts().values()})
    return (
        f"a file {FINDINGS} (or another table of its columns), or raw reports: {titles}"
    )


def _no_delivery(path: Path) -> InputError:
    """Make the error of a folder or file that holds nothing of what is accepted."""
    if path.is_dir():
        names = sorted(entry.name for entry in path.iterdir())[:_NAMES_SHOWN]
        listed = ", ".join(names) or "nothing"
        remedy = "Put the files there or name another place."
        return InputError(str(path), listed, _accepted(), remedy)
    names_of_layouts = {*columns.REQUIRED, *columns.OPTIONAL}
    for layout in layouts.layouts().values():
        names_of_layouts |= layout.fields
    listed = shown_names(fields_of(path), names_of_layouts)
    return InputError(
        str(path),
        f"a file of another kind with the columns {listed}",
        _accepted(),
        "Name the columns of reports and ids: --text-column and --id-column.",
    )


def _findings(path: Path) -> Path | None:
    """Find the findings in a folder, or in a file, by name, else by their columns."""
    if path.is_dir():
        named = _file_named(path, FINDINGS, FINDINGS_PARQUET)
        return named or next(filter(_holds_findings, _files_in(path)), None)
    if _is_named(path, FINDINGS, FINDINGS_PARQUET) or _holds_findings(path):
        return path
    return None


def _holds_findings(path: Path) -> bool:
    return set(map(folded_name, fields_of(path))).issuperset(columns.REQUIRED)


def _metadata(folder: Path, *, looks_above: bool) -> Path | None:
    """Find the image metadata; of a part of MIMIC-CXR's tree they lie above it."""
    metadata = _file_named(folder, METADATA)
    if metadata is None and looks_above and _TREES.fullmatch(folder.name):
        return _metadata(folder.parent, looks_above=True)
    return metadata


def _file_named(folder: Path, *names: str) -> Path | None:
    """Find the file of one of these names in a folder, with or without `.gz`.

    Raises:
        InputError: there are several.
    """
    files = [file for file in _files_in(folder) if _is_named(file, *names)]
    if len(files) > 1:
        present = ", ".join(path.name for path in files)
        remedy = "Remove all but the one to use."
        raise InputError(str(folder), present, f"one {names[0]}", remedy)
    return next(iter(files), None)


def _is_named(path: Path, *names: str) -> bool:
    return path.name.lower().removesuffix(".gz") in [name.lower() for name in names]


def _files_in(path: Path) -> list[Path]:
    """List the files of a folder, or the one that it is.

    Raises:
        InputError: no table could say that a row is from one of them.
    """
    if path.is_file():
        return [path]
    files = sorted(path for path in path.iterdir() if path.is_file())
    for file in files:
        is_utf_8 = file.name == file.name.encode("utf-8", "replace").decode()
        if has_records(file) and not is_utf_8:
            raise InputError(
                printable(file.name),
                "a name that is not UTF-8",
                "a name in UTF-8",
                "Rename the file.",
            )
    return files


def _sources(path: Path, findings: Path | None) -> list[TextSource]:
    """Find the raw reports of a folder, or of a file.

    Args:
        path: the folder or the file.
        findings: that are there, too; a text file beside them may be a licence.
    """
    files = [file for file in _files_in(path) if file != findings]
    packed = path / PACKED
    if packed in files:
        return [TextSource(None, (packed,))]
    layout_by_file = {file: layout_of_file(file) for file in files}
    sources = _sources_of_records(layout_by_file)
    for file in files:
        if is_archive(file) and layout_by_file[file] is None:
            sources += _sources_of_tree(file)
    has_tree = any(_TREES.fullmatch(entry.name) for entry in path.glob("*"))
    if has_tree or (findings is None and not sources):
        sources += _sources_of_tree(path)
    return sources


def _sources_of_records(
    layout_by_file: Mapping[Path, Layout | None],
) -> list[TextSource]:
    """Find tables and JSON files of reports; all of a layout belong together.

    Of a part (a split) that comes in several files the first layout's is read.
    """
    sources = []
    known_parts: set[tuple[str, str]] = set()
    for layout in layouts.layouts().values():
        paths = []
        for file, its_layout in layout_by_file.items():
            part = (layout.title, layout.part_in(file.name))
            if its_layout is layout and part not in known_parts:
                known_parts.add(part)
                paths.append(file)
        if paths:
            beside = _table_beside(layout, paths[0])
            sources.append(TextSource(layout, tuple(paths), beside))
    return sources


def _sources_of_tree(path: Path) -> list[TextSource]:
    """Find files of one report each in a folder or an archive, or the one it is."""
    names = names_in(path)
    return [
        TextSource(layouts.layouts()[layout], (path,))
        for layout, form in _TREE_FORMS.items()
        if any(map(form.search, names))
    ]


def layout_of_file(path: Path) -> Layout | None:
    """Find the layout of a table or JSON file of raw reports; None: it is another.

    A file called `reports` is taken for a table of reports in any case, so that the
    message says which column is missing.
    """
    names = set(map(folded_name, fields_of(path)))
    if names.issuperset(columns.REQUIRED):
        return None
    layout = layouts.layout_of(names)
    if layout is None and _is_named(path, *_REPORTS_TABLE):
        layout = layouts.layouts()[layouts.REPORTS]
    return layout


def _table_beside(layout: Layout, reports: Path) -> Path | None:
    """Find the table that says more of the studies; it may be in the same package."""
    if not layout.beside:
        return None
    for path in _files_in(reports.parent):
        # A damaged file beside the reports is none of theirs.
        with suppress(InputError):
            names = set(map(folded_name, read_header(path)))
            is_reports = names.issuperset(layout.known_by)
            if names.issuperset(layout.beside) and not is_reports:
                return path
    return None


def fields_of(path: Path) -> list[str]:
    """List columns or keys of a file, as written; none: it has none, or is broken.

    Raises:
        InputError: a package cannot be opened.
    """
    with suppress(InputError):
        if holds_json(path):
            return json_fields(path)
        if _is_table(path):
            return read_header(path)
    return []


def has_records(path: Path) -> bool:
    """Tell whether a file is a table or JSON by its name."""
    return _is_table(path) or holds_json(path)


def _is_table(path: Path) -> bool:
    """Tell whether a file is a table by its name, or a package with one table."""
    return only_member(path, TABLE_FORM) != ""
