"""The paper's tables for any corpus, as tidy frames (implicit.md sections 5, 7, explicit.md sections 5, 6).

Everything is counted from the stored tables by SQL; nothing is computed again. Each count says in its name
what it counts, because the paper's own differ among themselves.
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import pandas as pd

from lunguage_assets.data_files import resource
from lunguage_assets.implicit.pathways.pathways import DiagnosisStatistics
from lunguage_assets.tables import CONFLICT_SOURCES, CONFLICT_TYPES
from lunguage_assets.tables.paper import (
    ALL_DIAGNOSES,
    ALL_FINDINGS,
    CERTAINTY_TABLE,
    CONFLICT_TABLE,
    CORPUS_FIGURES,
    EXPANSION_TABLE,
    FIT_MEASURES,
    FIT_TABLE,
)

_STRUCTURE = ("variants", "pathways", "depth", "width")
_OF_ALL = {"variants": "variants", "pathways": "pathways", "depth": "highest depth", "width": "highest width"}
_STATUSES = {
    "dp": "definitive_positive",
    "tp": "tentative_positive",
    "tn": "tentative_negative",
    "dn": "definitive_negative",
}

_GONE = "stage = 'resolve' AND event IN ('merged', 'removed', 'discarded')"
"""Events of RESOLUTION_LOG in which resolution takes a row away."""

_STATED = """
    SELECT diagnosis, status, count(*), count(*) FILTER (tentative AND nothing),
        list(p) FILTER (tentative AND NOT nothing)
    FROM (
        SELECT diagnosis, status, p, status IN ('tp', 'tn') AS tentative,
            coalesce(p_source, 'none') = 'none' AS nothing
        FROM (
            SELECT finding_id, status, source, currency FROM {lunguage_plus_plus}
            UNION ALL SELECT finding_id, status, source, currency FROM {resolution_log}
            WHERE event IN ('merged', 'removed')
        )
        JOIN (SELECT finding_id, diagnosis FROM {pathway_matches}) USING (finding_id)
        LEFT JOIN (SELECT finding_id, p, p_source FROM {fitted_probabilities}) USING (finding_id)
        WHERE source = 'original' AND currency = 'current dx'
    )
    GROUP BY diagnosis, status
"""
"""Stated current findings, those that were merged or removed too."""

_MATCHES = "SELECT finding_id AS own FROM {pathway_matches} WHERE "
_USE = {
    "stated": f"{_MATCHES} NOT generated",
    "expanded": f"{_MATCHES} reason = 'matched' AND NOT generated",
    "expanded_generated": f"{_MATCHES} reason = 'matched' AND generated",
    "generated": "SELECT split_part(finding_id, '/', 1) AS own FROM {pathway_matches} WHERE generated",
    "already_stated": "SELECT regexp_replace(finding_id, '/[^/]*$', '') AS own FROM {resolution_log} "
    "WHERE event = 'already stated'",
    "added": "SELECT split_part(finding_id, '/', 1) AS own FROM {lunguage_plus_plus} "
    "WHERE source = 'expansion'",
}
"""Findings whose diagnosis is counted. A generated row counts for the stated diagnosis below which it was
generated, at any depth; one that the report already states, for its immediate parent. Both are read from its
id, which goes on from its parent's.
"""

_CONFLICTS = (
    "SELECT conflict_type, source, count(*), count(*) FILTER (suppressed) FROM {conflicts} GROUP BY ALL"
)
_LOST = f"""
    SELECT conflict_type, source, count(*) FILTER (event = 'merged'), count(*) FILTER (event <> 'merged')
    FROM (
        SELECT DISTINCT conflict_type, source, finding_id, event
        FROM (SELECT conflict_type, source, unnest(finding_ids) AS finding_id FROM {{conflicts}})
        JOIN (SELECT finding_id, conflict_type, event FROM {{resolution_log}} WHERE {_GONE})
        USING (finding_id, conflict_type)
    ) GROUP BY ALL
"""
"""A row that takes part in conflicts of one type with rows of both kinds is counted in both."""

_SIZES = f"""
    SELECT (SELECT count(*) FROM {{reports}}), (SELECT count(DISTINCT subject_id) FROM {{reports}}),
        coalesce(sum(rows_in), 0)::BIGINT, coalesce(sum(originals_out), 0)::BIGINT,
        coalesce(sum(rows_out), 0)::BIGINT, (SELECT count(*) FROM {{resolution_log}} WHERE {_GONE})
    FROM {{accounting}}
