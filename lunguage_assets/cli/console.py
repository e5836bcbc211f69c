"""What the command line shows: progress by stage, and the summary of a release."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pandas as pd
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressBar
from rich.table import Table as RichTable

from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.judges.asking.progress import JudgeTotal, Meter, Progress, listening, spell
from lunguage_assets.release.bundle.versions import current_version, report_of
from lunguage_assets.tables import TABLES

if TYPE_CHECKING:
    from lunguage_assets.current.plan import Stage
    from lunguage_assets.home.home import Home
    from lunguage_assets.orchestration.runs.runner import RunSummary

_console = Console(highlight=False)

LINE_EVERY_S = 60.0
"""Without a terminal, judges that are being asked get a line so often."""


class RunDisplay:
    """Stages, and what each language model has answered and cost; live on a terminal, else in lines."""

    def __init__(self) -> None:
        self._total, self._stage = Meter(), Meter()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._progress = ProgressBar(*columns, TimeElapsedColumn(), console=_console)
        self._task = self._progress.add_task("starting", total=None)
        self._told = time.monotonic()

    def stage(self, stage: Stage, done: int, total: int) -> None:
        """A stage begins."""
        self._stage, self._told = Meter(), time.monotonic()
        self._progress.update(self._task, description=stage.announced, completed=done, total=total)
        if not _console.is_terminal:
            click.echo(f"[{done + 1}/{total}] {stage.announced}")

    def note(self, progress: Progress) -> None:
        """A judge has got on; called from the judges' threads."""
        self._total.note(progress)
        self._stage.note(progress)
        if not _console.is_terminal and time.monotonic() - self._told >= LINE_EVERY_S:
            self._told = time.monotonic()
            with suppress(OSError):  # a reader who has gone (`| head`) stops no judge
                for judge in self._stage.totals():
                    click.echo(f"    {judge.line()}")

    def spent(self) -> list[JudgeTotal]:
        """What the whole run asked of language models, by judge; empty when it asked none."""
        return self._total.totals()

    def __rich__(self) -> Group:
        judges = self._stage.totals()
        return Group(self._progress, *([judges_table(judges)] if judges else []))


def judges_table(judges: Sequence[JudgeTotal]) -> RichTable:
    """One line per language model; `left` is the time left in this round of questions."""
    table = RichTable(box=None, pad_edge=False, header_style="dim")
    table.add_column("judge")
    for name in ("answered", "ledger", "calls", "failed", "tokens", "USD", "per s", "left"):
        table.add_column(name, justify="right")
    for judge in judges:
        table.add_row(
            judge.judge,
            f"{judge.settled:,}/{judge.questions:,}",
            *(f"{count:,}" for count in (judge.hits, judge.calls, judge.failures)),
            f"{judge.input_tokens + judge.output_tokens:,}",
            f"{judge.cost_usd:.4f}",
            f"{judge.rate:.1f}",
            spell(judge.left_s),
        )
    return table


@contextmanager
def run_display() -> Iterator[RunDisplay]:
    """The display of a run; it hears what judges report from anywhere in this process."""
    display = RunDisplay()
    with listening(display.note):
        if _console.is_terminal:
            with Live(display, console=_console, transient=True, refresh_per_second=4):
                yield display
        else:
            yield display


def print_run(
    folder: Path, home: Home, summary: RunSummary, spent: Sequence[JudgeTotal] = (), lost: int = 0
) -> None:
    """The release in `folder`, checks, what language models cost, and where everything is."""
    print_release(folder, home, [*_checks(summary), *_spending(spent, lost)])


def print_release(folder: Path, home: Home, more: Sequence[tuple[str, str]] = ()) -> None:
    """What is in the release in `folder`, further lines, and where everything is."""
    current = current_version(folder) or folder
    summary = json.loads((current / "restricted" / "summary.json").read_text(encoding="utf-8"))
    places = [
        ("Lunguage++", str(current / "restricted" / "Lunguage_plus_plus.csv")),
        ("labels of each study", str(current / "restricted" / "labels.csv")),
        ("report, opens offline", str(report_of(current))),
        ("all files of the release", str(current)),
        ("tables, for any DuckDB client", str(home.database)),
        ("runs, tables, checks in the UI", f"{sys.argv[0]} ui --home {home.root}"),
    ]
    _print_beside([*summary_lines(summary), *more, ("", ""), *places])


def _print_beside(lines: Sequence[tuple[str, str]]) -> None:
    """Labels, and values in a column beside them."""
    width = max(len(label) for label, _ in lines)
    for label, value in lines:
        click.echo(f"{label:<{width}}  {value}".rstrip())


def _checks(summary: RunSummary) -> list[tuple[str, str]]:
    warnings = summary.checks("warned")
    passed = f"{len(summary.checks('passed'))} of {len(summary.results)}"
    return [("checks passed", passed), *(("  warns", warning) for warning in warnings)]


