"""Labels of whole reports of which one sentence answers the other: addenda,
explanations, general denials.
"""

from __future__ import annotations

import lunguage_assets


def label_of(text: str, name: str) -> tuple[str, str]:
    labels = lunguage_assets.read(text).labels
    (row,) = labels[labels["label"] == name].to_dict("records")
    return row["source"], row["status"]


def test_what_an_addendum_takes_back_is_a_contradiction() -> None:
    text = "IMPRESSION: Small pneumothorax.\n\nADDENDUM: No pneumothorax."
    assert label_of(text, "pneumothorax")[0] == "contradictory"


READ = [
    ("Opacity in the right base, possibly infection.", "pneumonia", ("stated", "tp")),
    ("Right lower lobe opacity concerning for infection.", "pneumonia", ("stated", "tp")),
    ("No evidence of pulmonary infection.", "pneumonia", ("denied", "dn")),
    ("Mild eventration of the right hemidiaphragm. No acute disease.", "no finding", ("denied", "dn")),
]  # fmt: skip


def test_the_label_of_a_report() -> None:
    read = [(text, name, label_of(f"FINDINGS: {text}", name)) for text, name, _ in READ]
    assert read == READ
    other = label_of("FINDINGS: Soft tissue infection of the chest wall.", "pneumonia")
    assert other[0] == "unmentioned"


def test_a_doubtful_explanation_stays_a_row_beside_its_sign() -> None:
    findings = lunguage_assets.read(
        "FINDINGS: Enlarged cardiac silhouette, possibly cardiomegaly."
    ).findings
    stated = findings[findings["source"] == "original"]
    assert stated["status"].tolist() == ["dp", "tp"]


def test_an_answer_in_brackets_is_that_of_the_finding_before_it() -> None:
    findings = lunguage_assets.read("FINDINGS: Effusion (no), edema (mild).").findings
    stated = findings[findings["source"] == "original"]
    assert stated["status"].tolist() == ["dn", "dp"]
