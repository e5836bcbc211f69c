"""Findings of one study with the same meaning are merged into one survivor (implicit.md section 2), all of a
group with each other: by similarity, where nothing keeps two apart; by what they state, in findings and
impression, at a place and a narrower one, or by another name of one diagnosis, where no encoder decides.

Nothing that the report says is rewritten. A positive and a negative never meet here: contradictions are left
to `resolve.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.encoders import Embedder, close_pairs, make_embedder
from lunguage_assets.implicit.merging.merge_constraints import (
    Blacklist,
    Wording,
    load_blacklist,
    unite_attributes,
    wording_of,
)
from lunguage_assets.implicit.merging.probabilities import assign_beliefs
from lunguage_assets.implicit.rows import (
    BARE,
    PAPER,
    Row,
    by_study,
    priority,
    read_rows,
    united_tokens,
    write_rows,
)
from lunguage_assets.implicit.statements.contradictions import qualifier_of
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.implicit.statements.locations import anatomy, says_resolved
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import DEDUPLICATED_FINDINGS

_TOLD_TWICE = {"find", "impr"}
_SAME_PLACE, _SAME_STATUS = 0.5, 0.25

Blocks = Sequence[Sequence[Row]]
Pair = tuple[int, int]
"""Positions of two items, the lower first."""

Phrases = tuple[str, str]
"""Of two rows, in alphabetical order."""


def merging_tools(
    settings: ImplicitSettings, terms: pd.DataFrame, root: Path, file: Path | None
) -> tuple[Embedder, Blacklist, ImplicitSettings, LabelList]:
    """What `deduplicate` needs beside its frames; `file`: the home's blacklist."""
    embedder = make_embedder(settings, Vocabulary.from_terms(terms), root)
    return embedder, load_blacklist(file), settings, load_label_list()


def deduplicate(
    findings: pd.DataFrame,
    probabilities: pd.DataFrame,
    embedder: Embedder,
    blacklist: Blacklist,
    settings: ImplicitSettings,
    labels: LabelList | None = None,
) -> pd.DataFrame:
    """FINDINGS and FITTED_PROBABILITIES to DEDUPLICATED_FINDINGS.

    Every finding gets its probability; merged rows and history rows are marked. One row per finding, sorted
    by study and report order whatever the order of the input. Survivors have the attributes and references of
    their group united; references to merged rows point to the survivor everywhere in the study. The mode is
    decided here and goes with the rows; `labels` is by default the packaged list. Raises `MethodError` when
    the encoder answers wrongly.
    """
    rows = believed_rows(findings, probabilities, settings)
    studies = by_study(rows)
    for row in rows:
        row.encoder = embedder.identity
    blocks = [block for study in studies for block in blocks_of(study)]
    found = similar_groups(
        blocks, _apart(blacklist, settings), embedder, settings.merge_threshold
    )
    for block, groups in zip(blocks, found, strict=True):
        for group in groups:
            similar = {
                block[position].finding_id: similarity
                for position, similarity in group.items()
            }
            alike = [block[position] for position in group]
            _merge(alike, min(alike, key=priority), blacklist, similar)
    labels = labels or load_label_list()
    for study in studies:
        if settings.mode != PAPER:
            for block in blocks_of(study):
                for same in repeated_across_sections(block, blacklist, labels):
                    _merge_restated(study, same, blacklist, labels)
        _move_references(study)
    return write_rows(DEDUPLICATED_FINDINGS, rows)


def believed_rows(
    findings: pd.DataFrame, probabilities: pd.DataFrame, settings: ImplicitSettings
) -> list[Row]:
    """FINDINGS with what FITTED_PROBABILITIES says of them, sorted by study and report order; history is
    marked as excluded unless it is wanted.
    """
    rows = [row for study in _studies(findings, settings) for row in study]
    assign_beliefs(rows, probabilities)
    return rows


