"""Why is this row here, and why is that one not: the story of every row of a study, told from the stored
tables.

Nothing is computed again, so what is told is what happened. Rows that are not in the result have their story
too: merged, removed, excluded, discarded, already stated, rejected on reading. How it looks is in
`explain_text.py` and `explain_html.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.rows import BARE, natural
from lunguage_assets.release.explain.explain_wording import (
    CONFLICTS,
    FIT_ENDS,
    NO_PATHWAY,
    P_SOURCES,
    RULES,
    SECTIONS,
    STATUSES,
    attributes,
    interval,
    shown,
    stated_as,
)
from lunguage_assets.release.explain.marked_study import MarkedRow, marked_study, tone_of_row
from lunguage_assets.release.explain.marks import MarkedPiece
from lunguage_assets.release.explain.study_record import Record, StudyRecord

IN_RESULT = "in the result"
_GONE = ("merged", "removed", "excluded", "discarded")
_IN_SHORT = ("hedges", "probability", "what became of it")
_NOT_GENERATED = {"already stated": "already stated by", "spoken against": "not generated against"}


@dataclass(frozen=True)
class Passage:
    """One point of a row's story."""

    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class RowStory:
    """One row: its number in the result (None when it is not there), its fate in a word or two, and its
    story.

    `tone` says how it is coloured (`marks.py`), `p` the probability and its interval: lower end, p, upper
    end. A row that was rejected on reading has neither.
    """

    finding_id: str
    idx: int | None
    title: str
    fate: str
    passages: tuple[Passage, ...]
    tone: str = ""
    p: tuple[float, float, float] | None = None

    @property
    def in_short(self) -> str:
        """What a person sees who points at the row's words."""
        told = (line for passage in self.passages if passage.heading in _IN_SHORT for line in passage.lines)
        return "\n".join(told)


@dataclass(frozen=True)
class StudyStory:
    """A study: what holds for all of it, its sentences with the words of its rows marked, then its rows,
    those of the result first, by number.
    """

    study_id: str
    remarks: tuple[Passage, ...]
    rows: tuple[RowStory, ...]
    text: tuple[MarkedPiece, ...] = ()


def explain_study(record: StudyRecord, finding: str | None = None) -> StudyStory:
    """The story of a study, or of one row of it.

    Args:
        record: what is stored about the study.
        finding: number of a row in the result (`idx`), or a finding id, which rows outside the result have
            too.

    Raises:
        ConfigurationError: the study has no such row; the message says which there are.
    """
    rows = _Teller(record).stories()
    read = {row.finding_id: MarkedRow(row.idx, row.tone, row.title, row.in_short) for row in rows}
    if finding is not None:
        chosen = [row for row in rows if finding in (row.finding_id, str(row.idx))]
        if not chosen:
            numbers = [row.idx for row in rows if row.idx is not None]
            there_are = (
                f"its rows are numbered {numbers[0]} to {numbers[-1]}"
                if numbers
                else "it has no row in the result"
            )
            raise ConfigurationError(
                f"study {record.study_id} has no finding {finding!r}: {there_are}. Rows outside "
                "the result are named by finding id, such as "
                f"{record.study_id}:12; leave --finding out to see all."
            )
        rows = chosen
    return StudyStory(record.study_id, _remarks(record), tuple(rows), marked_study(record, read))


def _remarks(record: StudyRecord) -> tuple[Passage, ...]:
    """What holds for the whole study: views, where it came from, versions, accounts."""
    reports, accounts = record.tables["reports"], record.tables["accounting"]
    views = next((report["view_information"] for report in reports), "")
    source = next((report["view_source"] for report in reports), "unknown")
    came = [f"batch {record.batch}, ranker {record.ranker}"]
    if record.older:
        came.append(
            f"amended: also delivered in {', '.join(record.older)}; the newest version counts and "
            "is the one explained here"
        )
    if record.unprocessed:
        came.append(
            f"batches without a result for this ranker: {', '.join(record.unprocessed)}; they may "
            "hold a newer version"
        )
    passages = [
        Passage("patient", tuple(report["subject_id"] for report in reports)),
        Passage("views", (f"{views or 'unknown'} (from {source})",)),
        Passage("came from", tuple(came)),
        Passage("made with", tuple(_versions(record))),
    ]
    passages += [
        Passage(
            "accounts",
            (
                f"{a['rows_in']} rows in = {a['originals_out']} stated out + {a['merged']} merged "
                f"+ {a['removed']} removed + {a['excluded']} excluded"
                f" + {a['rejected']} rejected",
                f"{a['rows_out']} rows out = {a['originals_out']} stated + {a['generated']} "
                f"generated - {a['discarded']} discarded",
            ),
        )
        for a in accounts
    ]
    return tuple(passage for passage in passages if passage.lines)


