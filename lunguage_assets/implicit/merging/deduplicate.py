"""Findings of one study with the same meaning are merged into one survivor (implicit.md section 2).

Nothing that the report says is rewritten. A positive and a negative never meet here: contradictions are left
to `resolve.py`. Groups are complete links: in chains "lower lung" would carry a right-sided finding over to
the left. What is stated again, at a wider place or by another name, is found in `restated.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from lunguage_assets.implicit.encoders import Embedder
from lunguage_assets.implicit.merging.beliefs import assign_beliefs
from lunguage_assets.implicit.merging.blacklist import Blacklist
from lunguage_assets.implicit.merging.candidates import Compared, compared, complete_link, phrases_of
from lunguage_assets.implicit.merging.distinctions import unite_attributes
from lunguage_assets.implicit.merging.restated import place_of, restated
from lunguage_assets.implicit.rows import (
    BARE,
    PAPER,
    Row,
    by_study,
    claim_preference,
    read_rows,
    write_rows,
)
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.implicit.statements.places import says_resolved
from lunguage_assets.implicit.statements.qualifiers import qualifier_of
from lunguage_assets.implicit.words import united_tokens
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import DEDUPLICATED_FINDINGS, FINDING_COLUMNS


def deduplicate(
    findings: pd.DataFrame,
    probabilities: pd.DataFrame,
    embedder: Embedder,
    blacklist: Blacklist,
    settings: ImplicitSettings,
) -> pd.DataFrame:
    """FINDINGS and FITTED_PROBABILITIES to DEDUPLICATED_FINDINGS.

    Every finding gets its probability; merged rows and history rows are marked. One row per finding, sorted
    by study and report order whatever the order of the input. A tentative finding without a row in
    `probabilities` has no information (p 0.5, interval 0-1, `none`). Survivors have the attributes and
    references of their group united; references to merged rows point to the survivor everywhere in the study.
    Raises `MethodError` when the encoder answers wrongly.

    The mode is decided here and goes with the rows (column `mode`): the later stages cannot use another. In
    mode `paper` the paper's blacklist pairs alone keep rows apart (implicit.md section 6).
    """
    rows = read_rows(findings, FINDING_COLUMNS)
    _take_part(rows, embedder.identity, settings)
    assign_beliefs(rows, probabilities)
    studies = by_study(rows)
    blocks = [block for study in studies for block in _blocks(study)]
    found = compared(blocks, embedder, _apart(blacklist, settings), settings.merge_threshold)
    for block, candidates in zip(blocks, found, strict=True):
        for group in _groups(candidates):
            similar = {block[position].finding_id: similarity for position, similarity in group}
            rows_alike = [block[position] for position, _ in group]
            _merge(rows_alike, min(rows_alike, key=claim_preference), blacklist, similar)
    listed = load_label_list()
    for study in studies:
        if settings.mode != PAPER:
            for block in _blocks(study):
                for same in restated(block, blacklist, listed):
                    _merge_restated(study, same, blacklist, listed)
        _move_references(study)
    return write_rows(DEDUPLICATED_FINDINGS, [row for study in studies for row in study])


def compared_phrases(findings: pd.DataFrame, blacklist: Blacklist, settings: ImplicitSettings) -> list[str]:
    """The distinct phrases whose vectors `deduplicate` needs, sorted.

    They are the phrases of FINDINGS that are compared with another phrase.
    """
    rows = read_rows(findings, FINDING_COLUMNS)
    _take_part(rows, "", settings)
    blocks = [block for study in by_study(rows) for block in _blocks(study)]
    return sorted(phrases_of(blocks, _apart(blacklist, settings)))


def _take_part(rows: Iterable[Row], encoder: str, settings: ImplicitSettings) -> None:
    """Note encoder and mode, and exclude history unless it is wanted."""
    for row in rows:
        row.encoder, row.mode = encoder, settings.mode
        if row.section == "hist" and settings.history == "exclude":
            row.disposition = "excluded"


def _apart(blacklist: Blacklist, settings: ImplicitSettings) -> Blacklist:
    return blacklist.of_the_paper() if settings.mode == PAPER else blacklist


def _blocks(study: Sequence[Row]) -> list[list[Row]]:
    """Groups of rows of one study with equal polarity and currency, in report order; what has resolved is no
    duplicate of what is there, nor the denial of a kind one of the denial of all.
    """
    blocks: dict[tuple[bool, bool, str, str], list[Row]] = {}
    for row in study:
        if row.disposition == "kept":
            gone = row.mode != PAPER and says_resolved(row.improved)
            qualifier = qualifier_of(row)
            kind = row.positive, gone, row.currency, qualifier.name if qualifier is not None else ""
            blocks.setdefault(kind, []).append(row)
    return [block for block in blocks.values() if len(block) > 1]


def _groups(found: Compared) -> Iterator[list[tuple[int, float]]]:
    """The groups that are merged, in report order: positions in the block, each with the highest similarity
    to another member.
    """
    linked = complete_link(len(found.candidates), found.pairs)
    group_of = {number: group for group, numbers in enumerate(linked) for number in numbers}
    closest: dict[int, float] = {}
    for a, b, cosine in found.pairs:
        if a in group_of and group_of[a] == group_of.get(b):
            closest[a] = max(cosine, closest.get(a, cosine))
            closest[b] = max(cosine, closest.get(b, cosine))
    alone = ([number] for number, rows in enumerate(found.candidates) if number not in group_of and rows[1:])
    for numbers in (*linked, *alone):
        yield sorted(
            (position, 1.0 if len(found.candidates[number]) > 1 else min(1.0, closest[number]))
            for number in numbers
            for position in found.candidates[number]
        )


def _merge(
    group: Sequence[Row], survivor: Row, blacklist: Blacklist, similar: Mapping[str, float | None]
) -> None:
    """Merge a group into its survivor, which takes over the others' references, and the attributes that its
    own do not exclude.

    It keeps its wording, sentence and probability. `similar` has the similarity of each row, by finding id.
    """
    others = [row for row in group if row is not survivor]
    for row in others:
        unite_attributes(survivor, row, blacklist.separates_phrases)
    survivor.evidence = united_tokens(survivor.evidence, *(row.evidence for row in others))
    survivor.associate = united_tokens(survivor.associate, *(row.associate for row in others))
    ids = {own for row in others for own in (row.finding_id, *row.merged_ids)}
    survivor.merged_ids = tuple(sorted(ids.union(survivor.merged_ids)))
    for row in others:
        row.disposition = "merged"
        row.merged_into, row.merged_ids = survivor.finding_id, ()
        row.merge_similarity = similar[row.finding_id]


def _merge_restated(
    study: Sequence[Row], group: Sequence[Row], blacklist: Blacklist, listed: LabelList
) -> None:
    """Merge rows that state the same thing.

    Of equal claims the one that names a diagnosis survives, and it takes the narrowest place, of a denial the
    widest.
    """

    def preference(row: Row) -> tuple[Any, ...]:
        uninformed, claim, *rest = claim_preference(row)
        return uninformed, claim, not listed.diagnosis(row), *rest

    survivor = min(group, key=preference)
    at = place_of(survivor, group)
    location, parts = at.location, at.location_parts
    _merge(group, survivor, blacklist, dict.fromkeys(row.finding_id for row in group))
    survivor.location, survivor.location_parts = location, parts
    moved_on = {row.finding_id for row in group if row is not survivor}
    for row in study:
        if row.merged_into in moved_on:
            row.merged_into = survivor.finding_id


def _move_references(study: Sequence[Row]) -> None:
    """Point references to merged rows to their survivor, without self-references and repeats."""
    survivor_of = {row.finding_id: row.merged_into for row in study if row.merged_into is not None}
    for row in study:
        row.evidence = moved(row.evidence, survivor_of, row.finding_id)
        row.associate = moved(row.associate, survivor_of, row.finding_id)


def moved(references: tuple[str, ...], survivor_of: dict[str, str], own: str) -> tuple[str, ...]:
    """References with merged rows replaced by survivors, token by token; bare names stay as they are."""
    found = (
        token if token.startswith(BARE) else survivor_of.get(token, token)
        for token in references
        if token != own
    )
    return tuple(token for token in dict.fromkeys(found) if token != own)
