"""Labels of whole reports of which one sentence answers the other: addenda,
explanations, general denials.
"""

from __future__ import annotations

import lunguage_assets

ADDENDA = [
    ("Small pneumothorax.", "On second look, the pneumothorax is not present.", "pneumothorax", "denied"),
    ("Right lower lobe pneumonia.", "On review there is no pneumonia.", "pneumonia", "denied"),
    ("No pneumothorax.", "There is a small left apical pneumothorax.", "pneumothorax", "stated"),
    ("Normal heart size.", "The heart is enlarged.", "cardiomegaly", "stated"),
    ("The cardiac silhouette is enlarged.", "The heart is normal in size.", "cardiomegaly", "denied"),
    ("No fracture.", "Fracture of the right clavicle is seen.", "fracture", "stated"),
    ("Fracture of the left clavicle.", "There is no displaced fracture.", "fracture", "stated"),
    ("Right effusion.", "There is no left effusion.", "pleural effusion", "stated"),
    ("No acute disease.", "There is a nodule in the left upper lobe.", "lung lesion", "stated"),
]  # fmt: skip


def label_of(text: str, name: str) -> tuple[str, str]:
    labels = lunguage_assets.read(text).labels
    (row,) = labels[labels["label"] == name].to_dict("records")
    return row["source"], row["status"]


def test_what_an_addendum_takes_back_loses_in_the_label() -> None:
    wrong = [
        (before, addendum)
        for before, addendum, label, source in ADDENDA
        if label_of(f"IMPRESSION: {before}\n\nADDENDUM: {addendum}", label)[0] != source
    ]
    assert wrong == []


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