def compared_phrases(
    findings: pd.DataFrame, blacklist: Blacklist, settings: ImplicitSettings
) -> list[str]:
    """The distinct phrases of FINDINGS whose vectors `deduplicate` needs, sorted: those that are compared."""
    blocks = [
        block for study in _studies(findings, settings) for block in blocks_of(study)
    ]
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
            kind = (
                row.positive,
                gone,
                row.currency,
                qualifier.name if qualifier is not None else "",
            )
            blocks.setdefault(kind, []).append(row)
    return [block for block in blocks.values() if len(block) > 1]


def _merge(
    group: Sequence[Row],
    survivor: Row,
    blacklist: Blacklist,
    similar: Mapping[str, float | None],
) -> None:
    """Merge a group into its survivor; `similar` has the similarity of each row, by finding id."""
    others = [row for row in group if row is not survivor]
    survivor.evidence = united_tokens(
        survivor.evidence, *(row.evidence for row in others)
    )
    survivor.associate = united_tokens(
        survivor.associate, *(row.associate for row in others)
    )
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
        uninformed, claim, *rest = priority(row)
        return uninformed, claim, not labels.read(row).diagnosis, *rest

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
    survivor_of = {
        row.finding_id: row.merged_into for row in study if row.merged_into is not None
    }

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


# groups


def similar_groups(
    blocks: Blocks, blacklist: Blacklist, embedder: Embedder, threshold: float
) -> Iterator[list[dict[int, float]]]:
    """The groups of each block that are merged: each position with the highest similarity to another member.
    Every phrase is encoded once, and only if it is compared. Raises `MethodError` for a wrong answer.
    """
    kinds_of_blocks = [distinct_wordings(block, blacklist) for block in blocks]
    phrases_of_blocks = [_compared(kinds) for kinds in kinds_of_blocks]
    close_of_blocks = close_pairs(embedder, phrases_of_blocks, threshold)
    for kinds, close in zip(kinds_of_blocks, close_of_blocks, strict=True):
        similar = _similar(kinds, close)
        groups = complete_link(len(kinds), similar)
        alone = set(range(len(kinds))).difference(*groups)
        groups += [[kind] for kind in alone if len(kinds[kind][1]) > 1]
        yield sorted((_closest(group, kinds, similar) for group in groups), key=min)


def asked_phrases(blocks: Blocks, blacklist: Blacklist) -> list[str]:
    """The distinct phrases that an encoder is asked for, sorted."""
    return sorted(
        {
            phrase
            for block in blocks
            for phrase in _compared(distinct_wordings(block, blacklist))
        }
    )


def distinct_wordings(
    block: Sequence[Row], blacklist: Blacklist
) -> list[tuple[Wording, list[int]]]:
    """The wordings of a block with the positions of their rows; what is kept apart from its like, alone."""
    found: list[tuple[Wording, list[int]]] = []
    of_phrase: dict[str, list[tuple[Wording, list[int]]]] = {}
    for position, row in enumerate(block):
        wording = wording_of(row, blacklist)
        known = of_phrase.setdefault(wording.phrase, [])
        positions = next((own for other, own in known if other == wording), None)
        if positions is None or wording.separated(wording):
            known.append((wording, positions := []))
            found.append(known[-1])
        positions.append(position)
    return found


def _compared(kinds: Sequence[tuple[Wording, list[int]]]) -> set[str]:
    """The phrases of a block that are compared with another one: something else keeps the others apart from
    all. A partner is looked for until one is found, which is soon.
    """
    compared: set[str] = set()
    for wording, _ in kinds:
        if wording.phrase in compared:
            continue
        for other, _ in kinds:
            if other.phrase != wording.phrase and not wording.separated(other):
                compared |= {wording.phrase, other.phrase}
                break
    return compared


