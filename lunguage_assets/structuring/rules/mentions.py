"""From drafts to rows: name, status, attributes and cues of a mention.

The columns are those of method.md sections 2 to 5. Which words belong to a draft is
decided before, in `findings.py`, `locations.py` and `descriptions.py`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from lunguage_assets.assertion.axes import axes_of
from lunguage_assets.assertion.unanswered import speaks
from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.assertion.vocabulary import ELSEWHERE
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.contract import UNANSWERED, CueUse, Mention, Span
from lunguage_assets.structuring.rules.drafts import (
    MentionDraft,
    is_wrong,
    judgements_of,
)
from lunguage_assets.tables import ATTRIBUTES

_EARLIER = re.compile(r".*\b(?:prior|previous|recent)\s+", re.IGNORECASE)
"""What stands before the examination itself in "on the prior CT"."""
_SIDE = re.compile(r"\b(?:right|left|bilateral|both|rt|lt)", re.IGNORECASE)
_BETWEEN_NEIGHBOURS = re.compile(r"[\s-]*(?:\bthe\s+)?")
_NO_LETTERS = re.compile("[^a-z0-9]+")
_NAME_OUTSIDE_THE_CHEST = {
    "pulmonary edema": "soft tissue edema",
    "pleural effusion": "joint effusion",
}
"""What a word of the chest means where a chest film does not reach.

