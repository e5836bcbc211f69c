"""Computing a step's tables without the studies that break a rule.

An odd row costs its study, never the batch (docs/ui.md). Which rules there are is in
`rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from lunguage_assets.quality.rules import (
    InvalidStudy,
    broken_studies,
    require_few,
    studies_of,
    without_studies,
)
from lunguage_assets.workspace.store import SET_ASIDE

Tables = Mapping[str, pd.DataFrame]
"""Tables by name."""


class ValidStudies(NamedTuple):
    """What a step made of the studies that break no rule.

    Attributes:
        tables: that it made.
        inputs: of which they were computed: without the invalid studies.
        invalid: the studies that broke a rule, in this step or before it.
    """

    tables: Tables
    inputs: Tables
    invalid: list[InvalidStudy]


def compute_valid_studies(
    step: str,
    inputs: Tables,
    compute: Callable[[Tables, list[InvalidStudy]], Tables],
    *,
    strict: bool = False,
    processes: int | None = 1,
) -> ValidStudies:
    """Compute a step's tables, and again without the studies that break a rule.

    Args:
        step: named in what is told of a broken rule.
        inputs: tables as they were read.
        compute: makes the tables of inputs, and of the studies that are not in them.
        strict: whether no study may break a rule.
        processes: as in `parallel.map_studies`.

    Raises:
        InvalidTable: too many studies break a rule, or one still does without its rows.
    """
    reports = inputs.get("reports")
    delivered = [] if reports is None else reports["study_id"].tolist()
    invalid = _invalid_upstream(inputs.values())
    while True:
        valid_inputs = without_studies(inputs, studies_of(invalid))
        tables = compute(valid_inputs, invalid)
        broken = broken_studies(step, tables, delivered, processes)
        if not broken:
            return ValidStudies(tables, valid_inputs, invalid)
        before = studies_of(invalid)
        invalid = sorted({*invalid, *broken})
        studies_by_table = [
            frame["study_id"].nunique()
            for frame in (*inputs.values(), *tables.values())
            if "study_id" in frame
        ]
        # A study that breaks a rule although its rows were left out is a fault of the
        # step, and no better without the study.
        breaks_again = studies_of(broken) <= before
        require_few(
            broken, invalid, max(studies_by_table), strict=strict or breaks_again
        )
        # Without these studies the others may come out differently (words are counted
        # over a batch): everything is computed again.


def _invalid_upstream(frames: Iterable[pd.DataFrame]) -> list[InvalidStudy]:
    """Return the studies that earlier steps set aside, as stored with their tables."""
    invalid_studies: set[InvalidStudy] = set()
    for frame in frames:
        for values in frame.attrs.get(SET_ASIDE, ()):
            study = InvalidStudy(*values)
            # JSON has no tuples: the ids come back as a list
            ids = tuple(study.finding_ids)
            invalid_studies.add(study._replace(finding_ids=ids))
    return sorted(invalid_studies)
