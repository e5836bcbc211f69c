"""Hooks of mkdocs: the site shows what GitHub shows, and loads nothing from a network.

On GitHub a link to `../resources/judges.toml` shows the file. The site holds what is in
docs/, so every file or folder of the repository that a page links to becomes a page
itself. The two also read Markdown with different parsers, and a list that one of them
does not see is nothing that a strict build notices. What follows from schemas and
pathways is written behind the pages about them.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
from markdown_it import MarkdownIt
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.pathways.pathways import load_dictionary, pathway_tree
from lunguage_assets.release.data_dictionary import table_section
from lunguage_assets.release.published_values import (
    published_experts,
    published_values,
)
from lunguage_assets.tables import RELEASE, TABLES, TERMS
from lunguage_assets.tables.columns import CONFLICT_SOURCES
from lunguage_assets.tables.released import (
    CHEXPERT_LABELS,
    CHEXPERT_PROBABILITIES,
    LABELS,
)
from lunguage_assets.wording import cell_text

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<=\]\()(?!\w+:)[^)#\s]+")

NOTEBOOK = ".ipynb"
UNSEARCHED = "---\nsearch: {exclude: true}\n---\n"
"""Before what is shown but no page: who searches looks for pages."""
BLOCK = re.compile(r"<(li|table|pre|blockquote|h[1-6])\b")
LOADED = re.compile(
    r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*"""
)


_FILES = {
    RELEASE.name: "Lunguage_plus_plus.parquet",
    LABELS.name: "labels.parquet",
    CHEXPERT_LABELS.name: "labels_chexpert.csv",
    CHEXPERT_PROBABILITIES.name: "labels_probability.csv",
}


def data_dictionary() -> str:
    """All tables with their columns, as Markdown."""
    sections = []
    for table in (
        LABELS,
        CHEXPERT_LABELS,
        CHEXPERT_PROBABILITIES,
        *TABLES.values(),
        RELEASE,
    ):
        stored = f"The file `{_FILES.get(table.name)}` of a release. "
        if partitions := table.partitioned_by:
            stored = f"Partitioned by {' x '.join(partitions)}. "
        sections.append(table_section(table, table.name, stored))
    return "\n".join(sections)


def pathway_trees() -> str:
    """Every diagnosis with its spellings and its tree."""
    pathways = load_dictionary(None, Vocabulary(TERMS.frame()))
    written = []
    for name, entry in pathways.diagnoses.items():
        tree = "\n".join(pathway_tree(pathways, name))
        written.append(
            f"## {name}\n\nSaid as: {', '.join(entry.spellings)}.\n\n~~~ text\n{tree}\n~~~\n"
        )
    return "\n".join(written)


def printed_tables() -> str:
    """The numbers that the paper prints, as tables."""
    printed = published_values()
    agreement = pd.DataFrame(
        printed["agreement"]["judges"] + printed["agreement"]["experts"]
    )
    agreement.columns = pd.Index(["measure", "coding", "first", "second", "value"])
    by_diagnosis = {
        "Certainty by finding (Table 2)": "certainty",
        "Structure of the pathways (Table 3, left half)": "structure",
        "Expansion by diagnosis (Table 3, right half)": "expansion",
    }
    tables = {
        title: pd.DataFrame(printed[part]).T.rename_axis("diagnosis").reset_index()
        for title, part in by_diagnosis.items()
    }
    crossed = pd.DataFrame(printed["conflicts"], index=list(CONFLICT_SOURCES)).T
    tables["Conflicts by type and source"] = crossed.rename_axis(
        "conflict"
    ).reset_index()
    tables["Counts and shares"] = pd.DataFrame(
        printed["figures"].items(), columns=["measure", "printed"]
    )
    tables["Fits"] = pd.DataFrame(printed["fit"]).T.rename_axis("measure").reset_index()
    tables["Experts (Table 1)"] = published_experts()
    tables["Agreement"] = agreement
    return "\n".join(
        f"## {title}\n\n{_as_markdown(table)}" for title, table in tables.items()
    )


