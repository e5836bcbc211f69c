"""Accounts per study (where every delivered row went), and what must hold after resolution: both from the
tables alone, apart from the code that establishes it (implicit.md section 5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import InvalidTable
from lunguage_assets.implicit.expansion.expand import Expansion
from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.implicit.rows import (
    BARE,
    PAPER,
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

GUARANTEES = (
    ONE_ROW_PER_KEY, NO_CLASH, LIVING_PARENT, NO_SURER, NOT_AGAINST, WHOLE_REFERENCES, STUDY_PRESENT,
    UNIQUE_NUMBERS,
)  # fmt: skip

_TOLERANCE = 1e-9


def account(
    reports: pd.DataFrame,
    rejected: pd.DataFrame,
    deduplicated: pd.DataFrame,
    expansion: Expansion,
    resolution: Resolution,
    set_aside: Collection[str] = (),
) -> pd.DataFrame:
    """ACCOUNTING: one row per delivered study, sorted, also for studies of which nothing is left.

    Everything is counted in the table of the stage where it happened, so `balanced` can fail. Studies in
    `set_aside` are in none of the other tables.
    """
    disposition = _counted(deduplicated, "disposition")
    outcome = _counted(expansion.expansions, "outcome")
    source = _counted(resolution.rows, "source")
    log = resolution.log[resolution.log["stage"] == "resolve"]
    event = _counted(log, "event", "source")
    delivered: dict[str, int] = dict(values_of(reports, "study_id", "rows_delivered"))
    refused = _counted(rejected)
    studies = {
        *delivered,
        *(
            key[0]
            for counts in (disposition, outcome, source, refused)
            for key in counts
        ),
    }
    # a study that was rejected whole has no report
    rows_in = {study: delivered.get(study, refused[(study,)]) for study in studies}
    frame = ACCOUNTING.frame(
        {
            "study_id": study,
            "rows_in": rows_in[study],
            "originals_out": source[study, "original"],
            "merged": disposition[study, "merged"] + event[study, "merged", "original"],
            "removed": event[study, "removed", "original"],
            "excluded": disposition[study, "excluded"],
            "rejected": refused[(study,)],
            "set_aside": rows_in[study] - refused[(study,)]
            if study in set_aside
            else 0,
            "generated": outcome[study, "generated"],
            "discarded": event[study, "merged", "expansion"]
            + event[study, "discarded", "expansion"],
            "already_stated": outcome[study, "already stated"],
            "spoken_against": outcome[study, "spoken against"],
            "rows_out": source[study, "original"] + source[study, "expansion"],
            "balanced": False,
        }
        for study in sorted(studies)
    )
    return frame.assign(balanced=balance(frame))


def balance(accounts: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the numbers of each ACCOUNTING row add up, whatever its column `balanced` says."""
    kept = accounts[
        ["originals_out", "merged", "removed", "excluded", "rejected", "set_aside"]
    ].sum(axis=1)
    generated = accounts["generated"] - accounts["discarded"]
    adds_up = (accounts["rows_in"] == kept) & (
        accounts["rows_out"] == accounts["originals_out"] + generated
    )
    return adds_up.to_numpy(dtype=bool)


def explained_studies(accounting: pd.DataFrame) -> list[str]:
    """Studies without any row left, with balanced accounts."""
    return accounting.loc[
        accounting["balanced"] & (accounting["rows_out"] == 0), "study_id"
    ].tolist()


def _counted(frame: pd.DataFrame, *names: str) -> Counter[tuple[str, ...]]:
    return Counter(values_of(frame, "study_id", *names))


class Violation(NamedTuple):
    """A broken guarantee and its place."""

    guarantee: str
    study_id: str
    finding_ids: tuple[str, ...]


