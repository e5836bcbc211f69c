"""Phrases that name findings: where each lies, what describes it, what supports it.

What has been named before decides most of it: alternatives share a location, a sign
before "may represent" supports, a side before "and" has the same finding.
"""

from __future__ import annotations

from lunguage_assets.assertion.units import JOINTS, TaggedToken
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.rules.clause import Clause
from lunguage_assets.structuring.rules.drafts import MentionDraft, read_as_courses
from lunguage_assets.structuring.rules.locations import (
    is_side,
    with_noun_behind,
    with_side_before,
)
from lunguage_assets.structuring.rules.phrases import Phrase


def take_findings(clause: Clause, phrase: Phrase) -> None:
    """Draft the findings of a phrase, and make them what the next one may be said of.

    Args:
        clause: so far; changed in place.
        phrase: names one finding at least.
    """
    # "Chronic changes, no acute disease": what stands before a denial is not denied.
    pending = [] if "negated" in phrase.lead_kinds else clause.pending
    clause.pending = []
    drafts = drafts_of_findings(phrase.tokens, pending)
    first = drafts[0]
    twin = _same_finding_before(clause, first, pending)
    if twin is not None:
        drafts.insert(0, twin)
    else:
        _locate_at_topic(clause, phrase, drafts)
    signs = _signs_of(clause, phrase)
    for draft in drafts:
        draft.signs = signs
    # "Scarring/atelectasis", "left basal atelectasis or pneumonia": at one location.
    is_behind_slash = any(token.form == "/" for token in phrase.lead_in)
    if clause.findings and ("alternative" in phrase.lead_kinds or is_behind_slash):
        before = clause.findings[-1]
        # "No right mass or fracture" denies every fracture.
        locations = [] if before.head.is_denied else before.locations
        for draft in drafts:
            draft.locations = draft.locations or locations
    _remember_findings(clause, phrase, drafts)


def drafts_of_findings(
    tokens: list[TaggedToken], pending: list[TaggedToken]
) -> list[MentionDraft]:
    """Draft the findings of a phrase that names one at least.

    Locations and words stand before their finding; those behind the last one are its
    own.

    Args:
        tokens: words of the phrase.
        pending: words before the phrase that describe its first finding.
    """
    drafts: list[MentionDraft] = []
    locations: list[TaggedToken] = []
    modifiers = list(pending)
    for token in tokens:
        if token.kind in ("anatomy", "place"):
            locations.append(token)
        elif token.kind == "finding":
            # "Increased effusion" has grown; "increased opacity" is denser.
            if token.name in WORDS["changing"]:
                read_as_courses(modifiers)
            drafts.append(MentionDraft(token, locations, modifiers))
            locations = []
            modifiers = []
        else:
            modifiers.append(token)
    drafts[-1].locations = drafts[-1].locations + locations
    drafts[-1].modifiers = drafts[-1].modifiers + modifiers
    return drafts


# --- one noun for two findings


def _same_finding_before(
    clause: Clause, first: MentionDraft, pending: list[TaggedToken]
) -> MentionDraft | None:
    """Draft the finding that is named once for two locations, at the first of them.

    Args:
        clause: so far.
        first: the finding, at the second location; gets the side of the first, and
            loses what is said of it.
        pending: words before the first location.

    Returns:
        None where there is no such location before.
    """
    if clause.role != "side" or not first.locations:
        return None
    # "Moderate right and small left effusions". Of "right and left lower lobe" the noun
    # belongs to both.
    side = clause.topic
    shared_noun: list[TaggedToken] = []
    if all(map(is_side, side)):
        shared_noun = first.locations[1:]
    locations = with_noun_behind([*side, *shared_noun], first.locations)
    first.locations = with_side_before(first.locations, side)
    # "Healed fifth and sixth rib fractures" says healed of both.
    own_words = [word for word in first.modifiers if word not in pending]
    first.modifiers = own_words or pending
    return MentionDraft(first.head, locations, pending)


# --- the topic as location


def _locate_at_topic(
    clause: Clause, phrase: Phrase, drafts: list[MentionDraft]
) -> None:
    """Give findings without a location what the clause is about.

    Args:
        clause: so far.
        phrase: that names the findings.
        drafts: of them.
    """
    # "In the left lung a nodule and a fracture": the topic is that of the first alone.
    goes_on_list = bool(clause.findings and phrase.lead_kinds & JOINTS)
    # In "lung volumes" nothing lies.
    is_measured = any(token.name in WORDS["measured"] for token in clause.topic)
    # "The hila and mediastinum show no adenopathy" is of both.
    is_of_several = len(clause.open_parts) > 1
    if goes_on_list or is_measured or is_of_several or clause.described_parts:
        return
    for draft in drafts:
        draft.locations = draft.locations or clause.topic


# --- the findings before


def _signs_of(clause: Clause, phrase: Phrase) -> list[MentionDraft]:
    """Find what supports the findings of a phrase: "opacity suggesting pneumonia"."""
    lead_kinds = phrase.lead_kinds
    # "Opacity and possible effusion", "with possible effusion": beside each other.
    are_beside = bool(lead_kinds & {"and", "alternative", "with"})
    if lead_kinds & {"link", "hedged"} and not are_beside:
        return clause.findings
    # "Opacity suggesting pneumonia or edema" supports both.
    if clause.findings and phrase.is_joined:
        return clause.findings[-1].signs
    return []


def _remember_findings(
    clause: Clause, phrase: Phrase, drafts: list[MentionDraft]
) -> None:
    """Make these findings what the next phrase may be said of.

    Args:
        clause: so far; changed in place.
        phrase: that names them.
        drafts: of them.
    """
    clause.drafts += drafts
    listed_before = clause.findings if phrase.is_joined else []
    if "alternative" in phrase.lead_kinds:
        clause.alternatives = [*listed_before[-1:], *drafts]
    else:
        clause.alternatives = []
    clause.findings = [*listed_before, *drafts]
    if clause.described_parts:
        clause.topic = []
    clause.open_parts = []
    clause.described_parts = []
    clause.role = "finding"
