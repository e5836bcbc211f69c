"""Texts of a version of a release: README, which is also a card of Hugging Face, licence, what each part may
be used for (the words are in `resources/release/`), and the data dictionary of its files, from the schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lunguage_assets.data_files import page_template
from lunguage_assets.explicit.rating.trueskill import BETA
from lunguage_assets.quality.dictionary import table_section
from lunguage_assets.release.bundle.context import ANALYSES, ReportContext
from lunguage_assets.tables import ATTRIBUTES, PUBLISHED_COLUMNS, RELEASE, TABLES
from lunguage_assets.tables.paper import PAPER_TABLES
from lunguage_assets.tables.released import (
    CHEXPERT_LABELS,
    CHEXPERT_PROBABILITIES,
    LABELS,
    PHRASE_SCALE,
    STUDIES,
)
from lunguage_assets.tables.schema import Column, Table

_TEMPLATES = {
    "README.md": "README.md.j2",
    "LICENSE": "LICENSE.j2",
    "open/USE.md": "open_use.md.j2",
    "restricted/USE.md": "restricted_use.md.j2",
    "restricted/LABELS.md": "LABELS.md.j2",
}

PLAIN = ("resolution_log", "conflicts", "pathway_matches", "accounting", "rejected", "set_aside")
"""Tables that are written as they are stored, with the batch."""

_HEAD = """# Data dictionary of this release

Absent text is the empty string; "may be empty" means null. In CSV, lists are joined by '; '. Columns marked
*report text* hold patient text in a credentialed corpus. **A finding that a report does not mention is not
thereby absent.**
"""


def notes(context: ReportContext) -> dict[str, str]:
    """The texts of a version by their paths in it; none names the version."""
    values = {
        "context": context,
        "origin": context.origin,
        "provenance": context.provenance,
        "batches": [key for key, batch in context.provenance["batches"].items() if batch["included"]],
        "widest_reading": BETA - 0.05,
    }
    return {path: page_template("release", name).render(values) for path, name in _TEMPLATES.items()}


def bundle_dictionary(version: Path) -> str:
    """The page of the tables that lie in a version; one that is there in several files is described once."""
    files = sorted(path for path in version.glob("*/*") if path.suffix in (".csv", ".parquet"))
    sections = []
    for name, table in _tables():
        there = [f"`{path.relative_to(version)}`" for path in files if name in (path.name, path.stem)]
        if there:
            sections.append(table_section(table, " and ".join(there), ""))
    return "\n".join([_HEAD, *sections])


def _tables() -> Iterator[tuple[str, Table]]:
    """The table behind each file: by its name, or by its stem where CSV and Parquet have the same columns."""
    yield from (("Lunguage_plus_plus.csv", _published()), ("Lunguage_plus_plus.parquet", RELEASE))
    for name in PLAIN:
        yield name, replace(TABLES[name], columns=(*TABLES[name].columns, RELEASE.column("report_batch")))
    for table in (LABELS, CHEXPERT_LABELS, CHEXPERT_PROBABILITIES, STUDIES, PHRASE_SCALE):
        yield table.name, table
    yield "ranking", TABLES["reference_ranking"]
    yield from ((f"table_{name}", table) for name, table in PAPER_TABLES.items())
    yield from ANALYSES.items()


def _published() -> Table:
    """The published CSV, column by column: what is read is text, however the Parquet types it."""
    internal = {published: name for name, published in ATTRIBUTES.items()} | {"DxTP": "currency"}
    report = Column("report", "string", "Full report text", restricted=True)
    columns = [
        report if name == "report" else replace(RELEASE.column(internal.get(name, name)), name=name)
        for name in PUBLISHED_COLUMNS
    ]
    return Table(
        "lunguage_plus_plus_csv",
        "Lunguage++ in exactly the thirty published columns, with references as 'name, idxN'. The Parquet of "
        "the same name has the same rows with their provenance.",
        tuple(columns),
        ("study_id", "idx"),
    )
