"""Content shown of a report: its text in pieces, its findings with their reasons, what contradicts, and the
labels. The same for terminal and page, in `lunguage explain`'s wording of codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.annotation.annotation import Annotation
from lunguage_assets.corpus.log import reasons
from lunguage_assets.explicit.fit.anchors import chosen_anchors
from lunguage_assets.explicit.fit.readers import ReaderSpread, reader_range
from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.release.code_words import (
    NO_FINDING_WORDS,
    RULE_WORDS,
    SECTION_WORDS,
)
from lunguage_assets.release.deciding_cues import DecidingCue, describe_cues
from lunguage_assets.release.row_words import (
    attribute_words,
    finding_and_location,
    status_of,
)
from lunguage_assets.structuring.text.languages import NOT_ENGLISH
from lunguage_assets.tables.released import NO_FINDING

Record = Mapping[Any, Any]
PARTS = (
    "sentences",
    "findings",
    "left_out",
    "conflicts",
    "labels",
    "spans",
    "cues",
    "set_aside",
)
"""Frames of an annotation that have rows of a report."""

NO_VIEWS = (
    "The views are not known: findings that need them imply nothing (effusion, cardiomegaly). Say which they "
    'are, such as "PA and lateral".'
)
_KINDS, _CUE = ("finding", "hedge", "detail", "cue"), "cue"
_IN_DOUBT = 0.5
"""From this p on, nobody says that a label is denied ("no finding", beside a finding that is unlikely)."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One finding: stated, implied, or left out.

    Args:
        number: among the findings, from 1; of a merged row the survivor's; 0: nothing stands for it.
        tone: how it is coloured: present, open (tentative either way), absent, part (only a kind of it is
            denied), past, out (removed).
        lines: the reasons, in plain words.
        cues: the words that decided it, each with what it says and its id.
        believed: p with its interval in words; empty for a row that is left out.
        implied: titles of what it implies, which follows it, one `depth` lower.
    """

    number: int
    finding_id: str
    title: str
    tone: str
    status: str
    where: str
    lines: tuple[str, ...]
    believed: str = ""
    p: float = 0.0
    low: float = 0.0
    high: float = 0.0
    details: str = ""
    depth: int = 0
    implied: str = ""
    cues: tuple[str, ...] = ()

    @property
    def claim(self) -> str:
        """`present`, `absent`, of a part of the body `normal`; `present?` where words leave it open; `denied
        only if “large”`; `present, past`.
        """
        certainty, _, said = self.status.partition(" ")
        if certainty not in ("certainly", "tentatively"):
            return self.status
        claim = f"{said}?" if certainty == "tentatively" else said
        return f"{claim}, past" if self.tone == "past" else claim

    @property
    def reason(self) -> str:
        """What a person sees who points at the words: title, p, reasons, what it implies; a line each."""
        believed = (f"p {self.believed}",) if self.believed else ()
        follows = (f"implies {self.implied}",) if self.implied else ()
        return "\n".join(
            (
                f"{self.title}: {self.status}",
                *believed,
                *self.lines,
                *self.cues,
                *follows,
            )
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of the text. `kind`: finding, hedge (its phrase), detail (place or attribute), cue (what decided
    a row), plain (of a sentence with findings), silent (of headings, and of what states no finding). `rows`:
    ids of the rows that were read there, findings before hedges, details and cues. `sentence`: number in its
    section of the sentence that begins here, which rows cite; 0: none begins.
    """

    text: str = field(repr=False)
    kind: str
    rows: tuple[str, ...] = ()
    sentence: int = 0


class ShownLabel(NamedTuple):
    """A label that the report mentions: its name, what is said of it, p in words (empty: what is said is all,
    or it has none), and how it is coloured, as a row is.
    """

    name: str
    said: str
    p: str
    tone: str


