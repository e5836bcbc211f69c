"""Counts the paper's tables on any corpus, as tidy frames.

Sections 5 and 7 of implicit.md, 5 and 6 of explicit.md. Everything is counted from the
stored tables by the queries of `resources/paper_tables.sql`. Each count says in its
name what it counts, because the paper's own differ among themselves. What the paper
prints is in `published_values.py`; how tables look on the report's page in
`page_tables.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit.analysis.agreement import wilson
from lunguage_assets.implicit.pathways.pathways import DiagnosisStatistics
from lunguage_assets.release.newest import NewestStudies, named_queries, quoted
from lunguage_assets.release.published_values import (
    is_the_published_corpus,
    published_values,
)
from lunguage_assets.tables.columns import CONFLICT_SOURCES, CONFLICT_TYPES
from lunguage_assets.tables.released import (
    ALL_DIAGNOSES,
    ALL_FINDINGS,
    CERTAINTY_TABLE,
    CONFLICT_TABLE,
    CORPUS_FIGURES,
    EXPANSION_TABLE,
    FIT_MEASURES,
    FIT_TABLE,
    LABEL_TABLE,
    PUBLISHED_CERTAINTY,
    SPREAD,
    STATUS_COLUMNS,
    STRUCTURE,
)

_USES = (
    "stated",
    "expanded",
    "expanded_generated",
    "generated",
    "already_stated",
    "added",
)
"""Columns of EXPANSION_TABLE, and queries that count findings by diagnosis."""
_FIGURE_BY_STRUCTURE = {
    "variants": "variants",
    "pathways": "pathways",
    "depth": "highest depth",
    "width": "highest width",
}
"""Column of EXPANSION_TABLE -> the figure of the corpus that is its value for all."""
_SOURCES_WITH_EXPANSIONS = CONFLICT_SOURCES[1:]
_PUBLISHED = "published_"

Published = Mapping[str, Mapping[str, Any]]
"""Sections of `published_values`; all empty where the corpus is not the paper's."""


def _query(name: str, **values: str) -> str:
    """Take a query with values in the place of its names in braces."""
    return named_queries("paper_tables.sql")[name].format(**values)


def paper_tables(
    stored: NewestStudies, statistics: Sequence[DiagnosisStatistics]
) -> dict[str, pd.DataFrame]:
    """Count the `PAPER_TABLES` of a corpus, with the published values beside.

    Published counts stand beside the paper's own corpus only: beside another one they
    would look like a comparison.

    Args:
        stored: the tables of the release.
        statistics: of the pathway dictionary in use (`PathwayDictionary.statistics`).
    """
    (sizes,) = stored.records(_query("sizes"))
    published = published_values()
    is_published = is_the_published_corpus(
        sizes["rows_in"], sizes["studies"], sizes["patients"]
    )
    beside: Published = published
    if not is_published:
        beside = {section: {} for section in published}
    count_by_use = {use: Counter(dict(stored.query(_query(use)))) for use in _USES}
    diagnoses = [line.diagnosis for line in statistics]
    structure = _structure(statistics)
    conflicts = _conflict_table(stored, beside["conflicts"])
    figures = {
        **structure,
        **_size_figures(sizes, count_by_use["expanded"].total()),
        **_conflict_figures(conflicts, _rows_before_resolution(sizes)),
    }
    return {
        "certainty": _certainty_table(stored, diagnoses, published, is_published),
        "fit": _fit_table(stored, published["fit"]),
        "expansion": _expansion_table(count_by_use, statistics, structure, beside),
        "conflicts": conflicts,
        "figures": _figure_table(figures, beside),
    }


def label_table(stored: NewestStudies, file: Path) -> pd.DataFrame:
    """Count what the studies say of each label, from a file of LABELS."""
    lines = []
    for counts in stored.records(_query("labels", file=quoted(str(file)))):
        prevalence = wilson(counts["likely"], counts["studies"])
        interval = {
            "prevalence": prevalence["value"],
            "prevalence_low": prevalence["low"],
            "prevalence_high": prevalence["high"],
        }
        lines.append(counts | interval)
    return LABEL_TABLE.frame(lines)


