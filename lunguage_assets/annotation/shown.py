"""What is shown of a report: text in pieces, findings, contradictions, labels.

It is the same on the terminal and on the page, which `page.py` writes, of a text that
was just read and of a study that a run has stored (`stored_study.py`). What the colours
and columns mean is in docs/read.md; codes are worded in `release/code_words.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.log import reasons
from lunguage_assets.explicit.probability import reader_range
from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.release.code_words import (
    CONFLICT_WORDS,
    NO_FINDING_WORDS,
    P_SOURCE_WORDS,
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
Records = Mapping[str, Sequence[Record]]
"""Rows of one report, by the name of their frame."""

NO_VIEWS = (
    "The views are not known: findings that need them imply nothing (effusion, "
    'cardiomegaly). Say which they are, such as "PA and lateral".'
)
_TONES = {"dp": "present", "dn": "absent", "tp": "open", "tn": "open"}
_KIND_BY_COLUMN = {"ent": "finding", "phrase": "hedge", "cue": "cue"}
"""Of the columns that were read there; all others are details."""
_KINDS = ("finding", "hedge", "detail", "cue")
"""A piece that rows share is of the first of theirs."""
_SHOWN_CONFLICTS = ("polarity", "stated_contradiction")
_IN_DOUBT = 0.5
"""From this p on nobody says that a label is denied: "no finding" beside a finding that
is unlikely.
"""
_NEARLY_ONE = 0.995
"""A p that is written 1.00."""


class ShownRow(NamedTuple):
    """One finding: stated, implied, or left out.

    Args:
        number: among the findings, from 1; of a merged row the survivor's; 0: none of
            the findings stands for it.
        finding_id: its id.
        title: finding and location.
        tone: how it is coloured: present, open (tentative either way), absent, part
            (only a kind of it is denied), past, out (removed).
        claim: `present`, `absent`, of a part of the body `normal`; `present?` where
            words leave it open; `denied only if "large"`; `present, past`.
        where: section and sentence; empty for an implied row.
        lines: the reasons, in plain words, attributes and deciding words.
        believed: p with its interval in words; empty for a row that is left out.
        interval: what the ends are that stand beside p, or in its place.
        p: the probability that it is there.
        low: the lower end of its interval.
        high: the upper end of its interval.
        depth: how many rows of the page it follows from.
    """

    number: int
    finding_id: str
    title: str
    tone: str
    claim: str
    where: str
    lines: Sequence[str]
    believed: str = ""
    interval: str = ""
    p: float = 0.0
    low: float = 0.0
    high: float = 0.0
    depth: int = 0

    @property
    def why(self) -> str:
        """Where it stands, and the reasons."""
        return "; ".join(filter(None, [self.where, *self.lines]))


class Piece(NamedTuple):
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

    text: str
    kind: str
    rows: Sequence[str]
    sentence: int


class ShownLabel(NamedTuple):
    """A label that the report mentions.

    Args:
        name: of the label.
        claim: what the report says of it, in a word or a few.
        p: in words; empty: there is none.
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


