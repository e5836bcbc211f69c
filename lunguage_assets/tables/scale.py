"""The table of what each hedging phrase means: our p, the range of other readers, and published scales."""

from __future__ import annotations

from lunguage_assets.tables.columns import probability, text
from lunguage_assets.tables.schema import Column, Table

PHRASE_SCALE = Table(
    "phrase_scale",
    "What each hedging phrase means on the probability scale, beside published human scales.",
    (
        Column("number", "int", "Position in the table, from the most certain phrase", minimum=0),
        text("phrase", "Hedging phrase"),
        Column(
            "mu",
            "float",
            "Place in the ranking; null for a published phrase that is not ranked",
            nullable=True,
        ),
        probability("p", "Probability that the anchors give to this place", nullable=True),
        probability("p_low", "Lower end of its 95% interval, the mean's", nullable=True),
        probability("p_high", "Upper end of its 95% interval", nullable=True),
        probability(
            "reader_low", "Lower end of the range in which another reader's p would lie, 95%", nullable=True
        ),
        probability("reader_high", "Upper end of that range", nullable=True),
        Column("is_anchor", "bool", "The scale goes through this phrase"),
        text("published", "What published scales say of the phrase, in hundredths, with the scale's name"),
    ),
    ("number",),
    ordered=(("reader_low", "p_low", "p", "p_high", "reader_high"),),
)
