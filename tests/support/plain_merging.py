"""Merging as implicit.md section 2 says it, row by row: slow, and what the fast merging is held against."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from lunguage_assets.implicit.encoders.encoder import Embedder, pair_cosines
from lunguage_assets.implicit.merging.beliefs import assign_beliefs
from lunguage_assets.implicit.merging.blacklist import Blacklist
from lunguage_assets.implicit.merging.candidates import linearised
from lunguage_assets.implicit.merging.deduplicate import _rows, blocks_of, move_references
from lunguage_assets.implicit.merging.distinctions import (
    course,
    courses_differ,
    stated_values,
    unite_attributes,
)
from lunguage_assets.implicit.rows import PAPER, Row, by_study, claim_preference, united_tokens, write_rows
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import DEDUPLICATED_FINDINGS

Pair = tuple[int, int, float]


def plainly_deduplicated(
    findings: pd.DataFrame,
    probabilities: pd.DataFrame,
    embedder: Embedder,
    blacklist: Blacklist,
    settings: ImplicitSettings,
) -> pd.DataFrame:
    """Every pair of rows is compared, and every cross link of two groups is looked at."""
    rows = _rows(findings, embedder.identity, settings)
    assign_beliefs(rows, probabilities)
    listed = blacklist.of_the_paper() if settings.mode == PAPER else blacklist
    studies = by_study(rows)
    for study in studies:
        for block in blocks_of(study):
            pairs = _pairs(block, embedder, listed, settings.merge_threshold)
            for group in plain_complete_link(len(block), pairs):
                cosines = {frozenset((a, b)): cosine for a, b, cosine in pairs}
                _merge(block, group, cosines, blacklist)
        move_references(study)
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


def _pairs(block: Sequence[Row], embedder: Embedder, blacklist: Blacklist, threshold: float) -> list[Pair]:
    found = []
    for a, b in combinations(range(len(block)), 2):
        if not _separated(block[a], block[b], blacklist):
            one, other = linearised(block[a]), linearised(block[b])
            cosine = 1.0 if one == other else float(pair_cosines(embedder, [one, other], [0], [1])[0])
            if cosine >= threshold:
                found.append((a, b, cosine))
    return found


def _separated(one: Row, other: Row, blacklist: Blacklist) -> bool:
    listed, values = [], []
    for row in (one, other):
        phrase = linearised(row)
        listed.append(blacklist.marks((phrase, row.name, ", ".join(row.location_parts)), (phrase, row.name)))
        values.append(stated_values(f"{phrase}, {row.placement}" if row.placement else phrase))
    if listed[0].separate(listed[1]):
        return True
    return one.mode != PAPER and (values[0].differ(values[1]) or courses_differ(course(one), course(other)))


def _merge(
    block: Sequence[Row], group: list[int], cosines: dict[frozenset[int], float], blacklist: Blacklist
) -> None:
    survivor = min((block[number] for number in group), key=claim_preference)
    others = [number for number in group if block[number] is not survivor]
    for number in others:
        row = block[number]
        unite_attributes(survivor, row, blacklist.separates)
        survivor.evidence = united_tokens(survivor.evidence, row.evidence)
        survivor.associate = united_tokens(survivor.associate, row.associate)
        row.disposition, row.merged_into = "merged", survivor.finding_id
        closest = max(cosines[frozenset((number, other))] for other in group if other != number)
        row.merge_similarity = min(1.0, closest)
    survivor.merged_ids = tuple(sorted(block[number].finding_id for number in others))
