"""What to do when a rule of a table's suite fails: the rule's own advice where a person wrote one, else what
its kind says.

Rules that follow from the schema are checked before a table is stored. If one fails afterwards, the file is
not the one that was stored, and reading it is refused (`Table.require`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COLUMNS = "expect_table_columns_to_match_ordered_list"

_OTHER_FILE = (
    "The package stores no such row, so the file was changed or put there by something else: "
    "launch {job} on this partition again, which replaces it. "
    "If the rule fails again, report it with the keys; do not use the rows."
)
_OTHER_VERSION = (
    "The file was written by another version: launch {job} on this partition again, then "
    "what follows from it."
)
_NOT_EVALUATED = (
    "The rule could not be evaluated, so it says nothing: see expectations/{table}.json, "
    "mend the rule, and run the check again."
)


def remedy(table: str, rule: Mapping[str, Any], job: str = "", *, evaluated: bool = True) -> str:
    """What to do about a failing rule.

    Args:
        table: whose suite it is in.
        rule: as it stands in the suite.
        job: that makes the table; empty where it is not known.
        evaluated: False when the rule itself broke down.
    """
    if not evaluated:
        return _NOT_EVALUATED.format(table=table)
    if written := rule["meta"].get("remedy"):
        return str(written)
    return (_OTHER_VERSION if rule["type"] == COLUMNS else _OTHER_FILE).format(job=_named(table, job))


def of_other_file(table: str, job: str = "") -> str:
    """What to do about rows that the store would have refused; `job` makes the table, if it is known."""
    return _OTHER_FILE.format(job=_named(table, job))


def _named(table: str, job: str) -> str:
    return f"`{job}`" if job else f"the job that makes {table}"
