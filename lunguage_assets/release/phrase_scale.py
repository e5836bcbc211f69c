"""What each ranked phrase means on the probability scale (explicit.md section 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lunguage_assets.explicit.probability import (
    Anchor,
    calibrate,
    probability,
    reader_range,
)
from lunguage_assets.tables.released import PHRASE_SCALE

_DECIMALS = 6


def phrase_scale(ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> pd.DataFrame:
    """Read p of every ranked phrase off the line through the anchors.

    Args:
        ranking: a `REFERENCE_RANKING` frame.
        anchors: those in use.

    Returns:
        A `PHRASE_SCALE` frame, from the most certain phrase.

    Raises:
        MethodError: the anchors give no line on the ranking.
    """
    mu = ranking["mu"].to_numpy(dtype=np.float64)
    # mu of a phrase is the scale itself: no error of its own comparisons is added.
    p, low, high = probability(mu, np.zeros_like(mu), calibrate(ranking, anchors))
    reader_low, reader_high = reader_range(p, low, high)
    scale = ranking[["phrase", "mu"]].assign(
        p=p,
        p_low=low,
        p_high=high,
        reader_low=reader_low,
        reader_high=reader_high,
        is_anchor=ranking["phrase"].isin([anchor.phrase for anchor in anchors]),
    )
    scale = scale.sort_values("mu", ascending=False, kind="stable", ignore_index=True)
    scale["number"] = range(len(scale))
    # The last digits of numpy's exp differ between processors: without rounding the
    # same release would have other bytes on another machine.
    numbers = scale.select_dtypes("number").columns
    scale[numbers] = scale[numbers].round(_DECIMALS)
    return PHRASE_SCALE.frame(
        {name: scale[name].tolist() for name in PHRASE_SCALE.names}
    )
