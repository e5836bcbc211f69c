"""Merging as implicit.md section 2 says it, row by row: slow, and what the fast merging is held against.

Every pair of rows is compared, every cross link of two groups is looked at, and attributes are united one row
after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from lunguage_assets.implicit.encoders import Embedder, pair_cosines
from lunguage_assets.implicit.merging.beliefs import assign_beliefs
from lunguage_assets.implicit.merging.blacklist import Blacklist
from lunguage_assets.implicit.merging.candidates import linearised
from lunguage_assets.implicit.merging.deduplicate import (
    _blocks,
    _move_references,
    _take_part,
)
from lunguage_assets.implicit.merging.distinctions import course, marks, unite_attributes
from lunguage_assets.implicit.rows import PAPER, Row, by_study, claim_preference, read_rows, write_rows
from lunguage_assets.implicit.words import united_tokens
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import DEDUPLICATED_FINDINGS, FINDING_COLUMNS

Pair = tuple[int, int, float]


def plainly_deduplicated(
    findings: pd.DataFrame,
    probabilities: pd.DataFrame,
    embedder: Embedder,
    blacklist: Blacklist,
    settings: ImplicitSettings,
) -> pd.DataFrame:
    rows = read_rows(findings, FINDING_COLUMNS)
    _take_part(rows, embedder.identity, settings)
    assign_beliefs(rows, probabilities)
    listed = blacklist.of_the_paper() if settings.mode == PAPER else blacklist
    studies = by_study(rows)
    for study in studies:
        for block in _blocks(study):
            pairs = _pairs(block, embedder, listed, settings)
            for group in plain_complete_link(len(block), pairs):
                _merge([block[number] for number in group], _by_id(block, pairs), blacklist)
        _move_references(study)
    return write_rows(DEDUPLICATED_FINDINGS, [row for study in studies for row in study])


def plain_complete_link(size: int, pairs: Sequence[Pair]) -> list[list[int]]:
    groups = [[number] for number in range(size)]
    listed = {(a, b) for a, b, _ in pairs}
    for a, b, _ in sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1])):
        one = next(group for group in groups if a in group)
        other = next(group for group in groups if b in group)
        if one is not other and all((min(x, y), max(x, y)) in listed for x in one for y in other):
            groups.remove(other)
            one += other
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _pairs(
    block: Sequence[Row], embedder: Embedder, blacklist: Blacklist, settings: ImplicitSettings
) -> list[Pair]:
    found = []
    for a, b in combinations(range(len(block)), 2):
        one, other = block[a], block[b]
        if _separated(one, other, blacklist):
            continue
        phrases = linearised(one), linearised(other)
        alike = phrases[0] == phrases[1]
        cosine = 1.0 if alike else float(pair_cosines(embedder, phrases, [0], [1])[0])
        if cosine >= settings.merge_threshold:
            found.append((a, b, cosine))
    return found


def _separated(one: Row, other: Row, blacklist: Blacklist) -> bool:
    listed, values, courses = [], [], []
    for row in (one, other):
        phrase = linearised(row)
        listed.append(blacklist.marks((phrase, row.name, ", ".join(row.location_parts)), (phrase, row.name)))
        values.append(marks(f"{phrase}, {row.placement}" if row.placement else phrase))
        courses.append(course(row.improved, row.no_change, row.worsened))
    if blacklist.separates(*listed):
        return True
    return one.mode != PAPER and (values[0].differ(values[1]) or courses[0].differs(courses[1]))


def _by_id(block: Sequence[Row], pairs: Sequence[Pair]) -> dict[frozenset[str], float]:
    return {frozenset((block[a].finding_id, block[b].finding_id)): cosine for a, b, cosine in pairs}


def _merge(group: Sequence[Row], cosines: dict[frozenset[str], float], blacklist: Blacklist) -> None:
    survivor = min(group, key=claim_preference)
    others = [row for row in group if row is not survivor]
    for row in others:
        unite_attributes(survivor, row, blacklist.separates_phrases)
    survivor.evidence = united_tokens(survivor.evidence, *(row.evidence for row in others))
    survivor.associate = united_tokens(survivor.associate, *(row.associate for row in others))
    survivor.merged_ids = tuple(sorted(row.finding_id for row in others))
    for row in others:
        row.disposition = "merged"
        row.merged_into = survivor.finding_id
        pairs = (frozenset((row.finding_id, member.finding_id)) for member in group if member is not row)
        row.merge_similarity = min(1.0, max(cosines[pair] for pair in pairs))