"""


class Stored(Protocol):
    """Stored tables of whole studies (`NewestStudies`)."""

    def rows(self, name: str) -> str:
        """SQL for the rows of a table."""

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""


@cache
def published_values() -> dict[str, Any]:
    """Published values of the paper's corpus and judges (`resources/published_tables.toml`)."""
    return tomllib.loads(resource("published_tables.toml").read_text("utf-8"))


def is_the_published_corpus(rows: int, studies: int, patients: int) -> bool:
    """True of a corpus with as many delivered rows, studies and patients as the paper's.

    Neither a corpus' name nor a file's hash would do: a person names the one, and a column more or another
    line end changes the other.
    """
    corpus = published_values()["corpus"]
    return (rows, studies, patients) == (corpus["rows"], corpus["studies"], corpus["patients"])


@dataclass(frozen=True)
class PaperTables:
    """CERTAINTY_TABLE, FIT_TABLE, EXPANSION_TABLE, CONFLICT_TABLE and CORPUS_FIGURES of one corpus."""

    certainty: pd.DataFrame
    fit: pd.DataFrame
    expansion: pd.DataFrame
    conflicts: pd.DataFrame
    figures: pd.DataFrame


def paper_tables(stored: Stored, statistics: Sequence[DiagnosisStatistics]) -> PaperTables:
    """All tables, with the published values beside; counts of the paper's corpus stand beside that one only.

    Args:
        stored: `reports`, `pathway_matches`, `lunguage_plus_plus`, `resolution_log`, `conflicts`,
            `accounting` and `fitted_probabilities`.
        statistics: the structure of the pathway dictionary in use (`PathwayDictionary.statistics`).
    """
    ((studies, patients, rows_in, originals, rows_out, taken_away),) = counted(stored, _SIZES)
    published = published_values()
    is_published = is_the_published_corpus(rows_in, studies, patients)
    beside = published if is_published else {part: {} for part in published}
    used = {use: _by_diagnosis(stored, own) for use, own in _USE.items()}
    conflicts = _conflict_table(stored, beside)
    before, added, expanding = rows_out + taken_away, rows_out - originals, used["expanded"].total()
    disagreeing = conflicts[~conflicts["conflict_type"].isin(["repeat_dp", "repeat_dn"])]
    found, by_source = int(disagreeing["conflicts"].sum()), disagreeing.groupby("source")["conflicts"].sum()
    figures: dict[str, float | None] = {
        **_structure(statistics),
        "studies": studies,
        "patients": patients,
        "delivered rows": rows_in,
        "stated findings that expand": expanding,
        "stated rows out": originals,
        "share of the stated rows out that expand": _share(expanding, originals),
        "generated rows out": added,
        "generated rows out per stated row out": _share(added, originals),
        "rows before resolution": before,
        "rows that resolution took away": taken_away,
        "rows out": rows_out,
        "conflicts": found,
        "conflicts per row before resolution": _share(found, before),
        **{f"conflicts per row: {one}": _share(int(by_source[one]), before) for one in CONFLICT_SOURCES},
    }
    return PaperTables(
        _certainty_table(stored, [line.diagnosis for line in statistics]),
        _fit_table(stored, published["fit"]),
        _expansion_table(used, statistics, beside),
        conflicts,
        CORPUS_FIGURES.frame(
            {
                "measure": name,
                "value": value,
                "published": beside["figures"].get(name),
                "note": beside["notes"].get(name, ""),
            }
            for name, value in figures.items()
        ),
    )


