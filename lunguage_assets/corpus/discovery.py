"""Finds the files of a delivery by their names, raw reports also by their fields.

Nothing but headers and first entries is read here; docs/reports.md lists what is
accepted. Not here: which fields a layout has (`texts/layouts.py`), and how each kind of
file is read (`texts/sources.py`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import chain
from pathlib import Path

from lunguage_assets.corpus.columns import folded_name, shown_names
from lunguage_assets.corpus.declaration import DECLARATION, read_declaration
from lunguage_assets.corpus.delivery import METADATA, VOCABULARY, Delivery
from lunguage_assets.corpus.records import TABLE_FORM, read_header
from lunguage_assets.corpus.texts.archives import PACKAGES, content_of, contents_in
from lunguage_assets.corpus.texts.layouts import Layout, layout_with, layouts
from lunguage_assets.corpus.texts.sources import JSON_FORM, TextSource
from lunguage_assets.errors import InputError

_FILES_SHOWN = 8
_BYTES_LOOKED_AT = 1_000_000
_KEY = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*:')


def find_delivery(path: Path, table_columns: tuple[str, str] | None = None) -> Delivery:
    """Find the delivery in a folder, or the one that a file is.

    Letter case does not matter. Vocabulary and image metadata lie beside it; the
    metadata of a folder's tree of text files may lie above it.

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
            f"{', '.join(titles)}; packed tables are called .csv.gz or .csv.zip",
            "Name the folder that holds the files, or the columns of reports and ids "
            "in a table: --text-column and --id-column.",
        )
    source = sources[0]
    has_findings = source.layout.reads == "findings"
    if len(sources) > 1 or (has_findings and len(source.paths) > 1):
        raise InputError(
            str(path),
            " and ".join(map(_shown_form, sources)),
            "one file of findings, or raw reports in one form",
            "Remove all but the one to use, or lay them into folders of their own.",
        )
    folder = path.parent if path.is_file() else path
    # A patient's folder lies three below the files that MIMIC-CXR has beside the tree.
    levels = 3 if source.layout.reads == "texts" else 0
    above = folder.absolute().parents[:levels]
    return Delivery(
        folder=folder,
        source=source,
        vocabulary=_file_named(VOCABULARY, folder),
        metadata=_file_named(METADATA, folder, *above),
        declared=read_declaration(folder / DECLARATION),
    )


def _shown_form(source: TextSource) -> str:
    names = ", ".join(path.name for path in source.paths)
    return f"{source.layout.title} ({names})"


def _files_in(path: Path) -> list[Path]:
    """List the files of a folder, or the one that it is."""
    return sorted(file for file in (path, *path.glob("*")) if file.is_file())


def _file_named(name: str, *folders: Path) -> Path | None:
    """Find a file of this name in the first of several folders, packed or not."""
    files = chain.from_iterable(map(_files_in, folders))
    return next((file for file in files if _plain_name(file) == name.lower()), None)


def _plain_name(path: Path) -> str:
    return path.name.lower().removesuffix(".gz").removesuffix(".zip")


def _sources(path: Path) -> list[TextSource]:
    """Find the findings and the raw reports of a folder, or of a file.

    Files of one layout belong together. Of a part (a split) that comes in several files
    the first layout's is read.
    """
    files = _files_in(path)
    layout_by_file = {
        file: layout_of_file(file, set(map(folded_name, fields_of(file))))
        for file in files
    }
    trees = [file for file in files if file.name.lower().endswith(PACKAGES)]
    # A text file beside a table of reports or a package may be a licence.
    if not (trees or any(layout_by_file.values())):
        trees = [path]
    sources = []
    layout_by_part: dict[str, Layout] = {}
    for layout in layouts().values():
        paths = []
        for file in files:
            part = re.sub(layout.behind_part, "", file.name)
            is_of_layout = layout_by_file[file] is layout
            if is_of_layout and layout_by_part.setdefault(part, layout) is layout:
                paths.append(file)
        for tree in trees:
            if layout.files and next(contents_in(tree, layout.files), None):
                paths.append(tree)
        if paths:
            beside = _file_named(layout.beside_name, paths[0].parent)
            sources.append(TextSource(layout, tuple(paths), beside))
    return sources


def layout_of_file(path: Path, fields: set[str]) -> Layout | None:
    """Find the layout of a table or JSON file; None: it is another.

    A file called `reports` or `Lunguage` is taken for one of theirs in any case, so
    that the message says which column is missing.

    Args:
        path: the file.
        fields: their folded names.
    """
    for layout in layouts().values():
        has_fields = layout.known_by and fields.issuperset(layout.known_by)
        if has_fields or _plain_name(path) in layout.names:
            return layout
    return None


def fields_of(path: Path) -> list[str]:
    """List columns or keys of a file, as written; none: it has none, or is broken."""
    with suppress(InputError):
        if JSON_FORM.search(path.name):
            # Every key, at whatever depth, at the beginning of the file.
            content = content_of(path, _BYTES_LOOKED_AT)
            return _KEY.findall(content.decode("utf-8-sig", "replace"))
        if TABLE_FORM.search(path.name):
            return read_header(path)
    return []