def _rows_before_resolution(sizes: Mapping[str, int]) -> int:
    return sizes["rows_out"] + sizes["taken_away"]


def _size_figures(sizes: Mapping[str, int], expanding: int) -> dict[str, float | None]:
    """Name the sizes of a corpus, and their ratios, as the paper's text does."""
    originals = sizes["originals_out"]
    added = sizes["rows_out"] - originals
    return {
        "studies": sizes["studies"],
        "patients": sizes["patients"],
        "delivered rows": sizes["rows_in"],
        "stated findings that expand": expanding,
        "stated rows out": originals,
        "share of the stated rows out that expand": _share(expanding, originals),
        "generated rows out": added,
        "generated rows out per stated row out": _share(added, originals),
        "rows before resolution": _rows_before_resolution(sizes),
        "rows that resolution took away": sizes["taken_away"],
        "rows out": sizes["rows_out"],
    }


def _conflict_figures(
    conflicts: pd.DataFrame, rows_before: int
) -> dict[str, float | None]:
    """Count conflicts as the paper's text does: all, by source, and of polarity.

    Args:
        conflicts: a CONFLICT_TABLE frame.
        rows_before: rows before resolution.
    """
    # The paper does not count equal definite statements.
    is_repeated = conflicts["conflict_type"].isin(["repeat_dp", "repeat_dn"])
    by_source = conflicts[~is_repeated].groupby("source")["conflicts"].sum()
    is_polarity = conflicts["conflict_type"] == "polarity"
    polarity = conflicts[is_polarity].set_index("source")["conflicts"]
    total = int(by_source.sum())
    with_expansions = int(by_source[[*_SOURCES_WITH_EXPANSIONS]].sum())

    figures: dict[str, float | None] = {
        "conflicts": total,
        "conflicts per row before resolution": _share(total, rows_before),
    }
    for source in CONFLICT_SOURCES:
        per_row = _share(int(by_source[source]), rows_before)
        figures[f"conflicts per row: {source}"] = per_row
    figures["conflicts with expansions"] = with_expansions
    figures["conflicts with expansions per row"] = _share(with_expansions, rows_before)
    for source in _SOURCES_WITH_EXPANSIONS:
        figures[f"conflicts: {source}"] = int(by_source[source])
    for source in _SOURCES_WITH_EXPANSIONS:
        share = _share(int(polarity[source]), int(by_source[source]))
        figures[f"share of polarity in conflicts: {source}"] = share
    return figures


def _figure_table(
    figures: Mapping[str, float | None], beside: Published
) -> pd.DataFrame:
    return CORPUS_FIGURES.frame(
        {
            "measure": measure,
            "value": value,
            "published": beside["figures"].get(measure),
            "note": beside["notes"].get(measure, ""),
        }
        for measure, value in figures.items()
    )


def _certainty_table(
    stored: NewestStudies,
    diagnoses: Sequence[str],
    published: Published,
    is_published: bool,
) -> pd.DataFrame:
    """Count statuses and p by diagnosis, in the order given (the paper's Table 2).

    Args:
        stored: the tables of the release.
        diagnoses: of the pathway dictionary.
        published: `published_values()`.
        is_published: whether this corpus is the paper's.
    """
    stated_current = _query("stated_current")
    counted = stored.frame(_query("certainty", stated_current=stated_current))
    # "" is what is no diagnosis: it counts among all findings alone.
    names = sorted(set(counted["diagnosis"]))
    # Of an archive these are millions of rows, so the diagnosis comes as a number.
    p_by_row = stored.columns(
        _query(
            "certainty_p",
            stated_current=stated_current,
            diagnoses=f"[{', '.join(map(quoted, names))}]::VARCHAR[]",
        )
    )
    number_by_name = {name: number for number, name in enumerate(names, start=1)}
    groups = {
        **{diagnosis: [diagnosis] for diagnosis in diagnoses},
        ALL_DIAGNOSES: [name for name in names if name],
        ALL_FINDINGS: names,
    }
    printed = _published_certainty(published, is_published)
    lines = []
    for title, members in groups.items():
        numbers = [number_by_name[name] for name in members if name in number_by_name]
        p_of_group = p_by_row["p"][np.isin(p_by_row["diagnosis"], numbers)]
        rows_of_group = counted[counted["diagnosis"].isin(members)]
        line = _certainty_line(rows_of_group, p_of_group)
        lines.append({"diagnosis": title} | line | printed.get(title, {}))
    empty = dict.fromkeys(CERTAINTY_TABLE.names)
    return CERTAINTY_TABLE.frame(empty | line for line in lines)


