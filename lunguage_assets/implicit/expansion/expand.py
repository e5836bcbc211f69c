"""Expands diagnoses into their sub-findings, down to the leaves (implicit.md section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lunguage_assets.assertion.plurals import possible_singulars
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.merging.probabilities import derive_belief
from lunguage_assets.implicit.pathways.pathways import (
    Edge,
    Match,
    PathwayDictionary,
    Subject,
    load_dictionary,
    match,
    only_shares_the_name,
)
from lunguage_assets.implicit.rows import (
    ATTRIBUTE_NAMES,
    CLINICAL_ATTRIBUTES,
    PAPER,
    Row,
    by_study,
    copied,
    priority,
    read_rows,
    tokens,
    united_cells,
    write_rows,
)
from lunguage_assets.implicit.statements.contradictions import (
    Statements,
    is_present,
    qualifier_of,
)
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.implicit.statements.locations import anatomy
from lunguage_assets.tables import EXPANSIONS, PATHWAY_MATCHES

_ATTRIBUTES_OF = attrgetter(*ATTRIBUTE_NAMES)


class Expansion(NamedTuple):
    """Every finding's pathway or reason (PATHWAY_MATCHES), and every implied sub-finding (EXPANSIONS)."""

    matches: pd.DataFrame
    expansions: pd.DataFrame


def expansion_tools(
    file: Path | None, terms: pd.DataFrame
) -> tuple[PathwayDictionary, LabelList]:
    """What `expand` needs beside its frame; `file`: the home's pathways."""
    dictionary = load_dictionary(file, Vocabulary.from_terms(terms))
    return dictionary, load_label_list(dictionary=dictionary)


def expand(
    deduplicated: pd.DataFrame,
    dictionary: PathwayDictionary,
    labels: LabelList | None = None,
) -> Expansion:
    """DEDUPLICATED_FINDINGS to PATHWAY_MATCHES and EXPANSIONS.

    Both are sorted by study and report order, each child after its parent. A sub-finding that the report
    already states, or speaks against, is in EXPANSIONS with that outcome and the stated row; it has no row in
    PATHWAY_MATCHES, because it is not a finding of its own. In mode `paper` nothing is spoken against.
    `labels`: the packaged list seen through the dictionary.
    """
    matches: list[Match] = []
    children: list[Row] = []
    listed = labels or load_label_list(dictionary=dictionary)
    for study in by_study(read_rows(deduplicated)):
        found = [match(row, dictionary) for row in study]
        expanding = any(one.matched is not None for one in found)
        expander = _StudyExpander(study if expanding else (), dictionary, listed)
        for one in found:
            matches.append(one)
            children.extend(expander.children(one, matches))
    records = [found.record() for found in matches]
    return Expansion(PATHWAY_MATCHES.frame(records), write_rows(EXPANSIONS, children))


