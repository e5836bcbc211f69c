"""How the command line shows an estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import pandas as pd

if TYPE_CHECKING:
    from lunguage_assets.judges.estimate import Estimate

_COUNTS = {"questions": "questions", "hits": "ledger", "calls": "calls", "input_tokens": "tokens in",
           "output_tokens": "out"}  # fmt: skip
_USD = {"usd": "USD", "usd_at_least": "at least", "usd_at_most": "at most"}


def print_estimate(estimate: Estimate, judges_file: Path) -> None:
    """What a run would ask and spend: a line per stage and judge, totals, prices, and what is not known."""
    click.echo(f"preset {estimate.preset}, ranker {estimate.ranker}, batches: {', '.join(estimate.batches)}")
    if estimate.lines:
        steps = f"; about {estimate.steps or 0:.1f} steps a fit (published: 24.6)"
        click.echo(
            f"{estimate.reports:,} reports, {estimate.pairs:,} tentative pairs in {estimate.sentences:,} "
            "different masked sentences" + (steps if estimate.steps is not None else "")
        )
        click.echo(_table(estimate))
        _print_basis(estimate, judges_file)
    for text in estimate.remarks:
        click.echo(text)


def _table(estimate: Estimate) -> str:
    """A line per stage and judge, and their sum; dollars that are not known as a question mark."""
    rows = [*estimate.values()["lines"], {**estimate.total, "stage": "total", "judge": ""}]
    names = {"stage": "stage", "judge": "judge", **_COUNTS, **_USD, "minutes": "minutes"}
    frame = pd.DataFrame(rows, columns=list(names)).astype(dict.fromkeys(_USD, "float64"))
    counts = dict.fromkeys(_COUNTS.values(), "{:,}".format)
    dollars = dict.fromkeys(_USD.values(), "{:,.2f}".format)
    formats = {**counts, **dollars, "minutes": "{:,.1f}".format}
    return frame.rename(columns=names).to_string(index=False, na_rep="?", formatters=formats)


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
