"""Tables of the analyses: agreement of judges, extractors and experts; trust in ranking and fit; what hedging
phrases mean; the result held against what the reports say otherwise, and against outcomes.
"""

from __future__ import annotations

from lunguage_assets.tables.columns import TESTED_RANKING, code, flag, integer, number, probability, text
from lunguage_assets.tables.schema import Table

_CODING = code(
    "coding",
    "What the categories are: the chosen phrase; whether it was shown first or second; none where "
    "the measure is the same in both",
    ("none", "phrase", "position"),
)
_VALUE = (
    number(
        "value",
        "The measure; null where it is not defined (nothing to compare, or no variation)",
        nullable=True,
    ),
    number("low", "Lower end of the 95% interval; null where there is none", nullable=True),
    number("high", "Upper end of the 95% interval; null where there is none", nullable=True),
)
_CASES = integer("n", "Cases behind the value")

JUDGE_AGREEMENT = Table(
    "judge_agreement",
    "How far judges agree with each other and with themselves, and how their position bias shows.",
    (
        code("measure", "What is measured", ("pairwise agreement", "mean pairwise agreement", "fleiss kappa",
            "krippendorff alpha", "sentence_1 chosen", "invalid answers")),
        _CODING,
        text("first", "Judge; 'all judges' for a measure of all together"),
        text("second", "The other judge; empty for a measure of one or of all"),
        *_VALUE,
        probability("p_value", "Of the exact test that sentence_1 is chosen half the time; null for other "
            "measures", nullable=True),
        _CASES,
    ),
    ("measure", "coding", "first", "second"),
)  # fmt: skip

RANKING_CORRELATIONS = Table(
    "ranking_correlations",
    "Spearman correlation between every two rankings: each judge's own, in each random order of play, and "
    "the reference rankings.",
    (
        text("first", "Judge, or ranker of a reference ranking"),
        integer("first_order", "0-based random order of play; -1: the reference ranking, averaged over "
            "orders", minimum=-1),
        text("second", "Judge, or ranker of a reference ranking"),
        integer("second_order", "0-based random order of play; -1: the reference ranking, averaged over "
            "orders", minimum=-1),
        number("spearman", "Rank correlation of mu; null for fewer than three phrases or no variation",
            nullable=True, minimum=-1.0, maximum=1.0),
        integer("n_phrases", "Phrases that are in both"),
    ),
    ("first", "first_order", "second", "second_order"),
)  # fmt: skip

EXPERT_AGREEMENT = Table(
    "expert_agreement",
    "How far human experts agree with the ranking, with each judge's majority vote, and with each other.",
    (
        code("measure", "What is measured", ("with ranking", "with judge", "with expert", "fleiss kappa",
            "krippendorff alpha")),
        _CODING,
        text("group", "Experts averaged or compared: all; writer or reader of reports; 'occupation: ' and "
            "which", pattern=r"all|writer|reader|occupation: .+"),
        integer("experts", "Experts of the group"),
        text("first", "Expert; empty for the average, or the coefficient, of the group"),
        text("second", "Ranker, judge or other expert; empty where there is none"),
        *_VALUE,
        _CASES,
    ),
    ("measure", "coding", "group", "first", "second"),
)  # fmt: skip

RANKING_ROBUSTNESS = Table(
    "ranking_robustness",
    "How much the ranking changes with fewer comparisons per phrase pair, and with nothing but other random "
    "orders of play. Empty for the published ruler.",
    (
        integer("comparisons", "Comparisons kept per phrase pair; all of them: only the order of play is new",
            minimum=1),
        integer("repeat", "0-based number of the random choice of comparisons and orders"),
        integer("answers", "Valid answers that were played"),
        number("mean_abs_mu", "Mean |change of mu| over phrases, against the ranking", minimum=0.0),
        number("largest_abs_mu", "Largest |change of mu| over phrases", minimum=0.0),
        number("mean_abs_rank", "Mean |change of rank| over phrases", minimum=0.0),
        number("spearman", "Spearman's correlation of mu with the ranking's; null where undefined",
            nullable=True, minimum=-1.0, maximum=1.0),
        TESTED_RANKING,
    ),
    ("comparisons", "repeat"),
)  # fmt: skip

FIT_VALIDATION = Table(
    "fit_validation",
    "Every ranked phrase fitted back into the ranking without it, from resampled recorded matches: distance "
    "of its rank from the known one at every step. Empty for the published ruler.",
    (
        code("strategy", "How opponents are chosen", ("draw probability", "random")),
        text("judges", "all, or the one judge that answers"),
        integer("opponent_limit", "N: times one reference phrase may be played", minimum=1),
        integer("panel_steps", "K: steps in which all judges play; without effect where one judge answers"),
        integer("step", "1-based number of the step with a valid answer", minimum=1, maximum=100),
        number("mean_distance", "Mean |rank - known rank| after this step over the fits; null when none has "
            "a place", nullable=True, minimum=0.0),
        number("sd_distance", "Standard deviation of that distance over the fits (phrases x seeds); null "
            "below two", nullable=True, minimum=0.0),
        number("sd_between_seeds", "Standard deviation between seeds of the mean distance over phrases; null "
            "below two", nullable=True, minimum=0.0),
        number("mean_distance_stopped", "Mean distance when every fit is ended as in the product, once its "
            "rank has been stable", nullable=True, minimum=0.0),
        integer("unfitted", "Fits given up for want of valid answers before the product would have ended "
            "them; in no mean"),
        integer("phrases", "Phrases that were left out, one at a time", minimum=1),
        integer("seeds", "Repetitions with other random draws", minimum=1),
        TESTED_RANKING,
    ),
    ("strategy", "judges", "opponent_limit", "panel_steps", "step"),
)  # fmt: skip

