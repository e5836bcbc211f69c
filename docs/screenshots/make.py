"""Makes the pictures of docs/ui.md and the README: `python docs/screenshots/make.py
[HOME]`; needs Chromium and the extra `llm`.

An invented corpus goes through the pipeline, its UI is served, and a browser visits the
pages. A second home asks language models, imitated by a server on this machine at
invented prices, so that there are costs to be seen. HOME (default /tmp/lunguage-tour)
and HOME-paid are kept: with them there already, only the pictures are made again.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [
    str(FOLDER.parents[1] / "tests" / part) for part in ("support", "judges")
]

from headless_chromium import Page, chromium  # noqa: E402
from loopback import LoopbackServer  # noqa: E402

BATCHES = {"2026-09": 800, "2026-10": 150, "2026-11": 150}
WAITING = "2026-12"
"""A batch that is read but not fitted yet, so that the grid has something to do."""

PAID_BATCH = "2026-11"
JUDGES = """
preset = "imitated"
[presets.imitated]
panel = "both"
extractor = "imitation-a"
[panels.both]
members = ["imitation-a", "imitation-b"]
"""
JUDGE = """
[judges.{key}]
provider = "openai-compatible"
model = "{key}"
base_url = "{url}"
params = {{ max_tokens = 100 }}
price = {{ input = {price}, output = {price}, as_of = 2026-11-01 }}
allowed_data = ["synthetic"]
"""

COLOURS = 160
SETTLE_S = 8.0
"""Dagster asks for states after it has drawn, and moves what it draws into place."""


def lunguage(home: Path, *arguments: str) -> None:
    """Run the `lunguage` command on the home."""
    command = [sys.executable, "-m", "lunguage_assets.cli.main", *arguments]
    subprocess.run(
        command, check=True, env=environment(home), stdout=subprocess.DEVNULL
    )


def environment(home: Path) -> dict[str, str]:
    """Variables of a command on the home, which may have a judges file of its own."""
    judges = (
        {"LUNGUAGE_JUDGES": str(home / "judges.toml")}
        if (home / "judges.toml").exists()
        else {}
    )
    return {**os.environ, "LUNGUAGE_HOME": str(home), **judges}


def make_home(home: Path) -> None:
    """Three batches of invented reports all the way to the release, and the
    analyses.
    """
    # A picture shows where the file lies: not the folder of whoever makes it.
    shutil.copytree(FOLDER.parents[1] / "expectations", home / "expectations")
    for number, (batch, reports) in enumerate(BATCHES.items()):
        data = home.parent / f"{home.name}-delivery" / batch
        lunguage(
            home,
            "sample",
            "--reports",
            str(reports),
            "--seed",
            str(number),
            "--out",
            str(data),
        )
        lunguage(home, "run", "--data", str(data), "--batch", batch)
    lunguage(
        home,
        "sample",
        "--reports",
        "150",
        "--seed",
        "9",
        "--out",
        str(data.with_name(WAITING)),
    )
    lunguage(
        home, "register", "--data", str(data.with_name(WAITING)), "--batch", WAITING
    )
    lunguage(home, "analyse")


def make_paid_home(home: Path) -> None:
    """One batch whose phrases, comparisons and fits were asked of two imitated language
    models.
    """
    home.mkdir(parents=True)
    data = home.parent / f"{home.name}-delivery" / PAID_BATCH
    lunguage(home, "sample", "--reports", "60", "--seed", "3", "--out", str(data))
    with LoopbackServer() as server:
        judges = [
            JUDGE.format(key=key, url=server.openai_url, price=price)
            for key, price in (("imitation-a", 2.0), ("imitation-b", 0.5))
        ]
        (home / "judges.toml").write_text("".join([JUDGES, *judges]), encoding="utf-8")
        lunguage(home, "run", "--data", str(data), "--batch", PAID_BATCH)


def ask(url: str, query: str) -> Any:
    """Answer of the webserver's GraphQL."""
    request = urllib.request.Request(
        f"{url}/graphql",
        json.dumps({"query": query}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["data"]


@contextmanager
def served(home: Path) -> Iterator[str]:
    """Address of the home's UI, as `lunguage ui` serves it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "lunguage_assets.cli.main", "ui"]
    process = subprocess.Popen(
        [*command, "--home", str(home), "--port", str(port)],
        env=environment(home),
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    # It is printed once the UI answers.
    url = process.stdout.readline().strip().rstrip("/")
    try:
        ask(url, "mutation { setNuxSeen }")
        yield url
    finally:
        os.killpg(process.pid, 15)
        process.wait(60)


def keep(page: Page, name: str) -> None:
    """Store what the page shows, in few colours."""
    time.sleep(SETTLE_S)
    stream = io.BytesIO()
    with Image.open(io.BytesIO(page.screenshot())) as image:
        image.convert("RGB").quantize(
            COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        ).save(stream, "PNG", optimize=True)
    (FOLDER / f"{name}.png").write_bytes(stream.getvalue())
    print(f"{name}.png: {len(stream.getvalue()) // 1000} kB")


def scroll_to(page: Page, heading: str) -> None:
    """Bring a section of the page to its top."""
    found = (
        "[...document.querySelectorAll('*')].filter(node => node.childElementCount === 0 && "
        f"node.textContent.trim() === {json.dumps(heading)})"
    )
    page.wait_until(f"{found}.length > 0", f"no section {heading}")
    page.evaluate(f"{found}.at(-1).scrollIntoView({{block: 'start'}})")


def visit(page: Page, url: str) -> None:
    """Every page of the tour."""
    newest = list(BATCHES)[-1]
    page.size(1440, 820)
    page.open(f"{url}/assets", "fitted_probabilities", "partitions")
    keep(page, "catalogue")
    page.size(1900, 1150)
    page.open(
        f"{url}/assets/lunguage_plus_plus?view=lineage&lineageScope=upstream&lineageDepth=10",
        "hedge_phrases",
        "findings",
    )
    keep(page, "lineage")
    page.size(1440, 900)
    page.open(
        f"{url}/assets/lunguage_plus_plus?view=partitions&partition=panel%7C{newest}",
        "Materialized (3)",
        "implied",
    )
    keep(page, "partitions")
    page.open(
        f"{url}/assets/hedge_phrases?view=checks&checkDetail=expectations",
        "expectations",
        "report",
    )
    keep(page, "check")
    page.open(f"{url}/assets/hedge_phrases?view=partitions", "Materialized (3)")
    page.click("Materialize…")
    page.wait_for("Launch", "report_batch")
    keep(page, "backfill")
    page.size(1440, 1160)
    page.open(
        f"{url}/assets/reference_ranking?view=partitions&partition=panel",
        "dagster/row_count",
    )
    page.click("[Show Markdown]", row="plot")
    page.wait_for_picture()
    keep(page, "ranking")
    page.size(1440, 900)
    page.open(f"{url}/assets/fitted_probabilities?view=overview", "Columns", "Metadata")
    keep(page, "columns")
    page.click("Plots")
    page.wait_for("dagster/row_count")
    scroll_to(page, "Metadata")
    keep(page, "plots")
    page.open(f"{url}/jobs", "expand", "release")
    keep(page, "jobs")
    page.size(1440, 560)
    page.open(f"{url}/automation", "carry_batches_on")
    keep(page, "automation")


def visit_report(page: Page, home: Path) -> None:
    """The report of the newest release, where it shows its labels."""
    released = home / "release" / "panel"
    version = (released / "LATEST").read_text(encoding="utf-8").strip()
    page.size(920, 690)
    page.open(
        (released / version / "open" / "report.html").as_uri(),
        "The ranking of the phrases",
    )
    scroll_to(page, "What the studies say of each label")
    keep(page, "report")


def visit_paid(page: Page, url: str) -> None:
    """What a partition cost."""
    page.size(1700, 760)
    page.open(
        f"{url}/assets/fitted_probabilities?view=partitions&partition=panel%7C{PAID_BATCH}",
        "llm_questions",
    )
    scroll_to(page, "llm_questions")
    keep(page, "cost")


def main(home: Path = Path("/tmp/lunguage-tour")) -> None:
    """Make the homes unless they are there, then the pictures."""
    paid = home.with_name(f"{home.name}-paid")
    if not (home / "release").exists():
        make_home(home)
    if not (paid / "release").exists():
        make_paid_home(paid)
    for place, pages in ((home, visit), (paid, visit_paid)):
        with (
            served(place) as url,
            tempfile.TemporaryDirectory() as profile,
            chromium(Path(profile)) as page,
        ):
            pages(page, url)
            if place == home:
                visit_report(page, home)


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:2]))
