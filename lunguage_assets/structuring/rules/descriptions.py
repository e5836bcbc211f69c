"""Phrases that name nothing themselves: which of the things named before they describe.

"The heart is large" says large of the heart, "effusions, small on the left" small of
the left one. Words that nothing before can take wait for what is named next.
"""

from __future__ import annotations

from lunguage_assets.assertion.units import JOINTS, has_kind
from lunguage_assets.structuring.rules.clause import Clause
from lunguage_assets.structuring.rules.drafts import MentionDraft
from lunguage_assets.structuring.rules.phrases import Phrase


def take_description(clause: Clause, phrase: Phrase, following: Phrase) -> None:
    """Say words of what was named last; if nothing was, of what is named next.

    Args:
        clause: so far; changed in place.
        phrase: names neither a finding nor, by itself, a location.
        following: the phrase behind it.
    """
    if _is_of_next_noun(phrase, following):
        clause.pending = clause.pending + phrase.tokens
        return
    is_of_list = clause.role == "place" and phrase.is_joined
    if is_of_list and "preposition" in following.lead_kinds:
        # "Effusions, moderate on the right and small on the left" are two.
        clause.findings = [MentionDraft(clause.findings[-1].head, [], [])]
        clause.drafts += clause.findings
    if has_kind(phrase.tokens, "normal"):
        _make_topic_subject(clause)
    parts = clause.open_parts or clause.described_parts
    # "Effusion and atelectasis are unchanged" is said of both.
    described = parts or clause.findings
    for draft in described:
        draft.describe(phrase.tokens)
    # A state or a course has been said of the part; after other words it waits on.
    if any(part.is_described for part in parts):
        clause.described_parts = parts
        clause.open_parts = []
    if not described:
        clause.pending = clause.pending + phrase.tokens


def _is_of_next_noun(phrase: Phrase, following: Phrase) -> bool:
    """ "Small, calcified granuloma": the noun of both adjectives follows."""
    is_adjective = has_kind(following.tokens[:1], "word", "abnormal")
    return bool(phrase.lead_kinds & JOINTS) and following.is_joined and is_adjective


def _make_topic_subject(clause: Clause) -> None:
    """Make the location of a finding the subject, where there is no other.

    "The lungs are hyperinflated but clear": the lungs are clear.
    """
    parts = [token for token in clause.topic if token.kind == "anatomy"]
    if parts and not (clause.open_parts or clause.described_parts):
        clause.open_parts = [MentionDraft.of_part(parts[-1], clause.topic, [])]
        clause.drafts += clause.open_parts
        clause.role = "part"
