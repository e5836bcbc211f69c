"""Why is this row here, and why is that one not: the story of every row of a study, told from the stored
tables.

Nothing is computed again, so what is told is what happened. Rows that are not in the result have their story
too: merged, removed, excluded, discarded, already stated, rejected on reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.rows import BARE, natural
from lunguage_assets.release.explain.study_record import Record, StudyRecord
from lunguage_assets.release.explain.wording import (
    CONFLICTS,
    FIT_ENDS,
    NO_PATHWAY,
    P_SOURCES,
    RULES,
    SECTIONS,
    attributes,
    interval,
    shown,
    stated_as,
    status_of,
)

_GONE = ("merged", "removed", "excluded", "discarded")
_NOT_GENERATED = {"already stated": "already stated by", "spoken against": "not generated against"}


IN_RESULT = "in the result"
_INDENT = (0, 0, 1, 2)


@dataclass(frozen=True)
class Passage:
    """One point of a row's story."""

    heading: str
    lines: tuple[str, ...]


def passages(told: Mapping[str, Iterable[str]]) -> tuple[Passage, ...]:
    """Lines by heading; a point without a line is none."""
    listed = (Passage(heading, tuple(lines)) for heading, lines in told.items())
    return tuple(passage for passage in listed if passage.lines)


@dataclass(frozen=True)
class RowStory:
    """One row: its number in the result (None when it is not there), its fate in a word or two, and its
    story.
    """

    finding_id: str
    idx: int | None
    title: str
    fate: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class StudyStory:
    """A study: what holds for all of it, then its rows, those of the result first, by number."""

    study_id: str
    remarks: tuple[Passage, ...]
    rows: tuple[RowStory, ...]


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
    return StudyStory(record.study_id, _remarks(record), tuple(rows))


def _remarks(record: StudyRecord) -> tuple[Passage, ...]:
    """What holds for the whole study: views, where it came from, versions, accounts."""
    reports = record.tables["reports"]
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
    accounts = (
        (
            f"{a['rows_in']} rows in = {a['originals_out']} stated out + {a['merged']} merged "
            f"+ {a['removed']} removed + {a['excluded']} excluded + {a['rejected']} rejected "
            f"+ {a['set_aside']} set aside",
            f"{a['rows_out']} rows out = {a['originals_out']} stated + {a['generated']} generated "
            f"- {a['discarded']} discarded",
        )
        for a in record.tables["accounting"]
    )
    return passages(
        {
            "patient": (report["subject_id"] for report in reports),
            "views": [f"{views or 'unknown'} (from {source})"],
            "came from": came,
            "made with": _versions(record),
            "accounts": next(accounts, ()),
            "set aside": (
                f"{one['rule']} (step {one['step']}, table {one['table']}: {one['found']})"
                for one in record.tables["set_aside"]
            ),
        }
    )


def _versions(record: StudyRecord) -> Iterator[str]:
    rows = record.tables["lunguage_plus_plus"]
    if record.ranking:
        yield f"judges {', '.join(record.ranking['judges'])}; ruler {record.ranking['ruler']}"
    if used := sorted({row["ranking_version"] for row in rows if row["ranking_version"]}):
        is_stale = used != [record.ranking.get("ranking_version", "")]
        stale = " (not the current one: the study was fitted before the ranking was made anew)"
        yield f"ranking {', '.join(used)}{stale if is_stale else ''}"
    for name in ("encoder", "mode"):
        yield from (f"{name} {value}" for value in sorted({row[name] for row in rows}))


