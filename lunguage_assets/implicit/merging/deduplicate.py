"""Merges the findings of a study that mean the same (implicit.md section 2).

Two findings are one because they are alike (`similar_findings.py`), or because the
report says the same twice (`repeated_statements.py`), where no encoder decides. Nothing
that the report says is rewritten. A positive and a negative never meet here:
contradictions are left to `resolution/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.encoders import Embedder, make_embedder
from lunguage_assets.implicit.merging.merge_constraints import (
    Blacklist,
    absorb,
    load_blacklist,
)
from lunguage_assets.implicit.merging.probabilities import assign_probabilities
from lunguage_assets.implicit.merging.repeated_statements import (
    repeated_across_sections,
    row_with_location,
)
from lunguage_assets.implicit.merging.similar_findings import similar_groups
from lunguage_assets.implicit.policy import POLICIES
from lunguage_assets.implicit.rows import (
    Row,
    by_study,
    grouped_by,
    priority,
    read_rows,
    united_tokens,
    write_rows,
)
from lunguage_assets.implicit.statements.contradictions import kind_denied
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.implicit.statements.locations import says_resolved
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import DEDUPLICATED_FINDINGS


def merging_tools(
    settings: ImplicitSettings, terms: pd.DataFrame, file: Path | None
) -> tuple[Any, ...]:
    """Load what `deduplicate` needs beside its frames, in the order of its parameters.

    Args:
        settings: of the implicit part.
        terms: TERMS of the batch.
        file: blacklist of the home, if there is one.
    """
    embedder = make_embedder(settings, Vocabulary(terms))
    blacklist = load_blacklist(file, POLICIES[settings.mode])
    return embedder, blacklist, settings, load_label_list()


def deduplicate(
    findings: pd.DataFrame,
    probabilities: pd.DataFrame,
    embedder: Embedder,
    blacklist: Blacklist,
    settings: ImplicitSettings,
    labels: LabelList,
) -> pd.DataFrame:
    """Merge duplicate findings, and give every finding its probability.

    Survivors have the attributes and references of their group united; references to
    merged rows point to the survivor everywhere in the study. The mode is decided here,
    and goes with the rows.

    Args:
        findings: FINDINGS of whole studies, in any order.
        probabilities: FITTED_PROBABILITIES of them.
        embedder: measures how alike two phrases are.
        blacklist: keeps words apart; that of the mode.
        settings: mode, threshold, and whether history stays.
        labels: what findings mean.

    Returns:
        DEDUPLICATED_FINDINGS: one row per finding, by study and report order; merged
        rows and history rows are marked.
    """
    compared = findings.assign(encoder=embedder.identity)
    rows = believed_rows(compared, probabilities, settings)
    studies = by_study(rows)

    # Blocks of all studies go to the encoder together: it sees every phrase once.
    blocks = [block for study in studies for block in blocks_of(study)]
    for group in similar_groups(blocks, blacklist, embedder, settings.merge_threshold):
        survivor = min((row for row, _ in group), key=priority)
        for row, similarity in group:
            if row is not survivor:
                row.merge_similarity = similarity
                _merge(row, survivor)

    # Similar rows are merged first: a survivor stands for all of them here.
    for study in studies:
        # The paper merges by similarity alone.
        if study[0].policy.merges_repeated_statements:
            for block in blocks_of(study):
                for pair in repeated_across_sections(block, blacklist, labels):
                    _merge_repeated(study, pair, labels)
        _move_references(study)
    return write_rows(DEDUPLICATED_FINDINGS, rows)


def believed_rows(
    findings: pd.DataFrame, probabilities: pd.DataFrame, settings: ImplicitSettings
) -> list[Row]:
    """Read findings with their probabilities, by study and report order.

    Args:
        findings: FINDINGS of whole studies.
        probabilities: FITTED_PROBABILITIES of them.
        settings: mode, and whether history stays; what does not is marked as excluded.
    """
    rows = read_rows(findings.assign(mode=settings.mode))
    for row in rows:
        if row.section == "hist" and settings.history == "exclude":
            row.disposition = "excluded"
    in_order = list(chain.from_iterable(by_study(rows)))
    assign_probabilities(in_order, probabilities)
    return in_order


def blocks_of(study: Sequence[Row]) -> list[list[Row]]:
    """Group the rows of a study that may be one, in report order.

    What has resolved is no duplicate of what is there, nor the denial of a kind ("no
    large effusion") one of the denial of all.
    """
    kept = [row for row in study if row.disposition == "kept"]
    blocks = grouped_by(_in_common, kept).values()
    return [block for block in blocks if len(block) > 1]


def _in_common(row: Row) -> tuple[bool, bool, str, str]:
    is_resolved = row.policy.departs and says_resolved(row.improved)
    return row.positive, is_resolved, row.currency, kind_denied(row)


def _merge(row: Row, survivor: Row) -> None:
    """Merge a row into its survivor, which keeps its wording and p."""
    absorb(survivor, row)
    row.disposition = "merged"
    row.merged_into = survivor.finding_id
    row.merged_ids = ()


def _merge_repeated(
    study: Sequence[Row], pair: tuple[Row, Row], labels: LabelList
) -> None:
    """Merge rows that state the same; of equals one that names a diagnosis stays."""

    def rank(row: Row) -> tuple[Any, ...]:
        return priority(row, rule=not labels.read(row).diagnosis)

    survivor, merged = sorted(pair, key=rank)
    # The survivor keeps its wording and p; only its location may become more telling.
    located = row_with_location(survivor, merged)
    survivor.location = located.location
    survivor.location_parts = located.location_parts
    _merge(merged, survivor)
    # What was merged into it before follows it to the survivor.
    for row in study:
        if row.merged_into == merged.finding_id:
            row.merged_into = survivor.finding_id


def _move_references(study: Sequence[Row]) -> None:
    """Point references to merged rows to their survivor, without self-references."""
    survivor_ids = {row.finding_id: row.merged_into for row in study if row.merged_into}
    for row in study:
        own_ids = {row.finding_id, row.merged_into}
        for column in ("evidence", "associate"):
            # Most rows refer to nothing.
            if references := getattr(row, column):
                # A bare name is the id of no row, so it stays as it is.
                targets = [survivor_ids.get(token, token) for token in references]
                others = [target for target in targets if target not in own_ids]
                setattr(row, column, united_tokens(others))