PHRASE_SCALE = Table(
    "phrase_scale",
    "What each hedging phrase means on the probability scale, beside published human scales.",
    (
        integer("number", "Position in the table, from the most certain phrase"),
        text("phrase", "Hedging phrase"),
        number("mu", "Place in the ranking; null for a published phrase that is not ranked", nullable=True),
        probability("p", "Probability that the anchors give to this place", nullable=True),
        probability("p_low", "Lower end of its 95% interval, the mean's", nullable=True),
        probability("p_high", "Upper end of its 95% interval", nullable=True),
        probability("reader_low", "Lower end of the range in which another reader's p would lie, 95%",
            nullable=True),
        probability("reader_high", "Upper end of that range", nullable=True),
        flag("is_anchor", "The scale goes through this phrase"),
        text("published", "What published scales say of the phrase, in hundredths, with the scale's name"),
    ),
    ("number",),
    ordered=(("reader_low", "p_low", "p", "p_high", "reader_high"),),
)  # fmt: skip

PATHWAY_AUDIT = Table(
    "pathway_audit",
    "What the reports themselves say of every edge of the pathways: of studies that state the diagnosis now "
    "and mention the sub-finding at a compatible place, how many say what the pathway implies. Reports "
    "mention selectively, so the share is no probability given the diagnosis alone.",
    (
        text("diagnosis", "Diagnosis of the pathway dictionary"),
        text("pathway_id", "Pathway of the diagnosis"),
        integer("edge", "0-based number of the sub-finding in that pathway"),
        text("sub_finding", "What the pathway implies"),
        text("place", "Place that the pathway adds, or empty"),
        code("expected", "What the pathway implies of it", ("present", "absent")),
        integer("studies", "Studies that state the diagnosis without doubt and match the pathway"),
        integer("mentioned", "Of these, studies that state or deny the sub-finding, and not both"),
        integer("as_implied", "Of the mentioned, studies that say what the pathway implies"),
        integer("otherwise", "Of the mentioned, studies that say the opposite"),
        integer("both", "Studies that state it at one place and deny it at another: in no share"),
        probability("share", "as_implied / mentioned; null without a mention", nullable=True),
        probability("share_low", "Lower end of its 95% interval (Wilson)", nullable=True),
        probability("share_high", "Upper end of its 95% interval (Wilson)", nullable=True),
        probability("experts", "Probability above which the experts kept the edge"),
        probability("strength", "Strength of the edge in the pathway file; null: none is given",
            nullable=True),
        code("against_experts", "Whether the whole interval lies above or below what the experts said",
            ("above", "below", "open", "not measured")),
        integer("tentative_studies", "Studies that state the diagnosis with doubt only: in no share"),
        integer("tentative_mentioned", "Of these, studies that state or deny the sub-finding, and not both"),
        integer("tentative_as_implied", "Of the mentioned, studies that say what the pathway implies"),
    ),
    ("pathway_id", "edge"),
    ordered=(("share_low", "share", "share_high"), ("as_implied", "mentioned", "studies")),
)  # fmt: skip

CALIBRATION = Table(
    "calibration",
    "Probabilities of labels held against outcomes that somebody else established (`lunguage calibrate`), "
    "for all cells and by group.",
    (
        code("by", "What the cells are grouped by", ("all", "label", "source", "p_source", "phrase")),
        text("group", "Which of them; empty for all cells"),
        integer("cells", "Studies x labels with p and an outcome"),
        integer("positive", "Of these, outcomes that are 1"),
        probability("mean_p", "Mean of p"),
        probability("observed", "Share of outcomes that are 1"),
        probability("observed_low", "Lower end of its 95% interval (Wilson)"),
        probability("observed_high", "Upper end of its 95% interval (Wilson)"),
        probability("brier", "Mean of (p - outcome) squared; 0 is perfect"),
        probability("ece", "Expected calibration error over bins of equally many cells"),
        probability("reader_brier", "Brier score with p as a distribution over readers"),
        probability("reader_ece", "Expected calibration error with p as a distribution over readers"),
        number("slope", "Of logit p in a logistic regression of the outcome, 0 < p < 1; 1 is perfect; null "
            "where it is not determined", nullable=True),
        number("slope_low", "Lower end of its 95% interval", nullable=True),
        number("slope_high", "Upper end of its 95% interval", nullable=True),
        number("intercept", "With the slope held at 1; 0 is perfect, below 0: p is too high", nullable=True),
        number("intercept_low", "Lower end of its 95% interval", nullable=True),
        number("intercept_high", "Upper end of its 95% interval", nullable=True),
        probability("coverage", "Share of cells in bins whose observed share lies between the bin's mean "
            "p_low and mean p_high"),
    ),
    ("by", "group"),
    ordered=(
        ("observed_low", "observed", "observed_high"),
        ("slope_low", "slope", "slope_high"),
        ("intercept_low", "intercept", "intercept_high"),
        ("positive", "cells"),
    ),
)  # fmt: skip