class _Teller:
    """Tells the story of each row of one study; everything is looked up by finding id."""

    def __init__(self, record: StudyRecord) -> None:
        tables = record.tables
        self._stated = {row["finding_id"]: row for row in tables["deduplicated_findings"]}
        self._children = {row["finding_id"]: row for row in tables["expansions"]}
        self._result = {row["finding_id"]: row for row in tables["lunguage_plus_plus"]}
        self._rows = self._children | self._stated | self._result
        self._fits = {row["finding_id"]: row for row in tables["fitted_probabilities"]}
        self._matches = {row["finding_id"]: row for row in tables["pathway_matches"]}
        self._conflicts = tables["conflicts"]
        self._log = tables["resolution_log"]
        fates = [event for event in self._log if event["event"] in (*_GONE, *_NOT_GENERATED)]
        fates.sort(
            key=lambda event: event["event"] in _GONE
        )  # what became of a row outranks why it is not new
        self._gone = {event["finding_id"]: event for event in fates}
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
        row = self._rows[own]
        notes = (note for note in self._notes if note["finding_id"] == own)
        told = passages(
            {
                "said": self._said(own, row),
                "hedges": self._hedges(own),
                "probability": (
                    f"P(present) {interval(row)}: {P_SOURCES[row['p_source']]}",
                    f"support {row['support']:.3f} (how strongly the row is claimed)",
                ),
                "merged into it": self._absorbed(own),
                "pathway": self._pathway(own),
                "implies": self._implied(own),
                "conflicts": self._disagreements(own),
                "what became of it": [self._became(own)],
                "refers to": self._references(own, row),
                "noted on reading": (f"{note['reason']}: {note['done']}" for note in notes),
            }
        )
        title = f"{shown(stated_as(row))}: {status_of(row)} ({row['status']}), {row['currency']}"
        idx = self._result[own]["idx"] if own in self._result else None
        return RowStory(own, idx, title, self._fate(own), told)

    def _fate(self, own: str) -> str:
        return IN_RESULT if own in self._result else str(self._gone[own]["event"])

    def named(self, own: str) -> str:
        """How another row is spoken of: by number where it has one, else by id and fate."""
        row = self._rows.get(own)
        if row is None:
            return own
        if own in self._result:
            return f"idx {row['idx']} ({shown(stated_as(row))}, {row['status']})"
        return f"{own} ({shown(stated_as(row))}, {row['status']}; {self._fate(own)})"

    def _said(self, own: str, row: Record) -> Iterator[str]:
        if child := self._children.get(own):
            top = "" if child["root_id"] == child["parent_id"] else f", below {self.named(child['root_id'])}"
            yield (
                f"not in the report: {self.named(child['parent_id'])} implies it by pathway "
                f"{child['parent_pathway_id']}{top}"
            )
            if row.get("parent_id") != child["parent_id"]:
                yield f"its parent is gone or merged: {self.named(row['parent_id'])} holds it now"
        else:
            yield f'{SECTIONS[row["section"]]}, sentence {row["sent_idx"]}: "{shown(row["sent"])}"'
        if row["name"] != row["ent"].lower():
            yield f"canonical name: {row['name']}"
        if told := attributes(row):
            yield told

    def _hedges(self, own: str) -> Iterator[str]:
        if (fit := self._fits.get(own)) is None:
            return
        yield ", ".join(fit["phrases"]) if fit["phrases"] else "no hedging phrase was extracted"
        end = FIT_ENDS.get(fit["stop"], fit["stop"])
        if fit["mu"] is None:
            yield f"not placed in the ranking: {end}"
        else:
            yield (
                f"place in the ranking: mu {fit['mu']:.2f}, sigma {fit['sigma']:.2f}, below {fit['rank']} "
                f"phrases; {fit['steps']} steps, {fit['answers']} valid answers; ended because {end}"
            )

    def _absorbed(self, own: str) -> Iterator[str]:
        for other, row in self._stated.items():
            if row["merged_into"] == own:
                cosine = row["merge_similarity"]
                why = RULES["same statement"] if cosine is None else f"cosine {cosine:.3f} ({row['encoder']})"
                yield f"{self.named(other)}: {why}"
        for event in self._log:
            if event["event"] == "merged" and event["stage"] == "resolve" and event["survivor_id"] == own:
                why = f"{CONFLICTS[event['conflict_type']]}; {RULES[event['rule']]}"
                yield f"{self.named(event['finding_id'])}: {why}"

    def _pathway(self, own: str) -> Iterator[str]:
        if (match := self._matches.get(own)) is None:
            return
        refined = f" ({', '.join(match['refinements'])})" if match["refinements"] else ""
        if match["reason"] == "matched":
            yield f"{match['diagnosis']}{refined} matches {match['pathway_id']}"
            yield match["pathway"]
        else:
            diagnosis = f"{match['diagnosis']}{refined} " if match["diagnosis"] else ""
            yield f"{diagnosis}expands into nothing: {NO_PATHWAY[match['reason']]}"

    def _implied(self, own: str) -> Iterator[str]:
        children = (child for child in self._children.values() if child["parent_id"] == own)
        for child in sorted(children, key=lambda child: child["edge"]):
            if not_generated := _NOT_GENERATED.get(child["outcome"]):
                title = f"{shown(stated_as(child))} ({child['status']})"
                yield f"{title}: {not_generated} {self.named(child['linked_to'])}"
            else:
                yield self.named(child["finding_id"])

    def _disagreements(self, own: str) -> Iterator[str]:
        for conflict in self._conflicts:
            if own in conflict["finding_ids"]:
                others = ", ".join(self.named(other) for other in conflict["finding_ids"] if other != own)
                never = "; the generated row was never added" if conflict["suppressed"] else ""
                kind = f"{CONFLICTS[conflict['conflict_type']]} ({conflict['source']})"
                yield f"{kind}: with {others}{never}"

    def _became(self, own: str) -> str:
        if (event := self._gone.get(own)) is None:
            return f"idx {self._result[own]['idx']} of the result"
        told = f"{event['event']}: {RULES[event['rule']]}."
        if event["event"] == "excluded":
            return told
        if event["survivor_id"] is None:
            return f"{told} No row stands for it."
        stands = "says so" if event["event"] == "spoken against" else "stands for it"
        return f"{told} {self.named(event['survivor_id'])} {stands}."

    def _references(self, own: str, row: Record) -> Iterator[str]:
        for kind in ("evidence", "associate") if own in self._result else ():
            targets = [token[1:] if token.startswith(BARE) else self.named(token) for token in row[kind]]
            if targets:
                yield f"{kind}: {shown(', '.join(targets))}"
        for event in self._log:
            if event["event"] == "reference lost" and event["finding_id"] == own:
                yield f"lost: {self.named(event['reference'])}; {RULES[event['rule']]}"