def _certainty_line(counted: pd.DataFrame, p: NDArray[Any]) -> dict[str, Any]:
    """Sum up the rows of some diagnoses.

    Args:
        counted: rows of the query `certainty`.
        p: of the tentative ones that have one.
    """
    rows_by_status = counted.groupby("status")["rows"].sum()
    line: dict[str, Any] = {
        column: int(rows_by_status.get(status, 0))
        for status, column in STATUS_COLUMNS.items()
    }
    total = sum(line.values())
    percents = {
        f"percent_{column}": _percent(count, total) for column, count in line.items()
    }
    spread = _spread(p)
    return {
        **line,
        "total": total,
        **percents,
        "no_information": int(counted["without_p"].sum()),
        "p_mean": spread["mean"],
        "p_sd": spread["sd"],
        "p_min": spread["minimum"],
        "p_max": spread["maximum"],
    }


def _published_certainty(
    published: Published, is_published: bool
) -> dict[str, dict[str, float]]:
    """Take what Table 2 prints by diagnosis, by column of CERTAINTY_TABLE.

    p stands beside any corpus, counts beside the paper's own alone.
    """
    of_all = published["fit"]["p"]
    printed = {
        **published["certainty"],
        ALL_FINDINGS: {
            "p_mean": of_all["mean"],
            "p_sd": of_all["sd"],
            "p_min": of_all["minimum"],
            "p_max": of_all["maximum"],
        },
    }
    return {
        diagnosis: {
            f"{_PUBLISHED}{name}": value
            for name, value in values.items()
            if is_published or name not in PUBLISHED_CERTAINTY
        }
        for diagnosis, values in printed.items()
    }


def _fit_table(
    stored: NewestStudies, published: Mapping[str, Mapping[str, float]]
) -> pd.DataFrame:
    """Sum up steps, rank (from 1), mu and p of the findings that were compared."""
    values_by_measure = stored.columns(_query("fit"))
    lines = []
    for measure in FIT_MEASURES:
        values = values_by_measure[measure]
        printed = published.get(measure, {})
        published_spread = {f"{_PUBLISHED}{name}": printed.get(name) for name in SPREAD}
        line = {"measure": measure, "n": len(values)}
        lines.append({**line, **_spread(values), **published_spread})
    return FIT_TABLE.frame(lines)


