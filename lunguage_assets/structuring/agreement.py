"""How far readings of the same reports agree: of structurers, and of people.

Rows are matched first, one to one within a sentence; then what matched rows say is
compared column by column (method.md section 8).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
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

Rows that people coded come with sentences of their own.
"""

# What common words of the finding, of its location, and one name count for in the
# matching.
_WEIGHT_OF_WORDS = 4.0
_WEIGHT_OF_LOCATION = 2.0
_WEIGHT_OF_NAME = 1.0

_Row = dict[str, frozenset[str]]
"""A row by column: its code, its words, or the keys of the rows that it refers to.

`key` has the row's own key, "find:2".
"""
_Words = tuple[str, ...]


class _Wording(NamedTuple):
    """A sentence by its words."""

    section: str
    words: _Words


_Study = dict[_Wording, list[_Row]]
"""The rows of each sentence, in the order of their numbers."""


class _MatchedRows(NamedTuple):
    """A row, and the row of the other reading that says the same."""

    study_id: str
    first: _Row
    second: _Row


class _Reading(NamedTuple):
    """The rows of one structurer, or of people, by study."""

    name: str
    studies: Mapping[str, _Study]


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
    readings = [
        _Reading(structurer, _studies_of(findings))
        for structurer, findings in findings_by_structurer.items()
    ]
    lines: list[dict[str, object]] = []
    if gold is not None and len(gold):
        coded = _Reading(GOLD, _studies_of(gold))
        for reading in readings:
            # People code a sample. What a structurer reads in other reports is neither
            # right nor wrong.
            lines += _compare(coded, reading, set(coded.studies))
    for first, second in combinations(readings, 2):
        # Of two structurers a report counts that only one of them reads anything in.
        lines += _compare(first, second, {*first.studies, *second.studies})
    return STRUCTURING_AGREEMENT.frame(lines)


def gold_rows(findings: pd.DataFrame) -> pd.DataFrame:
    """Bring delivered rows (`tables.FINDINGS`) to the form of structured ones.

    Names are canonical, and references are by section and number.
    """
    keys = findings["section"].astype(str) + ":" + findings["ent_idx"].astype(str)
    key_by_id = dict(zip(findings["finding_id"].tolist(), keys.tolist(), strict=True))
    gold = findings.rename(columns={"name": "normed_ent"})
    for column in _REFERENCES:
        references: list[list[str]] = []
        for ids in findings[column].tolist():
            # A reference that leads to none of the delivered rows is left out.
            references.append([key_by_id[id_] for id_ in ids if id_ in key_by_id])
        gold[column] = references
    return gold


def _studies_of(findings: pd.DataFrame) -> dict[str, _Study]:
    studies: dict[str, _Study] = {}
    ordered = findings.sort_values(["study_id", "section", "ent_idx"], kind="stable")
    for cells in ordered.to_dict("records"):
        row: _Row = {"key": frozenset([f"{cells['section']}:{cells['ent_idx']}"])}
        for column in _CODES:
            row[column] = frozenset([cells[column].lower()])
        for column in ("ent", *_SETS):
            row[column] = frozenset(_words_of(cells[column]))
        for column in _REFERENCES:
            row[column] = frozenset(cells[column])
        # By its words, not by its number: people may have numbered sentences otherwise.
        wording = _Wording(cells["section"], _words_of(cells["sent"]))
        study = studies.setdefault(cells["study_id"], {})
        study.setdefault(wording, []).append(row)
    return studies


def _words_of(text: str) -> _Words:
    return tuple(_WORD.findall(text.casefold()))


# --- comparing


class _ValueCounts(NamedTuple):
    """How many values two readings have in a field, and have in common."""

    first: int
    second: int
    agreed: int


