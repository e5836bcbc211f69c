"""The paper's tables on any corpus, and the comparison of both modes (implicit.md sections 6 and 7)."""

from __future__ import annotations

from lunguage_assets.tables.columns import (
    CONFLICT_SOURCES,
    CONFLICT_TYPES,
    FINDING_ID,
    STATUSES,
    STUDY,
    probability,
    text,
)
from lunguage_assets.tables.schema import Column, Table


def _count(name: str, description: str) -> Column:
    return Column(name, "int", description, minimum=0)


def _percent(name: str, description: str) -> Column:
    return Column(
        name,
        "float",
        f"Percent of the line's rows {description}; null without any",
        nullable=True,
        minimum=0.0,
        maximum=100.0,
    )


def _published(name: str, description: str) -> Column:
    return Column(
        name, "float", f"Published {description}; null unless the corpus is the published one", nullable=True
    )


ALL_DIAGNOSES = "all diagnoses"
ALL_FINDINGS = "all findings"

CERTAINTY_TABLE = Table(
    "certainty_table",
    "Stated current findings by diagnosis, before any is merged or removed: how certain, which polarity, and "
    "the p of the tentative ones (the paper's Table 2).",
    (
        text(
            "diagnosis", f"Diagnosis of the pathway dictionary; '{ALL_DIAGNOSES}' and '{ALL_FINDINGS}' last"
        ),
        _count("definitive_positive", "Rows with status dp"),
        _count("tentative_positive", "Rows with status tp"),
        _count("tentative_negative", "Rows with status tn"),
        _count("definitive_negative", "Rows with status dn"),
        _count("total", "Rows of any status"),
        _percent("percent_definitive_positive", "with status dp"),
        _percent("percent_tentative_positive", "with status tp"),
        _percent("percent_tentative_negative", "with status tn"),
        _percent("percent_definitive_negative", "with status dn"),
        _count(
            "no_information", "Tentative rows without a p (p_source none); the distribution leaves them out"
        ),
        probability("p_mean", "Mean p of the tentative rows; null without any", nullable=True),
        Column(
            "p_sd",
            "float",
            "Standard deviation (population) of their p; null without any",
            nullable=True,
            minimum=0.0,
        ),
        probability("p_min", "Lowest p of the tentative rows; null without any", nullable=True),
        probability("p_max", "Highest p of the tentative rows; null without any", nullable=True),
    ),
    ("diagnosis",),
)

EXPANSION_TABLE = Table(
    "expansion_table",
    "Structure of the pathways of every diagnosis, and what "
    "they came to on this corpus (the paper's Table 3).",
    (
        text("diagnosis", f"Diagnosis of the pathway dictionary; '{ALL_DIAGNOSES}' last"),
        _count("variants", "Spellings"),
        _count("pathways", "Pathways"),
        _count(
            "depth", "Longest chain through sub-findings that are themselves diagnoses; of all, the highest"
        ),
        _count("width", "Distinct leaf names over its pathways; of all, the highest"),
        _published("published_variants", "number of spellings"),
        _published("published_pathways", "number of pathways"),
        _published("published_depth", "depth"),
        _published("published_width", "width"),
        _count("stated", "Delivered rows that are this diagnosis, whatever their status, section or fate"),
        _count("expanded", "Of these, rows that expand"),
        Column(
            "percent_expanded",
            "float",
            "Percent of the stated rows that expand; null without any",
            nullable=True,
            minimum=0.0,
            maximum=100.0,
        ),
        _count("expanded_generated", "Generated rows of this diagnosis that expand in turn"),
        _count("generated", "Sub-findings generated below its stated rows, to the leaves, before resolution"),
        _count("already_stated", "Sub-findings of its rows that the report already states"),
        _count("added", "Generated rows below its stated rows in the result"),
        Column(
            "percent_added",
            "float",
            "Percent of all added rows that are below its stated rows; null without any",
            nullable=True,
            minimum=0.0,
            maximum=100.0,
        ),
    ),
    ("diagnosis",),
)

FIT_MEASURES = ("steps", "rank", "mu", "p")


def _beside(name: str, description: str) -> Column:
    return Column(
        name,
        "float",
        f"Published {description}, of the paper's corpus and judges; null where none is printed",
        nullable=True,
    )


FIT_TABLE = Table(
    "fit_table",
    "Fits of the tentative findings that have a place of their own. Published: of the paper's corpus "
    "and judges, to compare with, whatever this corpus is.",
    (
        Column(
            "measure",
            "string",
            "steps: opponents played; rank: place in the ranking, from 1; mu: its points; p: probability",
            choices=FIT_MEASURES,
        ),
        _count("n", "Findings"),
        Column("mean", "float", "Mean; null without any", nullable=True),
        Column(
            "sd", "float", "Standard deviation (population); null without any", nullable=True, minimum=0.0
        ),
        Column("minimum", "float", "Lowest; null without any", nullable=True),
        Column("maximum", "float", "Highest; null without any", nullable=True),
        _beside("published_mean", "mean"),
        _beside("published_sd", "standard deviation"),
        _beside("published_minimum", "lowest value"),
        _beside("published_maximum", "highest value"),
    ),
    ("measure",),
)

CORPUS_FIGURES = Table(
    "corpus_figures",
    "Counts that the paper prints, on this corpus, each named for what it counts.",
    (
        text("measure", "What is counted"),
        Column(
            "value",
            "float",
            "On this corpus; shares from 0 to 1; null when it cannot be said (a share of nothing)",
            nullable=True,
        ),
        _published("published", "value"),
        text("note", "What to know before comparing the two, or empty"),
    ),
    ("measure",),
)

CONFLICT_TABLE = Table(
    "conflict_table",
    "Conflicts before resolution by type and by which kinds of rows "
    "meet (the paper's cross table), and what became of the rows.",
    (
        Column("conflict_type", "string", "How the rows disagree or repeat", choices=CONFLICT_TYPES),
        Column("source", "string", "Which kinds of rows meet", choices=CONFLICT_SOURCES),
        _count("conflicts", "Groups with this conflict"),
        _count(
            "suppressed",
            "Of these, sub-findings never generated: the report states them with other certainty",
        ),
        _published("published", "number of conflicts"),
        _count("merged", "Rows taking part that resolution merged for a conflict of this type"),
        _count(
            "removed", "Rows taking part that resolution removed or discarded for a conflict of this type"
        ),
    ),
    ("conflict_type", "source"),
)

MODE_DIFFERENCES = Table(
    "mode_differences",
    "Rows in which Lunguage++ of mode `paper` differs from that of the method, and why.",
    (
        STUDY,
        FINDING_ID,
        text("name", "Finding in canonical form"),
        Column("status", "string", "Status of the row", choices=STATUSES),
        Column(
            "source",
            "string",
            "Stated in the report, or generated from a pathway",
            choices=("original", "expansion"),
        ),
        Column(
            "difference",
            "string",
            "Where the row is, or what of it differs: its probability or interval, else its parent, "
            "attributes, references or merged rows",
            choices=("only in method", "only in paper", "probability", "content"),
        ),
        Column(
            "cause",
            "string",
            "Which departure explains it, or that another row of the study does",
            choices=(
                "alternatives",
                "denied sign",
                "highest p",
                "blacklist",
                "bounds of an edge",
                "spoken against",
                "already stated",
                "resolved",
                "same place",
                "attributes kept apart",
                "follows from another row",
            ),
        ),
        probability("prob_method", "prob in mode method; null when the row is not there", nullable=True),
        probability("prob_paper", "prob in mode paper; null when the row is not there", nullable=True),
    ),
    ("finding_id",),
)