def _as_markdown(table: pd.DataFrame) -> str:
    """A table as Markdown; an empty cell where nothing is printed."""
    lines = [list(map(str, table.columns)), ["---"] * table.shape[1]]
    for row in table.itertuples(index=False):
        lines.append(["" if pd.isna(cell) else cell_text(cell) for cell in row])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


GENERATED = {
    "data_dictionary.md": data_dictionary,
    "pathways.md": pathway_trees,
    "published.md": printed_tables,
}
"""What is written behind a page, by its address in the site."""

paths: dict[str, str] = {}
"""Path in the repository of every page that was added, by its address in the site."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what pages link to, and what the added pages link to in turn."""
    paths.clear()
    waiting = [file for file in files if file.is_documentation_page()]
    for page in waiting:
        for link in LINK.findall(page.content_string):
            path = target(page.src_uri, link)
            uri = address(path)
            is_page = path.startswith("docs/") and not path.endswith(NOTEBOOK)
            if uri not in files.src_uris and not is_page and (ROOT / path).exists():
                paths[uri] = path
                added = File.generated(
                    config,
                    uri,
                    content=shown(path),
                    inclusion=InclusionLevel.NOT_IN_NAV,
                )
                files.append(added)
                waiting.append(added)
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Write what follows from the package behind its page, and point links into the
    site; what is inside <details> is Markdown, as on GitHub.
    """
    uri = page.file.src_uri
    markdown += f"\n{GENERATED[uri]()}" if uri in GENERATED else ""
    here = posixpath.dirname(uri) or "."
    text = LINK.sub(
        lambda link: posixpath.relpath(address(target(uri, link[0])), here), markdown
    )
    return text.replace("<details>", '<details markdown="1">')


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Refuse a page whose lists, tables, code and headings are others than on
    GitHub.
    """
    if "\n::: " in page.markdown:
        return html
    there = Counter(
        BLOCK.findall(MarkdownIt("commonmark").enable("table").render(page.markdown))
    )
    here = Counter(BLOCK.findall(html))
    if here != there:
        raise PluginError(
            f"{page.file.src_uri}: {dict(here)} here, {dict(there)} on GitHub. Put an empty line before and "
            "after lists, and set what belongs to an item four spaces in."
        )
    return html


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse a page that would load something from a network."""
    if loaded := LOADED.findall(output):
        raise PluginError(
            f"{page.file.src_uri} loads {loaded}; the site opens without a network."
        )
    return output


def target(uri: str, link: str) -> str:
    """Path in the repository that a link of a page leads to."""
    return posixpath.normpath(
        posixpath.join(posixpath.dirname(paths.get(uri, f"docs/{uri}")), link)
    )


def address(path: str) -> str:
    """Address in the site of a path in the repository."""
    if path.startswith("docs/"):
        inside = path.removeprefix("docs/")
        return (
            f"{inside.removesuffix(NOTEBOOK)}.md"
            if inside.endswith(NOTEBOOK)
            else inside
        )
    return path if path.endswith(".md") else f"{path}.md"


def shown(path: str) -> str:
    """Markdown of the page that shows a file, or lists a folder."""
    place = ROOT / path
    if place.suffix == ".md":
        return place.read_text(encoding="utf-8")
    if place.suffix == NOTEBOOK:
        return "\n".join(
            map(cell_shown, json.loads(place.read_text(encoding="utf-8"))["cells"])
        )
    if place.is_dir():
        inside = sorted(file for file in place.iterdir() if file.is_file())
        listed = "".join(
            f"- [{file.name}]({place.name}/{file.name})\n" for file in inside
        )
        return f"{UNSEARCHED}# {path}\n\n{listed}"
    try:
        language = get_lexer_for_filename(place.name).aliases[0]
    except ClassNotFound:
        language = "text"
    return f"{UNSEARCHED}# {path}\n\n~~~~~~ {language}\n{place.read_text(encoding='utf-8')}~~~~~~\n"


def cell_shown(cell: dict[str, Any]) -> str:
    """Markdown of a cell of a notebook: its text, or its code and what that printed."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return f"{source}\n"
    printed = "".join(line for output in cell["outputs"] for line in output["text"])
    shown = f"~~~ python\n{source}\n~~~\n"
    return f"{shown}\n~~~ text\n{printed.rstrip()}\n~~~\n" if printed else shown