class ShownReport:
    """Everything about one report.

    Attributes:
        study_id: the caller's.
        views: in the written form.
        remarks: notes on the reading, in words.
        pieces: the text; the pieces joined are the text.
        rows: stated findings, each before what it implies.
        left_out: rows that are not among the findings.
        contradictions: between rows.
        labels: without unmentioned ones.
        is_read: findings were looked for: no row broke a rule, and the report is in
            English.
    """

    def __init__(self, report: Record, parts: Records) -> None:
        """Word everything.

        Args:
            report: its row of `reports`.
            parts: its rows of the other frames.
        """
        rows = _Rows(parts)
        cues = [{**cue, "column": "cue"} for cue in parts["cues"]]
        self.study_id: str = report["study_id"]
        self.views: str = report["view_information"]
        self.remarks = list(_remarks(report, parts))
        spans = [*parts["spans"], *cues]
        self.pieces = pieces(report["report"], spans, parts["sentences"])
        self.rows = list(rows.findings())
        self.left_out = list(rows.left_out())
        self._row_by_id = {row.finding_id: row for row in (*self.rows, *self.left_out)}
        self.contradictions = [
            rows.contradiction(conflict)
            for conflict in parts["conflicts"]
            # Rows that repeat each other, or differ in their doubt alone, contradict
            # nothing.
            if conflict["conflict_type"] in _SHOWN_CONFLICTS
        ]
        mentioned = [row for row in parts["labels"] if row["source"] != "unmentioned"]
        self.labels = list(map(_label, mentioned))
        self.is_read = NOT_ENGLISH not in report["notes"] and not parts["set_aside"]

    def read_in(self, piece: Piece) -> list[ShownRow]:
        """List the rows that were read in a piece of the text."""
        return [self._row_by_id[finding_id] for finding_id in piece.rows]

    def keep_row(self, finding_id: str) -> bool:
        """Drop everything but a row, and say whether there is such a row."""
        self.rows = [row for row in self.rows if row.finding_id == finding_id]
        self.left_out = [row for row in self.left_out if row.finding_id == finding_id]
        self.pieces = []
        self.contradictions = []
        self.labels = []
        # Nothing is said of the other rows.
        self.is_read = False
        return bool(self.rows or self.left_out)


def shown_reports(frames: Mapping[str, pd.DataFrame]) -> list[ShownReport]:
    """Make the shown reports of some frames, in their order.

    Args:
        frames: those of an `Annotation` by name, or such frames of stored tables; a
            frame `notes` (`finding_id`, `words`) has further lines about rows.
    """
    return [ShownReport(report, parts) for report, parts in by_report(frames)]


def by_report(
    frames: Mapping[str, pd.DataFrame],
) -> Iterator[tuple[Record, Records]]:
    """Yield every row of `reports` with its rows of the other frames, in their order.

    These rows do not repeat the study's id.
    """
    rows_by_part: dict[str, defaultdict[Any, list[Record]]] = {}
    for part, frame in frames.items():
        rows_by_part[part] = defaultdict(list)
        for row in frame.to_dict("records"):
            rows_by_part[part][row.pop("study_id")].append(row)
    del rows_by_part["reports"]
    for report in frames["reports"].to_dict("records"):
        study = report["study_id"]
        yield report, {part: rows[study] for part, rows in rows_by_part.items()}


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
    edges = {0, len(text)}
    for stretch in (*spans, *sentences):
        edges |= {stretch["begin"], stretch["end"]}
    result = []
    for begin, end in pairwise(sorted(edges)):
        covering = _covering(begin, by_kind)
        accounts = [sentence["account"] for sentence in _covering(begin, cited)]
        # A sentence that states no finding is silent.
        colour = "silent"
        if covering:
            colour = _kind(covering[0])
        elif "findings" in accounts:
            colour = "plain"
        rows = dict.fromkeys(span["finding_id"] for span in covering)
        number = number_by_begin.get(begin, 0)
        result.append(Piece(text[begin:end], colour, tuple(rows), number))
    return result


def _covering(position: int, stretches: Sequence[Record]) -> list[Record]:
    return [row for row in stretches if row["begin"] <= position < row["end"]]


def _kind(span: Record) -> str:
    return _KIND_BY_COLUMN.get(span["column"], "detail")


def _remarks(report: Record, parts: Records) -> Iterator[str]:
    for note in report["notes"]:
        yield str(reasons()["notes"][note])
    # Unknown views matter only where a finding needed them.
    unmatched = {row["match_reason"] for row in parts["findings"]}
    if "unknown view" in unmatched and not report["view_information"]:
        yield NO_VIEWS
    for invalid in parts["set_aside"]:
        yield f"Set aside, nothing is concluded from it: {invalid['rule']}."


