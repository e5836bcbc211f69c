"""The paper's tables for any corpus, as tidy frames, CSV and Markdown (implicit.md sections 5 and 7).

Everything is counted from the stored tables; nothing is computed again. Each count says in its name what it
counts, because the paper's own differ among themselves.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import pandas as pd

from lunguage_assets.implicit.pathways.pathways import DiagnosisStatistics
from lunguage_assets.implicit.rows import column_values
from lunguage_assets.release.report.published_tables import PublishedTables
from lunguage_assets.tables import CONFLICT_SOURCES, CONFLICT_TYPES
from lunguage_assets.tables.paper import (
    ALL_DIAGNOSES,
    ALL_FINDINGS,
    CERTAINTY_TABLE,
    CONFLICT_TABLE,
    CORPUS_FIGURES,
    EXPANSION_TABLE,
)

_CERTAINTY_COLUMNS = {
    "dp": "definitive_positive",
    "tp": "tentative_positive",
    "tn": "tentative_negative",
    "dn": "definitive_negative",
}
_STRUCTURE = ("variants", "pathways", "depth", "width")
_USE = ("stated", "expanded", "expanded_generated", "generated", "already_stated", "added")
_FATE = ("conflicts", "suppressed", "merged", "removed")
_ACCOUNTS = ("rows_in", "originals_out", "rows_out")


@dataclass(frozen=True)
class PaperTables:
    """CERTAINTY_TABLE, EXPANSION_TABLE, CONFLICT_TABLE and CORPUS_FIGURES of one corpus."""

    certainty: pd.DataFrame
    expansion: pd.DataFrame
    conflicts: pd.DataFrame
    figures: pd.DataFrame


def paper_tables(
    tables: Mapping[str, pd.DataFrame], statistics: Sequence[DiagnosisStatistics], published: PublishedTables
) -> PaperTables:
    """All four from the stored tables of the same studies, of a corpus that is read at once."""
    counts = PaperCounts()
    counts.add(tables)
    return counts.tables(statistics, published, tables["reports"]["subject_id"].nunique())


class PaperCounts:
    """What the tables count, added up over parts of the studies. Of a tentative finding only p is kept."""

    def __init__(self) -> None:
        self.studies = 0
        self._statuses: Counter[tuple[str, str]] = Counter()
        self._unknown: Counter[str] = Counter()
        self._p: dict[str, array[float]] = {}
        self._pathways: dict[str, Counter[str]] = {name: Counter() for name in _USE}
        self._conflicts: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in _FATE}
        self._totals: Counter[str] = Counter()

    def add(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """Add some studies, whole ones.

        Args:
            tables: `reports`, `pathway_matches`, `lunguage_plus_plus`, `resolution_log`, `conflicts` and
                `accounting`, by name.
        """
        rows, matches, log, accounts = (
            tables[name] for name in ("lunguage_plus_plus", "pathway_matches", "resolution_log", "accounting")
        )
        diagnosis = dict(zip(matches["finding_id"].tolist(), matches["diagnosis"].tolist(), strict=True))
        self.studies += len(tables["reports"])
        self._add_certainty(rows, diagnosis)
        self._add_pathways(rows, matches, log, diagnosis)
        self._add_conflicts(tables["conflicts"], log)
        self._totals.update({name: int(accounts[name].sum()) for name in _ACCOUNTS})
        self._totals["taken_away"] += int(_gone(log).sum())

    def _add_certainty(self, rows: pd.DataFrame, diagnosis: Mapping[str, str]) -> None:
        stated = rows[(rows["source"] == "original") & (rows["currency"] == "current dx")]
        columns = (column_values(stated, name) for name in ("finding_id", "status", "prob", "p_source"))
        for own, status, p, p_source in zip(*columns, strict=True):
            name = diagnosis[own]
            self._statuses[name, status] += 1
            if status in ("tp", "tn"):
                if p_source == "none":
                    self._unknown[name] += 1
                else:
                    self._p.setdefault(name, array("d")).append(p)

    def _add_pathways(
        self, rows: pd.DataFrame, matches: pd.DataFrame, log: pd.DataFrame, diagnosis: Mapping[str, str]
    ) -> None:
        """A generated row counts for the stated diagnosis that it was generated below, at any depth; one that
        the report already states, for its immediate parent. Both are read from its id, which goes on from its
        parent's.
        """
        use = self._pathways
        columns = ("finding_id", "diagnosis", "reason", "generated")
        for own, name, reason, generated in zip(*(column_values(matches, c) for c in columns), strict=True):
            if generated:
                use["generated"][diagnosis[_root(own)]] += 1
            else:
                use["stated"][name] += 1
            if reason == "matched":
                use["expanded_generated" if generated else "expanded"][name] += 1
        already = log.loc[log["event"] == "already stated", "finding_id"]
        use["already_stated"].update(diagnosis[_parent(own)] for own in already)
        added = rows.loc[rows["source"] == "expansion", "finding_id"]
        use["added"].update(diagnosis[_root(own)] for own in added)

    def _add_conflicts(self, conflicts: pd.DataFrame, log: pd.DataFrame) -> None:
        """A row that takes part in conflicts of one type with rows of both kinds is counted in both."""
        gone = log[_gone(log)]
        columns = (column_values(gone, name) for name in ("finding_id", "conflict_type", "event"))
        fate = {own: (kind, event) for own, kind, event in zip(*columns, strict=True)}
        lost: dict[tuple[str, str], set[str]] = {}
        names = ("conflict_type", "source", "suppressed", "finding_ids")
        for kind, source, suppressed, ids in zip(*(column_values(conflicts, c) for c in names), strict=True):
            self._conflicts["conflicts"][kind, source] += 1
            self._conflicts["suppressed"][kind, source] += suppressed
            of_kind = (own for own in ids if fate.get(own, ("", ""))[0] == kind)
            lost.setdefault((kind, source), set()).update(of_kind)
        for cell, ids in lost.items():
            for own in ids:
                self._conflicts["merged" if fate[own][1] == "merged" else "removed"][cell] += 1

    def tables(
        self, statistics: Sequence[DiagnosisStatistics], published: PublishedTables, patients: int
    ) -> PaperTables:
        """All four tables.

        Args:
            statistics: the structure of the pathway dictionary in use (`PathwayDictionary.statistics`).
            published: stands beside the counts when it describes this corpus.
            patients: how many there are; parts may share patients.
        """
        is_published = published.describes(self._totals["rows_in"], self.studies, patients)
        beside = published if is_published else None
        conflicts = self._conflict_table(beside)
        return PaperTables(
            self._certainty_table([line.diagnosis for line in statistics]),
            self._expansion_table(statistics, beside),
            conflicts,
            self._figures(statistics, conflicts, patients, beside),
        )

    def _certainty_table(self, diagnoses: Sequence[str]) -> pd.DataFrame:
        """Diagnoses in the order given (the paper's Table 2)."""
        found = {name for name, _ in self._statuses}
        lines = [self._certainty(name, [name]) for name in diagnoses]
        lines += [self._certainty(ALL_DIAGNOSES, found - {""}), self._certainty(ALL_FINDINGS, found)]
        return CERTAINTY_TABLE.frame(lines)

    def _certainty(self, title: str, names: Collection[str]) -> dict[str, Any]:
        known = pd.Series(
            sorted(chain.from_iterable(self._p.get(name, ()) for name in names)), dtype="float64"
        )
        found = (known.mean(), known.std(ddof=0), known.min(), known.max()) if len(known) else (None,) * 4
        return {
            "diagnosis": title,
            **{
                column: sum(self._statuses[name, status] for name in names)
                for status, column in _CERTAINTY_COLUMNS.items()
            },
            "no_information": sum(self._unknown[name] for name in names),
            **dict(zip(("p_mean", "p_sd", "p_min", "p_max"), found, strict=True)),
        }

    def _expansion_table(
        self, statistics: Sequence[DiagnosisStatistics], published: PublishedTables | None
    ) -> pd.DataFrame:
        """Structure and use of the pathways, in the order of `statistics` (the paper's Table 3)."""
        lines = []
        for line in statistics:
            beside = published.structure.get(line.diagnosis) if published is not None else None
            lines.append(
                {"diagnosis": line.diagnosis}
                | {part: getattr(line, part) for part in _STRUCTURE}
                | {f"published_{part}": getattr(beside, part, None) for part in _STRUCTURE}
                | {name: counted[line.diagnosis] for name, counted in self._pathways.items()}
            )
        return EXPANSION_TABLE.frame(lines)

    def _conflict_table(self, published: PublishedTables | None) -> pd.DataFrame:
        """All types and sources, those that do not occur with zeros (the paper's cross table)."""
        lines = []
        for kind in CONFLICT_TYPES:
            beside = published.conflicts.get(kind) if published is not None else None
            for number, source in enumerate(CONFLICT_SOURCES):
                counted = {name: counts[kind, source] for name, counts in self._conflicts.items()}
                printed = beside[number] if beside is not None else None
                lines.append({"conflict_type": kind, "source": source, "published": printed, **counted})
        return CONFLICT_TABLE.frame(lines)

    def _figures(
        self,
        statistics: Sequence[DiagnosisStatistics],
        conflicts: pd.DataFrame,
        patients: int,
        published: PublishedTables | None,
    ) -> pd.DataFrame:
        """CORPUS_FIGURES: the counts of the paper's text, each named for what it counts."""
        beside = published.figures if published is not None else {}
        notes = published.notes if published is not None else {}
        figures = {**_structure(statistics), **self._counts(conflicts, patients)}
        return CORPUS_FIGURES.frame(
            [
                {"measure": name, "value": value, "published": beside.get(name), "note": notes.get(name, "")}
                for name, value in figures.items()
            ]
        )

    def _counts(self, conflicts: pd.DataFrame, patients: int) -> dict[str, float | None]:
        totals = self._totals
        before = totals["rows_out"] + totals["taken_away"]
        expanding = self._pathways["expanded"].total()
        added = totals["rows_out"] - totals["originals_out"]
        counted = conflicts[~conflicts["conflict_type"].isin(["repeat_dp", "repeat_dn"])]
        found = int(counted["conflicts"].sum())
        by_source = {
            f"conflicts per row: {source}": _share(
                int(counted.loc[counted["source"] == source, "conflicts"].sum()), before
            )
            for source in CONFLICT_SOURCES
        }
        return {
            "studies": self.studies,
            "patients": patients,
            "delivered rows": totals["rows_in"],
            "stated findings that expand": expanding,
            "stated rows out": totals["originals_out"],
            "share of the stated rows out that expand": _share(expanding, totals["originals_out"]),
            "generated rows out": added,
            "generated rows out per stated row out": _share(added, totals["originals_out"]),
            "rows before resolution": before,
            "rows that resolution took away": totals["taken_away"],
            "rows out": totals["rows_out"],
            "conflicts": found,
            "conflicts per row before resolution": _share(found, before),
            **by_source,
        }


def _gone(log: pd.DataFrame) -> pd.Series:
    """Which events of RESOLUTION_LOG are rows that resolution took away."""
    return (log["stage"] == "resolve") & log["event"].isin(["merged", "removed", "discarded"])


def _parent(finding_id: str) -> str:
    return finding_id.rpartition("/")[0]


def _root(finding_id: str) -> str:
    return finding_id.partition("/")[0]


def _structure(statistics: Sequence[DiagnosisStatistics]) -> dict[str, float | None]:
    by_part = {
        field.name: [getattr(line, field.name) for line in statistics]
        for field in fields(DiagnosisStatistics)
    }
    depth, width = by_part["depth"], by_part["width"]
    return {
        "diagnoses": len(statistics),
        "variants": sum(by_part["variants"]),
        "pathways": sum(by_part["pathways"]),
        "mean depth": _share(sum(depth), len(depth)),
        "highest depth": max(depth, default=0),
        "mean width": _share(sum(width), len(width)),
        "highest width": max(width, default=0),
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
