"""From raw reports to the table `report_texts`: ids, encodings, markup, duplicates.

Every record of the delivery is a row of `report_texts` or of `rejected`; what was mended or merely noticed is
in `intake_notes`. No record raises.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.settings import CorpusSettings


@dataclass(frozen=True)
class Received:
    """Raw reports of a batch: `tables.REPORT_TEXTS`, `REJECTED`, `INTAKE_NOTES`, `TERMS`.

    Rejections and notes are those of reading the texts; `take_in_structured` goes on from them.
    """

    report_texts: pd.DataFrame
    rejected: pd.DataFrame
    intake_notes: pd.DataFrame
    terms: pd.DataFrame


def receive(delivery: Delivery, settings: CorpusSettings) -> Received:
    """Read the raw reports of a delivery of kind `text`, sorted by study id.

    A study's views are those of the metadata, else of the delivery's own columns; where neither says
    anything, `view_source` is `unknown` (`default_view` is applied by `take_in_structured`).

    Raises:
        InputError: a file is unusable as a whole.
    """
    raise NotImplementedError
