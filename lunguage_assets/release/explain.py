"""Why is this row here, and why is that one not: the story of every row of a study, told from the stored
tables. Nothing is computed again. Codes are told in the words of `resources/explain.yaml`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text
from upath import UPath

from lunguage_assets.assertion.tokens import alternatives
from lunguage_assets.assertion.word_files import word_file
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import ConfigurationError, InvalidTable
from lunguage_assets.implicit.rows import BARE, natural
from lunguage_assets.implicit.statements.contradictions import QUALIFIER, qualifying
from lunguage_assets.packaged_data import resource
from lunguage_assets.release.deciding_cues import deciding_cues, told_cues
from lunguage_assets.tables import ATTRIBUTES, TABLES, TERMS
from lunguage_assets.tables.columns import A_ROW, MEANINGS
from lunguage_assets.workspace.store import (
    is_stored,
    partition_path,
    read_rows,
)

TABLES_OF_A_STUDY = {name: table for name, table in TABLES.items() if table.explained}
"""What is read of a study."""
IN_RESULT = "in the result"

SECTIONS = {"hist": "history", "find": "findings", "impr": "impression"}
_WORDS: Mapping[str, Mapping[str, str]] = yaml.safe_load(
    resource("explain.yaml").read_text("utf-8")
)
P_SOURCES, NO_PATHWAY, RULES, CONFLICTS, FIT_ENDS, NO_FINDING_SAID = (
    _WORDS[name]
    for name in (
        "p_sources",
        "no_pathway",
        "rules",
        "conflicts",
        "fit_ends",
        "no_finding",
    )
)

_GONE = ("merged", "removed", "excluded", "discarded")
_NOT_GENERATED = {
    "already stated": "already stated by",
    "spoken against": "not generated against",
}

Record = Mapping[str, Any]
Passages = Mapping[str, Sequence[str]]
"""Lines by heading; without any it is not shown."""


@cache
def _forms() -> Vocabulary:
    return Vocabulary.from_terms(TERMS.frame())


@cache
def _structures() -> frozenset[str]:
    """Parts of the body, as findings are named."""
    anatomy = {
        name: others
        for (group, name), others in word_file("places").items()
        if group == "anatomy"
    }
    spellings = (
        spelling for name, others in anatomy.items() for spelling in (name, *others)
    )
    return frozenset(
        _forms().finding(one)
        for spelling in spellings
        for one in alternatives(spelling)
    )


def status_of(row: Mapping[str, Any]) -> str:
    """The status of a row in words: lungs are normal, and not absent; "no large effusion" denies a part."""
    if row.get("p_source") == QUALIFIER:
        word = qualifying_word(row)
        return f"denied only if “{word}”" if word else "denied in part"
    said = MEANINGS[row["status"]]
    if _structures().isdisjoint({row.get("name", ""), _forms().finding(row["ent"])}):
        return said
    return said.replace("absent", "normal").replace("present", "abnormal")


def qualifying_word(row: Mapping[str, Any]) -> str:
    """The word that restricts a denial: "large" of "no large effusion"; empty without one."""
    cells = tuple(
        row[name]
        for name in ("measurement", "morphology", "distribution", "severity", "onset")
    )
    found = qualifying(row["name"], row["ent"], row["sent"], cells)
    return found[1] if found is not None else ""


def stated_as(row: Mapping[str, Any]) -> str:
    """Finding and place, in the report's words."""
    return f"{row['ent']}, {row['location']}" if row["location"] else str(row["ent"])


def attributes(row: Mapping[str, Any]) -> str:
    """The attributes that are not empty, under their published names."""
    return "; ".join(
        f"{published}: {row[name]}"
        for name, published in ATTRIBUTES.items()
        if row[name]
    )


def shown(text: str) -> str:
    """Text of a report without control characters, which a terminal would obey; line ends become blanks."""
    return "".join(character if character.isprintable() else " " for character in text)


@dataclass(frozen=True)
class StudyRecord:
    """The stored rows of one study, from the newest batch that delivered it. `older` are batches that
    delivered it before, `unprocessed` those without a result for the ranker: they may deliver it again.
    """

    study_id: str
    ranker: str
    batch: str
    older: Sequence[str]
    unprocessed: Sequence[str]
    tables: Mapping[str, Sequence[Record]]


