"""What an addendum takes back is no statement of now (method.md section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lunguage_assets.structuring.contract import Mention, SectionedReport, Span, Value

_ADDENDUM = "addend"
_TAKEN_BACK = "past_hx"
_SIZE = "measurement"


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
            mention = _past(report, position, mention, by)
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


def _past(report: SectionedReport, position: int, mention: Mention, by: int) -> Mention:
    heading = report.sentences[by].heading
    begin = report.text.rfind(heading, 0, report.sentences[by].span.begin)
    if begin < 0:
        return mention
    begin -= report.sentences[position].span.begin
    value = Value(heading, Span(begin, begin + len(heading)))
    said = (*mention.attributes.get(_TAKEN_BACK, ()), value)
    return replace(mention, attributes={**mention.attributes, _TAKEN_BACK: said})