class _Counts:
    """What two readings have, and have in common, by field."""

    def __init__(self) -> None:
        self.rows_of_first = 0
        self.rows_of_second = 0
        self.matched = 0
        fields = (*_CODES, *_SETS, *_REFERENCES)
        self.values = {field: np.zeros(3, dtype=int) for field in fields}
        """The numbers of a `_ValueCounts`, over matched rows."""
        self.codes: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {
            field: [] for field in _KAPPA
        }

    def add(self, first: _Study, second: _Study) -> None:
        """Count what two readings of one study say."""
        pairs = list(_match("", first, second))
        self.rows_of_first += sum(len(rows) for rows in first.values())
        self.rows_of_second += sum(len(rows) for rows in second.values())
        self.matched += len(pairs)
        # Each reading numbers its rows in its own way: row 3 of one may be row 5 of the
        # other.
        key_in_first: dict[str, frozenset[str]] = {}
        for pair in pairs:
            for key in pair.second["key"]:
                key_in_first[key] = pair.first["key"]
        for pair in pairs:
            for field in (*_CODES, *_SETS):
                self._add_values(field, pair, pair.second[field])
            for field in _REFERENCES:
                of_second = _translated(pair.second[field], key_in_first)
                self._add_values(field, pair, of_second)
            for field, codes in self.codes.items():
                codes.append((pair.first[field], pair.second[field]))

    def _add_values(
        self, field: str, pair: _MatchedRows, of_second: frozenset[str]
    ) -> None:
        """Count the values of two matched rows in a field.

        Args:
            field: of both rows.
            pair: the rows.
            of_second: values of the second row, in the words of the first.
        """
        of_first = pair.first[field]
        agreed = of_first & of_second
        # Counted before the translation, which makes one of all references to rows
        # without a partner.
        self.values[field] += (len(of_first), len(pair.second[field]), len(agreed))


