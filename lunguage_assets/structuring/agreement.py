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
"""By column its code, its words, or the keys of the rows that it refers to; `key`: its
own."""
_Words = tuple[str, ...]


class _Wording(NamedTuple):
    """A sentence by its words."""

    section: str
    words: _Words


_Study = dict[_Wording, list[_Row]]
"""The rows of each sentence, in the order of their numbers."""


class MatchedRows(NamedTuple):
    """A row, and the row of the other reading that says the same."""

    study_id: str
    first: _Row
    second: _Row


class _Reading(NamedTuple):
    """The rows of one structurer, or of people, by study."""

    name: str
    studies: Mapping[str, _Study]


def structuring_agreement(
    read: Mapping[str, pd.DataFrame], gold: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Compare every two readings: `tables.STRUCTURING_AGREEMENT`, people's rows first.

    Args:
        read: `tables.STRUCTURED_FINDINGS` of the same reports, by structurer.
        gold: rows that people coded, as of `gold_rows`; None or empty: there are none.
            Only studies that have such rows count in their comparison.
    """
    readings = [_Reading(name, _studies_of(frame)) for name, frame in read.items()]
    lines: list[dict[str, object]] = []
    if gold is not None and len(gold):
        coded = _Reading(GOLD, _studies_of(gold))
        for reading in readings:
            lines += _compare(coded, reading, set(coded.studies))
    for first, second in combinations(readings, 2):
        lines += _compare(first, second, {*first.studies, *second.studies})
    return STRUCTURING_AGREEMENT.frame(lines)


def gold_rows(findings: pd.DataFrame) -> pd.DataFrame:
    """Bring delivered rows (`tables.FINDINGS`) to the form of structured ones.

    Names are canonical, and references are by section and number.
    """
    numbers = findings["section"].astype(str) + ":" + findings["ent_idx"].astype(str)
    key_by_id = dict(
        zip(findings["finding_id"].tolist(), numbers.tolist(), strict=True)
    )
    gold = findings.rename(columns={"name": "normed_ent"})
    for column in _REFERENCES:
        cells: list[list[str]] = []
        for finding_ids in findings[column].tolist():
            cells.append([key_by_id[id_] for id_ in finding_ids if id_ in key_by_id])
        gold[column] = cells
    return gold


def matched_rows(read: pd.DataFrame, gold: pd.DataFrame) -> Iterator[MatchedRows]:
    """Match rows with the rows that people coded, study by study."""
    coded = _studies_of(gold)
    of_coded_studies = read[read["study_id"].isin(coded.keys())]
    for study_id, study in _studies_of(of_coded_studies).items():
        yield from _match(study_id, study, coded[study_id])


def _studies_of(frame: pd.DataFrame) -> dict[str, _Study]:
    studies: dict[str, _Study] = {}
    ordered = frame.sort_values(["study_id", "section", "ent_idx"], kind="stable")
    for cells in ordered.to_dict("records"):
        row: _Row = {"key": frozenset([f"{cells['section']}:{cells['ent_idx']}"])}
        for column in _CODES:
            row[column] = frozenset([cells[column].lower()])
        for column in ("ent", *_SETS):
            row[column] = frozenset(_words_of(cells[column]))
        for column in _REFERENCES:
            row[column] = frozenset(cells[column])
        wording = _Wording(cells["section"], _words_of(cells["sent"]))
        study = studies.setdefault(cells["study_id"], {})
        study.setdefault(wording, []).append(row)
    return studies


def _words_of(text: str) -> _Words:
    return tuple(_WORD.findall(text.casefold()))


# --- comparing


class _Counts:
    """What two readings have, and have in common, by field."""

    def __init__(self) -> None:
        self.rows_of_first = 0
        self.rows_of_second = 0
        self.matched = 0
        fields = (*_CODES, *_SETS, *_REFERENCES)
        self.values = {field: np.zeros(3, dtype=int) for field in fields}
        """Values of the first, of the second, and common ones."""
        self.codes: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {
            field: [] for field in _KAPPA
        }

    def add(self, first: _Study, second: _Study) -> None:
        """Count what two readings of one study say."""
        pairs = list(_match("", first, second))
        self.rows_of_first += sum(len(rows) for rows in first.values())
        self.rows_of_second += sum(len(rows) for rows in second.values())
        self.matched += len(pairs)
        key_in_first: dict[str, frozenset[str]] = {}
        for pair in pairs:
            for key in pair.second["key"]:
                key_in_first[key] = pair.first["key"]
        for pair in pairs:
            for field in (*_CODES, *_SETS):
                self._add_values(field, pair, pair.second[field])
            for field in _REFERENCES:
                # A reference of the second, by the keys of the first.
                referred = _translated(pair.second[field], key_in_first)
                self._add_values(field, pair, referred)
            for field, codes in self.codes.items():
                codes.append((pair.first[field], pair.second[field]))

    def _add_values(
        self, field: str, pair: MatchedRows, of_second: frozenset[str]
    ) -> None:
        of_first = pair.first[field]
        common = of_first & of_second
        self.values[field] += (len(of_first), len(pair.second[field]), len(common))


def _translated(
    keys: frozenset[str], key_in_first: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    nobody = frozenset([""])
    return frozenset[str]().union(*(key_in_first.get(key, nobody) for key in keys))


def _compare(
    first: _Reading, second: _Reading, studies: set[str]
) -> Iterator[dict[str, object]]:
    """Compare two readings of these studies, one line per field."""
    counts = _Counts()
    for study_id in sorted(studies):
        counts.add(first.studies.get(study_id, {}), second.studies.get(study_id, {}))
    rows = (counts.rows_of_first, counts.rows_of_second)
    yield _line(first, second, "finding", counts, (*rows, counts.matched))
    for field, values in counts.values.items():
        of_first, of_second, agreed = values.tolist()
        if field in _CODES:
            # Of all rows of either side: a finding with its right status, say.
            of_first, of_second = rows
        yield _line(first, second, field, counts, (of_first, of_second, agreed))


def _line(
    first: _Reading,
    second: _Reading,
    field: str,
    counts: _Counts,
    values: tuple[int, int, int],
) -> dict[str, object]:
    """Write a line of `tables.STRUCTURING_AGREEMENT`.

    Args:
        first: the one reading.
        second: the other.
        field: what is compared.
        counts: of both readings.
        values: of the first, of the second, and common ones.
    """
    of_first, of_second, agreed = values
    of_both = of_first + of_second
    return {
        "structurer_1": first.name,
        "structurer_2": second.name,
        "field": field,
        "rows": counts.matched,
        "first": of_first,
        "second": of_second,
        "agreed": agreed,
        "precision": agreed / of_second if of_second else None,
        "recall": agreed / of_first if of_first else None,
        "f1": 2 * agreed / of_both if of_both else None,
        "kappa": _kappa(counts.codes.get(field, ())),
    }


def _kappa(pairs: Sequence[tuple[frozenset[str], frozenset[str]]]) -> float | None:
    """Compute Cohen's kappa.

    Returns:
        None without pairs, or where both always say the same one code.
    """
    if not pairs:
        return None
    counts_of_first = Counter(first for first, _ in pairs)
    counts_of_second = Counter(second for _, second in pairs)
    by_chance = sum(
        count * counts_of_second[code] for code, count in counts_of_first.items()
    )
    expected = by_chance / len(pairs) ** 2
    if expected == 1.0:
        return None
    agreed = sum(first == second for first, second in pairs)
    return (agreed / len(pairs) - expected) / (1.0 - expected)


# --- matching


def _match(study_id: str, first: _Study, second: _Study) -> Iterator[MatchedRows]:
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
            for other_number, other in enumerate(other_rows):
                likeness[number, other_number] = _likeness(row, other)
        for number, other_number in zip(*linear_sum_assignment(-likeness), strict=True):
            if likeness[number, other_number] > 0:
                yield MatchedRows(study_id, rows[number], other_rows[other_number])


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


def _likeness(row: _Row, other: _Row) -> float:
    """Weigh what two rows have in common; 0 without a common word of the finding."""
    words = _dice(row["ent"], other["ent"])
    if not words:
        return 0.0
    location = _dice(row["location"], other["location"])
    is_same_name = row["normed_ent"] == other["normed_ent"]
    return (
        _WEIGHT_OF_WORDS * words
        + _WEIGHT_OF_LOCATION * location
        + _WEIGHT_OF_NAME * is_same_name
    )


def _dice(first: Collection[str], second: Collection[str]) -> float:
    """Compute the share of words in common, counted as often as they stand there."""
    common = (Counter(first) & Counter(second)).total()
    return 2 * common / (len(first) + len(second)) if common else 0.0
