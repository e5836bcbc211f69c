"""The paper's tables on any corpus (implicit.md section 7)."""

from __future__ import annotations

from lunguage_assets.tables.columns import (
    CONFLICT_SOURCES,
    CONFLICT_TYPES,
    code,
    integer,
    number,
    probability,
    text,
)
from lunguage_assets.tables.schema import Column, table

ALL_DIAGNOSES = "all diagnoses"
ALL_FINDINGS = "all findings"
STATUS_COLUMNS = {
    "dp": "definitive_positive",
    "tp": "tentative_positive",
    "tn": "tentative_negative",
    "dn": "definitive_negative",
}
FIT_MEASURES = ("steps", "rank", "mu", "p")
SPREAD = ("mean", "sd", "minimum", "maximum")
STRUCTURE = {
    "variants": "Spellings",
    "pathways": "Pathways",
    "depth": "Longest chain through sub-findings that are themselves diagnoses; of all, the highest",
    "width": "Distinct leaf names over its pathways; of all, the highest",
}


def _percent(name: str, description: str) -> Column:
    return number(f"percent_{name}", f"Percent of {description}; null of none", 0.0, 100.0, nullable=True)


def _published(name: str, description: str) -> Column:
    only = "null unless the corpus is the published one"
    return number(name, f"Published {description}; {only}", nullable=True)


CERTAINTY_TABLE = table(
    "certainty_table",
    "Stated current findings by diagnosis, before any is merged or removed: how certain, which polarity, and "
    "the p of the tentative ones (the paper's Table 2).",
    text("diagnosis", f"Diagnosis of the pathway dictionary; '{ALL_DIAGNOSES}' and '{ALL_FINDINGS}' last"),
    *(integer(name, f"Rows with status {status}") for status, name in STATUS_COLUMNS.items()),
    integer("total", "Rows of any status"),
    *(_percent(name, f"the line's rows with status {status}") for status, name in STATUS_COLUMNS.items()),
    integer("no_information", "Tentative rows without a p (p_source none); in no mean"),
    probability("p_mean", "Mean p of the tentative rows; null without any", nullable=True),
    number("p_sd", "Standard deviation (population) of their p; null without any", 0.0, nullable=True),
    probability("p_min", "Lowest p of the tentative rows; null without any", nullable=True),
    probability("p_max", "Highest p of the tentative rows; null without any", nullable=True),
    key=("diagnosis",),
)

EXPANSION_TABLE = table(
    "expansion_table",
    "Structure of the pathways of every diagnosis, and their use on this corpus (the paper's Table 3).",
    text("diagnosis", f"Diagnosis of the pathway dictionary; '{ALL_DIAGNOSES}' last"),
    *(integer(name, description) for name, description in STRUCTURE.items()),
    *(_published(f"published_{name}", name) for name in STRUCTURE),
    integer("stated", "Delivered rows that are this diagnosis, whatever their status, section or fate"),
    integer("expanded", "Of these, rows that expand"),
    _percent("expanded", "the stated rows that expand"),
    integer("expanded_generated", "Generated rows of this diagnosis that expand in turn"),
    integer("generated", "Sub-findings generated below its stated rows, to the leaves, before resolution"),
    integer("already_stated", "Sub-findings of its rows that the report already states"),
    integer("added", "Generated rows below its stated rows in the result"),
    _percent("added", "all added rows that are below its stated rows"),
    key=("diagnosis",),
)

FIT_TABLE = table(
    "fit_table",
    "Fits of the tentative findings that have a place of their own. Published: of the paper's corpus and "
    "judges, to compare with, whatever this corpus is.",
    code("measure", "steps: opponents played; rank: place in the ranking, from 1; mu: its points; p",
        FIT_MEASURES),
    integer("n", "Findings"),
    *(number(name, f"The {name} (sd: population's); null without any", nullable=True) for name in SPREAD),
    *(number(f"published_{name}", f"Published {name}; null where none is printed", nullable=True)
      for name in SPREAD),
    key=("measure",),
)  # fmt: skip

CORPUS_FIGURES = table(
    "corpus_figures",
    "Counts that the paper prints, on this corpus, each named for what it counts.",
    text("measure", "What is counted"),
    number("value", "On this corpus; shares from 0 to 1; null for a share of nothing", nullable=True),
    _published("published", "value"),
    text("note", "What to know before comparing the two, or empty"),
    key=("measure",),
)

CONFLICT_TABLE = table(
    "conflict_table",
    "Conflicts before resolution by type and by which kinds of rows meet (the paper's cross table), and what "
    "became of the rows.",
    code("conflict_type", "How the rows disagree or repeat", CONFLICT_TYPES),
    code("source", "Which kinds of rows meet", CONFLICT_SOURCES),
    integer("conflicts", "Groups with this conflict"),
    integer(
        "suppressed", "Of these, sub-findings never generated: the report states them less surely or more"
    ),
    _published("published", "number of conflicts"),
    integer("merged", "Rows taking part that resolution merged for a conflict of this type"),
    integer("removed", "Rows taking part that resolution removed or discarded for a conflict of this type"),
    key=("conflict_type", "source"),
)

PAPER_TABLES = {
    "certainty": CERTAINTY_TABLE,
    "fit": FIT_TABLE,
    "expansion": EXPANSION_TABLE,
    "conflicts": CONFLICT_TABLE,
    "figures": CORPUS_FIGURES,
}
"""By the name that its file `table_NAME.csv` has in a release."""
