"""Expands diagnoses into their sub-findings, down to the leaves.

The rules are in implicit.md section 4. For every sub-finding of a matched pathway: the
row itself (`sub_findings.py`), whether the report states it already
(`stated_signs.py`), and what keeps it out (`exceptions.py`, `statements/`). One that is
generated and is a diagnosis itself is expanded in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.expansion.exceptions import Exceptions
from lunguage_assets.implicit.expansion.matching import Match, match
from lunguage_assets.implicit.expansion.stated_signs import StatedSigns
from lunguage_assets.implicit.expansion.sub_findings import sub_finding
from lunguage_assets.implicit.pathways.pathway_file import Pathway, SubFinding
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    load_dictionary,
)
from lunguage_assets.implicit.rows import (
    ALREADY_STATED,
    GENERATED,
    SPOKEN_AGAINST,
    Row,
    by_study,
    read_rows,
    write_rows,
)
from lunguage_assets.implicit.statements.contradictions import Statements
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.tables import EXPANSIONS, PATHWAY_MATCHES


class Expansion(NamedTuple):
    """PATHWAY_MATCHES of every finding, and EXPANSIONS: every implied sub-finding."""

    matches: pd.DataFrame
    expansions: pd.DataFrame


class ExpansionTools(NamedTuple):
    """What `expand` needs beside its frame, in the order of its parameters."""

    dictionary: PathwayDictionary
    labels: LabelList


def expansion_tools(file: Path | None, terms: pd.DataFrame) -> ExpansionTools:
    """Load what `expand` needs beside its frame; `file` is the home's, if any."""
    dictionary = load_dictionary(file, Vocabulary.from_terms(terms))
    return ExpansionTools(dictionary, load_label_list(dictionary=dictionary))


def expand(
    deduplicated: pd.DataFrame,
    dictionary: PathwayDictionary,
    labels: LabelList | None = None,
) -> Expansion:
    """Match every finding to a pathway, and generate what it implies.

    A sub-finding that the report already states, or speaks against, is in EXPANSIONS
    with that outcome and the stated row. It has no row in PATHWAY_MATCHES, because it
    is not a finding of its own.

    Args:
        deduplicated: DEDUPLICATED_FINDINGS of whole studies.
        dictionary: the pathways.
        labels: what findings mean; by default the packaged list.

    Returns:
        Both tables sorted by study and report order, each child after its parent.
    """
    labels = labels or load_label_list(dictionary=dictionary)
    matches: list[Match] = []
    children: list[Row] = []
    for study in by_study(read_rows(deduplicated)):
        stated_matches = [match(row, dictionary) for row in study]
        # Most studies expand nothing: their statements need not be read.
        if not any(stated.pathway for stated in stated_matches):
            matches += stated_matches
            continue
        expander = _StudyExpander(study, dictionary, labels)
        for stated in stated_matches:
            expander.expand(stated)
        matches += expander.matches
        children += expander.children
    records = [answer.record() for answer in matches]
    return Expansion(PATHWAY_MATCHES.frame(records), write_rows(EXPANSIONS, children))


class _StudyExpander:
    """Expands the rows of one study, with knowledge of what the report states."""

    def __init__(
        self, study: Sequence[Row], dictionary: PathwayDictionary, labels: LabelList
    ) -> None:
        self.matches: list[Match] = []
        self.children: list[Row] = []
        self._dictionary = dictionary
        self._stated_signs = StatedSigns(study, dictionary, labels)
        self._exceptions = Exceptions(study, dictionary, labels)
        self._statements = Statements(
            labels, [row for row in study if row.disposition != "excluded"]
        )

    def expand(self, matched_row: Match) -> None:
        """Note the match of a row, and its sub-findings, each followed by its own."""
        self.matches.append(matched_row)
        pathway = matched_row.pathway
        if pathway is None:
            return
        parent = matched_row.row
        for child in self._children_of(parent, pathway):
            is_implied = self._decide(child, pathway.implies[child.edge], parent)
            if not is_implied:
                continue
            self.children.append(child)
            if child.outcome == GENERATED:
                self.expand(match(child, self._dictionary))

    def _children_of(self, parent: Row, pathway: Pathway) -> list[Row]:
        children = []
        for number, edge in enumerate(pathway.implies):
            child = sub_finding(parent, edge, self._dictionary)
            child.finding_id = f"{parent.finding_id}/{number}"
            child.parent_pathway_id = pathway.id
            child.edge = number
            children.append(child)
        return children

    def _decide(self, child: Row, edge: SubFinding, parent: Row) -> bool:
        """Note what becomes of a sub-finding, and tell whether it is implied here."""
        child.outcome = GENERATED
        # What the report itself says is as likely as it says, whatever is implied.
        stating = self._stated_signs.stating(child, edge, parent)
        if stating is not None:
            child.outcome = ALREADY_STATED
            child.linked_to = stating.finding_id
            return True
        if not child.policy.withholds_children:
            return True
        # A film shows no symptom, and readers of real reports struck some signs out.
        if self._dictionary.is_symptom(edge) or edge.paper_only:
            return False
        if self._exceptions.are_worded(edge, parent):
            return False
        opponent = self._statements.against(child)
        if opponent is None:
            opponent = self._exceptions.opponent(child, edge)
        if opponent is not None:
            child.outcome = SPOKEN_AGAINST
            child.linked_to = opponent.finding_id
        return True
