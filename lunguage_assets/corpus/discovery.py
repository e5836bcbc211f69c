"""Finds the files of a delivery by their names, raw reports also by their fields.

Nothing but headers and first entries is read here; docs/reports.md lists what is
accepted. Not here: which fields a layout has (`texts/layouts.py`), and how each kind of
file is read (`texts/sources.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

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
    folder = path if path.is_dir() else path.parent
    findings = None
    if table_columns is not None:
        sources = [_source_of_named_columns(path, *table_columns)]
    else:
        sources = _text_sources(path, takes_any_text=True)
        findings = _findings(path, has_texts=bool(sources))
    if findings is not None:
        # Beside findings a table of texts is of their studies, and a text file a note.
        sources = [
            source
            for source in _text_sources(path, takes_any_text=False)
            if source.layout is not layouts.layouts()[layouts.REPORTS]
        ]
    _require_one_form(path, findings, sources)
    delivery = Delivery(
        folder=folder,
        findings=findings,
        vocabulary=_file_named(folder, VOCABULARY),
        metadata=_metadata(folder, looks_above=bool(sources)),
        # Beside raw reports such a table would be raw reports, too.
        reports=_file_named(folder, REPORTS) if findings is not None else None,
        declared=read_declaration(folder / DECLARATION),
        texts=next(iter(sources), None),
    )
    paths = [path for source in sources for path in source.paths]
    _require_utf_8(path for path in (*delivery.tables, *paths) if path.is_file())
    return delivery


def _require_utf_8(paths: Iterable[Path]) -> None:
    for path in paths:
        # No table could say that a row is from it.
        if not is_utf_8(path.name):
            raise InputError(
                printable(path.name),
                "a name that is not UTF-8",
                "a name in UTF-8",
                "Rename the file.",
            )


def _accepted() -> str:
    titles = ", ".join({layout.title: 1 for layout in layouts.layouts().values()})
    return (
        f"a file {FINDINGS} (or another table of its columns), or raw reports: {titles}"
    )


def _source_of_named_columns(path: Path, study: str, text: str) -> TextSource:
    if path.is_file() and has_records(path):
        names = (columns.folded_name(text), columns.folded_name(study))
        return TextSource(layouts.layout_with(*names, known_by=names), (path,))
    raise InputError(
        str(path),
        "no table",
        "a CSV, Parquet or JSON file of reports",
        "Name the file with --data, or leave out --text-column and --id-column.",
    )


def _findings(path: Path, *, has_texts: bool) -> Path | None:
    """Find the findings in a folder, or in a file."""
    names = (FINDINGS.lower(), FINDINGS_PARQUET.lower())
    if path.is_file():
        is_findings = name_without_gz(path) in names or _holds_findings(path)
        return path if is_findings else None
    findings = _file_named(path, FINDINGS, FINDINGS_PARQUET)
    if findings is None and not has_texts:
        # A home stores a file that was named at its registration under its own name.
        findings = next(filter(_holds_findings, _files_in(path)), None)
    return findings


def _holds_findings(path: Path) -> bool:
    """Tell whether a file is a table of findings by its columns."""
    return _folded(fields_of(path)).issuperset(columns.REQUIRED)


def _metadata(folder: Path, *, looks_above: bool) -> Path | None:
    """Find the image metadata; of a part of MIMIC-CXR's tree they lie above it."""
    metadata = _file_named(folder, METADATA)
    if metadata is None and looks_above and _TREES.fullmatch(folder.name):
        return _metadata(folder.parent, looks_above=True)
    return metadata


def _require_one_form(
    path: Path, findings: Path | None, sources: Sequence[TextSource]
) -> None:
    """Refuse a delivery of nothing, or in more than one form."""
    forms = [] if findings is None else [FINDINGS]
    forms += [source.title for source in sources]
    if len(forms) == 1:
        return
    if forms:
        remedy = "Remove all but the one to use, or lay them into folders of their own."
        expected = "findings, or raw reports in one form"
        raise InputError(str(path), " and ".join(forms), expected, remedy)
    remedy = "Put the files there or name another place."
    if path.is_dir():
        names = sorted(entry.name for entry in path.iterdir())[:_NAMES_SHOWN]
        problem = ", ".join(names) or "nothing"
        raise InputError(str(path), problem, _accepted(), remedy)
    problem = "a file of another kind"
    names = fields_of(path)
    if names:
        remedy = "Name the columns of reports and ids: --text-column and --id-column."
        known = {*columns.REQUIRED, *columns.OPTIONAL}
        known.update(*(layout.fields for layout in layouts.layouts().values()))
        problem += f" with the columns {columns.shown_names(names, known)}"
        remedy = f"{_what_is_missing(names)}{remedy}"
    raise InputError(str(path), problem, _accepted(), remedy)


