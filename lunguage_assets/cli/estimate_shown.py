"""How the command line shows an estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table as RichTable

if TYPE_CHECKING:
    from lunguage_assets.judges.estimate import Estimate

_COUNTS = {"questions": "questions", "hits": "ledger", "calls": "calls"}
_TOKENS = {"input_tokens": "tokens in", "output_tokens": "out"}
_USD = {"usd": "USD", "usd_at_least": "at least", "usd_at_most": "at most"}
_WIDE = 120
"""Columns of the estimate's table: a narrow terminal wraps it, so that no number is cut off."""


def print_estimate(estimate: Estimate, judges_file: Path) -> None:
    """What a run would ask and spend: a line per stage and judge, totals, prices, and what is not known."""
    click.echo(f"preset {estimate.preset}, ranker {estimate.ranker}, batches: {', '.join(estimate.batches)}")
    if estimate.lines:
        steps = f"; about {estimate.steps or 0:.1f} steps a fit (published: 24.6)"
        click.echo(
            f"{estimate.reports:,} reports, {estimate.pairs:,} tentative pairs in {estimate.sentences:,} "
            "different masked sentences" + (steps if estimate.steps is not None else "")
        )
        console = Console(highlight=False)
        console.width = max(console.width, _WIDE)
        console.print(_table(estimate))
        _print_basis(estimate, judges_file)
    for text in estimate.remarks:
        click.echo(text)


def _table(estimate: Estimate) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="dim", show_footer=True)
    total = estimate.total
    unknown = " + ?" if total["judges_without_price"] else ""
    table.add_column("stage, judge", footer="total")
    for name, footer in zip((*_COUNTS, *_TOKENS, *_USD, "minutes"), _cells(total, unknown), strict=True):
        head = {**_COUNTS, **_TOKENS, **_USD}.get(name, name)
        table.add_column(head, justify="right", footer=footer)
    stage = ""
    for line in estimate.values()["lines"]:
        if line["stage"] != stage:
            table.add_row(stage := line["stage"])
        table.add_row(f"  {line['judge']}", *_cells(line))
    return table


def _cells(numbers: dict[str, Any], unknown: str = "") -> list[str]:
    usd = ["?" if numbers[name] is None else f"{numbers[name]:,.2f}" for name in _USD]
    return [
        *(f"{numbers[name]:,}" for name in _COUNTS),
        *(_short(numbers[name]) for name in _TOKENS),
        usd[0] + unknown,
        *usd[1:],
        f"{numbers['minutes']:,.1f}",
    ]


def _short(tokens: int) -> str:
    return f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:,.0f} k"


def _print_basis(estimate: Estimate, judges_file: Path) -> None:
    stages = ", ".join(f"{stage} {minutes:,.1f}" for stage, minutes in estimate.minutes.items())
    dates = ", ".join(estimate.prices_as_of) or "no date: it gives none"
    measured = ", ".join(sorted({line.judge for line in estimate.lines if line.basis == "ledger"}))
    click.echo(f"Minutes by stage: {stages}. Judges are asked at the same time; the slowest counts.")
    click.echo(f"Prices: {judges_file}, as of {dates}. Look them up before you rely on them.")
    click.echo(f"Tokens and seconds measured, from the ledger: {measured or 'none'}; others are assumed.")
    if unpriced := ", ".join(estimate.total["judges_without_price"]):
        click.echo(f"No price, or no limit on output tokens, so no dollars at most: {unpriced}")
    click.echo("The range, and what is assumed: docs/models.md, What it costs.")
