"""Study-level labels, for training classifiers (implicit.md section 6)."""

from __future__ import annotations

from collections.abc import Iterable

from lunguage_assets.tables import columns as c
from lunguage_assets.tables.columns import code, flag, integer, number, probability, text
from lunguage_assets.tables.schema import Column, Present, Table

LABEL_SOURCES = ("stated", "implied", "denied", "contradictory", "unmentioned")

LABELS = Table(
    "labels",
    "UNMENTIONED IS NOT ABSENT: a label that a report says nothing about has source `unmentioned` and null "
    "everywhere, never 0. One row per study and label: what the study says of it now (past findings do not "
    "count).",
    (
        c.STUDY,
        c.ANY_SUBJECT,
        text("label", "Label, of the closed list in resources/labels.yaml"),
        text("chexpert", "Its CheXpert name, or empty"),
        code("source", "stated: the report says so; implied: a pathway of a stated diagnosis does; denied: "
            "the report denies it, or calls it resolved; contradictory: the report says both; unmentioned: "
            "nothing is known, and that is not absence", LABEL_SOURCES),
        probability("p", "Probability that the finding is present anywhere in the study; null when "
            "unmentioned", nullable=True),
        probability("p_low", "Lower end of the interval of p; null when unmentioned", nullable=True),
        probability("p_high", "Upper end of the interval of p; null when unmentioned", nullable=True),
        code("p_source", "Where p comes from; null when unmentioned", (*c.P_SOURCES, "pathway"),
            nullable=True),
        flag("p_is_bound", "p follows from a pathway or from other labels: a bound, not an estimate"),
        code("status", "What is claimed of the label: dp, dn, tp, tn; the t's are uncertain; null when "
            "unmentioned", c.STATUSES, nullable=True),
        flag("denied_at_place", "Denied only at a place: nothing is said of the rest of the chest"),
        flag("past", "The report names the finding as past; that alone does not make it mentioned"),
        text("finding_id", "Row of Lunguage++ that decided; null when unmentioned", nullable=True),
    ),
    ("study_id", "label"),
    ordered=(("p_low", "p", "p_high"),),
    present=tuple(
        Present(name, "source", ("stated", "implied", "denied"))
        for name in ("p", "p_low", "p_high", "p_source", "status", "finding_id")
    ),
)  # fmt: skip

CHEXPERT = (
    "Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Enlarged Cardiomediastinum", "Fracture",
    "Lung Lesion", "Lung Opacity", "No Finding", "Pleural Effusion", "Pleural Other", "Pneumonia",
    "Pneumothorax", "Support Devices",
)  # fmt: skip
"""Columns of `mimic-cxr-2.0.0-chexpert.csv` behind the two identifiers, in its order."""

NO_FINDING = "No Finding"


def _chexpert(name: str, description: str, cells: Iterable[Column]) -> Table:
    """One row per study and one column per label, as in MIMIC-CXR's files of labels."""
    identifiers = (
        integer("subject_id", "Patient: the digits of the patient's identifier"),
        integer("study_id", "Study: the digits of the study's identifier"),
    )
    return Table(name, description, (*identifiers, *cells), ("study_id",))


def _statement(label: str) -> Column:
    said = "1: stated; -1: stated with doubt, in either direction; 0: denied; blank: not stated"
    if label == NO_FINDING:
        said = "1: nothing else is stated, nor implied, with or without doubt, but for devices; else blank"
    return number(label, said, nullable=True, minimum=-1.0, maximum=1.0)


CHEXPERT_LABELS = _chexpert(
    "labels_chexpert",
    "BLANK IS NOT ABSENT. What the report itself states of the 14 CheXpert labels, with the columns and "
    "values of `mimic-cxr-2.0.0-chexpert.csv`; what a pathway implies is blank here.",
    map(_statement, CHEXPERT),
)
CHEXPERT_PROBABILITIES = _chexpert(
    "labels_probability",
    "BLANK IS NOT ABSENT. The probabilities of the 14 CheXpert labels in the shape of `labels_chexpert.csv`, "
    "implied ones included.",
    (
        probability(label, "p of this label in labels.csv; blank: unmentioned", nullable=True)
        for label in CHEXPERT
    ),
)