def _translated(
    keys: frozenset[str], key_in_first: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    """Give the keys of the first reading for rows of the second.

    A row without a partner gets the key "", which no row has: a reference to it agrees
    with none.
    """
    without_partner = frozenset([""])
    translated: set[str] = set()
    for key in keys:
        translated |= key_in_first.get(key, without_partner)
    return frozenset(translated)


def _compare(
    first: _Reading, second: _Reading, studies: set[str]
) -> Iterator[dict[str, object]]:
    """Compare two readings of these studies, one line per field."""
    counts = _Counts()
    for study_id in sorted(studies):
        counts.add(first.studies.get(study_id, {}), second.studies.get(study_id, {}))
    rows = _ValueCounts(counts.rows_of_first, counts.rows_of_second, counts.matched)
    yield _line(first, second, "finding", counts, rows)
    for field, totals in counts.values.items():
        values = _ValueCounts(*totals.tolist())
        if field in _CODES:
            # Against all rows of either side (method.md section 8): a finding that the
            # other reading lacks has no right status there.
            values = rows._replace(agreed=values.agreed)
        yield _line(first, second, field, counts, values)


def _line(
    first: _Reading,
    second: _Reading,
    field: str,
    counts: _Counts,
    values: _ValueCounts,
) -> dict[str, object]:
    """Write a line of `tables.STRUCTURING_AGREEMENT`.

    Args:
        first: the one reading; recall is the share of its values that the other has.
        second: the other; precision is the share of its values that the first has.
        field: what is compared.
        counts: of both readings.
        values: of the field.
    """
    return {
        "structurer_1": first.name,
        "structurer_2": second.name,
        "field": field,
        "rows": counts.matched,
        "first": values.first,
        "second": values.second,
        "agreed": values.agreed,
        "precision": _ratio(values.agreed, values.second),
        "recall": _ratio(values.agreed, values.first),
        "f1": _ratio(2 * values.agreed, values.first + values.second),
        "kappa": _kappa(counts.codes.get(field, ())),
    }


def _ratio(count: int, total: int) -> float | None:
    """Divide; None where there is nothing to have a share of."""
    return count / total if total else None


def _kappa(pairs: Sequence[tuple[frozenset[str], frozenset[str]]]) -> float | None:
    """Compute Cohen's kappa.

    Returns:
        None without pairs, or where both always say the same one code.
    """
    if not pairs:
        return None
    counts_of_first = Counter(first for first, _ in pairs)
    counts_of_second = Counter(second for _, second in pairs)
    # Pairs of equal codes, if the codes of one reading were dealt out at random to the
    # rows of the other: that most rows are "dp" makes many agree by chance.
    pairs_by_chance = sum(
        count * counts_of_second[code] for code, count in counts_of_first.items()
    )
    expected = pairs_by_chance / len(pairs) ** 2
    if expected == 1.0:
        return None
    observed = sum(first == second for first, second in pairs) / len(pairs)
    return (observed - expected) / (1.0 - expected)


# --- matching


def _match(study_id: str, first: _Study, second: _Study) -> Iterator[_MatchedRows]:
    """Match rows of the same sentence, so that all together are most alike.

    Matched rows have a word of the finding in common.

    Args:
        study_id: of both readings.
        first: the one reading.
        second: the other.
    """
    # Imported here: every command loads this module, and hardly one matches rows.
    from scipy.optimize import linear_sum_assignment

    for wording, other_wording in _same_sentences(first, second):
        rows = first[wording]
        other_rows = second[other_wording]
        likeness = np.empty((len(rows), len(other_rows)))
        for number, row in enumerate(rows):
            for other_number, other_row in enumerate(other_rows):
                likeness[number, other_number] = _likeness(row, other_row)
        # All rows at once: of two opacities, matched one by one, the first might take
        # the partner that fits the second much better. Negative, because the least cost
        # is looked for.
        numbers, other_numbers = linear_sum_assignment(-likeness)
        for number, other_number in zip(numbers, other_numbers, strict=True):
            # The assignment gives a partner to as many as possible, alike or not.
            if likeness[number, other_number] > 0:
                yield _MatchedRows(study_id, rows[number], other_rows[other_number])


def _same_sentences(
    first: _Study, second: _Study
) -> Iterator[tuple[_Wording, _Wording]]:
    """Pair sentences: the same wording first, then those with the most common words."""
    for wording in first:
        if wording in second:
            yield wording, wording
    yield from _similar_sentences(
        [wording for wording in first if wording not in second],
        [wording for wording in second if wording not in first],
    )


def _similar_sentences(
    first: Sequence[_Wording], second: Sequence[_Wording]
) -> Iterator[tuple[_Wording, _Wording]]:
    """Pair sentences of a section by common words, each with one of the other reading.

    People's rows may come with a sentence that was shortened or corrected.
    """
    shares: list[tuple[float, int, int]] = []
    for number, wording in enumerate(first):
        for other_number, other_wording in enumerate(second):
            if wording.section == other_wording.section:
                share = _dice(wording.words, other_wording.words)
                # Negative, so that the largest share is the first in order.
                shares.append((-share, number, other_number))
    used: set[int] = set()
    used_of_second: set[int] = set()
    for negative_share, number, other_number in sorted(shares):
        is_free = number not in used and other_number not in used_of_second
        if is_free and -negative_share >= _MIN_SHARED_OF_SENTENCE:
            used.add(number)
            used_of_second.add(other_number)
            yield first[number], second[other_number]


def _likeness(row: _Row, other_row: _Row) -> float:
    """Weigh what two rows have in common; 0 without a common word of the finding."""
    words = _dice(row["ent"], other_row["ent"])
    if not words:
        return 0.0
    location = _dice(row["location"], other_row["location"])
    is_same_name = row["normed_ent"] == other_row["normed_ent"]
    return (
        _WEIGHT_OF_WORDS * words
        + _WEIGHT_OF_LOCATION * location
        + _WEIGHT_OF_NAME * is_same_name
    )


def _dice(first: Collection[str], second: Collection[str]) -> float:
    """Compute the share of words in common, counted as often as they stand there."""
    common = (Counter(first) & Counter(second)).total()
    return 2 * common / (len(first) + len(second)) if common else 0.0
