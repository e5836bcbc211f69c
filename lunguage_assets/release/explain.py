"""Explains every row of a study: why it is here, or why it is not.

Everything is told from the stored tables (`study_record.py`), nothing is computed
again. Codes are told in the words of `code_words.py`, rows in those of `row_words.py`;
how an explanation is printed is in `print_explanation.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.rows import BARE, natural
from lunguage_assets.release.code_words import (
    CONFLICT_WORDS,
    FIT_END_WORDS,
    NO_PATHWAY_WORDS,
    P_SOURCE_WORDS,
    RULE_WORDS,
    SECTION_WORDS,
)
from lunguage_assets.release.deciding_cues import deciding_cues, describe_cues
from lunguage_assets.release.row_words import (
    Record,
    attribute_words,
    finding_and_location,
    printable,
    status_of,
)
from lunguage_assets.release.study_record import StudyRecord

IN_RESULT = "in the result"
"""The fate of a row that nothing took away."""

_REMOVING_EVENTS = frozenset({"merged", "removed", "excluded", "discarded"})
"""Events of RESOLUTION_LOG after which a row is not in the result."""
_NOT_GENERATED = {
    "already stated": "already stated by",
    "spoken against": "not generated against",
}
"""Event of a row that a pathway implies and that was never added -> how it is told."""

Passages = Mapping[str, Sequence[str]]
"""Lines by heading; a heading without lines is not printed."""


@dataclass(frozen=True)
class RowExplanation:
    """Why one row is as it is.

    Attributes:
        finding_id: of the row; of a rejected row file and line.
        idx: its number in the result; None when it is not there.
        title: what it says.
        fate: what became of it, in a word or two.
        passages: the reasons.
    """

    finding_id: str
    idx: int | None
    title: str
    fate: str
    passages: Passages


@dataclass(frozen=True)
class StudyExplanation:
    """Why the rows of a study are as they are.

    Attributes:
        study_id: of the study.
        remarks: what holds for all of it.
        rows: those of the result first, by number.
    """

    study_id: str
    remarks: Passages
    rows: Sequence[RowExplanation]


def explain_study(record: StudyRecord, finding: str | None = None) -> StudyExplanation:
    """Explain a study, or one row of it.

    Args:
        record: what is stored of the study.
        finding: number in the result (`idx`) or finding id of the row; None: all rows.

    Raises:
        ConfigurationError: there is no such row; says which there are.
    """
    rows = ExplanationBuilder(record).rows()
    if finding is None:
        return StudyExplanation(record.study_id, _remarks(record), rows)
    # "7" is the row with this number in the result, "s50000001:0012" any row by its id.
    chosen = [row for row in rows if finding in (row.finding_id, str(row.idx))]
    if not chosen:
        raise ConfigurationError(
            f"study {record.study_id} has no finding {finding!r}: expected one of its "
            f"{_what_there_is(rows)}; leave --finding out to see all."
        )
    return StudyExplanation(record.study_id, _remarks(record), chosen)


def _what_there_is(rows: Sequence[RowExplanation]) -> str:
    numbers = [row.idx for row in rows if row.idx is not None]
    numbered = "no row in the result"
    if numbers:
        numbered = f"rows numbered {numbers[0]} to {numbers[-1]}"
    if not rows:
        return numbered
    return f"{numbered}, or a finding id such as {rows[0].finding_id}"


def _remarks(record: StudyRecord) -> Passages:
    """Say what holds for all of a study: patient, views, batches, broken rules."""
    reports = record.tables["reports"]
    return {
        "patient": [report["subject_id"] for report in reports],
        "views": [
            f"{report['view_information'] or 'unknown'} (from {report['view_source']})"
            for report in reports
        ],
        "came from": _deliveries(record),
        "set aside": [
            f"{row['rule']} (step {row['step']}, table {row['table']}: {row['found']})"
            for row in record.tables["set_aside"]
        ],
    }


def _deliveries(record: StudyRecord) -> list[str]:
    lines = [f"batch {record.batch}, ranker {record.ranker}"]
    if record.older:
        older = ", ".join(record.older)
        lines.append(f"amended: also delivered in {older}; the newest version counts")
    if record.unprocessed:
        unprocessed = ", ".join(record.unprocessed)
        lines.append(
            f"batches without a result for this ranker: {unprocessed}; they may hold a "
            "newer version"
        )
    return lines


class ExplanationBuilder:
    """Builds the explanation of every row of one study; rows are found by their id."""

    def __init__(self, record: StudyRecord) -> None:
        tables = record.tables
        self._stated = _by_finding_id(tables["deduplicated_findings"])
        self._generated = _by_finding_id(tables["expansions"])
        self._result = _by_finding_id(tables["lunguage_plus_plus"])
        # Resolution changes rows, so the result's form of a row comes last.
        self._rows = self._generated | self._stated | self._result
        self._fits = _by_finding_id(tables["fitted_probabilities"])
        self._matches = _by_finding_id(tables["pathway_matches"])
        self._conflicts = tables["conflicts"]
        self._intake_notes = tables["intake_notes"]
        self._rejected = tables["rejected"]
        self._log = tables["resolution_log"]
        self._report = next((row["report"] for row in tables["reports"]), "")
        # How a row ended outranks why it is not new.
        self._last_event = self._events(_NOT_GENERATED) | self._events(_REMOVING_EVENTS)

    def _events(self, names: Iterable[str]) -> dict[str, Record]:
        return _by_finding_id(event for event in self._log if event["event"] in names)

    def rows(self) -> list[RowExplanation]:
        """Explain rows of the result by number, others by id, then rejected ones."""
        kept = sorted(self._result, key=lambda finding: self._result[finding]["idx"])
        removed = sorted({*self._stated, *self._generated} - set(kept), key=natural)
        return [
            *map(self._explain, (*kept, *removed)),
            *map(_explain_rejected, self._rejected),
        ]

    def _explain(self, finding: str) -> RowExplanation:
        row = self._rows[finding]
        passages = {
            "said": self._what_is_said(finding),
            "decided": self._deciding_cues(row),
            "hedges": self._hedges(finding),
            "probability": _probability(row),
            "merged into it": self._merged_into(finding),
            "pathway": self._pathway(finding),
            "implies": self._implied_by(finding),
            "conflicts": self._conflicts_of(finding),
            "what became of it": [self._outcome(finding)],
            "refers to": self._references(finding),
            "noted on reading": self._notes(finding),
        }
        status = f"{status_of(row)} ({row['status']})"
        return RowExplanation(
            finding_id=finding,
            idx=row["idx"] if finding in self._result else None,
            title=f"{_title(row)}: {status}, {row['currency']}",
            fate=self._fate(finding),
            passages={heading: [*lines] for heading, lines in passages.items()},
        )

    def _fate(self, finding: str) -> str:
        if finding in self._result:
            return IN_RESULT
        return str(self._last_event[finding]["event"])

    def _mention(self, finding: str) -> str:
        """Mention another row: by number where it has one, else by id and fate."""
        row = self._rows.get(finding)
        if row is None:
            return finding
        if finding in self._result:
            return f"idx {row['idx']} ({_title(row)}, {row['status']})"
        fate = self._fate(finding)
        return f"{finding} ({_title(row)}, {row['status']}; {fate})"

    def _what_is_said(self, finding: str) -> Iterator[str]:
        row = self._rows[finding]
        if finding in self._generated:
            yield from self._generation(finding)
        else:
            sentence = f"{SECTION_WORDS[row['section']]}, sentence {row['sent_idx']}"
            yield f'{sentence}: "{printable(row["sent"])}"'
        # "PTX" in the report is "pneumothorax" in the vocabulary.
        if row["name"] != row["ent"].lower():
            yield f"canonical name: {row['name']}"
        attributes = attribute_words(row)
        if attributes:
            yield attributes

    def _generation(self, finding: str) -> Iterator[str]:
        """Say which stated diagnosis implies a row, and by which pathway."""
        generated = self._generated[finding]
        parent = generated["parent_id"]
        root = generated["root_id"]
        pathway = f"pathway {generated['parent_pathway_id']}"
        if root != parent:
            pathway = f"{pathway}, below {self._mention(root)}"
        yield f"not in the report: {self._mention(parent)} implies it by {pathway}"
        # Resolution hangs a row below what its parent was merged into.
        parent_now = self._rows[finding]["parent_id"]
        if parent_now != parent:
            holder = self._mention(parent_now)
            yield f"its parent is gone or merged: {holder} holds it now"

    def _deciding_cues(self, row: Record) -> list[str]:
        """Say which cues decided a row.

        Rows that were delivered, or that a language model read, have none.
        """
        cues = deciding_cues(row["cues"], self._report, status_of(row))
        return [printable(line) for line in describe_cues(cues)]

    def _hedges(self, finding: str) -> Iterator[str]:
        """Say how a tentative finding is hedged, and where comparisons put it."""
        fit = self._fits.get(finding)
        if fit is None:
            return
        yield ", ".join(fit["phrases"]) or "no hedging phrase was extracted"
        end = FIT_END_WORDS.get(fit["stop"], fit["stop"])
        if fit["mu"] is None:
            yield f"not placed in the ranking: {end}"
            return
        yield (
            f"place in the ranking: mu {fit['mu']:.2f}, sigma {fit['sigma']:.2f}, "
            f"below {fit['rank']} phrases; {fit['steps']} steps, {fit['answers']} "
            f"valid answers; ended because {end}"
        )

    def _merged_into(self, finding: str) -> Iterator[str]:
        """Name the rows that this one stands for."""
        for duplicate, row in self._stated.items():
            if row["merged_into"] != finding:
                continue
            reason = RULE_WORDS["same statement"]
            if row["merge_similarity"] is not None:
                reason = f"cosine {row['merge_similarity']:.3f} ({row['encoder']})"
            yield f"{self._mention(duplicate)}: {reason}"
        for event in self._log:
            is_merge = event["event"] == "merged" and event["stage"] == "resolve"
            if is_merge and event["survivor_id"] == finding:
                conflict = CONFLICT_WORDS[event["conflict_type"]]
                rule = RULE_WORDS[event["rule"]]
                yield f"{self._mention(event['finding_id'])}: {conflict}; {rule}"

    def _pathway(self, finding: str) -> Iterator[str]:
        """Say which pathway a row matches, or why it expands into nothing."""
        match = self._matches.get(finding)
        if match is None:
            return
        diagnosis = match["diagnosis"]
        if match["refinements"]:
            diagnosis = f"{diagnosis} ({', '.join(match['refinements'])})"
        if match["reason"] == "matched":
            yield f"{diagnosis} matches {match['pathway_id']}"
            yield match["pathway"]
            return
        reason = NO_PATHWAY_WORDS[match["reason"]]
        # Without a diagnosis the line says only why the row expands into nothing.
        subject = f"{diagnosis} " if match["diagnosis"] else ""
        yield f"{subject}expands into nothing: {reason}"

    def _implied_by(self, finding: str) -> Iterator[str]:
        """Name the sub-findings that this row implies, in the pathway's order.

        What the report states itself is not generated: "CHF with cardiomegaly".
        """
        children = [
            row for row in self._generated.values() if row["parent_id"] == finding
        ]
        for child in sorted(children, key=lambda row: row["edge"]):
            if child["outcome"] in _NOT_GENERATED:
                child_words = f"{_title(child)} ({child['status']})"
                because = _NOT_GENERATED[child["outcome"]]
                yield f"{child_words}: {because} {self._mention(child['linked_to'])}"
            else:
                yield self._mention(child["finding_id"])

    def _conflicts_of(self, finding: str) -> Iterator[str]:
        for conflict in self._conflicts:
            if finding not in conflict["finding_ids"]:
                continue
            opponents = ", ".join(
                self._mention(opponent)
                for opponent in conflict["finding_ids"]
                if opponent != finding
            )
            disagreement = CONFLICT_WORDS[conflict["conflict_type"]]
            line = f"{disagreement} ({conflict['source']}): with {opponents}"
            if conflict["suppressed"]:
                line = f"{line}; the generated row was never added"
            yield line

    def _outcome(self, finding: str) -> str:
        """Say by which rule a row is gone, and what stands for it."""
        event = self._last_event.get(finding)
        if event is None:
            return f"idx {self._result[finding]['idx']} of the result"
        outcome = f"{event['event']}: {RULE_WORDS[event['rule']]}."
        # A history row is excluded, and nothing stands in its place.
        if event["event"] == "excluded":
            return outcome
        if event["survivor_id"] is None:
            return f"{outcome} No row stands for it."
        survivor = self._mention(event["survivor_id"])
        if event["event"] == "spoken against":
            return f"{outcome} {survivor} says so."
        return f"{outcome} {survivor} stands for it."

    def _references(self, finding: str) -> Iterator[str]:
        """Name what a row refers to, and the references that it has lost."""
        if finding in self._result:
            row = self._result[finding]
            for column in ("evidence", "associate"):
                targets = ", ".join(map(self._target, row[column]))
                if targets:
                    yield f"{column}: {printable(targets)}"
        for event in self._log:
            is_lost = event["event"] == "reference lost"
            if is_lost and event["finding_id"] == finding:
                target = self._mention(event["reference"])
                yield f"lost: {target}; {RULE_WORDS[event['rule']]}"

    def _target(self, reference: str) -> str:
        """Name what a reference is to: a row, or a bare word that is no row."""
        if reference.startswith(BARE):
            return reference.removeprefix(BARE)
        return self._mention(reference)

    def _notes(self, finding: str) -> Iterator[str]:
        for note in self._intake_notes:
            if note["finding_id"] == finding:
                yield f"{note['reason']}: {note['done']}"


def _by_finding_id(rows: Iterable[Record]) -> dict[str, Record]:
    return {row["finding_id"]: row for row in rows}


def _title(row: Record) -> str:
    return printable(finding_and_location(row))


def _probability(row: Record) -> list[str]:
    interval = f"[{row['p_low']:.3f}, {row['p_high']:.3f}]"
    source = P_SOURCE_WORDS[row["p_source"]]
    return [
        f"P(present) {row['prob']:.3f} {interval}: {source}",
        f"support {row['support']:.3f} (how strongly the row is claimed)",
    ]


def _explain_rejected(row: Record) -> RowExplanation:
    """Explain a delivered row that could not be used; its line stands for an id."""
    expected = f"expected {row['expected']}"
    if row["column"]:
        value = printable(row["found"])
        expected = f"column {row['column']!r}: found {value!r}, {expected}"
    return RowExplanation(
        finding_id=f"{row['file']}, row {row['line']}",
        idx=None,
        title=f"delivered row {row['line']}",
        fate="rejected",
        passages={row["reason"]: [expected, row["remedy"]]},
    )
