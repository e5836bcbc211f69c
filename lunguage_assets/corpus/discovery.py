"""Finds the files of a delivery by their names, raw reports also by their fields.

Nothing but headers and first entries is read here; docs/reports.md lists what is
accepted. Not here: which fields a layout has (`texts/layouts.py`), and how each kind of
file is read (`texts/sources.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from lunguage_assets.errors import InputError

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
        InputError: there are no findings and no raw reports, or both, or reports in
            several forms; `corpus.toml` is wrong.
    """
    if not path.exists():
        remedy = "Name the folder that holds the files."
        raise InputError(str(path), "no such folder", _accepted(), remedy)
    folder = path.parent if path.is_file() else path
    findings = None
    if table_columns is None:
        findings = next(filter(_holds_findings, _files_in(path)), None)
    sources = _sources(path, findings, table_columns)
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
        problem = ", ".join(names) or "nothing"
        remedy = "Put the files there or name another place."
    else:
        known_names = {*columns.REQUIRED, *columns.OPTIONAL}
        for layout in layouts.layouts().values():
            known_names.update(layout.fields)
        listed = shown_names(fields_of(path), known_names)
        problem = f"a file of another kind with the columns {listed}"
        remedy = "Name the columns of reports and ids: --text-column and --id-column."
    return InputError(str(path), problem, _accepted(), remedy)


def _files_in(path: Path) -> list[Path]:
    """List the files of a folder, or the one that it is."""
    files = [path] if path.is_file() else path.iterdir()
    return sorted(file for file in files if file.is_file())


def _file_named(folder: Path, *names: str) -> Path | None:
    """Find a file of one of these names in a folder, with or without `.gz`."""
    files = (file for file in _files_in(folder) if _is_named(file, *names))
    return next(files, None)


def _is_named(path: Path, *names: str) -> bool:
    return path.name.lower().removesuffix(".gz") in map(str.lower, names)


def _metadata(folder: Path, *, looks_above: bool) -> Path | None:
    """Find the image metadata; of a part of MIMIC-CXR's tree they lie above it."""
    metadata = _file_named(folder, METADATA)
    if metadata is None and looks_above and _TREES.fullmatch(folder.name):
        return _metadata(folder.parent, looks_above=True)
    return metadata


def _holds_findings(path: Path) -> bool:
    # What a home stores is large, and no table of findings.
    if path.name == PACKED:
        return False
    is_named = _is_named(path, FINDINGS, FINDINGS_PARQUET)
    return is_named or _names_in(path).issuperset(columns.REQUIRED)


def _sources(
    path: Path, findings: Path | None, table_columns: tuple[str, str] | None
) -> list[TextSource]:
    """Find the raw reports of a folder, or of a file.

    Args:
        path: the folder or the file.
        findings: that are there, too.
        table_columns: as of `find_delivery`.
    """
    if table_columns is not None:
        study, text = map(folded_name, table_columns)
        layout = layouts.layout_with(text, study, known_by=(text, study))
        return [TextSource(layout, (path,))]
    packed = path / PACKED
    if packed.is_file():
        return [TextSource(None, (packed,))]
    files = [file for file in _files_in(path) if file != findings]
    sources = _sources_of_records(files) + _sources_of_trees(path, files)
    # A text file beside findings or a table of reports may be a licence.
    if findings is None and not sources:
        return _sources_of_tree(path)
    return sources


def _sources_of_records(files: Sequence[Path]) -> list[TextSource]:
    """Find tables and JSON files of reports; all of a layout belong together.

    Of a part (a split) that comes in several files the first layout's is read.
    """
    layout_by_file = {file: layout_of_file(file) for file in files}
    sources = []
    known_parts: set[tuple[str, str]] = set()
    for layout in layouts.layouts().values():
        paths = [
            file
            for file in files
            if layout_by_file[file] is layout
            and (layout.title, layout.part_in(file.name)) not in known_parts
        ]
        known_parts.update((layout.title, layout.part_in(file.name)) for file in paths)
        if paths:
            beside = _table_beside(layout, paths[0])
            sources.append(TextSource(layout, tuple(paths), beside))
    return sources


def _sources_of_trees(path: Path, files: Sequence[Path]) -> list[TextSource]:
    """Find files of one report each in packages and below folders of known names."""
    trees = [file for file in files if is_archive(file) and not layout_of_file(file)]
    if any(_TREES.fullmatch(entry.name) for entry in path.glob("*")):
        trees.append(path)
    sources = []
    for tree in trees:
        sources += _sources_of_tree(tree)
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
    layout = layouts.layout_of(_names_in(path))
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
        if only_member(path, TABLE_FORM):
            return read_header(path)
    return []


def _names_in(path: Path) -> set[str]:
    return set(map(folded_name, fields_of(path)))
