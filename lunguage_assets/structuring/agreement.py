"""How far readings of the same reports agree: of structurers, and of people.

Rows are matched first, one to one within a sentence; then what matched rows say is
compared column by column (method.md section 8).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pandas as pd

from lunguage_assets.tables.columns import ATTRIBUTES
from lunguage_assets.tables.corpus import STRUCTURING_AGREEMENT

GOLD = "gold"
"""Name of people's rows among the structurers; recall is the share of them found."""

_CODES = ("normed_ent", "cat", "status")
"""Columns that are compared whole; the others word by word."""
_WORDS = ("location", *ATTRIBUTES)
_WEIGHTS = {"sent": 8.0, "ent": 4.0, "location": 2.0, "normed_ent": 1.0}
"""What common words of a column count for in the matching."""
_MIN_SHARED_OF_SENTENCE = 0.5
"""Share of words that two wordings of one sentence have in common at least.

Rows that people coded come with sentences of their own: numbered otherwise, shortened
or corrected.
"""


def structuring_agreement(
    findings_by_structurer: Mapping[str, pd.DataFrame],
    gold: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compare every two readings: `tables.STRUCTURING_AGREEMENT`, people's rows first.

    Args:
        findings_by_structurer: `tables.STRUCTURED_FINDINGS` of the same reports.
        gold: rows that people coded, with the same columns; None or empty: there are
            none. Only studies that have such rows count in their comparison.
    """
    readings = dict(findings_by_structurer)
    if gold is not None and len(gold):
        readings = {GOLD: gold, **readings}
    lines: list[dict[Any, Any]] = []
    for first, second in combinations(readings, 2):
        rows = readings[first]
        other_rows = readings[second]
        if first == GOLD:
            # People code a sample. What a structurer reads in other reports is neither
            # right nor wrong.
            other_rows = other_rows[other_rows["study_id"].isin(rows["study_id"])]
        agreement = _compare(rows, other_rows)
        agreement = agreement.assign(structurer_1=first, structurer_2=second)
        lines += agreement.to_dict("records")
    return STRUCTURING_AGREEMENT.frame(lines)


def _compare(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compare two readings, one line of `tables.STRUCTURING_AGREEMENT` per field.

    Recall is the share of the first's values that the second has, precision the
    reverse.
    """
    matches = _matches(_values(first), _values(second))
    # Codes count against all rows of either side (method.md section 8): a finding that
    # the other reading lacks has no right status there.
    counts = {"finding": (len(first), len(second), len(matches))}
    for field in (*_CODES, *_WORDS):
        values = matches[f"{field}_first"]
        other_values = matches[f"{field}_second"]
        common = sum(map(len, map(frozenset.intersection, values, other_values)))
        totals = (len(first), len(second))
        if field in _WORDS:
            totals = (sum(map(len, values)), sum(map(len, other_values)))
        counts[field] = (*totals, common)
    columns = ["first", "second", "agreed"]
    table = pd.DataFrame.from_dict(counts, orient="index", columns=columns)
    # 0 of 0 is null: there is nothing to have a share of.
    table["precision"] = table["agreed"] / table["second"]
    table["recall"] = table["agreed"] / table["first"]
    table["f1"] = 2 * table["agreed"] / (table["first"] + table["second"])
    # Codes of few values, of which some agree by chance.
    table["kappa"] = pd.Series(
        {field: _kappa(matches, field) for field in ("cat", "status")}
    )
    return table.assign(rows=len(matches)).rename_axis("field").reset_index()


def _kappa(matches: pd.DataFrame, field: str) -> float | None:
    """Compute Cohen's kappa; None without matches, or where all say one code."""
    codes = matches[f"{field}_first"]
    other_codes = matches[f"{field}_second"]
    shares = codes.value_counts(normalize=True)
    # That most rows are "dp" makes many agree by chance.
    by_chance = shares.mul(other_codes.value_counts(normalize=True)).sum()
    if codes.empty or by_chance == 1.0:
        return None
    return ((codes == other_codes).mean() - by_chance) / (1.0 - by_chance)


def _values(findings: pd.DataFrame) -> pd.DataFrame:
    """Give each row the set of its words by column; a code is one word."""
    ordered = findings.sort_values(["study_id", "section", "ent_idx"])
    values = ordered[["study_id", "section"]].reset_index()
    for column in ("sent", "ent", *_CODES, *_WORDS):
        pattern = r".+" if column in _CODES else r"\w+"
        words = ordered[column].str.casefold().str.findall(pattern)
        values[column] = words.map(frozenset).to_numpy()
    return values


def _matches(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Match rows of a section, so that all together are most alike."""
    # Imported here: every command loads this module, and hardly one matches rows.
    from scipy.optimize import linear_sum_assignment

    section = ["study_id", "section"]
    pairs = first.merge(second, on=section, suffixes=("_first", "_second"))
    pairs["likeness"] = 0.0
    for column, weight in _WEIGHTS.items():
        words = pairs[f"{column}_first"]
        pairs[column] = list(map(_share, words, pairs[f"{column}_second"]))
        pairs["likeness"] += weight * pairs[column]
    # Rows of two sentences, or without a common word of the finding, are no pair.
    is_other = (pairs["sent"] < _MIN_SHARED_OF_SENTENCE) | (pairs["ent"] == 0.0)
    pairs.loc[is_other, "likeness"] = 0.0
    matched: list[int] = []
    for _, pairs_of_section in pairs.groupby(section):
        # All rows at once: of two opacities, matched one by one, the first might take
        # the partner that fits the second much better. Pairs of one row of the first
        # reading stand together.
        shape = (pairs_of_section["index_first"].nunique(), -1)
        likeness = pairs_of_section["likeness"].to_numpy().reshape(shape)
        numbers = pairs_of_section.index.to_numpy().reshape(shape)
        matched += numbers[linear_sum_assignment(likeness, maximize=True)].tolist()
    # The assignment gives a partner to as many as possible, alike or not.
    return pairs.loc[matched].query("likeness > 0")


def _share(words: frozenset[str], other_words: frozenset[str]) -> float:
    """Compute the share of words in common; nothing has none."""
    total = len(words) + len(other_words)
    return 2 * len(words & other_words) / max(total, 1)
