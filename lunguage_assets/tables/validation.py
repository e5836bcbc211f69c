"""Tables about trust in ranking and fit: half of the comparisons, phrases fitted back."""

from __future__ import annotations

from lunguage_assets.tables.columns import text
from lunguage_assets.tables.schema import Column, Table

RANKING_ROBUSTNESS = Table(
    "ranking_robustness",
    "How much the ranking changes with fewer comparisons per phrase pair, and with nothing but other random "
    "orders of play. Empty for the published ruler.",
    (
        Column(
            "comparisons",
            "int",
            "Comparisons kept per phrase pair; all of them: only the order of play is new",
            minimum=1,
        ),
        Column("repeat", "int", "0-based number of the random choice of comparisons and orders", minimum=0),
        Column("answers", "int", "Valid answers that were played", minimum=0),
        Column("mean_abs_mu", "float", "Mean |change of mu| over phrases, against the ranking", minimum=0.0),
        Column("largest_abs_mu", "float", "Largest |change of mu| over phrases", minimum=0.0),
        Column("mean_abs_rank", "float", "Mean |change of rank| over phrases", minimum=0.0),
        Column(
            "spearman",
            "float",
            "Spearman's correlation of mu with the ranking's; null where undefined",
            nullable=True,
            minimum=-1.0,
            maximum=1.0,
        ),
        text("ranking_version", "Ranking that was tested"),
    ),
    ("comparisons", "repeat"),
)

FIT_VALIDATION = Table(
    "fit_validation",
    "Every ranked phrase fitted back into the ranking without it, from resampled recorded matches: distance "
    "of its rank from the known one at every step. Empty for the published ruler.",
    (
        Column("strategy", "string", "How opponents are chosen", choices=("draw probability", "random")),
        text("judges", "all, or the one judge that answers"),
        Column("opponent_limit", "int", "N: times one reference phrase may be played", minimum=1),
        Column(
            "panel_steps",
            "int",
            "K: steps in which all judges play; without effect where one judge answers",
            minimum=0,
        ),
        Column("step", "int", "1-based number of the step with a valid answer", minimum=1, maximum=100),
        Column(
            "mean_distance",
            "float",
            "Mean |rank - known rank| after this step over the fits; null when none has a place",
            nullable=True,
            minimum=0.0,
        ),
        Column(
            "sd_distance",
            "float",
            "Standard deviation of that distance over the fits (phrases x seeds); null below two",
            nullable=True,
            minimum=0.0,
        ),
        Column(
            "sd_between_seeds",
            "float",
            "Standard deviation between seeds of the mean distance over phrases; null below two",
            nullable=True,
            minimum=0.0,
        ),
        Column(
            "mean_distance_stopped",
            "float",
            "Mean distance when every fit is ended as in the product, once its rank has been stable",
            nullable=True,
            minimum=0.0,
        ),
        Column(
            "stopped_share",
            "float",
            "Share of the fits that the product would have ended at this step or before",
            nullable=True,
            minimum=0.0,
            maximum=1.0,
        ),
        Column(
            "playing",
            "int",
            "Fits that still had an opponent at this step; the others keep their last rank",
            minimum=0,
        ),
        Column(
            "unfitted",
            "int",
            "Fits given up for want of valid answers before the product would have ended them; in no mean",
            minimum=0,
        ),
        Column("phrases", "int", "Phrases that were left out, one at a time", minimum=1),
        Column("seeds", "int", "Repetitions with other random draws", minimum=1),
        text("ranking_version", "Ranking that was tested"),
    ),
    ("strategy", "judges", "opponent_limit", "panel_steps", "step"),
)
