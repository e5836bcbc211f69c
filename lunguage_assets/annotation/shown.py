"""What is shown of a report: text in pieces, findings, contradictions, labels.

It is the same on the terminal and on the page, which `page.py` writes, of a text that
was just read and of a study that a run has stored (`stored_study.py`). Codes are worded
in `release/code_words.py`, numbers in `resources/read/wording.html.j2`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.annotation.method import Frames
from lunguage_assets.corpus.log import reasons
from lunguage_assets.explicit.probability import reader_range
from lunguage_assets.implicit.statements.contradictions import QUALIFIER
from lunguage_assets.packaged_data import page_template
from lunguage_assets.release import code_words
from lunguage_assets.release.deciding_cues import describe_cues
from lunguage_assets.release.row_words import finding_and_location, status_of
from lunguage_assets.structuring.text.languages import NOT_ENGLISH
from lunguage_assets.tables import ATTRIBUTES

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
_FACTS = (
    "cues",
    "deduplicated_findings",
    "fitted_probabilities",
    "pathway_matches",
    "intake_notes",
)
"""Frames that say more of single rows."""


class ShownRow(NamedTuple):
    """One finding: stated, implied, or left out.

    Args:
        record: its row of `findings` or `left_out`.
        number: among the findings, from 1; of a merged row the survivor's; 0: none of
            the findings stands for it.
        tone: how it is coloured: present, open (tentative either way), absent, part
            (only a kind of it is denied), past, out (removed).
        depth: how many rows of the page it follows from.
        facts: rows of other frames about it, by the frame: cues; of a stored study
            also its fit, its pathway, its sentence and notes.
        is_stored: a run has stored it, and its reasons are told with its ids.
    """

    record: Record
    number: int
    tone: str
    depth: int
    facts: Mapping[str, Sequence[Record]]
    is_stored: bool

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
    def why(self) -> str:
        """Where it stands, and the reasons, as `resources/read/why.txt.j2` has them."""
        text = page_template("read", "why.txt.j2").render(
            row=self,
            words=code_words,
            attributes=ATTRIBUTES,
            reader_range=reader_range,
            describe_cues=describe_cues,
        )
        return "; ".join(filter(None, text.splitlines()))


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
        record: its row of `labels`.
        claim: what the report says of it, in a word or a few.
        tone: how it is coloured, as a row is.
    """

    record: Record
    claim: str
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
        contradictions: the finding, and the rows that disagree about it.
        labels: without unmentioned ones.
    """

    study_id: str
    views: str
    is_read: bool
    remarks: Sequence[str]
    pieces: Sequence[Piece]
    rows: Sequence[ShownRow]
    left_out: Sequence[ShownRow]
    contradictions: Sequence[tuple[str, Sequence[ShownRow]]]
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
    # A run has stored no spans.
    is_stored = "spans" not in document
    rows, left_out = _shown_rows(document, is_stored)
    row_by_id = {row.finding_id: row for row in (*rows, *left_out)}
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
        left_out=[
            row for row in left_out if row.record["source"] == "original" or is_stored
        ],
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
        kind = _kind(covering[0]) if covering else "silent"
        # Of a row that was read there twice, it stands there once.
        ids = dict.fromkeys(
            row["finding_id"] for row in covering if "finding_id" in row
        )
        rows = [row_by_id[finding_id] for finding_id in ids]
        number = number_by_begin.get(begin, 0)
        result.append(Piece(text[begin:end], kind, rows, number))
    return result


def _kind(stretch: Record) -> str:
    """Tell what kind of piece a span or a sentence makes."""
    if "account" in stretch:
        return "plain" if stretch["account"] == "findings" else "silent"
    return _KIND_BY_COLUMN.get(stretch.get("column"), "detail")


def _shown_rows(
    document: Record, is_stored: bool
) -> tuple[list[ShownRow], list[ShownRow]]:
    """Show the findings, in the order in which they are numbered, and the other rows.

    Stated findings come in their order, each before what it implies.
    """
    facts_by_id: defaultdict[str, Any] = defaultdict(lambda: defaultdict(list))
    for name in _FACTS:
        for fact in document.get(name, ()):
            facts_by_id[fact["finding_id"]][name].append(fact)

    def shown(record: Record, number: int, depth: int) -> ShownRow:
        """Show a row under its `number`, `depth` steps below a stated one."""
        facts = facts_by_id[record["finding_id"]]
        return ShownRow(record, number, tone_of(record), depth, facts, is_stored)

    findings = enumerate(_below("", 0, document["findings"]), start=1)
    rows = [shown(record, number, depth) for number, (record, depth) in findings]
    finding_by_id = {row.finding_id: row for row in rows}
    left_out = []
    for record in document["left_out"]:
        row = shown(record, 0, 0)
        # What is merged into a denial of a kind denies no more than that.
        survivor = finding_by_id.get(record["survivor_id"], row)
        tones = {"merged": survivor.tone, "excluded": "past"}
        tone = tones.get(record["event"], "out")
        left_out.append(row._replace(number=survivor.number, tone=tone))
    return rows, left_out


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


def _contradiction(
    conflict: Record, row_by_id: Mapping[str, ShownRow]
) -> tuple[str, list[ShownRow]]:
    """Name the finding and place of a conflict, and find the rows that disagree."""
    name_and_location = [conflict["name"], *conflict["location_parts"]]
    rows = filter(None, map(row_by_id.get, conflict["finding_ids"]))
    return ", ".join(name_and_location), [*rows]


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
    claim: str = row["source"]
    # The report says both: "left effusion. No effusion".
    if row["p"] is None:
        return ShownLabel(row, claim, "open")
    tone = tone_of(row)
    claim = _CLAIMS.get((claim, tone), claim)
    # "No left effusion" says nothing of the right side.
    if claim == "denied" and row["denied_at_place"]:
        return ShownLabel(row, "denied at a place", "part")
    return ShownLabel(row, claim, tone)
