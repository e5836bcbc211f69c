"""Content shown of a report: its pieces, its findings with their reasons, what contradicts, and the labels.

The same content for terminal and page (`terminal.py`, `page.py`); the wording of codes is that of
`lunguage explain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import pandas as pd

from lunguage_assets.annotation.annotation import Annotation
from lunguage_assets.annotation.showing.marks import OUT, PAST, Piece, ReadSentence, ReadSpan, pieces, tone_of
from lunguage_assets.annotation.showing.page import by_report
from lunguage_assets.corpus.log import reasons
from lunguage_assets.explicit.fit.anchors import ReaderSpread, chosen_anchors, reader_range
from lunguage_assets.implicit.statements.qualifiers import QUALIFIER, qualifying
from lunguage_assets.release.explain.wording import RULES, SECTIONS, status_of
from lunguage_assets.tables import ATTRIBUTES

NO_VIEWS = (
    "The views are not known: findings that need them imply nothing (effusion, cardiomegaly). Say which they "
    'are, such as "PA and lateral".'
)


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One finding: stated, implied, or left out.

    Args:
        number: of a row among the findings, from 1; of a merged row that of the row that stands for it; 0 for
            rows that nothing stands for.
        tone: how it is coloured.
        lines: the reasons, in plain words.
        implied: what it implies, in the order of the pathway.
    """

    number: int
    finding_id: str
    title: str
    tone: str
    status: str
    where: str
    lines: tuple[str, ...]
    phrase: str = ""
    p: float = 0.0
    low: float = 0.0
    high: float = 0.0
    is_bound: bool = False
    details: str = ""
    implied: tuple[ShownRow, ...] = ()
    is_left_out: bool = False

    @property
    def claim(self) -> str:
        """`present`, `absent`, of a part of the body `normal`; `present?` where words leave it open."""
        certainty, _, said = self.status.partition(" ")
        return f"{said}?" if certainty == "tentatively" else said

    @property
    def believed(self) -> str:
        """`0.56 (0.49 to 0.62)`; a bound as `≥ 0.56 (0.49 to 1.00)`, or as `0.80 to 1.00` where p is 1, or
        as `≤ 0.44` of what is denied.
        """
        if self.low == self.high:
            return f"{self.p:.0f}"
        if not self.is_bound:
            return f"{self.p:.2f} ({self.low:.2f} to {self.high:.2f})"
        if self.low == 0.0:
            return f"≤ {self.high:.2f}"
        if self.p > 0.995:  # implied by what is certain: nothing is more than that
            return f"{self.low:.2f} to {self.high:.2f}"
        return f"≥ {self.p:.2f} ({self.low:.2f} to {self.high:.2f})"

    @property
    def reason(self) -> str:
        """What a person sees who points at the words: title, p, reasons, what it implies; a line each."""
        believed = () if self.is_left_out else (f"p {self.believed}",)
        implied = ", ".join(row.title for row in self.implied)
        follows = (f"implies {implied}",) if implied else ()
        return "\n".join((f"{self.title}: {self.status}", *believed, *self.lines, *follows))


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Rows that say present and absent of the same finding at the same place, and what became of each."""

    title: str
    sides: tuple[str, ...]
    rule: str


@dataclass(frozen=True)
class ShownReport:
    """Everything about one report; `rows` has stated findings, what they imply inside them."""

    study_id: str
    views: str
    remarks: tuple[str, ...]
    pieces: tuple[Piece, ...] = field(repr=False)
    rows: tuple[ShownRow, ...]
    left_out: tuple[ShownRow, ...]
    contradictions: tuple[Contradiction, ...]
    labels: tuple[tuple[str, str, str], ...]
    """Label, what is known of it, p in words (empty: it has none); unmentioned labels are left out."""
    is_set_aside: bool = False
    """Whether a row broke a rule: nothing is concluded from the report."""

    @cached_property
    def by_id(self) -> Mapping[str, ShownRow]:
        """Every row, implied and left out ones included."""
        return {row.finding_id: row for row in (*self.rows_in_order, *self.left_out)}

    def read_in(self, piece: Piece) -> list[ShownRow]:
        """The rows that were read in a piece of the text."""
        return [self.by_id[own] for own in piece.rows]

    @property
    def rows_in_order(self) -> list[ShownRow]:
        """Stated rows, each before what it implies."""
        return list(_all(self.rows))


def shown_reports(annotation: Annotation) -> list[ShownReport]:
    """The reports of an annotation, in their order."""
    parts = {
        name: by_report(getattr(annotation, name))
        for name in ("sentences", "findings", "left_out", "conflicts", "labels", "spans", "set_aside")
    }
    return [
        _shown(report, {name: found.get(report["study_id"], []) for name, found in parts.items()})
        for report in annotation.reports.to_dict("records")
    ]


_Record = dict[Any, Any]
_IN_DOUBT = 0.5
"""From this p on, nobody says that a label is denied ("no finding", beside a finding that is unlikely)."""


def _shown(report: Mapping[Any, Any], parts: Mapping[str, list[_Record]]) -> ShownReport:
    sentences = [
        ReadSentence(s["section"], s["sent_idx"], s["begin"], s["end"], s["account"], s["reason"])
        for s in parts["sentences"]
    ]
    spans = [ReadSpan(s["finding_id"], s["column"], s["begin"], s["end"]) for s in parts["spans"]]
    rows = _Rows(parts)
    aside = [f"Set aside, nothing is concluded from it: {one['rule']}." for one in parts["set_aside"]]
    remarks = [reasons().notes[note] for note in report["notes"] if note != "unknown-view"]
    if not report["view_information"] and any(r["match_reason"] == "unknown view" for r in parts["findings"]):
        remarks.append(NO_VIEWS)
    return ShownReport(
        report["study_id"],
        report["view_information"],
        (*remarks, *aside),
        tuple(pieces(report["report"], spans, sentences)),
        tuple(rows.stated()),
        tuple(rows.left_out()),
        tuple(rows.contradictions()),
        tuple((row["label"], *_label(row)) for row in parts["labels"] if row["source"] != "unmentioned"),
        is_set_aside=bool(aside),
    )


class _Rows:
    """The rows of one report as they are shown."""

    def __init__(self, parts: Mapping[str, list[_Record]]) -> None:
        self._findings, self._out, self._conflicts = parts["findings"], parts["left_out"], parts["conflicts"]
        self._children: dict[str, list[_Record]] = {}
        for row in self._findings:
            if row["source"] == "expansion":
                self._children.setdefault(row["parent_id"], []).append(row)
        self._already: dict[str, list[_Record]] = {}
        for row in self._out:
            if row["event"] == "already stated":
                self._already.setdefault(row["finding_id"].rpartition("/")[0], []).append(row)
        self._numbers: dict[str, int] = {}
        for row in self._findings:
            if row["source"] == "original":
                self._count(row)

    def _count(self, row: _Record) -> None:
        """Number a row and what it implies, in the order in which they are shown."""
        self._numbers[row["finding_id"]] = len(self._numbers) + 1
        for child in self._children.get(row["finding_id"], ()):
            self._count(child)

    def stated(self) -> Iterator[ShownRow]:
        """The stated findings with everything that they imply."""
        return (self._row(row) for row in self._findings if row["source"] == "original")

    def left_out(self) -> Iterator[ShownRow]:
        """Stated rows that are not among the findings."""
        for row in self._out:
            if row["source"] == "original":
                tone = {"merged": tone_of(row["status"]), "excluded": PAST}.get(row["event"], OUT)
                number = self._numbers.get(row["survivor_id"], 0)
                yield self._as_shown(row, number, tone, _where(row), (self._fate(row),), is_left_out=True)

    def contradictions(self) -> Iterator[Contradiction]:
        """Conflicts of polarity, and statements that contradict each other by place or size; those stay."""
        rows = {row["finding_id"]: row for row in (*self._findings, *self._out)}
        for conflict in self._conflicts:
            if conflict["conflict_type"] in ("polarity", "stated_contradiction"):
                sides = [rows[own] for own in conflict["finding_ids"] if own in rows]
                rules = dict.fromkeys(
                    RULES.get(side["rule"], side["rule"]) for side in sides if "rule" in side
                )
                yield Contradiction(
                    titled(conflict["name"], ", ".join(conflict["location_parts"])),
                    tuple(map(self._side, sides)),
                    "; ".join(rules) or "both stay",
                )

    def _side(self, row: _Record) -> str:
        said = f"in {_where(row)}" if row["source"] == "original" else "implied"
        fate = f"kept, see {self._numbers[row['finding_id']]}" if "rule" not in row else row["event"]
        return f"{status_of(row)} {said} ({fate}{self._at(row) if 'rule' in row else ''})"

    def _row(self, row: _Record) -> ShownRow:
        children = tuple(map(self._row, self._children.get(row["finding_id"], ())))
        return self._as_shown(
            row,
            self._numbers[row["finding_id"]],
            tone_of(row["status"]),
            _where(row) if row["source"] == "original" else "",
            tuple(self._reasons(row)),
            phrase="; ".join(row["phrases"]),
            p=row["prob"],
            low=row["p_low"],
            high=row["p_high"],
            is_bound=row["prob_is_bound"],
            details="; ".join(f"{shown}: {row[name]}" for name, shown in ATTRIBUTES.items() if row[name]),
            implied=children,
        )

    def _as_shown(
        self, row: _Record, number: int, tone: str, where: str, lines: tuple[str, ...], **more: Any
    ) -> ShownRow:
        title, status = titled(row["ent"], row["location"]), status_of(row)
        return ShownRow(number, row["finding_id"], title, tone, status, where, lines, **more)

    def _reasons(self, row: _Record) -> Iterator[str]:
        phrase = "; ".join(row["phrases"])
        if row["past_hx"].lower().startswith("addend"):
            yield "taken back by the addendum"
        if row["source"] == "expansion":
            yield f"implied, pathway {row['parent_pathway_id']}"
        elif row["p_source"] == "definitive":
            yield "stated without doubt"
        elif row["p_source"] == QUALIFIER:
            cells = (
                row["measurement"],
                row["morphology"],
                row["distribution"],
                row["severity"],
                row["onset"],
            )
            found = qualifying(row["name"], row["ent"], row["sent"], cells)
            yield f"denied is only what is “{found[1]}”" if found is not None else "denied in part"
        elif row["p_source"] == "none":
            yield "stated with doubt, but in no words that say how much"
        elif row["p_source"] == "alternative":
            yield f"one of several alternatives (“{phrase}”), which share the probability of the list"
        else:
            yield f"hedged by “{phrase}”" if phrase else "hedged, in no known phrase"
            yield _other_readers(row)
        if len(row["merged_ids"]):
            yield f"said {len(row['merged_ids']) + 1} times"
        for other in self._already.get(row["finding_id"], ()):
            yield f"implies {titled(other['ent'], other['location'])}, which is stated{self._at(other)}"

    def _fate(self, row: _Record) -> str:
        said = RULES.get(row["rule"], row["rule"])
        return f"{'not a finding' if row['event'] == 'excluded' else row['event']}{self._at(row)}: {said}"

    def _at(self, row: _Record) -> str:
        """`, see 3`: the row that stands for it."""
        survivor = row["survivor_id"]
        return f", see {self._numbers[survivor]}" if survivor in self._numbers else ""


def _label(row: _Record) -> tuple[str, str]:
    """What is known of a label, and p in words: empty where the first says it, an interval of what is only a
    bound.
    """
    if pd.isna(row["p"]):
        return row["source"], ""
    if row["source"] == "denied":
        if row["p_high"] == 0.0:
            return "denied", ""
        said = "in doubt" if row["p_high"] >= _IN_DOUBT else "denied"
        return said, f"at most {row['p_high']:.2f}" if row["p_is_bound"] else f"{row['p']:.2f}"
    bound = f"{row['p_low']:.2f} to {row['p_high']:.2f}"
    return row["source"], bound if row["p_is_bound"] else f"{row['p']:.2f}"


def titled(ent: str, place: str) -> str:
    """Finding and place."""
    return f"{ent}, {place}" if place else ent


def _where(row: Mapping[str, Any]) -> str:
    return f"{SECTIONS[row['section']]}, sentence {row['sent_idx']}"


@cache
def _spread() -> ReaderSpread:
    """Between readers, as the packaged anchors state it."""
    return chosen_anchors("published").spread


def _other_readers(row: Mapping[str, Any]) -> str:
    """Where another reader's p would lie, 19 times of 20."""
    low, high = reader_range(row["prob"], row["p_low"], row["p_high"], _spread())
    return f"another reader: {float(low):.2f} to {float(high):.2f}"


def _all(rows: Sequence[ShownRow]) -> Iterator[ShownRow]:
    for row in rows:
        yield row
        yield from _all(row.implied)