def print_analyses(home: Home, ranker: str, summary: RunSummary, *, release_is_stale: bool = False) -> None:
    """The main figures of the analyses of a ranker, where the rest is, and whether a release lacks them."""
    agreement, robustness, validation, experts = (
        read_table(TABLES[name], partition_path(home.tables, name, ranker))
        for name in ("judge_agreement", "ranking_robustness", "fit_validation", "expert_agreement")
    )
    lines: list[tuple[str, str]] = []
    for measure in ("pairwise agreement", "fleiss kappa", "krippendorff alpha"):
        for row in agreement[agreement["measure"] == measure].to_dict("records"):
            of = " - ".join(str(row[side]) for side in ("first", "second") if row[side])
            coding = "" if row["coding"] == "none" else f", coding {row['coding']}"
            lines.append((f"{measure}{coding}", f"{_measured(row)}  {of}"))
    for comparisons, rows in robustness.groupby("comparisons"):
        mu, rank, spearman = rows[["mean_abs_mu", "mean_abs_rank", "spearman"]].mean()
        shown = f"mu changes by {mu:.2f}, rank by {rank:.2f}, Spearman {spearman:.3f}"
        lines.append((f"ranked with {comparisons!s} comparisons a pair", shown))
    at_end = validation[(validation["step"] == validation["step"].max()) & (validation["judges"] == "all")]
    for strategy, distances in at_end.groupby("strategy")["mean_distance_stopped"]:
        if distances.notna().any():
            shown = f"{distances.min():.2f} to {distances.max():.2f} ranks from their known place"
            lines.append((f"phrases fitted back, {strategy!s}", shown))
    for row in experts[(experts["measure"] == "with ranking") & (experts["first"] == "")].to_dict("records"):
        lines.append((f"experts ({row['group']}) with the ranking", _measured(row)))
    lines += [*_checks(summary), ("tables, for any DuckDB client", str(home.database))]
    if release_is_stale:
        again = "say `lunguage run` again, or launch the job `release`: its report then shows these numbers"
        lines.append(("the release is from before", again))
    _print_beside(lines)


def _measured(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["value"]):
        return "not defined"
    interval = "" if pd.isna(row["low"]) else f" ({row['low']:.3f} to {row['high']:.3f})"
    return f"{row['value']:.3f}{interval}"


def _spending(spent: Sequence[JudgeTotal], lost: int) -> list[tuple[str, str]]:
    if not spent:
        return []
    calls, hits, failures, cost = (
        sum(getattr(judge, name) for judge in spent) for name in ("calls", "hits", "failures", "cost_usd")
    )
    by_judge = ", ".join(f"{judge.judge} ${judge.cost_usd:.4f}" for judge in spent)
    answers = f"{calls:,} calls ({failures:,} failed), {hits:,} answers from the ledger"
    losses = [("  sent, answer lost", f"{lost:,} since the ledger began, to killed processes")] * bool(lost)
    return [("language models", f"{answers}, ${cost:.4f} ({by_judge})"), *losses]


def summary_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Label and value of every line of the printed summary."""
    p, rows, conflicts = summary["p"], summary["rows"], summary["conflicts"]
    own = summary["ruler"] == "own"
    ruler = "this corpus' own phrases" if own else f"the published phrases ({summary['ruler_reason']})"
    judges = ", ".join(summary["judges"]) or "none"
    spread = (
        f"mean {p['mean']:.3f}, sd {p['sd']:.3f}, {p['min']:.3f} to {p['max']:.3f}"
        if p["count"]
        else "no fitted pair"
    )
    return [
        ("reports", str(summary["reports"])),
        ("findings", f"{summary['findings']} rows"),
        ("tentative pairs", f"{summary['tentative_pairs']} ({_list(summary['p_source'])})"),
        ("matches", str(summary["matches"])),
        ("phrases ranked", f"{summary['phrases_ranked']}, {ruler}; judges: {judges}"),
        ("p of tentative findings", spread),
        (
            "expanded",
            f"{summary['expanded']} stated diagnoses (and {summary['expanded_generated']} implied ones) into "
            f"{rows['generated']} sub-findings; {rows['already_stated']} more were already stated",
        ),
        ("conflicts", str(sum(conflicts.values()))),
        *((f"  {kind}", str(count)) for kind, count in conflicts.items()),
        (
            "rows accounted for",
            f"{rows['rows_in']} in = {rows['originals_out']} out + {rows['merged']} merged + "
            f"{rows['removed']} removed + {rows['excluded']} excluded (history) + "
            f"{rows['rejected']} rejected + {rows['set_aside']} set aside",
        ),
        *(
            ("  studies set aside", f"{studies} break the rule: {rule}")
            for rule, studies in summary["studies_set_aside"].items()
        ),
        (
            "rows out",
            f"{summary['rows_out']} = {rows['originals_out']} stated + "
            f"{rows['generated'] - rows['discarded']} generated",
        ),
        *(("batches not included", keys) for keys in [", ".join(summary["batches_not_included"])] if keys),
    ]


def _list(tally: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in tally.items()) or "none"