@dataclass(frozen=True)
class RowStory:
    """One row: its number in the result (None when it is not there), its fate in a word or two, its story."""

    finding_id: str
    idx: int | None
    title: str
    fate: str
    passages: Passages


@dataclass(frozen=True)
class StudyStory:
    """A study: what holds for all of it, then its rows, those of the result first, by number."""

    study_id: str
    remarks: Passages
    rows: Sequence[RowStory]


def study_and_row(named: str) -> tuple[str, str | None]:
    """A study, and the finding id where one of its rows is named; no study as delivered looks like one."""
    if re.fullmatch(A_ROW, named, re.ASCII):
        return named.partition(":")[0], named
    return named, None


def read_study(
    root: UPath | Path, ranker: str, batches: Sequence[str], study_id: str
) -> StudyRecord:
    """Read a study (its id here or as delivered, with or without an `s`) from the tables below `root`;
    `batches` are the registered ones, oldest first. Raises `ConfigurationError` when the ranker has no
    results or no batch delivered the study, `InvalidTable` for a partition of another schema.
    """
    study = study_of(study_id)

    def path(name: str, batch: str) -> UPath:
        parts = {"ranker": ranker, "report_batch": batch}
        return partition_path(
            root, name, *(parts[dimension] for dimension in TABLES[name].partitioned_by)
        )

    def rows(name: str, batch: str) -> list[Record]:
        if not is_stored(TABLES[name], path(name, batch)):
            raise InvalidTable(
                f"table {name} of {batch}: of another schema. Materialise it again."
            )
        with path(name, batch).open("rb") as stream:
            found: list[Record] = read_rows(stream, "study_id", {study}).to_pylist()
        return found

    complete = [
        batch
        for batch in batches
        if all(path(name, batch).exists() for name in TABLES_OF_A_STUDY)
    ]
    unprocessed = [batch for batch in batches if batch not in complete]
    if not complete:
        raise ConfigurationError(
            f"ranker {ranker!r} has no result in {root}. Run `lunguage run` with this ranker first, or name "
            "another with --ranker."
        )
    holding = [batch for batch in complete if rows("accounting", batch)]
    if not holding:
        waiting = (
            f"; without a result yet: {', '.join(unprocessed)}" if unprocessed else ""
        )
        there = f"Batches of ranker {ranker!r}: {', '.join(complete)}{waiting}."
        raise ConfigurationError(f"no batch delivered study {study_id!r}. {there}")
    *older, batch = holding
    tables = {name: rows(name, batch) for name in TABLES_OF_A_STUDY}
    return StudyRecord(study, ranker, batch, older, unprocessed, tables)


def explain_study(record: StudyRecord, finding: str | None = None) -> StudyStory:
    """The story of a study, or of one row of it, by its number in the result (`idx`) or its finding id;
    raises `ConfigurationError` that says which rows there are.
    """
    rows = _Teller(record).stories()
    chosen = [
        row
        for row in rows
        if finding is None or finding in (row.finding_id, str(row.idx))
    ]
    if finding is not None and not chosen:
        numbers = [row.idx for row in rows if row.idx is not None]
        example = f", or a finding id such as {rows[0].finding_id}" if rows else ""
        there = (
            f"rows numbered {numbers[0]} to {numbers[-1]}"
            if numbers
            else "no row in the result"
        )
        raise ConfigurationError(
            f"study {record.study_id} has no finding {finding!r}: expected one of its {there}{example}; "
            "leave --finding out to see all."
        )
    return StudyStory(record.study_id, _remarks(record), chosen)


def _remarks(record: StudyRecord) -> Passages:
    """What holds for the whole study: its patient, views, batches, and why it was set aside."""
    came = [f"batch {record.batch}, ranker {record.ranker}"]
    if record.older:
        came.append(
            f"amended: also delivered in {', '.join(record.older)}; the newest version counts"
        )
    if record.unprocessed:
        waiting = ", ".join(record.unprocessed)
        came.append(
            f"batches without a result for this ranker: {waiting}; they may hold a newer version"
        )
    reports, aside = (
        record.tables["reports"],
        "{rule} (step {step}, table {table}: {found})",
    )
    return {
        "patient": [one["subject_id"] for one in reports],
        "views": [
            f"{one['view_information'] or 'unknown'} (from {one['view_source']})"
            for one in reports
        ],
        "came from": came,
        "set aside": [aside.format(**one) for one in record.tables["set_aside"]],
    }


