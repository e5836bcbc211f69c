"""What the command line shows: progress by stage, and the summary of a release."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from lunguage_assets.home import Home
    from lunguage_assets.orchestration.runner import Outcome, Stage

_console = Console(highlight=False)


@contextmanager
def stage_progress() -> Iterator[Callable[[Stage, int, int], None]]:
    """A progress display on a terminal, plain lines elsewhere; yields the callback that moves it."""
    if not _console.is_terminal:
        yield lambda stage, done, total: _console.print(f"[{done + 1}/{total}] {stage.job} ({stage.label})", markup=False)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_console, transient=True) as display:
        task = display.add_task("starting", total=None)
        yield lambda stage, done, total: display.update(task, description=f"{stage.job} ({stage.label})", completed=done, total=total)


def print_outcome(folder: Path, home: Home, outcome: Outcome) -> None:
    """The summary of the release in `folder`, checks, and where everything is."""
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    checks = f"{outcome.checks_passed} of {outcome.checks_passed + len(outcome.checks_failed)}"
    places = [
        ("Lunguage++", str(folder / "Lunguage_plus_plus.csv")),
        ("all files of the release", str(folder)),
        ("tables, for any DuckDB client", str(home.database)),
        ("runs, tables, checks in the UI", f"{sys.argv[0]} ui --home {home.root}"),
    ]
    lines = [*summary_lines(summary), ("checks passed", checks), ("", ""), *places]
    width = max(len(label) for label, _ in lines)
    for label, value in lines:
        _console.print(f"{label:<{width}}  {value}".rstrip(), soft_wrap=True, markup=False)


def summary_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Label and value of every line of the printed summary."""
    p, rows = summary["p"], summary["rows"]
    ruler = "this corpus' own phrases" if summary["ruler"] == "own" else "the published phrases (too few of its own)"
    spread = f"mean {p['mean']:.3f}, sd {p['sd']:.3f}, {p['min']:.3f} to {p['max']:.3f}" if p["count"] else "no fitted pair"
    conflicts = summary["conflicts"]
    lines = [
        ("reports", str(summary["reports"])),
        ("findings", f"{summary['findings']} rows"),
        ("tentative pairs", f"{summary['tentative_pairs']} ({_list(summary['p_source'])})"),
        ("matches", str(summary["matches"])),
        ("phrases ranked", f"{summary['phrases_ranked']}, {ruler}; judges: {', '.join(summary['judges']) or 'none'}"),
        ("p of tentative findings", spread),
        (
            "expanded",
            f"{summary['expanded']} stated diagnoses (and {summary['expanded_generated']} implied ones) into {rows['generated']} sub-findings;"
            f" {rows['already_stated']} more were already stated",
        ),
        ("conflicts", str(sum(conflicts.values()))),
        *((f"  {kind}", str(count)) for kind, count in conflicts.items()),
        (
            "rows accounted for",
            f"{rows['rows_in']} in = {rows['originals_out']} out + {rows['merged']} merged + {rows['removed']} removed"
            f" + {rows['excluded']} excluded (history) + {rows['rejected']} rejected",
        ),
        ("rows out", f"{summary['rows_out']} = {rows['originals_out']} stated + {rows['generated'] - rows['discarded']} generated"),
    ]
    if summary["batches_not_included"]:
        lines.append(("batches not included", ", ".join(summary["batches_not_included"])))
    return lines


def _list(tally: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in tally.items()) or "none"
