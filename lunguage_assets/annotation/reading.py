"""From texts to findings: sections, sentences and the offline structurer, in memory.

The same functions as in a run take the text apart; what becomes of the findings is in `method.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from lunguage_assets.annotation._shim import (
    accounts_frame,
    sentences_frame,
    structured_frame,
)
from lunguage_assets.corpus.findings.structured import take_in_structured
from lunguage_assets.corpus.intake import Intake
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.read import sectioned
from lunguage_assets.tables import INTAKE_NOTES, REJECTED, TERMS
from lunguage_assets.tables.text import REPORT_TEXTS


@dataclass(frozen=True)
class Read:
    """What was read in some texts.

    Args:
        texts: REPORT_TEXTS, with the views that are given or that the text names.
        notes: reason codes of what was odd about a text, by study.
        sentences: REPORT_SENTENCES.
        structured: STRUCTURED_FINDINGS.
        accounts: SENTENCE_ACCOUNTS.
        intake: the tables of a batch that follow from these rows.
    """

    texts: pd.DataFrame
    notes: Mapping[str, tuple[str, ...]]
    sentences: pd.DataFrame
    structured: pd.DataFrame
    accounts: pd.DataFrame
    intake: Intake


def read_texts(texts: Mapping[str, str], views: Mapping[str, str]) -> Read:
    """Read texts by study id.

    Args:
        texts: study id ("s" and digits) -> text, in the order of the ids.
        views: study id -> views in the written form; empty: those of the text.
    """
    reports = [sectioned(study, text) for study, text in texts.items()]
    answers = _structurer().structure(reports)
    received = REPORT_TEXTS.frame(
        [
            {
                "study_id": report.study_id,
                "subject_id": "p" + report.study_id[1:],
                "source_id": report.study_id,
                "file": "",
                "line": 1,
                "taken_at": "",
                "view_information": views[report.study_id] or report.views,
                "view_source": "metadata"
                if views[report.study_id]
                else "report text"
                if report.views
                else "unknown",
                "report": report.text,
            }
            for report in reports
        ]
    )
    structured = structured_frame(reports, answers)
    intake = take_in_structured(
        Received(received, REJECTED.frame(), INTAKE_NOTES.frame(), TERMS.frame()),
        structured,
        CorpusSettings(),
    )
    return Read(
        received,
        {report.study_id: report.notes for report in reports},
        sentences_frame(reports),
        structured,
        accounts_frame(reports, answers),
        intake,
    )


@lru_cache(maxsize=1)
def _structurer() -> RuleStructurer:
    return RuleStructurer.bundled()
