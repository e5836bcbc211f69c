"""The report of a release in a real browser as wide as a phone: the page does not scroll sideways, its tables
scroll in their own boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headless_chromium import CHROMIUM, Page, chromium

pytestmark = [pytest.mark.ui, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]

PHONE, SCREEN = 390, 1280
SCROLLS = (
    "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1)"
    ".every(box => getComputedStyle(box).overflowX === 'auto')"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def assert_fits(page: Page, width: int) -> None:
    page.size(width, 844)
    page.wait_until(f"window.innerWidth === {width}", "the window keeps its width")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(SCROLLS)


def test_the_report_fits_and_draws_p(version: Path, page: Page) -> None:
    page.open((version / "open" / "report.html").as_uri(), "The probability scale")
    for width in (PHONE, SCREEN):
        assert_fits(page, width)
    assert page.evaluate("document.querySelectorAll('td.drawn svg').length") > 0