class _Teller:
    """Tells the story of each row of one study; everything is looked up by finding id."""

    def __init__(self, record: StudyRecord) -> None:
        self._tables = tables = record.tables
        self._stated, self._children, self._result, self._fits, self._matches = (
            {row["finding_id"]: row for row in tables[name]}
            for name in (
                *("deduplicated_findings", "expansions", "lunguage_plus_plus"),
                *("fitted_probabilities", "pathway_matches"),
            )
        )
        self._rows = self._children | self._stated | self._result
        self._log = tables["resolution_log"]
        self._report = next((one["report"] for one in tables["reports"]), "")
        self._gone: dict[str, Record] = {}
        for kinds in (_NOT_GENERATED, _GONE):  # its end outranks why it is not new
            self._gone |= {
                event["finding_id"]: event
                for event in self._log
                if event["event"] in kinds
            }

    def stories(self) -> list[RowStory]:
        """Rows of the result by number, then others in report order, then the rejected ones."""
        kept = sorted(self._result, key=lambda own: self._result[own]["idx"])
        others = sorted({*self._stated, *self._children} - set(kept), key=natural)
        return [
            *map(self._story, (*kept, *others)),
            *map(_rejection, self._tables["rejected"]),
        ]

    def _story(self, own: str) -> RowStory:
        row = self._rows[own]
        told = {
            "said": self._said(own, row),
            "decided": self._decided(row),
            "hedges": self._hedges(own),
            "probability": (
                f"P(present) {row['prob']:.3f} [{row['p_low']:.3f}, {row['p_high']:.3f}]: "
                f"{P_SOURCES[row['p_source']]}",
                f"support {row['support']:.3f} (how strongly the row is claimed)",
            ),
            "merged into it": self._absorbed(own),
            "pathway": self._pathway(own),
            "implies": self._implied(own),
            "conflicts": self._disagreements(own),
            "what became of it": [self._became(own)],
            "refers to": self._references(own, row),
            "noted on reading": (
                f"{note['reason']}: {note['done']}"
                for note in self._tables["intake_notes"]
                if note["finding_id"] == own
            ),
        }
        title = f"{shown(stated_as(row))}: {status_of(row)} ({row['status']}), {row['currency']}"
        idx = row["idx"] if own in self._result else None
        return RowStory(
            own,
            idx,
            title,
            self._fate(own),
            {name: [*lines] for name, lines in told.items()},
        )

    def _fate(self, own: str) -> str:
        return IN_RESULT if own in self._result else str(self._gone[own]["event"])

    def _named(self, own: str) -> str:
        """How another row is spoken of: by number where it has one, else by id and fate."""
        row = self._rows.get(own)
        if row is None:
            return own
        if own in self._result:
            return f"idx {row['idx']} ({shown(stated_as(row))}, {row['status']})"
        return f"{own} ({shown(stated_as(row))}, {row['status']}; {self._fate(own)})"

    def _said(self, own: str, row: Record) -> Iterator[str]:
        if child := self._children.get(own):
            parent, root = child["parent_id"], child["root_id"]
            top = "" if root == parent else f", below {self._named(root)}"
            by = f"implies it by pathway {child['parent_pathway_id']}{top}"
            yield f"not in the report: {self._named(parent)} {by}"
            if row.get("parent_id") != parent:
                yield f"its parent is gone or merged: {self._named(row['parent_id'])} holds it now"
        else:
            yield f'{SECTIONS[row["section"]]}, sentence {row["sent_idx"]}: "{shown(row["sent"])}"'
        if row["name"] != row["ent"].lower():
            yield f"canonical name: {row['name']}"
        if told := attributes(row):
            yield told

    def _decided(self, row: Record) -> list[str]:
        """What cues say of it; nothing of rows that were delivered, or that a language model read."""
        cues = deciding_cues(row["cues"], self._report, status_of(row))
        return [shown(line) for line in told_cues(cues)]

    def _hedges(self, own: str) -> Iterator[str]:
        if (fit := self._fits.get(own)) is None:
            return
        yield (
            ", ".join(fit["phrases"])
            if fit["phrases"]
            else "no hedging phrase was extracted"
        )
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
                why = (
                    RULES["same statement"]
                    if cosine is None
                    else f"cosine {cosine:.3f} ({row['encoder']})"
                )
                yield f"{self._named(other)}: {why}"
        for event in self._log:
            if (
                event["event"] == "merged"
                and event["stage"] == "resolve"
                and event["survivor_id"] == own
            ):
                why = f"{CONFLICTS[event['conflict_type']]}; {RULES[event['rule']]}"
                yield f"{self._named(event['finding_id'])}: {why}"

    def _pathway(self, own: str) -> Iterator[str]:
        if (match := self._matches.get(own)) is None:
            return
        refined = (
            f" ({', '.join(match['refinements'])})" if match["refinements"] else ""
        )
        if match["reason"] == "matched":
            yield f"{match['diagnosis']}{refined} matches {match['pathway_id']}"
            yield match["pathway"]
        else:
            diagnosis = f"{match['diagnosis']}{refined} " if match["diagnosis"] else ""
            yield f"{diagnosis}expands into nothing: {NO_PATHWAY[match['reason']]}"

    def _implied(self, own: str) -> Iterator[str]:
        children = (
            child for child in self._children.values() if child["parent_id"] == own
        )
        for child in sorted(children, key=lambda child: child["edge"]):
            if not_generated := _NOT_GENERATED.get(child["outcome"]):
                title = f"{shown(stated_as(child))} ({child['status']})"
                yield f"{title}: {not_generated} {self._named(child['linked_to'])}"
            else:
                yield self._named(child["finding_id"])

    def _disagreements(self, own: str) -> Iterator[str]:
        for conflict in self._tables["conflicts"]:
            if own in conflict["finding_ids"]:
                others = ", ".join(
                    self._named(other)
                    for other in conflict["finding_ids"]
                    if other != own
                )
                never = (
                    "; the generated row was never added"
                    if conflict["suppressed"]
                    else ""
                )
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
        return f"{told} {self._named(event['survivor_id'])} {stands}."

    def _references(self, own: str, row: Record) -> Iterator[str]:
        for kind in ("evidence", "associate") if own in self._result else ():
            targets = [
                token[1:] if token.startswith(BARE) else self._named(token)
                for token in row[kind]
            ]
            if targets:
                yield f"{kind}: {shown(', '.join(targets))}"
        for event in self._log:
            if event["event"] == "reference lost" and event["finding_id"] == own:
                yield f"lost: {self._named(event['reference'])}; {RULES[event['rule']]}"


