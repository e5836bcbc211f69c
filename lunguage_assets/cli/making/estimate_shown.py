"""How the command line shows an estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as RichTable

if TYPE_CHECKING:
    from lunguage_assets.judges.estimating.estimate import Estimate

_console = Console(highlight=False)

_WIDE = 120
"""Columns of the estimate's table: a narrow terminal wraps it, so that no number is cut off."""


def print_estimate(estimate: Estimate, judges_file: Path) -> None:
    """What a run would ask and spend: a line per stage and judge, totals, prices with their date and source,
    and what is not known.
    """
    read = (
        f"{estimate.reports:,} reports, {estimate.pairs:,} tentative pairs in "
        f"{estimate.sentences:,} different masked sentences"
    )
    ruler = "of its own" if estimate.ruler == "own" else "of the published ruler"
    head = [f"preset {estimate.preset}, ranker {estimate.ranker}, batches: {', '.join(estimate.batches)}"]
    if estimate.lines:
        fits = (
            ""
            if estimate.steps is None
            else f"; {estimate.steps:.1f} steps a fit in this rehearsal (published: 24.6)"
        )
        head.append(f"{read}; {estimate.phrases} phrases {ruler}{fits}")
    for text in head:
        _console.print(text, soft_wrap=True, markup=False)
    if estimate.lines:
        wide = Console(highlight=False, width=max(_console.width, _WIDE))
        wide.print(_estimate_table(estimate))
    for text in _estimate_remarks(estimate, judges_file):
        _console.print(text, soft_wrap=True, markup=False)


def _estimate_table(estimate: Estimate) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="dim", show_footer=True)
    lines = estimate.lines
    numbers: list[tuple[str, list[str], str]] = [
        (
            "questions",
            [f"{line.questions:,}" for line in lines],
            f"{sum(line.questions for line in lines):,}",
        ),
        ("ledger", [f"{line.hits:,}" for line in lines], f"{sum(line.hits for line in lines):,}"),
        ("calls", [f"{line.calls:,}" for line in lines], f"{estimate.calls:,}"),
        (
            "tokens in",
            [_short(line.input_tokens) for line in lines],
            _short(sum(line.input_tokens for line in lines)),
        ),
        (
            "out",
            [_short(line.output_tokens) for line in lines],
            _short(sum(line.output_tokens for line in lines)),
        ),
        (
            "USD",
            [_usd(line.usd) for line in lines],
            _usd(estimate.usd) + (" + ?" if estimate.unpriced else ""),
        ),
        ("at most", [_usd(line.usd_at_most) for line in lines], _usd(estimate.usd_at_most)),
        (
            "minutes",
            ["a day" if m is None else f"{m:,.1f}" for m in (line.minutes for line in lines)],
            f"{sum(estimate.minutes.values()):,.1f}",
        ),
    ]
    table.add_column("stage, judge", footer="total")
    for name, _, total in numbers:
        table.add_column(name, justify="right", footer=total)
    for row, line in enumerate(lines):
        if row == 0 or lines[row - 1].stage != line.stage:
            table.add_row(line.stage)
        table.add_row(f"  {line.judge}", *(cells[row] for _, cells, _ in numbers))
    return table


def _usd(value: float | None) -> str:
    return "?" if value is None else f"{value:,.2f}"


def _short(tokens: int) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:,.0f} k"


def _estimate_remarks(estimate: Estimate, judges_file: Path) -> list[str]:
    if not estimate.lines:
        return list(estimate.remarks)
    stages = ", ".join(f"{stage} {minutes:,.1f}" for stage, minutes in estimate.minutes.items())
    dates = sorted({price.as_of for price in estimate.prices})
    learnt = sorted({line.judge for line in estimate.lines if line.basis == "ledger"})
    return [
        f"Minutes by stage: {stages}. Judges are asked at the same time; the slowest counts.",
        f"Prices: {judges_file}, as of {', '.join(dates) or 'no date: it gives none'}. Look them "
        "up before you rely on them.",
        "Tokens and seconds of a call: "
        f"{'measured, from the ledger, for ' + ', '.join(learnt) if learnt else 'assumed'}"
        + (
            "; otherwise assumed (docs/costs.md)."
            if learnt
            else ", as the ledger has no answers yet (docs/costs.md)."
        ),
        "Answers that the ledger lacks are made up, so the phrases found and the steps of the "
        "fits are expectations."
        " At most: every question takes all tries and all output tokens, every fit all its steps.",
        *estimate.remarks,
    ]
