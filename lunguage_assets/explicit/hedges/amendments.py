"""Batches of one corpus as one table, with the newest version of every study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd


def newest_only(frames: Mapping[str, pd.DataFrame], order: Sequence[str]) -> pd.DataFrame | None:
    """The rows of all batches, of each study only the newest version; None without any batch.

    Args:
        frames: tables with a column `study_id`, by batch.
        order: keys of the batches, oldest first; keys without a frame are skipped.
    """
    present = [frames[key] for key in order if key in frames]
    if not present:
        return None
    seen: set[str] = set()
    kept = []
    for frame in reversed(present):
        kept.append(frame[~frame["study_id"].isin(seen)])
        seen |= set(frame["study_id"])
    return pd.concat(reversed(kept), ignore_index=True)