def _similar(
    kinds: Sequence[tuple[Wording, list[int]]], close: Mapping[Phrases, float]
) -> dict[Pair, float]:
    """The pairs of wordings, by position, that are similar enough and that nothing keeps apart."""
    positions_by_phrase: dict[str, list[int]] = {}
    for position, (wording, _) in enumerate(kinds):
        positions_by_phrase.setdefault(wording.phrase, []).append(position)
    similar: dict[Pair, float] = {}
    for (one, other), cosine in close.items():
        for a, b in product(positions_by_phrase[one], positions_by_phrase[other]):
            if not kinds[a][0].separated(kinds[b][0]):
                similar[min(a, b), max(a, b)] = cosine
    for positions in positions_by_phrase.values():
        for a, b in combinations(
            positions, 2
        ):  # one phrase, which other values or marks part
            if not kinds[a][0].separated(kinds[b][0]):
                similar[a, b] = 1.0
    return similar


def _closest(
    group: Sequence[int],
    kinds: Sequence[tuple[Wording, list[int]]],
    similar: Mapping[Pair, float],
) -> dict[int, float]:
    """The positions of a group of wordings, each with its similarity to the nearest other row."""
    closest = {kind: float(len(kinds[kind][1]) > 1) for kind in group}
    for a, b in combinations(group, 2):
        cosine = min(1.0, similar.get((a, b), 0.0))
        closest[a], closest[b] = max(closest[a], cosine), max(closest[b], cosine)
    return dict(
        sorted(
            (position, closest[kind]) for kind in group for position in kinds[kind][1]
        )
    )


def complete_link(size: int, similar: Mapping[Pair, float]) -> list[list[int]]:
    """Groups of two or more of `size` items, all compatible with each other, sorted: pairs are taken by
    similarity descending, then by position; two groups unite only when every cross pair is listed.
    """
    groups = [[number] for number in range(size)]
    """Of each item: its group, which all of its members share."""
    for a, b in sorted(similar, key=lambda pair: (-similar[pair], pair)):
        one, other = groups[a], groups[b]
        if one is other or any(
            (min(x, y), max(x, y)) not in similar for x in one for y in other
        ):
            continue
        one += other
        for member in other:
            groups[member] = one
    return sorted(
        sorted(group)
        for number, group in enumerate(groups)
        if len(group) > 1 and number == min(group)
    )


def repeated_across_sections(
    block: Sequence[Row], blacklist: Blacklist, listed: LabelList
) -> Iterator[list[Row]]:
    """Groups of rows of a block that state the same thing, in report order. A row at a wide place that
    repeats one of several others joins one of its own status, or none.
    """
    statements = [_Statement(row, listed) for row in block]
    wordings = [wording_of(row, blacklist) for row in block]
    again = {
        (a, b)
        for a, b in _may_state_the_same(statements)
        if statements[a].states_the_same(statements[b])
        and not wordings[a].separated(wordings[b])
    }
    partners: dict[int, set[int]] = {}
    for a, b in again:
        partners.setdefault(a, set()).add(b)
        partners.setdefault(b, set()).add(a)
    one_thing = {
        number: all(pair in again for pair in combinations(sorted(others), 2))
        for number, others in partners.items()
    }
    near = {
        (a, b): statements[a].nearness(statements[b])
        for a, b in again
        if block[a].status == block[b].status or (one_thing[a] and one_thing[b])
    }
    for numbers in complete_link(len(block), near):
        yield [block[number] for number in numbers]


def _may_state_the_same(statements: Sequence[_Statement]) -> Iterator[Pair]:
    """The pairs of statements that have a label in common, or a name that stands in findings and in
    impression: others never state the same thing.
    """
    positions_by_subject: dict[str | int, list[int]] = {}
    for position, statement in enumerate(statements):
        for subject in statement.subjects():
            positions_by_subject.setdefault(subject, []).append(position)
    pairs = set[Pair]()
    for subject, positions in positions_by_subject.items():
        if isinstance(subject, int):
            pairs.update(combinations(positions, 2))
            continue
        # Under one name only what is told twice is one: pairs inside a section would be the square of it.
        in_findings, in_impression = (
            [
                position
                for position in positions
                if statements[position].row.section == section
            ]
            for section in ("find", "impr")
        )
        crossed = product(in_findings, in_impression)
        pairs.update((min(pair), max(pair)) for pair in crossed)
    yield from sorted(pairs)


