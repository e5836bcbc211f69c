"""Words that are code where a page does not escape them, and a browser that tells
whether they ran.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from headless_chromium import CHROMIUM, Page, chromium

HOSTILE = '<script>window.owned=1</script><img src=x onerror="window.owned=1"> \'" onmouseover=window.owned=1 x='
"""Element, handler, and a way out of an attribute."""

_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_HANDLERS = """[...document.querySelectorAll('*')].flatMap(node => [...node.attributes])
  .filter(attribute => attribute.name.startsWith('on')).length"""


def in_a_browser(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that opens Chromium."""
    there = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
    return pytest.mark.ui(pytest.mark.lengthy(there(test)))


def require_harmless(text: str, folder: Path, *visible_words: str) -> None:
    """Open a page as it is, and without its policy: each time nothing may run, and the
    words are shown.

    A page into which the words are put as they are is opened last: there they do run.
    """
    assert len(_POLICY.findall(text)) == 1, "the page has no policy"
    with chromium(folder / "profile") as page:
        for name, content in (("whole", text), ("bare", _POLICY.sub("", text))):
            _open(page, folder / f"{name}.html", content)
            text_on_page = page.evaluate("document.body.textContent")
            assert all(
                words in text_on_page for words in visible_words or (HOSTILE,)
            ), f"{name}: not shown as it was given"
            assert not page.evaluate("window.owned"), f"{name}: it ran"
            assert page.evaluate(f"document.scripts.length + {_HANDLERS}") == 0
            assert page.evaluate(
                "[...document.images].every(image => image.src.startsWith('data:image/'))"
            )
        _open(page, folder / "control.html", _POLICY.sub("", text) + HOSTILE)
        assert page.evaluate("window.owned") == 1, "this test cannot fail"


def _open(page: Page, file: Path, content: str) -> None:
    file.write_text(content, encoding="utf-8")
    page.open(file.as_uri())
    address = json.dumps(file.as_uri())
    page.wait_until(
        f"location.href === {address} && document.readyState === 'complete'",
        f"{file.name}",
    )
