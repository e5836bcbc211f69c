"""Invented reports in the exact shapes of published corpora; no tests here. The readers
name the sources.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lunguage_assets.tables.released import CHEXPERT

CHEXPERT_PLUS = """
path_to_image path_to_dcm frontal_lateral ap_pa deid_patient_id patient_report_date_order report
section_narrative section_clinical_history section_history section_comparison section_technique
section_procedure_comments section_findings section_impression section_end_of_impression section_summary
section_accession_number age sex race ethnicity interpreter_needed insurance_type recent_bmi deceased split
"""
"""The header of `df_chexpert_plus_240401.csv`."""


def chexpert_row(image: str, ap_pa: str = "", **sections: str) -> dict[str, str]:
    """A row of the table: `image` such as patient00001/study1/view1_frontal."""
    patient, _, view = image.split("/")
    return {
        "path_to_image": f"train/{image}.jpg", "ap_pa": ap_pa, "deid_patient_id": patient, "split": "train",
        "frontal_lateral": view.split("_")[1].capitalize(), "section_summary": "SUMMARY: 4-INVENTED",
        **{name if name in CHEXPERT_PLUS.split() else f"section_{name}": text
           for name, text in sections.items()},
    }  # fmt: skip


def write_chexpert_plus(folder: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    path = folder / "df_chexpert_plus_240401.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ["", *CHEXPERT_PLUS.split()], restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def chexbert_line(image: str, **labels: float | None) -> str:
    """A line of `impression_fixed.json`: every label that is not given is null."""
    label_values = dict.fromkeys(CHEXPERT) | {
        name.replace("_", " "): v for name, v in labels.items()
    }
    return json.dumps({"path_to_image": f"train/{image}.jpg", **label_values})


REXGRADIENT = (
    *(
        "id",
        "PatientID",
        "AccessionNumber",
        "StudyInstanceUid",
        "PatientSex",
        "PatientAge",
        "StudyDate",
    ),
    *("EthnicGroup", "Indication", "Comparison", "Findings", "Impression"),
)
"""Columns of `<split>_metadata.csv` that its users name."""


def write_rexgradient_table(path: Path, *rows: Mapping[str, str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, REXGRADIENT, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_package(path: Path, **texts: str) -> Path:
    """A `.zip` of texts, by their names with a double underscore for each dot."""
    with zipfile.ZipFile(path, "w") as package:
        for name, text in texts.items():
            package.writestr(name.replace("__", "."), text)
    return path


def rexgradient_entry(
    patient: str = "GRDNINVENTED0001", views: Sequence[Any] = ("PA",), **fields: Any
) -> Any:
    images = [
        f"../deid_png/{patient}/ACC/studies/1/series/1/instances/{n}.png"
        for n in range(len(views))
    ]
    return {
        "PatientID": patient, "AccessionNumber": "ACC", "StudyInstanceUid": "1.2.3", "PatientSex": "F",
        "PatientAge": "061Y", "StudyDate": 20150102, "EthnicGroup": None, "Indication": "Cough.",
        "Comparison": "None.", "Findings": float("nan"), "Impression": None, "ImagePath": images,
        "ImageViewPosition": [*views], **fields,
    }  # fmt: skip


def padchest_study(study: str, *sentences: str) -> Any:
    findings = [
        {"sentence_en": sentence, "sentence_es": "", "abnormal": True, "boxes": [], "extra_boxes": [],
         "labels": ["infiltrates"], "locations": ["lower lobe"], "progression": None}
        for sentence in sentences
    ]  # fmt: skip
    return {
        "StudyID": study,
        "ImageID": f"{study}_00-000-001.png",
        "findings": findings,
    }


def write_json(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
