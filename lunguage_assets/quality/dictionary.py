"""The data dictionary, derived from the table schemas: the site's page of tables and columns."""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.home.store import PARTITIONED_BY
from lunguage_assets.tables import RELEASE, TABLES
from lunguage_assets.tables.columns import choices_told
from lunguage_assets.tables.released import CHEXPERT_LABELS, CHEXPERT_PROBABILITIES, LABELS
from lunguage_assets.tables.schema import Column, Table

_FILES = {
    RELEASE.name: "Lunguage_plus_plus.parquet",
    LABELS.name: "labels.parquet",
    CHEXPERT_LABELS.name: "labels_chexpert.csv",
    CHEXPERT_PROBABILITIES.name: "labels_probability.csv",
}


def data_dictionary() -> str:
    """All tables with their columns, as Markdown."""
    sections = []
    for table in (LABELS, CHEXPERT_LABELS, CHEXPERT_PROBABILITIES, *TABLES.values(), RELEASE):
        stored = f"The file `{_FILES.get(table.name)}` of a release. "
        if partitions := PARTITIONED_BY.get(table.name):
            stored = f"Partitioned by {' x '.join(partitions)}. "
        sections.append(table_section(table, table.name, stored))
    return "\n".join(sections)


def table_section(table: Table, heading: str, stored: str) -> str:
    """One table with its columns, as Markdown; `stored` says where it is, as a sentence with a space after
    it, or is empty.
    """
    lines = [f"## {heading}", "", table.description, "", f"{stored}Key: {', '.join(table.key)}.", ""]
    lines += ["| column | type | content |", "|---|---|---|"]
    lines += [f"| `{column.name}` | {column.type} | {_content(column)} |" for column in table.columns]
    free = tuple(Column(one.name, one.type, "", nullable=True) for one in table.columns)
    of_several = replace(table, columns=free)
    rules = "; ".join(rule for rule, _ in of_several.rules(of_several.frame()))
    return "\n".join([*lines, "", f"Held by every stored row: {rules}.", ""])


def _content(column: Column) -> str:
    parts = [column.description.replace("|", "\\|").rstrip(".") + ".", choices_told(column)]
    if column.minimum is not None and column.maximum is not None:
        parts.append(f"From {column.minimum:g} to {column.maximum:g}.")
    elif column.minimum is not None:
        parts.append(f"At least {column.minimum:g}.")
    elif column.maximum is not None:
        parts.append(f"At most {column.maximum:g}.")
    if column.pattern:
        parts.append(f"Form: `{column.pattern}`.".replace("|", "\\|"))
    if column.nullable:
        parts.append("May be empty.")
    if column.restricted:
        parts.append("*Report text.*")
    return " ".join(filter(None, parts))
