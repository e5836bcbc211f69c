"""The paper's tables for any corpus, as tidy frames (implicit.md sections 5, 7, explicit.md sections 5, 6).

Everything is counted from the stored tables (`resources/paper_tables.sql`). Each count says in its name
what it counts, because the paper's own differ among themselves.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit.analysis.agreement import wilson
from lunguage_assets.explicit.analysis.experts import OCCUPATION_PREFIX
from lunguage_assets.implicit.pathways.pathways import DiagnosisStatistics
from lunguage_assets.packaged_data import resource
from lunguage_assets.release.newest import NewestStudies
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
"""Columns of EXPANSION_TABLE, and queries of findings by diagnosis."""


@cache
def _queries() -> dict[str, str]:
    """The queries of `resources/paper_tables.sql` by name."""
    text = resource("paper_tables.sql").read_text("utf-8")
    _, *parts = re.split(r"^-- name: (\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def published_values() -> dict[str, Any]:
    """Published values of the paper's corpus and judges (`resources/published_tables.toml`)."""
    return tomllib.loads(resource("published_tables.toml").read_text("utf-8"))


def published_experts() -> pd.DataFrame:
    """The paper's Table 1: a line per expert with occupation, role and experience, and the share of pairs on
    which each agrees with the ranking (`panel`) and each model.
    """
    lines = [
        {name: expert[name] for name in ("occupation", "role", "experience")}
        | expert["agrees_with"]
        for expert in published_values()["experts"]
    ]
    return pd.DataFrame(lines)


def printed_agreement(frame: pd.DataFrame, of: str) -> pd.Series:
    """The published agreement beside every row of a table of agreement; NaN where none is printed.

    Args:
        frame: a `JUDGE_AGREEMENT` or `EXPERT_AGREEMENT` frame.
        of: `judges` or `experts`.
    """
    published = {(*key,): value for *key, value in published_values()["agreement"][of]}
    keys = frame[["measure", "coding", "first", "second"]].itertuples(
        index=False, name=None
    )
    return pd.Series(map(published.get, keys), index=frame.index, dtype="float64")


def printed_agreement_of_groups(frame: pd.DataFrame) -> pd.Series:
    """The published agreement beside every row of an `EXPERT_AGREEMENT` frame of groups.

    The averages of all experts are printed. Those of a role or an occupation are means of the printed shares
    of its experts, to the digits that these have; NaN where the paper has no such expert.
    """
    of_all = printed_agreement(frame, "experts").where(frame["group"] == "all")
    of_groups = [
        _mean_of_printed(row["group"], row["second"])
        if row["measure"] in ("with ranking", "with judge")
        else None
        for row in frame.to_dict("records")
    ]
    return of_all.fillna(pd.Series(of_groups, index=frame.index, dtype="float64"))


def _mean_of_printed(group: str, reference: str) -> float | None:
    """The mean share of the paper's experts of a role or an occupation; None for others."""
    experts = published_experts()
    occupation = group.removeprefix(OCCUPATION_PREFIX)
    of_group = experts[
        (experts["role"] == group) | (experts["occupation"] == occupation)
    ]
    if of_group.empty or reference not in experts.columns:
        return None
    return round(float(of_group[reference].mean()), 2)


def is_the_published_corpus(rows: int, studies: int, patients: int) -> bool:
    """True of a corpus with as many delivered rows, studies and patients as the paper's."""
    corpus = published_values()["corpus"]
    return (rows, studies, patients) == (
        corpus["rows"],
        corpus["studies"],
        corpus["patients"],
    )


def paper_tables(
    stored: NewestStudies, statistics: Sequence[DiagnosisStatistics]
) -> dict[str, pd.DataFrame]:
    """The `PAPER_TABLES` of one corpus, with the published values beside; counts of the paper's corpus stand
    beside that one only. `statistics`: of the pathway dictionary in use (`PathwayDictionary.statistics`).
    """
    ((studies, patients, rows_in, originals, rows_out, taken_away),) = stored.query(
        _queries()["sizes"]
    )
    published = published_values()
    is_published = is_the_published_corpus(rows_in, studies, patients)
    beside = published if is_published else {part: {} for part in published}
    used = {use: Counter(dict(stored.query(_queries()[use]))) for use in _USES}
    conflicts = _conflict_table(stored, beside["conflicts"])
    before, added, expanding = (
        rows_out + taken_away,
        rows_out - originals,
        used["expanded"].total(),
    )
    structure = _structure(statistics)
    figures: dict[str, float | None] = {
        **structure,
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
        **_conflict_figures(conflicts, before),
    }
    printed, notes = beside["figures"], beside["notes"]
    return {
        "certainty": _certainty_table(
            stored, [line.diagnosis for line in statistics], published, is_published
        ),
        "fit": _fit_table(stored, published["fit"]),
        "expansion": _expansion_table(used, statistics, structure, beside),
        "conflicts": conflicts,
        "figures": CORPUS_FIGURES.frame(
            {
                "measure": name,
                "value": value,
                "published": printed.get(name),
                "note": notes.get(name, ""),
            }
            for name, value in figures.items()
        ),
    }


