"""From the rows of a structurer to `findings`, as if the same rows had been delivered as Lunguage.csv."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.corpus.intake import Intake
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.settings import CorpusSettings


def take_in_structured(
    received: Received, structured_findings: pd.DataFrame, settings: CorpusSettings
) -> Intake:
    """The tables of a batch whose reports were structured here.

    Args:
        received: the batch's raw reports with what was rejected and noted in reading them. Views that were
            found in a report's own text are in its `report_texts` (`view_source` "report text").
        structured_findings: `tables.STRUCTURED_FINDINGS` of one structurer.
        settings: `default_view` counts where a study's views are unknown.

    Raises:
        InvalidTable: a row belongs to a study without a report.
        ConfigurationError: `default_view` names an unknown view.
    """
    raise NotImplementedError
