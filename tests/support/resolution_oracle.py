"""A second implementation of the three rules of resolution, for what the report itself
says.
"""

from __future__ import annotations

from collections.abc import Sequence

from invented_reports import Outcome

from lunguage_assets.implicit.statements.locations import anatomy


def _anatomical_parts(location_parts: Sequence[str]) -> tuple[str, ...]:
    return anatomy().location(tuple(location_parts)).parts


def oracle_violations(outcome: Outcome) -> list[str]:
    """The rules of implicit.md section 5 for keys that the report itself speaks of,
    told independently of the resolver.
    """
    kept = outcome.deduplicated[outcome.deduplicated["disposition"] == "kept"]
    keys: dict[tuple[object, ...], list[tuple[str, float, str]]] = {}
    columns = (
        "study_id",
        "currency",
        "name",
        "location_parts",
        "status",
        "support",
        "p_source",
        "finding_id",
    )
    for (
        study,
        currency,
        name,
        location_parts,
        status,
        support,
        p_source,
        finding_id,
    ) in zip(*(kept[c] for c in columns), strict=True):
        strength = -1.0 if p_source == "none" else support  # no information never wins
        keys.setdefault(
            (study, currency, name, _anatomical_parts(location_parts)), []
        ).append((status, strength, finding_id))
    result: dict[tuple[object, ...], list[str]] = {}
    for study, currency, name, location_parts, finding_id in zip(
        *(
            outcome.rows[c]
            for c in ("study_id", "currency", "name", "location_parts", "finding_id")
        ),
        strict=True,
    ):
        result.setdefault(
            (study, currency, name, _anatomical_parts(location_parts)), []
        ).append(finding_id)
    violations = []
    for key, stated in keys.items():
        statuses = {status for status, _, _ in stated}
        best = max(support for _, support, _ in stated)
        survivors = result.get(key, [])
        if statuses == {"dp", "dn"}:
            if survivors:
                violations.append(f"a definite contradiction left {survivors}")
        elif len(survivors) != 1 or survivors[0] not in [
            finding_id for _, support, finding_id in stated if support == best
        ]:
            violations.append(
                f"{key} should be decided by what the report says, not {survivors}"
            )
    return violations
