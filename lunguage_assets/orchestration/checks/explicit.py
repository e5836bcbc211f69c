"""Asset checks of the explicit half: what a person should know before trusting its numbers.

They warn, because a biased judge or an unreviewed pair spoils no table; only a ranking that is not what its
matches say is an error.
"""

import dagster as dg

from lunguage_assets.current.recipes import BATCH
from lunguage_assets.explicit.analysis.reliability import MeasuredValue
from lunguage_assets.explicit.analysis.trust.diagnostics import PositionBias, position_bias
from lunguage_assets.explicit.analysis.trust.verification import (
    PACKAGE_TOLERANCE,
    REPLAY_TOLERANCE,
    Verification,
)
from lunguage_assets.orchestration.checks.look import Found, Look, check, few
from lunguage_assets.orchestration.metadata import counts, examples, markdown

INVALID_SHARE = 0.05
"""Share of invalid answers from which a judge is reported: the published judges had next to none."""


@check(
    "hedge_phrases",
    "pairs_reviewed",
    "No pair waits for a person: several phrases, none, two findings of one name, a finding not located, an "
    "invalid answer.",
)
def pairs_reviewed(look: Look) -> Found:
    frame = look.table("hedge_phrases")
    waiting = frame[frame["needs_review"].to_numpy(dtype=bool)]
    return Found(
        waiting.empty,
        {
            "pairs": len(frame),
            "unreviewed": len(waiting),
            "reasons": counts(waiting["review_reason"], "reason"),
            "examples": examples(waiting["finding_id"]),
        },
        f"Look at the pairs in {look.home.review_queue(look.keys['judge'], look.keys[BATCH])}, put what is "
        f"right into {look.home.corrections_file}, and launch the job `everything` (or `lunguage run`): it "
        "reads the corrected batches again, and fits them.",
    )


@check(
    "comparison_matches",
    "position_bias",
    "The judge chooses the sentence shown first about half the time, as the coin that orders them makes "
    "content even.",
)
def judge_is_even(look: Look) -> Found:
    frame = look.table("comparison_matches")
    if frame.empty:
        return Found(True, {"matches": 0})
    found = position_bias(frame)
    return Found(
        found.passed,
        {
            "verdict": found.verdict,
            "report": _position_table(found),
            "p_value": float("nan") if found.p_value is None else found.p_value,
        },
        "Swapped positions cancel the bias to first order. If it is large, look at the prompt's examples, "
        "use mode 'enum', or leave the judge out of the panel.",
    )


@check(
    "comparison_matches",
    "answers_valid",
    f"At most {INVALID_SHARE:.0%} of the judge's answers are invalid after all tries.",
)
def answers_valid(look: Look) -> Found:
    frame = look.table("comparison_matches")
    return few(
        ("invalid", int((frame["answer"] == "invalid").sum())),
        ("matches", len(frame)),
        INVALID_SHARE,
        {},
        "Invalid answers are left out of the ratings. See `lunguage ledger stats` for refusals and "
        "unreadable answers; a higher limit on output tokens or mode 'enum' often helps. Give the changed "
        "judge a new key.",
    )


@check(
    "fitted_probabilities",
    "pairs_informed",
    "Every tentative finding has a probability that rests on something: a fit, or the place of its phrases.",
)
def pairs_informed(look: Look) -> Found:
    frame = look.table("fitted_probabilities")
    without = frame[frame["p_source"] == "none"]
    return Found(
        without.empty,
        {
            "pairs": len(frame),
            "without_information": len(without),
            "p_source": counts(frame["p_source"], "source of p"),
            "examples": examples(without["finding_id"]),
        },
        "These findings have p = 0.5 with the interval 0 to 1 and are not expanded. Correct the finding's "
        "name in the delivery so that it is found in its sentence, or give its phrases in corrections.csv.",
    )


VERIFIED = dg.AssetCheckSpec(
    "equals_trueskill_package",
    asset="reference_ranking",
    description="Closed form and the `trueskill` package agree on a sample, and the stored ranking is "
    "what its matches give.",
)
"""Made by the asset itself, which has the matches at hand."""


def verification_result(found: Verification) -> dg.AssetCheckResult:
    """What `verify_with_package` found, as the result of the check `VERIFIED`."""
    remedy = "The rating arithmetic differs from the trueskill package: report this; do not use the ranking."
    return dg.AssetCheckResult(
        check_name=VERIFIED.name,
        asset_key=VERIFIED.asset_key,
        passed=found.passed,
        severity=dg.AssetCheckSeverity.ERROR,
        metadata={
            "matches_played_by_the_package": found.matches,
            "order": found.order,
            "largest_difference_to_the_package": found.package_difference,
            "tolerance_of_the_package": PACKAGE_TOLERANCE,
            "largest_difference_to_the_stored_ranking": found.replay_difference,
            "tolerance_of_the_stored_ranking": REPLAY_TOLERANCE,
            **({} if found.passed else {"remedy": remedy}),
        },
    )


def _position_table(found: PositionBias) -> dg.MetadataValue:
    rows = {
        "sentence_1 chosen": found.overall,
        "sentence_1 chosen, phrase_a shown first": found.a_first,
        "sentence_1 chosen, phrase_b shown first": found.b_first,
        "effect of being shown first": found.effect,
    }
    shown = [(name, _shown(e.value), _interval(e), e.n) for name, e in rows.items()]
    invalid = ("invalid answers", found.invalid, "", "")
    return markdown(["measure", "value", "95% interval", "answers"], [*shown, invalid])


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _interval(estimate: MeasuredValue) -> str:
    return "" if estimate.low is None else f"{_shown(estimate.low)} to {_shown(estimate.high)}"
