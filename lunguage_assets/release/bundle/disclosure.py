"""What of a corpus' counts and values may stand in the open part of a release.

Of synthetic text everything may. Of patients' reports, counts of rows, studies and patients are rounded to a
multiple of the threshold, and those below it, but for 0, only say so. Suppressing small cells alone would not
do: one cell is got back by taking the others from the total, and two releases tell what lies between them.
Rounded cells of a table do not add up to its totals, and that is the point. Statistics of fewer findings than
the threshold and values of single ones are left out, shares have two decimals, and single findings are not
drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit.hedges.shown import shown_phrase
from lunguage_assets.release.report.paper_tables import PaperTables
from lunguage_assets.tables import AUDITED_LABELS, PATHWAY_AUDIT
from lunguage_assets.tables.courses import COURSE_COUNTS

STRUCTURE_MEASURES = (
    "diagnoses",
    "variants",
    "pathways",
    "mean depth",
    "highest depth",
    "mean width",
    "highest width",
)
"""Corpus figures that are about the pathway file, not about reports."""

_OF_P = ("p_mean", "p_sd")
_OF_SINGLE = ("p_min", "p_max")  # each is the p of one finding
_CERTAINTY = (
    "definitive_positive",
    "tentative_positive",
    "tentative_negative",
    "definitive_negative",
    "total",
    "no_information",
)
_CERTAINTY_PERCENTS = {f"percent_{name}": (name, "total") for name in _CERTAINTY[:4]}
_EXPANSION = ("stated", "expanded", "expanded_generated", "generated", "already_stated", "added")
_EXPANSION_PERCENTS = {"percent_expanded": ("expanded", "stated"), "percent_added": ("added", None)}
_AUDIT = (
    "studies",
    "mentioned",
    "as_implied",
    "otherwise",
    "both",
    "tentative_studies",
    "tentative_mentioned",
    "tentative_as_implied",
)
_AUDITED_LABELS = ("implied", "unmeasured", "fall_below_half")
_CONFLICTS = ("conflicts", "suppressed", "merged", "removed")


@dataclass(frozen=True)
class Disclosure:
    """The rule of a release; `threshold` 1 withholds nothing."""

    threshold: int = 1

    @property
    def withholds(self) -> bool:
        return self.threshold > 1

    def rounded(self, count: int) -> int:
        """The nearest multiple of the threshold, halves upwards."""
        return (count + self.threshold // 2) // self.threshold * self.threshold

    def count(self, count: int) -> int | str:
        """A count as the open part shows it."""
        return f"<{self.threshold}" if 0 < count < self.threshold else self.rounded(count)

    def shown(self, count: int) -> str:
        """A count as text, thousands apart."""
        value = self.count(count)
        return value if isinstance(value, str) else f"{value:,}"

    def counts(self, values: Iterable[int]) -> list[int | str]:
        return [self.count(int(value)) for value in values]

    def tables(self, exact: PaperTables) -> PaperTables:
        """The paper's tables for the open part; exactly the same ones where nothing is withheld."""
        if not self.withholds:
            return exact
        return replace(
            exact,
            certainty=self._certainty(exact.certainty),
            fit=self._fit(exact.fit),
            expansion=self._percents(exact.expansion, _EXPANSION_PERCENTS, _EXPANSION),
            conflicts=self._columns(exact.conflicts, _CONFLICTS),
            figures=self._figures(exact.figures),
        )

    def _columns(self, frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
        return frame.assign(
            **{name: pd.Series(self.counts(frame[name]), index=frame.index, dtype=object) for name in names}
        )

    def _certainty(self, frame: pd.DataFrame) -> pd.DataFrame:
        behind = frame["tentative_positive"] + frame["tentative_negative"] - frame["no_information"]
        enough = behind >= self.threshold
        single = dict.fromkeys(_OF_SINGLE, math.nan)
        return self._percents(
            frame.assign(**{name: frame[name].where(enough).round(2) for name in _OF_P}, **single),
            _CERTAINTY_PERCENTS,
            _CERTAINTY,
        )

    def _fit(self, frame: pd.DataFrame) -> pd.DataFrame:
        enough = frame["n"] >= self.threshold
        means = {name: frame[name].where(enough).round(2) for name in ("mean", "sd")}
        single = dict.fromkeys(("minimum", "maximum"), math.nan)  # each is of one finding
        return self._columns(frame.assign(**means, **single), ("n",))

    def _percents(
        self, frame: pd.DataFrame, percents: Mapping[str, tuple[str, str | None]], counts: Iterable[str]
    ) -> pd.DataFrame:
        """Percents of the counts as they are shown, so that they say nothing more; counts as they are shown.

        Args:
            percents: column -> part and whole; None: the part's last line is the whole.
            counts: columns of counts.
        """
        shown = {}
        for name, (part, whole) in percents.items():
            wholes = frame[whole].tolist() if whole else [frame[part].iloc[-1]] * len(frame)
            pairs = zip(frame[part].tolist(), wholes, strict=True)
            shown[name] = [self._percent(int(one), int(of)) for one, of in pairs]
        return self._columns(frame.assign(**shown), counts)

    def _percent(self, part: int, whole: int) -> float:
        if whole < self.threshold or 0 < part < self.threshold:
            return math.nan
        return min(100.0, round(100.0 * self.rounded(part) / self.rounded(whole)))

    def _figures(self, frame: pd.DataFrame) -> pd.DataFrame:
        pairs = zip(frame["measure"].tolist(), frame["value"].tolist(), strict=True)
        return frame.assign(
            value=pd.Series(
                [self._figure(str(name), value) for name, value in pairs], index=frame.index, dtype=object
            )
        )

    def _figure(self, measure: str, value: float | None) -> float | int | str | None:
        if value is None or math.isnan(value):
            return None
        if measure in STRUCTURE_MEASURES:
            return int(value) if float(value).is_integer() else value
        share = "share" in measure or " per " in measure
        return round(value, 2) if share else self.count(int(value))

    def analyses(self, exact: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        """The analyses for the open part: those that count studies as the paper's tables do."""
        shown = dict(exact)
        if not self.withholds:
            return shown
        if (audit := shown.get(PATHWAY_AUDIT.name)) is not None:
            shown[PATHWAY_AUDIT.name] = self._audit(audit)
        if (labels := shown.get(AUDITED_LABELS.name)) is not None:
            enough = labels["implied"] >= self.threshold
            rounded = {name: labels[name].where(enough).round(2) for name in ("p", "p_measured")}
            shown[AUDITED_LABELS.name] = self._columns(labels.assign(**rounded), _AUDITED_LABELS)
        return shown

    def _audit(self, audit: pd.DataFrame) -> pd.DataFrame:
        """A share of few mentions, and the verdict that follows from it, say what single reports say."""
        enough = audit["mentioned"] >= self.threshold
        shares = {name: audit[name].where(enough).round(2) for name in ("share", "share_low", "share_high")}
        verdict = audit["against_experts"].where(enough, "not measured")
        return self._columns(audit.assign(**shares, against_experts=verdict), _AUDIT)

    def courses(self, exact: pd.DataFrame) -> pd.DataFrame:
        """A `COURSE_COUNTS` frame for the open part; counts as text where they are rounded."""
        if not self.withholds:
            return exact
        counts = [column.name for column in COURSE_COUNTS.columns if column.type == "int"]
        shown = {name: pd.array([str(n) for n in self.counts(exact[name])], dtype="str") for name in counts}
        return exact.assign(**shown)

    def phrases(self, ranking: pd.DataFrame, examples: pd.Series) -> pd.DataFrame:
        """A `REFERENCE_RANKING` frame whose phrases say only what may be said: none longer than a hedge, none
        of a few reports.

        Args:
            ranking: with an own ruler the phrases come from the reports; the published ones are known to
                everyone.
            examples: how often each phrase was extracted, by phrase; one that is missing counts as never
                extracted.
        """
        if not self.withholds:
            return ranking
        own = (ranking["ruler"] == "own").tolist()
        often = examples.reindex(ranking["phrase"]).fillna(0).tolist()
        told = [
            shown_phrase(phrase)
            if not is_own or count >= self.threshold
            else f"(a phrase of fewer than {self.threshold} findings)"
            for phrase, is_own, count in zip(ranking["phrase"].tolist(), own, often, strict=True)
        ]
        return ranking.assign(phrase=pd.Series(told, index=ranking.index, dtype="str"))

    def height(self, count: int) -> int:
        """A count as a bar that may be drawn: of patients' findings no single one is shown."""
        if not self.withholds:
            return count
        return 0 if count < self.threshold else self.rounded(count)

    def heights(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bars of a histogram as they may be drawn."""
        return np.array([self.height(int(count)) for count in counts], dtype=np.int64)
