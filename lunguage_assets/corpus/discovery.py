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
from lunguage_assets.corpus.packages import TABLE_FORM, is_package, only_member
from lunguage_assets.corpus.records import read_header
from lunguage_assets.corpus.texts import layouts
from lunguage_assets.corpus.texts.json_entries import holds_json, json_fields
from lunguage_assets.corpus.texts.layouts import Layout
from lunguage_assets.corpus.texts.members import (
    TEXT_FORM,
    XML_FORM,
    is_archive,
    names_in,
)
from lunguage_assets.corpus.texts.sources import TextSource
from lunguage_assets.errors import InputError, printable

_TREES = re.compile(r"files|ecgen-radiology|mimic-cxr-reports|p\d+", re.I | re.ASCII)
"""Names of folders in which published collections keep a file for each report."""
_TABLE = re.compile(r"\.(?:csv|csv\.gz|parquet)$", re.IGNORECASE)
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
    if table_columns is not None:
        findings = None
        sources = [_source_of_named_columns(path, *table_columns)]
    else:
        sources = _text_sources(path, takes_any_text=True)
        findings = _findings(path, sources)
    if findings is not None:
        # Beside findings a table of texts is of their studies.
        own_texts = layouts.layouts()[layouts.REPORTS]
        sources = [
            source
            for source in _text_sources(path, takes_any_text=False)
            if source.layout is not own_texts
        ]
    _require_one_form(path, findings, sources)
    paths = [path for source in sources for path in source.paths if path.is_file()]
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
    for file in (*delivery.tables, *paths):
        # No table could say that a row is from it.
        if not is_utf_8(file.name):
            raise InputError(
                printable(file.name),
                "a name that is not UTF-8",
                "a name in UTF-8",
                "Rename the file.",
            )
    return delivery


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


def _findings(path: Path, sources: Sequence[TextSource]) -> Path | None:
    """Find the findings in a folder, or in a file; `sources` are its raw reports."""
    names = (FINDINGS.lower(), FINDINGS_PARQUET.lower())
    if path.is_file():
        is_findings = name_without_gz(path) in names or holds_findings(path)
        return path if is_findings else None
    findings = _file_named(path, FINDINGS, FINDINGS_PARQUET)
    if findings is None and not sources:
        # A home stores a file that was named at its registration under its own name.
        findings = next(filter(holds_findings, _files_in(path)), None)
    return findings


def holds_findings(path: Path) -> bool:
    """Tell whether a file is a table of findings by its columns."""
    return _folded(fields_of(path)).issuperset(columns.REQUIRED)


def _metadata(folder: Path, *, looks_above: bool) -> Path | None:
    """Find the image metadata; of a part of MIMIC-CXR's tree they lie above it."""
    metadata = _file_named(folder, METADATA)
    while looks_above and metadata is None and _TREES.fullmatch(folder.name):
        folder = folder.parent
        metadata = _file_named(folder, METADATA)
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
        problem += f" with the columns {columns.shown_names(names, _known_fields())}"
        remedy = f"{_what_is_missing(names)}{remedy}"
    raise InputError(str(path), problem, _accepted(), remedy)


def _known_fields() -> set[str]:
    known = {*columns.REQUIRED, *columns.OPTIONAL}
    return known.union(*(layout.fields for layout in layouts.layouts().values()))


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
        return _sources_of_files([path])
    files = _files_in(path)
    packed = [file for file in files if file.name == PACKED]
    if packed:
        return [TextSource(None, (packed[0],))]
    sources = _sources_of_files([file for file in files if not _is_single_report(file)])
    folders = (entry.name for entry in path.iterdir() if entry.is_dir())
    has_tree = any(map(_TREES.fullmatch, folders))
    if has_tree or (takes_any_text and not sources):
        sources += _sources_of_tree(path)
    return sources


def _is_single_report(path: Path) -> bool:
    return any(form.search(path.name) for form in _TREE_FORMS.values())


def _sources_of_tree(path: Path) -> list[TextSource]:
    """Find files of one report each in a folder or an archive, or the one it is."""
    names = names_in(path)
    return [
        TextSource(layouts.layouts()[layout], (path,))
        for layout, form in _TREE_FORMS.items()
        if any(map(form.search, names))
    ]


def _sources_of_files(files: Iterable[Path]) -> list[TextSource]:
    """Find tables, JSON files, archives of reports, and single reports."""
    sources = []
    # Of a part (a split) that comes in several files the first layout's is read.
    path_by_part: dict[tuple[str, str], tuple[Layout, Path]] = {}
    recognised = [(layout_of_file(path), path) for path in files]
    for layout in layouts.layouts().values():
        for path in (path for found, path in recognised if found is layout):
            part = re.search(layout.part, path.name) if layout.part else None
            if part is None:
                beside = _table_beside(layout, path)
                sources.append(TextSource(layout, (path,), beside))
            else:
                key = (layout.title, part.group(1).lower())
                path_by_part.setdefault(key, (layout, path))
    for layout in layouts.layouts().values():
        parts = sorted(
            path for chosen, path in path_by_part.values() if chosen is layout
        )
        if parts:
            sources.append(TextSource(layout, tuple(parts)))
    for known_layout, path in recognised:
        if known_layout is None and (is_archive(path) or _is_single_report(path)):
            sources += _sources_of_tree(path)
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
    if _TABLE.search(path.name):
        return True
    return is_package(path) and only_member(path, TABLE_FORM) != ""
