"""The cues that decided a row, in plain words with the words that were written:
`absent: by "no evidence of" (negated.no_evidence)`.

Rows hold ids and characters alone; the words come from the report when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import yaml

from lunguage_assets.packaged_data import resource
from lunguage_assets.structuring.rows import read_cues

_WORDS = yaml.safe_load(resource("explain.yaml").read_text("utf-8"))
SAYS_BY_KIND: Mapping[str, str] = _WORDS["cues"]
"""Kind of a cue, which its id begins with -> what it says of what it reaches."""
_OF_ANOTHER_KIND = "decided"
"""Said of a cue of the home whose id begins otherwise."""


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


def deciding_cues(written: str, report: str, status: str) -> list[DecidingCue]:
    """Read the cues of a row.

    Args:
        written: the row's column `cues`.
        report: the text in which its characters count.
        status: of the row, in the words of `explain.status_of`.
    """
    claim = status.rpartition(" ")[2]
    cues = []
    for cue, span in read_cues(written):
        says = SAYS_BY_KIND.get(cue.partition(".")[0], _OF_ANOTHER_KIND)
        if claim in ("normal", "abnormal"):
            # "The heart is not normal" says that it is abnormal, and not absent.
            says = says.replace("absent", claim)
        cues.append(DecidingCue(cue, says, span.begin, span.end, span.of(report)))
    return cues


def told_cues(cues: Iterable[DecidingCue]) -> list[str]:
    """Tell what decided a row: a line for each thing that cues say of it."""
    quoted_by_says: dict[str, list[str]] = {}
    for cue in cues:
        words = " ".join(cue.words.split())
        quoted_by_says.setdefault(cue.says, []).append(f'"{words}" ({cue.cue})')
    return [f"{says}: by {' and '.join(q)}" for says, q in quoted_by_says.items()]
