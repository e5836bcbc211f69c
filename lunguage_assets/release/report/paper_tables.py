"""The paper's tables for any corpus, as tidy frames, CSV and Markdown (implicit.md sections 5 and 7).

Everything is counted from the stored tables; nothing is computed again. Each count says in its name what it
counts, because the paper's own differ among themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.implicit.pathways.pathways import DiagnosisStatistics
from lunguage_assets.implicit.rows import column_values
from lunguage_assets.release.report.published_tables import PublishedTables
from lunguage_assets.release.report.stated_counts import FitFigures, StatedCounts, percent
from lunguage_assets.tables import CONFLICT_SOURCES, CONFLICT_TYPES
from lunguage_assets.tables.paper import (
    ALL_DIAGNOSES,
    CONFLICT_TABLE,
    CORPUS_FIGURES,
    EXPANSION_TABLE,
)

_STRUCTURE = ("variants", "pathways", "depth", "width")
_OF_ALL = {"variants": "variants", "pathways": "pathways", "depth": "highest depth", "width": "highest width"}
_USE = ("stated", "expanded", "expanded_generated", "generated", "already_stated", "added")
_FATE = ("conflicts", "suppressed", "merged", "removed")
_ACCOUNTS = ("rows_in", "originals_out", "rows_out")


@dataclass(frozen=True)
class PaperTables:
    """CERTAINTY_TABLE, FIT_TABLE, EXPANSION_TABLE, CONFLICT_TABLE and CORPUS_FIGURES of one corpus."""

    certainty: pd.DataFrame
    fit: pd.DataFrame
    expansion: pd.DataFrame
    conflicts: pd.DataFrame
    figures: pd.DataFrame


class PaperCounts:
    """What the tables count, added up over parts of the studies. Of a tentative finding only p is kept."""

    def __init__(self) -> None:
        self.studies = 0
        self._stated, self._fits = StatedCounts(), FitFigures()
        self._pathways: dict[str, Counter[str]] = {name: Counter() for name in _USE}
        self._conflicts: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in _FATE}
        self._totals: Counter[str] = Counter()

    def add(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """Add some studies, whole ones.

        Args:
            tables: `reports`, `pathway_matches`, `lunguage_plus_plus`, `resolution_log`, `conflicts`,
                `accounting` and `fitted_probabilities`, by name.
        """
        rows, matches, log, accounts = (
            tables[name] for name in ("lunguage_plus_plus", "pathway_matches", "resolution_log", "accounting")
        )
        diagnosis = dict(zip(matches["finding_id"].tolist(), matches["diagnosis"].tolist(), strict=True))
        self.studies += len(tables["reports"])
        self._stated.add(tables, diagnosis)
        self._fits.add(tables["fitted_probabilities"])
        self._add_pathways(rows, matches, log, diagnosis)
        self._add_conflicts(tables["conflicts"], log)
        self._totals.update({name: int(accounts[name].sum()) for name in _ACCOUNTS})
        self._totals["taken_away"] += int(_gone(log).sum())

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
        """All tables.

        Args:
            statistics: the structure of the pathway dictionary in use (`PathwayDictionary.statistics`).
            published: stands beside the counts when it describes this corpus.
            patients: how many there are; parts may share patients.
        """
        is_published = published.describes(self._totals["rows_in"], self.studies, patients)
        beside = published if is_published else None
        conflicts = self._conflict_table(beside)
        return PaperTables(
            self._stated.table([line.diagnosis for line in statistics]),
            self._fits.table(published.fit),
            self._expansion_table(statistics, beside),
            conflicts,
            self._figures(statistics, conflicts, patients, beside),
        )

    def _expansion_table(
        self, statistics: Sequence[DiagnosisStatistics], published: PublishedTables | None
    ) -> pd.DataFrame:
        """Structure and use of the pathways, in the order of `statistics` (the paper's Table 3)."""
        names = [line.diagnosis for line in statistics]
        lines = []
        for line in statistics:
            beside = published.structure.get(line.diagnosis) if published is not None else None
            lines.append(
                {"diagnosis": line.diagnosis}
                | {part: getattr(line, part) for part in _STRUCTURE}
                | {f"published_{part}": getattr(beside, part, None) for part in _STRUCTURE}
                | self._used([line.diagnosis], names)
            )
        own, figures = _structure(statistics), published.figures if published is not None else {}
        lines.append(
            {"diagnosis": ALL_DIAGNOSES}
            | {part: own[measure] for part, measure in _OF_ALL.items()}
            | {f"published_{part}": figures.get(measure) for part, measure in _OF_ALL.items()}
            | self._used(names, names)
        )
        return EXPANSION_TABLE.frame(lines)

    def _used(self, names: Sequence[str], everything: Sequence[str]) -> dict[str, float | None]:
        """What the pathways of some diagnoses came to."""
        used: dict[str, float | None] = {
            use: sum(counted[name] for name in names) for use, counted in self._pathways.items()
        }
        every = sum(self._pathways["added"][name] for name in everything)
        return used | {
            "percent_expanded": percent(used["expanded"] or 0, used["stated"] or 0),
            "percent_added": percent(used["added"] or 0, every),
        }

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
        figures = _structure(statistics) | self._counts(conflicts, patients)
        return CORPUS_FIGURES.frame(
            {"measure": name, "value": value, "published": beside.get(name), "note": notes.get(name, "")}
            for name, value in figures.items()
        )

    def _counts(self, conflicts: pd.DataFrame, patients: int) -> dict[str, float | None]:
        totals = self._totals
        before = totals["rows_out"] + totals["taken_away"]
        expanding = self._pathways["expanded"].total()
        added = totals["rows_out"] - totals["originals_out"]
        counted = conflicts[~conflicts["conflict_type"].isin(["repeat_dp", "repeat_dn"])]
        found = int(counted["conflicts"].sum())
        by_source = counted.groupby("source")["conflicts"].sum()
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
            **{
                f"conflicts per row: {source}": _share(int(by_source[source]), before)
                for source in CONFLICT_SOURCES
            },
        }


def _gone(log: pd.DataFrame) -> pd.Series:
    """Which events of RESOLUTION_LOG are rows that resolution took away."""
    return (log["stage"] == "resolve") & log["event"].isin(["merged", "removed", "discarded"])


def _parent(finding_id: str) -> str:
    return finding_id.rpartition("/")[0]


def _root(finding_id: str) -> str:
    return finding_id.partition("/")[0]


def _structure(statistics: Sequence[DiagnosisStatistics]) -> dict[str, float | None]:
    depth, width = [line.depth for line in statistics], [line.width for line in statistics]
    return {
        "diagnoses": len(statistics),
        "variants": sum(line.variants for line in statistics),
        "pathways": sum(line.pathways for line in statistics),
        "mean depth": _share(sum(depth), len(depth)),
        "highest depth": max(depth, default=0),
        "mean width": _share(sum(width), len(width)),
        "highest width": max(width, default=0),
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
