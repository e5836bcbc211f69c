"""Study-level labels, for training classifiers (implicit.md section 6)."""

from __future__ import annotations

from lunguage_assets.tables.columns import P_SOURCES, STATUSES, STUDY, probability, text
from lunguage_assets.tables.schema import Column, Present, Table

LABEL_SOURCES = ("stated", "implied", "denied", "unmentioned")


def _target(name: str, description: str) -> Column:
    return Column(name, "int", f"{description}; null when unmentioned", nullable=True, minimum=0, maximum=1)


LABELS = Table(
    "labels",
    "UNMENTIONED IS NOT ABSENT: a label that a report says nothing about has source `unmentioned` and null "
    "everywhere, never 0. One row per study and label: what the study says of it now (past findings do not "
    "count), with targets for the usual training policies.",
    (
        STUDY,
        text("subject_id", "Patient, 'p' and 8 to 18 digits"),
        text("label", "Label, of the closed list in resources/labels.yaml"),
        text("chexpert", "Its CheXpert name, or empty"),
        Column(
            "source",
            "string",
            "stated: the report says so; implied: a pathway of a stated diagnosis does; denied: the report "
            "denies it; unmentioned: nothing is known, and that is not absence",
            choices=LABEL_SOURCES,
        ),
        probability(
            "p",
            "Probability that the finding is present anywhere in the study; null when unmentioned",
            nullable=True,
        ),
        probability("p_low", "Lower end of the interval of p; null when unmentioned", nullable=True),
        probability("p_high", "Upper end of the interval of p; null when unmentioned", nullable=True),
        Column(
            "p_source",
            "string",
            "Where p comes from; null when unmentioned",
            nullable=True,
            choices=(*P_SOURCES, "pathway"),
        ),
        Column(
            "p_is_bound", "bool", "p follows from a pathway or from other labels: a bound, not an estimate"
        ),
        Column(
            "status",
            "string",
            "What is claimed of the label: dp, dn, tp, tn; the t's are uncertain; null when unmentioned",
            nullable=True,
            choices=STATUSES,
        ),
        _target("uncertain_as_one", "Target: present or uncertain 1, denied 0"),
        _target("uncertain_as_zero", "Target: present 1, denied or uncertain 0"),
        _target("uncertain_ignored", "Target: present 1, denied 0, uncertain left out as null"),
        probability(
            "soft",
            "Target: p, whatever was claimed; null when unmentioned, or when p has no ground (p_source none)",
            nullable=True,
        ),
        Column("denied_at_place", "bool", "Denied only at a place: nothing is said of the rest of the chest"),
        Column("past", "bool", "The report names the finding as past; that alone does not make it mentioned"),
        text("finding_id", "Row of Lunguage++ that decided; null when unmentioned", nullable=True),
    ),
    ("study_id", "label"),
    ordered=(("p_low", "p", "p_high"),),
    present=tuple(
        Present(name, "source", ("stated", "implied", "denied"))
        for name in ("p", "p_low", "p_high", "p_source", "status", "finding_id")
    ),
)
