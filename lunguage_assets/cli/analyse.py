"""`lunguage analyse`: how far the numbers can be trusted (docs/trust.md).

The analyses are assets of the group `analysis`; `--cues` counts rows of raw reports by
the cue that decided them. Here they are launched and printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lunguage_assets.cli.options import (
    HOME_OPTION,
    PRESET_OPTION,
    RANKER_OPTION,
    configured,
    require_ranker,
)
from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.workspace.home import Home

_MOST_WORDS = 50
_INTERVAL = ["value", "low", "high"]
_AGREEMENT_MEASURES = ("pairwise agreement", "fleiss kappa", "krippendorff alpha")
_CHANGES = ["mean_abs_mu", "mean_abs_rank", "spearman"]


@click.command(short_help="Analyse how far the numbers can be trusted.")
@HOME_OPTION
@PRESET_OPTION
@RANKER_OPTION
@click.option(
    "--cues",
    is_flag=True,
    help="Instead, count the rows of raw reports by the cue that decided them, and by "
    "the words that left them open.",
)
@configured(existing=True)
def analyse(configuration: Configuration, ranker: str, cues: bool) -> None:
    """Analyse how far the numbers can be trusted.

    Agreement of the judges, robustness of the ranking, validation of the fit. Asks no
    judge: everything comes from recorded matches.
    """
    from lunguage_assets.cli.console import print_pairs
    from lunguage_assets.cli.run import require_checks, run_stages
    from lunguage_assets.orchestration.io_manager import stored_table
    from lunguage_assets.orchestration.run import Stage

    home = configuration.home
    if cues:
        _print_rows_by_cue(home)
        return
    require_ranker(configuration, ranker)
    # Without a ranking there is nothing to analyse: its absence is said before a run.
    stored_table(home.tables, "reference_ranking", ranker)
    checks = run_stages(configuration, [Stage("analyse", (ranker,), ("asked for",))])
    _print_analyses(home, ranker)
    print_pairs(
        [
            ("tables, for any DuckDB client", str(home.database)),
            ("in the report of the release", "after the next `lunguage run`"),
        ]
    )
    require_checks(checks)


def _print_analyses(home: Home, ranker: str) -> None:
    """Print the main figures of the analyses of a ranker; the rest is in the tables."""
    from lunguage_assets.cli.console import print_table
    from lunguage_assets.orchestration.io_manager import stored_table

    agreement = stored_table(home.tables, "judge_agreement", ranker)
    of_judges = agreement[agreement["measure"].isin(_AGREEMENT_MEASURES)]
    print_table(of_judges[["measure", "coding", "first", "second", *_INTERVAL]])

    robustness = stored_table(home.tables, "ranking_robustness", ranker)
    print_table(robustness.groupby("comparisons", as_index=False)[_CHANGES].mean())

    # Earlier steps say how fast a fit comes near, the last one how near.
    validation = stored_table(home.tables, "fit_validation", ranker).query(
        "judges == 'all'"
    )
    fits = validation[validation["step"] == validation["step"].max()]
    by_strategy = fits.groupby("strategy", as_index=False)
    print_table(by_strategy[["mean_distance"]].mean())

    # Rows without a name are averages over experts; each expert's are in the table.
    experts = stored_table(home.tables, "expert_agreement", ranker)
    of_all = experts.query("measure == 'with ranking' and first == ''")
    print_table(of_all[["measure", *_INTERVAL]])


def _print_rows_by_cue(home: Home) -> None:
    """Print the rows of all batches by the cue that decided them; no text of a report.

    Raises:
        ConfigurationError: the offline rules, which alone name cues, have read nothing.
    """
    import pandas as pd

    from lunguage_assets.cli.console import print_table
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.orchestration.io_manager import stored_or_none
    from lunguage_assets.structuring.contract import UNANSWERED
    from lunguage_assets.structuring.cue_counts import rows_by_cue

    findings = []
    texts = []
    for batch in home.registered():
        rows = stored_or_none(home.tables, "structured_findings", RULES, batch.key)
        if rows is not None and len(rows):
            findings.append(rows)
            texts.append(stored_or_none(home.tables, "report_texts", batch.key))
    if not findings:
        raise ConfigurationError(
            f"{home.root} has no rows that the offline rules read, which alone name "
            "cues. Run `lunguage run --data DIR` with raw reports first."
        )
    counts = rows_by_cue(pd.concat(findings), pd.concat(texts))
    is_word = counts["cue"].str.startswith(UNANSWERED)
    print_table(counts[~is_word])
    # Single words, so that a person can call those of a corpus harmless.
    print_table(counts[is_word].head(_MOST_WORDS))
