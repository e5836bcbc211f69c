"""Sentences that speak of the finding before them: "this likely represents atelectasis", "it measures 3 cm";
and addenda, which take back what was said (method.md section 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lunguage_assets.assertion.units import TaggedToken, first_beyond
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.contract import (
    CueUse,
    Mention,
    SectionedReport,
    SentenceReading,
    Span,
)
from lunguage_assets.tables import ATTRIBUTES

_THIS, _THESE = (
    LexiconEntry("finding", "this", "PF"),
    LexiconEntry("finding", "these", "PF"),
)
POINTERS = (_THIS, _THESE)
"""What stands in a sentence for the finding, or the findings, before it."""
_VERBS: frozenset[Kind] = frozenset(
    {"copula", "hedged", "hedged before", "link", "ended", "negated before"}
)


_RESTRICTING = ("measurement", "morphology", "severity", "onset")
"""Columns of words by which a denial denies a kind only."""


@dataclass(frozen=True, slots=True)
class Back:
    """What a sentence says of what was named before it: its mentions that say what that means, or name it
    `again` ("this nodule"), and the word that stands for it, if any, with what is `said` of it.
    """

    explains: tuple[int, ...]
    again: tuple[int, ...]
    said: Mention | None


@dataclass(frozen=True, slots=True)
class SentenceRead(SentenceReading):
    """What a sentence states as a report of its own, and what it says of what was named before it."""

    mentions: tuple[Mention, ...] = ()
    back: Back | None = None


def point_back(units: list[TaggedToken]) -> None:
    """Make the subject of the sentence a finding when it is only a word for one, or is left out."""
    if not units:
        return
    first = units[0]
    if first.form in WORDS["points_back"] and first.kind in ("break", "other"):
        behind = next(
            (unit for unit in units[1:] if unit.form not in WORDS["passed_over"]), None
        )
        nobody = first.form == "it" and any(
            unit.form in WORDS["nobody"] for unit in units[1:4]
        )
        if behind is not None and behind.kind in _VERBS and not nobody:
            several = any(unit.form in WORDS["points_at_several"] for unit in units[:2])
            first.become(_THESE if several else _THIS)
        return
    longer = first.end > first.begin + len(first.form)
    if first.form == "measure" or (longer and first.form in WORDS["without_subject"]):
        units.insert(0, TaggedToken(_THIS, "", first.begin, first.begin))


def named_again(units: Sequence[TaggedToken]) -> list[TaggedToken]:
    """Findings with "this" or "these" and nothing but their adjectives before them."""
    again = []
    for at, unit in enumerate(units):
        if unit.kind == "break" and unit.form in ("this", "these"):
            following = first_beyond(units[at + 1 :], ("word", "other"))
            if following is not None and following.kind == "finding":
                again.append(following)
    return again


def connected(
    report: SectionedReport, read: Sequence[SentenceRead]
) -> tuple[tuple[SentenceReading, ...], tuple[Mention, ...]]:
    """The readings of a report's sentences, and its mentions; what is said of a finding later is its own."""
    readings: list[SentenceReading] = []
    mentions: list[Mention] = []
    before: list[int] = []
    section = ""
    for position, (sentence, own) in enumerate(
        zip(report.sentences, read, strict=True)
    ):
        begin, first, back = sentence.span.begin, len(mentions), own.back
        before = before if sentence.section == section else []
        section = sentence.section
        mentions += [
            _moved(mention, position, begin, first) for mention in own.mentions
        ]
        readings.append(own)
        if back is not None and before:
            meant = _meant(mentions, before, back)
            told = back.said is not None and _tell(
                mentions, meant, _moved(back.said, position, begin, 0)
            )
            if told and not own.mentions:
                readings[-1] = SentenceReading("nothing stated", "finding before")
            for number in back.explains:
                _explain(report.text, mentions, meant, first + number)
            for number in back.again:
                name = mentions[first + number].normed_ent
                same = [at for at in before if mentions[at].normed_ent == name]
                _place(report.text, mentions, same, first + number)
        elif before and own.mentions:
            _explain_sign_before(report.text, mentions, before, first)
        if own.mentions and not (back is not None and back.explains and before):
            seen = (
                at
                for at in range(first, len(mentions))
                if mentions[at].cat in ("PF", "CF")
            )
            before = [at for at in seen if mentions[at].status.endswith("p")]
        elif back is None:
            before = []
    return tuple(readings), _without_taken_back(report, mentions)


def _explain_sign_before(
    text: str, mentions: list[Mention], before: list[int], first: int
) -> None:
    """ "Opacity in the lingula. Pneumonia cannot be excluded.": it is left open there.

    Args:
        text: of the report.
        mentions: of the report so far; changed in place.
        before: numbers of the findings of the sentence before.
        first: number of the sentence's first mention.
    """
    signs = [at for at in before if mentions[at].normed_ent in WORDS["explained_signs"]]
    if not signs or len(signs) < len(before):
        return
    for at in range(first, len(mentions)):
        mention = mentions[at]
        is_cause = (
            mention.status == "tp" and mention.normed_ent in WORDS["causes_of_signs"]
        )
        if is_cause and not (mention.location or mention.evidence):
            _explain(text, mentions, signs, at)


