"""The report of a release and the page of `lunguage explain` in a real browser as wide as a phone: the page
does not scroll sideways, its tables scroll in their own boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headless_chromium import CHROMIUM, Page, chromium

from lunguage_assets.release.explain.marks import MarkedPiece
from lunguage_assets.release.explain.story import IN_RESULT, Passage, RowStory, StudyStory, story_page

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


def test_the_page_of_a_study_fits_and_says_why_where_one_points(page: Page, tmp_path: Path) -> None:
    believed = Passage("probability", ("P(present) 0.600 [0.300, 0.800]: fitted", "a" * 200))
    row = RowStory(
        "s1:1", 1, "nodule: tentatively present (tp)", IN_RESULT, (believed,), "open", (0.3, 0.6, 0.8)
    )
    text = (
        MarkedPiece("A " + "very " * 80 + "likely ", "plain"),
        MarkedPiece("nodule", "finding", "open", (1,), row.in_short),
    )
    story = StudyStory("s1", (Passage("made with", ("f" * 120,)),), (row,), text)
    file = tmp_path / "study.html"
    file.write_text(story_page(story), encoding="utf-8")
    page.open(file.as_uri(), "The sentences it was read from")
    for width in (PHONE, SCREEN):
        assert_fits(page, width)
        page.evaluate("document.querySelector('.text mark').focus()")
        page.wait_until("document.activeElement.matches('mark')", "the mark takes no focus")
        assert "P(present)" in page.evaluate("getComputedStyle(document.activeElement, '::after').content")
