"""A report's text cut into pieces, each with the rows that read it: what `lunguage read` marks. How a page
draws them is in `resources/read/marked.html.j2`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from lunguage_assets.explicit.hedges.hedging import words_of

PHRASE = "phrase"
"""Column of a span for the words of a hedging phrase."""

PRESENT, OPEN, ABSENT, PAST, OUT = "present", "open", "absent", "past", "out"
"""How a row is coloured: certainly present, tentative either way, certainly absent, history, removed."""

COLOURS = {PRESENT: "#b4451f", OPEN: "#8a6100", ABSENT: "#24598f", PAST: "#5d6470", OUT: "#8b919c"}
"""Of the dot on a bar, as the text of such rows has it."""

FINDING, HEDGE, DETAIL, PLAIN, SILENT, OUTSIDE = "finding", "hedge", "detail", "plain", "silent", "outside"
"""What a piece is: words of a finding; of a hedging phrase; of a place or attribute; of a sentence with
findings; of a sentence that states none; of headings and of sections that state none.
"""

_RANK = {FINDING: 0, HEDGE: 1, DETAIL: 2}


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """Characters that a row was read from; `column` as in READ_SPANS."""

    finding_id: str
    column: str
    begin: int
    end: int

    @property
    def kind(self) -> str:
        return FINDING if self.column == "ent" else HEDGE if self.column == PHRASE else DETAIL


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A sentence's characters and its account."""

    section: str
    number: int
    begin: int
    end: int
    account: str
    reason: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of one kind; `rows`: ids of the rows read there, findings before hedges and details."""

    text: str = field(repr=False)
    kind: str
    rows: tuple[str, ...] = ()
    sentence: ReadSentence | None = None

    @property
    def account(self) -> str:
        """What became of the sentence that it is of, with the reason."""
        if self.sentence is None or not self.text.strip():
            return ""
        return ": ".join(filter(None, (self.sentence.account, self.sentence.reason)))


def tone_of(status: str) -> str:
    """Of a status code (dp, tp, tn, dn)."""
    return OPEN if status[0] == "t" else PRESENT if status[1] == "p" else ABSENT


def nearest(phrase: str, text: str, begin: int, end: int, place: int) -> list[tuple[int, int]]:
    """Where characters begin to end of the text have the phrase in whole words, nearest to a place; empty
    when they have not.
    """
    found = [match.span() for match in words_of(phrase).finditer(text, begin, end)]
    return [min(found, key=lambda span: (abs(span[0] - place), span[0]))] if found else []


def pieces(text: str, spans: Iterable[ReadSpan], sentences: Sequence[ReadSentence]) -> list[Piece]:
    """The whole text, in order: the pieces joined are the text.

    A piece that several rows share is of the first kind of finding, hedge, detail. Linear in the spans: a
    page may be asked for a long text.
    """
    listed = sorted(spans, key=lambda span: span.begin)
    listed = [span for span in listed if 0 <= span.begin < span.end <= len(text)]
    ends = [(one.begin, one.end) for one in listed] + [(one.begin, one.end) for one in sentences]
    cuts = sorted({0, len(text)} | {place for place in chain(*ends) if 0 <= place <= len(text)})
    within: dict[int, list[ReadSpan]] = {cut: [] for cut in cuts}
    around: dict[int, ReadSentence] = {}
    for span in listed:
        for cut in cuts[bisect_left(cuts, span.begin) : bisect_left(cuts, span.end)]:
            within[cut].append(span)
    for sentence in sentences:
        for cut in cuts[bisect_left(cuts, sentence.begin) : bisect_left(cuts, sentence.end)]:
            around.setdefault(cut, sentence)
    return [_piece(text[begin:end], within[begin], around.get(begin)) for begin, end in pairwise(cuts)]


def _piece(text: str, spans: Sequence[ReadSpan], sentence: ReadSentence | None) -> Piece:
    if not spans:
        if sentence is None or sentence.section == "other":
            return Piece(text, OUTSIDE, (), sentence)
        return Piece(text, PLAIN if sentence.account == "findings" else SILENT, (), sentence)
    ordered = sorted(spans, key=lambda span: _RANK[span.kind])
    rows = tuple(dict.fromkeys(span.finding_id for span in ordered))
    return Piece(text, ordered[0].kind, rows, sentence)
