"""Labels every study: stated, implied, denied, contradictory, or nothing.

Section 6 of implicit.md. Rows make claims (`row_claims.py`), one of them decides
(`evidence.py`), and here is what the decision looks like in LABELS. The same in the
shape of CheXpert's files is in `chexpert_files.py`.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.labels.evidence import EvidenceByLabel, LabelEvidence
from lunguage_assets.labels.no_finding import weigh_denied_labels
from lunguage_assets.labels.row_claims import RowClaims
from lunguage_assets.tables.released import CLAIMED, LABELS
from lunguage_assets.tables.values import values_of

STUDY_COLUMNS = ("study_id", "subject_id", "source_id")
"""Columns of REPORTS that stand beside labels."""

_UNMENTIONED = {
    **dict.fromkeys(CLAIMED),
    "source": "unmentioned",
    "p_is_bound": False,
    "denied_at_place": False,
    "past": False,
}
"""Cells of a label that the study does not mention: that is not absence."""


def label_evidence(
    rows: pd.DataFrame, matches: pd.DataFrame, listed: LabelList, log: pd.DataFrame
) -> EvidenceByLabel:
    """Collect what whole studies say of each label.

    Args:
        rows: LUNGUAGE_PLUS_PLUS.
        matches: PATHWAY_MATCHES of the same studies.
        listed: the labels, and what means them.
        log: RESOLUTION_LOG of the same studies.
    """
    # A device has no diagnosis: a broken lead is no fracture.
    diagnoses = dict(values_of(matches, "finding_id", "diagnosis"))
    claims = RowClaims(rows, diagnoses, listed)
    claims.mark_disputes(rows, log)
    # After all claims: a label is denied by what is decided of the others.
    weigh_denied_labels(claims.evidence, listed)
    return claims.evidence


def label_frame(
    evidence: EvidenceByLabel, reports: pd.DataFrame, listed: LabelList
) -> pd.DataFrame:
    """Write what is decided of each label as LABELS.

    Args:
        evidence: of the studies (`label_evidence`).
        reports: REPORTS of the studies.
        listed: the labels.

    Returns:
        LABELS, one row per study and label, sorted. A study without any row has all its
        labels unmentioned.
    """
    # Most labels of a study are not mentioned.
    unmentioned = [
        {"label": label.name, "chexpert": label.chexpert, **_UNMENTIONED}
        for label in listed.labels
    ]
    rows = []
    # By the study's id, which stands first.
    for study in sorted(values_of(reports, *STUDY_COLUMNS)):
        study_cells = dict(zip(STUDY_COLUMNS, study, strict=True))
        for number, cells in enumerate(unmentioned):
            row = cells | study_cells
            of_label = evidence.get((study_cells["study_id"], number))
            if of_label is not None:
                row |= _cells(of_label)
            rows.append(row)
    return LABELS.frame(rows)


def _cells(evidence: LabelEvidence) -> dict[str, Any]:
    """Write what LABELS says of a label."""
    claim, is_contradictory = evidence.decide()
    # A label that the report contradicts has no p, like one that it does not mention.
    if claim is None:
        source = "contradictory" if is_contradictory else "unmentioned"
        return _UNMENTIONED | {"source": source, "past": evidence.is_past}
    source = "stated" if claim.is_stated else "implied"
    if claim.is_unresolved:
        source = "unresolved"
    elif not claim.is_present:
        source = "denied"
    # "No left effusion" leaves the right side open; a denial without a side does not.
    is_denied_everywhere = any(not denial.location for denial in evidence.denied)
    return {
        **{name: getattr(claim, name) for name in CLAIMED},
        "source": source,
        "p_is_bound": claim.is_bound,
        "denied_at_place": not claim.is_present and not is_denied_everywhere,
        "past": evidence.is_past,
    }