def _moved(mention: Mention, sentence: int, by: int, first: int) -> Mention:
    """A mention of a sentence alone as one of its report, whose mentions begin with number `first`."""
    return replace(
        mention,
        sentence=sentence,
        ent=mention.ent.moved(by),
        location=tuple(span.moved(by) for span in mention.location),
        attributes={
            c: tuple(span.moved(by) for span in own)
            for c, own in mention.attributes.items()
        },
        evidence=tuple(number + first for number in mention.evidence),
        associate=tuple(number + first for number in mention.associate),
        cues=tuple(CueUse(use.cue, use.span.moved(by)) for use in mention.cues),
    )


def _meant(mentions: list[Mention], before: list[int], back: Back) -> list[int]:
    """All findings before, or the rows of one that explains no other: the last sign, else the last."""
    if back.said is not None and back.said.normed_ent == _THESE.name:
        return before
    before = [at for at in before if not mentions[at].evidence] or before
    names = [mentions[at].normed_ent for at in before]
    name = next((one for one in reversed(names) if one in WORDS["signs"]), names[-1])
    return [at for at in before if mentions[at].normed_ent == name]


def _tell(mentions: list[Mention], meant: list[int], said: Mention) -> bool:
    """Add what is said to the findings that are meant; whether there was anything."""
    more = {
        column: spans
        for column, spans in said.attributes.items()
        if column != "past_hx"
    }
    gone = said.status.endswith("n")
    if (gone and "improved" not in more) or not (more or said.location):
        return False
    for at in meant:
        mention = mentions[at]
        both = {
            c: (*mention.attributes.get(c, ()), *more.get(c, ())) for c in ATTRIBUTES
        }
        mentions[at] = replace(
            mention,
            status=said.status if gone else mention.status,
            location=mention.location or said.location,
            attributes={column: spans for column, spans in both.items() if spans},
        )
    return True


def _explain(text: str, mentions: list[Mention], meant: list[int], at: int) -> None:
    """Make the findings that are meant the evidence of what explains them."""
    mention = mentions[at]
    if mention.status.endswith("n"):
        return
    mentions[at] = replace(mention, evidence=(*mention.evidence, *meant))
    for sign in meant:
        mentions[sign] = replace(
            mentions[sign], associate=(*mentions[sign].associate, at)
        )
    if mention.normed_ent not in WORDS["everywhere"]:
        _place(text, mentions, meant, at)


def _place(text: str, mentions: list[Mention], meant: list[int], at: int) -> None:
    """Give a finding without a place that of the finding before; of different ones, one that all share."""
    locations = [mentions[one].location for one in meant]
    places = {
        tuple(span.of(text) for span in location): location for location in locations
    }
    shared = len({mentions[one].normed_ent for one in meant}) == 1 or len(places) == 1
    if shared and not mentions[at].location:
        location = tuple(span for location in places.values() for span in location)
        mentions[at] = replace(mentions[at], location=location)


def _without_taken_back(
    report: SectionedReport, mentions: list[Mention]
) -> tuple[Mention, ...]:
    """The mentions; those that an addendum says the opposite of are past, by its heading."""
    in_addendum = [one.heading.lower().startswith("addend") for one in report.sentences]
    later = [mention for mention in mentions if in_addendum[mention.sentence]]
    for at, mention in enumerate(mentions) if later else ():
        against = (one for one in later if one.sentence > mention.sentence)
        by = next(
            (one for one in against if _opposite(report.text, mention, one)), None
        )
        if by is None or in_addendum[mention.sentence]:
            continue
        sentence = report.sentences[by.sentence]
        begin = report.text.rfind(sentence.heading, 0, sentence.span.begin)
        heading = Span(begin, begin + len(sentence.heading))
        past = (*mention.attributes.get("past_hx", ()), heading)
        mentions[at] = replace(
            mention, attributes={**mention.attributes, "past_hx": past}
        )
    return tuple(mentions)


def _opposite(text: str, one: Mention, other: Mention) -> bool:
    """Whether one denies and one states a finding, and the place of the denial contains the other's."""
    sizes = WORDS["size_of_the_heart"]
    is_of_heart = one.normed_ent in sizes and other.normed_ent in sizes
    if one.status[1] == other.status[1] or not (
        is_of_heart or one.normed_ent == other.normed_ent
    ):
        return False
    denial, presence = (one, other) if one.status[1] == "n" else (other, one)
    denied, present = (
        {word for span in mention.location for word in span.of(text).lower().split()}
        for mention in (denial, presence)
    )
    # "No displaced fracture" takes no fracture back; "normal" of the heart is no kind.
    is_restricted = not is_of_heart and any(
        column in denial.attributes for column in _RESTRICTING
    )
    return denied <= present and not is_restricted
