"""Rows by the cue that decided them, and how many of them people coded otherwise.

The worst cue stands first: where to read first. Rows are matched with people's as in
`agreement.py`. Cues are those of `docs/method/assertion.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from lunguage_assets.structuring.agreement import matched_rows
from lunguage_assets.tables.columns import STATUSES
from lunguage_assets.tables.corpus import CUE_COUNTS

_COUNTED = ("rows", *STATUSES, "compared", "differing")
"""Columns that are added up over batches."""


def cue_counts(
    findings_by_structurer: Mapping[str, pd.DataFrame],
    gold: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Count rows by cue: `tables.CUE_COUNTS`, worst cue first.

    A row that several cues decided counts for each of them.

    Args:
        findings_by_structurer: `tables.STRUCTURED_FINDINGS`; a structurer that names no
            cue, such as a language model, is left out.
        gold: rows that people coded, as of `agreement.gold_rows`; None: there are none.
    """
    counts = [
        _counts_of(structurer, findings, gold)
        for structurer, findings in findings_by_structurer.items()
        if (findings["cues"] != "").any()
    ]
    return summed_cue_counts(counts)


def summed_cue_counts(counts_by_batch: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Add up the `tables.CUE_COUNTS` of several batches, worst cue first."""
    # An empty table first, so that there are columns without any batch, too.
    counts = pd.concat([CUE_COUNTS.frame(), *counts_by_batch], ignore_index=True)
    # One row to read is enough. The maximum is never the empty text of a batch in which
    # no row differs, where another batch has one.
    aggregations = {**dict.fromkeys(_COUNTED, "sum"), "first_differing": "max"}
    summed = counts.groupby(["structurer", "cue"], as_index=False).agg(aggregations)
    # A cue of which nothing was compared has a share of 0, not of 0 / 0.
    share = summed["differing"] / summed["compared"].clip(lower=1)
    ordered = summed.assign(share=share).sort_values(
        ["differing", "share", "rows", "structurer", "cue"],
        ascending=[False, False, False, True, True],
        ignore_index=True,
    )
    return CUE_COUNTS.frame({name: ordered[name].tolist() for name in CUE_COUNTS.names})


def _counts_of(
    structurer: str, findings: pd.DataFrame, gold: pd.DataFrame | None
) -> pd.DataFrame:
    """Count the rows of one structurer by cue.

    Args:
        structurer: its key.
        findings: `tables.STRUCTURED_FINDINGS` of it.
        gold: rows that people coded, if any.
    """
    row_cues = _cues_by_row(findings)
    counts = pd.crosstab(row_cues["cue"], row_cues["status"])
    # Every status has a column, also one that no row has.
    counts = counts.reindex(columns=list(STATUSES), fill_value=0)
    counts.insert(0, "rows", counts.sum(axis=1))
    against_gold = _Comparison()
    if gold is not None and len(gold):
        against_gold = _compared_with(_status_in_gold(findings, gold), row_cues)
    cues = counts.index.tolist()
    columns = {
        "structurer": [structurer] * len(cues),
        "cue": cues,
        **{name: counts[name].tolist() for name in ("rows", *STATUSES)},
        "compared": [against_gold.compared[cue] for cue in cues],
        "differing": [against_gold.differing[cue] for cue in cues],
        "first_differing": [against_gold.first_differing.get(cue, "") for cue in cues],
    }
    return CUE_COUNTS.frame(columns)


@dataclass
class _Comparison:
    """Rows that people coded, by cue.

    Attributes:
        compared: how many.
        differing: how many of them have another status there.
        first_differing: study and key of the first of these.
    """

    compared: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    first_differing: dict[str, str] = field(default_factory=dict)


def _compared_with(
    status_in_gold: Mapping[tuple[str, str], str], row_cues: pd.DataFrame
) -> _Comparison:
    comparison = _Comparison()
    names = ("study_id", "key", "cue", "status")
    cells = [row_cues[name].tolist() for name in names]
    for study_id, key, cue, status in zip(*cells, strict=True):
        coded_status = status_in_gold.get((study_id, key))
        # People coded no row that matches: the cue is neither right nor wrong.
        if coded_status is None:
            continue
        comparison.compared[cue] += 1
        if coded_status != status:
            comparison.differing[cue] += 1
            comparison.first_differing.setdefault(cue, f"{study_id} {key}")
    return comparison


def _cues_by_row(findings: pd.DataFrame) -> pd.DataFrame:
    """Make a line for each row and cue; a row without a cue has one of an empty cue."""
    keys = findings["section"].astype(str) + ":" + findings["ent_idx"].astype(str)
    # A cell is "negated.no 0-2; hedge.possible 10-18", as `rows.py` writes it.
    uses = findings["cues"].astype(object).str.split("; ")
    lines = findings[["study_id", "status"]].assign(key=keys, cue=uses)
    lines = lines.explode("cue", ignore_index=True)
    lines["cue"] = lines["cue"].str.partition(" ")[0]
    # A cue that decided a row at two places of its sentence counts once.
    return lines.drop_duplicates(["study_id", "key", "cue"], ignore_index=True)


def _status_in_gold(
    findings: pd.DataFrame, gold: pd.DataFrame
) -> dict[tuple[str, str], str]:
    """Find the status that people gave to rows, by study and key of the row."""
    status_by_row: dict[tuple[str, str], str] = {}
    for pair in matched_rows(findings, gold):
        (key,) = pair.first["key"]
        (status,) = pair.second["status"]
        status_by_row[pair.study_id, key] = status
    return status_by_row
