"""Asset checks of the explicit half: what a person should know before trusting its numbers.

They warn, because a biased judge or an unreviewed pair spoils no table; only a ranking that is not what its
matches say is an error.
"""

from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.explicit.analysis.reliability import Estimate
from lunguage_assets.explicit.analysis.trust.diagnostics import PositionBias, position_bias
from lunguage_assets.explicit.analysis.trust.verification import (
    PACKAGE_TOLERANCE,
    REPLAY_TOLERANCE,
    Verification,
)
from lunguage_assets.orchestration.checks.report import examples, result, where_stored
from lunguage_assets.orchestration.metadata import counts
from lunguage_assets.orchestration.partitions import Partitions, partition_of
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import asset_check

INVALID_SHARE = 0.05
"""Share of invalid answers from which a judge is reported: the published judges had next to none."""


def explicit_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    @asset_check(
        asset=dg.AssetKey("hedge_phrases"),
        name="pairs_reviewed",
        description="No pair waits for a person: several phrases, none, two findings of one name, a finding "
        "not located, an invalid answer.",
        partitions_def=partitions.of("hedge_phrases"),
    )
    def pairs_reviewed(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        waiting = frame[frame["needs_review"].to_numpy(dtype=bool)]
        return result(
            context,
            waiting.empty,
            {
                "pairs": len(frame),
                "unreviewed": len(waiting),
                "reasons": counts(waiting["review_reason"], "reason"),
                "examples": examples(waiting["finding_id"]),
                **where_stored(context, home.home, "hedge_phrases"),
            },
            "Look at the pairs in the review queue (its path is with this table), put what is "
            "right into corrections.csv in the home, and "
            "launch the job `everything` (or `lunguage run`): it reads the corrected batches "
            "again, and fits them.",
        )

    @asset_check(
        asset=dg.AssetKey("comparison_matches"),
        name="position_bias",
        description="The judge chooses the sentence shown first about half the time, as the coin that orders "
        "them makes content even.",
        partitions_def=partitions.of("comparison_matches"),
    )
    def judge_is_even(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        if frame.empty:
            return result(
                context, True, {"matches": 0, **where_stored(context, home.home, "comparison_matches")}, ""
            )
        (found,) = position_bias({partition_of(context): frame})
        return result(
            context,
            found.passed,
            {
                "verdict": found.verdict,
                "report": dg.MetadataValue.md(_position_table(found)),
                "p_value": _number(found.p_value),
                **where_stored(context, home.home, "comparison_matches"),
            },
            "Swapped positions cancel the bias to first order. If it is large, look at the "
            "prompt's examples, use mode 'enum', or leave the "
            "judge out of the panel.",
        )

    @asset_check(
        asset=dg.AssetKey("comparison_matches"),
        name="answers_valid",
        description=f"At most {INVALID_SHARE:.0%} of the judge's answers are invalid after all tries.",
        partitions_def=partitions.of("comparison_matches"),
    )
    def answers_valid(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        invalid = int((frame["answer"] == "invalid").sum())
        share = invalid / len(frame) if len(frame) else 0.0
        return result(
            context,
            share <= INVALID_SHARE,
            {
                "matches": len(frame),
                "invalid": invalid,
                "invalid_share": share,
                **where_stored(context, home.home, "comparison_matches"),
            },
            "Invalid answers are left out of the ratings. See `lunguage ledger stats` for "
            "refusals and unreadable answers; a higher limit on "
            "output tokens or mode 'enum' often helps. Give the changed judge a new key.",
        )

    @asset_check(
        asset=dg.AssetKey("fitted_probabilities"),
        name="pairs_informed",
        description="Every tentative finding has a probability that rests on something: a fit, or the place "
        "of its phrases.",
        partitions_def=partitions.of("fitted_probabilities"),
    )
    def pairs_informed(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        without = frame[frame["p_source"] == "none"]
        return result(
            context,
            without.empty,
            {
                "pairs": len(frame),
                "without_information": len(without),
                "p_source": counts(frame["p_source"], "source of p"),
                "examples": examples(without["finding_id"]),
                **where_stored(context, home.home, "fitted_probabilities"),
            },
            "These findings have p = 0.5 with the interval 0 to 1 and are not expanded. Correct "
            "the finding's name in the delivery so that it is "
            "found in its sentence, or give its phrases in corrections.csv.",
        )

    return [pairs_reviewed, judge_is_even, answers_valid, pairs_informed]


VERIFIED = dg.AssetCheckSpec(
    "equals_trueskill_package",
    asset="reference_ranking",
    description="Closed form and the `trueskill` package agree on a sample, and the stored ranking is "
    "what its matches give.",
)
"""Made by the asset itself: a check of its own could not read the matches of a ranker's members, as Dagster
gives checks no partition mapping.
"""


def verification_result(found: Verification) -> dg.AssetCheckResult:
    """What `verify_with_package` found, as the result of the check `VERIFIED`."""
    metadata: dict[str, Any] = {
        "matches_played_by_the_package": found.matches,
        "order": found.order,
        "largest_difference_to_the_package": found.package_difference,
        "tolerance_of_the_package": PACKAGE_TOLERANCE,
        "largest_difference_to_the_stored_ranking": found.replay_difference,
        "tolerance_of_the_stored_ranking": REPLAY_TOLERANCE,
    }
    if not found.passed:
        metadata["remedy"] = (
            "The rating arithmetic differs from the trueskill package: report this, and do not "
            "use the ranking."
        )
    return dg.AssetCheckResult(
        check_name=VERIFIED.name,
        asset_key=VERIFIED.asset_key,
        passed=found.passed,
        severity=dg.AssetCheckSeverity.ERROR,
        metadata=metadata,
    )


def _position_table(found: PositionBias) -> str:
    rows = {
        "sentence_1 chosen": found.overall,
        "sentence_1 chosen, phrase_a shown first": found.a_first,
        "sentence_1 chosen, phrase_b shown first": found.b_first,
        "effect of being shown first": found.effect,
    }
    lines = ["| measure | value | 95% interval | answers |", "|---|---:|---|---:|"]
    lines += [f"| {name} | {_shown(e.value)} | {_interval(e)} | {e.n} |" for name, e in rows.items()]
    return "\n".join([*lines, f"| invalid answers | {found.invalid} | | |"])


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _interval(estimate: Estimate) -> str:
    return "" if estimate.low is None else f"{_shown(estimate.low)} to {_shown(estimate.high)}"


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
