"""Findings of one study with the same meaning are merged into one survivor (implicit.md section 2).

Nothing that the report says is rewritten. A positive and a negative never meet here: contradictions are left
to `resolve.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.encoders.encoder import Embedder, make_embedder
from lunguage_assets.implicit.merging.apart import Blacklist, load_blacklist, unite_attributes
from lunguage_assets.implicit.merging.beliefs import assign_beliefs
from lunguage_assets.implicit.merging.groups import asked_phrases, place_of, restated, similar_groups
from lunguage_assets.implicit.rows import (
    BARE,
    PAPER,
    Row,
    by_study,
    claim_preference,
    read_rows,
    united_tokens,
    write_rows,
)
from lunguage_assets.implicit.statements.against import qualifier_of
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.implicit.statements.places import says_resolved
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import DEDUPLICATED_FINDINGS


def merging_tools(
    settings: ImplicitSettings, terms: pd.DataFrame, root: Path, file: Path | None
) -> tuple[Embedder, Blacklist, ImplicitSettings]:
    """What `deduplicate` needs beside its frames; `file`: the home's blacklist."""
    embedder = make_embedder(settings, Vocabulary.from_terms(terms), root)
    return embedder, load_blacklist(file), settings


def deduplicate(
    findings: pd.DataFrame,
    probabilities: pd.DataFrame,
    embedder: Embedder,
    blacklist: Blacklist,
    settings: ImplicitSettings,
) -> pd.DataFrame:
    """FINDINGS and FITTED_PROBABILITIES to DEDUPLICATED_FINDINGS.

    Every finding gets its probability; merged rows and history rows are marked. One row per finding, sorted
    by study and report order whatever the order of the input. Survivors have the attributes and references of
    their group united; references to merged rows point to the survivor everywhere in the study. The mode is
    decided here and goes with the rows. Raises `MethodError` when the encoder answers wrongly.
    """
    studies = _studies(findings, settings)
    rows = [row for study in studies for row in study]
    for row in rows:
        row.encoder = embedder.identity
    assign_beliefs(rows, probabilities)
    blocks = [block for study in studies for block in blocks_of(study)]
    found = similar_groups(blocks, _apart(blacklist, settings), embedder, settings.merge_threshold)
    for block, groups in zip(blocks, found, strict=True):
        for group in groups:
            similar = {block[position].finding_id: similarity for position, similarity in group.items()}
            alike = [block[position] for position in group]
            _merge(alike, min(alike, key=claim_preference), blacklist, similar)
    labels = load_label_list()
    for study in studies:
        if settings.mode != PAPER:
            for block in blocks_of(study):
                for same in restated(block, blacklist, labels):
                    _merge_restated(study, same, blacklist, labels)
        _move_references(study)
    return write_rows(DEDUPLICATED_FINDINGS, rows)


def compared_phrases(findings: pd.DataFrame, blacklist: Blacklist, settings: ImplicitSettings) -> list[str]:
    """The distinct phrases of FINDINGS whose vectors `deduplicate` needs, sorted: those that are compared."""
    blocks = [block for study in _studies(findings, settings) for block in blocks_of(study)]
    return asked_phrases(blocks, _apart(blacklist, settings))


def _studies(findings: pd.DataFrame, settings: ImplicitSettings) -> list[list[Row]]:
    """The rows of each study with their mode; history is excluded unless it is wanted."""
    rows = read_rows(findings)
    for row in rows:
        row.mode = settings.mode
        if row.section == "hist" and settings.history == "exclude":
            row.disposition = "excluded"
    return by_study(rows)


def _apart(blacklist: Blacklist, settings: ImplicitSettings) -> Blacklist:
    return blacklist.of_the_paper() if settings.mode == PAPER else blacklist


def blocks_of(study: Sequence[Row]) -> list[list[Row]]:
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


def _merge(
    group: Sequence[Row], survivor: Row, blacklist: Blacklist, similar: Mapping[str, float | None]
) -> None:
    """Merge a group into its survivor, which keeps its wording, sentence and probability. `similar` has the
    similarity of each row, by finding id.
    """
    others = [row for row in group if row is not survivor]
    survivor.evidence = united_tokens(survivor.evidence, *(row.evidence for row in others))
    survivor.associate = united_tokens(survivor.associate, *(row.associate for row in others))
    ids = {own for row in others for own in (row.finding_id, *row.merged_ids)}
    survivor.merged_ids = tuple(sorted(ids.union(survivor.merged_ids)))
    for row in others:
        unite_attributes(survivor, row, blacklist.separates)
        row.disposition = "merged"
        row.merged_into, row.merged_ids = survivor.finding_id, ()
        row.merge_similarity = similar.get(row.finding_id)


def _merge_restated(
    study: Sequence[Row], group: Sequence[Row], blacklist: Blacklist, labels: LabelList
) -> None:
    """Merge rows that state the same thing: of equal claims the one that names a diagnosis survives."""

    def preference(row: Row) -> tuple[Any, ...]:
        uninformed, claim, *rest = claim_preference(row)
        return uninformed, claim, not labels.diagnosis(row), *rest

    survivor = min(group, key=preference)
    at = place_of(survivor, group)
    survivor.location, survivor.location_parts = at.location, at.location_parts
    _merge(group, survivor, blacklist, {})
    moved_on = {row.finding_id for row in group if row is not survivor}
    for row in study:
        if row.merged_into in moved_on:
            row.merged_into = survivor.finding_id


def _move_references(study: Sequence[Row]) -> None:
    """Point references to merged rows to their survivor, without self-references and repeats."""
    survivor_of = {row.finding_id: row.merged_into for row in study if row.merged_into is not None}

    def moved(references: tuple[str, ...], own: str) -> tuple[str, ...]:
        found = dict.fromkeys(
            token if token.startswith(BARE) else survivor_of.get(token, token)
            for token in references
            if token != own
        )
        return tuple(token for token in found if token != own)

    for row in study:
        row.evidence = moved(row.evidence, row.finding_id)
        row.associate = moved(row.associate, row.finding_id)
