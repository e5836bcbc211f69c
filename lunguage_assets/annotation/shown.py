"""What is shown of a report: text in pieces, findings, contradictions, labels.

It is the same on the terminal and on the page, which `page.py` writes, of a text that
was just read and of a study that a run has stored (`stored_study.py`). Codes are worded
in `release/code_words.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.annotation.method import Frames
from lunguage_assets.corpus.log import reasons
from lunguage_assets.explicit.probability import reader_range
from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.release.code_words import (
    CONFLICT_WORDS,
    P_SOURCE_WORDS,
    RULE_WORDS,
    SECTION_WORDS,
)
from lunguage_assets.release.deciding_cues import describe_cues
from lunguage_assets.release.row_words import (
    attribute_words,
    finding_and_location,
    status_of,
)
from lunguage_assets.structuring.text.languages import NOT_ENGLISH

Record = Mapping[Any, Any]

NO_VIEWS = (
    "The views are not known: findings that need them imply nothing (effusion, "
    'cardiomegaly). Say which they are, such as "PA and lateral".'
)
_TONES = {"dp": "present", "dn": "absent", "tp": "open", "tn": "open"}
_CLAIMS = {
    ("stated", "open"): "stated with doubt",
    ("denied", "open"): "denied with doubt",
    # "No large effusion" leaves a small one open.
    ("denied", "part"): "denied in part",
}
"""Of labels, by source and tone, where it is more than the source."""
_KIND_BY_COLUMN = {"ent": "finding", "phrase": "hedge", None: "cue"}
"""Of the columns that were read there; all others are details, and cues have none."""
_KINDS = ("finding", "hedge", "detail", "cue", "plain", "silent")
"""A piece is of the first kind of what stands there."""
_SHOWN_CONFLICTS = ("polarity", "stated_contradiction")
"""Rows that repeat each other, or differ in doubt alone, contradict nothing."""
_NEARLY_ONE = 0.995
"""A p that is written 1.00."""


class ShownRow(NamedTuple):
    """One finding: stated, implied, or left out.

    Args:
        record: its row of `findings` or `left_out`.
        number: among the findings, from 1; of a merged row the survivor's; 0: none of
            the findings stands for it.
        tone: how it is coloured: present, open (tentative either way), absent, part
            (only a kind of it is denied), past, out (removed).
        depth: how many rows of the page it follows from.
        lines: the reasons, in plain words, attributes and deciding words.
    """

    record: Record
    number: int
    tone: str
    depth: int
    lines: list[str]

    @property
    def finding_id(self) -> str:
        """Its id."""
        return str(self.record["finding_id"])

    @property
    def title(self) -> str:
        """Name its finding and location."""
        return finding_and_location(self.record)

    @property
    def claim(self) -> str:
        """Say its status in a word or two: `present?`, `absent, past`.

        Of a part of the body `normal`; where a kind alone is denied `denied only if
        "large"`.
        """
        status = status_of(self.record).removeprefix("certainly ")
        claim = re.sub("^tentatively (.*)", r"\1?", status)
        return f"{claim}, past" if self.tone == "past" else claim

    @property
    def where(self) -> str:
        """Name section and sentence; empty for an implied row."""
        if self.record["source"] != "original":
            return ""
        section = SECTION_WORDS[self.record["section"]]
        return f"{section}, sentence {self.record['sent_idx']}"

    @property
    def fate(self) -> str:
        """Say what became of it: `kept, see 3`, `removed`, `merged, see 3`."""
        event = self.record.get("event", "kept").replace("excluded", "not a finding")
        return f"{event}, see {self.number}" if self.number else event

    @property
    def why(self) -> str:
        """Where it stands, and the reasons."""
        return "; ".join(filter(None, [self.where, *self.lines]))

    @property
    def interval(self) -> str:
        """Name the two ends that are written with p, or in its place."""
        row = self.record
        if row["p_low"] == row["p_high"]:
            return ""
        return "bounds" if row["prob_is_bound"] else "95% interval"

    @property
    def believed(self) -> str:
        """Write p with its interval: `0.56 (0.49 to 0.62)`.

        A bound is `≥ 0.56 (0.49 to 1.00)`, `≤ 0.44` of what is denied, and `0.80 to
        1.00` of what is implied by what is certain: nothing is more than that.
        """
        row = self.record
        # A row that was left out has no p of its own.
        if "prob" not in row:
            return ""
        if row["p_low"] == row["p_high"]:
            words = "{prob:.0f}"
        elif not row["prob_is_bound"]:
            words = "{prob:.2f} ({p_low:.2f} to {p_high:.2f})"
        elif row["p_low"] == 0.0:
            words = "≤ {p_high:.2f}"
        elif row["prob"] > _NEARLY_ONE:
            words = "{p_low:.2f} to {p_high:.2f}"
        else:
            words = "≥ {prob:.2f} ({p_low:.2f} to {p_high:.2f})"
        return words.format_map(row)


class Piece(NamedTuple):
    """Some of the text.

    Args:
        text: the characters.
        kind: finding, hedge (its phrase), detail (location or attribute), cue (what
            decided a row), plain (of a sentence with findings), silent (of headings,
            and of what states no finding).
        rows: that were read there, findings before hedges, details and cues.
        sentence: number in its section of the sentence that begins here, which rows
            cite; 0: none begins.
    """

    text: str
    kind: str
    rows: Sequence[ShownRow]
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


class ShownReport(NamedTuple):
    """Everything about one report.

    Args:
        study_id: the caller's.
        views: in the written form.
        is_read: findings were looked for: no row broke a rule, and the report is in
            English.
        remarks: notes on the reading, in words.
        pieces: the text; the pieces joined are the text.
        rows: stated findings, each before what it implies.
        left_out: rows that are not among the findings.
        contradictions: between rows: the finding, and the sides with what became of
            them.
        labels: without unmentioned ones.
    """

    study_id: str
    views: str
    is_read: bool
    remarks: Sequence[str]
    pieces: Sequence[Piece]
    rows: Sequence[ShownRow]
    left_out: Sequence[ShownRow]
    contradictions: Sequence[tuple[str, str]]
    labels: Sequence[ShownLabel]


def shown_reports(frames: Frames) -> list[ShownReport]:
    """Make the shown reports of some frames, in their order.

    Args:
        frames: those of an `Annotation` by name, or such frames of stored tables.
    """
    return [*map(_shown_report, documents(frames))]


def documents(frames: Frames) -> list[dict[str, Any]]:
    """Make a document of each report, in their order.

    It has the columns of `reports`, and under the name of every other frame a list of
    the report's rows, which do not repeat its id. A missing value is None. Labels that
    the report does not mention are left out.
    """
    reports = _records(frames["reports"])
    report_by_study = {report["study_id"]: report for report in reports}
    for name, frame in frames.items():
        if name == "reports":
            continue
        for report in reports:
            report[name] = []
        for row in _records(frame):
            if name != "labels" or row["source"] != "unmentioned":
                report_by_study[row.pop("study_id")][name].append(row)
    return reports


def _records(frame: pd.DataFrame) -> list[Any]:
    return [*frame.astype(object).where(frame.notna(), None).to_dict("records")]


def _shown_report(document: Record) -> ShownReport:
    rows, left_out = _shown_rows(document)
    row_by_id = {row.finding_id: row for row in (*rows, *left_out)}
    # A run has stored no sentences and spans.
    is_of_run = "spans" not in document
    spans = [*document.get("spans", ()), *document["cues"]]
    sentences = document.get("sentences", ())
    return ShownReport(
        document["study_id"],
        document["view_information"],
        is_read=NOT_ENGLISH not in document["notes"] and not document["set_aside"],
        remarks=[*_remarks(document)],
        pieces=pieces(document["report"], spans, sentences, row_by_id),
        rows=rows,
        # What was implied and left out was never said; only a run tells of it.
        left_out=[row for row in left_out if row.where or is_of_run],
        contradictions=[
            _contradiction(conflict, row_by_id)
            for conflict in document["conflicts"]
            if conflict["conflict_type"] in _SHOWN_CONFLICTS
        ],
        labels=[*map(_label, document["labels"])],
    )


def _remarks(document: Record) -> Iterator[str]:
    for note in document["notes"]:
        yield str(reasons()["notes"][note])
    # Unknown views matter only where a finding needed them.
    unmatched = {row["match_reason"] for row in document["findings"]}
    if "unknown view" in unmatched and not document["view_information"]:
        yield NO_VIEWS
    for invalid in document["set_aside"]:
        yield f"Set aside, nothing is concluded from it: {invalid['rule']}."


def pieces(
    text: str,
    spans: Sequence[Record],
    sentences: Sequence[Record],
    row_by_id: Mapping[str, ShownRow],
) -> list[Piece]:
    """Cut a text where spans or sentences begin or end.

    Args:
        text: the report.
        spans: what was read, with `begin`, `end`, `finding_id` and `column`, which cues
            do not have.
        sentences: with `begin`, `end`, `section`, `sent_idx` and `account`.
        row_by_id: the rows that the spans name.

    Returns:
        The whole text, in order: the pieces joined are the text.
    """
    stretches = sorted(
        (*spans, *sentences), key=lambda stretch: _KINDS.index(_kind(stretch))
    )
    # Rows cite sentences of the sections that are read, by their numbers in them.
    number_by_begin = {
        sentence["begin"]: sentence["sent_idx"]
        for sentence in sentences
        if sentence["section"] != "other"
    }
    edges = {0, len(text)}
    for stretch in stretches:
        edges |= {stretch["begin"], stretch["end"]}
    result = []
    for begin, end in pairwise(sorted(edges)):
        covering = [row for row in stretches if row["begin"] <= begin < row["end"]]
        kinds = [*map(_kind, covering), "silent"]
        ids = dict.fromkeys(row.get("finding_id") for row in covering)
        rows = [row_by_id[finding_id] for finding_id in ids if finding_id]
        number = number_by_begin.get(begin, 0)
        result.append(Piece(text[begin:end], kinds[0], rows, number))
    return result


def _kind(stretch: Record) -> str:
    """Tell what kind of piece a span or a sentence makes."""
    if "account" in stretch:
        return "plain" if stretch["account"] == "findings" else "silent"
    return _KIND_BY_COLUMN.get(stretch.get("column"), "detail")


def _shown_rows(document: Record) -> tuple[list[ShownRow], list[ShownRow]]:
    """Word the findings, in the order in which they are numbered, and the other rows.

    Stated findings come in their order, each before what it implies.
    """
    rows = [
        ShownRow(row, number, tone_of(row), depth, [*_reasons(row)])
        for number, (row, depth) in enumerate(_below("", 0, document["findings"]), 1)
    ]
    finding_by_id = {row.finding_id: row for row in rows}
    left_out = [
        _left_out_row(record, finding_by_id.get(record["survivor_id"]))
        for record in document["left_out"]
    ]
    lines_by_id = {row.finding_id: row.lines for row in (*rows, *left_out)}
    for finding_id, cues in groupby(document["cues"], itemgetter("finding_id")):
        lines_by_id[finding_id] += describe_cues(cues)
    return rows, left_out


def _left_out_row(record: Record, survivor: ShownRow | None) -> ShownRow:
    """Word a row that is not among the findings."""
    # What is merged into a denial of a kind denies no more than that.
    stands = survivor.record if survivor else record
    tones = {"merged": tone_of(stands), "excluded": "past"}
    tone = tones.get(record["event"], "out")
    number = survivor.number if survivor else 0
    row = ShownRow(record, number, tone, 0, [])
    because = RULE_WORDS[record["rule"]]
    if record["conflict_type"] != "none":
        because = f"{CONFLICT_WORDS[record['conflict_type']]}; {because}"
    row.lines.append(f"{row.fate}: {because}")
    return row


def _below(
    parent: str, depth: int, findings: Sequence[Record]
) -> Iterator[tuple[Record, int]]:
    """Yield what a finding implies, or with no parent what is stated, with depths."""
    for row in findings:
        # A stated row has no parent.
        if (row["parent_id"] or "") == parent:
            yield row, depth
            # A sign may be a diagnosis itself, with signs of its own.
            yield from _below(row["finding_id"], depth + 1, findings)


def _reasons(row: Record) -> Iterator[str]:
    """Say why a finding has its p, and what else the report says of it."""
    phrases = "no known phrase"
    if row["phrases"]:
        phrases = f"“{'; '.join(row['phrases'])}”"
    source = P_SOURCE_WORDS[row["p_source"]]
    yield source.format(phrases=phrases, pathway=row["parent_pathway_id"])
    if row["p_source"] in ("fitted", "phrase"):
        # The interval of p is how well we know it; another reader may mean another p by
        # the same words (explicit.md section 6).
        low, high = reader_range(row["prob"], row["p_low"], row["p_high"])
        yield f"another reader: {float(low):.2f} to {float(high):.2f}"
    if len(row["merged_ids"]):
        yield f"said {len(row['merged_ids']) + 1} times"
    yield from attribute_words(row)


def _contradiction(
    conflict: Record, row_by_id: Mapping[str, ShownRow]
) -> tuple[str, str]:
    """Name the finding of a conflict; describe its sides, and what became of them."""
    rows = [
        row_by_id[row_id] for row_id in conflict["finding_ids"] if row_id in row_by_id
    ]
    sides = [f"{row.claim}, {row.where or 'implied'} ({row.fate})" for row in rows]
    name_and_location = [conflict["name"], *conflict["location_parts"]]
    return ", ".join(name_and_location), " against ".join(sides)


def tone_of(row: Record) -> str:
    """Choose the colour of a row or a label.

    A denial of a kind alone ("no large effusion") leaves nothing open.
    """
    if row.get("currency") == "past dx":
        return "past"
    if row.get("p_source") == QUALIFIER:
        return "part"
    return _TONES[row["status"]]


def _label(row: Record) -> ShownLabel:
    """Say what the report says of a label."""
    claim = row["source"]
    # The report says both: "left effusion. No effusion".
    if row["p"] is None:
        return ShownLabel(row["label"], claim, "", "open")
    tone = tone_of(row)
    claim = _CLAIMS.get((claim, tone), claim)
    # "No left effusion" says nothing of the right side.
    if claim == "denied" and row["denied_at_place"]:
        claim = "denied at a place"
        tone = "part"
    p = f"{row['p']:.2f}"
    if row["p_is_bound"] and row["p_low"] < row["p_high"]:
        p = f"{row['p_low']:.2f} to {row['p_high']:.2f}"
    return ShownLabel(row["label"], claim, p, tone)
