"""Leaves out of a step's tables the studies that break a rule.

An odd row costs its study, never the batch; where too many break a rule, the table is
refused, as the store refuses one that lists what was delivered (docs/ui.md). Which
rules there are is in `rules.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import InvalidTable
from lunguage_assets.quality.rules import (
    InvalidStudy,
    Tables,
    broken_studies,
    studies_of,
    without_studies,
)
from lunguage_assets.workspace.store import SET_ASIDE

MAX_QUARANTINED_SHARE = 0.01
"""Share of a batch's studies that may be set aside, one study at least."""


def invalid_upstream(inputs: Tables) -> list[InvalidStudy]:
    """Return the studies that earlier steps set aside, as stored with their tables."""
    invalid_studies: set[InvalidStudy] = set()
    for frame in inputs.values():
        for values in frame.attrs.get(SET_ASIDE, ()):
            study = InvalidStudy(*values)
            # JSON has no tuples: the ids come back as a list
            invalid_studies.add(study._replace(finding_ids=tuple(study.finding_ids)))
    return sorted(invalid_studies)


def without_invalid(inputs: Tables) -> Tables:
    """Leave studies that an earlier step set aside out of all tables that are read.

    They are still in those that were made before that step.
    """
    return without_studies(inputs, studies_of(invalid_upstream(inputs)))


def valid_studies(
    step: str,
    inputs: Tables,
    tables: Tables,
    configuration: Configuration,
    delivered: Iterable[str] = (),
) -> tuple[Tables, list[InvalidStudy]]:
    """Leave out the studies that break a rule in tables that a step made.

    Args:
        step: named in what is told of a broken rule.
        inputs: tables that the step read.
        tables: those that it made of them.
        configuration: says whether no study may break a rule, and how many processes
            look.
        delivered: as in `broken_studies`.

    Returns:
        The tables without these studies; and those that broke a rule, in this step or
        before it.

    Raises:
        InvalidTable: too many studies break a rule.
    """
    invalid = invalid_upstream(inputs)
    valid = without_studies(tables, studies_of(invalid))
    expected = set(delivered) - studies_of(invalid)
    broken = broken_studies(step, valid, expected, configuration.processes)
    if not broken:
        return valid, invalid
    invalid = sorted(invalid + broken)
    studies = max(
        frame["study_id"].nunique()
        for frame in (*inputs.values(), *tables.values())
        if "study_id" in frame
    )
    # One study of a small batch may break a rule: one in a hundred of 20 would be none.
    most = max(1, MAX_QUARANTINED_SHARE * studies)
    if configuration.is_strict or len(studies_of(invalid)) > most:
        reason = f"more than {MAX_QUARANTINED_SHARE:.0%}"
        if configuration.is_strict:
            reason = "and the option strict is set"
        first = broken[0]
        raise InvalidTable(
            f"{first.table}: {len(studies_of(broken))} of {studies} studies break a "
            f"rule, {reason}; nothing stored: {first.rule} ({first.table}, "
            f"{first.study_id}: {first.found or 'no row'}). Run it again with the "
            "newest version; if rows still break the rule, report it with this message."
        )
    return without_studies(valid, studies_of(broken)), invalid
