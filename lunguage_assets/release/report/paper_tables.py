"""The paper's tables for any corpus, as tidy frames, CSV and Markdown (implicit.md sections 5 and 7).

Everything is counted from the stored tables; nothing is computed again. Each count says in its name what it
counts, because the paper's own differ among themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from lunguage_assets.implicit.pathways.pathways import DiagnosisStatistics
from lunguage_assets.implicit.rows import column_values
from lunguage_assets.release.report.published_tables import PublishedTables
from lunguage_assets.tables import CONFLICT_SOURCES, CONFLICT_TYPES, STATUSES
from lunguage_assets.tables.paper import (
    ALL_DIAGNOSES,
    ALL_FINDINGS,
    CERTAINTY_TABLE,
    CONFLICT_TABLE,
    CORPUS_FIGURES,
    EXPANSION_TABLE,
)

_CERTAINTY_COLUMNS = {
    "dp": "definitive_positive", "tp": "tentative_positive", "tn": "tentative_negative", "dn": "definitive_negative"
}  # fmt: skip
_STRUCTURE = ("variants", "pathways", "depth", "width")


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
    """All four from the stored tables of the same studies.

    Args:
        tables: `reports`, `pathway_matches`, `lunguage_plus_plus`, `resolution_log`, `conflicts` and
            `accounting`, by name.
        statistics: the structure of the pathway dictionary in use (`PathwayDictionary.statistics`).
        published: stands beside the counts when it describes this corpus.
    """
    rows, matches, log = (
        tables[name] for name in ("lunguage_plus_plus", "pathway_matches", "resolution_log")
    )
    beside = published if published.describes(tables["reports"], tables["accounting"]) else None
    conflicts = conflict_table(tables["conflicts"], log, beside)
    return PaperTables(
        certainty_table(rows, matches, [line.diagnosis for line in statistics]),
        expansion_table(rows, matches, log, statistics, beside),
        conflicts,
        corpus_figures(tables, statistics, conflicts, beside),
    )


def certainty_table(rows: pd.DataFrame, matches: pd.DataFrame, diagnoses: Iterable[str]) -> pd.DataFrame:
    """LUNGUAGE_PLUS_PLUS and PATHWAY_MATCHES to CERTAINTY_TABLE, diagnoses in the order given (the paper's
    Table 2).
    """
    diagnosis = dict(zip(matches["finding_id"].tolist(), matches["diagnosis"].tolist(), strict=True))
    stated = rows.loc[
        (rows["source"] == "original") & (rows["currency"] == "current dx"),
        ["finding_id", "status", "prob", "p_source"],
    ]
    stated = stated.assign(diagnosis=[diagnosis[own] for own in stated["finding_id"]])
    lines = [_certainty(name, stated[stated["diagnosis"] == name]) for name in diagnoses]
    lines += [_certainty(ALL_DIAGNOSES, stated[stated["diagnosis"] != ""]), _certainty(ALL_FINDINGS, stated)]
    return CERTAINTY_TABLE.frame(lines)


def _certainty(name: str, stated: pd.DataFrame) -> dict[str, Any]:
    counted = Counter(stated["status"])
    tentative = stated[stated["status"].isin(["tp", "tn"])]
    known = tentative.loc[
        tentative["p_source"] != "none", "prob"
    ].sort_values()  # the same sum in any order of the rows
    found = (known.mean(), known.std(ddof=0), known.min(), known.max()) if len(known) else (None,) * 4
    return {
        "diagnosis": name,
        **{_CERTAINTY_COLUMNS[status]: counted[status] for status in STATUSES},
        "no_information": len(tentative) - len(known),
        **dict(zip(("p_mean", "p_sd", "p_min", "p_max"), found, strict=True)),
    }


def expansion_table(
    rows: pd.DataFrame,
    matches: pd.DataFrame,
    log: pd.DataFrame,
    statistics: Sequence[DiagnosisStatistics],
    published: PublishedTables | None = None,
) -> pd.DataFrame:
    """Structure and use of the pathways by diagnosis, in the order of `statistics` (the paper's Table 3).

    A generated row counts for the stated diagnosis that it was generated below, at any depth; one that the
    report already states, for its immediate parent. Both are read from its id, which goes on from its
    parent's.
    """
    diagnosis = dict(zip(matches["finding_id"].tolist(), matches["diagnosis"].tolist(), strict=True))
    found = list(
        zip(
            *(column_values(matches, name) for name in ("finding_id", "diagnosis", "reason", "generated")),
            strict=True,
        )
    )
    stated = Counter(name for _, name, _, generated in found if not generated)
    expanded = Counter((name, generated) for _, name, reason, generated in found if reason == "matched")
    generated_below = Counter(diagnosis[_root(own)] for own, _, _, generated in found if generated)
    linked = Counter(
        diagnosis[_parent(own)] for own in log.loc[log["event"] == "already stated", "finding_id"]
    )
    added = Counter(diagnosis[_root(own)] for own in rows.loc[rows["source"] == "expansion", "finding_id"])
    lines = []
    for line in statistics:
        name = line.diagnosis
        beside = published.structure.get(name) if published is not None else None
        structure = {part: getattr(line, part) for part in _STRUCTURE}
        lines.append(
            {"diagnosis": name, **structure}
            | {
                f"published_{part}": getattr(beside, part) if beside is not None else None
                for part in _STRUCTURE
            }
            | {
                "stated": stated[name],
                "expanded": expanded[name, False],
                "expanded_generated": expanded[name, True],
            }
            | {"generated": generated_below[name], "already_stated": linked[name], "added": added[name]}
        )
    return EXPANSION_TABLE.frame(lines)


def _parent(finding_id: str) -> str:
    return finding_id.rpartition("/")[0]


def _root(finding_id: str) -> str:
    return finding_id.partition("/")[0]


def conflict_table(
    conflicts: pd.DataFrame, log: pd.DataFrame, published: PublishedTables | None = None
) -> pd.DataFrame:
    """CONFLICTS and RESOLUTION_LOG to CONFLICT_TABLE: all types and sources, those that do not occur with
    zeros (the paper's cross table).

    A row that takes part in conflicts of one type with rows of both kinds is counted in both.
    """
    gone = log[(log["stage"] == "resolve") & log["event"].isin(["merged", "removed", "discarded"])]
    fate = {
        own: (kind, event)
        for own, kind, event in zip(
            *(column_values(gone, c) for c in ("finding_id", "conflict_type", "event")), strict=True
        )
    }
    groups: Counter[tuple[str, str]] = Counter()
    suppressed: Counter[tuple[str, str]] = Counter()
    lost: dict[tuple[str, str], set[str]] = {}
    columns = ("conflict_type", "source", "suppressed", "finding_ids")
    for kind, source, was_suppressed, ids in zip(
        *(column_values(conflicts, name) for name in columns), strict=True
    ):
        groups[kind, source] += 1
        suppressed[kind, source] += was_suppressed
        lost.setdefault((kind, source), set()).update(
            own for own in ids if fate.get(own, ("", ""))[0] == kind
        )
    lines = []
    for kind in CONFLICT_TYPES:
        for number, source in enumerate(CONFLICT_SOURCES):
            beside = published.conflicts.get(kind) if published is not None else None
            events = Counter(fate[own][1] for own in lost.get((kind, source), ()))
            lines.append(
                {
                    "conflict_type": kind,
                    "source": source,
                    "conflicts": groups[kind, source],
                    "suppressed": suppressed[kind, source],
                }
                | {"published": beside[number] if beside is not None else None}
                | {"merged": events["merged"], "removed": events["removed"] + events["discarded"]}
            )
    return CONFLICT_TABLE.frame(lines)


def corpus_figures(
    tables: Mapping[str, pd.DataFrame],
    statistics: Sequence[DiagnosisStatistics],
    conflicts: pd.DataFrame,
    published: PublishedTables | None = None,
) -> pd.DataFrame:
    """CORPUS_FIGURES: the counts of the paper's text, each named for what it counts."""
    figures = {**_structure(statistics), **_counts(tables, conflicts)}
    beside = published.figures if published is not None else {}
    notes = published.notes if published is not None else {}
    return CORPUS_FIGURES.frame(
        [
            {"measure": name, "value": value, "published": beside.get(name), "note": notes.get(name, "")}
            for name, value in figures.items()
        ]
    )


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


def _counts(tables: Mapping[str, pd.DataFrame], conflicts: pd.DataFrame) -> dict[str, float | None]:
    reports, matches, log, accounts = (
        tables[name] for name in ("reports", "pathway_matches", "resolution_log", "accounting")
    )
    totals = {name: int(accounts[name].sum()) for name in ("rows_in", "originals_out", "rows_out")}
    taken_away = int(
        ((log["stage"] == "resolve") & log["event"].isin(["merged", "removed", "discarded"])).sum()
    )
    before = totals["rows_out"] + taken_away
    expanding = int(((matches["reason"] == "matched") & ~matches["generated"]).sum())
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
        "studies": len(reports),
        "patients": reports["subject_id"].nunique(),
        "delivered rows": totals["rows_in"],
        "stated findings that expand": expanding,
        "stated rows out": totals["originals_out"],
        "share of the stated rows out that expand": _share(expanding, totals["originals_out"]),
        "generated rows out": added,
        "generated rows out per stated row out": _share(added, totals["originals_out"]),
        "rows before resolution": before,
        "rows that resolution took away": taken_away,
        "rows out": totals["rows_out"],
        "conflicts": found,
        "conflicts per row before resolution": _share(found, before),
        **by_source,
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
