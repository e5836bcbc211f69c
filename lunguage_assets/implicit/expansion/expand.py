"""Expands diagnoses into their sub-findings, down to the leaves.

The rules are in implicit.md section 4. For every sub-finding of a matched pathway: the
row itself (`sub_findings.py`), whether the report states it already
(`stated_signs.py`), and what keeps it out: statements, and the `unless` of the pathway
file. One that is generated and is a diagnosis itself is expanded in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.implicit.expansion.matching import match
from lunguage_assets.implicit.expansion.stated_signs import StatedSigns
from lunguage_assets.implicit.expansion.sub_findings import sub_finding
from lunguage_assets.implicit.pathways.pathway_file import SubFinding
from lunguage_assets.implicit.pathways.words import names_any
from lunguage_assets.implicit.rows import (
    ALREADY_STATED,
    ATTRIBUTE_NAMES,
    GENERATED,
    SPOKEN_AGAINST,
    Row,
    by_study,
    read_rows,
    write_rows,
)
from lunguage_assets.implicit.statements.contradictions import Statements, is_present
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.tables import EXPANSIONS, PATHWAY_MATCHES

_DESCRIPTION_OF = attrgetter("ent", "location", *ATTRIBUTE_NAMES)


class Expansion(NamedTuple):
    """PATHWAY_MATCHES of every finding, and EXPANSIONS: every implied sub-finding."""

    matches: pd.DataFrame
    expansions: pd.DataFrame


def expand(deduplicated: pd.DataFrame, labels: LabelList) -> Expansion:
    """Match every finding to a pathway, and generate what it implies.

    A sub-finding that the report already states, or speaks against, is in EXPANSIONS
    with that outcome and the stated row. It has no row in PATHWAY_MATCHES, because it
    is not a finding of its own.

    Args:
        deduplicated: DEDUPLICATED_FINDINGS of whole studies.
        labels: what findings mean, and the pathways of those that are diagnoses.

    Returns:
        Both tables sorted by study and report order, each child after its parent.
    """
    matches: list[dict[str, Any]] = []
    children: list[Row] = []
    for study in by_study(read_rows(deduplicated)):
        expander = _StudyExpander(study, labels)
        for row in study:
            expander.expand(row)
        matches += expander.matches
        children += expander.children
    return Expansion(PATHWAY_MATCHES.frame(matches), write_rows(EXPANSIONS, children))


class _StudyExpander:
    """Expands the rows of one study, with knowledge of what the report states."""

    def __init__(self, study: Sequence[Row], labels: LabelList) -> None:
        self.matches: list[dict[str, Any]] = []
        self.children: list[Row] = []
        self._study = study
        self._labels = labels
        self._dictionary = labels.dictionary
        self._stated_signs = StatedSigns(study, labels)
        rows = [row for row in study if row.disposition != "excluded"]
        self._statements = Statements(labels, rows)

    def expand(self, row: Row) -> None:
        """Note the match of a row, and its sub-findings, each followed by its own."""
        pathway, record = match(row, self._dictionary)
        self.matches.append(record)
        if pathway is None:
            return
        for number, edge in enumerate(pathway.implies):
            child = sub_finding(row, edge, self._dictionary)
            child.finding_id = f"{row.finding_id}/{number}"
            child.parent_pathway_id = pathway.id
            child.edge = number
            child.outcome, child.linked_to = self._outcome(child, edge, row)
            if child.outcome:
                self.children.append(child)
            if child.outcome == GENERATED:
                self.expand(child)

    def _outcome(
        self, child: Row, edge: SubFinding, parent: Row
    ) -> tuple[str, str | None]:
        """Decide what becomes of a sub-finding, and by which stated row, if by any.

        It is empty where the sub-finding is not implied here.
        """
        # What the report itself says is as likely as it says, whatever is implied.
        stating = self._stated_signs.stating(child, edge, parent)
        if stating is not None:
            return ALREADY_STATED, stating.finding_id
        if not child.policy.withholds_children:
            return GENERATED, None
        # A film shows no symptom, and readers of real reports struck some signs out.
        is_withheld = self._dictionary.is_symptom(edge) or edge.paper_only
        if is_withheld or self._is_worded(edge, parent):
            return "", None
        against = self._statements.against(child)
        if against is not None:
            return SPOKEN_AGAINST, against.finding_id
        return GENERATED, None

    def _is_worded(self, edge: SubFinding, parent: Row) -> bool:
        """Whether words keep a sub-finding out: "small effusion", no hazy opacity.

        They are those of the diagnosis' row, and of the signs in its sentence.
        """
        if not edge.unless:
            return False
        rows = [parent]
        sentence = (parent.section, parent.sent_idx)
        for row in self._study:
            # What is implied has no sentence.
            is_beside = parent.sent and (row.section, row.sent_idx) == sentence
            if is_beside and is_present(row) and not self._labels.read(row).diagnosis:
                rows.append(row)
        return any(names_any(_DESCRIPTION_OF(row), edge.unless) for row in rows)
