"""Rules that rows must hold, and studies that break one: each is set aside whole.

The other studies go on (`quarantine.py`). Beside the rules of the schema
(`tables/schema.py`) stand those about single probabilities: of the status, of the
support, of a row beside its parent (explicit.md section 6, implicit.md section 4). They
look at stored numbers alone; the tests compute these a second time.

Not here: what people expect of a table (`suites.py`), which only warns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from lunguage_assets.implicit.merging.probabilities import ALTERNATIVE
from lunguage_assets.implicit.resolution.guarantees import (
    balance,
    explained_studies,
    violations,
)
from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.tables import SET_ASIDE, TABLES
from lunguage_assets.tables.schema import BrokenRule, Table
from lunguage_assets.tables.values import values_of

Tables: TypeAlias = Mapping[str, pd.DataFrame]
"""Tables by name."""
TOLERANCE = 1e-9
"""Difference at which two probabilities are the same."""

_SHOWN_NUMBERS = ("p", "prob", "p_low", "p_high", "support")


class InvalidStudy(NamedTuple):
    """A rule that a study breaks. Its fields are the columns of SET_ASIDE.

    Attributes:
        study_id: the study.
        step: that made the table.
        table: whose rule it is.
        rule: in words.
        finding_ids: of the rows that break it.
        found: probabilities of the first of these rows, never a text.
    """

    study_id: str
    step: str
    table: str
    rule: str
    finding_ids: tuple[str, ...]
    found: str


_FIT_RULES = {
    # Where no judge's answer and no phrase says anything, a narrower interval would
    # claim what nobody said.
    "a pair without information has p 0.5, from 0 to 1": (
        "p_source == 'none' and "
        "not (p - 0.5).abs() + p_low.abs() + (p_high - 1).abs() <= @TOLERANCE"
    ),
    "a tentative finding is never certain: 0 < p < 1": "p <= 0 or p >= 1",
}
"""Rule in words -> which rows of FITTED_PROBABILITIES break it, as pandas queries."""

_TENTATIVE_SOURCES = ["fitted", "phrase", ALTERNATIVE, QUALIFIER, "none"]
"""Where p of a tentative finding may come from: a fit; ranked phrases; alternatives
("atelectasis or scarring") that share one; a qualifier; or no information.
"""
_BELIEF_RULES = {
    # "No effusion" and "effusion" are not hedged, so nothing is estimated (explicit.md
    # section 6).
    "a definite finding is certain: 1 if present, 0 if absent": (
        "is_definite and not (prob - is_positive).abs() + (p_low - is_positive).abs()"
        " + (p_high - is_positive).abs() <= @TOLERANCE"
    ),
    "a definite finding has p by its status": (
        "is_definite and p_source != 'definitive'"
    ),
    "a tentative finding has p by its fit, its phrases or nothing": (
        "is_tentative and p_source not in @_TENTATIVE_SOURCES"
    ),
    "a tentative finding is never certain: 0 < p < 1": (
        "is_tentative and (prob <= 0 or prob >= 1)"
    ),
    # "Effusion is unlikely" with p 0.1 supports its denial by 0.9 (implicit.md section
    # 4).
    "the support of a stated finding is p, or 1 - p of a denied one": (
        "source == 'original' and not (support - claimed).abs() <= @TOLERANCE"
    ),
    # Nobody estimated an implied finding: its p follows from its parent's, and is a
    # bound (implicit.md section 4).
    "a generated row has p by its pathway, and says that it is a bound": (
        "source == 'expansion' and not (p_source == 'pathway' and prob_is_bound)"
    ),
    # Without its parent, which may be merged away, a row is compared with nothing.
    "an implied finding is not more probable than its parent": (
        "source == 'expansion' and is_positive == 1 and prob > p_of_parent + @TOLERANCE"
    ),
}
"""The same of LUNGUAGE_PLUS_PLUS, with columns that `belief_rules` adds."""


def fit_rules(fitted: pd.DataFrame) -> list[BrokenRule]:
    """Hold the probabilities of FITTED_PROBABILITIES against their rules."""
    return _held_against(_FIT_RULES, fitted)


def belief_rules(rows: pd.DataFrame) -> list[BrokenRule]:
    """Hold the probabilities of LUNGUAGE_PLUS_PLUS against their rules."""
    is_stated = rows["source"] == "original"
    is_positive = rows["status"].isin(["dp", "tp"])
    has_definite_status = rows["status"].isin(["dp", "dn"])
    p_by_id = dict(values_of(rows, "finding_id", "prob"))
    extended = rows.assign(
        is_positive=is_positive,
        claimed=rows["prob"].where(is_positive, 1.0 - rows["prob"]),
        is_definite=is_stated & has_definite_status,
        is_tentative=is_stated & ~has_definite_status,
        p_of_parent=rows["parent_id"].map(p_by_id).astype("float64"),
    )
    return _held_against(_BELIEF_RULES, extended)


def _held_against(rules: Mapping[str, str], rows: pd.DataFrame) -> list[BrokenRule]:
    return [
        BrokenRule(words, np.asarray(rows.eval(broken, engine="python"), bool))
        for words, broken in rules.items()
    ]


def _account_rules(accounts: pd.DataFrame) -> list[BrokenRule]:
    # The flag alone is not believed: the sums are added up again.
    is_balanced = accounts["balanced"].to_numpy() & balance(accounts)
    return [BrokenRule("the accounts balance", ~is_balanced)]


RULES: Mapping[str, Callable[[pd.DataFrame], list[BrokenRule]]] = {
    "fitted_probabilities": fit_rules,
    "lunguage_plus_plus": belief_rules,
    "accounting": _account_rules,
}
"""Table -> rules besides those of its schema."""


def broken_studies(
    step: str,
    frames: Tables,
    delivered: Iterable[str] = (),
    processes: int | None = 1,
) -> list[InvalidStudy]:
    """Find every rule that a study breaks in the tables that a step made.

    Args:
        step: that made them.
        frames: the tables by name.
        delivered: studies that must be in LUNGUAGE_PLUS_PLUS, or be explained by
            ACCOUNTING.
        processes: as in `parallel.map_studies`.

    Returns:
        A study once for each rule, sorted.

    Raises:
        InvalidTable: columns or types are not those of the table.
    """
    invalid: set[InvalidStudy] = set()
    for name, frame in frames.items():
        if name in TABLES and TABLES[name].per_study:
            invalid.update(_studies_breaking_rules(step, TABLES[name], frame))
    # The guarantees look at all rows of a study together, and at studies without rows:
    # no rule about single rows can.
    name = "lunguage_plus_plus"
    if name in frames and "accounting" in frames:
        rows = frames[name]
        explained = explained_studies(frames["accounting"])
        for guarantee, study, ids in violations(rows, delivered, explained, processes):
            broken = rows[rows["finding_id"].isin(ids)]
            invalid.add(_invalid_study(study, step, name, guarantee, broken, ids))
    return sorted(invalid)


def _studies_breaking_rules(
    step: str, table: Table, frame: pd.DataFrame
) -> Iterator[InvalidStudy]:
    table.require_columns(frame)
    rules = [*table.broken(frame)]
    if table.name in RULES:
        rules += RULES[table.name](frame)
    for rule, is_broken in rules:
        # Rows without a study are refused with their table, when it is encoded.
        for study, rows in frame[is_broken].groupby("study_id"):
            finding_ids = rows.get("finding_id", ())
            yield _invalid_study(str(study), step, table.name, rule, rows, finding_ids)


def _invalid_study(
    study_id: str,
    step: str,
    table: str,
    rule: str,
    rows: pd.DataFrame,
    finding_ids: Iterable[str],
) -> InvalidStudy:
    """Tell a broken rule with the probabilities of a row, never with a text.

    Args:
        study_id: the study.
        step: that made the table.
        table: whose rule it is.
        rule: in words.
        rows: of the study that break it.
        finding_ids: of these rows.
    """
    numbers = [
        f"{name} {rows[name].iloc[0]:.12g}"
        for name in _SHOWN_NUMBERS
        if name in rows and len(rows)
    ]
    return InvalidStudy(
        study_id=study_id,
        step=step,
        table=table,
        rule=rule,
        finding_ids=tuple(map(str, finding_ids)),
        found=", ".join(numbers),
    )


def set_aside_frame(
    invalid: Sequence[InvalidStudy], reports: pd.DataFrame
) -> pd.DataFrame:
    """Make the SET_ASIDE frame of studies that are set aside, with their patients."""
    patients = dict(values_of(reports, "study_id", "subject_id"))
    return SET_ASIDE.frame(
        study._asdict() | {"subject_id": patients.get(study.study_id, "")}
        for study in invalid
    )


def studies_of(invalid: Iterable[InvalidStudy]) -> frozenset[str]:
    """Collect the ids of studies that are set aside."""
    return frozenset(study.study_id for study in invalid)


def without_studies(frames: Tables, studies: frozenset[str]) -> Tables:
    """Leave some studies out of the tables whose rows go with their study.

    Args:
        frames: tables by name.
        studies: their ids.
    """
    kept = dict(frames)
    for name, frame in frames.items():
        if studies and TABLES[name].per_study:
            # Tables that list what was delivered keep every study (`Table.per_study`).
            is_kept = ~frame["study_id"].isin(studies)
            kept[name] = frame[is_kept].reset_index(drop=True)
    return kept