def _versions(record: StudyRecord) -> list[str]:
    rows = record.tables["lunguage_plus_plus"]
    lines = (
        [f"judges {', '.join(record.ranking['judges'])}; ruler {record.ranking['ruler']}"]
        if record.ranking
        else []
    )
    used = sorted({row["ranking_version"] for row in rows if row["ranking_version"]})
    current = record.ranking.get("ranking_version", "")
    stale = (
        " (not the current one: the study was fitted before the ranking was made anew)"
        if used and used != [current]
        else ""
    )
    lines += [f"ranking {', '.join(used)}{stale}"] if used else []
    lines += [f"encoder {name}" for name in sorted({row["encoder"] for row in rows})]
    lines += [f"mode {name}" for name in sorted({row["mode"] for row in rows})]
    return lines


class _Teller:
    """Tells the story of each row of one study; everything is looked up by finding id."""

    def __init__(self, record: StudyRecord) -> None:
        tables = record.tables
        self._stated = {row["finding_id"]: row for row in tables["deduplicated_findings"]}
        self._children = {row["finding_id"]: row for row in tables["expansions"]}
        self._result = {row["finding_id"]: row for row in tables["lunguage_plus_plus"]}
        self._fits = {row["finding_id"]: row for row in tables["fitted_probabilities"]}
        self._matches = {row["finding_id"]: row for row in tables["pathway_matches"]}
        self._conflicts = tables["conflicts"]
        self._log = tables["resolution_log"]
        self._gone = {event["finding_id"]: event for event in self._log if event["event"] in _GONE}
        self._already = {
            event["finding_id"]: event for event in self._log if event["event"] in _NOT_GENERATED
        }
        self._rejected = tables["rejected"]
        self._notes = tables["intake_notes"]

    def stories(self) -> list[RowStory]:
        """Rows of the result by number, then those that are not in it, in report order, then the rejected
        ones.
        """
        kept = sorted(self._result, key=lambda own: self._result[own]["idx"])
        others = sorted({*self._stated, *self._children} - set(kept), key=natural)
        return [self._story(own) for own in (*kept, *others)] + [_rejection(row) for row in self._rejected]

    def _story(self, own: str) -> RowStory:
        row = self._result.get(own) or self._stated.get(own) or self._children[own]
        passages = (
            Passage("said", tuple(self._said(own, row))),
            Passage("hedges", tuple(self._hedges(own, row))),
            Passage("probability", tuple(self._belief(row))),
            Passage("merged into it", tuple(self._absorbed(own))),
            Passage("pathway", tuple(self._pathway(own))),
            Passage("implies", tuple(self._implied(own))),
            Passage("conflicts", tuple(self._disagreements(own))),
            Passage("what became of it", tuple(self._became(own))),
            Passage("refers to", tuple(self._references(own, row))),
            Passage(
                "noted on reading",
                tuple(
                    f"{note['reason']}: {note['done']}" for note in self._notes if note["finding_id"] == own
                ),
            ),
        )
        title = f"{shown(stated_as(row))}: {STATUSES[row['status']]} ({row['status']}), {row['currency']}"
        idx = self._result[own]["idx"] if own in self._result else None
        fate = self._fate(own)
        told = tuple(passage for passage in passages if passage.lines)
        p = (row["p_low"], row["prob"], row["p_high"])
        return RowStory(own, idx, title, fate, told, tone_of_row(row, fate), p)

    def _fate(self, own: str) -> str:
        if own in self._result:
            return IN_RESULT
        event = self._gone.get(own) or self._already[own]
        return str(event["event"])

    def named(self, own: str) -> str:
        """How another row is spoken of: by number where it has one, else by id and fate."""
        row = self._result.get(own) or self._stated.get(own) or self._children.get(own)
        if row is None:
            return own
        if own in self._result:
            return f"idx {row['idx']} ({shown(stated_as(row))}, {row['status']})"
        return f"{own} ({shown(stated_as(row))}, {row['status']}; {self._fate(own)})"

    def _said(self, own: str, row: Record) -> list[str]:
        if own in self._children:
            child = self._children[own]
            top = "" if child["root_id"] == child["parent_id"] else f", below {self.named(child['root_id'])}"
            lines = [
                f"not in the report: {self.named(child['parent_id'])} implies it by pathway "
                f"{child['parent_pathway_id']}{top}"
            ]
            if row.get("parent_id") != child["parent_id"]:
                lines.append(f"its parent is gone or merged: {self.named(row['parent_id'])} holds it now")
        else:
            lines = [f'{SECTIONS[row["section"]]}, sentence {row["sent_idx"]}: "{shown(row["sent"])}"']
        if row["name"] != row["ent"].lower():
            lines.append(f"canonical name: {row['name']}")
        return [*lines, attributes(row)] if attributes(row) else lines

    def _hedges(self, own: str, row: Record) -> list[str]:
        fit = self._fits.get(own)
        if fit is None:
            return []
        lines = [", ".join(fit["phrases"]) if fit["phrases"] else "no hedging phrase was extracted"]
        if fit["mu"] is not None:
            lines.append(
                f"place in the ranking: mu {fit['mu']:.2f}, sigma {fit['sigma']:.2f}, below "
                f"{fit['rank']} phrases; {fit['steps']} steps, "
                f"{fit['answers']} valid answers; ended because {FIT_ENDS.get(fit['stop'], fit['stop'])}"
            )
        else:
            lines.append(f"not placed in the ranking: {FIT_ENDS.get(fit['stop'], fit['stop'])}")
        return lines

    def _belief(self, row: Record) -> list[str]:
        return [
            f"P(present) {interval(row)}: {P_SOURCES[row['p_source']]}",
            f"support {row['support']:.3f} (how strongly the row is claimed)",
        ]

    def _absorbed(self, own: str) -> list[str]:
        lines = []
        for other, row in self._stated.items():
            if row["merged_into"] == own:
                lines.append(f"{self.named(other)}: cosine {row['merge_similarity']:.3f} ({row['encoder']})")
        for event in self._log:
            if event["event"] == "merged" and event["stage"] == "resolve" and event["survivor_id"] == own:
                lines.append(
                    f"{self.named(event['finding_id'])}: {CONFLICTS[event['conflict_type']]}; "
                    f"{RULES[event['rule']]}"
                )
        return lines

    def _pathway(self, own: str) -> list[str]:
        match = self._matches.get(own)
        if match is None:
            return []
        refined = f" ({', '.join(match['refinements'])})" if match["refinements"] else ""
        if match["reason"] == "matched":
            return [f"{match['diagnosis']}{refined} matches {match['pathway_id']}", match["pathway"]]
        diagnosis = f"{match['diagnosis']}{refined} " if match["diagnosis"] else ""
        return [f"{diagnosis}expands into nothing: {NO_PATHWAY[match['reason']]}"]

    def _implied(self, own: str) -> list[str]:
        lines = []
        for child in sorted(
            (c for c in self._children.values() if c["parent_id"] == own), key=lambda c: c["edge"]
        ):
            number = child["finding_id"]
            if child["outcome"] in _NOT_GENERATED:
                lines.append(
                    f"{shown(stated_as(child))} ({child['status']}): {_NOT_GENERATED[child['outcome']]} "
                    f"{self.named(child['linked_to'])}"
                )
            else:
                lines.append(self.named(number))
        return lines

    def _disagreements(self, own: str) -> list[str]:
        lines = []
        for conflict in self._conflicts:
            if own in conflict["finding_ids"]:
                others = [self.named(other) for other in conflict["finding_ids"] if other != own]
                never = "; the generated row was never added" if conflict["suppressed"] else ""
                lines.append(
                    f"{CONFLICTS[conflict['conflict_type']]} ({conflict['source']}): with "
                    f"{', '.join(others)}{never}"
                )
        return lines

    def _became(self, own: str) -> list[str]:
        event = self._gone.get(own) or self._already.get(own)
        if event is None:
            return [f"idx {self._result[own]['idx']} of the result"]
        against = event["event"] == "spoken against"
        survivor = (
            f" {self.named(event['survivor_id'])} {'says so' if against else 'stands for it'}."
            if event["survivor_id"] is not None
            else " No row stands for it."
        )
        return [
            f"{event['event']}: {RULES[event['rule']]}.{'' if event['event'] == 'excluded' else survivor}"
        ]

    def _references(self, own: str, row: Record) -> list[str]:
        lines = []
        if own in self._result:
            for kind in ("evidence", "associate"):
                targets = [token[1:] if token.startswith(BARE) else self.named(token) for token in row[kind]]
                lines += [f"{kind}: {shown(', '.join(targets))}"] if targets else []
        lost = [
            event for event in self._log if event["event"] == "reference lost" and event["finding_id"] == own
        ]
        return lines + [f"lost: {self.named(event['reference'])}; {RULES[event['rule']]}" for event in lost]


def _rejection(row: Record) -> RowStory:
    """A delivered row that could not be used; it has no finding id, so it is named by its line."""
    lines = (
        f"column {row['column']!r}: found {shown(row['found'])!r}, expected {row['expected']}"
        if row["column"]
        else f"expected {row['expected']}",
        row["remedy"],
    )
    return RowStory(
        f"{row['file']}, row {row['line']}",
        None,
        f"delivered row {row['line']}",
        "rejected",
        (Passage(row["reason"], lines),),
    )


def counted(rows: Sequence[RowStory]) -> str:
    """`5 in the result, 2 merged, 1 rejected`"""
    fates: dict[str, int] = {}
    for row in rows:
        fates[row.fate] = fates.get(row.fate, 0) + 1
    return ", ".join(f"{number} {fate}" for fate, number in fates.items()) or "no rows"
