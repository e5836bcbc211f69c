"""Tables of agreement: between judges, between extractors, and of experts with ranking and judges."""

from __future__ import annotations

from lunguage_assets.tables.columns import probability, text
from lunguage_assets.tables.schema import Column, Table

CODINGS = ("none", "phrase", "position")
JUDGE_MEASURES = (
    "pairwise agreement",
    "mean pairwise agreement",
    "fleiss kappa",
    "krippendorff alpha",
    "sentence_1 chosen",
    "sentence_1 chosen, phrase_a shown first",
    "sentence_1 chosen, phrase_b shown first",
    "position effect",
    "invalid answers",
    "majority share",
    "cyclic triads",
    "extraction: same phrases",
    "extraction: jaccard",
    "extraction: f1",
    "not compared",
)
EXPERT_MEASURES = (
    "with ranking",
    "with judge",
    "with expert",
    "fleiss kappa",
    "krippendorff alpha",
    "not compared",
)
_CODING = Column(
    "coding",
    "string",
    "What the categories are: the chosen phrase; whether it was shown "
    "first or second; none where the measure is the same in both",
    choices=CODINGS,
)
_VALUE = (
    Column(
        "value",
        "float",
        "The measure; null where it is not defined (nothing to compare, or no variation)",
        nullable=True,
    ),
    Column("low", "float", "Lower end of the 95% interval; null where there is none", nullable=True),
    Column("high", "float", "Upper end of the 95% interval; null where there is none", nullable=True),
)
_COUNTS = (
    Column("n", "int", "Cases behind the value", minimum=0),
    Column("left_out", "int", "Cases that the value does not use", minimum=0),
    text("reasons", "Why cases were left out, with counts; empty when none were"),
)

JUDGE_AGREEMENT = Table(
    "judge_agreement",
    "How far judges agree with each other and with themselves, "
    "how their position bias shows, and how far extractors agree.",
    (
        Column("measure", "string", "What is measured", choices=JUDGE_MEASURES),
        _CODING,
        text("first", "Judge; 'all judges' for a measure of all together"),
        text("second", "The other judge; empty for a measure of one or of all"),
        *_VALUE,
        probability(
            "p_value",
            "Of the exact test that sentence_1 is chosen half the time; null for other measures",
            nullable=True,
        ),
        *_COUNTS,
    ),
    ("measure", "coding", "first", "second"),
)

RANKING_CORRELATIONS = Table(
    "ranking_correlations",
    "Spearman correlation between every two rankings: each judge's "
    "own, in each random order of play, and the reference rankings.",
    (
        text("first", "Judge, or ranker of a reference ranking"),
        Column(
            "first_order",
            "int",
            "0-based random order of play; -1: the reference ranking, averaged over orders",
            minimum=-1,
        ),
        text("second", "Judge, or ranker of a reference ranking"),
        Column(
            "second_order",
            "int",
            "0-based random order of play; -1: the reference ranking, averaged over orders",
            minimum=-1,
        ),
        Column(
            "spearman",
            "float",
            "Rank correlation of mu; null for fewer than three phrases or no variation",
            nullable=True,
            minimum=-1.0,
            maximum=1.0,
        ),
        Column("n_phrases", "int", "Phrases that are in both", minimum=0),
    ),
    ("first", "first_order", "second", "second_order"),
)

EXPERT_AGREEMENT = Table(
    "expert_agreement",
    "How far human experts agree with the ranking, with each judge's majority vote, and with each other.",
    (
        Column("measure", "string", "What is measured", choices=EXPERT_MEASURES),
        _CODING,
        text(
            "group",
            "Experts averaged or compared: all; writer or reader of reports; 'occupation: ' and which",
            pattern=r"all|writer|reader|occupation: .+",
        ),
        Column("experts", "int", "Experts of the group", minimum=0),
        text("first", "Expert; empty for the average, or the coefficient, of the group"),
        text("second", "Ranker, judge or other expert; empty where there is none"),
        *_VALUE,
        *_COUNTS,
    ),
    ("measure", "coding", "group", "first", "second"),
)