def _what_is_missing(names: Iterable[str]) -> str:
    """Say what a file lacks of the layout that it shares most fields with."""
    present = _folded(names)
    nearest = max(
        layouts.layouts().values(),
        key=lambda layout: len(present.intersection(layout.known_by)),
    )
    missing = [name for name in nearest.known_by if name not in present]
    # One field that is shared says nothing: many files have an id.
    if len(nearest.known_by) - len(missing) < 2:
        return ""
    return f"If it is {nearest.title}, it lacks {missing}. "


def _file_named(folder: Path, *names: str) -> Path | None:
    """Find the file of one of these names in a folder, with or without `.gz`.

    Raises:
        InputError: there are several.
    """
    lower_names = [name.lower() for name in names]
    files = [file for file in _files_in(folder) if name_without_gz(file) in lower_names]
    if len(files) > 1:
        present = ", ".join(path.name for path in files)
        remedy = "Remove all but the one to use."
        raise InputError(str(folder), present, f"one {names[0]}", remedy)
    return files[0] if files else None


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


def _text_sources(path: Path, *, takes_any_text: bool) -> list[TextSource]:
    """Find the raw reports of a folder, or of a file.

    Args:
        path: the folder or the file.
        takes_any_text: text files in a folder count where nothing else does: a licence
            or a note may lie beside findings.
    """
    if path.is_file():
        return _sources_of_files([path]) or _sources_of_tree(path)
    files = _files_in(path)
    packed = [file for file in files if file.name == PACKED]
    if packed:
        return [TextSource(None, (packed[0],))]
    sources = _sources_of_files(files)
    for archive in filter(is_archive, files):
        if layout_of_file(archive) is None:
            sources += _sources_of_tree(archive)
    has_tree = any(_TREES.fullmatch(entry.name) for entry in path.iterdir())
    if has_tree or (takes_any_text and not sources):
        sources += _sources_of_tree(path)
    return sources


def _sources_of_tree(path: Path) -> list[TextSource]:
    """Find files of one report each in a folder or an archive, or the one it is."""
    names = names_in(path)
    return [
        TextSource(layouts.layouts()[layout], (path,))
        for layout, form in _TREE_FORMS.items()
        if any(map(form.search, names))
    ]


def _sources_of_files(files: Iterable[Path]) -> list[TextSource]:
    """Find tables and JSON files of reports, of one or several records each."""
    files_by_layout: dict[str, list[Path]] = {name: [] for name in layouts.layouts()}
    for path in files:
        layout = layout_of_file(path)
        for name, known_layout in layouts.layouts().items():
            if layout is known_layout:
                files_by_layout[name].append(path)
    sources = []
    # Of a part (a split) that comes in several files the first layout's is read.
    known_parts: set[tuple[str, str]] = set()
    for name, paths in files_by_layout.items():
        layout = layouts.layouts()[name]
        parts = []
        for path in paths:
            part = re.search(layout.part, path.name) if layout.part else None
            if part is None:
                sources.append(TextSource(layout, (path,), _table_beside(layout, path)))
            elif (key := (layout.title, part.group(1).lower())) not in known_parts:
                known_parts.add(key)
                parts.append(path)
        if parts:
            sources.append(TextSource(layout, tuple(parts)))
    return sources


def layout_of_file(path: Path) -> Layout | None:
    """Find the layout of a table or JSON file of raw reports; None: it is another.

    A file called `reports` is taken for a table of reports in any case, so that the
    message says which column is missing.
    """
    names = _folded(fields_of(path))
    if names.issuperset(columns.REQUIRED):
        return None
    layout = layouts.layout_of(names)
    if layout is None and name_without_gz(path) in _REPORTS_TABLE:
        layout = layouts.layouts()[layouts.REPORTS]
    return layout


def _table_beside(layout: Layout, reports: Path) -> Path | None:
    """Find the table that says more of the studies; it may be in the same package."""
    if not layout.beside:
        return None
    for path in _files_in(reports.parent):
        # A damaged file beside the reports is none of theirs.
        with suppress(InputError):
            header = _folded(read_header(path)) if _is_table(path) else set()
            is_reports = path == reports and header.issuperset(layout.known_by)
            if header.issuperset(layout.beside) and not is_reports:
                return path
    return None


def fields_of(path: Path) -> list[str]:
    """List columns or keys of a file, as written; none: it has none, or is broken.

    Raises:
        InputError: a package cannot be opened.
    """
    if not has_records(path):
        return []
    with suppress(InputError):
        return json_fields(path) if holds_json(path) else read_header(path)
    return []


def has_records(path: Path) -> bool:
    """Tell whether a file is a table or JSON by its name."""
    return _is_table(path) or holds_json(path)


def _folded(names: Iterable[str]) -> set[str]:
    return set(map(columns.folded_name, names))


def _is_table(path: Path) -> bool:
    """Tell whether a file is a table by its name, or a package with one table."""
    return only_member(path, TABLE_FORM) != ""