def counted(stored: Stored, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query in which {name} stands for the rows of a table."""

    class Tables(dict[str, str]):
        def __missing__(self, name: str) -> str:
            return stored.rows(name)

    return stored.query(sql.format_map(Tables()))


def _by_diagnosis(stored: Stored, own: str) -> Counter[str]:
    sql = f"SELECT diagnosis, count(*) FROM ({own}) JOIN {{pathway_matches}} ON finding_id = own GROUP BY ALL"
    return Counter(dict(counted(stored, sql)))


def _certainty_table(stored: Stored, diagnoses: Sequence[str]) -> pd.DataFrame:
    """Statuses and p by diagnosis, in the order given (the paper's Table 2)."""
    statuses: Counter[tuple[str, str]] = Counter()
    unknown: Counter[str] = Counter()
    known: dict[str, list[float]] = defaultdict(list)
    for name, status, count, nothing, p in counted(stored, _STATED):
        statuses[name, status] += count
        unknown[name] += nothing
        known[name] += p or []
    found = {name for name, _ in statuses}
    lines = []
    every = {ALL_DIAGNOSES: found - {""}, ALL_FINDINGS: found}
    for title, names in {**{name: {name} for name in diagnoses}, **every}.items():
        counts = {column: sum(statuses[name, one] for name in names) for one, column in _STATUSES.items()}
        total = sum(counts.values())
        spread = _spread([p for name in names for p in known.get(name, ())])
        lines.append(
            {"diagnosis": title, **counts, "total": total}
            | {f"percent_{column}": percent(count, total) for column, count in counts.items()}
            | {"no_information": sum(unknown[name] for name in names)}
            | dict(zip(("p_mean", "p_sd", "p_min", "p_max"), spread, strict=True))
        )
    return CERTAINTY_TABLE.frame(lines)


def _fit_table(stored: Stored, published: Mapping[str, Any]) -> pd.DataFrame:
    """Steps, rank (from 1), mu and p of the findings with a place of their own; the published values stand
    beside, whatever the corpus is.
    """
    names = ("mean", "sd", "minimum", "maximum")
    fitted = "FROM {fitted_probabilities} WHERE p_source = 'fitted'"
    (values,) = counted(stored, f"SELECT list(steps), list(rank + 1), list(mu), list(p) {fitted}")
    return FIT_TABLE.frame(
        {"measure": measure, "n": len(found or ())}
        | dict(zip(names, _spread(found or ()), strict=True))
        | {f"published_{name}": published.get(measure, {}).get(name) for name in names}
        for measure, found in zip(FIT_MEASURES, values, strict=True)
    )


def _expansion_table(
    used: Mapping[str, Counter[str]],
    statistics: Sequence[DiagnosisStatistics],
    published: Mapping[str, Any],
) -> pd.DataFrame:
    """Structure and use of the pathways, in the order of `statistics` (the paper's Table 3)."""
    names = [line.diagnosis for line in statistics]
    every = sum(used["added"][name] for name in names)

    def use_of(counted: Sequence[str]) -> dict[str, float | None]:
        uses: dict[str, Any] = {use: sum(count[name] for name in counted) for use, count in used.items()}
        shares = percent(uses["expanded"], uses["stated"]), percent(uses["added"], every)
        return uses | dict(zip(("percent_expanded", "percent_added"), shares, strict=True))

    lines = []
    for line in statistics:
        beside = published["structure"].get(line.diagnosis, {})
        lines.append(
            {"diagnosis": line.diagnosis}
            | {part: getattr(line, part) for part in _STRUCTURE}
            | {f"published_{part}": beside.get(part) for part in _STRUCTURE}
            | use_of([line.diagnosis])
        )
    own, figures = _structure(statistics), published["figures"]
    lines.append(
        {"diagnosis": ALL_DIAGNOSES}
        | {part: own[measure] for part, measure in _OF_ALL.items()}
        | {f"published_{part}": figures.get(measure) for part, measure in _OF_ALL.items()}
        | use_of(names)
    )
    return EXPANSION_TABLE.frame(lines)


def _conflict_table(stored: Stored, published: Mapping[str, Any]) -> pd.DataFrame:
    """All types and sources, those that do not occur with zeros (the paper's cross table)."""
    conflicts, lost = (
        {(kind, source): counts for kind, source, *counts in counted(stored, sql)}
        for sql in (_CONFLICTS, _LOST)
    )
    lines = []
    for kind in CONFLICT_TYPES:
        beside = published["conflicts"].get(kind)
        for number, source in enumerate(CONFLICT_SOURCES):
            counts = *conflicts.get((kind, source), (0, 0)), *lost.get((kind, source), (0, 0))
            lines.append(
                {"conflict_type": kind, "source": source, "published": beside[number] if beside else None}
                | dict(zip(("conflicts", "suppressed", "merged", "removed"), counts, strict=True))
            )
    return CONFLICT_TABLE.frame(lines)


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


def percent(part: float, whole: float) -> float | None:
    """A share in percent; None of nothing."""
    return 100.0 * part / whole if whole else None


def _spread(values: Iterable[float]) -> tuple[float | None, ...]:
    """Mean, standard deviation (population), minimum and maximum, of nothing None; whatever the order."""
    known = pd.Series(sorted(values), dtype="float64")
    return (known.mean(), known.std(ddof=0), known.min(), known.max()) if len(known) else (None,) * 4
