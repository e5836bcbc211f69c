"""Rules that rows must hold, and studies that break one: each is set aside whole, the others go on.

A rule about single rows costs its study. A rule about the whole (keys, one version) refuses the table, as the
store refuses one that lists what was delivered (docs/ui.md). Beside the rules of the schema stand those about
single probabilities: of the status, of the support, of a row beside its parent (explicit.md section 6,
implicit.md section 4). They look at stored numbers alone; the tests compute them a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import InvalidTable
from lunguage_assets.implicit.merging.probabilities import ALTERNATIVE
from lunguage_assets.implicit.resolution.guarantees import (
    balance,
    explained_studies,
    violations,
)
from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.tables import SET_ASIDE, TABLES
from lunguage_assets.tables.schema import Table

MAX_QUARANTINED_SHARE = 0.01
"""Share of a batch's studies that may be set aside, one study at least."""

_SHOWN = frozenset({"p", "prob", "p_low", "p_high", "support"})
_ROWS_SHOWN = 3
_NUMBERS = ("int", "float", "bool")


class InvalidStudy(NamedTuple):
    """A rule that a study breaks: the step and table where, the rows, and their values without any text."""

    study_id: str
    step: str
    table: str
    rule: str
    finding_ids: tuple[str, ...]
    found: str


TOLERANCE = 1e-9

Rule = tuple[str, NDArray[np.bool_]]
"""A rule in words, and the rows that break it."""


def place_rules(fitted: pd.DataFrame) -> list[Rule]:
    """Every rule about the probabilities of `FITTED_PROBABILITIES`, with the rows that break it."""
    p, low, high = (
        fitted[name].to_numpy(dtype=np.float64) for name in ("p", "p_low", "p_high")
    )
    nothing = _near(p, 0.5) & _near(low, 0.0) & _near(high, 1.0)
    return [
        (
            "a pair without information has p 0.5, from 0 to 1",
            _is(fitted, "p_source", "none") & ~nothing,
        ),
        ("a tentative finding is never certain: 0 < p < 1", (p <= 0.0) | (p >= 1.0)),
    ]


def belief_rules(rows: pd.DataFrame) -> list[Rule]:
    """Every rule about the probabilities of `LUNGUAGE_PLUS_PLUS`, with the rows that break it."""
    p, low, high, support = (
        rows[name].to_numpy(dtype=np.float64)
        for name in ("prob", "p_low", "p_high", "support")
    )
    stated, positive = _is(rows, "source", "original"), _is(rows, "status", "dp", "tp")
    definite = stated & _is(rows, "status", "dp", "dn")
    tentative, generated = stated & ~definite, _is(rows, "source", "expansion")
    certain = np.where(positive, 1.0, 0.0)
    all_certain = _near(p, certain) & _near(low, certain) & _near(high, certain)
    of_tentative = _is(
        rows, "p_source", "fitted", "phrase", ALTERNATIVE, QUALIFIER, "none"
    )
    is_bound = _is(rows, "p_source", "pathway") & rows["prob_is_bound"].to_numpy(
        dtype=bool
    )
    by_id = dict(zip(rows["finding_id"], p, strict=True))
    of_parent = np.array(
        [by_id.get(parent, np.nan) for parent in rows["parent_id"]], dtype=np.float64
    )
    said = np.where(positive, p, 1.0 - p)
    return [
        (
            "a definite finding is certain: 1 if present, 0 if absent",
            definite & ~all_certain,
        ),
        (
            "a definite finding has p by its status",
            definite & ~_is(rows, "p_source", "definitive"),
        ),
        (
            "a tentative finding has p by its fit, its phrases or nothing",
            tentative & ~of_tentative,
        ),
        (
            "a tentative finding is never certain: 0 < p < 1",
            tentative & ((p <= 0.0) | (p >= 1.0)),
        ),
        (
            "the support of a stated finding is p, or 1 - p of a denied one",
            stated & ~_near(support, said),
        ),
        (
            "a generated row has p by its pathway, and says that it is a bound",
            generated & ~is_bound,
        ),
        (
            "an implied finding is not more probable than its parent",
            generated & positive & (p > of_parent + TOLERANCE),
        ),
    ]


def _is(rows: pd.DataFrame, column: str, *values: str) -> NDArray[np.bool_]:
    return rows[column].isin(values).to_numpy(dtype=bool)


def _near(
    values: NDArray[np.float64], expected: NDArray[np.float64] | float
) -> NDArray[np.bool_]:
    return np.asarray(np.abs(values - expected) <= TOLERANCE)


RULES: Mapping[str, Callable[[pd.DataFrame], list[Rule]]] = {
    "fitted_probabilities": place_rules,
    "lunguage_plus_plus": belief_rules,
    "accounting": lambda rows: [
        ("the accounts balance", ~(rows["balanced"].to_numpy() & balance(rows)))
    ],
}
"""Table -> rules besides those of its schema."""


def refuse_broken(table: str, rows: pd.DataFrame) -> None:
    """Raise `InvalidTable` when a probability of a table with `RULES` breaks one."""
    broken = [
        f"{rule} ({', '.join(rows.loc[wrong, 'finding_id'].head(5))})"
        for rule, wrong in RULES[table](rows)
        if wrong.any()
    ]
    if broken:
        raise InvalidTable(
            f"{table}: {len(broken)} rules broken, nothing stored: {'; '.join(broken[:5])}. Make the table "
            "again. If the rows are still wrong, report it: do not use them."
        )