def _rejection(row: Record) -> RowStory:
    """A delivered row that could not be used; it has no finding id, so it is named by its line."""
    found = (
        f"column {row['column']!r}: found {shown(row['found'])!r}, "
        if row["column"]
        else ""
    )
    told = {row["reason"]: (f"{found}expected {row['expected']}", row["remedy"])}
    name, title = f"{row['file']}, row {row['line']}", f"delivered row {row['line']}"
    return RowStory(name, None, title, "rejected", told)


def print_story(story: StudyStory, console: Console) -> None:
    """Print a study; nothing in the text is taken for markup."""
    fates = Counter(row.fate for row in story.rows)
    counts = (
        ", ".join(f"{number} {fate}" for fate, number in fates.items()) or "no rows"
    )
    console.print(Text(f"study {story.study_id}: {counts}", style="bold"))
    console.print(_grid(story.remarks))
    for row in story.rows:
        number = f"idx {row.idx}" if row.idx is not None else row.fate
        colour = "bold green" if row.fate == IN_RESULT else "bold yellow"
        parts = (
            (number, colour),
            "  ",
            (row.title, "bold"),
            "  ",
            (row.finding_id, "dim"),
        )
        console.print(Text.assemble(*parts))
        console.print(_grid(row.passages))


def _grid(passages: Passages) -> Padding:
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column(ratio=1, overflow="fold")
    for heading, lines in passages.items():
        if lines:
            grid.add_row(Text(heading), Group(*map(Text, lines)))
    return Padding(grid, (0, 0, 1, 2))
