"""What must hold after resolution, and where every delivered row went.

Both are computed from the tables alone, apart from the code that establishes them
(implicit.md section 5): a fault of `study.py` shows here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.implicit.rows import (
    ALREADY_STATED,
    BARE,
    GENERATED,
    SPOKEN_AGAINST,
    Row,
    by_study,
    grouped_by,
    read_rows,
)
from lunguage_assets.implicit.statements.contradictions import (
    Statements,
    is_present,
    rows_by_key,
)
from lunguage_assets.implicit.statements.label_file import (
    LabelList,
    label_tools,
    load_label_list,
)
from lunguage_assets.parallel import map_studies
from lunguage_assets.tables import ACCOUNTING
from lunguage_assets.tables.values import values_of

ONE_ROW_PER_KEY = "no key has two rows"
NO_CLASH = "no polarity clash remains"
LIVING_PARENT = "every generated row has a living parent and traces to one original"
NO_SURER = "no generated row is more certain than its parent"
NOT_AGAINST = "no generated row contradicts what the report states"
WHOLE_REFERENCES = "every reference points to an existing row"
STUDY_PRESENT = "every input study is present or explained"
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
    CONFLICTS_LISTED,
    ACCOUNTED,
)

_TOLERANCE = 1e-9

# Accounts

_COUNTS = {
    "originals_out": ("lunguage_plus_plus", "source == 'original'"),
    "merged": ("deduplicated_findings", "disposition == 'merged'"),
    "merged_later": (
        "resolution_log",
        "stage == 'resolve' and event == 'merged' and source == 'original'",
    ),
    "removed": (
        "resolution_log",
        "stage == 'resolve' and event == 'removed' and source == 'original'",
    ),
    "excluded": ("deduplicated_findings", "disposition == 'excluded'"),
    "rejected": ("rejected", ""),
    "generated": ("expansions", f"outcome == '{GENERATED}'"),
    "discarded": (
        "resolution_log",
        "stage == 'resolve' and event in ['merged', 'discarded'] "
        "and source == 'expansion'",
    ),
    "already_stated": ("expansions", f"outcome == '{ALREADY_STATED}'"),
    "spoken_against": ("expansions", f"outcome == '{SPOKEN_AGAINST}'"),
    "rows_out": ("lunguage_plus_plus", ""),
}
"""Column of ACCOUNTING -> the table of the stage where it happened, and which of its
rows: so `balanced` can fail.
"""

_BALANCE = (
    "rows_in == originals_out + merged + removed + excluded + rejected + set_aside"
    " and rows_out == originals_out + generated - discarded"
)
"""Of a row of ACCOUNTING: every row that came in, and every row that goes out."""


def account(
    tables: Mapping[str, pd.DataFrame], set_aside: Collection[str] = ()
) -> pd.DataFrame:
    """Account for every delivered row of every study.

    Args:
        tables: `reports`, with the number of rows that were delivered, and those of
            `_COUNTS`, by name.
        set_aside: studies that are in none of them but the first.

    Returns:
        ACCOUNTING: one row per delivered study, sorted, also of those without any row
        left.
    """
    rows_delivered = tables["reports"].set_index("study_id")["rows_delivered"]
    numbers = {"rows_in": rows_delivered}
    for column, (table, condition) in _COUNTS.items():
        counted = tables[table]
        if condition:
            counted = counted.query(condition)
        numbers[column] = counted["study_id"].value_counts()
    accounts = pd.DataFrame(numbers).sort_index()
    # A study that was rejected whole has no report.
    accounts["rows_in"] = accounts["rows_in"].fillna(accounts["rejected"])
    accounts = accounts.fillna(0).astype(int)
    accounts["merged"] += accounts["merged_later"]
    is_set_aside = accounts.index.isin(list(set_aside))
    accounts["set_aside"] = (accounts["rows_in"] - accounts["rejected"]) * is_set_aside
    accounts["balanced"] = balance(accounts)
    return ACCOUNTING.frame(accounts.reset_index(names="study_id"))


def balance(accounts: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the numbers of each ACCOUNTING row add up, whatever `balanced` says."""
    return np.asarray(accounts.eval(_BALANCE, engine="python"), dtype=bool)


def explained_studies(accounting: pd.DataFrame) -> list[str]:
    """List the studies without any row left whose accounts balance."""
    explained = accounting.query("balanced and rows_out == 0")
    return list(explained["study_id"])


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
    of_parts = map_studies(_violations, (rows,), label_tools, processes=processes)
    missing = set(studies) - set(rows["study_id"].unique()) - set(explained)
    absent = [Violation(STUDY_PRESENT, study, ()) for study in sorted(missing)]
    return [*chain(*of_parts), *absent]


def _violations(rows: pd.DataFrame, labels: LabelList) -> list[Violation]:
    return [
        Violation(guarantee, study[0].study_id, tuple(broken))
        for study in grouped_by(attrgetter("study_id"), read_rows(rows)).values()
        for guarantee, broken in _broken_by(study, labels)
    ]


