"""How far two readings of the same reports agree: structurers with each other, and with people's own coding
(method.md section 8).

Rows are matched first, one to one within a sentence; then what matched rows say is compared by column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

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
"""Common words of two wordings of one sentence, as a share; gold rows come with sentences of their own."""

_WORDS, _PLACE, _NAME = 4.0, 2.0, 1.0
"""What common words of the finding, of its place, and one name count for in the matching."""

_Row = dict[str, frozenset[str]]
"""By column its code, its words, or the keys of the rows that it refers to; `key`: its own."""
_Wording = tuple[str, ...]
_Study = dict[_Wording, list[_Row]]
"""Section and words of a sentence -> its rows, in the order of their numbers."""


def structuring_agreement(
    read: Mapping[str, pd.DataFrame], gold: pd.DataFrame | None = None
) -> pd.DataFrame:
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
    """`tables.FINDINGS` of delivered rows as gold: canonical names, references by section and number only."""
    numbers = findings["section"].astype(str) + ":" + findings["ent_idx"].astype(str)
    key_of = dict(zip(findings["finding_id"].tolist(), numbers.tolist(), strict=True))
    gold = findings.rename(columns={"name": "normed_ent"})
    for column in _REFERENCES:
        gold[column] = [
            [key_of[one] for one in cell if one in key_of]
            for cell in findings[column].tolist()
        ]
    return gold


def matched_rows(
    read: pd.DataFrame, gold: pd.DataFrame
) -> Iterator[tuple[str, _Row, _Row]]:
    """Pairs of a row and the gold row that it is matched with, by study."""
    coded = _studies(gold)
    own = _studies(read[read["study_id"].isin(coded.keys())])
    for study, rows in own.items():
        for row, partner in _matched(rows, coded[study]):
            yield study, row, partner


def _studies(frame: pd.DataFrame) -> dict[str, _Study]:
    found: dict[str, _Study] = {}
    ordered = frame.sort_values(["study_id", "section", "ent_idx"], kind="stable")
    for row in ordered.to_dict("records"):
        own = {name: frozenset((row[name].lower(),)) for name in _CODES}
        own |= {name: frozenset(_words(row[name])) for name in ("ent", *_SETS)}
        own |= {name: frozenset(row[name]) for name in _REFERENCES}
        own["key"] = frozenset((f"{row['section']}:{row['ent_idx']}",))
        study = found.setdefault(row["study_id"], {})
        study.setdefault((row["section"], *_words(row["sent"])), []).append(own)
    return found


def _words(text: str) -> _Wording:
    return tuple(_WORD.findall(text.casefold()))


def _compared(
    one: str,
    first: Mapping[str, _Study],
    other: str,
    second: Mapping[str, _Study],
    studies: set[str],
) -> Iterator[dict[str, object]]:
    """One line per column of two readings of these studies."""
    counts = {
        name: np.zeros(3, dtype=int)
        for name in ("finding", *_CODES, *_SETS, *_REFERENCES)
    }
    codes: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {
        name: [] for name in _KAPPA
    }
    for study in sorted(studies):
        mine, theirs = first.get(study, {}), second.get(study, {})
        matched = list(_matched(mine, theirs))
        counts["finding"] += (
            sum(map(len, mine.values())),
            sum(map(len, theirs.values())),
            len(matched),
        )
        partner = {key: here["key"] for here, there in matched for key in there["key"]}
        nobody = frozenset(("",))
        for here, there in matched:
            for name in (*_CODES, *_SETS):
                counts[name] += (
                    len(here[name]),
                    len(there[name]),
                    len(here[name] & there[name]),
                )
            for name in _REFERENCES:
                meant = frozenset[str]().union(
                    *(partner.get(key, nobody) for key in there[name])
                )
                counts[name] += (
                    len(here[name]),
                    len(there[name]),
                    len(here[name] & meant),
                )
            for name, pairs in codes.items():
                pairs.append((here[name], there[name]))
    rows = counts["finding"].tolist()
    for name, count in counts.items():
        own, others, agreed = count.tolist()
        if (
            name in _CODES
        ):  # judged against all rows of either side: a finding with its right status, say
            own, others = rows[:2]
        yield {
            "structurer_1": one,
            "structurer_2": other,
            "field": name,
            "rows": rows[2],
            "first": own,
            "second": others,
            "agreed": agreed,
            "precision": agreed / others if others else None,
            "recall": agreed / own if own else None,
            "f1": 2 * agreed / (own + others) if own + others else None,
            "kappa": _kappa(codes.get(name, ())),
        }


def _matched(mine: _Study, theirs: _Study) -> Iterator[tuple[_Row, _Row]]:
    """Rows of the same sentence with a word of the finding in common, so that all together agree best."""
    from scipy.optimize import (
        linear_sum_assignment,
    )  # late: every command loads this module

    for sentence, wording in _same_sentences(mine, theirs):
        rows, others = mine[sentence], theirs[wording]
        likeness = np.array(
            [[_likeness(row, other) for other in others] for row in rows]
        )
        for place, partner in zip(*linear_sum_assignment(-likeness), strict=True):
            if likeness[place, partner] > 0:
                yield rows[place], others[partner]


def _same_sentences(
    mine: _Study, theirs: _Study
) -> Iterator[tuple[_Wording, _Wording]]:
    """The same wording first; of the others those with the most words in common, each used once."""
    yield from ((sentence, sentence) for sentence in mine if sentence in theirs)
    left, right = (
        [s for s in a if s not in b] for a, b in ((mine, theirs), (theirs, mine))
    )
    shares = [
        (-_dice(sentence[1:], other[1:]), place, partner)
        for place, sentence in enumerate(left)
        for partner, other in enumerate(right)
        if sentence[0] == other[0]
    ]
    for share, place, partner in sorted(shares):
        if -share >= _SAME_SENTENCE and left[place] and right[partner]:
            yield left[place], right[partner]
            left[place] = right[partner] = ()


def _likeness(row: _Row, other: _Row) -> float:
    """0 without a common word of the finding."""
    common = _dice(row["ent"], other["ent"])
    if not common:
        return 0.0
    place = _dice(row["location"], other["location"])
    return (
        _WORDS * common
        + _PLACE * place
        + _NAME * (row["normed_ent"] == other["normed_ent"])
    )


def _dice(mine: Collection[str], theirs: Collection[str]) -> float:
    """Share of words in common, counted as often as they stand there."""
    common = (Counter(mine) & Counter(theirs)).total()
    return 2 * common / (len(mine) + len(theirs)) if common else 0.0


def _kappa(pairs: Sequence[tuple[frozenset[str], frozenset[str]]]) -> float | None:
    """Cohen's kappa; None without pairs, or where both always say the same one code."""
    mine, theirs = (
        Counter(one for one, _ in pairs),
        Counter(other for _, other in pairs),
    )
    chance = (
        sum(mine[code] * theirs[code] for code in mine) / len(pairs) ** 2
        if pairs
        else 1.0
    )
    agreed = sum(one == other for one, other in pairs)
    return None if chance == 1.0 else (agreed / len(pairs) - chance) / (1.0 - chance)