@dataclass(frozen=True)
class ShownReport:
    """Everything about one report.

    Args:
        rows: stated findings, each before what it implies.
        contradictions: finding and place, and what is said of it, with what became of each side.
        labels: without unmentioned ones.
        is_read: findings were looked for: no row broke a rule, and the report is in English.
    """

    study_id: str
    views: str
    remarks: tuple[str, ...]
    pieces: tuple[Piece, ...] = field(repr=False)
    rows: tuple[ShownRow, ...]
    left_out: tuple[ShownRow, ...]
    contradictions: tuple[tuple[str, str], ...]
    labels: tuple[ShownLabel, ...]
    is_read: bool = True

    @cached_property
    def by_id(self) -> Mapping[str, ShownRow]:
        """Every row, implied and left out ones included."""
        return {row.finding_id: row for row in (*self.rows, *self.left_out)}

    @property
    def is_mostly_text(self) -> bool:
        """Whether the text is so much longer than what was read in it that beside it nothing would stand; in
        pixels of the page, as far as they can be known.
        """
        lines = "".join(piece.text for piece in self.pieces).split("\n")
        height_of_text = 30 * sum(len(line) // 62 + 1 for line in lines)
        short_lines = (
            len(self.left_out) + 2 * len(self.contradictions) + len(self.labels) // 2
        )
        height_of_the_rest = 150 + 62 * len(self.rows) + 30 * short_lines
        return height_of_text > 1.3 * height_of_the_rest

    def read_in(self, piece: Piece) -> list[ShownRow]:
        """The rows that were read in a piece of the text."""
        return [self.by_id[own] for own in piece.rows]


def shown_reports(annotation: Annotation) -> list[ShownReport]:
    """The reports of an annotation, in their order."""
    return [_shown(report, parts) for report, parts in by_report(annotation)]


def by_report(
    annotation: Annotation,
) -> Iterator[tuple[Record, dict[str, list[Record]]]]:
    """Every row of `reports` with its rows of the other frames, in their order."""
    found = {
        name: {
            study: rows.to_dict("records")
            for study, rows in frame.groupby("study_id", sort=False)
        }
        for name, frame in ((name, getattr(annotation, name)) for name in PARTS)
    }
    for report in annotation.reports.to_dict("records"):
        yield (
            report,
            {name: rows.get(report["study_id"], []) for name, rows in found.items()},
        )


def pieces(
    text: str, spans: Sequence[Record], sentences: Sequence[Record]
) -> list[Piece]:
    """The whole text, in order: the pieces joined are the text.

    A piece that several rows share is of the first kind of finding, hedge, detail, cue.
    """
    ends = chain.from_iterable(
        (one["begin"], one["end"]) for one in (*spans, *sentences)
    )
    ordered = sorted(spans, key=lambda span: _KINDS.index(_kind(span)))
    numbered = [one for one in sentences if one["section"] != "other"]
    number_at = {one["begin"]: one["sent_idx"] for one in numbered}
    stating = [one for one in numbered if one["account"] == "findings"]
    found = []
    for begin, end in pairwise(sorted({0, len(text), *ends})):
        there = [span for span in ordered if span["begin"] <= begin < span["end"]]
        is_plain = any(one["begin"] <= begin < one["end"] for one in stating)
        kind = _kind(there[0]) if there else "plain" if is_plain else "silent"
        rows = tuple(dict.fromkeys(one["finding_id"] for one in there))
        found.append(Piece(text[begin:end], kind, rows, number_at.get(begin, 0)))
    return found


def _kind(span: Record) -> str:
    return {"ent": "finding", "phrase": "hedge", _CUE: "cue"}.get(
        span["column"], "detail"
    )


def _shown(report: Record, parts: Mapping[str, list[Record]]) -> ShownReport:
    rows = _Rows(parts["findings"], parts["left_out"], parts["cues"])
    spans = [*parts["spans"], *({**cue, "column": _CUE} for cue in parts["cues"])]
    remarks = [
        reasons()["notes"][note] for note in report["notes"] if note != "unknown-view"
    ]
    if not report["view_information"] and any(
        r["match_reason"] == "unknown view" for r in parts["findings"]
    ):
        remarks.append(NO_VIEWS)
    aside = [
        f"Set aside, nothing is concluded from it: {one['rule']}."
        for one in parts["set_aside"]
    ]
    return ShownReport(
        report["study_id"],
        report["view_information"],
        (*remarks, *aside),
        tuple(pieces(report["report"], spans, parts["sentences"])),
        tuple(rows.finding(row, depth) for row, depth in rows.order),
        tuple(
            rows.left_out(row)
            for row in parts["left_out"]
            if row["source"] == "original"
        ),
        tuple(
            rows.contradiction(conflict)
            for conflict in parts["conflicts"]
            if conflict["conflict_type"] in ("polarity", "stated_contradiction")
        ),
        tuple(_label(row) for row in parts["labels"] if row["source"] != "unmentioned"),
        is_read=not aside and NOT_ENGLISH not in report["notes"],
    )


class _Rows:
    """The rows of one report as they are shown, numbered in the `order` in which they are: stated findings,
    each before what it implies, with their depth.
    """

    def __init__(
        self, findings: Sequence[Record], out: Sequence[Record], cues: Sequence[Record]
    ) -> None:
        self._cues: dict[str, list[DecidingCue]] = {}
        for cue in cues:
            deciding = DecidingCue(*(cue[name] for name in DecidingCue._fields))
            self._cues.setdefault(cue["finding_id"], []).append(deciding)
        self._out, self._by_id = (
            out,
            {row["finding_id"]: row for row in (*findings, *out)},
        )
        self._children: dict[str, list[Record]] = {}
        for row in findings:
            self._children.setdefault(row["parent_id"], []).append(row)
        self.order = list(
            self._walk([row for row in findings if row["source"] == "original"], 0)
        )
        self._numbers = {
            row["finding_id"]: at for at, (row, _) in enumerate(self.order, start=1)
        }

    def _walk(self, rows: Sequence[Record], depth: int) -> Iterator[tuple[Record, int]]:
        for row in rows:
            yield row, depth
            yield from self._walk(self._children.get(row["finding_id"], ()), depth + 1)

    def finding(self, row: Record, depth: int) -> ShownRow:
        own = row["finding_id"]
        return ShownRow(
            self._numbers[own],
            own,
            finding_and_location(row),
            tone_of(row),
            status_of(row),
            _where(row) if row["source"] == "original" else "",
            tuple(self._reasons(row)),
            _believed(
                row["prob"], row["p_low"], row["p_high"], is_bound=row["prob_is_bound"]
            ),
            row["prob"],
            row["p_low"],
            row["p_high"],
            attribute_words(row),
            depth,
            ", ".join(map(finding_and_location, self._children.get(own, ()))),
            self._decided(own),
        )

    def left_out(self, row: Record) -> ShownRow:
        number = self._numbers.get(row["survivor_id"], 0)
        survivor = self._by_id.get(row["survivor_id"], row)
        merged = "part" if tone_of(survivor) == "part" else tone_of(row)
        tone = {"merged": merged, "excluded": "past"}.get(row["event"], "out")
        event = "not a finding" if row["event"] == "excluded" else row["event"]
        fate = f"{event}{self._at(row)}: {RULE_WORDS.get(row['rule'], row['rule'])}"
        own, title = row["finding_id"], finding_and_location(row)
        said = number, own, title, tone, status_of(row), _where(row), (fate,)
        return ShownRow(*said, cues=self._decided(own))

    def _decided(self, own: str) -> tuple[str, ...]:
        return tuple(describe_cues(self._cues.get(own, ())))

    def contradiction(self, conflict: Record) -> tuple[str, str]:
        sides = [
            self._by_id[own] for own in conflict["finding_ids"] if own in self._by_id
        ]
        rules = dict.fromkeys(
            RULE_WORDS.get(one["rule"], one["rule"]) for one in sides if "rule" in one
        )
        said = " against ".join(map(self._side, sides))
        title = finding_and_location(
            {"ent": conflict["name"], "location": ", ".join(conflict["location_parts"])}
        )
        return title, f"{said}. {'; '.join(rules) or 'both stay'}"

    def _side(self, row: Record) -> str:
        said = f"in {_where(row)}" if row["source"] == "original" else "implied"
        kept = f"kept, see {self._numbers.get(row['finding_id'])}"
        return f"{status_of(row)} {said} ({row['event'] + self._at(row) if 'rule' in row else kept})"

    def _reasons(self, row: Record) -> Iterator[str]:
        phrase = "; ".join(row["phrases"])
        if row["past_hx"].lower().startswith("addend"):
            yield "taken back by the addendum"
        if row["source"] == "expansion":
            yield f"implied, pathway {row['parent_pathway_id']}"
        elif row["p_source"] == "definitive":
            yield "stated without doubt"
        elif row["p_source"] == QUALIFIER:
            yield "p: how often people coded it all the same"
        elif row["p_source"] == "none":
            yield "stated with doubt, but in no words that say how much"
        elif row["p_source"] == "alternative":
            yield f"one of several alternatives (“{phrase}”), which share the probability of the list"
        else:
            yield f"hedged by “{phrase}”" if phrase else "hedged, in no known phrase"
            low, high = reader_range(
                row["prob"], row["p_low"], row["p_high"], _spread()
            )
            yield f"another reader: {float(low):.2f} to {float(high):.2f}"
        if len(row["merged_ids"]):
            yield f"said {len(row['merged_ids']) + 1} times"
        for other in self._out:
            parent = other["finding_id"].rpartition("/")[0]
            if other["event"] == "already stated" and parent == row["finding_id"]:
                yield f"implies {finding_and_location(other)}, which is stated{self._at(other)}"

    def _at(self, row: Record) -> str:
        """`, see 3`: the row that stands for it."""
        survivor = row["survivor_id"]
        return f", see {self._numbers[survivor]}" if survivor in self._numbers else ""


def tone_of(row: Record) -> str:
    """The colour of a row or a label; a denial of a kind alone ("no large effusion") leaves nothing open."""
    if row.get("currency") == "past dx":
        return "past"
    if row.get("p_source") == QUALIFIER:
        return "part"
    if row["status"][0] == "t":
        return "open"
    return "present" if row["status"][1] == "p" else "absent"


def _where(row: Record) -> str:
    return f"{SECTION_WORDS[row['section']]}, sentence {row['sent_idx']}"


def _believed(p: float, low: float, high: float, *, is_bound: bool) -> str:
    """`0.56 (0.49 to 0.62)`; a bound as `≥ 0.56 (0.49 to 1.00)`, or as `0.80 to 1.00` where p is 1, or as
    `≤ 0.44` of what is denied.
    """
    if low == high:
        return f"{p:.0f}"
    if not is_bound:
        return f"{p:.2f} ({low:.2f} to {high:.2f})"
    if low == 0.0:
        return f"≤ {high:.2f}"
    if p > 0.995:  # implied by what is certain: nothing is more than that
        return f"{low:.2f} to {high:.2f}"
    return f"≥ {p:.2f} ({low:.2f} to {high:.2f})"


def _label(row: Record) -> ShownLabel:
    """What is said of a label; of "no finding" the other way round, as a person would say it."""
    said, tone = _said_of_label(row)
    p = _p_of_label(row)
    if row["chexpert"] != NO_FINDING:
        return ShownLabel(row["label"], said, p, tone)
    turned = {"present": "absent", "absent": "present"}.get(tone, "open")
    certain = {"present": "1", "absent": "0"}.get(tone, "")
    if said not in NO_FINDING_WORDS:  # denied in part, or at a place
        said = "denied with doubt"
    name = f"{row['label']} {certain or p}".rstrip()
    return ShownLabel(NO_FINDING_WORDS[said], name, "", turned)


def _said_of_label(row: Record) -> tuple[str, str]:
    """What the report says of a label, in a word or a few, and the colour of that."""
    if pd.isna(row["p"]):
        return row["source"], "open"
    tone = tone_of(row)
    if row["source"] == "stated" and tone == "open":
        return "stated with doubt", tone
    if row["source"] != "denied":
        return row["source"], tone
    if tone == "part":
        return "denied in part", tone
    if row["p_high"] == 0.0:
        return (
            ("denied at a place", "part")
            if row["denied_at_place"]
            else ("denied", tone)
        )
    return "in doubt" if row["p_high"] >= _IN_DOUBT else "denied with doubt", tone


def _p_of_label(row: Record) -> str:
    """p in words: an interval of what is only a bound; empty where what is said of the label says it."""
    if pd.isna(row["p"]) or (row["source"] == "denied" and row["p_high"] == 0.0):
        return ""
    if not row["p_is_bound"]:
        return f"{row['p']:.2f}"
    if row["source"] == "denied":
        return f"at most {row['p_high']:.2f}"
    return f"{row['p_low']:.2f} to {row['p_high']:.2f}"


@cache
def _spread() -> ReaderSpread:
    """Between readers, as the packaged anchors state it."""
    return chosen_anchors("published").spread
