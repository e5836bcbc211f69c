"""Lists of sentences with the rows that they state, and how a reading differs.

A line is `sentences -> row; row`, `[group]` begins a group. A row is `status name
@place [column: words] <-support`: place, words and support are compared where they are
written, `@-` is no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lunguage_assets.structuring.contract import Mention, Span

_ROW = re.compile(
    r"(?P<status>[dt][pn]) (?P<name>[^@\[<]+?)(?: @(?P<place>[^\[<]+?))?"
    r"(?: \[(?P<column>\w+): (?P<words>[^\]]*)\])?(?: <-(?P<support>\d))?"
)


class Stated(NamedTuple):
    """Sentences of a group, and the rows that they state."""

    group: str
    text: str
    rows: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Statuses and names alone: "dp nodule"."""
        return ["{status} {name}".format(**_parsed(row)) for row in self.rows]


def stated_in(path: Path) -> Iterator[Stated]:
    """Yield every line of a list."""
    group = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        text, arrow, rows = line.partition("->")
        if line.startswith("["):
            group = line.strip("[]")
        elif arrow and not line.startswith("#"):
            cells = (row.strip() for row in rows.split(";"))
            yield Stated(group, text.strip(), tuple(row for row in cells if row))


def names_of(mentions: Sequence[Mention]) -> list[str]:
    """Statuses and names of what was read: "dp nodule"."""
    return [f"{mention.status} {mention.normed_ent}" for mention in mentions]


def difference(stated: Stated, text: str, mentions: Sequence[Mention]) -> str:
    """Say how mentions in a text differ from the stated rows; empty: they do not."""
    if names_of(mentions) != stated.names:
        return f"read {names_of(mentions)}"
    for row, mention in zip(stated.rows, mentions, strict=True):
        expected = _parsed(row)
        column = expected["column"]
        place = _words(text, mention.location)
        if expected["place"] and place != expected["place"].strip("-"):
            return f"place {place!r}"
        words = _words(text, mention.attributes.get(column, ()))
        if column and words != expected["words"]:
            return f"{column} {words!r}"
        support = expected["support"]
        if support and mention.evidence != (int(support),):
            return f"evidence {mention.evidence}"
    return ""


def _parsed(row: str) -> dict[str, str]:
    match = _ROW.fullmatch(row)
    if match is None:
        raise ValueError(f"no row in the notation of this list: {row!r}")
    return {name: value or "" for name, value in match.groupdict().items()}


def _words(text: str, spans: Sequence[Span]) -> str:
    return ", ".join(span.of(text) for span in spans)