def place_of(survivor: Row, others: Sequence[Row]) -> Row:
    """The row whose place a survivor takes: the narrowest of a presence, the widest of a denial."""
    at = survivor
    for row in others:
        inner, outer = (row, at) if survivor.positive else (at, row)
        places = inner.location_parts, outer.location_parts
        if lies_in(*places) and not _alike(*places):
            at = row
    return at


def lies_in(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    """Whether a place lies in another one, and on no other sides: what is bilateral is not what is left."""
    sides, wide = anatomy().location(inner).sides, anatomy().location(outer).sides
    return bool(anatomy().covers(outer, inner)) and (not wide or wide == sides)


class _Statement:
    """A row with what it says: its name, and the diagnoses that it means by another one."""

    def __init__(self, row: Row, listed: LabelList) -> None:
        self.row = row
        read = listed.read(row)
        self._diagnosis = read.diagnosis
        self._meant: dict[int, tuple[bool, frozenset[str], tuple[str, ...]]] = {}
        """By label: present, refinements, place."""
        for meaning, present in read.meanings:
            if listed.is_diagnosis(meaning.label) and meaning.reads != "kind":
                parts = () if meaning.placeless else row.location_parts
                self._meant[meaning.label] = (present, read.refinements, parts)
        meanings = listed.meanings(row.name, row.ent, self._diagnosis)
        self._concludes = any(meaning.reads == "denial" for meaning in meanings)

    def subjects(self) -> list[str | int]:
        """The name, and the labels that it means by another one: one of them is in common, or nothing is."""
        return [self.row.name, *self._meant]

    def states_the_same(self, other: _Statement) -> bool:
        # "Enlarged silhouette, possibly cardiomegaly": what explains a sign with doubt does not restate it.
        is_one_sentence = (self.row.section, self.row.sent_idx) == (
            other.row.section,
            other.row.sent_idx,
        )
        explains = (
            self.row.finding_id in other.row.evidence
            or other.row.finding_id in self.row.evidence
        )
        is_explained = explains or is_one_sentence
        if (
            is_explained
            and self.row.name != other.row.name
            and self.row.status != other.row.status
        ):
            return False
        twice = {self.row.section, other.row.section} == _TOLD_TWICE
        if not self.row.positive and not (
            twice and self.row.status == other.row.status
        ):
            return False
        if self.row.name == other.row.name:
            places = self.row.location_parts, other.row.location_parts
            alike = _alike(*places)
            if (
                self._concludes
            ):  # "no acute abnormality" of the pleura is not the one of the bones
                return (
                    twice and self.row.ent == other.row.ent and places[0] == places[1]
                )
            return twice and (alike or self._nested(*places))
        if self._diagnosis and other._diagnosis:
            return False
        for label in self._meant.keys() & other._meant.keys():
            (present, refined, place), (there, also, where) = (
                self._meant[label],
                other._meant[label],
            )
            if (present, refined) == (there, also) and (
                _alike(place, where) or (twice and self._nested(place, where))
            ):
                return True
        return False

    def _nested(self, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        within = lies_in if self.row.positive else anatomy().covers
        return bool(within(one, other) or within(other, one))

    def nearness(self, other: _Statement) -> float:
        """The same place before a wider one, the same status before another."""
        same_place = _alike(self.row.location_parts, other.row.location_parts)
        return _SAME_PLACE * same_place + _SAME_STATUS * (
            self.row.status == other.row.status
        )


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return lies_in(one, other) and lies_in(other, one)
