"""What a run shows while it is under way: stages, and how far judges and fits are."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from lunguage_assets.judges.progress import Meter, Progress, Report

if TYPE_CHECKING:
    from lunguage_assets.orchestration.run import Stage

LINE_EVERY_S = 60.0
"""Seconds between the lines about a stage; one that is over before is one line."""


class RunDisplay:
    """A line per stage, and what each language model has answered and cost so far.

    `total` adds up what was asked in all stages.
    """

    def __init__(self) -> None:
        self.total = Meter()
        self._last_lines_at = time.monotonic()

    def stage(self, stage: Stage, done: int, total: int) -> None:
        """Print that a stage begins.

        Args:
            stage: that begins.
            done: stages before it.
            total: stages of the run, about.
        """
        self._last_lines_at = time.monotonic()
        because = "" if stage.reason == "missing" else f", {stage.reason}"
        click.echo(f"[{done + 1}/{total}] {stage}{because}")

    def note(self, report: Report) -> None:
        """Note how far a judge or a fit has got; called from the judges' threads."""
        if isinstance(report, Progress):
            self.total.note(report)
            lines = [judge.line() for judge in self.total.values()]
        else:
            lines = [report]
        if time.monotonic() - self._last_lines_at >= LINE_EVERY_S:
            self._last_lines_at = time.monotonic()
            # A reader who has gone (`| head`) stops no judge.
            with suppress(OSError):
                for line in lines:
                    click.echo(f"    {line}")
