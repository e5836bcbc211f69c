"""Checks of the probabilities themselves: of the status, of the support, of a row beside its parent.

A wrong probability is an error. Many places outside the anchors only warn: there the scale is drawn on beyond
what was rated.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.checks.look import Found, Look, check
from lunguage_assets.orchestration.metadata import examples, markdown
from lunguage_assets.quality.beliefs import Broken, broken_beliefs, broken_places, outside_anchors

EXTRAPOLATED = (
    "Many findings lie beyond the phrases whose probability was rated: their p rests on a line drawn on. "
    "Have phrases at both ends of the ranking rated (anchor_ratings.csv in the home: rater, phrase, "
    "sentence, rating), then launch `fit` and `expand`. If all of them lie at one end, look at "
    "`position_bias` first."
)
OTHER_RANKING = (
    "The ranking has been made anew since these fits: their places cannot be compared with it. See the check "
    "`fits_current`."
)


@check(
    "fitted_probabilities",
    "p_in_range",
    "No p is certain, a pair without information has p 0.5 from 0 to 1, and few lie beyond the anchors.",
)
def fits_in_range(look: Look) -> Found:
    frame, ranking = look.table("fitted_probabilities"), look.table("reference_ranking")
    if not set(frame["ranking_version"]) <= set(ranking["ranking_version"]):
        return Found(True, {"note": OTHER_RANKING})
    try:
        anchors = look.resource.anchor_set().of(set(ranking["phrase"]))
        broken = broken_places(frame)
    except LunguageError as error:
        return Found(
            False, {"note": str(error)}, "Mend the anchors that are named, then launch `fit` and `expand`."
        )
    outside = frame.loc[outside_anchors(frame, anchors), "finding_id"].tolist()
    fitted = int((frame["p_source"] == "fitted").sum())
    share, limit = len(outside) / fitted if fitted else 0.0, look.limits.extrapolated_share
    metadata = {
        "pairs": len(frame),
        "outside_the_anchors": len(outside),
        "outside_share": share,
        "allowed_share": limit,
        "lowest_p": float(frame["p"].min()) if len(frame) else float("nan"),
        "highest_p": float(frame["p"].max()) if len(frame) else float("nan"),
        "examples": examples(outside),
    }
    if not broken and share > limit:
        report = markdown(
            ["beyond the anchors", "pairs", "keys"],
            [(f"{share:.1%} of {fitted}", len(outside), examples(outside))],
        )
        return Found(False, {"report": report, **metadata}, EXTRAPOLATED)
    return _broken(broken, len(frame), metadata)


@check(
    "lunguage_plus_plus",
    "p_in_range",
    "Definite findings are certain and tentative ones are not; no generated row is more probable than its "
    "parent.",
)
def beliefs_in_range(look: Look) -> Found:
    frame = look.table("lunguage_plus_plus")
    return _broken(broken_beliefs(frame), len(frame), {"rows": len(frame)})


def _broken(broken: Sequence[Broken], rows: int, metadata: dict[str, Any]) -> Found:
    report = markdown(
        ["rule", "rows", "keys"],
        ((rule.rule, len(rule.finding_ids), examples(rule.finding_ids)) for rule in broken),
        f"No probability of {rows} rows breaks a rule.",
    )
    remedy = " ".join(dict.fromkeys(rule.remedy for rule in broken))
    found = {"broken_rules": len(broken), "report": report, **metadata}
    return Found(not broken, found, remedy, dg.AssetCheckSeverity.ERROR)