def broken_studies(
    step: str,
    frames: Mapping[str, pd.DataFrame],
    delivered: Iterable[str] = (),
    processes: int | None = 1,
) -> list[InvalidStudy]:
    """Every rule that a study breaks in the tables that a step made, sorted; `delivered` studies must be in
    LUNGUAGE_PLUS_PLUS, or explained by ACCOUNTING; `processes` as in `parallel.map_studies`. Raises
    `InvalidTable` when columns or types are not those of the table, rows break a rule about the whole, or a
    row that breaks a rule has no study.
    """
    found: set[InvalidStudy] = set()
    for name, frame in frames.items():
        if name in TABLES and TABLES[name].per_study:
            TABLES[name].require_columns(frame)
            for rule, broken in _rules(TABLES[name], frame):
                for study, rows in frame[broken].groupby("study_id", dropna=False):
                    listed = rows.get("finding_id", ())
                    found.add(
                        _aside(
                            str(study) if pd.notna(study) else "",
                            step,
                            name,
                            rule,
                            rows,
                            listed,
                        )
                    )
    if "lunguage_plus_plus" in frames and "accounting" in frames:
        resolved, explained = (
            frames["lunguage_plus_plus"],
            explained_studies(frames["accounting"]),
        )
        for guarantee, study, ids in violations(
            resolved, delivered, explained, processes
        ):
            rows = resolved[resolved["finding_id"].isin(ids)]
            found.add(_aside(study, step, "lunguage_plus_plus", guarantee, rows, ids))
    return sorted(found)


def _aside(
    study: str, step: str, table: str, rule: str, rows: pd.DataFrame, ids: Iterable[str]
) -> InvalidStudy:
    """A broken rule with the numbers of the columns that it speaks of and of the belief, never a text."""
    if not study:
        raise InvalidTable(
            f"{table}: rows without a study break '{rule}', nothing stored. Report it."
        )
    spoken_of = _SHOWN | set(re.findall(r"\w+", rule))
    numbers = [
        one.name
        for one in TABLES[table].columns
        if one.type in _NUMBERS and one.name in spoken_of
    ]
    values = (
        ", ".join(
            f"{name} {_number(value)}" for name, value in zip(numbers, row, strict=True)
        )
        for row in rows.head(_ROWS_SHOWN)[numbers].itertuples(index=False)
    )
    return InvalidStudy(
        study, step, table, rule, tuple(map(str, ids)), "; ".join(values)
    )


def set_aside_frame(
    asides: Sequence[InvalidStudy], reports: pd.DataFrame
) -> pd.DataFrame:
    """SET_ASIDE, with the patients of REPORTS."""
    patients = dict(zip(reports["study_id"], reports["subject_id"], strict=True))
    return SET_ASIDE.frame(
        [
            one._asdict() | {"subject_id": patients.get(one.study_id, "")}
            for one in asides
        ]
    )


def studies_of(asides: Iterable[InvalidStudy]) -> frozenset[str]:
    """The studies that are set aside."""
    return frozenset(one.study_id for one in asides)


def without_studies(
    frames: Mapping[str, Any], studies: frozenset[str]
) -> dict[str, Any]:
    """The frames, those whose rows go with their study without the rows of some studies; what is no frame stays."""
    kept = dict(frames)
    if not studies:
        return kept
    for name, frame in frames.items():
        if isinstance(frame, pd.DataFrame) and TABLES[name].per_study:
            is_kept = ~frame["study_id"].isin(studies)
            kept[name] = frame[is_kept].reset_index(drop=True)
    return kept


def require_few(
    new: Sequence[InvalidStudy],
    asides: Sequence[InvalidStudy],
    of: int,
    *,
    strict: bool,
) -> None:
    """Raise `InvalidTable` where too many of a batch's (`of`) studies break a rule, or any when strict; `new`
    is what the step itself found, `asides` all so far.
    """
    if not strict and len(studies_of(asides)) <= max(1, MAX_QUARANTINED_SHARE * of):
        return
    named = (
        f"{one.rule} ({one.table}, {one.study_id}: {one.found or 'no row'})"
        for one in new[:5]
    )
    why = (
        "and the option strict is set"
        if strict
        else f"more than {MAX_QUARANTINED_SHARE:.0%}"
    )
    raise InvalidTable(
        f"{new[0].table}: {len(studies_of(new))} of {of} studies break a rule, {why}; nothing stored: "
        f"{'; '.join(dict.fromkeys(named))}. Run it again with the newest version; if the rows still break "
        "the rule, report it with this message."
    )


def _rules(table: Table, frame: pd.DataFrame) -> Iterator[Rule]:
    """The rules about single rows that some rows break; raises `InvalidTable` for one about the whole."""
    whole = {
        f"({', '.join(table.key)}) is unique",
        *(f"{name} has one value" for name in table.constant),
    }
    for rule, rows in table.broken(frame):
        if rule in whole:
            keys = table.keys_of(frame[rows].head(5))
            raise InvalidTable(
                f"table {table.name}: rows break '{rule}', nothing stored, for instance {keys}"
            )
        yield rule, rows
    if more := RULES.get(table.name):
        yield from ((rule, rows) for rule, rows in more(frame) if rows.any())


def _number(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
