"""Sentences that speak of the finding before them: "this likely represents atelectasis", "it measures 3 cm";
and addenda, which take back what was said (method.md section 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lunguage_assets.structuring.contract import (
    Mention,
    SectionedReport,
    Sentence,
    SentenceReading,
    Span,
    Value,
)
from lunguage_assets.structuring.rules.drafts import EVERYWHERE
from lunguage_assets.structuring.rules.lexicon import Kind, Sense
from lunguage_assets.structuring.rules.scope import SIGNS
from lunguage_assets.structuring.rules.tagging import Unit
from lunguage_assets.tables import ATTRIBUTES

_THIS, _THESE = Sense("finding", "this", "PF"), Sense("finding", "these", "PF")
POINTERS = (_THIS, _THESE)
"""What stands in a sentence for the finding, or the findings, before it."""
_WORDS = frozenset({"this", "these", "it", "they", "finding", "appearance"})
_SEVERAL = frozenset({"these", "they", "finding"})
_PASSED = frozenset({"finding", "appearance", "also", "all", "now"})
_VERBS: frozenset[Kind] = frozenset({"copula", "open", "open after", "link", "ended", "deny after"})
_WITHOUT_SUBJECT = frozenset(
    {"may", "might", "could", "likely", "probably", "possibly", "consistent", "compatible", "suggestive"}
)
_NOBODY = frozenset({"difficult", "hard", "impossible", "possible", "likely"})
"""Behind "it is", which then stands for nothing: "it is difficult to exclude"."""
_MEASURES = "measure"
_SEEN = ("PF", "CF")
_DESCRIBED = SentenceReading("nothing stated", "finding before")
_ADDENDUM = "addend"
_TAKEN_BACK = "past_hx"
_SIZE = "measurement"


@dataclass(frozen=True, slots=True)
class Back:
    """What a sentence says of what was named before it.

    Args:
        explains: mentions of the sentence that say what the finding before means.
        again: mentions that name it again ("this nodule").
        said: the word that stands for it, with what is said of it; None without such a word.
    """

    explains: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    said: Mention | None = None


@dataclass(frozen=True, slots=True)
class SentenceRead(SentenceReading):
    """What a sentence states by itself, and of what was named before it; references are positions in
    `mentions`.
    """

    mentions: tuple[Mention, ...] = ()
    back: Back | None = None


def point_back(units: list[Unit]) -> None:
    """Make the subject of the sentence a finding when it is only a word for one, or is left out."""
    if not units:
        return
    first = units[0]
    if first.form in _WORDS and first.kind in ("break", "other"):
        behind = next((unit for unit in units[1:] if unit.form not in _PASSED), None)
        nobody = first.form == "it" and any(unit.form in _NOBODY for unit in units[1:4])
        if behind is not None and behind.kind in _VERBS and not nobody:
            several = any(unit.form in _SEVERAL for unit in units[:2])
            first.become(_THESE if several else _THIS)
    elif first.form == _MEASURES or (
        first.form in _WITHOUT_SUBJECT and first.end > first.begin + len(first.form)
    ):
        units.insert(0, Unit(_THIS, "", first.begin, first.begin))


def named_again(units: Sequence[Unit]) -> list[Unit]:
    """Findings with "this" or "these" and nothing but their adjectives before them."""
    again = []
    for at, unit in enumerate(units):
        if unit.kind == "break" and unit.form in ("this", "these"):
            following = next((one for one in units[at + 1 :] if one.kind not in ("word", "other")), None)
            if following is not None and following.kind == "finding":
                again.append(following)
    return again


def connected(
    sentences: Sequence[Sentence], read: Sequence[SentenceRead]
) -> tuple[tuple[SentenceReading, ...], tuple[tuple[int, Mention], ...]]:
    """The readings of a report's sentences, and its mentions with the positions of their sentences;
    references and what is said of a finding later reach over sentences.
    """
    readings: list[SentenceReading] = []
    mentions: list[tuple[int, Mention]] = []
    before: list[int] = []
    for position, (sentence, own) in enumerate(zip(sentences, read, strict=True)):
        reading: SentenceReading = own
        back = own.back
        if position and sentence.section != sentences[position - 1].section:
            before = []
        first = len(mentions)
        mentions += [(position, _moved(mention, first)) for mention in own.mentions]
        if back is not None and before:
            meant = _meant(mentions, before, back)
            if back.said is not None and _tell(sentences, mentions, meant, position, back.said):
                reading = own if own.mentions else _DESCRIBED
            for number in back.explains:
                _explain(sentences, mentions, meant, first + number)
            for number in back.again:
                name = mentions[first + number][1].normed_ent
                same = [at for at in before if mentions[at][1].normed_ent == name]
                _place(sentences, mentions, same, first + number)
        readings.append(reading)
        if own.mentions and not (back is not None and back.explains and before):
            before = [at for at in range(first, len(mentions)) if _is_seen(mentions[at][1])]
        elif back is None:
            before = []
    return tuple(readings), tuple(mentions)


def _moved(mention: Mention, by: int) -> Mention:
    """The same mention with references that count from the report's first mention."""
    evidence, associate = (tuple(n + by for n in those) for those in (mention.evidence, mention.associate))
    return replace(mention, evidence=evidence, associate=associate) if evidence or associate else mention


