"""What must hold after resolution, and where every delivered row went.

Both are computed from the tables alone, apart from the code that establishes them
(implicit.md section 5): a fault of `study.py` shows here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.implicit.expansion.expand import Expansion
from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.implicit.rows import (
    ALREADY_STATED,
    BARE,
    GENERATED,
    SPOKEN_AGAINST,
    Row,
    by_study,
    read_rows,
    values_of,
)
from lunguage_assets.implicit.statements.contradictions import (
    Statements,
    grouped,
    is_present,
)
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.parallel import map_studies
from lunguage_assets.tables import ACCOUNTING

ONE_ROW_PER_KEY = "no key has two rows"
NO_CLASH = "no polarity clash remains"
LIVING_PARENT = "every generated row has a living parent and traces to one original"
NO_SURER = "no generated row is more certain than its parent"
NOT_AGAINST = "no generated row contradicts what the report states"
WHOLE_REFERENCES = "every reference points to an existing row"
STUDY_PRESENT = "every input study is present or explained"
UNIQUE_NUMBERS = "idx is unique inside a study, generated rows after the stated ones"
AS_DELIVERED = "every stated row has the name, the status and the p that it came with"
CONFLICTS_LISTED = "every conflict that was resolved is in the table of conflicts"
ACCOUNTED = "the accounts are those of the rows"

GUARANTEES = (
    ONE_ROW_PER_KEY,
    NO_CLASH,
    LIVING_PARENT,
    NO_SURER,
    NOT_AGAINST,
    WHOLE_REFERENCES,
    STUDY_PRESENT,
    UNIQUE_NUMBERS,
    AS_DELIVERED,
    CONFLICTS_LISTED,
    ACCOUNTED,
)

_TOLERANCE = 1e-9

# Accounts


def account(
    reports: pd.DataFrame,
    rejected: pd.DataFrame,
    deduplicated: pd.DataFrame,
    expansion: Expansion,
    resolution: Resolution,
    set_aside: Collection[str] = (),
) -> pd.DataFrame:
    """Account for every delivered row of every study.

    Everything is counted in the table of the stage where it happened, so that
    `balanced` can fail.

    Args:
        reports: REPORTS, with the number of rows that were delivered.
        rejected: REJECTED.
        deduplicated: DEDUPLICATED_FINDINGS.
        expansion: of them.
        resolution: of both.
        set_aside: studies that are in none of the other tables.

    Returns:
        ACCOUNTING: one row per delivered study, sorted, also of those without any row
        left.
    """
    disposition = _counted(deduplicated, "disposition")
    outcome = _counted(expansion.expansions, "outcome")
    source = _counted(resolution.rows, "source")
    log = resolution.log[resolution.log["stage"] == "resolve"]
    event = _counted(log, "event", "source")
    refused = _counted(rejected)
    delivered: dict[str, int] = dict(values_of(reports, "study_id", "rows_delivered"))
    studies = set(delivered)
    for counts in (disposition, outcome, source, refused):
        studies.update(key[0] for key in counts)
    records = []
    for study in sorted(studies):
        rejected_rows = refused[(study,)]
        # A study that was rejected whole has no report.
        rows_in = delivered.get(study, rejected_rows)
        is_set_aside = study in set_aside
        stated = source[study, "original"]
        implied = source[study, "expansion"]
        merged_before = disposition[study, "merged"]
        merged_children = event[study, "merged", "expansion"]
        discarded_children = event[study, "discarded", "expansion"]
        records.append(
            {
                "study_id": study,
                "rows_in": rows_in,
                "originals_out": stated,
                "merged": merged_before + event[study, "merged", "original"],
                "removed": event[study, "removed", "original"],
                "excluded": disposition[study, "excluded"],
                "rejected": rejected_rows,
                "set_aside": rows_in - rejected_rows if is_set_aside else 0,
                "generated": outcome[study, GENERATED],
                "discarded": merged_children + discarded_children,
                "already_stated": outcome[study, ALREADY_STATED],
                "spoken_against": outcome[study, SPOKEN_AGAINST],
                "rows_out": stated + implied,
                "balanced": False,
            }
        )
    frame = ACCOUNTING.frame(records)
    return frame.assign(balanced=balance(frame))


def balance(accounts: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the numbers of each ACCOUNTING row add up, whatever `balanced` says."""
    accounted_for = accounts[
        ["originals_out", "merged", "removed", "excluded", "rejected", "set_aside"]
    ].sum(axis=1)
    implied = accounts["generated"] - accounts["discarded"]
    is_every_row_in = accounts["rows_in"] == accounted_for
    is_every_row_out = accounts["rows_out"] == accounts["originals_out"] + implied
    return (is_every_row_in & is_every_row_out).to_numpy(dtype=bool)


