"""Rows by the cue that decided them, and how many of them people coded otherwise: where
to read first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pandas as pd

from lunguage_assets.structuring.agreement import matched_rows
from lunguage_assets.tables.columns import STATUSES
from lunguage_assets.tables.corpus import CUE_COUNTS

_COUNTED = ("rows", *STATUSES, "compared", "differing")


def cue_counts(
    read: Mapping[str, pd.DataFrame], gold: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Count rows by cue: `tables.CUE_COUNTS`, worst cue first.

    A row that several cues decided counts for each of them.

    Args:
        read: `tables.STRUCTURED_FINDINGS` by structurer; one that names no cue, such as
            a language model, is left out.
        gold: rows that people coded, as of `agreement.gold_rows`; None: there are none.
    """
    counts = [
        _counts_of(structurer, rows, gold)
        for structurer, rows in read.items()
        if (rows["cues"] != "").any()
    ]
    return summed_cue_counts(counts)


def summed_cue_counts(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Add up the `tables.CUE_COUNTS` of several batches, worst cue first."""
    listed = [CUE_COUNTS.frame(), *parts]
    together = pd.concat(listed, ignore_index=True)
    how = {**dict.fromkeys(_COUNTED, "sum"), "first_differing": "max"}
    summed = together.groupby(["structurer", "cue"], as_index=False).agg(how)
    share = summed["differing"] / summed["compared"].clip(lower=1)
    ordered = summed.assign(share=share).sort_values(
        ["differing", "share", "rows", "structurer", "cue"],
        ascending=[False, False, False, True, True],
        ignore_index=True,
    )
    return CUE_COUNTS.frame({name: ordered[name].tolist() for name in CUE_COUNTS.names})


def _counts_of(
    structurer: str, rows: pd.DataFrame, gold: pd.DataFrame | None
) -> pd.DataFrame:
    cue_of_row = _cues_by_row(rows)
    counts = pd.crosstab(cue_of_row["cue"], cue_of_row["status"])
    counts = counts.reindex(columns=list(STATUSES), fill_value=0)
    counts.insert(0, "rows", counts.sum(axis=1))
    compared: Counter[str] = Counter()
    differing: Counter[str] = Counter()
    first_differing: dict[str, str] = {}
    if gold is not None and len(gold):
        status_in_gold = _status_in_gold(rows, gold)
        names = ("study_id", "key", "cue", "status")
        columns = (cue_of_row[name].tolist() for name in names)
        for study, key, cue, status in zip(*columns, strict=True):
            coded = status_in_gold.get((study, key))
            compared[cue] += coded is not None
            if coded is not None and coded != status:
                differing[cue] += 1
                first_differing.setdefault(cue, f"{study} {key}")
    cues = counts.index.tolist()
    counted = {
        "structurer": [structurer] * len(cues),
        "cue": cues,
        **{name: counts[name].tolist() for name in ("rows", *STATUSES)},
        "compared": [compared[cue] for cue in cues],
        "differing": [differing[cue] for cue in cues],
        "first_differing": [first_differing.get(cue, "") for cue in cues],
    }
    return CUE_COUNTS.frame(counted)


def _cues_by_row(rows: pd.DataFrame) -> pd.DataFrame:
    """Take a line for each row and cue of it, once; the cue of a row without one is empty."""
    keys = rows["section"].astype(str) + ":" + rows["ent_idx"].astype(str)
    lines = rows[["study_id", "status"]].assign(
        key=keys, cue=rows["cues"].astype(object).str.split("; ")
    )
    lines = lines.explode("cue", ignore_index=True)
    lines["cue"] = lines["cue"].str.partition(" ")[0]
    return lines.drop_duplicates(["study_id", "key", "cue"], ignore_index=True)


def _status_in_gold(
    rows: pd.DataFrame, gold: pd.DataFrame
) -> dict[tuple[str, str], str]:
    """Find the status that people gave to the rows that they coded, by study and key."""
    return {
        (study, _only(row["key"])): _only(coded["status"])
        for study, row, coded in matched_rows(rows, gold)
    }


def _only(values: frozenset[str]) -> str:
    (value,) = values
    return value
