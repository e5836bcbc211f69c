"""What every hedging phrase means: the ranking's p, the range of other readers, and published human scales
side by side (explicit.md section 6).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.explicit.fit.anchors import AnchorSet
from lunguage_assets.explicit.fit.probability import calibrate, probability
from lunguage_assets.explicit.fit.readers import reader_range
from lunguage_assets.tables.analyses import PHRASE_SCALE


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScalePhrase(_Entry):
    """What a source says of a phrase, in hundredths; `spread` in points between readers."""

    phrase: str = Field(min_length=1)
    middle: float | None = Field(default=None, ge=0.0, le=100.0)
    low: float | None = Field(default=None, ge=0.0, le=100.0)
    high: float | None = Field(default=None, ge=0.0, le=100.0)
    spread: str = ""

    @property
    def told(self) -> str:
        """As a reader sees it."""
        if self.low is None or self.high is None:
            return f"readers differ by {self.spread} points"
        between = f"{self.low:g} to {self.high:g}"
        return between if self.middle is None else f"{self.middle:g} ({between})"


class PublishedScale(_Entry):
    """A published scale and where it stands."""

    name: str = Field(min_length=1)
    source: str = Field(min_length=1)
    phrases: list[ScalePhrase] = Field(min_length=1)


class _File(_Entry):
    scales: list[PublishedScale]


def published_scales() -> tuple[PublishedScale, ...]:
    """The scales of `resources/published_scales.toml`.

    Raises:
        ConfigurationError: the file was edited and cannot be used.
    """
    return tuple(read_as(resource("published_scales.toml"), _File).scales)


def phrase_scale(ranking: pd.DataFrame, chosen: AnchorSet, scales: Sequence[PublishedScale]) -> pd.DataFrame:
    """A `PHRASE_SCALE` frame: the ranked phrases from the most certain, then published ones that are not.

    Args:
        ranking: a `REFERENCE_RANKING` frame.
        chosen: the anchors in use.
        scales: published ones.

    Raises:
        MethodError: the anchors give no line on this ranking.
    """
    phrases = ranking["phrase"].tolist()
    anchors = chosen.of(set(phrases))
    mu = ranking["mu"].to_numpy(dtype=np.float64)
    p, low, high = probability(mu, np.zeros_like(mu), calibrate(ranking, anchors))
    reader_low, reader_high = reader_range(p, low, high, chosen.spread)
    anchored = {anchor.phrase for anchor in anchors}
    said = _said(scales)
    numbers = {
        "mu": mu,
        "p": p,
        "p_low": low,
        "p_high": high,
        "reader_low": reader_low,
        "reader_high": reader_high,
    }
    rows = [
        {name: float(values[i]) for name, values in numbers.items()}
        | {"phrase": phrases[i], "is_anchor": phrases[i] in anchored, "published": said.get(phrases[i], "")}
        for i in np.argsort(-mu, kind="stable").tolist()
    ]
    rows += [
        dict.fromkeys(numbers) | {"phrase": phrase, "is_anchor": False, "published": told}
        for phrase, told in said.items()
        if phrase not in phrases
    ]
    return PHRASE_SCALE.frame({"number": number} | row for number, row in enumerate(rows))


def _said(scales: Sequence[PublishedScale]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for scale in scales:
        for one in scale.phrases:
            found.setdefault(one.phrase, []).append(f"{scale.name}: {one.told}")
    return {phrase: "; ".join(told) for phrase, told in found.items()}


def scale_marks(scales: Sequence[PublishedScale]) -> pd.DataFrame:
    """Columns scale, phrase, middle (NaN for a band), low, high in shares: what can be drawn."""
    marks = [
        (scale.name, one.phrase, one.middle, one.low, one.high)
        for scale in scales
        for one in scale.phrases
        if one.low is not None and one.high is not None
    ]
    columns = ["middle", "low", "high"]
    frame = pd.DataFrame(marks, columns=["scale", "phrase", *columns])
    return frame.assign(**(frame[columns].astype("float64") / 100))
