"""Sentences that never met before go through a whole run: nothing stops it, and no
study is set aside.
"""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pandas as pd
from commands import lunguage
from hard_sentences import hard_sentences
from platform_support import without_expectations
from recombined import Pools, pools_of, recombined

from lunguage_assets.sample import write_raw_sample

REPORTS = 1_000 if os.environ.get("CI") else 400
"""`benchmarks/mimic_size.py` runs a whole archive of such reports."""
PER_REPORT = 2


def pools(folder: Path) -> Pools:
    """Sentences of invented raw reports, and hard ones in findings and impression
    beside them.
    """
    write_raw_sample(folder / "raw", folder / "truth", reports=200, seed=3)
    pools_of_reports = pools_of(pd.read_csv(folder / "raw" / "reports.csv")["report"])
    hard = hard_sentences()
    hard_parts = [
        hard[begin : begin + PER_REPORT] for begin in range(0, len(hard), PER_REPORT)
    ]
    return {
        code: [*sentences, *(hard_parts if code != "hist" else [])]
        for code, sentences in pools_of_reports.items()
    }


def test_every_report_in_new_company_is_released(
    tmp_path: Path,
) -> None:
    delivery = tmp_path / "delivery"
    home = tmp_path / "home"
    delivery.mkdir()
    rows = [
        (f"s{number:08d}", text)
        for number, text in enumerate(recombined(pools(tmp_path), REPORTS))
    ]
    pd.DataFrame(rows, columns=["study_id", "report"]).to_csv(
        delivery / "reports.csv", index=False
    )
    without_expectations(home)
    (home / "settings.toml").write_text('[explicit]\nreference_scale = "published"\n')
    done = lunguage(home, "run", "--data", delivery, "--batch", "new")
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(home / "lunguage.duckdb"), read_only=True) as tables:
        released = tables.execute(
            "SELECT step, rule, study_id, finding_ids FROM set_aside"
        ).fetchall()
    assert released == []
    (studies,) = (home / "release" / "panel").glob("v*/restricted/studies.csv")
    assert len(pd.read_csv(studies)) == REPORTS
