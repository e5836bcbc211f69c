"""The page of `lunguage read --serve` in a real browser, also on a phone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from headless_chromium import CHROMIUM, chromium
from read_reports import HEDGED

import lunguage_assets
from lunguage_assets.annotation.page import read_page
from lunguage_assets.annotation.shown import shown_reports

pytestmark = [
    pytest.mark.lengthy,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]

HOSTILE = HEDGED + (
    "<script>document.title='owned'</script> "
    "<img src=x onerror=\"document.title='owned'\">"
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    program = [sys.executable, "-m", "lunguage_assets.cli.main"]
    command = [*program, "read", "--serve", "--port", "0"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    yield server.stdout.readline().split()[0]
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=30)
    assert (server.returncode, out, err) == (0, "", "")


def test_a_pasted_report_is_marked_and_explained_also_on_a_phone(
    url: str, tmp_path: Path
) -> None:
    with chromium(tmp_path / "profile", 1280, 900) as page:
        page.open(url, "What a report says")
        value = json.dumps(HOSTILE)
        page.evaluate(f"document.querySelector('textarea').value = {value}")
        page.click("Read")
        page.wait_for("may represent", "REPORT, VIEWS PA, LATERAL")
        marks = page.evaluate(
            "[...document.querySelectorAll('.text mark')]"
            ".map(m => m.textContent).join()"
        )
        assert {"pneumonia", "pneumothorax"} <= set(marks.split(","))
        page.evaluate("document.querySelector('.text mark.open').focus()")
        focused = "document.activeElement"
        page.wait_until(f"{focused}.matches('mark')", "the mark takes no focus")
        shown = page.evaluate(f"getComputedStyle({focused}, '::after').content")
        assert "may represent" in shown
        # Otherwise a script of the report ran.
        assert page.evaluate("document.title") == "lunguage read"
        assert page.evaluate("document.scripts.length + document.images.length") == 0
        page.size(390, 844)
        page.wait_until("window.innerWidth === 390", "the window keeps its width")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


PLACES = """(() => {
  const box = node => node.getBoundingClientRect(), all = query => [...document.querySelectorAll(query)];
  const text = box(document.querySelector('.words'));
  return [text.right, all('.row').map(row => [box(row).left, box(row).right])];
})()"""


def test_every_row_stands_at_one_place_beside_the_text(tmp_path: Path) -> None:
    long = (
        HEDGED + " Possible edema. Nodule in the left apex. Rib fracture. Hernia." * 3
    )
    reports = shown_reports(lunguage_assets.read(long).frames)
    (tmp_path / "page.html").write_text(read_page(reports))
    with chromium(tmp_path / "profile", 1280, 900) as page:
        page.open((tmp_path / "page.html").as_uri(), "FINDINGS")
        right_of_text, rows = page.evaluate(PLACES)
    assert len(rows) >= 10
    assert len({tuple(row) for row in rows}) == 1
    assert rows[0][0] > right_of_text


def test_no_other_page_can_post_to_it(url: str, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.html"
    foreign.write_text(
        f'<form method="post" action="{url}">'
        '<input name="report" value="x"><button>Go</button></form>'
    )
    with chromium(tmp_path / "profile") as opened:
        opened.open(foreign.as_uri())
        opened.click("Go")
        opened.wait_for("Only this server's own page may post")
