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

from lunguage_assets.judges.asking.progress import (
    Fitting,
    Learning,
    Meter,
    Progress,
    Report,
    listening,
)
from lunguage_assets.wording import is_numeric
from lunguage_assets.workspace.versions import current_version, report_of

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from lunguage_assets.cli.options import Chosen
    from lunguage_assets.lineage.run_plan import Stage
    from lunguage_assets.orchestration.runs.runner import RunSummary
    from lunguage_assets.workspace.home import Home

LINE_EVERY_S = 60.0
"""Judges that are being asked get a line so often."""


class RunDisplay:
    """A line per stage, and while language models are asked what each has answered and cost."""

    def __init__(self) -> None:
        self.total, self._stage = Meter(), Meter()
        self._fitting: Fitting | None = None
        self._learning: Learning | None = None
        self._bar: Bar | None = None
        self._told = time.monotonic()

    def stage(self, stage: Stage, done: int, total: int) -> None:
        """A stage begins."""
        self._stage, self._fitting, self._told = Meter(), None, time.monotonic()
        self._learning = None
        self.end_bar()
        because = f", {stage.reason}" if stage.reason else ""
        click.echo(f"[{done + 1}/{total}] {stage}{because}")

    def note(self, report: Report) -> None:
        """Note how far a judge or a fit has got; called from the judges' threads."""
        if isinstance(report, Learning):
            self._learning = report if report.done < report.total else None
            if sys.stderr.isatty():
                self._draw(report)
                return
        elif isinstance(report, Fitting):
            self._fitting = report
        else:
            self.total.note(report)
            self._stage.note(report)
        if time.monotonic() - self._told >= LINE_EVERY_S:
            self._told = time.monotonic()
            with suppress(OSError):  # a reader who has gone (`| head`) stops no judge
                lines = [judge.line() for judge in self._stage.totals()]
                further = (self._fitting, self._learning)
                lines += [report.line() for report in further if report is not None]
                for line in lines:
                    click.echo(f"    {line}")

    def _draw(self, learning: Learning) -> None:
        """Show work whose length is known as a bar, which goes when it is done."""
        from rich.console import Console
        from rich.progress import Progress as Bar

        if self._bar is None:
            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(learning.what)
        (task,) = self._bar.task_ids
        self._bar.update(
            task,
            description=learning.what,
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
    """The display of a run; it hears what judges report from anywhere in this process."""
    display = RunDisplay()
    try:
        with listening(display.note):
            yield display
    finally:
        display.end_bar()


def print_release(
    folder: Path, home: Home, more: Sequence[tuple[str, str]] = ()
) -> None:
    """What is in the release in `folder`, further lines, and where everything is."""
    current = current_version(folder) or folder
    summary = json.loads(
        (current / "restricted" / "summary.json").read_text(encoding="utf-8")
    )
    places = [
        ("Lunguage++", str(current / "restricted" / "Lunguage_plus_plus.csv")),
        ("labels of each study", str(current / "restricted" / "labels.csv")),
        ("report, opens offline", str(report_of(current))),
        ("all files of the release", str(current)),
        ("tables, for any DuckDB client", str(home.database)),
        ("runs, tables, checks in the UI", f"{sys.argv[0]} ui --home {home.root}"),
    ]
    print_beside([*summary_lines(summary), *more, ("", ""), *places])
    if foreign := summary.get("not_in_english"):
        told = f"{foreign} reports are not in English: the offline rules read nothing in them."
        click.echo(
            f"{told} A language model as structurer reads them (--structurer).",
            err=True,
        )


def print_beside(lines: Sequence[tuple[str, str]]) -> None:
    """Labels, and values in a column beside them."""
    width = max(len(label) for label, _ in lines)
    for label, value in lines:
        click.echo(f"{label:<{width}}  {value}".rstrip())


def checks_lines(summary: RunSummary) -> list[tuple[str, str]]:
    """How many checks passed, and what the others say."""
    passed = f"{len(summary.checks('passed'))} of {len(summary.outcomes)}"
    return [
        ("checks passed", passed),
        *(("  warns", warning) for warning in summary.checks("warned")),
    ]


def spending_lines(spent: Sequence[Progress], lost: int) -> list[tuple[str, str]]:
    """What language models were asked and cost; nothing where none was asked."""
    lines = (
        [("language models", f"${sum(judge.cost_usd for judge in spent):.4f}")]
        if spent
        else []
    )
    lines += [("", judge.line()) for judge in spent]
    if invalid := sum(judge.invalid for judge in spent):
        calls = sum(judge.calls for judge in spent)
        lines.append(
            (
                "  paid, of no use",
                f"{invalid:,} of {calls:,} calls: their answers are invalid",
            )
        )
    if spent and lost:
        lines.append(
            (
                "  sent, answer lost",
                f"{lost:,} since the ledger began, to killed processes",
            )
        )
    return lines


def print_analyses(
    chosen: Chosen, ranker: str, summary: RunSummary, *, release_is_stale: bool = False
) -> None:
    """The main figures of the analyses of a ranker, and whether a release lacks them."""
    agreement, robustness, fitted, experts = (
        chosen.stored(name, ranker)
        for name in (
            "judge_agreement",
            "ranking_robustness",
            "fit_validation",
            "expert_agreement",
        )
    )
    interval = ["value", "low", "high"]
    kinds = ("pairwise agreement", "fleiss kappa", "krippendorff alpha")
    agreed = agreement[agreement["measure"].isin(kinds)]
    defined = agreed[agreed["value"].notna()]
    print_table(defined[["measure", "coding", "first", "second", *interval]])
    changes = ["mean_abs_mu", "mean_abs_rank", "spearman"]
    print_table(robustness.groupby("comparisons", as_index=False)[changes].mean())
    fitted = fitted[
        (fitted["step"] == fitted["step"].max()) & (fitted["judges"] == "all")
    ]
    print_table(
        fitted.groupby("strategy", as_index=False)["mean_distance_stopped"].mean()
    )
    together = (experts["measure"] == "with ranking") & (experts["first"] == "")
    print_table(experts.loc[together, ["measure", "group", *interval]])
    lines = [
        *checks_lines(summary),
        ("tables, for any DuckDB client", str(chosen.home.database)),
    ]
    if len(defined) < len(agreed):
        why = no_agreement(chosen.stored("reference_ranking", ranker))
        lines.insert(0, ("agreement of judges", why))
    if release_is_stale:
        again = "say `lunguage run` again, or launch the job `release`: its report then shows these numbers"
        lines.append(("the release is from before", again))
    print_beside(lines)


def no_agreement(ranking: pd.DataFrame) -> str:
    """Why kappa and alpha of the judges of a `REFERENCE_RANKING` frame have no value."""
    first = ranking.iloc[0]
    if not ranking["n_matches"].any():
        used = f"the published ranking is used ({first['ruler_reason']})"
        return f"none: {used}, and the judges compared no phrases"
    if len(first["judges"]) < 2:
        return (
            f"none: {first['judges'][0]} ranks alone, and nobody is there to agree with"
        )
    return (
        "kappa and alpha have no value where all judges always gave the same one answer"
    )


def print_table(frame: pd.DataFrame) -> None:
    """Print the rows of a frame, numbers with three decimals and as wide as the terminal; nothing where there
    are none.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not len(frame):
        return
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    for name in map(str, frame.columns):
        table.add_column(
            name.replace("_", " "),
            justify="right" if is_numeric(frame[name]) else "left",
            overflow="fold",
        )
    for row in frame.astype(object).itertuples(index=False):
        shown = (
            f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row
        )
        cells = (
            "" if pd.isna(cell) else words
            for cell, words in zip(row, shown, strict=True)
        )
        table.add_row(*map(Text, cells))
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    console.print(table)
    click.echo()


def summary_lines(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Label and value of every line of the printed summary."""
    p, rows, conflicts = summary["p"], summary["rows"], summary["conflicts"]
    sources = (
        ", ".join(f"{count} {name}" for name, count in summary["p_source"].items())
        or "none"
    )
    scale = "this corpus' own phrases"
    if summary["ruler"] != "own":
        scale = f"the published phrases ({summary['ruler_reason']})"
    judges = ", ".join(summary["judges"]) or "none"
    generated, expanded = rows["generated"], summary["expanded"]
    lines = [
        ("reports", f"{summary['reports']}"),
        ("findings", f"{summary['findings']} rows"),
        ("hedged findings", f"{summary['tentative_pairs']} ({sources})"),
        ("comparisons", f"{summary['matches']}"),
        ("phrases ranked", f"{summary['phrases_ranked']}, {scale}; judges: {judges}"),
        ("p of hedged findings", _P.format(**p) if p["count"] else "no fitted pair"),
        ("expanded", f"{expanded} stated diagnoses (and {summary['expanded_generated']} implied ones) into "
         f"{generated} sub-findings; {rows['already_stated']} more were already stated"),
        ("conflicts", str(sum(conflicts.values()))),
        *((f"  {count}", _conflict(kind)) for kind, count in conflicts.items()),
        ("rows accounted for", _ACCOUNTS.format(**rows)),
    ]  # fmt: skip
    if scored := summary.get("scored"):
        lines.insert(
            3, ("  by a distilled model", f"{scored}: no judge was asked for them")
        )
    if foreign := summary.get("not_in_english"):
        lines.append(
            ("  not in English", f"{foreign} reports, not read and without labels")
        )
    for rule, studies in summary["studies_set_aside"].items():
        lines.append(("  studies set aside", f"{studies} break the rule: {rule}"))
    made = f"{rows['originals_out']} stated + {generated - rows['discarded']} generated"
    lines.append(("rows out", f"{summary['rows_out']} = {made}"))
    if summary["batches_not_included"]:
        lines.append(
            ("batches not included", ", ".join(summary["batches_not_included"]))
        )
    return lines


_CONFLICTS = {
    "polarity": "present and absent",
    "certainty_pos": "present with and without doubt",
    "certainty_neg": "absent with and without doubt",
    "duplicate_pos": "twice present with doubt",
    "duplicate_neg": "twice absent with doubt",
    "repeat_dp": "twice present",
    "repeat_dn": "twice absent",
    "stated_contradiction": "present and absent, at places that contain each other",
}
_SIDES = {
    "original-original": "both stated",
    "original-expansion": "one stated, one implied",
    "expansion-expansion": "both implied",
}


def _conflict(kind: str) -> str:
    """`certainty_pos (original-expansion)` in words."""
    name, _, source = kind.partition(" (")
    return f"{_CONFLICTS[name]}: {_SIDES[source.rstrip(')')]}"


_P = "mean {mean:.3f}, sd {sd:.3f}, {min:.3f} to {max:.3f}"
_ACCOUNTS = (
    "{rows_in} in = {originals_out} out + {merged} merged + {removed} removed + {excluded} excluded "
    "(history) + {rejected} rejected + {set_aside} set aside"
)
