"""Tables of the page: an estimate with its interval in one cell, no column is cut off;
and p of hedging phrases.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from headless_chromium import CHROMIUM, chromium

from lunguage_assets.annotation.method import bundled_method
from lunguage_assets.explicit.probability import published_anchors
from lunguage_assets.release.page_tables import page_table
from lunguage_assets.release.phrase_scale import phrase_scale

WIDE = {f"column_{number}": ["x"] for number in range(12)}


@pytest.mark.parametrize(
    ("columns", "heading", "cell"),
    [
        ({"mu": [1.0], "mu_low": [0.5], "mu_high": [2.0]}, "mu", "1.00 (0.50 to 2.00)"),
        ({"total": [1200], "percent_total": [12.34]}, "total", "1,200 (12.3%)"),
        (
            {**WIDE, "p_mean": [0.4312], "published_p_mean": [0.45]},
            "p_mean [paper]",
            "0.431 [0.450]",
        ),
    ],
    ids=["an interval", "a share", "the paper's value, where the table is wide"],
)
def test_what_belongs_to_a_number_stands_in_its_cell(
    columns: dict[str, list[object]], heading: str, cell: str
) -> None:
    table = page_table(pd.DataFrame(columns))
    assert len(table.columns) == len(columns.keys() & WIDE.keys()) + 1
    assert (table.columns[-1], table.rows[0][-1]) == (heading, cell)


def test_every_phrase_of_the_published_ranking_has_its_p_and_anchors_keep_theirs() -> (
    None
):
    scale = phrase_scale(bundled_method().ranking, published_anchors().anchors)
    assert len(scale) == 42
    assert scale["p"].is_monotonic_decreasing
    anchors = scale[scale["is_anchor"].astype(bool)].set_index("phrase")["p"]
    expected = {"less likely": 0.17, "most likely": 0.839}
    assert anchors.to_dict() == pytest.approx(expected, abs=0.001)


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
