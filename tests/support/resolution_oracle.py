"""A second implementation of the three rules of resolution, for what the report itself
says.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from invented_reports import Outcome

from lunguage_assets.implicit.statements.locations import anatomy


def oracle_violations(outcome: Outcome) -> list[str]:
    """The rules of implicit.md section 5 for keys that the report itself speaks of,
    told independently of the resolver.
    """
    kept = outcome.deduplicated[outcome.deduplicated["disposition"] == "kept"]
    # No information never wins.
    kept = kept.assign(strength=kept["support"].mask(kept["p_source"] == "none", -1.0))
    result = _by_key(outcome.rows)
    violations = []
    for key, stated in _by_key(kept).items():
        survivors = [row["finding_id"] for row in result.get(key, [])]
        best = max(row["strength"] for row in stated)
        strongest = [row["finding_id"] for row in stated if row["strength"] == best]
        if {row["status"] for row in stated} == {"dp", "dn"}:
            if survivors:
                violations.append(f"a definite contradiction left {survivors}")
        elif len(survivors) != 1 or survivors[0] not in strongest:
            violations.append(
                f"{key} should be decided by what the report says, not {survivors}"
            )
    return violations


def _by_key(rows: pd.DataFrame) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Rows of the same finding at the same place in the body."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows.to_dict("records"):
        places = anatomy().location(tuple(row["location_parts"])).parts
        key = row["study_id"], row["currency"], row["name"], places
        groups.setdefault(key, []).append(row)
    return groups
