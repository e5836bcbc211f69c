"""Sentences that speak of the finding before them: "It has grown" (method.md 7).

A sentence is read alone first, with a pointer instead of the finding that it speaks of.
When the report is put together, what is said of the pointer is added to the finding
before. Sentences of different sections do not speak of each other (method.md 7, point
10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from lunguage_assets.assertion.units import TaggedToken, has_kind
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.contract import (
    CueUse,
    Mention,
    SectionedReport,
    SentenceReading,
    Span,
    StructuredReport,
)

THIS = LexiconEntry("finding", "this", "PF")
THESE = LexiconEntry("finding", "these", "PF")
_VERBS: frozenset[Kind] = frozenset(
    {"copula", "hedged", "hedged before", "link", "ended", "negated before"}
)


@dataclass(frozen=True, slots=True)
class StandaloneReading(SentenceReading):
    """What a sentence states by itself, and what it says of the findings before it.

    Attributes:
        mentions: that it states; spans and references count in the sentence.
        pointer: the word that stands for the findings before it, as a mention with what
            is said of it.
        explaining: numbers of the mentions that say what those findings mean.
    """

    mentions: tuple[Mention, ...] = ()
    pointer: Mention | None = None
    explaining: tuple[int, ...] = ()


def mark_pointer(tokens: Sequence[TaggedToken]) -> None:
    """Make the subject of a sentence a finding where it stands for one: "It is new".

    Args:
        tokens: of the sentence; the first one may be changed.
    """
    if not has_kind(tokens[1:2], *_VERBS):
        return
    subject = tokens[0]
    if subject.form in WORDS["points_at_several"]:
        subject.become(THESE)
    elif subject.form in WORDS["points_at_one"]:
        subject.become(THIS)


def put_together(
    report: SectionedReport, readings: Sequence[StandaloneReading]
) -> StructuredReport:
    """Join the readings of a report's sentences, and resolve their pointers."""
    mentions: list[Mention] = []
    accounts: list[SentenceReading] = []
    # Numbers of the findings that the next sentence may speak of.
    antecedents: list[int] = []
    section = ""
    for position, reading in enumerate(readings):
        sentence = report.sentences[position]
        # "It" at the begin of the impression speaks of no finding above it.
        if sentence.section != section:
            section = sentence.section
            antecedents = []
        first = len(mentions)
        begin = sentence.span.begin
        for mention in reading.mentions:
            mentions.append(_in_report(mention, position, begin, first))
        account = SentenceReading(reading.account, reading.reason)
        if antecedents and reading.pointer is not None:
            referents = _referents(reading.pointer, antecedents, mentions)
            for number in reading.explaining:
                _explain(mentions, referents, first + number)
            pointer = _in_report(reading.pointer, position, begin, 0)
            _describe(mentions, referents, pointer)
            # It only speaks of the finding before.
            if not reading.mentions:
                account = SentenceReading("nothing stated", "finding before")
        accounts.append(account)
        # "Nodule. It is unchanged. It is large.": both speak of the nodule. After a
        # sentence that is about something else "it" would not.
        if reading.mentions or reading.pointer is None:
            # What is denied is nothing that could have grown.
            antecedents = [
                number
                for number in range(first, len(mentions))
                if mentions[number].status.endswith("p")
            ]
    return StructuredReport(report.study_id, tuple(accounts), tuple(mentions))


def _referents(
    pointer: Mention, antecedents: list[int], mentions: list[Mention]
) -> list[int]:
    """Find which findings before are meant: "these" are all of them, "this" is one.

    Args:
        pointer: that stands for them.
        antecedents: numbers of the findings of the sentence before.
        mentions: of the report.
    """
    if pointer.normed_ent == THESE.name:
        return antecedents
    last_name = mentions[antecedents[-1]].normed_ent
    # Opacities at two locations are two rows, and both are meant.
    return [
        number for number in antecedents if mentions[number].normed_ent == last_name
    ]


def _explain(mentions: list[Mention], signs: list[int], cause: int) -> None:
    """Make signs the evidence of what explains them; it lies where they lie.

    Args:
        mentions: of the report; changed in place.
        signs: numbers of the findings before.
        cause: number of what explains them.
    """
    explained = mentions[cause]
    locations = chain.from_iterable(mentions[sign].location for sign in signs)
    mentions[cause] = replace(
        explained,
        location=explained.location or tuple(locations),
        evidence=(*explained.evidence, *signs),
    )
    for sign in signs:
        associate = (*mentions[sign].associate, cause)
        mentions[sign] = replace(mentions[sign], associate=associate)


def _describe(mentions: list[Mention], referents: list[int], pointer: Mention) -> None:
    """Add what is said of a pointer to the findings that it stands for.

    "It has resolved" and "It is small" say something, "It is not a nodule" does not.

    Args:
        mentions: of the report; changed in place.
        referents: numbers of these findings.
        pointer: with what is said.
    """
    attributes = dict(pointer.attributes)
    # "It was present on the prior CT": the finding before it is there all the same.
    attributes.pop("past_hx", None)
    # "It has resolved" denies the finding; "It is not a nodule" only a name for it.
    has_gone = pointer.status.endswith("n")
    if has_gone and "improved" not in attributes:
        return
    for number in referents:
        mention = mentions[number]
        united = dict(mention.attributes)
        for column, spans in attributes.items():
            united[column] = (*united.get(column, ()), *spans)
        status = pointer.status if has_gone else mention.status
        mentions[number] = replace(mention, status=status, attributes=united)


def _in_report(mention: Mention, position: int, begin: int, first: int) -> Mention:
    """Make a mention of a sentence one of its report.

    Args:
        mention: with spans and numbers of its sentence.
        position: of the sentence in the report.
        begin: of the sentence in the report's text.
        first: number of the sentence's first mention in the report.
    """

    def moved(spans: Sequence[Span]) -> tuple[Span, ...]:
        return tuple([span.moved(begin) for span in spans])

    # All fields are given: `replace` would take three times as long over every row.
    return Mention(
        sentence=position,
        ent=mention.ent.moved(begin),
        normed_ent=mention.normed_ent,
        cat=mention.cat,
        status=mention.status,
        location=moved(mention.location),
        attributes={name: moved(spans) for name, spans in mention.attributes.items()},
        evidence=tuple([number + first for number in mention.evidence]),
        associate=tuple([number + first for number in mention.associate]),
        cues=tuple([CueUse(use.cue, use.span.moved(begin)) for use in mention.cues]),
    )
