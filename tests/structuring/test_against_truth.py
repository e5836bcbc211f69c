"""The offline structurer reads what many invented reports say, with floors a little
below what it reaches. Prose and structurer share no words.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.sample.files import write_raw_sample
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.structuring.rows import read_reports, structured_reports
from lunguage_assets.structuring.rules.structurer import RuleStructurer

# The structurer says along which axis a part is normal ("trachea, midline"); the truth
# has no word for it. A row of which either takes a word more into the finding's name
# ("enlargement of the cardiac silhouette") counts as missed and as invented.
FLOORS = {
    "finding": 0.97, "status": 0.965, "location": 0.9, "morphology": 0.9, "severity": 0.95, "onset": 0.95,
    "no_change": 0.95, "improved": 0.95, "worsened": 0.95, "past_hx": 0.95,
}  # fmt: skip


def numbered(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows by section and words of the finding, which a section may say repeatedly."""
    rows = rows.assign(words=rows["ent"].str.casefold())
    finding = ["study_id", "section", "words"]
    ordered = rows.sort_values(["study_id", "section", "sent_idx", "ent_idx"])
    number = ordered.groupby(finding).cumcount()
    return ordered.assign(number=number).set_index([*finding, "number"])


def f1_of_words(truth: pd.Series, structured: pd.Series) -> float:
    """Of the words of matched rows, those that both have."""
    words = pd.DataFrame({"truth": truth, "structured": structured})
    words = words.map(lambda cell: frozenset(cell.casefold().split()))
    common = map(len, map(frozenset.intersection, words["truth"], words["structured"]))
    return 2 * sum(common) / words.map(len).to_numpy().sum()


def test_what_invented_prose_says_is_read_with_status_place_and_attributes(
    tmp_path: Path,
) -> None:
    write_raw_sample(tmp_path / "text", tmp_path / "truth", 80, seed=0)
    delivery = find_delivery(tmp_path / "truth")
    truth = numbered(take_in(delivery, CorpusSettings()).findings)
    reports = read_reports(receive(find_delivery(tmp_path / "text")))
    structured = numbered(
        structured_reports(
            reports.report_texts, reports.report_sentences, RuleStructurer()
        ).structured_findings
    )
    both = truth.join(structured, how="inner", lsuffix="_truth")
    assert len(both) > 1000
    rows = len(truth) + len(structured)
    is_same = both["status_truth"] == both["status"]
    f1 = {"finding": 2 * len(both) / rows, "status": 2 * is_same.sum() / rows}
    for field in FLOORS.keys() - f1.keys():
        f1[field] = f1_of_words(both[f"{field}_truth"], both[field])
    too_low = {field: f1[field] for field in FLOORS if f1[field] < FLOORS[field]}
    assert too_low == {}