class _StudyExpander:
    """Expands the rows of one study, with knowledge of its stated rows."""

    def __init__(
        self, study: Sequence[Row], dictionary: PathwayDictionary, listed: LabelList
    ) -> None:
        self._study, self._dictionary, self._listed = study, dictionary, listed
        self._vocabulary = dictionary.vocabulary
        self._by_id = {row.finding_id: row for row in study}
        self._told = [row for row in study if row.disposition != "excluded"]
        """What the report says now, merged rows included."""
        self._statements = Statements(listed, self._told)
        self._stated: dict[tuple[str, str, bool], list[Row]] = {}
        """By canonical name and by that of their wording, currency and polarity."""
        self._labelled: dict[tuple[int, str], list[Row]] = {}
        """The stated rows that say that a label is present, by label and currency."""
        for row in self._told:
            if not only_shares_the_name(row, dictionary):
                worded = (
                    row.name if row.mode == PAPER else self._vocabulary.finding(row.ent)
                )
                for name in {row.name, worded}:
                    self._stated.setdefault(
                        (name, row.currency, row.positive), []
                    ).append(row)
            for label in listed.present(row) if is_present(row) else ():
                self._labelled.setdefault((label, row.currency), []).append(row)

    def children(self, found: Match, matches: list[Match]) -> Iterator[Row]:
        """The sub-findings of a matched row, each followed by its own; their answers go to `matches`."""
        if found.matched is None:
            return
        parent, edges = found.row, found.matched.edges
        children: dict[tuple[str, bool, tuple[str, ...]], Row] = {}
        for number, edge in enumerate(edges):
            child = self._child(parent, edge)
            child.finding_id = f"{parent.finding_id}/{number}"
            child.parent_pathway_id, child.edge = found.matched.id, number
            first = children.setdefault(
                (child.name, child.positive, child.location_parts), child
            )
            if first is not child:  # each once, with the attributes of its repeats
                for name in ATTRIBUTE_NAMES:
                    setattr(
                        first,
                        name,
                        united_cells([getattr(first, name), getattr(child, name)]),
                    )
        for child in children.values():
            outcome = self._outcome(child, edges[child.edge], parent)
            if outcome is None:
                continue
            child.outcome, child.linked_to = outcome
            yield child
            if child.outcome == "generated":
                matches.append(match(child, self._dictionary))
                yield from self.children(matches[-1], matches)

    def _child(self, parent: Row, edge: Edge) -> Row:
        """A sub-finding where its parent stands, with what it inherits and the belief that follows."""
        child = copied(parent)
        child.ent, child.name, child.cat, child.status = (
            edge.ent,
            edge.name,
            edge.category,
            edge.status,
        )
        child.sent, child.source = "", "expansion"
        child.cues = ""  # no words of the report say that it is there
        child.root_id = parent.root_id or parent.finding_id
        child.depth = parent.depth + 1 if parent.source == "expansion" else 1
        if not _inherits(edge, parent):
            child.location, child.location_parts = "", ()
        if (
            edge.location
        ):  # the parent's and the pathway's, without repeats in the vocabulary's terms
            parts = self._vocabulary.location_parts(edge.location)
            own = [part for part in parts if part not in child.location_parts]
            wording = edge.location if len(own) == len(parts) else ", ".join(own)
            child.location = united_cells([child.location, wording])
            child.location_parts = tuple(sorted({*child.location_parts, *parts}))
        child.evidence, child.associate, child.merged_ids = (), (parent.finding_id,), ()
        child.parent_id, child.p_source, child.prob_is_bound = (
            parent.finding_id,
            "pathway",
            True,
        )
        _inherit_attributes(child, parent, edge)
        derive_belief(child, parent, edge.strength)
        return child

    def _outcome(
        self, child: Row, edge: Edge, parent: Row
    ) -> tuple[str, str | None] | None:
        """The outcome and the stated row behind it; None when the pathway does not imply the child here."""
        stating: Iterable[Row]
        if child.mode == PAPER:
            place = frozenset(child.location_parts)
            stating = (
                row
                for row in self._stated.get(
                    (child.name, child.currency, child.positive), ()
                )
                if not self._dictionary.contradictory(
                    row.measurement, child.measurement
                )
                and compatible_places(frozenset(row.location_parts), place)
            )
        elif edge.is_symptom:  # whatever the section: symptoms stand in the history
            said = child.name, child.positive
            stating = (row for row in self._study if (row.name, row.positive) == said)
        else:
            stating = self._stating(child, edge, parent)
        first = self._strongest(stating)
        if first is not None:
            return "already stated", first.finding_id
        if child.mode == PAPER:
            return "generated", None
        if (
            edge.is_symptom
            or edge.is_paper_only
            or edge.unless_said.in_any(self._cells(parent))
        ):
            return None
        against = self._statements.against(child) or self._excluding(child, edge)
        return (
            ("generated", None)
            if against is None
            else ("spoken against", against.finding_id)
        )

    def _cells(self, parent: Row) -> Iterator[str]:
        """The words of a diagnosis' row, of the signs that the report gives for it, and of its sentence's."""
        sentence = parent.section, parent.sent_idx
        for row in self._study:
            beside = (
                (row.section, row.sent_idx) == sentence
                and is_present(row)
                and parent.sent
            )
            sign = beside and not self._listed.read(row).diagnosis
            if row is parent or sign or _gives_reason(row, parent):
                yield from (row.ent, row.location, *_ATTRIBUTES_OF(row))
        if parent.source == "expansion":
            yield from (parent.ent, parent.location, *_ATTRIBUTES_OF(parent))

    def _excluding(self, child: Row, edge: Edge) -> Row | None:
        """The statement by which the pathway file leaves a child out; None without one."""
        stated = (row for row in self._about_any(edge.unless_stated) if is_present(row))
        denied = (
            row for row in self._about_any(edge.unless_denied) if not is_present(row)
        )
        found = [*stated, *(row for row in denied if _denies(row, child))]
        return self._strongest(row for row in found if row.currency == child.currency)

    def _about_any(self, listed: Sequence[Subject]) -> Iterator[Row]:
        """The rows about a subject of the pathway file, by its name or as a kind of its diagnosis."""
        for subject, refinements in listed:
            for row in self._told_by_subject.get(subject, ()):
                if refinements <= self._listed.read(row).refinements:
                    yield row

    @cached_property
    def _told_by_subject(self) -> Mapping[str, Sequence[Row]]:
        """What the report says now, by each name under which the pathway file may know it.

        Every implied finding asks for a few subjects: to look through all rows for each would take the
        square of a long report.
        """
        rows_by_subject: dict[str, list[Row]] = {}
        for row in self._told:
            diagnosis = self._listed.read(row).diagnosis
            for name in {
                diagnosis or row.name,
                row.name,
                self._vocabulary.finding(row.ent),
            }:
                rows_by_subject.setdefault(name, []).append(row)
        return rows_by_subject

    def _strongest(self, rows: Iterable[Row]) -> Row | None:
        """The preferred row; a merged row counts through its survivor."""
        kept = (
            self._by_id[row.merged_into] if row.merged_into is not None else row
            for row in rows
        )
        return min(kept, key=priority, default=None)

    def _stating(self, child: Row, edge: Edge, parent: Row) -> Iterator[Row]:
        """The rows that state the child, however surely: by its name, or by another that means the same."""
        named = self._listed.read(child).diagnosis
        for row in self._stated.get((child.name, child.currency, child.positive), ()):
            near = (
                _near(row, child)
                or _gives_reason(row, parent)
                or (named and not row.location_parts)
            )
            if near and self._has_what_defines(row, edge):
                yield row
        if child.positive:
            yield from self._meaning(child, edge, parent)

    def _meaning(self, child: Row, edge: Edge, parent: Row) -> Iterator[Row]:
        """The rows that mean a label which the child means: "enlargement" of the heart its increased size,
        "haziness" an opacity, "nodule" a nodular one. What names the parent itself does not state its signs.
        """
        own = self._listed.present(child)
        wording = f"{edge.attributes.get('morphology', '')} {edge.ent}".strip()
        composed = self._listed.of_wording(
            wording, ", ".join((child.location, *child.location_parts))
        )
        diagnosis = self._listed.read(parent).diagnosis
        for label in dict.fromkeys((*own, *sorted(composed))):
            in_words = label not in own or self._listed.is_diagnosis(label)
            for row in self._labelled.get((label, child.currency), ()):
                if diagnosis and self._listed.read(row).diagnosis == diagnosis:
                    continue
                placeless = self._listed.present(row)[label]
                near = placeless or _near(row, child) or _gives_reason(row, parent)
                if near and (in_words or self._has_what_defines(row, edge)):
                    yield row

    def _has_what_defines(self, row: Row, edge: Edge) -> bool:
        """Whether a row is there now and has the attributes that define the pathway's sign."""
        wanted = edge.attributes.get("measurement", "")
        return (
            not self._dictionary.contradictory(row.measurement, wanted)
            and is_present(row) == row.positive
            and all(
                defines(getattr(row, name), cell)
                or (
                    name == "measurement"
                    and self._dictionary.agree(row.measurement, cell)
                )
                for name, cell in edge.attributes.items()
            )
        )