def label_table(stored: NewestStudies, file: Path) -> pd.DataFrame:
    """A LABEL_TABLE frame of a file of LABELS."""
    lines = []
    query = _queries()["labels"].replace("{file}", str(file).replace("'", "''"))
    for label, studies, positive, *counts in stored.query(query):
        share = wilson(positive, studies)
        interval = share.value, share.low, share.high
        lines.append(
            dict(zip(LABEL_TABLE.names, (label, *interval, *counts), strict=True))
        )
    return LABEL_TABLE.frame(lines)


def _conflict_figures(conflicts: pd.DataFrame, before: int) -> dict[str, float | None]:
    """Count conflicts as the paper's text does: all, by source, and the share of polarity.

    Args:
        conflicts: a CONFLICT_TABLE frame. The paper does not count equal definite statements.
        before: rows before resolution.
    """
    counted = conflicts[~conflicts["conflict_type"].isin(["repeat_dp", "repeat_dn"])]
    by_source = counted.groupby("source")["conflicts"].sum()
    polarity = counted[counted["conflict_type"] == "polarity"].set_index("source")[
        "conflicts"
    ]
    total = int(by_source.sum())
    _, *with_expansions = CONFLICT_SOURCES
    of_expansions = int(by_source[with_expansions].sum())
    return {
        "conflicts": total,
        "conflicts per row before resolution": _share(total, before),
        **{
            f"conflicts per row: {one}": _share(int(by_source[one]), before)
            for one in CONFLICT_SOURCES
        },
        "conflicts with expansions": of_expansions,
        "conflicts with expansions per row": _share(of_expansions, before),
        **{f"conflicts: {one}": int(by_source[one]) for one in with_expansions},
        **{
            f"share of polarity in conflicts: {one}": _share(
                int(polarity[one]), int(by_source[one])
            )
            for one in with_expansions
        },
    }


def _published_certainty(
    published: Mapping[str, Any], is_published: bool
) -> dict[str, dict[str, float]]:
    """What Table 2 prints by diagnosis, by column: p for any corpus, counts for the paper's own alone."""
    printed = dict(published["certainty"])
    every = published["fit"]["p"]
    ends = {"p_min": every["minimum"], "p_max": every["maximum"]}
    printed[ALL_FINDINGS] = {"p_mean": every["mean"], "p_sd": every["sd"], **ends}
    return {
        diagnosis: {
            f"published_{name}": value
            for name, value in values.items()
            if is_published or name not in PUBLISHED_CERTAINTY
        }
        for diagnosis, values in printed.items()
    }


def _certainty_table(
    stored: NewestStudies,
    diagnoses: Sequence[str],
    published: Mapping[str, Any],
    is_published: bool,
) -> pd.DataFrame:
    """Statuses and p by diagnosis, in the order given (the paper's Table 2).

    Args:
        stored: the tables of the release.
        diagnoses: of the pathway dictionary.
        published: `published_values()`.
        is_published: whether this corpus is the paper's.
    """
    printed = _published_certainty(published, is_published)
    published_columns = [
        name for name in CERTAINTY_TABLE.names if name.startswith("published_")
    ]
    rows_of_status = _queries()["stated_current"]
    statuses: Counter[tuple[str, str]] = Counter()
    unknown: Counter[str] = Counter()
    counted = _queries()["certainty"].replace("{stated_current}", rows_of_status)
    for name, status, count, nothing in stored.query(counted):
        statuses[name, status] += count
        unknown[name] += nothing
    names_in_order = sorted({name for name, _ in statuses})
    quoted = ", ".join("'" + name.replace("'", "''") + "'" for name in names_in_order)
    listed = _queries()["certainty_p"].replace("{stated_current}", rows_of_status)
    p_of_rows = stored.columns(listed.replace("{diagnoses}", f"[{quoted}]::VARCHAR[]"))
    known = {
        name: p_of_rows["p"][p_of_rows["diagnosis"] == number]
        for number, name in enumerate(names_in_order, start=1)
    }
    found = {name for name, _ in statuses}
    groups = {name: {name} for name in diagnoses} | {
        ALL_DIAGNOSES: found - {""},
        ALL_FINDINGS: found,
    }
    lines = []
    for title, names in groups.items():
        counts = {
            column: sum(statuses[name, status] for name in names)
            for status, column in STATUS_COLUMNS.items()
        }
        total = sum(counts.values())
        spread = _spread([known[name] for name in names if name in known])
        lines.append(
            {"diagnosis": title, **counts, "total": total}
            | {
                f"percent_{column}": _percent(count, total)
                for column, count in counts.items()
            }
            | {"no_information": sum(unknown[name] for name in names)}
            | dict(zip(("p_mean", "p_sd", "p_min", "p_max"), spread, strict=True))
            | {name: printed.get(title, {}).get(name) for name in published_columns}
        )
    return CERTAINTY_TABLE.frame(lines)


