"""Finds the files of a delivery by their names, raw reports also by their fields.

Nothing but headers and first entries is read here; docs/reports.md lists what is
accepted. Not here: which fields a layout has (`texts/layouts.py`), and how each kind of
file is read (`texts/sources.py`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from lunguage_assets.corpus.columns import REQUIRED, folded_name, shown_names
from lunguage_assets.corpus.declaration import DECLARATION, read_declaration
from lunguage_assets.corpus.delivery import (
    FINDINGS,
    METADATA,
    PACKED,
    VOCABULARY,
    Delivery,
)
from lunguage_assets.corpus.records import TABLE_FORM, read_header
from lunguage_assets.corpus.texts.archives import PACKAGES, contents_in
from lunguage_assets.corpus.texts.layouts import Layout, layout_with, layouts
from lunguage_assets.corpus.texts.sources import (
    FORMS,
    JSON_FORM,
    TextSource,
    json_fields,
)
from lunguage_assets.errors import InputError

_FINDINGS = Layout(
    title="findings",
    names=(FINDINGS.lower(), "lunguage.parquet"),
    known_by=REQUIRED,
    study=("study_id",),
)
_STORED = Layout(
    title="stored reports", reads="stored", names=(PACKED,), study=("study",)
)
_FILES_SHOWN = 8


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
    if table_columns is None:
        sources = _sources(path)
    else:
        study, text = table_columns
        layout = layout_with(text, study, known_by=(text, study))
        sources = [TextSource(layout, (path,))]
    if not sources:
        files = [
            f"{file.name} (columns: {shown_names(fields_of(file))})"
            for file in _files_in(path)[:_FILES_SHOWN]
        ]
        titles = dict.fromkeys(layout.title for layout in layouts().values())
        raise InputError(
            str(path),
            "; ".join(files) or "no such folder, or no file in it",
            f"a file {FINDINGS} (or another table of its columns), or raw reports: "
            f"{', '.join(titles)}; packed tables are called .csv.gz or .csv.zip",
            "Name the folder that holds the files, or the columns of reports and ids "
            "in a table: --text-column and --id-column.",
        )
    source = sources[0]
    has_findings = source.layout is _FINDINGS
    if len(sources) > 1 or (has_findings and len(source.paths) > 1):
        remedy = "Remove all but the one to use, or lay them into folders of their own."
        expected = "one file of findings, or raw reports in one form"
        forms = " and ".join(map(_shown_form, sources))
        raise InputError(str(path), forms, expected, remedy)
    folder = path.parent if path.is_file() else path
    return Delivery(
        folder=folder,
        findings=source.paths[0] if has_findings else None,
        vocabulary=_file_named(folder, VOCABULARY),
        metadata=_file_named(folder, METADATA),
        declared=read_declaration(folder / DECLARATION),
        texts=None if has_findings else source,
    )


def _shown_form(source: TextSource) -> str:
    names = ", ".join(path.name for path in source.paths)
    return f"{source.layout.title} ({names})"


def _files_in(path: Path) -> list[Path]:
    """List the files of a folder, or the one that it is."""
    return sorted(file for file in (path, *path.glob("*")) if file.is_file())


def _file_named(folder: Path, name: str) -> Path | None:
    """Find a file of this name in a folder, packed or not."""
    files = (file for file in _files_in(folder) if _plain_name(file) == name.lower())
    return next(files, None)


def _plain_name(path: Path) -> str:
    return path.name.lower().removesuffix(".gz").removesuffix(".zip")


def _sources(path: Path) -> list[TextSource]:
    """Find the findings and the raw reports of a folder, or of a file.

    Tables and JSON files of one layout belong together. Of a part (a split) that comes
    in several files the first layout's is read.
    """
    files = _files_in(path)
    layout_by_file = {
        file: layout_of_file(file, set(map(folded_name, fields_of(file))))
        for file in files
    }
    sources = []
    parts_read: set[tuple[str, str]] = set()
    for layout in (_FINDINGS, _STORED, *layouts().values()):
        part_by_file = {
            file: (layout.title, re.sub(layout.behind_part, "", _plain_name(file)))
            for file in files
            if layout_by_file[file] is layout
        }
        paths = [file for file, part in part_by_file.items() if part not in parts_read]
        parts_read.update(part_by_file.values())
        if paths:
            beside = _file_named(paths[0].parent, layout.beside_name)
            sources.append(TextSource(layout, tuple(paths), beside))
    trees = [file for file in files if file.name.lower().endswith(PACKAGES)]
    # A text file beside a table of reports or a package may be a licence.
    if not (sources or trees):
        trees = [path]
    for tree in trees:
        for layout in layouts().values():
            form = FORMS.get(layout.reads)
            if form and next(contents_in(tree, form), None):
                sources.append(TextSource(layout, (tree,)))
    return sources


def layout_of_file(path: Path, fields: set[str]) -> Layout | None:
    """Find the layout of a table or JSON file; None: it is another.

    A file called `reports` or `Lunguage` is taken for one of theirs in any case, so
    that the message says which column is missing.

    Args:
        path: the file.
        fields: their folded names.
    """
    for layout in (_FINDINGS, _STORED, *layouts().values()):
        has_fields = layout.known_by and fields.issuperset(layout.known_by)
        if has_fields or _plain_name(path) in layout.names:
            return layout
    return None


def fields_of(path: Path) -> list[str]:
    """List columns or keys of a file, as written; none: it has none, or is broken."""
    with suppress(InputError):
        if JSON_FORM.search(path.name):
            return json_fields(path)
        if TABLE_FORM.search(path.name):
            return read_header(path)
    return []
