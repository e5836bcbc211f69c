"""How far two readings of the same reports agree: structurers with each other, and with people's own coding
(method.md section 8).

Rows are matched first, one to one within a sentence, by the words of the finding; then what the matched rows
say is compared, column by column. Everything is counted over all studies that both have read.
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
"""Name of the gold rows among the structurers; they come first, and recall is the share of them found."""

_CODES = ("normed_ent", "cat", "status")
_SETS = ("location", *ATTRIBUTES)
"""Columns that are compared word by word: "left lower lobe" and "lobe, lower" have two words in common."""

_REFERENCES = ("evidence", "associate")
_KAPPA = ("cat", "status")
_WORD = re.compile(r"\w+")

_SAME_SENTENCE = 0.5
"""Two wordings are one sentence when at least this share of their words is common; gold rows come with
sentences of their own.
"""

_WORDS, _PLACE, _NAME = 4.0, 2.0, 1.0
"""What common words of the finding, common words of its place, and one name count for in the matching: the
words decide, places tell rows of the same words apart.
"""


class _Row(NamedTuple):
    """A row, as far as it is compared. `key`: how other rows of its study refer to it; `ent`: its words;
    `said`: by column its code, its words, or the keys that it refers to.
    """

    key: str
    ent: frozenset[str]
    said: Mapping[str, frozenset[str]]


_Wording = tuple[str, ...]
_Sentences = dict[_Wording, list[_Row]]
_Studies = dict[str, dict[str, _Sentences]]
"""Study -> section -> words of a sentence -> its rows, in the order of their numbers."""


def structuring_agreement(read: Mapping[str, pd.DataFrame], gold: pd.DataFrame | None = None) -> pd.DataFrame:
    """`tables.STRUCTURING_AGREEMENT` of every two readings, in the order given, gold first.

    Args:
        read: `tables.STRUCTURED_FINDINGS` of the same reports, by structurer.
        gold: rows that people coded, as in `gold_rows`; None or empty: there are none. Only studies that have
            gold rows count in its comparison.
    """
    studies = {key: _studies(frame) for key, frame in read.items()}
    lines: list[dict[str, object]] = []
    if gold is not None and len(gold):
        coded = _studies(gold)
        for key, own in studies.items():
            lines += _compared(GOLD, coded, key, own, {*coded})
    for (one, mine), (other, theirs) in combinations(studies.items(), 2):
        lines += _compared(one, mine, other, theirs, {*mine, *theirs})
    return STRUCTURING_AGREEMENT.frame(lines)


def gold_rows(findings: pd.DataFrame) -> pd.DataFrame:
    """`tables.FINDINGS` of delivered Lunguage rows as gold: their canonical names, and references by section
    and number; a reference to a bare name is left out.
    """
    numbers = findings["section"].astype(str) + ":" + findings["ent_idx"].astype(str)
    key_of = dict(zip(findings["finding_id"].tolist(), numbers.tolist(), strict=True))
    gold = findings.rename(columns={"name": "normed_ent"})
    for column in _REFERENCES:
        gold[column] = [[key_of[one] for one in cell if one in key_of] for cell in findings[column].tolist()]
    return gold


def _studies(frame: pd.DataFrame) -> _Studies:
    found: _Studies = {}
    ordered = frame.sort_values(["study_id", "section", "ent_idx"], kind="stable")
    for row in ordered.to_dict("records"):
        said = {name: frozenset((row[name].lower(),)) for name in _CODES}
        said |= {name: frozenset(_words(row[name])) for name in _SETS}
        said |= {name: frozenset(row[name]) for name in _REFERENCES}
        one = _Row(f"{row['section']}:{row['ent_idx']}", frozenset(_words(row["ent"])), said)
        sentences = found.setdefault(row["study_id"], {}).setdefault(row["section"], {})
        sentences.setdefault(_words(row["sent"]), []).append(one)
    return found


def _words(text: str) -> _Wording:
    return tuple(_WORD.findall(text.casefold()))


def _compared(
    one: str, first: _Studies, other: str, second: _Studies, studies: set[str]
) -> Iterator[dict[str, object]]:
    """One line per column of two readings of these studies."""
    counts = {name: np.zeros(3, dtype=int) for name in ("finding", *_CODES, *_SETS, *_REFERENCES)}
    codes: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {name: [] for name in _KAPPA}
    for study in sorted(studies):
        mine, theirs = first.get(study, {}), second.get(study, {})
        common = sorted(mine.keys() & theirs.keys())
        matched = [pair for section in common for pair in _matched(mine[section], theirs[section])]
        counts["finding"] += _size(mine), _size(theirs), len(matched)
        partner = {there.key: here.key for here, there in matched}
        for here, there in matched:
            for name, own in here.said.items():
                said = there.said[name]
                if name in _REFERENCES:
                    said = frozenset(partner.get(key, f"{key} without a partner") for key in said)
                counts[name] += len(own), len(said), len(own & said)
            for name, pairs in codes.items():
                pairs.append((here.said[name], there.said[name]))
    rows = counts["finding"].tolist()
    for name, count in counts.items():
        mine_n, theirs_n, agreed = count.tolist()
        if name in _CODES:  # judged against all rows of either side: a finding with its right status, say
            mine_n, theirs_n = rows[:2]
        yield {
            "structurer_1": one,
            "structurer_2": other,
            "field": name,
            "rows": rows[2],
            "first": mine_n,
            "second": theirs_n,
            "agreed": agreed,
            "precision": agreed / theirs_n if theirs_n else None,
            "recall": agreed / mine_n if mine_n else None,
            "f1": 2 * agreed / (mine_n + theirs_n) if mine_n + theirs_n else None,
            "kappa": _kappa(codes.get(name, ())),
        }


def _size(study: Mapping[str, _Sentences]) -> int:
    return sum(len(rows) for sentences in study.values() for rows in sentences.values())


def _matched(mine: _Sentences, theirs: _Sentences) -> Iterator[tuple[_Row, _Row]]:
    """Rows of the same sentence with a word of the finding in common, so that all together agree best."""
    from scipy.optimize import linear_sum_assignment  # late: every command loads this module

    for sentence, wording in _same_sentences(list(mine), list(theirs)):
        rows, others = mine[sentence], theirs[wording]
        likeness = np.array([[_likeness(row, other) for other in others] for row in rows])
        for place, partner in zip(*linear_sum_assignment(-likeness), strict=True):
            if likeness[place, partner] > 0:
                yield rows[place], others[partner]


def _same_sentences(
    mine: Sequence[_Wording], theirs: Sequence[_Wording]
) -> Iterator[tuple[_Wording, _Wording]]:
    """The same wording first; of the others those with the most words in common, each used once."""
    same = set(mine) & set(theirs)
    yield from ((sentence, sentence) for sentence in sorted(same))
    left, right = ([s for s in sentences if s not in same] for sentences in (mine, theirs))
    shares = [
        (-_dice(sentence, other), place, partner)
        for place, sentence in enumerate(left)
        for partner, other in enumerate(right)
    ]
    for share, place, partner in sorted(shares):
        if -share >= _SAME_SENTENCE and left[place] and right[partner]:
            yield left[place], right[partner]
            left[place] = right[partner] = ()


def _likeness(row: _Row, other: _Row) -> float:
    """0 without a common word of the finding."""
    common = _dice(row.ent, other.ent)
    if not common:
        return 0.0
    place = _dice(row.said["location"], other.said["location"])
    return _WORDS * common + _PLACE * place + _NAME * (row.said["normed_ent"] == other.said["normed_ent"])


def _dice(mine: Collection[str], theirs: Collection[str]) -> float:
    """Share of words in common, counted as often as they stand there."""
    common = (Counter(mine) & Counter(theirs)).total()
    return 2 * common / (len(mine) + len(theirs)) if common else 0.0


def _kappa(pairs: Sequence[tuple[frozenset[str], frozenset[str]]]) -> float | None:
    """Cohen's kappa; None without pairs, or where both always say the same one code."""
    mine, theirs = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(mine[code] * theirs[code] for code in mine) / len(pairs) ** 2 if pairs else 1.0
    agreed = sum(one == other for one, other in pairs)
    return None if chance == 1.0 else (agreed / len(pairs) - chance) / (1.0 - chance)
