"""Tells the cues that decided a row, with the words that were written.

`absent: by "no evidence of" (negated.no_evidence)`. Stored rows hold ids of cues and
characters alone; the words are taken from the report when somebody asks. What cues are
and how far they reach is in `assertion/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lunguage_assets.release.code_words import CUE_WORDS
from lunguage_assets.structuring.rows import read_cues

_WORDS_OF_ANOTHER_CATEGORY = "decided"
"""What a home's own cue says whose id begins with no category."""


class DecidingCue(NamedTuple):
    """A cue that decided a row.

    Attributes:
        cue: its id.
        says: what it says of the row, in a word or a few.
        begin, end: its characters in the report.
        words: these characters.
    """

    cue: str
    says: str
    begin: int
    end: int
    words: str


def deciding_cues(stored_cues: str, report: str, status: str) -> list[DecidingCue]:
    """Read the cues of a row.

    Args:
        stored_cues: the row's column `cues`.
        report: the text in which its characters count.
        status: of the row, in the words of `row_words.status_of`.
    """
    claim = status.rpartition(" ")[2]
    cues = []
    for cue, span in read_cues(stored_cues):
        category = cue.partition(".")[0]
        says = CUE_WORDS.get(category, _WORDS_OF_ANOTHER_CATEGORY)
        if claim in ("normal", "abnormal"):
            # "The heart is not normal" says that it is abnormal, and not absent.
            says = says.replace("absent", claim)
        cues.append(DecidingCue(cue, says, span.begin, span.end, span.of(report)))
    return cues


def describe_cues(cues: Iterable[Mapping[Any, Any]]) -> list[str]:
    """Describe what decided a row: a line for each thing that its cues say.

    Args:
        cues: the fields of `DecidingCue` by name.
    """
    quotes_by_claim: dict[str, list[str]] = {}
    for cue in cues:
        words = " ".join(cue["words"].split())
        quotes = quotes_by_claim.setdefault(cue["says"], [])
        quotes.append(f'"{words}" ({cue["cue"]})')
    return [
        f"{claim}: by {' and '.join(quotes)}"
        for claim, quotes in quotes_by_claim.items()
    ]
