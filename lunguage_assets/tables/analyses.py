"""Tables of analyses: how far judges and experts agree, and what can be trusted.

`lunguage analyse` makes them. A release shows those that are there
(`released="analysis"`).
"""

from __future__ import annotations

from lunguage_assets.tables.columns import (
    code,
    integer,
    number,
    optional_number,
    text,
)
from lunguage_assets.tables.schema import Table

_CODING = code(
    "coding",
    "What the categories are: the chosen phrase; its position as shown; none where the "
    "measure is the same",
    ("none", "phrase", "position"),
)
_VALUE = (
    optional_number(
        "value",
        "The measure; null where undefined (nothing to compare, no variation)",
    ),
    optional_number("low", "Lower end of the 95% interval; null where there is none"),
    optional_number("high", "Upper end of the 95% interval; null where there is none"),
)
_CASES = integer("n", "Cases behind the value")
_TESTED = text("ranking_version", "Ranking that was tested")

JUDGE_AGREEMENT = Table(
    name="judge_agreement",
    description=(
        "How far judges agree with each other and with themselves, and how their "
        "position bias shows."
    ),
    partitioned_by=("ranker",),
    released="analysis",
    key=("measure", "coding", "first", "second"),
    columns=(
        code(
            "measure",
            "What is measured",
            (
                "pairwise agreement",
                "mean pairwise agreement",
                "fleiss kappa",
                "krippendorff alpha",
                "sentence_1 chosen",
                "invalid answers",
            ),
        ),
        _CODING,
        text("first", "Judge; 'all judges' for a measure of all together"),
        text("second", "The other judge; empty for a measure of one or of all"),
        *_VALUE,
        _CASES,
    ),
)

RANKING_CORRELATIONS = Table(
    name="ranking_correlations",
    description=(
        "Spearman correlation of every two rankings: judges' own, with each other and "
        "between orders of play, and reference rankings."
    ),
    partitioned_by=("ranker",),
    released="analysis",
    key=("first", "second"),
    columns=(
        text("first", "Judge, or ranker of a reference ranking"),
        text("second", "Judge, or ranker of a reference ranking"),
        optional_number(
            "spearman",
            "Of mu, mean over orders of play; null for no variation",
            -1.0,
            1.0,
        ),
    ),
)

RANKING_ROBUSTNESS = Table(
    name="ranking_robustness",
    description=(
        "Changes of the ranking with fewer comparisons, and with other orders of "
        "play. Empty: published ruler."
    ),
    partitioned_by=("ranker",),
    released="analysis",
    key=("comparisons", "repeat"),
    columns=(
        integer(
            "comparisons",
            "Comparisons kept per phrase pair; all of them: only the order of play is "
            "new",
            minimum=1,
        ),
        integer(
            "repeat", "0-based number of the random choice of comparisons and orders"
        ),
        integer("answers", "Valid answers that were played"),
        number(
            "mean_abs_mu", "Mean |change of mu| over phrases, against the ranking", 0.0
        ),
        number("largest_abs_mu", "Largest |change of mu| over phrases", 0.0),
        number("mean_abs_rank", "Mean |change of rank| over phrases", 0.0),
        optional_number(
            "spearman",
            "Of mu with the ranking's; null where undefined",
            -1.0,
            1.0,
        ),
        _TESTED,
    ),
)

FIT_VALIDATION = Table(
    name="fit_validation",
    description=(
        "Every ranked phrase fitted back from recorded matches: distance from its "
        "known rank at every step."
    ),
    partitioned_by=("ranker",),
    released="analysis",
    key=("strategy", "judges", "opponent_limit", "panel_steps", "step"),
    columns=(
        code("strategy", "How opponents are chosen", ("draw probability", "random")),
        text("judges", "all, or the one judge that answers"),
        integer(
            "opponent_limit", "N: times one reference phrase may be played", minimum=1
        ),
        integer(
            "panel_steps",
            "K: steps in which all judges play; without effect where one judge answers",
        ),
        integer(
            "step",
            "1-based number of the step with a valid answer",
            minimum=1,
            maximum=100,
        ),
        optional_number(
            "mean_distance",
            "Mean |rank - known rank| after this step; null without any",
            0.0,
        ),
        optional_number(
            "sd_distance",
            "Its deviation over fits (phrases x seeds); null below two",
            0.0,
        ),
        optional_number(
            "sd_between_seeds",
            "Deviation of the seeds' mean distances; null below two",
            0.0,
        ),
        integer("phrases", "Phrases that were left out, one at a time", minimum=1),
        integer("seeds", "Repetitions with other random draws", minimum=1),
        _TESTED,
    ),
)

EXPERT_AGREEMENT = Table(
    name="expert_agreement",
    description=(
        "How far human experts agree with the ranking, with each judge's majority "
        "vote, and with each other."
    ),
    partitioned_by=("ranker",),
    released="analysis",
    key=("measure", "coding", "first", "second"),
    columns=(
        code(
            "measure",
            "What is measured",
            (
                "with ranking",
                "with judge",
                "with expert",
                "fleiss kappa",
                "krippendorff alpha",
            ),
        ),
        _CODING,
        text("first", "Expert; empty for the average, or the coefficient, of all"),
        text("second", "Ranker, judge or other expert; empty where there is none"),
        *_VALUE,
        _CASES,
    ),
)
