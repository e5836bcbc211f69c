"""Addenda: what a later note contradicts is past (method.md section 7).

"FINDINGS: Small pneumothorax. ADDENDUM: There is no pneumothorax." The first row stays,
and is marked as past by the heading of the addendum.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.contract import Mention, SectionedReport, Span

_RESTRICTING_COLUMNS = ("measurement", "morphology", "severity", "onset")
"""Columns of words by which a denial denies one kind of a finding only."""


def mark_retracted(
    report: SectionedReport, mentions: list[Mention]
) -> tuple[Mention, ...]:
    """Mark the mentions as past that an addendum of the report takes back."""
    is_addendum = [_is_addendum(sentence.heading) for sentence in report.sentences]
    added = [mention for mention in mentions if is_addendum[mention.sentence]]
    if not added:
        return tuple(mentions)
    return tuple(
        mention
        if is_addendum[mention.sentence]
        else _unless_retracted(mention, added, report)
        for mention in mentions
    )


def _is_addendum(heading: str) -> bool:
    return heading.lower().startswith("addend")


def _unless_retracted(
    mention: Mention, added: list[Mention], report: SectionedReport
) -> Mention:
    for addition in added:
        is_later = addition.sentence > mention.sentence
        if is_later and _contradict(mention, addition, report.text):
            heading = _heading_span(addition, report)
            past = (*mention.attributes.get("past_hx", ()), heading)
            attributes = {**mention.attributes, "past_hx": past}
            return replace(mention, attributes=attributes)
    return mention


def _heading_span(mention: Mention, report: SectionedReport) -> Span:
    sentence = report.sentences[mention.sentence]
    begin = report.text.rfind(sentence.heading, 0, sentence.span.begin)
    return Span(begin, begin + len(sentence.heading))


def _contradict(first: Mention, second: Mention, text: str) -> bool:
    """Whether one of two mentions denies what the other states, at its location."""
    is_first_denied = first.status.endswith("n")
    is_second_denied = second.status.endswith("n")
    if is_first_denied == is_second_denied:
        return False
    # "Cardiomegaly" is taken back by "the heart is normal".
    sizes = WORDS["size_of_the_heart"]
    are_of_heart = first.normed_ent in sizes and second.normed_ent in sizes
    if not are_of_heart and first.normed_ent != second.normed_ent:
        return False
    # "No displaced fracture" takes no fracture back; "normal" of the heart is no kind.
    denial = first if is_first_denied else second
    if not are_of_heart and _is_restricted(denial):
        return False
    # "No left effusion" takes no right one back.
    presence = second if is_first_denied else first
    return _words_of_location(denial, text) <= _words_of_location(presence, text)


def _is_restricted(denial: Mention) -> bool:
    return any(column in denial.attributes for column in _RESTRICTING_COLUMNS)


def _words_of_location(mention: Mention, text: str) -> set[str]:
    words: set[str] = set()
    for span in mention.location:
        words.update(span.of(text).lower().split())
    return words
