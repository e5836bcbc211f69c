"""What a run shows while it is under way: its stages, and how far judges and fits are.

On a terminal, learning is a bar; elsewhere everything is lines.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from lunguage_assets.judges.asking.progress import (
    Fitting,
    Learning,
    Meter,
    Report,
    listening,
)

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from lunguage_assets.orchestration.run_plan import Stage

LINE_EVERY_S = 60.0
"""Seconds between the lines about judges that are being asked."""


class RunDisplay:
    """A line per stage, and what each language model has answered and cost so far.

    `total` adds up what was asked in all stages.
    """

    def __init__(self) -> None:
        self.total = Meter()
        self._of_stage = Meter()
        self._fitting: Fitting | None = None
        self._learning: Learning | None = None
        self._bar: Bar | None = None
        self._last_lines_at = time.monotonic()

    def stage(self, stage: Stage, done: int, total: int) -> None:
        """Print that a stage begins.

        Args:
            stage: that begins.
            done: stages before it.
            total: stages of the run, about.
        """
        self._of_stage = Meter()
        self._fitting = None
        self._learning = None
        # A stage that is over within a minute is one line.
        self._last_lines_at = time.monotonic()
        self.end_bar()
        because = f", {stage.reason}" if stage.reason else ""
        click.echo(f"[{done + 1}/{total}] {stage}{because}")

    def note(self, report: Report) -> None:
        """Note how far a judge or a fit has got; called from the judges' threads."""
        if isinstance(report, Learning):
            self._learning = report if report.done < report.total else None
            # A bar moves with every step; lines come once a minute.
            if sys.stderr.isatty():
                self._draw(report)
                return
        elif isinstance(report, Fitting):
            self._fitting = report
        else:
            self.total.note(report)
            self._of_stage.note(report)
        if time.monotonic() - self._last_lines_at >= LINE_EVERY_S:
            self._last_lines_at = time.monotonic()
            self._print_lines()

    def _print_lines(self) -> None:
        lines = [judge.line() for judge in self._of_stage.totals()]
        for report in (self._fitting, self._learning):
            if report is not None:
                lines.append(report.line())
        # A reader who has gone (`| head`) stops no judge.
        with suppress(OSError):
            for line in lines:
                click.echo(f"    {line}")

    def _draw(self, learning: Learning) -> None:
        """Show work whose length is known as a bar, which goes when it is done."""
        from rich.console import Console
        from rich.progress import Progress as Bar

        if self._bar is None:
            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(learning.work)
        (task,) = self._bar.task_ids
        self._bar.update(
            task,
            description=learning.work,
            completed=learning.done,
            total=learning.total,
        )
        if learning.done >= learning.total:
            self.end_bar()

    def end_bar(self) -> None:
        """Take the bar away, if there is one."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def run_display() -> Iterator[RunDisplay]:
    """Open the display of a run, which hears what judges report in this process."""
    display = RunDisplay()
    try:
        with listening(display.note):
            yield display
    finally:
        display.end_bar()
