"""How far readings of the same reports agree: of structurers, and of people.

Rows are matched first, one to one within a sentence; then what matched rows say is
compared column by column (method.md section 8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.tables.columns import ATTRIBUTES
from lunguage_assets.tables.corpus import STRUCTURING_AGREEMENT

GOLD = "gold"
"""Name of people's rows among the structurers; recall is the share of them found."""

_CODES = ("normed_ent", "cat", "status")
_SETS = ("location", *ATTRIBUTES)
"""Columns that are compared word by word.

"Left lower lobe" and "lobe, lower" have two words in common.
"""
_REFERENCES = ("evidence", "associate")
_KAPPA = ("cat", "status")
"""Codes of few values, so that some agree by chance."""
_WORD = re.compile(r"\w+")
_MIN_SHARED_OF_SENTENCE = 0.5
"""Share of words that two wordings of one sentence have in common at least.

Rows that people coded come with sentences of their own: numbered otherwise, shortened
or corrected.
"""
_WEIGHTS = {"sent": 8.0, "ent": 4.0, "location": 2.0, "normed_ent": 1.0}
"""What common words of a column count for in the matching."""

_Row = dict[str, frozenset[str]]
"""A row by column: its code, its words, or the keys of the rows that it refers to.

`key` has the row's own key, "find:2".
"""
_Rows = dict[str, list[_Row]]
"""The rows of a reading by study."""


class _Match(NamedTuple):
    """A row, and the row of the other reading that says the same."""

    first: _Row
    second: _Row


