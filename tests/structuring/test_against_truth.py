"""The offline structurer reads what many invented reports say, with floors a little
below what it reaches. Prose and structurer share no words.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.sample import write_raw_sample
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.structuring.agreement import structuring_agreement
from lunguage_assets.structuring.rows import (
    read_reports,
    sectioned_reports,
    structured_tables,
)
from lunguage_assets.structuring.rules.structurer import RuleStructurer

# The structurer says along which axis a part is normal ("trachea, midline"); the truth
# has no word for it.
FLOORS = {
    "finding": 0.985, "status": 0.985, "location": 0.9, "morphology": 0.9, "severity": 0.95, "onset": 0.95,
    "no_change": 0.95, "improved": 0.95, "worsened": 0.95, "past_hx": 0.95,
}  # fmt: skip


def test_what_invented_prose_says_is_read_with_status_place_and_attributes(
    tmp_path: Path,
) -> None:
    options = CorpusSettings()
    write_raw_sample(tmp_path / "text", tmp_path / "truth", 80, seed=0)
    truth = take_in(find_delivery(tmp_path / "truth"), options).findings
    gold = truth.rename(columns={"name": "normed_ent"})
    reports_read = read_reports(receive(find_delivery(tmp_path / "text")))
    reports = list(
        sectioned_reports(reports_read.report_texts, reports_read.report_sentences)
    )
    structured = structured_tables(
        reports, RuleStructurer().structure(reports)
    ).structured_findings
    agreement = structuring_agreement({"rules": structured}, gold).set_index("field")
    assert agreement.loc["finding", "agreed"] > 1000
    floors = pd.Series(FLOORS)
    assert (agreement["f1"].loc[floors.index] >= floors).all(), agreement["f1"]