def explained_studies(accounting: pd.DataFrame) -> list[str]:
    """List the studies without any row left whose accounts balance."""
    is_explained = accounting["balanced"] & (accounting["rows_out"] == 0)
    studies: list[str] = accounting.loc[is_explained, "study_id"].tolist()
    return studies


def _counted(frame: pd.DataFrame, *names: str) -> Counter[tuple[str, ...]]:
    return Counter(values_of(frame, "study_id", *names))


# Guarantees


class Violation(NamedTuple):
    """A broken guarantee, and the rows that break it."""

    guarantee: str
    study_id: str
    finding_ids: tuple[str, ...]


def violations(
    rows: pd.DataFrame,
    studies: Iterable[str] = (),
    explained: Iterable[str] = (),
    processes: int | None = 1,
) -> list[Violation]:
    """List every broken guarantee.

    Args:
        rows: LUNGUAGE_PLUS_PLUS of whole studies.
        studies: those of the input.
        explained: those that may be without rows (`explained_studies`).
        processes: as in `parallel.map_studies`.

    Returns:
        Those of rows by study, then the studies that are missing; none when all hold.
    """
    of_parts = map_studies(_violations, (rows,), _labels, processes=processes)
    missing = set(studies) - set(rows["study_id"].unique()) - set(explained)
    absent = [Violation(STUDY_PRESENT, study, ()) for study in sorted(missing)]
    return [*chain(*of_parts), *absent]


def _labels() -> tuple[LabelList]:
    return (load_label_list(),)


def _violations(rows: pd.DataFrame, labels: LabelList) -> list[Violation]:
    violations_of_rows: list[Violation] = []
    for study in by_study(read_rows(rows)):
        violations_of_rows.extend(_violations_of_study(study, labels))
    return violations_of_rows


def violations_between(
    inputs: Mapping[str, pd.DataFrame], tables: Mapping[str, pd.DataFrame]
) -> Iterator[Violation]:
    """Hold the tables of a batch against each other and what they were made of.

    Args:
        inputs: tables that resolution read, by name.
        tables: those that it made.
    """
    rows = tables["lunguage_plus_plus"]
    delivered = inputs["deduplicated_findings"].set_index("finding_id")
    stated = rows[rows["source"] == "original"].set_index("finding_id")
    kept = ["study_id", "name", "status", "prob", "p_low", "p_high"]
    is_changed = (stated[kept] != delivered.reindex(stated.index)[kept]).any(axis=1)
    for finding_id, study in stated.loc[is_changed, "study_id"].items():
        yield Violation(AS_DELIVERED, study, (str(finding_id),))

    log = tables["resolution_log"]
    is_resolved = (log["stage"] == "resolve") & (log["conflict_type"] != "none")
    is_listed = log["finding_id"].isin(tables["conflicts"]["finding_ids"].explode())
    unlisted = log[is_resolved & ~is_listed]
    for study, finding_id in values_of(unlisted, "study_id", "finding_id"):
        yield Violation(CONFLICTS_LISTED, study, (finding_id,))

    accounts = tables["accounting"].set_index("study_id")
    recounted = account(
        inputs["reports"],
        inputs["rejected"],
        inputs["deduplicated_findings"],
        Expansion(inputs["pathway_matches"], inputs["expansions"]),
        Resolution(rows, log, tables["conflicts"]),
        set(tables["set_aside"]["study_id"]),
    ).set_index("study_id")
    is_other = (accounts.reindex(recounted.index) != recounted).any(axis=1)
    for study in recounted.index[is_other | ~recounted["balanced"]]:
        yield Violation(ACCOUNTED, study, ())