def _fit_table(stored: NewestStudies, published: Mapping[str, Any]) -> pd.DataFrame:
    """Steps, rank (from 1), mu and p of the findings with a place of their own, beside the published ones."""
    values = stored.columns(_queries()["fit"])
    return FIT_TABLE.frame(
        {"measure": measure, "n": len(found)}
        | dict(zip(SPREAD, _spread([found]), strict=True))
        | {f"published_{name}": published.get(measure, {}).get(name) for name in SPREAD}
        for measure, found in zip(FIT_MEASURES, values.values(), strict=True)
    )


def _expansion_table(
    used: Mapping[str, Counter[str]],
    statistics: Sequence[DiagnosisStatistics],
    structure: Mapping[str, Any],
    beside: Mapping[str, Any],
) -> pd.DataFrame:
    """Structure and use of the pathways, in the order of `statistics` (the paper's Table 3)."""
    diagnoses = [one.diagnosis for one in statistics]
    groups = [(one.diagnosis, [one.diagnosis], one._asdict()) for one in statistics]
    of_all = dict(
        zip(
            STRUCTURE,
            ("variants", "pathways", "highest depth", "highest width"),
            strict=True,
        )
    )
    groups.append(
        (
            ALL_DIAGNOSES,
            diagnoses,
            {part: structure[name] for part, name in of_all.items()},
        )
    )
    printed = {
        ALL_DIAGNOSES: {
            part: beside["figures"].get(name) for part, name in of_all.items()
        }
    }
    printed |= beside["structure"]
    every = sum(used["added"][name] for name in diagnoses)
    lines = []
    for title, names, own in groups:
        uses = {use: sum(count[name] for name in names) for use, count in used.items()}
        lines.append(
            {"diagnosis": title, **uses}
            | {part: own[part] for part in STRUCTURE}
            | {
                f"published_{part}": printed.get(title, {}).get(part)
                for part in STRUCTURE
            }
            | {"percent_expanded": _percent(uses["expanded"], uses["stated"])}
            | {"percent_added": _percent(uses["added"], every)}
            | {
                f"published_{use}": beside["expansion"].get(title, {}).get(use)
                for use in ("expanded", "added")
            }
        )
    return EXPANSION_TABLE.frame(lines)


def _conflict_table(
    stored: NewestStudies, published: Mapping[str, Sequence[int]]
) -> pd.DataFrame:
    """All types and sources, those that do not occur with zeros (the paper's cross table)."""
    conflicts, lost = (
        {
            (kind, source): counts
            for kind, source, *counts in stored.query(_queries()[name])
        }
        for name in ("conflicts", "lost")
    )
    names = ("conflicts", "suppressed", "merged", "removed")
    lines = []
    for kind in CONFLICT_TYPES:
        for source, printed in zip(
            CONFLICT_SOURCES, published.get(kind, (None, None, None)), strict=True
        ):
            counts = (
                *conflicts.get((kind, source), (0, 0)),
                *lost.get((kind, source), (0, 0)),
            )
            line = {"conflict_type": kind, "source": source, "published": printed}
            lines.append({**line, **dict(zip(names, counts, strict=True))})
    return CONFLICT_TABLE.frame(lines)


def _structure(statistics: Sequence[DiagnosisStatistics]) -> dict[str, float | None]:
    depth, width = (
        [line.depth for line in statistics],
        [line.width for line in statistics],
    )
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


def _percent(part: float, whole: float) -> float | None:
    return 100.0 * part / whole if whole else None


def _spread(parts: Sequence[NDArray[Any]]) -> tuple[float | None, ...]:
    """Mean, standard deviation (population), minimum and maximum, of nothing None; whatever the order."""
    values = np.sort(
        np.concatenate([np.empty(0), *map(np.asarray, parts)])
    )  # equal sums, to the last bit
    known = pd.Series(values, dtype="float64")
    return (
        (known.mean(), known.std(ddof=0), known.min(), known.max())
        if len(known)
        else (None,) * 4
    )
