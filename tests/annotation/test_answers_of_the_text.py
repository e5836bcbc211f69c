"""What one sentence of a report answers to another: addenda, explanations, brackets."""

from __future__ import annotations

import lunguage_assets

LABELS = [
    ("FINDINGS: Opacity in the right base, possibly infection.", "pneumonia", ("stated", "tp")),
    ("FINDINGS: Right lower lobe opacity concerning for infection.", "pneumonia", ("stated", "tp")),
    ("FINDINGS: No evidence of pulmonary infection.", "pneumonia", ("denied", "dn")),
    ("FINDINGS: Mild eventration of the right hemidiaphragm. No acute disease.", "no finding", ("denied", "dn")),
    ("FINDINGS: Soft tissue infection of the chest wall.", "pneumonia", ("unmentioned", None)),
    ("IMPRESSION: Small pneumothorax.\n\nADDENDUM: No pneumothorax.", "pneumothorax", ("contradictory", None)),
]  # fmt: skip
STATUSES = [
    ("FINDINGS: Enlarged cardiac silhouette, possibly cardiomegaly.", ["dp", "tp"]),
    ("FINDINGS: Effusion (no), edema (mild).", ["dn", "dp"]),
]


def test_the_label_of_a_report() -> None:
    read = []
    for text, name, _ in LABELS:
        labels = lunguage_assets.read(text).labels.astype(object).set_index("label")
        status = labels.loc[name, "status"]
        known_status = None if labels.isna().loc[name, "status"] else status
        read.append((text, name, (labels.loc[name, "source"], known_status)))
    assert read == LABELS


def test_a_sign_and_its_explanation_and_what_brackets_answer_are_rows() -> None:
    read = []
    for text, _ in STATUSES:
        findings = lunguage_assets.read(text).findings
        is_stated = findings["source"] == "original"
        read.append((text, findings.loc[is_stated, "status"].tolist()))
    assert read == STATUSES
