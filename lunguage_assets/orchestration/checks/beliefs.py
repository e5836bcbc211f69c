"""Checks of the probabilities themselves: they are what the method says of the place on the ranking, of the
status and of the parent.

A wrong probability is an error. Many places outside the anchors only warn: there the scale is drawn on beyond
what was rated.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.errors import LunguageError
from lunguage_assets.explicit.fit.probability import load_anchors
from lunguage_assets.orchestration.checks.report import examples, markdown, result, where_stored
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import asset_check
from lunguage_assets.quality.beliefs import Broken, broken_beliefs, broken_places, outside_anchors

EXTRAPOLATED = (
    "Many findings lie beyond the phrases whose probability was rated: their p rests on a "
    "line drawn on. Have phrases at both ends of the ranking rated "
    "(anchor_ratings.csv in the home: rater, phrase, sentence, rating), then launch `fit` "
    "and `expand`. If all of them lie at one end, look at "
    "`position_bias` first."
)
OTHER_RANKING = (
    "The ranking has been made anew since these fits: their places cannot be compared with "
    "it. See the check `ranking_current`."
)


def belief_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    @asset_check(
        asset=dg.AssetKey("fitted_probabilities"),
        name="p_in_range",
        description="Every p is what its place on the ranking and the anchors give, none is certain, and few "
        "lie beyond the anchors.",
        partitions_def=partitions.of("fitted_probabilities"),
        additional_ins={"reference_ranking": dg.AssetIn(partition_mapping=partitions.ranker_only)},
    )
    def p_in_range(
        context: dg.AssetCheckExecutionContext,
        home: HomeResource,
        frame: pd.DataFrame,
        reference_ranking: pd.DataFrame,
    ) -> dg.AssetCheckResult:
        links = where_stored(context, home.home, "fitted_probabilities")
        if not set(frame["ranking_version"]) <= set(reference_ranking["ranking_version"]):
            return result(context, True, {"note": OTHER_RANKING, **links}, "")
        try:
            anchors = load_anchors(home.home.anchor_ratings)
            broken = broken_places(frame, reference_ranking, anchors)
        except LunguageError as error:
            return result(
                context,
                False,
                {"note": str(error), **links},
                "Mend the anchors that are named, then launch `fit` and `expand`.",
            )
        outside = frame.loc[outside_anchors(frame, anchors), "finding_id"].tolist()
        fitted = int((frame["p_source"] == "fitted").sum())
        share, limit = len(outside) / fitted if fitted else 0.0, home.settings.checks.extrapolated_share
        metadata = {
            "pairs": len(frame),
            "outside_the_anchors": len(outside),
            "outside_share": share,
            "allowed_share": limit,
            "lowest_p": float(frame["p"].min()) if len(frame) else float("nan"),
            "highest_p": float(frame["p"].max()) if len(frame) else float("nan"),
            "examples": examples(outside),
            **links,
        }
        if not broken and share > limit:
            report = markdown(
                ["beyond the anchors", "pairs", "keys"],
                [(f"{share:.1%} of {fitted}", len(outside), examples(outside))],
            )
            return result(context, False, {"report": report, **metadata}, EXTRAPOLATED)
        return _broken_result(context, broken, len(frame), metadata)

    @asset_check(
        asset=dg.AssetKey("lunguage_plus_plus"),
        name="p_in_range",
        description="Definite findings are certain and tentative ones are not; generated rows have the "
        "bounds that their parents give them.",
        partitions_def=partitions.of("lunguage_plus_plus"),
    )
    def beliefs_in_range(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        links = where_stored(context, home.home, "lunguage_plus_plus")
        return _broken_result(context, broken_beliefs(frame), len(frame), {"rows": len(frame), **links})

    return [p_in_range, beliefs_in_range]


def _broken_result(
    context: dg.AssetCheckExecutionContext, broken: Sequence[Broken], rows: int, metadata: dict[str, Any]
) -> dg.AssetCheckResult:
    report = markdown(
        ["rule", "rows", "keys"],
        ((rule.rule, len(rule.finding_ids), examples(rule.finding_ids)) for rule in broken),
        f"Every probability of {rows} rows is what the method says.",
    )
    remedy = " ".join(dict.fromkeys(rule.remedy for rule in broken))
    return result(
        context,
        not broken,
        {"broken_rules": len(broken), "report": report, **metadata},
        remedy,
        dg.AssetCheckSeverity.ERROR,
    )
