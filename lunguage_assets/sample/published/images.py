"""Rows of `mimic-cxr-2.0.0-metadata.csv`: one per image of a study, in the published columns."""

from __future__ import annotations

import hashlib

from lunguage_assets.sample.knowledge import Knowledge
from lunguage_assets.sample.records import Study

METADATA_COLUMNS = (
    "dicom_id", "subject_id", "study_id", "PerformedProcedureStepDescription", "ViewPosition", "Rows",
    "Columns", "StudyDate", "StudyTime", "ProcedureCodeSequence_CodeMeaning", "ViewCodeSequence_CodeMeaning",
    "PatientOrientationCodeSequence_CodeMeaning",
)  # fmt: skip


def image_rows(study: Study, seed: int, knowledge: Knowledge) -> list[list[str]]:
    """The study's images; none for a study that is absent from the metadata."""
    rows = []
    described, coded = study.situation.procedure
    for number, (position, view, orientation) in enumerate(study.situation.images):
        digest = hashlib.blake2b(f"{seed}\x1f{study.study}\x1f{number}".encode(), digest_size=20).hexdigest()
        dicom = "-".join(digest[start : start + 8] for start in range(0, 40, 8))
        height, width = knowledge.sizes[int(digest[:4], 16) % len(knowledge.sizes)]
        rows.append(
            [dicom, str(study.subject), str(study.study), described, position, str(height), str(width),
             str(study.date), study.time, coded, view, orientation]
        )  # fmt: skip
    return rows