def violations(
    rows: pd.DataFrame,
    studies: Iterable[str] = (),
    explained: Iterable[str] = (),
    processes: int | None = 1,
) -> list[Violation]:
    """Every broken guarantee in LUNGUAGE_PLUS_PLUS rows; empty when all hold. Of the input `studies` one
    without rows must be among `explained` (`explained_studies`). `processes`: as in `parallel.map_studies`.
    """
    found = map_studies(_violations, (rows,), _labels, processes=processes)
    missing = sorted(set(studies) - {*rows["study_id"].unique()} - set(explained))
    return [
        *chain(*found),
        *(Violation(STUDY_PRESENT, study_id, ()) for study_id in missing),
    ]


def _labels() -> tuple[LabelList]:
    return (load_label_list(),)


def _violations(rows: pd.DataFrame, listed: LabelList) -> list[Violation]:
    return [
        Violation(guarantee, study[0].study_id, ids)
        for study in by_study(read_rows(rows))
        for guarantee, ids in _broken(study, listed)
    ]


def refuse_violations(
    rows: pd.DataFrame,
    accounts: pd.DataFrame,
    reports: pd.DataFrame,
    processes: int | None = 1,
) -> None:
    """Raise `InvalidTable` when LUNGUAGE_PLUS_PLUS breaks a guarantee of implicit.md section 5, or ACCOUNTING
    of the same studies does not balance. `processes`: as in `parallel.map_studies`.
    """
    broken = violations(
        rows, reports["study_id"], explained_studies(accounts), processes
    )
    problems = [
        f"{found.guarantee} ({found.study_id}: {', '.join(found.finding_ids[:5])})"
        for found in broken
    ]
    problems += [
        f"accounts of {study or 'unreadable study ids'} do not balance"
        for study in accounts.loc[
            ~(accounts["balanced"] & balance(accounts)), "study_id"
        ]
    ]
    if problems:
        raise InvalidTable(
            f"lunguage_plus_plus: {len(problems)} violations, nothing stored: "
            + "; ".join(problems[:5])
        )


def _broken(
    study: Sequence[Row], listed: LabelList
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Broken guarantees of a study, and the rows that break them."""
    for group in grouped(study).values():
        ids = tuple(sorted(row.finding_id for row in group))
        if len(group) > 1:
            yield ONE_ROW_PER_KEY, ids
        if len({row.positive for row in group}) > 1:
            yield NO_CLASH, ids
    by_id = {row.finding_id: row for row in study}
    stated = [row for row in study if row.source == "original"]
    statements = Statements(listed, stated)
    for row in study:
        own, parent = (row.finding_id,), by_id.get(row.parent_id or "")
        if _root(row, by_id) != row.root_id:
            yield LIVING_PARENT, own
        if parent is not None and parent.positive:
            surer = row.support > parent.support + _TOLERANCE
            if surer or (row.status[0] == "d" and parent.status[0] == "t"):
                yield NO_SURER, own
        if (
            row.source == "expansion"
            and row.mode != PAPER
            and (said := statements.against(row)) is not None
        ):
            yield NOT_AGAINST, (row.finding_id, said.finding_id)
        for references in (row.evidence, row.associate):
            others = by_id.keys() - {row.finding_id}
            whole = all(
                token.startswith(BARE) or token in others for token in references
            )
            if not whole or len(set(references)) < len(references):
                yield WHOLE_REFERENCES, own
    numbers = (
        [row.idx for row in stated],
        [row.idx for row in study if row.source == "expansion"],
    )
    in_order = not all(numbers) or max(numbers[0]) < min(numbers[1])
    if not in_order or len({*numbers[0], *numbers[1]}) < len(study):
        yield UNIQUE_NUMBERS, tuple(sorted(by_id))


def _root(row: Row, by_id: dict[str, Row]) -> str | None:
    """The original behind a row, through living parents that imply it; None without one."""
    seen = set()
    while row.source == "expansion":
        parent = by_id.get(row.parent_id or "")
        if parent is None or row.finding_id in seen:
            return None
        if not (parent.positive if parent.mode == PAPER else is_present(parent)):
            return None
        seen.add(row.finding_id)
        row = parent
    return row.finding_id if row.parent_id is None else None
