"""Tables that hold the result against what is known otherwise: statements of the reports, and outcomes."""

from __future__ import annotations

from lunguage_assets.tables.columns import probability, text
from lunguage_assets.tables.schema import Column, Table

AGAINST_EXPERTS = ("above", "below", "open", "not measured")


def _count(name: str, description: str) -> Column:
    return Column(name, "int", description, minimum=0)


PATHWAY_AUDIT = Table(
    "pathway_audit",
    "What the reports themselves say of every edge of the pathways: of studies that state the diagnosis now "
    "and mention the sub-finding at a compatible place, how many say what the pathway implies. Reports "
    "mention selectively, so the share is no probability given the diagnosis alone.",
    (
        text("diagnosis", "Diagnosis of the pathway dictionary"),
        text("pathway_id", "Pathway of the diagnosis"),
        _count("edge", "0-based number of the sub-finding in that pathway"),
        text("sub_finding", "What the pathway implies"),
        text("place", "Place that the pathway adds, or empty"),
        Column("expected", "string", "What the pathway implies of it", choices=("present", "absent")),
        _count("studies", "Studies that state the diagnosis without doubt and match the pathway"),
        _count("mentioned", "Of these, studies that state or deny the sub-finding, and not both"),
        _count("as_implied", "Of the mentioned, studies that say what the pathway implies"),
        _count("otherwise", "Of the mentioned, studies that say the opposite"),
        _count("both", "Studies that state it at one place and deny it at another: in no share"),
        probability("share", "as_implied / mentioned; null without a mention", nullable=True),
        probability("share_low", "Lower end of its 95% interval (Wilson)", nullable=True),
        probability("share_high", "Upper end of its 95% interval (Wilson)", nullable=True),
        probability("experts", "Probability above which the experts kept the edge"),
        probability(
            "strength", "Strength of the edge in the pathway file; null: none is given", nullable=True
        ),
        Column(
            "against_experts",
            "string",
            "Whether the whole interval lies above or below what the experts said",
            choices=AGAINST_EXPERTS,
        ),
        _count("tentative_studies", "Studies that state the diagnosis with doubt only: in no share"),
        _count("tentative_mentioned", "Of these, studies that state or deny the sub-finding, and not both"),
        _count("tentative_as_implied", "Of the mentioned, studies that say what the pathway implies"),
    ),
    ("pathway_id", "edge"),
    ordered=(("share_low", "share", "share_high"), ("as_implied", "mentioned", "studies")),
)

AUDITED_LABELS = Table(
    "audited_labels",
    "What implied labels would be with the measured shares as strengths of the edges (`pathway_audit`), the "
    "same row deciding. An edge with too few mentions keeps the strength that it has.",
    (
        text("label", "Label, of the closed list in resources/labels.yaml"),
        _count("implied", "Studies in which a pathway implies the label"),
        _count("unmeasured", "Of these, how many rest on an edge with too few mentions"),
        probability("p", "Mean p of the implied labels as they are; null without one", nullable=True),
        probability("p_measured", "The same with the measured strengths", nullable=True),
        _count("fall_below_half", "Implied labels whose p would fall from 0.5 or more to less"),
    ),
    ("label",),
)

GROUPINGS = ("all", "label", "source", "p_source", "phrase")

CALIBRATION = Table(
    "calibration",
    "Probabilities of labels held against outcomes that somebody else established (`outcomes.csv` in the "
    "home), for all cells and by group. Empty without that file.",
    (
        Column("by", "string", "What the cells are grouped by", choices=GROUPINGS),
        text("group", "Which of them; empty for all cells"),
        _count("cells", "Studies x labels with p and an outcome"),
        _count("positive", "Of these, outcomes that are 1"),
        probability("mean_p", "Mean of p"),
        probability("observed", "Share of outcomes that are 1"),
        probability("observed_low", "Lower end of its 95% interval (Wilson)"),
        probability("observed_high", "Upper end of its 95% interval (Wilson)"),
        probability("brier", "Mean of (p - outcome) squared; 0 is perfect"),
        probability("ece", "Expected calibration error over bins of equally many cells"),
        probability("reader_brier", "Brier score with p as a distribution over readers"),
        probability("reader_ece", "Expected calibration error with p as a distribution over readers"),
        Column("slope", "float", "Of logit p in a logistic regression of the outcome, 0 < p < 1; 1 is "
               "perfect; null where it is not determined", nullable=True),
        Column("slope_low", "float", "Lower end of its 95% interval", nullable=True),
        Column("slope_high", "float", "Upper end of its 95% interval", nullable=True),
        Column("intercept", "float", "With the slope held at 1; 0 is perfect, below 0: p is too high",
               nullable=True),
        Column("intercept_low", "float", "Lower end of its 95% interval", nullable=True),
        Column("intercept_high", "float", "Upper end of its 95% interval", nullable=True),
        probability(
            "coverage",
            "Share of cells in bins whose observed share lies between the bin's mean p_low and mean p_high",
        ),
        probability(
            "coverage_possible",
            "The same, where the 95% interval of the observed share reaches into that range",
        ),
    ),
    ("by", "group"),
    ordered=(
        ("observed_low", "observed", "observed_high"),
        ("slope_low", "slope", "slope_high"),
        ("intercept_low", "intercept", "intercept_high"),
        ("positive", "cells"),
    ),
)  # fmt: skip
