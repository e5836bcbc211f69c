"""Tables of a release that are stored nowhere else.

The published columns and their provenance, labels for training classifiers (implicit.md
section 6), the scale of phrases, the paper's tables (section 7).
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables.columns import (
    ANY_SUBJECT,
    CONFLICT_SOURCES,
    CONFLICT_TYPES,
    P_SOURCES,
    REPORT_BATCH,
    RULER,
    SOURCE_ID,
    STATUSES,
    STUDY,
    VIEWS_WRITTEN,
    code,
    ends,
    flag,
    integer,
    listed,
    number,
    optional_number,
    optional_probability,
    probability,
    text,
)
from lunguage_assets.tables.implicit import LUNGUAGE_PLUS_PLUS
from lunguage_assets.tables.schema import Column, Table, Where

PUBLISHED_COLUMNS: tuple[str, ...] = (
    "idx",
    "subject_id",
    "study_id",
    "sequence",
    "section",
    "sent",
    "ent",
    "cat",
    "prob",
    "status",
    "location",
    "evidence",
    "associate",
    "morphology",
    "distribution",
    "measurement",
    "severity",
    "comparison",
    "onset",
    "no change",
    "improved",
    "worsened",
    "placement",
    "past hx",
    "other source",
    "assessment limitations",
    "report",
    "view_information",
    "pathway",
    "DxTP",
)
"""Columns of the published Lunguage++ CSV, in order (implicit.md section 6)."""

RELEASE = replace(
    LUNGUAGE_PLUS_PLUS,
    name="release",
    description="The released Parquet: Lunguage++ with the provenance of every row.",
    partitioned_by=(),
    columns=(
        *LUNGUAGE_PLUS_PLUS.columns,
        REPORT_BATCH,
        text("ranker", "Ranker whose probabilities these are"),
        listed("judges", "Judges of the ranker, in panel order"),
        RULER,
    ),
    constant=(),
)

STUDIES = Table(
    name="studies",
    description=(
        "All studies of a release, one row each: identifiers as numbers, as in the "
        "files of MIMIC-CXR-JPG."
    ),
    key=("study_id",),
    columns=(
        STUDY,
        ANY_SUBJECT,
        replace(
            SOURCE_ID,
            description=f"{SOURCE_ID.description}; empty of a study set aside",
        ),
        integer("study_number", "study_id without its letter"),
        integer("subject_number", "subject_id without its letter"),
        VIEWS_WRITTEN,
        REPORT_BATCH,
        integer("rows_out", "Rows of the study in the result"),
        text(
            "set_aside",
            "Rules that the study broke, so that it has no rows and no labels; else "
            "empty",
        ),
    ),
)

CLAIMED_SOURCES = ("stated", "implied", "denied", "unresolved")
LABEL_SOURCES = (*CLAIMED_SOURCES, "contradictory", "unmentioned")
CLAIMED = ("p", "p_low", "p_high", "p_source", "status", "finding_id")

LABELS = Table(
    name="labels",
    description=(
        "UNMENTIONED IS NOT ABSENT: a label that a report says nothing about has "
        "source `unmentioned` and null everywhere, never 0. One row per study and "
        "label: what the study says of it now (past findings do not count)."
    ),
    key=("study_id", "label"),
    columns=(
        STUDY,
        ANY_SUBJECT,
        SOURCE_ID,
        text("label", "Label, of the closed list in resources/labels.yaml"),
        text("chexpert", "Its CheXpert name, or empty"),
        code(
            "source",
            "stated: the report says so; implied: a pathway of a stated diagnosis "
            "does; denied: the report denies it, or calls it resolved; unresolved: the "
            "reader did not understand what is said of it; contradictory: "
            "the report says both; unmentioned: nothing is known, and that is not "
            "absence",
            LABEL_SOURCES,
        ),
        optional_probability(
            "p",
            "Probability that the finding is present anywhere in the study; null when "
            "unmentioned",
        ),
        *ends("p", "the interval of p; null when unmentioned", nullable=True),
        code(
            "p_source",
            "Where p comes from; null when unmentioned",
            (*P_SOURCES, "pathway"),
            nullable=True,
        ),
        flag(
            "p_is_bound",
            "p follows from a pathway or from other labels: a bound, not an estimate",
        ),
        code(
            "status",
            "What is claimed of the label: dp, dn, tp, tn; t: uncertain; null when "
            "unmentioned",
            STATUSES,
            nullable=True,
        ),
        flag(
            "denied_at_place",
            "Denied only at a place: nothing is said of the rest of the chest",
        ),
        flag(
            "past",
            "The report names the finding as past; that alone does not make it "
            "mentioned",
        ),
        text(
            "finding_id",
            "Row of Lunguage++ that decided; null when unmentioned",
            nullable=True,
        ),
    ),
    ordered=(("p_low", "p", "p_high"),),
    present=tuple(Where(name, "source", CLAIMED_SOURCES) for name in CLAIMED),
)

CHEXPERT = (
    "Atelectasis",
    "Cardiomegaly",
    "Consolidation",
    "Edema",
    "Enlarged Cardiomediastinum",
    "Fracture",
    "Lung Lesion",
    "Lung Opacity",
    "No Finding",
    "Pleural Effusion",
    "Pleural Other",
    "Pneumonia",
    "Pneumothorax",
    "Support Devices",
)
"""Columns of `mimic-cxr-2.0.0-chexpert.csv` behind the identifiers, in its order."""

NO_FINDING = "No Finding"
_SAID = (
    "1: stated; -1: stated with doubt, in either direction; 0: denied; blank: not "
    "stated"
)
_NOTHING_SAID = (
    "1: nothing else is stated, nor implied, with or without doubt, but for devices; "
    "else blank"
)
_NUMBERS = (
    integer("subject_id", "Patient: the digits of the patient's identifier"),
    integer("study_id", "Study: the digits of the study's identifier"),
)
CHEXPERT_LABELS = Table(
    name="labels_chexpert",
    description=(
        "BLANK IS NOT ABSENT. What the report itself states of the 14 CheXpert "
        "labels, with the columns and values of `mimic-cxr-2.0.0-chexpert.csv`; "
        "what a pathway implies is blank here."
    ),
    key=("study_id",),
    columns=(
        *_NUMBERS,
        *(
            optional_number(
                label,
                _NOTHING_SAID if label == NO_FINDING else _SAID,
                -1.0,
                1.0,
            )
            for label in CHEXPERT
        ),
    ),
)
CHEXPERT_PROBABILITIES = Table(
    name="labels_probability",
    description=(
        "BLANK IS NOT ABSENT. The probabilities of the 14 CheXpert labels in the "
        "shape of `labels_chexpert.csv`, implied ones included."
    ),
    key=("study_id",),
    columns=(
        *_NUMBERS,
        *(
            optional_probability(
                label,
                "p of this label in labels.csv; blank: unmentioned",
            )
            for label in CHEXPERT
        ),
    ),
)

PHRASE_SCALE = Table(
    name="phrase_scale",
    description=(
        "What each ranked phrase means on the probability scale, with the range of "
        "other readers."
    ),
    key=("number",),
    columns=(
        integer("number", "Position in the table, from the most certain phrase"),
        text("phrase", "Hedging phrase"),
        number("mu", "Place in the ranking"),
        probability("p", "Probability that the anchors give to this place"),
        *ends("p", "its 95% interval, the mean's"),
        *ends("reader", "the range in which another reader's p would lie, 95%"),
        flag("is_anchor", "The scale goes through this phrase"),
    ),
    ordered=(("reader_low", "p_low", "p", "p_high", "reader_high"),),
)

ALL_DIAGNOSES = "all diagnoses"
ALL_FINDINGS = "all findings"
STATUS_COLUMNS = {
    "dp": "definitive_positive",
    "tp": "tentative_positive",
    "tn": "tentative_negative",
    "dn": "definitive_negative",
}
PUBLISHED_CERTAINTY = {
    "definitive_positive": "definitive positive",
    "definitive_negative": "definitive negative",
    "tentative": "tentative",
}
"""What the paper's Table 2 counts -> in words."""
MEASURES_OF_P = {
    "p_mean": "mean p",
    "p_sd": "standard deviation of p (population)",
    "p_min": "lowest p",
    "p_max": "highest p",
}
FIT_MEASURES = ("steps", "rank", "mu", "p")
SPREAD = ("mean", "sd", "minimum", "maximum")
STRUCTURE = {
    "variants": "Spellings",
    "pathways": "Pathways",
    "depth": (
        "Longest chain through sub-findings that are themselves diagnoses; of all, the "
        "highest"
    ),
    "width": "Distinct leaf names over its pathways; of all, the highest",
}


