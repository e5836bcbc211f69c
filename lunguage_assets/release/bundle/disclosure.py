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
from lunguage_assets.release.report.stated_counts import CERTAINTY_COLUMNS
from lunguage_assets.tables import AUDITED_LABELS, PATHWAY_AUDIT
from lunguage_assets.tables.paper import CERTAINTY_TABLE, CONFLICT_TABLE, EXPANSION_TABLE, FIT_TABLE
from lunguage_assets.tables.schema import Table

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


def _counts_of(table: Table, *but: str) -> list[str]:
    """Every count column of a table, so that none is forgotten; `but` those that count no reports."""
    return [column.name for column in table.columns if column.type == "int" and column.name not in but]


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

    def tables(self, exact: PaperTables) -> PaperTables:
        """The paper's tables for the open part; exactly the same ones where nothing is withheld."""
        if not self.withholds:
            return exact
        uses = _counts_of(EXPANSION_TABLE, "variants", "pathways", "depth", "width")
        added = exact.expansion["added"].tolist()
        expansion = exact.expansion.assign(
            percent_expanded=self._percents(exact.expansion["expanded"], exact.expansion["stated"]),
            percent_added=self._percents(added, added[-1:] * len(added)),
        )
        return replace(
            exact,
            certainty=self._certainty(exact.certainty),
            fit=self._fit(exact.fit),
            expansion=self._rounded_columns(expansion, uses),
            conflicts=self._rounded_columns(exact.conflicts, _counts_of(CONFLICT_TABLE)),
            figures=exact.figures.assign(
                value=pd.Series(
                    map(self._figure, exact.figures["measure"], exact.figures["value"]), dtype=object
                )
            ),
        )

    def _rounded_columns(self, frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
        shown = {name: [self.count(int(value)) for value in frame[name]] for name in names}
        return frame.assign(**{name: pd.Series(v, frame.index, object) for name, v in shown.items()})

    def _certainty(self, frame: pd.DataFrame) -> pd.DataFrame:
        behind = frame["tentative_positive"] + frame["tentative_negative"] - frame["no_information"]
        shown = frame.assign(p_min=math.nan, p_max=math.nan)  # each is the p of one finding
        shown = _of_enough(shown, behind >= self.threshold, "p_mean", "p_sd")
        for name in CERTAINTY_COLUMNS.values():
            shown[f"percent_{name}"] = self._percents(frame[name], frame["total"])
        return self._rounded_columns(shown, _counts_of(CERTAINTY_TABLE))

    def _fit(self, frame: pd.DataFrame) -> pd.DataFrame:
        shown = frame.assign(minimum=math.nan, maximum=math.nan)  # each is of one finding
        shown = _of_enough(shown, frame["n"] >= self.threshold, "mean", "sd")
        return self._rounded_columns(shown, _counts_of(FIT_TABLE))

    def _percents(self, parts: Iterable[int], wholes: Iterable[int]) -> list[float]:
        """Percents of the counts as they are shown, so that they say nothing more."""
        return [
            math.nan
            if whole < self.threshold or 0 < part < self.threshold
            else min(100.0, round(100.0 * self.rounded(int(part)) / self.rounded(int(whole))))
            for part, whole in zip(parts, wholes, strict=True)
        ]

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
            # a share of few mentions, and the verdict that follows from it, say what single reports say
            enough = audit["mentioned"] >= self.threshold
            told = _of_enough(audit, enough, "share", "share_low", "share_high")
            told["against_experts"] = audit["against_experts"].where(enough, "not measured")
            shown[PATHWAY_AUDIT.name] = self._rounded_columns(told, _counts_of(PATHWAY_AUDIT, "edge"))
        if (labels := shown.get(AUDITED_LABELS.name)) is not None:
            told = _of_enough(labels, labels["implied"] >= self.threshold, "p", "p_measured")
            shown[AUDITED_LABELS.name] = self._rounded_columns(told, _counts_of(AUDITED_LABELS))
        return shown

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
        often = ranking["phrase"].map(examples).fillna(0)
        told = ranking["phrase"].map(shown_phrase)
        few = (ranking["ruler"] == "own") & (often < self.threshold)
        return ranking.assign(phrase=told.mask(few, f"(a phrase of fewer than {self.threshold} findings)"))

    def height(self, count: int) -> int:
        """A count as a bar that may be drawn: of patients' findings no single one is shown."""
        if not self.withholds:
            return count
        return 0 if count < self.threshold else self.rounded(count)

    def heights(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bars of a histogram as they may be drawn."""
        return np.array([self.height(int(count)) for count in counts], dtype=np.int64)


def _of_enough(frame: pd.DataFrame, enough: pd.Series, *names: str) -> pd.DataFrame:
    """Statistics with two decimals, and none where too few findings are behind them."""
    return frame.assign(**{name: frame[name].where(enough).round(2) for name in names})
