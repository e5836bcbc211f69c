"""Phrases that name nothing themselves: which of the things named before they describe.

"The heart is large" says large of the heart, "effusions, small on the left" small of
the left one. Words that nothing before can take wait for what is named next.
"""

from __future__ import annotations

from lunguage_assets.assertion.units import JOINTS, TaggedToken, has_kind
from lunguage_assets.structuring.rules.clause import Clause
from lunguage_assets.structuring.rules.drafts import MentionDraft
from lunguage_assets.structuring.rules.phrases import Phrase

_ADJECTIVES = ("word", "abnormal")


def take_description(
    clause: Clause, phrase: Phrase, following: Phrase
) -> list[MentionDraft]:
    """Say words of what was named last; if nothing was, of what is named next.

    Args:
        clause: so far; changed in place.
        phrase: names neither a finding nor, by itself, a location.
        following: the phrase behind it.

    Returns:
        The drafts that it begins: a second finding, or a location as a subject.
    """
    is_adjective = any(token.kind in _ADJECTIVES for token in following.tokens[:1])
    if phrase.lead_kinds & JOINTS and following.is_joined and is_adjective:
        # "Small, calcified granuloma": the noun of both adjectives follows.
        clause.pending = clause.pending + phrase.tokens
        return []
    begun: list[MentionDraft] = []
    is_of_list = clause.role == "place" and phrase.is_joined
    if is_of_list and "preposition" in following.lead_kinds:
        # "Effusions, moderate on the right and small on the left" are two.
        begun = [MentionDraft(clause.findings[-1].head, [], [])]
        clause.findings = begun
    return begun + _describe_last(clause, phrase)


def _describe_last(clause: Clause, phrase: Phrase) -> list[MentionDraft]:
    """Say words of what was named last, if it can have them.

    Returns:
        A part of the body that only they make a subject.
    """
    begun: list[MentionDraft] = []
    locations = [token for token in phrase.tokens if token.kind == "place"]
    if has_kind(phrase.tokens, "normal"):
        begun = _topic_as_subject(clause)
    if clause.open_parts or clause.described_parts:
        _describe_parts(clause, phrase.tokens, locations)
    elif clause.findings:
        # "Effusion and atelectasis are unchanged" is said of both.
        for finding in clause.findings:
            finding.describe(phrase.tokens, locations)
    else:
        clause.pending = clause.pending + phrase.tokens
    return begun


def _describe_parts(
    clause: Clause, words: list[TaggedToken], locations: list[TaggedToken]
) -> None:
    """Say words of the parts that wait for some; else of those described before.

    Args:
        clause: with a part of the body; changed in place.
        words: that describe it.
        locations: that stand among them.
    """
    parts = clause.open_parts or clause.described_parts
    for part in parts:
        part.describe(words, locations)
    if not clause.open_parts:
        return
    # A state or a course has been said of the part; after other words it waits on.
    if any(part.is_described for part in parts):
        clause.described_parts = clause.open_parts
        clause.open_parts = []


def _topic_as_subject(clause: Clause) -> list[MentionDraft]:
    """Make the location of a finding the subject, where there is no other.

    "The lungs are hyperinflated but clear": the lungs are clear.

    Returns:
        The part of the body, as a draft; nothing where the topic has none.
    """
    parts = [token for token in clause.topic if token.kind == "anatomy"]
    if not parts or clause.open_parts or clause.described_parts:
        return []
    part = MentionDraft.of_part(parts[-1], clause.topic, [])
    clause.open_parts = [part]
    clause.role = "part"
    return [part]
