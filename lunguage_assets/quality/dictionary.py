"""The data dictionary, derived from the table schemas: the site's page of tables and columns."""

from __future__ import annotations

from lunguage_assets.home.store import PARTITIONED_BY
from lunguage_assets.tables import RELEASE, TABLES
from lunguage_assets.tables.columns import choices_told
from lunguage_assets.tables.labels import CHEXPERT_LABELS, CHEXPERT_PROBABILITIES, LABELS
from lunguage_assets.tables.schema import Column, Table

_FILES = {
    RELEASE.name: "Lunguage_plus_plus.parquet",
    LABELS.name: "labels.parquet",
    CHEXPERT_LABELS.name: "labels_chexpert.csv",
    CHEXPERT_PROBABILITIES.name: "labels_probability.csv",
}


def data_dictionary() -> str:
    """All tables with their columns, as Markdown."""
    of_labels = (LABELS, CHEXPERT_LABELS, CHEXPERT_PROBABILITIES)
    return "\n".join(_section(table) for table in (*of_labels, *TABLES.values(), RELEASE))


def _section(table: Table) -> str:
    if partitions := PARTITIONED_BY.get(table.name):
        return table_section(table, table.name, f"Partitioned by {' x '.join(partitions)}. ")
    return table_section(table, table.name, f"The file `{_FILES[table.name]}` of a release. ")


def table_section(table: Table, heading: str, stored: str) -> str:
    """One table with its columns, as Markdown; `stored` says where it is, as a sentence with a space after
    it, or is empty.
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
    lines += [f"| `{column.name}` | {column.type} | {_content(column)} |" for column in table.columns]
    if rules := _rules(table):
        lines += ["", "Held by every stored row: " + "; ".join(rules) + "."]
    return "\n".join([*lines, ""])


def _rules(table: Table) -> list[str]:
    """What the schema says about several columns, in words."""
    return [
        *(" <= ".join(f"`{name}`" for name in chain) for chain in table.ordered),
        *(
            f"`{rule.column}` is there exactly where `{rule.when}` is {' or '.join(rule.values)}"
            for rule in table.present
        ),
        *(
            f"`{rule.column}` holds something only where `{rule.when}` is {' or '.join(rule.values)}"
            for rule in table.only
        ),
        *(f"`{name}` is the same in all rows of a partition" for name in table.constant),
        *(f"({', '.join(group)}) is unique" for group in table.unique),
    ]


def _content(column: Column) -> str:
    parts = [column.description.replace("|", "\\|").rstrip(".") + "."]
    if column.choices:
        parts.append(choices_told(column))
    if column.minimum is not None or column.maximum is not None:
        low, high = ("" if limit is None else f"{limit:g}" for limit in (column.minimum, column.maximum))
        parts.append(
            f"From {low} to {high}." if low and high else f"At least {low}." if low else f"At most {high}."
        )
    if column.pattern:
        parts.append(f"Form: `{column.pattern}`.".replace("|", "\\|"))
    if column.nullable:
        parts.append("May be empty.")
    if column.restricted:
        parts.append("*Report text.*")
    return " ".join(parts)