def _is_seen(mention: Mention) -> bool:
    return mention.status.endswith("p") and mention.cat in _SEEN


def _meant(mentions: list[tuple[int, Mention]], before: list[int], back: Back) -> list[int]:
    """All findings before, or the rows of the last one that explains no other; of several, of the last that
    is only a sign.
    """
    if back.said is not None and back.said.normed_ent == _THESE.name:
        return before
    before = [at for at in before if not mentions[at][1].evidence] or before
    names = [mentions[at][1].normed_ent for at in before]
    name = next((one for one in reversed(names) if one in SIGNS), names[-1])
    return [at for at in before if mentions[at][1].normed_ent == name]


def _tell(
    sentences: Sequence[Sentence],
    mentions: list[tuple[int, Mention]],
    meant: list[int],
    position: int,
    said: Mention,
) -> bool:
    """Add what is said to the findings that are meant; whether there was anything."""
    said = replace(said, attributes={c: values for c, values in said.attributes.items() if c != "past_hx"})
    gone = said.status.endswith("n")
    if (gone and "improved" not in said.attributes) or not (said.attributes or said.location):
        return False
    for at in meant:
        where, mention = mentions[at]
        by = sentences[position].span.begin - sentences[where].span.begin
        both = {
            column: (*mention.attributes.get(column, ()), *_shifted(said.attributes.get(column, ()), by))
            for column in ATTRIBUTES
        }
        mentions[at] = (
            where,
            replace(
                mention,
                status=said.status if gone else mention.status,
                location=mention.location or _shifted(said.location, by),
                attributes={column: values for column, values in both.items() if values},
            ),
        )
    return True


def _explain(
    sentences: Sequence[Sentence], mentions: list[tuple[int, Mention]], meant: list[int], at: int
) -> None:
    """Make the findings that are meant the evidence of what explains them."""
    where, mention = mentions[at]
    if mention.status.endswith("n"):
        return
    mentions[at] = (where, replace(mention, evidence=(*mention.evidence, *meant)))
    for sign in meant:
        of, named = mentions[sign]
        mentions[sign] = (of, replace(named, associate=(*named.associate, at)))
    if mention.normed_ent not in EVERYWHERE:
        _place(sentences, mentions, meant, at)


def _place(
    sentences: Sequence[Sentence], mentions: list[tuple[int, Mention]], meant: list[int], at: int
) -> None:
    """Give a finding without a place that of the finding before; of different ones, one that all share."""
    where, mention = mentions[at]
    places = {tuple(value.words for value in mentions[one][1].location): one for one in meant}
    shared = len({mentions[one][1].normed_ent for one in meant}) == 1 or len(places) == 1
    if mention.location or not shared:
        return
    found: list[Value] = []
    for one in places.values():
        of, named = mentions[one]
        found += _shifted(named.location, sentences[of].span.begin - sentences[where].span.begin)
    mentions[at] = (where, replace(mention, location=tuple(found)))


def _shifted(values: Sequence[Value], by: int) -> tuple[Value, ...]:
    return tuple(Value(value.words, Span(value.span.begin + by, value.span.end + by)) for value in values)


def taken_back(
    report: SectionedReport, mentions: Sequence[tuple[int, Mention]]
) -> tuple[tuple[int, Mention], ...]:
    """The mentions of a report; those that an addendum says the opposite of are past, by its heading.

    Opposite are a denial and a presence of one finding, where the place of the denial contains the other's.
    """
    in_addendum = [s.heading.lower().startswith(_ADDENDUM) for s in report.sentences]
    if not any(in_addendum):
        return tuple(mentions)
    later = [(position, mention) for position, mention in mentions if in_addendum[position]]
    found = []
    for position, mention in mentions:
        by = next((at for at, other in later if at > position and _opposite(mention, other)), None)
        if by is not None and not in_addendum[position]:
            mention = _as_past(report, position, mention, by)
        found.append((position, mention))
    return tuple(found)


def _opposite(one: Mention, other: Mention) -> bool:
    if one.normed_ent != other.normed_ent or one.status[1] == other.status[1]:
        return False
    denial, presence = (one, other) if one.status[1] == "n" else (other, one)
    words = [
        {word for value in mention.location for word in value.words.lower().split()}
        for mention in (denial, presence)
    ]
    return words[0] <= words[1] and _SIZE not in denial.attributes


def _as_past(report: SectionedReport, position: int, mention: Mention, by: int) -> Mention:
    heading = report.sentences[by].heading
    begin = report.text.rfind(heading, 0, report.sentences[by].span.begin)
    if begin < 0:
        return mention
    begin -= report.sentences[position].span.begin
    value = Value(heading, Span(begin, begin + len(heading)))
    said = (*mention.attributes.get(_TAKEN_BACK, ()), value)
    return replace(mention, attributes={**mention.attributes, _TAKEN_BACK: said})
