"""Leaves out of a step's tables the studies that break a rule.

An odd row costs its study, never the batch (docs/ui.md). Which rules there are is in
`rules.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from lunguage_assets.configuration import Configuration
from lunguage_assets.quality.rules import (
    InvalidStudy,
    Tables,
    broken_studies,
    require_few,
    studies_of,
    without_studies,
)
from lunguage_assets.workspace.store import SET_ASIDE


def invalid_upstream(inputs: Tables) -> list[InvalidStudy]:
    """Return the studies that earlier steps set aside, as stored with their tables."""
    invalid_studies: set[InvalidStudy] = set()
    for frame in inputs.values():
        for values in frame.attrs.get(SET_ASIDE, ()):
            study = InvalidStudy(*values)
            # JSON has no tuples: the ids come back as a list
            ids = tuple(study.finding_ids)
            invalid_studies.add(study._replace(finding_ids=ids))
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
    invalid = sorted({*invalid, *broken})
    studies_by_table = [
        frame["study_id"].nunique()
        for frame in (*inputs.values(), *tables.values())
        if "study_id" in frame
    ]
    require_few(broken, invalid, max(studies_by_table), strict=configuration.is_strict)
    return without_studies(valid, studies_of(broken)), invalid
