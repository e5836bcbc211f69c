"""Accounts per study: where every delivered row went (implicit.md section 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.implicit.expansion.expand import Expansion
from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.implicit.rows import values_of
from lunguage_assets.tables import ACCOUNTING


def account(
    reports: pd.DataFrame,
    rejected: pd.DataFrame,
    deduplicated: pd.DataFrame,
    expansion: Expansion,
    resolution: Resolution,
    set_aside: Collection[str] = (),
) -> pd.DataFrame:
    """ACCOUNTING: one row per delivered study, sorted, also for studies of which nothing is left.

    Rows in are the delivered rows as counted on reading; everything else is counted in the table of the stage
    where it happened, so `balanced` can fail. Of studies in `set_aside`, which are in none of the other
    tables, all rows that were not rejected are.
    """
    disposition = _counted(deduplicated, "disposition")
    outcome = _counted(expansion.expansions, "outcome")
    source = _counted(resolution.rows, "source")
    log = resolution.log[resolution.log["stage"] == "resolve"]
    event = _counted(log, "event", "source")
    delivered: dict[str, int] = dict(values_of(reports, "study_id", "rows_delivered"))
    refused = _counted(rejected)
    studies = {*delivered, *(key[0] for counts in (disposition, outcome, source, refused) for key in counts)}
    rows = []
    for study in sorted(studies):
        rows_in = delivered.get(study, refused[(study,)])  # a study that was rejected whole has no report
        rows.append(
            {
                "study_id": study,
                "rows_in": rows_in,
                "originals_out": source[study, "original"],
                "merged": disposition[study, "merged"] + event[study, "merged", "original"],
                "removed": event[study, "removed", "original"],
                "excluded": disposition[study, "excluded"],
                "rejected": refused[(study,)],
                "set_aside": rows_in - refused[(study,)] if study in set_aside else 0,
                "generated": outcome[study, "generated"],
                "discarded": event[study, "merged", "expansion"] + event[study, "discarded", "expansion"],
                "already_stated": outcome[study, "already stated"],
                "spoken_against": outcome[study, "spoken against"],
                "rows_out": source[study, "original"] + source[study, "expansion"],
                "balanced": False,
            }
        )
    frame = ACCOUNTING.frame(rows)
    return frame.assign(balanced=balance(frame))


def balance(accounts: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the numbers of each ACCOUNTING row add up, whatever its column `balanced` says."""
    kept = accounts[["originals_out", "merged", "removed", "excluded", "rejected", "set_aside"]].sum(axis=1)
    generated = accounts["generated"] - accounts["discarded"]
    adds_up = (accounts["rows_in"] == kept) & (accounts["rows_out"] == accounts["originals_out"] + generated)
    return adds_up.to_numpy(dtype=bool)


def explained_studies(accounting: pd.DataFrame) -> list[str]:
    """Studies without any row left, with balanced accounts."""
    return accounting.loc[accounting["balanced"] & (accounting["rows_out"] == 0), "study_id"].tolist()


def _counted(frame: pd.DataFrame, *names: str) -> Counter[tuple[str, ...]]:
    return Counter(values_of(frame, "study_id", *names))