def structuring_agreement(
    findings_by_structurer: Mapping[str, pd.DataFrame],
    gold: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compare every two readings: `tables.STRUCTURING_AGREEMENT`, people's rows first.

    Args:
        findings_by_structurer: `tables.STRUCTURED_FINDINGS` of the same reports.
        gold: rows that people coded, as of `gold_rows`; None or empty: there are none.
            Only studies that have such rows count in their comparison.
    """
    rows_by_structurer = {
        structurer: _rows_of(findings)
        for structurer, findings in findings_by_structurer.items()
    }
    lines: list[dict[str, object]] = []
    if gold is not None and len(gold):
        coded = _rows_of(gold)
        # People code a sample. What a structurer reads in other reports is neither
        # right nor wrong.
        for structurer, rows in rows_by_structurer.items():
            of_coded = {study: rows[study] for study in coded if study in rows}
            names = {"structurer_1": GOLD, "structurer_2": structurer}
            lines += [names | line for line in _compare(coded, of_coded)]
    for (first, rows), (second, other_rows) in combinations(
        rows_by_structurer.items(), 2
    ):
        names = {"structurer_1": first, "structurer_2": second}
        lines += [names | line for line in _compare(rows, other_rows)]
    return STRUCTURING_AGREEMENT.frame(lines)


def gold_rows(findings: pd.DataFrame) -> pd.DataFrame:
    """Bring delivered rows (`tables.FINDINGS`) to the form of structured ones.

    Names are canonical, and references are by section and number.
    """
    keys = findings["section"].astype(str) + ":" + findings["ent_idx"].astype(str)
    key_by_id = dict(zip(findings["finding_id"], keys, strict=True))
    gold = findings.rename(columns={"name": "normed_ent"})
    for column in _REFERENCES:
        # A reference that leads to none of the delivered rows is left out.
        gold[column] = [
            [key_by_id[id_] for id_ in ids if id_ in key_by_id]
            for ids in findings[column]
        ]
    return gold


def _rows_of(findings: pd.DataFrame) -> _Rows:
    rows: _Rows = {}
    ordered = findings.sort_values(["study_id", "section", "ent_idx"], kind="stable")
    for cells in ordered.to_dict("records"):
        row: _Row = {"key": frozenset([f"{cells['section']}:{cells['ent_idx']}"])}
        for column in ("section", *_CODES):
            row[column] = frozenset([cells[column].lower()])
        for column in ("sent", "ent", *_SETS):
            row[column] = frozenset(_WORD.findall(cells[column].casefold()))
        for column in _REFERENCES:
            row[column] = frozenset(cells[column])
        rows.setdefault(cells["study_id"], []).append(row)
    return rows


# --- comparing


def _compare(first: _Rows, second: _Rows) -> Iterator[dict[str, object]]:
    """Compare two readings, one line of `tables.STRUCTURING_AGREEMENT` per field.

    Recall is the share of the first's values that the second has, precision the
    reverse.
    """
    matches: list[_Match] = []
    for study, rows in first.items():
        matches += _translated(list(_matches(rows, second.get(study, []))))
    counts_of_rows = {
        "first": sum(map(len, first.values())),
        "second": sum(map(len, second.values())),
    }
    yield _line("finding", matches, counts_of_rows | {"agreed": len(matches)})
    for field in (*_CODES, *_SETS, *_REFERENCES):
        counts = {
            "first": sum(len(match.first[field]) for match in matches),
            "second": sum(len(match.second[field]) for match in matches),
        }
        if field in _CODES:
            # Against all rows of either side (method.md section 8): a finding that the
            # other reading lacks has no right status there.
            counts = counts_of_rows
        agreed = sum(len(match.first[field] & match.second[field]) for match in matches)
        yield _line(field, matches, counts | {"agreed": agreed})


def _translated(matches: list[_Match]) -> list[_Match]:
    """Give references of second rows the keys of the first reading.

    Each reading numbers its rows in its own way: row 3 of one may be row 5 of the
    other. A row without a partner keeps a key that no row of the first has.
    """
    key_in_first = {
        key: match.first["key"] for match in matches for key in match.second["key"]
    }
    translated: list[_Match] = []
    for match in matches:
        second = dict(match.second)
        for column in _REFERENCES:
            second[column] = frozenset(
                "".join(key_in_first.get(key, f"~{key}")) for key in second[column]
            )
        translated.append(_Match(match.first, second))
    return translated


def _line(
    field: str, matches: list[_Match], counts: Mapping[str, int]
) -> dict[str, object]:
    """Write a line of `tables.STRUCTURING_AGREEMENT`, without the structurers.

    Args:
        field: what is compared.
        matches: the matched rows.
        counts: how many values each reading has, and how many both.
    """
    agreed = counts["agreed"]
    kappa = None
    if field in _KAPPA:
        kappa = _kappa(
            [(*match.first[field], *match.second[field]) for match in matches]
        )
    return {
        "field": field,
        "rows": len(matches),
        **counts,
        "precision": _ratio(agreed, counts["second"]),
        "recall": _ratio(agreed, counts["first"]),
        "f1": _ratio(2 * agreed, counts["first"] + counts["second"]),
        "kappa": kappa,
    }


def _ratio(count: float, total: float) -> float | None:
    """Divide; None where there is nothing to have a share of."""
    return count / total if total else None


def _kappa(pairs: list[tuple[str, ...]]) -> float | None:
    """Compute Cohen's kappa; None without pairs, or where all say one code."""
    codes = pd.DataFrame(pairs, columns=["first", "second"])
    shares_of_first = codes["first"].value_counts(normalize=True)
    shares_of_second = codes["second"].value_counts(normalize=True)
    # That most rows are "dp" makes many agree by chance.
    by_chance = shares_of_first.mul(shares_of_second, fill_value=0.0).sum()
    observed = (codes["first"] == codes["second"]).mean()
    return _ratio(observed - by_chance, 1.0 - by_chance)


# --- matching


def _matches(rows: list[_Row], other_rows: list[_Row]) -> Iterator[_Match]:
    """Match rows of a study, so that all together are most alike."""
    # Imported here: every command loads this module, and hardly one matches rows.
    from scipy.optimize import linear_sum_assignment

    likeness = np.zeros((len(rows), len(other_rows)))
    for number, row in enumerate(rows):
        for other_number, other_row in enumerate(other_rows):
            likeness[number, other_number] = _likeness(row, other_row)
    # All rows at once: of two opacities, matched one by one, the first might take the
    # partner that fits the second much better.
    numbers, other_numbers = linear_sum_assignment(likeness, maximize=True)
    for number, other_number in zip(numbers, other_numbers, strict=True):
        # The assignment gives a partner to as many as possible, alike or not.
        if likeness[number, other_number] > 0:
            yield _Match(rows[number], other_rows[other_number])


def _likeness(row: _Row, other_row: _Row) -> float:
    """Weigh what two rows have in common.

    Returns:
        0 in another section or sentence, or without a common word of the finding.
    """
    if row["section"] != other_row["section"]:
        return 0.0
    shares = {column: _dice(row[column], other_row[column]) for column in _WEIGHTS}
    if shares["sent"] < _MIN_SHARED_OF_SENTENCE or not shares["ent"]:
        return 0.0
    return sum(weight * shares[column] for column, weight in _WEIGHTS.items())


def _dice(first: frozenset[str], second: frozenset[str]) -> float:
    """Compute the share of words in common."""
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0
