"""The report of a release and the page of `lunguage explain` in a real browser as wide as a phone: the page
does not scroll sideways, its tables scroll in their own boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headless_chromium import CHROMIUM, Page, chromium
from small_release import Made

from lunguage_assets.release.bundle.bundle import write_bundle
from lunguage_assets.release.explain.marks import MarkedPiece
from lunguage_assets.release.explain.showing import story_page
from lunguage_assets.release.explain.story import IN_RESULT, Passage, RowStory, StudyStory

pytestmark = [pytest.mark.ui, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]

PHONE, SCREEN = 390, 1280
SCROLLS = (
    "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1)"
    ".every(box => getComputedStyle(box).overflowX === 'auto')"
)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with chromium(tmp_path / "profile") as opened:
        yield opened


def assert_fits(page: Page, width: int) -> None:
    page.size(width, 844)
    page.wait_until(f"window.innerWidth === {width}", "the window keeps its width")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(SCROLLS)


@pytest.mark.parametrize("width", [PHONE, SCREEN])
def test_the_report_fits_and_draws_p(invented: Made, page: Page, tmp_path: Path, width: int) -> None:
    written = write_bundle(invented.release(), tmp_path, invented.origin(), {}, invented.examples)
    report = tmp_path / written.version / "open" / "report.html"
    page.open(report.as_uri(), "The probability scale")
    assert_fits(page, width)
    assert page.evaluate("document.querySelectorAll('td.drawn svg').length") > 0


@pytest.mark.parametrize("width", [PHONE, SCREEN])
def test_the_page_of_a_study_fits_and_says_why_where_one_points(
    page: Page, tmp_path: Path, width: int
) -> None:
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
    assert_fits(page, width)
    page.evaluate("document.querySelector('.text mark').focus()")
    page.wait_until("document.activeElement.matches('mark')", "the mark takes no focus")
    assert "P(present)" in page.evaluate("getComputedStyle(document.activeElement, '::after').content")
