"""Twelve invented raw reports, the layouts in which raw reports come, and odd
deliveries; no tests here.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

SPOKEN = "zebrafish"
"""A word of one report that must turn up nowhere but in the tables and the delivered
files.
"""


@dataclass(frozen=True)
class RawReport:
    """An invented report: its number and patient, and its parts.

    `layout` says how `text` joins the parts: `mimic` (FINAL REPORT, indented,
    hard-wrapped), `plain` (headings at the margin) or `bare` (no heading at all).
    `views` are those of `position`, as the image metadata has them.
    """

    study: int
    subject: int
    layout: str
    indication: str
    comparison: str
    findings: str
    impression: str
    position: str = "PA"

    @property
    def text(self) -> str:
        """The whole report."""
        sections = {
            "INDICATION": self.indication,
            "COMPARISON": self.comparison,
            "FINDINGS": self.findings,
            "IMPRESSION": self.impression,
        }
        stated = {heading: text for heading, text in sections.items() if text}
        if self.layout == "bare":
            return "\n".join(stated.values()) + "\n"
        if self.layout == "plain":
            named = [f"{name.capitalize()}: {text}" for name, text in stated.items()]
            return "\n\n".join(named) + "\n"
        lines = [" " * 33 + "FINAL REPORT"]
        for heading, text in stated.items():
            for line in f"{heading}: {text}".splitlines():
                lines += textwrap.wrap(
                    line, 78, initial_indent=" ", subsequent_indent=" ",
                    break_on_hyphens=False, break_long_words=False,
                )  # fmt: skip
            lines.append(" ")
        return "\n".join(lines[:-1]) + "\n"


REPORTS: tuple[RawReport, ...] = (
    RawReport(
        50000001, 10000032, "mimic", "___F with cough and fever // eval for pneumonia",
        "Chest x-ray from ___.",
        "PA and lateral views of the chest provided. There is a patchy opacity in the right lower lobe, "
        "which may represent pneumonia. No pleural effusion or pneumothorax is seen. The heart is normal in "
        "size.",
        "Right lower lobe opacity, possibly pneumonia. Follow-up radiograph in ___ weeks is recommended.",
    ),
    RawReport(
        50000002, 10000032, "mimic", "Shortness of breath.", "___",
        "Both lungs are clear, without focal consolidation, pleural effusion or pneumothorax. The "
        "cardiomediastinal silhouette is within normal limits. No acute osseous abnormalities.",
        "No acute cardiopulmonary process.",
    ),
    RawReport(
        50000003, 10000045, "plain", "Line placement.", "None.",
        "Endotracheal tube tip is approximately 4.5 cm above the carina. Moderate cardiomegaly. There are "
        "small bilateral pleural effusions, unchanged. Left basilar atelectasis. No pneumothorax.",
        "1. Endotracheal tube in standard position.\n2. Small bilateral effusions with left basilar "
        "atelectasis.",
        position="AP",
    ),
    RawReport(
        50000004, 10000051, "plain", "Chest pain, rule out pneumothorax", "",
        "Lungs clear. Heart size normal. No effusion. Pneumothorax is not seen.", "",
    ),
    RawReport(
        50000005, 10000068, "bare", "", "",
        "Portable AP chest. Mild pulmonary edema, improved since yesterday. Pneumonia cannot be excluded at "
        "the left base. There is no change in the small right pleural effusion.", "",
        position="AP",
    ),
    RawReport(
        50000006, 10000075, "mimic", "History of lung cancer, status post right upper lobectomy.",
        "CT chest ___.",
        "There is a 12 mm nodule in the left upper lobe and a calcified granuloma in the right lung apex. "
        "Surgical clips project over the right hilum. CT is advised to exclude metastasis.",
        "12 mm left upper lobe nodule, suspicious for malignancy.",
    ),
    RawReport(
        50000007, 10000082, "plain", "Fall.", "None available.",
        "Acute fractures of the left fifth and sixth ribs. No pneumothorax, hemothorax, or pulmonary "
        "contusion. The trachea is midline.", "Left rib fractures without pneumothorax.",
    ),
    RawReport(
        50000008, 10000093, "mimic", "Dyspnea.", "Radiograph of ___ at 05:32.",
        "Lungs are hyperinflated with flattening of the diaphragms, consistent with COPD. The previously "
        "seen left effusion has resolved. Bibasilar opacities, atelectasis versus aspiration.",
        "COPD. Bibasilar atelectasis or aspiration.",
    ),
    RawReport(
        50000009, 10000101, "plain", "Pre-op.", "", "",
        "Normal chest radiograph without evidence of acute disease. Clinical correlation is recommended.",
    ),
    RawReport(
        50000010, 10000117, "mimic", "Question CHF. Mother had tuberculosis.", "None.",
        "Heart is mildly enlarged. There is pulmonary vascular congestion, but no overt edema. Pneumonia is "
        "unlikely. If fever persists, repeat radiograph may show consolidation.",
        "Mild cardiomegaly with vascular congestion.",
    ),
    RawReport(
        50000011, 10000124, "plain", "NG tube placement.", "Earlier today.",
        "Enteric tube courses below the diaphragm. The right PICC has been removed. Retrocardiac "
        "consolidation persists. No new focal opacity.", "Tubes as above. Dr. Bird was called at 3:15 p.m.",
        position="AP",
    ),
    RawReport(
        50000012, 10000138, "mimic", f"Swallowed a {SPOKEN} bone.", "None.",
        f"No radiopaque foreign body. The {SPOKEN} bone is not visible. There is no evidence of "
        "pneumomediastinum. Mild degenerative changes of the thoracic spine.",
        "No radiopaque foreign body or pneumomediastinum.",
    ),
)  # fmt: skip


def write_table(
    folder: Path,
    name: str = "reports.csv",
    reports: Sequence[RawReport] = REPORTS,
) -> Path:
    """A table of reports with subject_id, view and study_date, as CSV or Parquet."""
    rows = pd.DataFrame(
        {
            "study_id": [f"s{report.study}" for report in reports],
            "subject_id": [f"p{report.subject}" for report in reports],
            "view": [report.position for report in reports],
            "study_date": [str(21500101 + number) for number in range(len(reports))],
            "report": [report.text for report in reports],
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if path.suffix == ".parquet":
        rows.to_parquet(path, index=False)
    else:
        rows.to_csv(path, index=False)
    return path


def write_mimic_tree(folder: Path, reports: Sequence[RawReport] = REPORTS) -> None:
    """`files/p10/p10000032/s50000001.txt`, with the image metadata beside `files`."""
    for report in reports:
        patient = f"p{report.subject}"
        patient_folder = folder / "files" / patient[:3] / patient
        patient_folder.mkdir(parents=True, exist_ok=True)
        path = patient_folder / f"s{report.study}.txt"
        path.write_text(report.text, encoding="utf-8")
    write_image_metadata(folder, reports)


def write_image_metadata(folder: Path, reports: Sequence[RawReport] = REPORTS) -> None:
    """One image per report, in the columns of MIMIC-CXR-JPG."""
    procedures = {"PA": "CHEST (PA AND LAT)", "AP": "CHEST (PORTABLE AP)"}
    views = {"PA": "postero-anterior", "AP": "antero-posterior"}
    images = [
        {
            "dicom_id": f"{number:08x}-00000000-00000000-00000000-00000000",
            "subject_id": report.subject,
            "study_id": report.study,
            "PerformedProcedureStepDescription": procedures[report.position],
            "ViewPosition": report.position,
            "Rows": 2544,
            "Columns": 3056,
            "StudyDate": 21500101 + number,
            "StudyTime": "101500.000",
            "ProcedureCodeSequence_CodeMeaning": procedures[report.position],
            "ViewCodeSequence_CodeMeaning": views[report.position],
            "PatientOrientationCodeSequence_CodeMeaning": (
                "Erect" if report.position == "PA" else ""
            ),
        }
        for number, report in enumerate(reports)
    ]
    metadata = folder / "mimic-cxr-2.0.0-metadata.csv"
    pd.DataFrame(images).to_csv(metadata, index=False)
