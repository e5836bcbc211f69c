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
    headings = [sentence.heading.lower() for sentence in report.sentences]
    is_addendum = [heading.startswith("addend") for heading in headings]
    additions = [mention for mention in mentions if is_addendum[mention.sentence]]
    marked: list[Mention] = []
    for mention in mentions:
        # An addendum does not take itself back.
        if is_addendum[mention.sentence]:
            marked.append(mention)
        else:
            marked.append(_unless_retracted(mention, additions, report))
    return tuple(marked)


def _unless_retracted(
    mention: Mention, additions: list[Mention], report: SectionedReport
) -> Mention:
    """Give a mention as it is, or as past where an addition contradicts it.

    Args:
        mention: of the report itself.
        additions: the mentions of its addenda.
        report: of both.
    """
    for addition in additions:
        # An addendum at the top of a report takes back nothing that stands below it.
        is_later = addition.sentence > mention.sentence
        if is_later and _contradict(mention, addition, report.text):
            # A cell quotes the report. What tells that the mention is past is the word
            # "addendum" itself.
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
    denial = second
    presence = first
    if is_first_denied:
        denial = first
        presence = second
    # "No displaced fracture" takes no fracture back; "normal" of the heart is no kind.
    is_restricted = any(column in denial.attributes for column in _RESTRICTING_COLUMNS)
    if is_restricted and not are_of_heart:
        return False
    # "No left effusion" takes no right one back.
    return _words_of_location(denial, text) <= _words_of_location(presence, text)


def _words_of_location(mention: Mention, text: str) -> set[str]:
    words: set[str] = set()
    for span in mention.location:
        words.update(span.of(text).lower().split())
    return words
