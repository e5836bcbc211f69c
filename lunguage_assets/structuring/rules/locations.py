"""Phrases that name a location and no finding, and locations that share a word.

A location is said of a finding before it ("effusion in the left base"), begins another
row of it ("... and in the lingula"), or is what the clause is about ("on the left,").
"""

from __future__ import annotations

from lunguage_assets.assertion.units import JOINTS, TaggedToken, has_kind
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.rules.body_parts import take_parts
from lunguage_assets.structuring.rules.clause import Clause
from lunguage_assets.structuring.rules.drafts import MentionDraft, judges
from lunguage_assets.structuring.rules.phrases import Phrase


def is_location(phrase: Phrase) -> bool:
    """Whether a phrase with a location is one, and no predicate.

    A predicate is "(the lungs) are clear bilaterally".
    """
    if "copula" in phrase.lead_kinds:
        return has_kind(phrase.tokens[:1], "place")
    return has_kind(phrase.tokens, "place")


def take_location(clause: Clause, phrase: Phrase, following: Phrase) -> None:
    """Say a location of the findings before it, or let it wait for what follows.

    Args:
        clause: so far; changed in place.
        phrase: names a location or a part of the body, and no finding.
        following: the phrase behind it.
    """
    # "Nodule above the diaphragm": the preposition is a part of the location.
    locations = [word for word in phrase.lead_in if word.form in WORDS["levels"]]
    words: list[TaggedToken] = []
    for token in phrase.tokens:
        is_location_word = token.kind in ("anatomy", "place")
        group = locations if is_location_word else words
        group.append(token)
    is_behind_finding = clause.role in ("finding", "place")
    if "preposition" in phrase.lead_kinds and is_behind_finding:
        _locate_findings(clause, phrase, locations, words)
        return
    # "... in the right base and the lingula", but not "... and the enlarged heart" nor
    # "..., the heart is large".
    is_of_part = any(map(judges, words)) or "copula" in following.lead_kinds
    if clause.role == "place" and phrase.is_joined and not is_of_part:
        _add_row_at(clause.findings[-1], locations)
        return
    modifiers = clause.pending + words
    clause.pending = []
    if has_kind(locations, "anatomy"):
        take_parts(clause, phrase, locations, modifiers)
        return
    clause.topic = locations
    clause.role = "side"
    clause.pending = modifiers


# --- of findings


def _locate_findings(
    clause: Clause,
    phrase: Phrase,
    locations: list[TaggedToken],
    words: list[TaggedToken],
) -> None:
    """Add a location behind a preposition to the findings before it.

    Args:
        clause: with a finding; changed in place.
        phrase: that names the location.
        locations: words of the location.
        words: other words of the phrase.
    """
    is_near_only = False
    is_beside = phrase.lead_in[-1].form in WORDS["beside"]
    findings = clause.alternatives or clause.findings[-1:]
    # "Atelectasis and an effusion are seen on the left", "have increased on the left":
    # all that have no location.
    is_of_all = bool(phrase.lead_kinds & {"copula", "seen"}) or _is_same_said(clause)
    if not clause.alternatives and is_of_all:
        others = [it for it in clause.findings[:-1] if not it.all_locations]
        findings = [*others, *findings]
    for finding in findings:
        # "Nodule in the lingula, over the sixth rib": it lies in the lingula.
        if is_beside and finding.has_definite_location:
            is_near_only = True
            continue
        groups = finding.location_groups
        if phrase.lead_kinds & JOINTS:
            # "In the right base and in the lingula": another row.
            _add_row_at(finding, locations)
        elif groups:
            # "In the base of the right lung": one location.
            groups[-1] = groups[-1] + locations
        else:
            groups.append(locations)
        finding.modifiers = finding.modifiers + words
    clause.role = "beside" if is_near_only else "place"


def _is_same_said(clause: Clause) -> bool:
    """Whether the last words were said of all findings before them."""
    last_words = [finding.modifiers[-1:] for finding in clause.findings]
    return bool(last_words[0]) and all(words == last_words[0] for words in last_words)


def _add_row_at(finding: MentionDraft, locations: list[TaggedToken]) -> None:
    """Make another row of a finding; of two joined locations each completes the other.

    "The right mid and upper lung" are the right mid lung and the right upper lung.
    """
    groups = finding.location_groups
    before = groups[-1] if groups else []
    # "The 4th, 5th and 6th ribs" are three. What has its noun has had it added before.
    for number in reversed(range(len(groups))):
        completed = with_noun_behind(groups[number], locations)
        if completed is groups[number]:
            break
        groups[number] = completed
    groups.append(with_side_before(locations, before))


# --- locations that share a word


def with_side_before(
    locations: list[TaggedToken], before: list[TaggedToken]
) -> list[TaggedToken]:
    """Add the side of the location before: "the right upper and lower lobes".

    Args:
        locations: of the second location, which is joined to the first.
        before: words of the first.
    """
    if _lies_in_a_side(locations[0]):
        return [*filter(is_side, before), *locations]
    return locations


def with_noun_behind(
    locations: list[TaggedToken], behind: list[TaggedToken]
) -> list[TaggedToken]:
    """Add the noun of the location behind: "the right mid and upper lung".

    Args:
        locations: of the first location.
        behind: words of the second, which is joined to the first.
    """
    if not _lies_in_a_side(locations[-1]):
        return locations
    # "The mid and lower thoracic spine", "the upper and mid left lung"
    shared = behind[1:] if _lies_in_a_side(behind[0]) else []
    noun = behind[-1].noun
    if noun is not None:
        shared = [*shared[:-1], noun]
    # "The mid and lower base" has no noun that both share.
    if not shared or _lies_in_a_side(shared[-1]):
        return locations
    return [*locations, *shared]


def is_side(location: TaggedToken) -> bool:
    """Whether it is "right", "left" or "bilateral"."""
    return location.form in WORDS["sides"]


def _lies_in_a_side(location: TaggedToken) -> bool:
    """Whether it is a part of one side: "lower lobe", "5th rib"."""
    return location.form in WORDS["within_a_side"]
