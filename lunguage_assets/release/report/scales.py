"""Meaning of every hedging phrase: the ranking's p, the range of other readers, and published human scales
side by side (explicit.md section 6).
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.data_files import resource
from lunguage_assets.explicit.fit.anchors import AnchorSet, reader_range
from lunguage_assets.explicit.fit.probability import calibrate, probability
from lunguage_assets.tables.released import PHRASE_SCALE


def published_scales() -> list[dict[str, Any]]:
    """The scales of `resources/published_scales.toml`: name, source, and phrases with their middle, low and
    high in hundredths, or the spread between readers in points.
    """
    scales = tomllib.loads(resource("published_scales.toml").read_text("utf-8"))["scales"]
    return list(scales)


def phrase_scale(ranking: pd.DataFrame, chosen: AnchorSet) -> pd.DataFrame:
    """A `PHRASE_SCALE` frame: the ranked phrases from the most certain, then published ones that are not.

    Args:
        ranking: a `REFERENCE_RANKING` frame.
        chosen: the anchors in use.

    Raises:
        MethodError: the anchors give no line on this ranking.
    """
    anchors = chosen.of(set(ranking["phrase"]))
    mu = ranking["mu"].to_numpy(dtype=np.float64)
    p, low, high = probability(mu, np.zeros_like(mu), calibrate(ranking, anchors))
    reader_low, reader_high = reader_range(p, low, high, chosen.spread)
    numbers = {"p": p, "p_low": low, "p_high": high, "reader_low": reader_low, "reader_high": reader_high}
    ranked = ranking[["phrase", "mu"]].assign(**numbers).sort_values("mu", ascending=False, kind="stable")
    told = defaultdict(list)
    for scale in published_scales():
        for entry in scale["phrases"]:
            told[entry["phrase"]].append(f"{scale['name']}: {_told(entry)}")
    others = pd.DataFrame({"phrase": [phrase for phrase in told if phrase not in set(ranking["phrase"])]})
    listed = pd.concat([ranked, others], ignore_index=True)
    listed["number"] = range(len(listed))
    listed["is_anchor"] = listed["phrase"].isin([anchor.phrase for anchor in anchors])
    listed["published"] = ["; ".join(told.get(phrase, ())) for phrase in listed["phrase"]]
    return PHRASE_SCALE.frame({name: listed[name].tolist() for name in PHRASE_SCALE.names})


def _told(entry: dict[str, Any]) -> str:
    """What a scale says of a phrase, as a reader sees it."""
    if "spread" in entry:
        return f"readers differ by {entry['spread']} points"
    between = f"{entry['low']:g} to {entry['high']:g}"
    return f"{entry['middle']:g} ({between})" if "middle" in entry else between