def _percent(name: str, description: str) -> Column:
    return optional_number(
        f"percent_{name}",
        f"Percent of {description}; null of none",
        0.0,
        100.0,
    )


def _published(name: str, description: str) -> Column:
    only = "null unless the corpus is the published one"
    return optional_number(name, f"Published {description}; {only}")


def _published_p(name: str, description: str) -> Column:
    corpus = "of the paper's corpus, whatever this one is; null where none is printed"
    return optional_probability(
        f"published_{name}", f"Published {description} {corpus}"
    )


CERTAINTY_TABLE = Table(
    name="certainty_table",
    description=(
        "Stated current findings by diagnosis, before any is merged: status and p "
        "(the paper's Table 2)."
    ),
    key=("diagnosis",),
    columns=(
        text(
            "diagnosis",
            f"Diagnosis of the pathway dictionary; '{ALL_DIAGNOSES}' and "
            f"'{ALL_FINDINGS}' last",
        ),
        *(
            integer(name, f"Rows with status {status}")
            for status, name in STATUS_COLUMNS.items()
        ),
        integer("total", "Rows of any status"),
        *(
            _percent(name, f"the line's rows with status {status}")
            for status, name in STATUS_COLUMNS.items()
        ),
        integer(
            "no_information", "Tentative rows without a p (p_source none); in no mean"
        ),
        *(
            optional_probability(
                name, f"Of the tentative rows: {of_p}; null without any"
            )
            for name, of_p in MEASURES_OF_P.items()
        ),
        *(
            _published(f"published_{name}", f"number of {certainty} rows")
            for name, certainty in PUBLISHED_CERTAINTY.items()
        ),
        *(_published_p(name, of_p) for name, of_p in MEASURES_OF_P.items()),
    ),
)

