"""Describes the tables of a release, column by column, as a page in Markdown.

What a column means stands where it is declared (`tables/`); here is how that reads.
The same sections make docs/data_dictionary.md, of all tables that are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lunguage_assets.release.context import ANALYSES
from lunguage_assets.release.restricted_files import TABLES_AS_STORED
from lunguage_assets.tables import ATTRIBUTES, RELEASE, TABLES
from lunguage_assets.tables.columns import choices_told, restricted
from lunguage_assets.tables.released import (
    CHEXPERT_LABELS,
    CHEXPERT_PROBABILITIES,
    LABEL_TABLE,
    LABELS,
    PAPER_TABLES,
    PHRASE_SCALE,
    PUBLISHED_COLUMNS,
    STUDIES,
)
from lunguage_assets.tables.schema import Column, Table

_HEAD = (
    "# Data dictionary of this release\n\n"
    'Absent text is the empty string; "may be empty" means null. In CSV, lists are '
    "joined by '; '. Columns marked\n*report text* hold patient text in a credentialed "
    "corpus. **A finding that a report does not mention is not\nthereby absent.**\n"
)
_DESCRIBED_FIRST = ("resolution_log", "conflicts", "pathway_matches", "accounting")
"""Of `TABLES_AS_STORED`, those that say why rows are as they are."""
_NAMED_AS_THEIR_FILES = (
    LABELS,
    CHEXPERT_LABELS,
    CHEXPERT_PROBABILITIES,
    STUDIES,
    PHRASE_SCALE,
)


def data_dictionary(version: Path) -> str:
    """Describe the tables that lie in a version; one of several files has one section.

    Args:
        version: folder of a release.
    """
    files = sorted(
        path for path in version.glob("*/*") if path.suffix in (".csv", ".parquet")
    )
    sections = [_HEAD]
    for name, table in _tables_by_file():
        paths = [
            f"`{path.relative_to(version)}`"
            for path in files
            if name in (path.name, path.stem)
        ]
        if paths:
            sections.append(table_section(table, " and ".join(paths), ""))
    return "\n".join(sections)


def _tables_by_file() -> Iterator[tuple[str, Table]]:
    """Yield the table behind each file, in the order of the page.

    A file goes by its name, or by its stem where CSV and Parquet have the same columns.
    """
    yield "Lunguage_plus_plus.csv", _published_table()
    yield "Lunguage_plus_plus.parquet", RELEASE
    described_last = [name for name in TABLES_AS_STORED if name not in _DESCRIBED_FIRST]
    for name in (*_DESCRIBED_FIRST, *described_last):
        # Batches are written one below the other, so each row says which it is of.
        columns = (*TABLES[name].columns, RELEASE.column("report_batch"))
        yield name, replace(TABLES[name], columns=columns)
    for table in _NAMED_AS_THEIR_FILES:
        yield table.name, table
    yield "ranking", TABLES["reference_ranking"]
    yield "table_labels", LABEL_TABLE
    for name, table in PAPER_TABLES.items():
        yield f"table_{name}", table
    yield from ANALYSES.items()


def _published_table() -> Table:
    """Describe the published CSV, whose columns have the paper's names.

    A cell of the CSV is text, however the Parquet of the same rows types it.
    """
    internal_names = {published: name for name, published in ATTRIBUTES.items()}
    internal_names["DxTP"] = "currency"
    columns = []
    for name in PUBLISHED_COLUMNS:
        # The report stands in the CSV alone: the Parquet names its study.
        if name == "report":
            column = restricted("report", "Full report text")
        else:
            internal = RELEASE.column(internal_names.get(name, name))
            column = replace(internal, name=name)
        columns.append(column)
    return Table(
        name="lunguage_plus_plus_csv",
        description=(
            "Lunguage++ in exactly the thirty published columns, with references as "
            "'name, idxN'. The Parquet of the same name has the same rows with their "
            "provenance."
        ),
        key=("study_id", "idx"),
        columns=tuple(columns),
    )


def table_section(table: Table, heading: str, stored: str) -> str:
    """Describe one table with its columns.

    Args:
        table: the table.
        heading: of its section.
        stored: where its files are, a sentence and a space; or empty.
    """
    lines = [
        f"## {heading}",
        "",
        table.description,
        "",
        f"{stored}Key: {', '.join(table.key)}.",
        "",
        "| column | type | content |",
        "|---|---|---|",
    ]
    for column in table.columns:
        lines.append(f"| `{column.name}` | {column.type} | {_content(column)} |")
    lines += ["", f"Held by every stored row: {_rules_of_several_columns(table)}.", ""]
    return "\n".join(lines)


def _rules_of_several_columns(table: Table) -> str:
    """Name the rules about keys and columns together, not those about single values."""
    # Without choices, ranges and patterns, which stand in the lines of the columns,
    # only the rules of the table itself are left; nullable, so that "is never empty"
    # is none of them.
    bare_columns = tuple(
        Column(column.name, "", type=column.type, nullable=True)
        for column in table.columns
    )
    bare = replace(table, columns=bare_columns)
    return "; ".join(rule for rule, _ in bare.rules(bare.frame()))


def _content(column: Column) -> str:
    """Say what a column holds, and which values."""
    # A bar in a cell would begin another cell.
    description = column.description.replace("|", "\\|").rstrip(".")
    sentences = [f"{description}.", choices_told(column), _range(column)]
    if column.pattern:
        sentences.append(f"Form: `{column.pattern}`.".replace("|", "\\|"))
    if column.nullable:
        sentences.append("May be empty.")
    if column.restricted:
        sentences.append("*Report text.*")
    return " ".join(filter(None, sentences))


def _range(column: Column) -> str:
    if column.minimum is not None and column.maximum is not None:
        return f"From {column.minimum:g} to {column.maximum:g}."
    if column.minimum is not None:
        return f"At least {column.minimum:g}."
    if column.maximum is not None:
        return f"At most {column.maximum:g}."
    return ""
