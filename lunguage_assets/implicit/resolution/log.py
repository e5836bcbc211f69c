"""What became of every row that is not in the result: the events of RESOLUTION_LOG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lunguage_assets.implicit.rows import ALREADY_STATED, SPOKEN_AGAINST, Row

Event = dict[str, Any]
"""A row of RESOLUTION_LOG without its number."""


def event_of(row: Row, event: str, stage: str, rule: str, **options: Any) -> Event:
    """Note an event about a row.

    Args:
        row: that it is about.
        event: what happened to it.
        stage: `deduplicate`, `expand` or `resolve`.
        rule: by which it happened.
        options: `conflict_type`, `survivor_id` or `reference`, where there is one.
    """
    return {
        "study_id": row.study_id,
        "finding_id": row.finding_id,
        "event": event,
        "stage": stage,
        "rule": rule,
        "conflict_type": "none",
        "source": row.source,
        "survivor_id": None,
        "name": row.name,
        "status": row.status,
        "currency": row.currency,
        "location_parts": row.location_parts,
        "support": row.support,
        "reference": "",
        **options,
    }


def events_before(study: Sequence[Row], suppressed: Sequence[Row]) -> Iterator[Event]:
    """Yield what became of the rows of a study before it was resolved.

    `suppressed` are its sub-findings that were not generated.
    """
    for row in study:
        if row.merged_into is not None:
            # Only what an encoder found alike has a similarity.
            is_alike = row.merge_similarity is not None
            rule = "same meaning" if is_alike else "same statement"
            into = row.merged_into
            yield event_of(row, "merged", "deduplicate", rule, survivor_id=into)
        elif row.disposition == "excluded":
            yield event_of(row, "excluded", "deduplicate", "history section")
    for child in suppressed:
        rule = "stated against" if child.outcome == SPOKEN_AGAINST else ALREADY_STATED
        stated = child.linked_to
        yield event_of(child, child.outcome, "expand", rule, survivor_id=stated)