def violations_between(tables: Mapping[str, pd.DataFrame]) -> Iterator[Violation]:
    """Hold the tables of a batch against each other.

    Args:
        tables: those that resolution read and made, by name.
    """
    listed_ids = tables["conflicts"]["finding_ids"]
    log = tables["resolution_log"]
    resolved = log.query("stage == 'resolve' and conflict_type != 'none'")
    unlisted = resolved[~resolved["finding_id"].isin(listed_ids.explode())]
    for study, finding_id in values_of(unlisted, "study_id", "finding_id"):
        yield Violation(CONFLICTS_LISTED, study, (finding_id,))
    # Two rows may disagree, and resolution leaves both: a sub-finding and the row that
    # states it with another status, and stated rows of one name. Which names mean one
    # diagnosis, a dictionary of the home may say otherwise than the packaged one.
    stated_already = tables["expansions"].query("outcome == @ALREADY_STATED")
    beside_statement = stated_already.merge(
        tables["deduplicated_findings"],
        left_on="linked_to",
        right_on="finding_id",
        suffixes=("", "_stated"),
    )
    differing = beside_statement.query(
        "status != status_stated and disposition != 'excluded' and mode != 'paper'"
    )
    pairs = [
        (study, tuple(sorted((child, stating))))
        for study, child, stating in values_of(
            differing, "study_id", "finding_id", "linked_to"
        )
    ]
    stated = tables["lunguage_plus_plus"].query("source == 'original'")
    # Only rows of one name are held against each other, and most names stand once.
    is_named_again = stated.duplicated(["study_id", "currency", "name"], keep=False)
    labels = load_label_list()
    for rows_of_study in by_study(read_rows(stated[is_named_again])):
        for denial, presence in Statements(labels, rows_of_study).contradictions():
            row = denial.row
            if denial.subject == row.name and row.policy.departs:
                ids = row.finding_id, presence.row.finding_id
                pairs.append((row.study_id, tuple(sorted(ids))))
    listed_pairs = set(map(tuple, listed_ids))
    for study, pair in pairs:
        if pair not in listed_pairs:
            yield Violation(CONFLICTS_LISTED, study, pair)

    recounted = account(tables, set(tables["set_aside"]["study_id"]))
    compared = recounted.merge(tables["accounting"], how="left", indicator="found")
    for study in compared.query("found == 'left_only' or not balanced")["study_id"]:
        yield Violation(ACCOUNTED, study, ())


def _broken_by(
    study: Sequence[Row], labels: LabelList
) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the guarantees that a study breaks, each with the ids of the rows."""
    for group in rows_by_key(study).values():
        if len(group) > 1:
            ids_of_key = sorted(row.finding_id for row in group)
            yield ONE_ROW_PER_KEY, ids_of_key
            if len({row.positive for row in group}) > 1:
                yield NO_CLASH, ids_of_key
    by_id = {row.finding_id: row for row in study}
    statements = Statements(labels, [row for row in study if not row.is_generated])
    for row in study:
        yield from _broken_by_row(row, by_id, statements)


def _broken_by_row(
    row: Row, by_id: Mapping[str, Row], statements: Statements
) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield what a row breaks beside its parent, its references and what is stated."""
    ids = [row.finding_id]
    parent = by_id.get(row.parent_id or "")
    if not _has_living_parent(row, parent):
        yield LIVING_PARENT, ids
    if parent is not None and _is_surer(row, parent):
        yield NO_SURER, ids
    for references in (row.evidence, row.associate):
        if not _are_whole(references, row, by_id):
            yield WHOLE_REFERENCES, ids
    # In mode `paper` what is implied may contradict what is stated.
    if row.is_generated and row.policy.departs:
        opponent = statements.against(row)
        if opponent is not None:
            yield NOT_AGAINST, [*ids, opponent.finding_id]


def _has_living_parent(row: Row, parent: Row | None) -> bool:
    """Whether a row is stated, or implied by a row that is there and implies.

    An implied row has the id of its parent, and a number behind it: as all parents
    live, the original at the top does.
    """
    root_id = row.finding_id.partition("/")[0]
    parent_id = row.finding_id.rpartition("/")[0]
    if (row.root_id, row.parent_id or "") != (root_id, parent_id):
        return False
    if not row.is_generated:
        return not parent_id
    # "No pneumonia" implies nothing, and "resolved pneumonia" nothing any more.
    if parent is None or not parent.positive:
        return False
    return is_present(parent) or not parent.policy.departs


def _is_surer(row: Row, parent: Row) -> bool:
    # "Possible pneumonia" implies no definite opacity.
    is_definite_alone = row.status[0] == "d" and parent.status[0] == "t"
    is_better_supported = row.support > parent.support + _TOLERANCE
    return parent.positive and (is_better_supported or is_definite_alone)


def _are_whole(references: Sequence[str], row: Row, by_id: Mapping[str, Row]) -> bool:
    """Whether references of a row point to other rows that are there, each once."""
    ids = {token for token in references if not token.startswith(BARE)}
    is_once = len(set(references)) == len(references)
    return is_once and row.finding_id not in ids and ids <= by_id.keys()