def _violations_of_study(
    study: Sequence[Row], labels: LabelList
) -> Iterator[Violation]:
    """Yield the broken guarantees of a study: of its keys, its rows, its numbers."""
    study_id = study[0].study_id
    for group in grouped(study).values():
        ids = tuple(sorted(row.finding_id for row in group))
        if len(group) > 1:
            yield Violation(ONE_ROW_PER_KEY, study_id, ids)
        if len({row.positive for row in group}) > 1:
            yield Violation(NO_CLASH, study_id, ids)
    by_id = {row.finding_id: row for row in study}
    statements = Statements(labels, [row for row in study if not row.is_generated])
    for row in study:
        yield from _violations_of_row(row, by_id, statements)
    if not _are_numbered_in_order(study):
        yield Violation(UNIQUE_NUMBERS, study_id, tuple(sorted(by_id)))


def _violations_of_row(
    row: Row, by_id: Mapping[str, Row], statements: Statements
) -> Iterator[Violation]:
    ids = (row.finding_id,)
    if _root(row, by_id) != row.root_id:
        yield Violation(LIVING_PARENT, row.study_id, ids)
    if _is_surer_than_parent(row, by_id):
        yield Violation(NO_SURER, row.study_id, ids)
    # In mode `paper` what is implied may contradict what is stated.
    if row.is_generated and row.policy.departs:
        opponent = statements.against(row)
        if opponent is not None:
            ids_of_both = (row.finding_id, opponent.finding_id)
            yield Violation(NOT_AGAINST, row.study_id, ids_of_both)
    for references in (row.evidence, row.associate):
        if not _are_whole(references, row, by_id):
            yield Violation(WHOLE_REFERENCES, row.study_id, ids)


def _is_surer_than_parent(row: Row, by_id: Mapping[str, Row]) -> bool:
    # "Possible pneumonia" implies no definite opacity.
    parent = by_id.get(row.parent_id or "")
    if parent is None or not parent.positive:
        return False
    is_better_supported = row.support > parent.support + _TOLERANCE
    is_definite_alone = row.status[0] == "d" and parent.status[0] == "t"
    return is_better_supported or is_definite_alone


def _are_whole(references: Sequence[str], row: Row, by_id: Mapping[str, Row]) -> bool:
    """Whether references point to other rows that are there, each once."""
    if len(set(references)) < len(references):
        return False
    for token in references:
        is_row = token in by_id and token != row.finding_id
        if not is_row and not token.startswith(BARE):
            return False
    return True


def _are_numbered_in_order(study: Sequence[Row]) -> bool:
    stated = [row.idx for row in study if not row.is_generated]
    implied = [row.idx for row in study if row.is_generated]
    if stated and implied and max(stated) > min(implied):
        return False
    return len({*stated, *implied}) == len(study)


def _root(row: Row, by_id: Mapping[str, Row]) -> str | None:
    """Find the original behind a row, through living parents that imply it."""
    # A faulty table may have rows that imply each other in a circle.
    seen: set[str] = set()
    while row.is_generated:
        parent = by_id.get(row.parent_id or "")
        if parent is None or row.finding_id in seen:
            return None
        # "No pneumonia" implies nothing, and "resolved pneumonia" nothing any more.
        implies = parent.positive
        if parent.policy.departs:
            implies = is_present(parent)
        if not implies:
            return None
        seen.add(row.finding_id)
        row = parent
    return row.finding_id if row.parent_id is None else None