def _rejection(row: Record) -> RowStory:
    """A delivered row that could not be used; it has no finding id, so it is named by its line."""
    found = f"column {row['column']!r}: found {shown(row['found'])!r}, " if row["column"] else ""
    told = Passage(row["reason"], (f"{found}expected {row['expected']}", row["remedy"]))
    name, title = f"{row['file']}, row {row['line']}", f"delivered row {row['line']}"
    return RowStory(name, None, title, "rejected", (told,))


def print_story(story: StudyStory, console: Console) -> None:
    """Print a study; the width of the console decides where lines break. Nothing in the text is taken for
    markup.
    """
    fates = Counter(row.fate for row in story.rows)
    counts = ", ".join(f"{number} {fate}" for fate, number in fates.items()) or "no rows"
    console.print(Text(f"study {story.study_id}: {counts}", style="bold"))
    console.print(Padding(_grid(story.remarks), _INDENT))
    for row in story.rows:
        number = f"idx {row.idx}" if row.idx is not None else row.fate
        colour = "bold green" if row.fate == IN_RESULT else "bold yellow"
        parts = (number, colour), "  ", (row.title, "bold"), "  ", (row.finding_id, "dim")
        console.print(Text.assemble(*parts))
        console.print(Padding(_grid(row.passages), _INDENT))


def _grid(passages: Sequence[Passage]) -> RenderableType:
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column(ratio=1, overflow="fold")
    for passage in passages:
        grid.add_row(Text(passage.heading), Group(*(Text(line) for line in passage.lines)))
    return grid
