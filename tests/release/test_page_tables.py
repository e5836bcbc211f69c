"""Tables of the page: an estimate with its interval in one cell, no column
is cut off.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from headless_chromium import CHROMIUM, chromium

from lunguage_assets.release.page_tables import page_table


def test_an_interval_stands_in_the_cell_of_its_estimate() -> None:
    table = page_table(pd.DataFrame({"mu": [1.0], "mu_low": [0.5], "mu_high": [2.0]}))
    assert table.columns == ["mu"]
    assert table.rows == [["1.00 (0.50 to 2.00)"]]


def test_a_share_stands_in_the_cell_of_its_count() -> None:
    table = page_table(pd.DataFrame({"total": [1200], "percent_total": [12.34]}))
    assert table.columns == ["total"]
    assert table.rows == [["1,200 (12.3%)"]]


def test_a_wide_table_shows_the_papers_value_in_our_cell() -> None:
    wide = {f"column_{number}": ["x"] for number in range(12)}
    frame = pd.DataFrame({**wide, "p_mean": [0.4312], "published_p_mean": [0.45]})
    table = page_table(frame)
    assert table.columns[-1] == "p_mean [paper]"
    assert table.rows[0][-1] == "0.431 [0.450]"


@pytest.mark.lengthy
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_at_1280_pixels_no_column_is_cut_off(version: Path, tmp_path: Path) -> None:
    with chromium(tmp_path / "profile", 1280, 900) as page:
        page.open((version / "open" / "report.html").as_uri(), "Lunguage++")
        page.evaluate(
            "document.querySelectorAll('details').forEach(part => part.open = true)"
        )
        hidden = (
            "[...document.querySelectorAll('.scroll')]"
            ".filter(one => one.scrollWidth > one.clientWidth)"
        )
        assert (
            page.evaluate(f"{hidden}.map(one => one.getAttribute('aria-label')).join()")
            == ""
        )
        heights = (
            "[...document.querySelectorAll('tr')]"
            ".map(row => row.getBoundingClientRect().height)"
        )
        assert page.evaluate(f"Math.max(...{heights})") < 120
