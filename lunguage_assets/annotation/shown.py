"""What is shown of a report: text in pieces, findings, contradictions, labels.

It is the same on the terminal and on the page, which `page.py` writes; what the colours
and columns mean is in docs/read.md. Codes are worded as `lunguage explain` does
(`release/code_words.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.log import reasons
from lunguage_assets.explicit.probability import (
    reader_range,
)
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
    "The views are not known: findings that need them imply nothing (effusion, "
    'cardiomegaly). Say which they are, such as "PA and lateral".'
)
_CUE = "cue"
_KINDS = ("finding", "hedge", "detail", _CUE)
"""Kinds of pieces with rows; a piece that rows share is of the first of theirs."""
_KIND_BY_COLUMN = {"ent": "finding", "phrase": "hedge", _CUE: _CUE}
"""Of the columns that were read there; all others are details."""
_SHOWN_CONFLICTS = ("polarity", "stated_contradiction")
_IN_DOUBT = 0.5
"""From this p on nobody says that a label is denied: "no finding" beside a finding that
is unlikely.
"""
_NEARLY_ONE = 0.995
"""A p that is written 1.00."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One finding: stated, implied, or left out.

    Args:
        number: among the findings, from 1; of a merged row the survivor's; 0: none of
            the findings stands for it.
        finding_id: its id.
        title: finding and location.
        tone: how it is coloured: present, open (tentative either way), absent, part
            (only a kind of it is denied), past, out (removed).
        status: in words.
        where: section and sentence; empty for an implied row.
        lines: the reasons, in plain words.
        believed: p with its interval in words; empty for a row that is left out.
        p: the probability that it is there.
        low: the lower end of its interval.
        high: the upper end of its interval.
        details: its attributes, in words.
        depth: how many rows of the page it follows from.
        implied: titles of what it implies, which follows it, one `depth` lower.
        cues: the words that decided it, each with what it says and its id.
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
        """The status in a word.

        `present`, `absent`, of a part of the body `normal`; `present?` where words
        leave it open; `denied only if "large"`; `present, past`.
        """
        certainty, _, claim = self.status.partition(" ")
        if certainty not in ("certainly", "tentatively"):
            return self.status
        if certainty == "tentatively":
            claim += "?"
        if self.tone == "past":
            claim += ", past"
        return claim

    @property
    def interval(self) -> str:
        """What the two ends are that stand beside p, or in its place."""
        if self.low == self.high:
            return ""
        is_estimate = self.believed[:1].isdigit() and self.believed.endswith(")")
        return "95% interval" if is_estimate else "bounds"

    @property
    def reason(self) -> str:
        """What a person sees who points at the words, a line for each reason."""
        lines = [f"{self.title}: {self.status}"]
        if self.believed:
            lines.append(f"p {self.believed}")
        lines += [*self.lines, *self.cues]
        if self.implied:
            lines.append(f"implies {self.implied}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of the text.

    Args:
        text: the characters.
        kind: finding, hedge (its phrase), detail (location or attribute), cue (what
            decided a row), plain (of a sentence with findings), silent (of headings,
            and of what states no finding).
        rows: ids of the rows that were read there, findings before hedges, details and
            cues.
        sentence: number in its section of the sentence that begins here, which rows
            cite; 0: none begins.
    """

    text: str = field(repr=False)
    kind: str
    rows: tuple[str, ...] = ()
    sentence: int = 0


class ShownLabel(NamedTuple):
    """A label that the report mentions.

    Args:
        name: of the label.
        claim: what the report says of it, in a word or a few.
        p: in words; empty: the claim says all, or there is none.
        tone: how it is coloured, as a row is.
    """

    name: str
    claim: str
    p: str
    tone: str


class Contradiction(NamedTuple):
    """A finding, and the rows about it that disagree, with what became of each."""

    title: str
    sides: str


@dataclass(frozen=True)
class ShownReport:
    """Everything about one report.

    Args:
        study_id: the caller's.
        views: in the written form.
        remarks: notes on the reading, in words.
        pieces: the text; the pieces joined are the text.
        rows: stated findings, each before what it implies.
        left_out: stated rows that are not among the findings.
        contradictions: between rows.
        labels: without unmentioned ones.
        is_read: findings were looked for: no row broke a rule, and the report is in
            English.
    """

    study_id: str
    views: str
    remarks: tuple[str, ...]
    pieces: tuple[Piece, ...] = field(repr=False)
    rows: tuple[ShownRow, ...]
    left_out: tuple[ShownRow, ...]
    contradictions: tuple[Contradiction, ...]
    labels: tuple[ShownLabel, ...]
    is_read: bool = True

    @cached_property
    def by_id(self) -> Mapping[str, ShownRow]:
        """Every row, implied and left out ones included."""
        return {row.finding_id: row for row in (*self.rows, *self.left_out)}

    def read_in(self, piece: Piece) -> list[ShownRow]:
        """List the rows that were read in a piece of the text."""
        return [self.by_id[finding_id] for finding_id in piece.rows]


def shown_reports(frames: Mapping[str, pd.DataFrame]) -> list[ShownReport]:
    """Make the shown reports of some frames, in their order.

    Args:
        frames: those of an `Annotation` by name, or such frames of stored tables;
            `reports` is needed, and `PARTS` as far as there are rows of them.
    """
    return [_shown(report, parts) for report, parts in by_report(frames)]


def by_report(
    frames: Mapping[str, pd.DataFrame],
) -> Iterator[tuple[Record, dict[str, list[Record]]]]:
    """Yield every row of `reports` with its rows of the other frames, in their order.

    These rows do not repeat the study's id.
    """
    # Grouped once: to search every frame for every report would be quadratic.
    groups_by_part: dict[str, dict[Any, list[Any]]] = {}
    for part in PARTS:
        groups_by_part[part] = {}
        if part not in frames:
            continue
        frame = frames[part]
        groups = frame.drop(columns="study_id").groupby(frame["study_id"], sort=False)
        rows_by_study = {study: rows.to_dict("records") for study, rows in groups}
        groups_by_part[part] = rows_by_study
    for report in frames["reports"].to_dict("records"):
        rows_by_part: dict[str, list[Any]] = {}
        for part, rows_by_study in groups_by_part.items():
            # A report may have no row of a part.
            rows_by_part[part] = rows_by_study.get(report["study_id"], [])
        yield report, rows_by_part


def pieces(
    text: str, spans: Sequence[Record], sentences: Sequence[Record]
) -> list[Piece]:
    """Cut a text where spans or sentences begin or end.

    Args:
        text: the report.
        spans: what was read, with `begin`, `end`, `column` and `finding_id`.
        sentences: with `begin`, `end`, `section`, `sent_idx` and `account`.

    Returns:
        The whole text, in order: the pieces joined are the text.
    """
    # Where several were read, the piece is shown as the first kind of `_KINDS`.
    by_kind = sorted(spans, key=lambda span: _KINDS.index(_kind(span)))
    # Rows cite sentences of the sections that are read, by their numbers in them.
    cited = [sentence for sentence in sentences if sentence["section"] != "other"]
    number_by_begin = {row["begin"]: row["sent_idx"] for row in cited}
    stating = [sentence for sentence in cited if sentence["account"] == "findings"]
    stretches = (*spans, *sentences)
    ends = {stretch[edge] for stretch in stretches for edge in ("begin", "end")}
    edges = {0, len(text), *ends}
    result = []
    for begin, end in pairwise(sorted(edges)):
        covering = [span for span in by_kind if _covers(span, begin)]
        kind = _kind_of_piece(covering, stating, begin)
        rows = dict.fromkeys(span["finding_id"] for span in covering)
        number = number_by_begin.get(begin, 0)
        result.append(Piece(text[begin:end], kind, tuple(rows), number))
    return result


def _kind_of_piece(
    covering: Sequence[Record], stating: Sequence[Record], begin: int
) -> str:
    if covering:
        return _kind(covering[0])
    is_stating = any(_covers(sentence, begin) for sentence in stating)
    return "plain" if is_stating else "silent"


def _covers(stretch: Record, position: int) -> bool:
    return bool(stretch["begin"] <= position < stretch["end"])


def _kind(span: Record) -> str:
    return _KIND_BY_COLUMN.get(span["column"], "detail")


def _shown(report: Record, parts: Mapping[str, list[Record]]) -> ShownReport:
    rows = _Rows(parts["findings"], parts["left_out"], parts["cues"])
    spans = [*parts["spans"], *({**cue, "column": _CUE} for cue in parts["cues"])]
    return ShownReport(
        study_id=report["study_id"],
        views=report["view_information"],
        remarks=tuple(_remarks(report, parts)),
        pieces=tuple(pieces(report["report"], spans, parts["sentences"])),
        rows=tuple(rows.finding(row, depth) for row, depth in rows.order),
        left_out=tuple(
            rows.left_out(row)
            for row in parts["left_out"]
            # What was implied and left out was never said.
            if row["source"] == "original"
        ),
        contradictions=tuple(
            rows.contradiction(conflict)
            for conflict in parts["conflicts"]
            # Rows that repeat each other, or differ in their doubt alone, contradict
            # nothing.
            if conflict["conflict_type"] in _SHOWN_CONFLICTS
        ),
        labels=tuple(
            _label(row) for row in parts["labels"] if row["source"] != "unmentioned"
        ),
        is_read=NOT_ENGLISH not in report["notes"] and not parts["set_aside"],
    )


def _remarks(report: Record, parts: Mapping[str, list[Record]]) -> Iterator[str]:
    for note in report["notes"]:
        yield str(reasons()["notes"][note])
    # Unknown views matter only where a finding needed them.
    needs_views = any(
        row["match_reason"] == "unknown view" for row in parts["findings"]
    )
    if needs_views and not report["view_information"]:
        yield NO_VIEWS
    for invalid in parts["set_aside"]:
        yield f"Set aside, nothing is concluded from it: {invalid['rule']}."


class _Rows:
    """The rows of one report as they are shown.

    `order` has the stated findings, each before what it implies, with their depth; rows
    are numbered in it.
    """

    def __init__(
        self,
        findings: Sequence[Record],
        left_out: Sequence[Record],
        cues: Sequence[Record],
    ) -> None:
        self._left_out = left_out
        self._by_id = {row["finding_id"]: row for row in (*findings, *left_out)}
        self._cues: defaultdict[str, list[DecidingCue]] = defaultdict(list)
        for cue in cues:
            decided = DecidingCue(*(cue[name] for name in DecidingCue._fields))
            self._cues[cue["finding_id"]].append(decided)
        self._children: defaultdict[str, list[Record]] = defaultdict(list)
        for row in findings:
            self._children[row["parent_id"]].append(row)
        stated = [row for row in findings if row["source"] == "original"]
        self.order = list(self._walk(stated, 0))
        self._numbers = {
            row["finding_id"]: number
            for number, (row, _) in enumerate(self.order, start=1)
        }

    def _walk(self, rows: Sequence[Record], depth: int) -> Iterator[tuple[Record, int]]:
        for row in rows:
            yield row, depth
            # A sign may be a diagnosis itself, with signs of its own.
            yield from self._walk(self._children[row["finding_id"]], depth + 1)

    def finding(self, row: Record, depth: int) -> ShownRow:
        """Make the shown row of a finding."""
        finding_id = row["finding_id"]
        return ShownRow(
            number=self._numbers[finding_id],
            finding_id=finding_id,
            title=finding_and_location(row),
            tone=tone_of(row),
            status=status_of(row),
            where=_where(row),
            lines=tuple(self._reasons(row)),
            believed=_believed(row),
            p=row["prob"],
            low=row["p_low"],
            high=row["p_high"],
            details=attribute_words(row),
            depth=depth,
            implied=", ".join(map(finding_and_location, self._children[finding_id])),
            cues=tuple(describe_cues(self._cues[finding_id])),
        )

    def left_out(self, row: Record) -> ShownRow:
        """Make the shown row of a statement that is not among the findings."""
        event = "not a finding" if row["event"] == "excluded" else row["event"]
        return ShownRow(
            number=self._numbers.get(row["survivor_id"], 0),
            finding_id=row["finding_id"],
            title=finding_and_location(row),
            tone=self._tone_of_left_out(row),
            status=status_of(row),
            where=_where(row),
            lines=(f"{event}{self._see_survivor(row)}: {_rule(row)}",),
            cues=tuple(describe_cues(self._cues[row["finding_id"]])),
        )

    def _tone_of_left_out(self, row: Record) -> str:
        if row["event"] == "excluded":
            return "past"
        if row["event"] != "merged":
            return "out"
        # What is merged into a denial of a kind denies no more than that.
        survivor = self._by_id.get(row["survivor_id"], row)
        return "part" if tone_of(survivor) == "part" else tone_of(row)

    def contradiction(self, conflict: Record) -> Contradiction:
        """Describe the sides of a conflict, and what became of them."""
        ids = filter(self._by_id.__contains__, conflict["finding_ids"])
        sides = [self._by_id[finding_id] for finding_id in ids]
        rules = {_rule(side): 1 for side in sides if "rule" in side}
        locations = ", ".join(conflict["location_parts"])
        title = finding_and_location({"ent": conflict["name"], "location": locations})
        against = " against ".join(map(self._side, sides))
        return Contradiction(title, f"{against}. {'; '.join(rules) or 'both stay'}")

    def _side(self, row: Record) -> str:
        where = f"in {_where(row)}" if row["source"] == "original" else "implied"
        fate = f"kept, see {self._numbers.get(row['finding_id'])}"
        if "rule" in row:  # of the log: the row did not stay
            fate = row["event"] + self._see_survivor(row)
        return f"{status_of(row)} {where} ({fate})"

    def _reasons(self, row: Record) -> Iterator[str]:
        """Say why a finding has its status and its p."""
        yield from _reasons_of_p(row)
        merged = len(row["merged_ids"])
        if merged:
            yield f"said {merged + 1} times"
        # What it implies is left out where the report states it, too. The id of an
        # implied row begins with that of the row that implies it.
        for left_out in self._left_out:
            parent_id = left_out["finding_id"].rpartition("/")[0]
            if left_out["event"] == "already stated" and parent_id == row["finding_id"]:
                # What only the history tells is among the rows that are left out.
                by = (
                    "is stated" if self._see_survivor(left_out) else "the history tells"
                )
                title = finding_and_location(left_out)
                yield f"implies {title}, which {by}{self._see_survivor(left_out)}"

    def _see_survivor(self, row: Record) -> str:
        """Name the row that stands for it: `, see 3`."""
        number = self._numbers.get(row["survivor_id"])
        return "" if number is None else f", see {number}"


def _rule(row: Record) -> str:
    return RULE_WORDS.get(row["rule"], row["rule"])


def _reasons_of_p(row: Record) -> Iterator[str]:
    """Say where the probability of a finding is from."""
    phrases = "; ".join(row["phrases"])
    p_source = row["p_source"]
    if row["source"] == "expansion":
        yield f"implied, pathway {row['parent_pathway_id']}"
    elif p_source == "definitive":
        yield "stated without doubt"
    # "No large effusion": the kind is denied, and the finding may be there.
    elif p_source == QUALIFIER:
        yield "p: how often people coded it all the same"
    elif p_source == "none":
        yield "stated with doubt, but in no words that say how much"
    elif p_source == "alternative":
        yield (
            f"one of several alternatives (“{phrases}”), which share the probability "
            "of the list"
        )
    else:
        yield f"hedged by “{phrases}”" if phrases else "hedged, in no known phrase"
        # The interval of p is how well we know it; another reader may mean another p by
        # the same words (explicit.md section 6).
        p = row["prob"]
        low, high = reader_range(p, row["p_low"], row["p_high"])
        yield f"another reader: {float(low):.2f} to {float(high):.2f}"


def tone_of(row: Record) -> str:
    """Choose the colour of a row or a label.

    A denial of a kind alone ("no large effusion") leaves nothing open.
    """
    if row.get("currency") == "past dx":
        return "past"
    if row.get("p_source") == QUALIFIER:
        return "part"
    certainty, polarity = row["status"]
    if certainty == "t":
        return "open"
    return "present" if polarity == "p" else "absent"


def _where(row: Record) -> str:
    """Name section and sentence; what is implied stands in no sentence."""
    if row["source"] != "original":
        return ""
    return f"{SECTION_WORDS[row['section']]}, sentence {row['sent_idx']}"


def _believed(row: Record) -> str:
    """Write p with its interval: `0.56 (0.49 to 0.62)`.

    A bound is `≥ 0.56 (0.49 to 1.00)`, `≤ 0.44` of what is denied, and `0.80 to 1.00`
    of what is implied by what is certain: nothing is more than that.
    """
    p = f"{row['prob']:.2f}"
    ends = f"{row['p_low']:.2f} to {row['p_high']:.2f}"
    if row["p_low"] == row["p_high"]:
        return f"{row['prob']:.0f}"
    if not row["prob_is_bound"]:
        return f"{p} ({ends})"
    if row["p_low"] == 0.0:
        return f"≤ {row['p_high']:.2f}"
    return ends if row["prob"] > _NEARLY_ONE else f"≥ {p} ({ends})"


def _label(row: Record) -> ShownLabel:
    """Say what the report says of a label."""
    name = row["label"]
    claim, tone = _claim_of_label(row)
    p = _p_of_label(row)
    if row["chexpert"] != NO_FINDING:
        return ShownLabel(name, claim, p, tone)
    # A person says it the other way round: "nothing is found", or "something is".
    # Its p is empty where the claim is certain: then it is 1 or 0.
    certain_p = {"present": "1", "absent": "0"}.get(tone, "")
    tone_of_findings = {"present": "absent", "absent": "present"}.get(tone, "open")
    # Denied in part or at a location, something is found all the same.
    words = NO_FINDING_WORDS.get(claim, NO_FINDING_WORDS["denied with doubt"])
    label_and_p = f"{name} {certain_p or p}".rstrip()
    return ShownLabel(words, label_and_p, "", tone_of_findings)


def _claim_of_label(row: Record) -> tuple[str, str]:
    """Say what the report says of a label, in a word or a few, and its colour."""
    source = row["source"]
    # The report says both: "left effusion. No effusion".
    if pd.isna(row["p"]):
        return source, "open"
    tone = tone_of(row)
    if source == "stated" and tone == "open":
        return "stated with doubt", tone
    if source != "denied":
        return source, tone
    # "No large effusion" leaves a small one open.
    if tone == "part":
        return "denied in part", tone
    if row["p_high"] >= _IN_DOUBT:
        return "in doubt", tone
    # "No definite effusion".
    if row["p_high"] > 0.0:
        return "denied with doubt", tone
    # "No left effusion" says nothing of the right side.
    if row["denied_at_place"]:
        return "denied at a place", "part"
    return "denied", tone


def _p_of_label(row: Record) -> str:
    """Write p; empty where the claim says it."""
    is_denied = row["source"] == "denied"
    if pd.isna(row["p"]) or (is_denied and row["p_high"] == 0.0):
        return ""
    if not row["p_is_bound"]:
        return f"{row['p']:.2f}"
    if is_denied:
        return f"at most {row['p_high']:.2f}"
    return f"{row['p_low']:.2f} to {row['p_high']:.2f}"
