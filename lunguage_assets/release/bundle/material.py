"""What the report and the tables of a release tell from: counts, analyses and origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.experts import FEWEST, OCCUPATION
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.release.bundle.provenance import Origin, language_models
from lunguage_assets.release.bundle.totals import Totals
from lunguage_assets.release.report.paper_tables import PaperTables
from lunguage_assets.release.report.scales import phrase_scale
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT, PHRASE_SCALE

ANALYSES = {
    name: TABLES[name]
    for name in (
        *("judge_agreement", "ranking_correlations", "ranking_robustness", "fit_validation"),
        *("expert_agreement", "pathway_audit"),
    )
}
"""What `lunguage analyse` makes; a release shows those that are there."""


@dataclass(frozen=True, repr=False)
class Material:
    """Everything that the report and the tables of counts are made from.

    `counted` are the paper's tables; `points` the fitted findings that are drawn one by one and `all_mu` the
    places of all of them; `examples` how often each phrase was extracted; `analyses` those of `ANALYSES` that
    belong to this ranking.
    """

    ranker: str
    summary: Mapping[str, Any]
    totals: Totals
    counted: PaperTables
    points: pd.DataFrame
    all_mu: NDArray[np.float64]
    ranking: pd.DataFrame
    examples: pd.Series
    analyses: Mapping[str, pd.DataFrame]
    stale_analyses: bool
    origin: Origin
    provenance: Mapping[str, Any]

    @property
    def dictionary(self) -> PathwayDictionary:
        return self.origin.dictionary

    @cached_property
    def anchors(self) -> tuple[Anchor, ...]:
        return self.origin.anchors.of(set(self.ranking["phrase"]))

    @cached_property
    def scale(self) -> pd.DataFrame:
        """The `PHRASE_SCALE` frame of this ranking; empty where the anchors give no line on it."""
        try:
            return phrase_scale(self.ranking, self.origin.anchors)
        except MethodError:
            return PHRASE_SCALE.frame()

    @property
    def part(self) -> str:
        """Where counts of reports may stand: in the open part of invented reports only."""
        return "open" if self.origin.is_synthetic else "restricted"

    @property
    def language_models(self) -> list[str]:
        """Those of the judges that are language models."""
        return language_models(self.origin.configuration, list(self.provenance["judges"]))

    @property
    def has_own_ruler(self) -> bool:
        return bool((self.ranking["ruler"] == "own").any())


def shown_analyses(
    analyses: Mapping[str, pd.DataFrame], ranking: pd.DataFrame
) -> tuple[dict[str, pd.DataFrame], bool]:
    """The analyses that are shown, and whether they were left out because they belong to another
    ranking.

    All are made together, so those that name no ranking are of the one that the others name. Of experts only
    averages and coefficients of groups are shown, no single person's.
    """
    named = [frame["ranking_version"] for frame in analyses.values() if "ranking_version" in frame.columns]
    if set().union(*named) - set(ranking["ranking_version"]):
        return {}, True
    shown = dict(analyses)
    if (experts := shown.get(EXPERT_AGREEMENT.name)) is not None:
        shown[EXPERT_AGREEMENT.name] = experts[
            (experts["first"] == "")
            & (experts["measure"] != "with expert")
            & (~experts["group"].str.startswith(OCCUPATION) | (experts["experts"] >= FEWEST))
        ].reset_index(drop=True)
    return shown, False