def _near(row: Row, child: Row) -> bool:
    """Whether the place of a row, by location and name ("peribronchial opacity"), is compatible with a
    child's, contains it, or lies in it. The whole lung is no narrower than a row without a place.
    """
    place_of, covers = anatomy().location, anatomy().covers
    existing, place = place_of(row.location_parts), place_of(child.location_parts)
    regions = existing.regions | place_of((row.ent,)).regions
    parts = place.parts if regions else anatomy().without_wholes(place)
    if compatible_places(regions.union(existing.parts), frozenset(parts)):
        return True
    if not row.location_parts or not child.location_parts:
        return False
    return bool(
        covers(row.location_parts, child.location_parts)
        or (
            covers(child.location_parts, row.location_parts)
            and place.sides <= existing.sides
        )
    )


def _denies(row: Row, child: Row) -> bool:
    """Whether what a row denies is denied where the child would lie."""
    qualifier = qualifier_of(row)
    holds = qualifier is None or qualifier.implied
    return holds and bool(anatomy().covers(row.location_parts, child.location_parts))


def _gives_reason(row: Row, parent: Row) -> bool:
    """Whether the report itself names the row as evidence of the parent."""
    return row.finding_id in parent.evidence or row.merged_into in parent.evidence


def defines(stated: str, wanted: str) -> bool:
    """Whether a cell says all that a pathway's attribute says ("nodular" within "small nodular")."""
    said = {form for token in tokens(stated) for form in possible_singulars(token)}
    return said.issuperset(tokens(wanted))


def compatible_places(existing: frozenset[str], child: frozenset[str]) -> bool:
    """Whether existing contains all of the child's parts, or is non-empty and contained in them."""
    return existing >= child or bool(existing and existing <= child)


def _inherits(edge: Edge, parent: Row) -> bool:
    """Whether a sub-finding has the diagnosis' place: no symptom has, nor what lies somewhere else."""
    return not edge.is_symptom and (edge.inherits or parent.mode == PAPER)


def _inherit_attributes(child: Row, parent: Row, edge: Edge) -> None:
    """Unite the parent's attributes with the pathway's; a symptom has no clinical ones.

    Not in mode `paper`: a negative sub-finding has the pathway's alone, because "small" or "worse" is said of
    what is there; a stated distribution of the parent goes before the pathway's.
    """
    for name in ATTRIBUTE_NAMES:
        setattr(child, name, edge.attributes.get(name, ""))
    is_denied = edge.status == "dn" and parent.mode != PAPER
    if is_denied or not (edge.is_symptom or _inherits(edge, parent)):
        return
    for name, inherited in zip(ATTRIBUTE_NAMES, _ATTRIBUTES_OF(parent), strict=True):
        if inherited and not (edge.is_symptom and name in CLINICAL_ATTRIBUTES):
            own = (
                ""
                if name == "distribution" and parent.mode != PAPER
                else getattr(child, name)
            )
            setattr(child, name, united_cells([inherited, own]))
