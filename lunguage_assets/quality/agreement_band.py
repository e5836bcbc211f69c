"""The band in which the agreement of judges usually lies, and which measures are outside it (explicit.md
section 3).

The paper's four judges agree pairwise in 0.861 to 0.870 of 8,610 comparisons; Fleiss' kappa coded by phrase
is 0.860, Krippendorff's alpha coded by position 0.722. Those are results on one corpus, not expected values,
so the band is wide: from 0.80, below which one of two judges says something else than the other in a fifth of
the comparisons, to 0.98, above which two judges are hardly two. With two answers to choose from, an agreement
of 0.80 is a chance-corrected one of 2 x 0.80 - 1 = 0.60. A value is outside when its whole 95% interval is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.settings import CheckSettings

PUBLISHED_PAIRS = "0.861 to 0.870"
PUBLISHED_ALPHA = "0.722 (alpha)"

_PAIR, _CHANCE_CORRECTED = "pairwise agreement", ("fleiss kappa", "krippendorff alpha")
_LOW = (
    "See in judge_agreement which judge agrees with none of the others, then its checks `position_bias` and "
    "`answers_valid`. Mode 'enum' and clearer prompts help weak judges; otherwise leave the judge out of the "
    "panel."
)
_HIGH = (
    "Two judges that agree always are one opinion counted twice, and intervals come out too narrow: see that "
    "the two are bound to different models, and replace one of them."
)


@dataclass(frozen=True)
class Measured:
    """A measure beside its band, in words; `remedy` is empty inside the band."""

    measure: str
    judges: str
    value: str
    interval: str
    usual: str
    published: str
    remedy: str


def measured_agreement(agreement: pd.DataFrame, settings: CheckSettings) -> list[Measured]:
    """Every agreement between judges of a `JUDGE_AGREEMENT` frame with its band, in the frame's order."""
    found = []
    for row in agreement.to_dict("records"):
        by_position = row["measure"] in _CHANCE_CORRECTED and row["coding"] == "position"
        if math.isnan(row["value"]) or not (row["measure"] == _PAIR or by_position):
            continue
        low, high = (
            (settings.kappa_low, 1.0) if by_position else (settings.agreement_low, settings.agreement_high)
        )
        at_least, at_most = (row["value"] if math.isnan(row[end]) else row[end] for end in ("low", "high"))
        found.append(
            Measured(
                f"{row['measure']}, coded by position" if by_position else row["measure"],
                " - ".join(name for name in (row["first"], row["second"]) if name),
                f"{row['value']:.3f}",
                "" if math.isnan(row["low"]) else f"{row['low']:.3f} to {row['high']:.3f}",
                f"from {low:.2f}" if by_position else f"{low:.2f} to {high:.2f}",
                PUBLISHED_ALPHA if by_position else PUBLISHED_PAIRS,
                _LOW if at_most < low else _HIGH if at_least > high else "",
            )
        )
    return found