"edema of the ankle".
"""


class Row(NamedTuple):
    """A mention that a draft makes.

    Attributes:
        draft: of the finding or part of the body.
        locations: where this row lies.
    """

    draft: MentionDraft
    locations: list[TaggedToken]


def rows_of(drafts: list[MentionDraft]) -> list[Row]:
    """Make a row for each group of locations of a draft."""
    return [
        Row(draft, [*draft.locations, *group])
        for draft in drafts
        for group in draft.location_groups or [[]]
    ]


def mentions_of(drafts: list[MentionDraft], text: str) -> tuple[Mention, ...]:
    """Make the mentions of a sentence, with their references.

    The first row of a draft stands for it in references.

    Args:
        drafts: of the sentence, in their order.
        text: of the sentence.
    """
    rows = rows_of(drafts)
    first_row_of: dict[MentionDraft, int] = {}
    for number, row in enumerate(rows):
        first_row_of.setdefault(row.draft, number)
    mentions: list[Mention] = []
    for row in rows:
        # What is denied has no support. A sign may be a pointer to the sentence before,
        # which makes no row here.
        signs = [] if row.draft.head.is_denied else row.draft.signs
        evidence = tuple(first_row_of[sign] for sign in signs if sign in first_row_of)
        mentions.append(mention_of(row.draft, row.locations, text, evidence))
    for cause in first_row_of.values():
        # The way back of an evidence, which leads to the first row of the draft.
        for sign in mentions[cause].evidence:
            associate = (*mentions[sign].associate, cause)
            mentions[sign] = replace(mentions[sign], associate=associate)
    return tuple(mentions)


def mention_of(
    draft: MentionDraft,
    locations: list[TaggedToken],
    text: str,
    evidence: tuple[int, ...] = (),
) -> Mention:
    """Make one mention.

    Args:
        draft: of the finding or part of the body.
        locations: where it lies.
        text: of the sentence.
        evidence: numbers of the rows that support it.
    """
    status = _status_as_read(draft)
    unanswered = _unanswered(draft, status)
    # What was not understood leaves open what would be certain.
    if unanswered:
        status = f"t{status[1]}"
    return Mention(
        sentence=0,
        ent=_span(draft.head),
        normed_ent=_name(draft.head, locations),
        # A described part of the body is seen on the film (method.md section 2).
        cat=draft.head.code if draft.is_finding else "PF",
        status=status,
        location=_location(locations, text),
        attributes=_attributes(draft, status, text),
        evidence=evidence,
        cues=_cues(draft, unanswered, text),
    )


def _span(token: TaggedToken) -> Span:
    return Span(token.begin, token.end)


def _name(head: TaggedToken, locations: list[TaggedToken]) -> str:
    # "History of malignancy" is of any organ, not of the lung.
    if head.past is not None and head.form in WORDS["of_any_organ"]:
        return "cancer"
    # "Edema of the ankle" is not pulmonary (method.md section 7, point 9).
    if any(location.name == ELSEWHERE for location in locations):
        return _NAME_OUTSIDE_THE_CHEST.get(head.name, head.name)
    return head.name


def _location(locations: list[TaggedToken], text: str) -> tuple[Span, ...]:
    """Take locations as values, sides first, neighbours as one: "right upper lobe"."""
    spans: list[Span] = []
    for location in sorted(set(locations), key=lambda location: location.begin):
        # "Right" and "upper lobe" are two words of the lexicon and one value, "apex of
        # the lung" two.
        if spans and _BETWEEN_NEIGHBOURS.fullmatch(text, spans[-1].end, location.begin):
            spans[-1] = Span(spans[-1].begin, location.end)
        else:
            spans.append(_span(location))
    # A stable order: behind the sides the order of the text stays.
    return tuple(sorted(spans, key=lambda span: _SIDE.search(span.of(text)) is None))


# --- status


def _status_as_read(draft: MentionDraft) -> str:
    """Decide the code of `tables.STATUSES` by the words that were understood.

    A finding is denied or hedged itself; a part of the body is what is said of it
    (method.md section 3).
    """
    head = draft.head
    decisive = [head]
    is_present = not head.is_denied
    judgements = judgements_of(draft)
    # "Interstitial markings are normal": every lung has them, as a part of it.
    is_structure = head.name in WORDS["structures"]
    if not draft.is_finding or (is_structure and judgements):
        # What is abnormal wins over what is normal: "normal but tortuous aorta".
        wrong = list(filter(is_wrong, judgements))
        decisive = wrong or judgements
        # "The heart is large, of normal contour": what is abnormal decides.
        # "The heart has worsened" judges by its course alone.
        is_worse = not judgements and draft.has_modifier_of("worsened")
        is_present = bool(wrong) or is_worse
    is_open = any({"hedged", "doubted"} & word.meanings.keys() for word in decisive)
    return ("t" if is_open else "d") + ("p" if is_present else "n")


def _unanswered(draft: MentionDraft, status: str) -> list[TaggedToken]:
    """List the words that leave open a mention which would be certain.

    Args:
        draft: of the mention.
        status: of it, by the words that were understood.
    """
    is_past = draft.head.past is not None and draft.head.past.kind != "ended"
    if is_past or status.startswith("t"):
        return []
    return [
        word
        for token in (draft.head, *judgements_of(draft))
        for word in token.unanswered
    ]


# --- attributes


def _attributes(
    draft: MentionDraft, status: str, text: str
) -> dict[str, tuple[Span, ...]]:
    """Take the words that describe a draft, by column in the order of the columns.

    Args:
        draft: of the mention.
        status: of the mention.
        text: of the sentence.
    """
    values: dict[str, list[Span]] = {}
    for word in sorted(draft.modifiers, key=lambda word: word.begin):
        if _is_attribute(draft, status, word, text):
            values.setdefault(word.code, []).append(_value_of(word, text))
    past = draft.head.past
    if past is not None:
        column = "past_hx"
        # "Has resolved" is a course, "was removed" the placement of a device.
        if past.kind == "ended":
            column = "placement" if draft.is_device else "improved"
        values.setdefault(column, []).append(_span(past))
    return {column: tuple(values[column]) for column in ATTRIBUTES if column in values}


def _value_of(word: TaggedToken, text: str) -> Span:
    """ "On the prior CT" is the source "CT"."""
    if word.code == "other_source":
        earlier = _EARLIER.match(text, word.begin, word.end)
        if earlier is not None:
            return Span(earlier.end(), word.end)
    return _span(word)


def _is_attribute(
    draft: MentionDraft, status: str, word: TaggedToken, text: str
) -> bool:
    """Whether a word is a value of its column, and not in the status alone.

    Args:
        draft: that the word describes.
        status: of the mention.
        word: that describes it.
        text: of the sentence.
    """
    if word.kind != "normal":
        return True
    # No "normal" beside "enlarged": labels read both of one cell.
    if not draft.is_finding and status.endswith("p"):
        return False
    words = _span(word).of(text).lower()
    # "Midline" says along which axis a part is normal, "clear" does not.
    is_of_whole = not WORDS["as_a_whole"].isdisjoint(words.replace("-", " ").split())
    names_axis = bool(axes_of(words)) and not is_of_whole
    return draft.head.name in WORDS["sized"] or names_axis


# --- cues


def _cues(
    draft: MentionDraft, unanswered: list[TaggedToken], text: str
) -> tuple[CueUse, ...]:
    """List the cues that decided a mention, and the words that judge a part.

    Args:
        draft: of the mention.
        unanswered: words that leave it open.
        text: of the sentence.
    """
    judgements = [] if draft.is_finding else judgements_of(draft)
    uses = [
        CueUse(edge.cue, Span(edge.begin, edge.end))
        for token in (draft.head, *judgements)
        for edge in token.edges
    ]
    # Words that judge are in no file of cues: "the lungs are clear" is decided by
    # `normal.clear`. Of "not normal" the denial decides.
    for word in judgements:
        if not word.is_denied:
            uses.append(_cue_of_word(word.kind, word, text))
    uses += [_cue_of_unanswered(word, text) for word in unanswered]
    # "The heart is stable": nothing else judges it.
    if draft.is_compared and not judgements:
        for word in draft.modifiers:
            if word.code == "no_change":
                uses.append(_cue_of_word("unchanged", word, text))
    return tuple(dict.fromkeys(uses))


def _cue_of_unanswered(word: TaggedToken, text: str) -> CueUse:
    """Tell words of doubt, denial or time from those that are in no list."""
    span = _span(word)
    is_known = bool(word.cue.id) or speaks(span.of(text))
    name = "words" if is_known else "unknown"
    return CueUse(f"{UNANSWERED}{name}", span)


def _cue_of_word(group: str, word: TaggedToken, text: str) -> CueUse:
    """Name the cue that a judging word is: `normal.clear`, `unchanged.stable`."""
    span = _span(word)
    name = _NO_LETTERS.sub("_", span.of(text).lower()).strip("_")
    return CueUse(f"{group}.{name}", span)
