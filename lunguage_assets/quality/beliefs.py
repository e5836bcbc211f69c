"""Rules about single probabilities: of the status, of the support, of a row beside its parent (explicit.md
section 6, implicit.md section 4).

Each looks at stored numbers alone. That they are what the method computes is shown by the tests, which
compute them a second time.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import InvalidTable
from lunguage_assets.implicit.merging.beliefs import ALTERNATIVE
from lunguage_assets.implicit.statements.against import QUALIFIER

TOLERANCE = 1e-9

Rule = tuple[str, NDArray[np.bool_]]
"""A rule in words, and the rows that break it."""


def place_rules(fitted: pd.DataFrame) -> list[Rule]:
    """Every rule about the probabilities of `FITTED_PROBABILITIES`, with the rows that break it."""
    p, low, high = (fitted[name].to_numpy(dtype=np.float64) for name in ("p", "p_low", "p_high"))
    nothing = _near(p, 0.5) & _near(low, 0.0) & _near(high, 1.0)
    uninformed = _is(fitted, "p_source", "none")
    return [
        ("a pair without information has p 0.5, from 0 to 1", uninformed & ~nothing),
        ("a tentative finding is never certain: 0 < p < 1", (p <= 0.0) | (p >= 1.0)),
    ]


def belief_rules(rows: pd.DataFrame) -> list[Rule]:
    """Every rule about the probabilities of `LUNGUAGE_PLUS_PLUS`, with the rows that break it."""
    p, low, high, support = (
        rows[name].to_numpy(dtype=np.float64) for name in ("prob", "p_low", "p_high", "support")
    )
    stated, positive = _is(rows, "source", "original"), _is(rows, "status", "dp", "tp")
    definite = stated & _is(rows, "status", "dp", "dn")
    tentative, generated = stated & ~definite, _is(rows, "source", "expansion")
    certain = np.where(positive, 1.0, 0.0)
    by_id = dict(zip(rows["finding_id"], p, strict=True))
    of_parent = np.array([by_id.get(parent, np.nan) for parent in rows["parent_id"]], dtype=np.float64)
    return [
        (
            "a definite finding is certain: 1 if present, 0 if absent",
            definite & ~(_near(p, certain) & _near(low, certain) & _near(high, certain)),
        ),
        ("a definite finding has p by its status", definite & ~_is(rows, "p_source", "definitive")),
        (
            "a tentative finding has p by its fit, its phrases or nothing",
            tentative & ~_is(rows, "p_source", "fitted", "phrase", ALTERNATIVE, QUALIFIER, "none"),
        ),
        ("a tentative finding is never certain: 0 < p < 1", tentative & ((p <= 0.0) | (p >= 1.0))),
        (
            "the support of a stated finding is p, or 1 - p of a denied one",
            stated & ~_near(support, np.where(positive, p, 1.0 - p)),
        ),
        (
            "a generated row has p by its pathway, and says that it is a bound",
            generated & ~(_is(rows, "p_source", "pathway") & rows["prob_is_bound"].to_numpy(dtype=bool)),
        ),
        (
            "an implied finding is not more probable than its parent",
            generated & positive & (p > of_parent + TOLERANCE),
        ),
    ]


def refuse_broken(table: str, rows: pd.DataFrame) -> None:
    """Raise `InvalidTable` when a probability breaks a rule.

    `table` is `fitted_probabilities` or `lunguage_plus_plus`.
    """
    rules, job = (place_rules, "fit") if table == "fitted_probabilities" else (belief_rules, "expand")
    broken = {rule: rows.loc[wrong, "finding_id"].tolist() for rule, wrong in rules(rows) if wrong.any()}
    if broken:
        named = "; ".join(f"{rule} ({', '.join(ids[:5])})" for rule, ids in list(broken.items())[:5])
        raise InvalidTable(
            f"{table}: {len(broken)} rules broken, nothing stored: {named}. Launch `{job}` for this ranker "
            "and batch. If the rows are still wrong, report it: do not use them."
        )


def _is(rows: pd.DataFrame, column: str, *values: str) -> NDArray[np.bool_]:
    return rows[column].isin(values).to_numpy(dtype=bool)


def _near(values: NDArray[np.float64], expected: NDArray[np.float64] | float) -> NDArray[np.bool_]:
    return np.asarray(np.abs(values - expected) <= TOLERANCE)
