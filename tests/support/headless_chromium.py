"""A headless Chromium that is told what to do over a pair of pipes: open a page, wait
for words, click.

Chromium's own protocol (`--remote-debugging-pipe`: JSON messages that end in a zero
byte) needs no driver and no package.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHROMIUM = (
    shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update "
    "--disable-sync --disable-dev-shm-usage --hide-scrollbars --lang=en-GB --remote-debugging-pipe"
)

LONGEST_SILENCE_S = 90.0
MOST_LOOKS = 450
"""Pages are waited for, however slow the machine; a test fails long after a person
would have given up.
"""

_CLICK = """((words, row) => {
  const fits = node => node.childElementCount === 0 && node.textContent.trim() === words;
  const rows = [...document.querySelectorAll('tr')];
  const places = row ? rows.filter(line => line.innerText.trim().split(/\\s/)[0] === row) : [document];
  const found = places.flatMap(place => [...place.querySelectorAll('*')]).filter(fits);
  if (!found.length) return false;
  found[0].scrollIntoView({block: 'center'});
  found[0].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true, view: window}));
  return true;
})(%s, %s)"""


class PageLeftError(Exception):
    """The page that was asked went away before it answered."""


class Page:
    """One tab."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._number = 0
        self._waiting = b""
        self._session = ""
        target = self._tell("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._tell(
            "Target.attachToTarget", targetId=target, flatten=True
        )["sessionId"]

    def _tell(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its own answer; what Chromium says unasked is
        passed over.
        """
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters} | (
            {"sessionId": self._session} if self._session else {}
        )
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._waiting:
                ready, _, _ = select.select([self._answers], [], [], LONGEST_SILENCE_S)
                assert ready, f"Chromium does not answer {method}"
                self._waiting += os.read(self._answers, 1 << 20)
            text, self._waiting = self._waiting.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") != self._number:
                continue
            if "navigated" in str(answer.get("error")):
                raise PageLeftError
            assert "error" not in answer, answer
            return dict(answer["result"])

    def evaluate(self, script: str) -> Any:
        """Value of a JavaScript expression in the page."""
        return self._tell("Runtime.evaluate", expression=script, returnByValue=True)[
            "result"
        ].get("value")

    def size(self, width: int, height: int) -> None:
        self._tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, url: str, *words: str) -> None:
        """Go to a page and wait until it shows all these words."""
        self._tell("Page.navigate", url=url)
        self.wait_for(*words)

    def wait_for(self, *words: str) -> None:
        listed = json.dumps(words)
        self.wait_until(
            f"{listed}.every(word => document.body && document.body.innerText.includes(word))",
            f"the page does not show {words}",
        )

    def wait_until(self, condition: str, problem: str) -> None:
        """Wait until a JavaScript expression is true."""
        for _ in range(MOST_LOOKS):
            if self._holds(condition):
                return
            time.sleep(0.2)
        shown = self.evaluate("document.body.innerText")
        raise AssertionError(f"{problem}; it shows: {shown}")

    def wait_for_picture(self) -> None:
        """Wait until the page shows a PNG that came with its text, decoded and of a
        size to read: docs/screenshots/make.py.
        """
        is_shown = "picture.src.startsWith('data:image/png') && picture.complete && picture.naturalWidth > 300"
        self.wait_until(
            f"[...document.images].some(picture => {is_shown})",
            "the page shows no picture",
        )

    def screenshot(self) -> bytes:
        """The visible part of the page as PNG: docs/screenshots/make.py."""
        return base64.b64decode(
            self._tell("Page.captureScreenshot", format="png")["data"]
        )

    def _holds(self, condition: str) -> bool:
        # A question that meets the change from one page to the next has no answer yet.
        with suppress(PageLeftError):
            return bool(self.evaluate(condition))
        return False

    def click(self, words: str, *, row: str = "") -> None:
        """Click what shows exactly these words, as soon as it is there; `row`: in the
        table row that begins with this word.
        """
        self.wait_until(
            _CLICK % (json.dumps(words), json.dumps(row)),
            f"nothing to click says {words!r}",
        )


@contextmanager
def chromium(profile: Path, width: int = 1440, height: int = 900) -> Iterator[Page]:
    """A browser with an empty profile in the folder, ended at exit."""
    assert CHROMIUM is not None, (
        "no Chromium on this machine (Debian: apt-get install chromium)"
    )
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # Chromium reads commands from descriptor 3 and writes answers to 4. (Other shells
    # know descriptors of one digit only.)
    command = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
    arguments = [CHROMIUM, *FLAGS.split(), f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        ["bash", "-c", command, *arguments],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        page = Page(ours_out, ours_in)
        page.size(width, height)
        yield page
    finally:
        os.close(ours_out)
        os.close(ours_in)
        try:
            process.wait(10)  # it ends when its pipe does
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