EXPANSION_TABLE = Table(
    name="expansion_table",
    description=(
        "Structure of the pathways of every diagnosis, and their use on this "
        "corpus (the paper's Table 3)."
    ),
    key=("diagnosis",),
    columns=(
        text(
            "diagnosis", f"Diagnosis of the pathway dictionary; '{ALL_DIAGNOSES}' last"
        ),
        *(integer(name, description) for name, description in STRUCTURE.items()),
        *(_published(f"published_{name}", name) for name in STRUCTURE),
        integer(
            "stated",
            "Delivered rows that are this diagnosis, whatever their status, section or "
            "fate",
        ),
        integer("expanded", "Of these, rows that expand"),
        _percent("expanded", "the stated rows that expand"),
        integer(
            "expanded_generated", "Generated rows of this diagnosis that expand in turn"
        ),
        integer(
            "generated",
            "Sub-findings generated below its stated rows, to the leaves, before "
            "resolution",
        ),
        integer(
            "already_stated", "Sub-findings of its rows that the report already states"
        ),
        integer("added", "Generated rows below its stated rows in the result"),
        _percent("added", "all added rows that are below its stated rows"),
        _published(
            "published_expanded", "findings that expand, 62 rows included that cannot"
        ),
        _published(
            "published_added",
            "inferred sub-findings, which add to 4,670 and are printed as 4,761",
        ),
    ),
)

FIT_TABLE = Table(
    name="fit_table",
    description=(
        "Fits of tentative findings with a place of their own, beside those of the "
        "paper's corpus and judges."
    ),
    key=("measure",),
    columns=(
        code(
            "measure",
            "steps: opponents played; rank: place in the ranking, from 1; mu: its "
            "points; p",
            FIT_MEASURES,
        ),
        integer("n", "Findings"),
        *(
            optional_number(name, f"The {name} (sd: population's); null without any")
            for name in SPREAD
        ),
        *(
            optional_number(
                f"published_{name}",
                f"Published {name}; null where none is printed",
            )
            for name in SPREAD
        ),
    ),
)

CORPUS_FIGURES = Table(
    name="corpus_figures",
    description=(
        "Counts that the paper prints, on this corpus, each named for what it counts."
    ),
    key=("measure",),
    columns=(
        text("measure", "What is counted"),
        optional_number(
            "value",
            "On this corpus; shares from 0 to 1; null for a share of nothing",
        ),
        _published("published", "value"),
        text("note", "What to know before comparing the two, or empty"),
    ),
)

CONFLICT_TABLE = Table(
    name="conflict_table",
    description=(
        "Conflicts before resolution by type and kinds of rows (the paper's cross "
        "table), and the rows' fate."
    ),
    key=("conflict_type", "source"),
    columns=(
        code("conflict_type", "How the rows disagree or repeat", CONFLICT_TYPES),
        code("source", "Which kinds of rows meet", CONFLICT_SOURCES),
        integer("conflicts", "Groups with this conflict"),
        integer(
            "suppressed",
            "Of these, sub-findings never generated: the report states them less "
            "surely or more",
        ),
        _published("published", "number of conflicts"),
        integer(
            "merged",
            "Rows taking part that resolution merged for a conflict of this type",
        ),
        integer(
            "removed",
            "Rows taking part that resolution removed or discarded for a conflict of "
            "this type",
        ),
    ),
)

LABEL_TABLE = Table(
    name="label_table",
    description=(
        "What the studies say of each label. Unmentioned is not absent: of the "
        "unmentioned nothing is known."
    ),
    key=("label",),
    columns=(
        text("label", "Label"),
        probability(
            "prevalence",
            "Share of the studies whose report puts p at 0.5 or more, implied ones "
            "aside",
        ),
        *ends("prevalence", "its 95% interval (Wilson)"),
        integer("present", "Studies that state it without doubt"),
        integer("hedged", "Studies that state or deny it with doubt"),
        optional_probability("mean_p", "Mean p of the hedged; null without any"),
        integer("absent", "Studies that deny it without doubt"),
        integer("implied", "Studies in which it only follows from a stated diagnosis"),
        integer("unresolved", "Studies whose words about it were not understood"),
        integer("contradictory", "Studies that say both"),
        integer("unmentioned", "Studies that do not mention it"),
    ),
    ordered=(("prevalence_low", "prevalence", "prevalence_high"),),
)
"""Its file in a release is `table_labels.csv`."""

PAPER_TABLES = {
    "certainty": CERTAINTY_TABLE,
    "fit": FIT_TABLE,
    "expansion": EXPANSION_TABLE,
    "conflicts": CONFLICT_TABLE,
    "figures": CORPUS_FIGURES,
}
"""By the name that its file `table_NAME.csv` has in a release."""
