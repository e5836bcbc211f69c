"""The page of `lunguage read --serve` in a real browser, also on a phone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from headless_chromium import CHROMIUM, Page, chromium
from read_reports import HEDGED

pytestmark = [pytest.mark.lengthy, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]

HOSTILE = HEDGED + "<script>document.title='owned'</script> <img src=x onerror=\"document.title='owned'\">"
REASON = "getComputedStyle(document.querySelector({words}), '::after').content"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "lunguage_assets.cli.main", "read", "--serve", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield server.stdout.readline().split()[0]
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=30)
    assert (server.returncode, out, err) == (0, "", "")


@pytest.fixture
def page(url: str, tmp_path: Path) -> Iterator[Page]:
    with chromium(tmp_path / "profile", 1280, 900) as opened:
        opened.open(url, "What a report says")
        opened.evaluate(f"document.querySelector('textarea').value = {json.dumps(HOSTILE)}")
        opened.click("Read")
        opened.wait_for("may represent", "REPORT, VIEWS PA, LATERAL")
        yield opened


def test_a_person_pastes_a_report_and_sees_words_marked_and_why(page: Page) -> None:
    marks = json.loads(
        page.evaluate("JSON.stringify([...document.querySelectorAll('.text mark')].map(m => m.textContent))")
    )
    assert "pneumonia" in marks
    assert "pneumothorax" in marks
    page.evaluate("document.querySelector('.text mark.open').focus()")
    page.wait_until("document.activeElement.matches('mark')", "the mark takes no focus")
    shown = page.evaluate("getComputedStyle(document.activeElement, '::after').content")
    assert "may represent" in shown


def test_a_script_in_a_report_does_nothing(page: Page) -> None:
    assert page.evaluate("document.title") == "lunguage read"
    assert page.evaluate("document.scripts.length + document.images.length") == 0


def test_the_page_fits_a_phone(page: Page) -> None:
    page.size(390, 844)
    page.wait_until("window.innerWidth === 390", "the window keeps its width")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    columns = page.evaluate(
        "getComputedStyle(document.querySelector('.report')).gridTemplateColumns.split(' ').length"
    )
    assert columns == 1


def test_no_other_page_can_post_to_it(url: str, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.html"
    foreign.write_text(
        f'<form method="post" action="{url}"><input name="report" value="x"><button>Go</button></form>'
    )
    with chromium(tmp_path / "profile") as opened:
        opened.open(foreign.as_uri())
        opened.click("Go")
        opened.wait_for("Only this server's own page may post")