class _Rows:
    """The rows of one report, numbered as they are shown.

    Stated findings come in their order, each before what it implies.
    """

    def __init__(self, parts: Records) -> None:
        self._left_out = parts["left_out"]
        self._by_id = {
            row["finding_id"]: row for row in (*parts["findings"], *self._left_out)
        }
        self._cues: defaultdict[str, list[DecidingCue]] = defaultdict(list)
        for cue in parts["cues"]:
            decided = DecidingCue(*(cue[name] for name in DecidingCue._fields))
            self._cues[cue["finding_id"]].append(decided)
        self._notes: defaultdict[str, list[str]] = defaultdict(list)
        for note in parts.get("notes", ()):
            self._notes[note["finding_id"]].append(note["words"])
        self._children: defaultdict[str, list[Record]] = defaultdict(list)
        for row in parts["findings"]:
            # A stated row has no parent.
            parent = row["parent_id"]
            if row["source"] == "original":
                parent = ""
            self._children[parent].append(row)
        self._order = list(self._walk("", 0))
        self._numbers: dict[str, int] = {}
        for number, (row, _) in enumerate(self._order, start=1):
            self._numbers[row["finding_id"]] = number

    def _walk(self, parent: str, depth: int) -> Iterator[tuple[Record, int]]:
        for row in self._children[parent]:
            yield row, depth
            # A sign may be a diagnosis itself, with signs of its own.
            yield from self._walk(row["finding_id"], depth + 1)

    def findings(self) -> Iterator[ShownRow]:
        """Word the findings."""
        for row, depth in self._order:
            number = self._numbers[row["finding_id"]]
            lines = [*self._reasons(row), *attribute_words(row)]
            worded = self._shown(row, number, tone_of(row), lines)
            yield worded._replace(
                believed=_believed(row),
                interval=_interval(row),
                p=row["prob"],
                low=row["p_low"],
                high=row["p_high"],
                depth=depth,
            )

    def left_out(self) -> Iterator[ShownRow]:
        """Word the rows that are not among the findings."""
        for row in self._left_out:
            # What was implied and left out was never said; only a run tells of it.
            if row["source"] != "original" and row["finding_id"] not in self._notes:
                continue
            event = row["event"].replace("excluded", "not a finding")
            because = RULE_WORDS[row["rule"]]
            if row["conflict_type"] != "none":
                because = f"{CONFLICT_WORDS[row['conflict_type']]}; {because}"
            reason = f"{event}{self._see_survivor(row)}: {because}"
            number = self._numbers.get(row["survivor_id"], 0)
            yield self._shown(row, number, self._tone_of_left_out(row), [reason])

    def _shown(
        self, row: Record, number: int, tone: str, lines: Sequence[str]
    ) -> ShownRow:
        """Word what findings and left out rows have alike.

        Args:
            row: that is shown.
            number: of the finding, or of that which stands for it.
            tone: how it is coloured.
            lines: the reasons.
        """
        finding_id = row["finding_id"]
        cues = describe_cues(self._cues[finding_id])
        return ShownRow(
            number=number,
            finding_id=finding_id,
            title=finding_and_location(row),
            tone=tone,
            claim=_claim(row, tone),
            where=_where(row),
            lines=[*lines, *cues, *self._notes[finding_id]],
        )

    def _tone_of_left_out(self, row: Record) -> str:
        if row["event"] == "excluded":
            return "past"
        if row["event"] != "merged":
            return "out"
        # What is merged into a denial of a kind denies no more than that.
        return tone_of(self._by_id.get(row["survivor_id"], row))

    def contradiction(self, conflict: Record) -> Contradiction:
        """Describe the sides of a conflict, and what became of them."""
        ids = filter(self._by_id.__contains__, conflict["finding_ids"])
        sides = [self._by_id[finding_id] for finding_id in ids]
        rules = {RULE_WORDS[side["rule"]]: side for side in sides if "rule" in side}
        locations = ", ".join(conflict["location_parts"])
        title = finding_and_location({"ent": conflict["name"], "location": locations})
        against = " against ".join(map(self._side, sides))
        return Contradiction(title, f"{against}. {'; '.join(rules) or 'both stay'}")

    def _side(self, row: Record) -> str:
        fate = f"kept, see {self._numbers.get(row['finding_id'])}"
        if "rule" in row:  # of the log: the row did not stay
            fate = row["event"] + self._see_survivor(row)
        where = "implied"
        if row["source"] == "original":
            where = f"in {_where(row)}"
        return f"{status_of(row)} {where} ({fate})"

    def _reasons(self, row: Record) -> Iterator[str]:
        """Say why a finding has its p, and what else stands for it."""
        phrases = "no known phrase"
        if row["phrases"]:
            phrases = f"“{'; '.join(row['phrases'])}”"
        source = P_SOURCE_WORDS[row["p_source"]]
        yield source.format(phrases=phrases, pathway=row["parent_pathway_id"])
        if row["p_source"] in ("fitted", "phrase"):
            # The interval of p is how well we know it; another reader may mean another
            # p by the same words (explicit.md section 6).
            low, high = reader_range(row["prob"], row["p_low"], row["p_high"])
            yield f"another reader: {float(low):.2f} to {float(high):.2f}"
        if len(row["merged_ids"]):
            yield f"said {len(row['merged_ids']) + 1} times"
        # What it implies is left out where the report states it, too. The id of an
        # implied row begins with that of the row that implies it.
        for left_out in self._left_out:
            parent_id = left_out["finding_id"].rpartition("/")[0]
            if left_out["event"] == "already stated" and parent_id == row["finding_id"]:
                by = f"is stated{self._see_survivor(left_out)}"
                # What only the history tells is among the rows that are left out.
                if left_out["survivor_id"] not in self._numbers:
                    by = "the history tells"
                yield f"implies {finding_and_location(left_out)}, which {by}"

    def _see_survivor(self, row: Record) -> str:
        """Name the row that stands for it: `, see 3`."""
        if row["survivor_id"] not in self._numbers:
            return ""
        return f", see {self._numbers[row['survivor_id']]}"