def _expansion_table(
    count_by_use: Mapping[str, Counter[str]],
    statistics: Sequence[DiagnosisStatistics],
    structure: Mapping[str, float | None],
    beside: Published,
) -> pd.DataFrame:
    """Count structure and use of the pathways (the paper's Table 3).

    Args:
        count_by_use: findings by diagnosis, by column of `_USES`.
        statistics: of the diagnoses, in the order of the table.
        structure: of all pathways.
        beside: what is published.
    """
    diagnoses = [line.diagnosis for line in statistics]
    added_in_all = sum(count_by_use["added"][name] for name in diagnoses)
    lines = []
    for pathways in statistics:
        printed = beside["structure"].get(pathways.diagnosis, {})
        lines.append(
            {
                "diagnosis": pathways.diagnosis,
                **{part: getattr(pathways, part) for part in STRUCTURE},
                **{f"{_PUBLISHED}{part}": printed.get(part) for part in STRUCTURE},
                **_uses([pathways.diagnosis], count_by_use, added_in_all),
            }
        )
    of_all: dict[str, Any] = {
        "diagnosis": ALL_DIAGNOSES,
        **_uses(diagnoses, count_by_use, added_in_all),
    }
    for part, figure in _FIGURE_BY_STRUCTURE.items():
        of_all[part] = structure[figure]
        of_all[f"{_PUBLISHED}{part}"] = beside["figures"].get(figure)
    lines.append(of_all)
    for line in lines:
        printed = beside["expansion"].get(line["diagnosis"], {})
        for use in ("expanded", "added"):
            line[f"{_PUBLISHED}{use}"] = printed.get(use)
    return EXPANSION_TABLE.frame(lines)


def _uses(
    diagnoses: Sequence[str],
    count_by_use: Mapping[str, Counter[str]],
    added_in_all: int,
) -> dict[str, float | None]:
    """Sum up how the pathways of some diagnoses are used, in counts and percents."""
    uses = {
        use: sum(counts[diagnosis] for diagnosis in diagnoses)
        for use, counts in count_by_use.items()
    }
    return {
        **uses,
        "percent_expanded": _percent(uses["expanded"], uses["stated"]),
        "percent_added": _percent(uses["added"], added_in_all),
    }


def _conflict_table(
    stored: NewestStudies, published: Mapping[str, Sequence[int]]
) -> pd.DataFrame:
    """Count conflicts by type and source, those that do not occur too.

    Args:
        stored: the tables of the release.
        published: counts by type, in the order of CONFLICT_SOURCES.
    """
    counts_by_conflict: dict[tuple[str, str], dict[str, Any]] = {}
    for query in ("conflicts", "lost"):
        for counts in stored.records(_query(query)):
            key = (counts["conflict_type"], counts["source"])
            counts_by_conflict.setdefault(key, {}).update(counts)
    # A conflict that never occurs is a line of zeros: it was looked for.
    no_counts = dict.fromkeys(("conflicts", "suppressed", "merged", "removed"), 0)
    not_printed = [None] * len(CONFLICT_SOURCES)
    lines = []
    for conflict_type in CONFLICT_TYPES:
        printed = published.get(conflict_type, not_printed)
        for source, value in zip(CONFLICT_SOURCES, printed, strict=True):
            line = {"conflict_type": conflict_type, "source": source, **no_counts}
            counts = counts_by_conflict.get((conflict_type, source), {})
            lines.append(line | counts | {"published": value})
    return CONFLICT_TABLE.frame(lines)


def _structure(statistics: Sequence[DiagnosisStatistics]) -> dict[str, float | None]:
    """Sum up the pathways of all diagnoses."""
    depths = [line.depth for line in statistics]
    widths = [line.width for line in statistics]
    return {
        "diagnoses": len(statistics),
        "variants": sum(line.variants for line in statistics),
        "pathways": sum(line.pathways for line in statistics),
        "mean depth": _share(sum(depths), len(depths)),
        "highest depth": max(depths, default=0),
        "mean width": _share(sum(widths), len(widths)),
        "highest width": max(widths, default=0),
    }


def _share(part: float, total: float) -> float | None:
    return part / total if total else None


def _percent(part: float, total: float) -> float | None:
    return 100.0 * part / total if total else None


def _spread(values: NDArray[Any]) -> dict[str, float | None]:
    """Find mean, standard deviation (population), minimum and maximum of some values.

    None of nothing. Rows come in any order; sorted, their sums are equal to the last
    bit.
    """
    if not len(values):
        return dict.fromkeys(SPREAD)
    ordered = pd.Series(np.sort(np.asarray(values, dtype="float64")))
    return {
        "mean": ordered.mean(),
        "sd": ordered.std(ddof=0),
        "minimum": ordered.min(),
        "maximum": ordered.max(),
    }