def _claim(row: Record, tone: str) -> str:
    """Say the status of a row in a word or two: `present?`, `absent, past`."""
    claim = status_of(row).removeprefix("certainly ")
    if claim.startswith("tentatively "):
        claim = claim.removeprefix("tentatively ") + "?"
    if tone == "past":
        claim += ", past"
    return claim


def tone_of(row: Record) -> str:
    """Choose the colour of a row or a label.

    A denial of a kind alone ("no large effusion") leaves nothing open.
    """
    if row.get("currency") == "past dx":
        return "past"
    if row.get("p_source") == QUALIFIER:
        return "part"
    return _TONES[row["status"]]


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
    if row["prob"] > _NEARLY_ONE:
        return ends
    return f"≥ {p} ({ends})"


def _interval(row: Record) -> str:
    """Name the two ends that `_believed` writes."""
    if row["p_low"] == row["p_high"]:
        return ""
    if row["prob_is_bound"]:
        return "bounds"
    return "95% interval"


def _label(row: Record) -> ShownLabel:
    """Say what the report says of a label."""
    name = row["label"]
    claim, tone = _claim_of_label(row)
    p = _p_of_label(row)
    if row["chexpert"] != NO_FINDING:
        return ShownLabel(name, claim, p, tone)
    # A person says it the other way round: "nothing is found", or "something is".
    tone_of_findings = {"present": "absent", "absent": "present"}.get(tone, "open")
    # Denied in part or at a location, something is found all the same.
    words = NO_FINDING_WORDS.get(claim, NO_FINDING_WORDS["denied with doubt"])
    return ShownLabel(words, f"{name} {p}".rstrip(), "", tone_of_findings)


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
    """Write p; empty of what the report contradicts."""
    if pd.isna(row["p"]):
        return ""
    if not row["p_is_bound"] or row["p_low"] == row["p_high"]:
        return f"{row['p']:.2f}"
    if row["source"] == "denied":
        return f"at most {row['p_high']:.2f}"
    return f"{row['p_low']:.2f} to {row['p_high']:.2f}"
