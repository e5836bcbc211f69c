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
    stored_table,
)
from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from lunguage_assets.configuration import Configuration
    from lunguage_assets.orchestration.run import RunSummary
    from lunguage_assets.workspace.home import Home

_MOST_WORDS = 50
_INTERVAL = ["value", "low", "high"]
_AGREEMENT_MEASURES = ("pairwise agreement", "fleiss kappa", "krippendorff alpha")
_CHANGES = ["mean_abs_mu", "mean_abs_rank", "spearman"]
_NO_AGREEMENT = (
    "some have no value: one judge ranks alone, the published ranking is used, or all "
    "judges always gave the same one answer"
)


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
    from lunguage_assets.cli.run import opened_runner, require_checks, run_stages
    from lunguage_assets.orchestration.run_plan import Stage

    home = configuration.home
    if cues:
        _print_rows_by_cue(home)
        return
    require_ranker(configuration, ranker)
    # Without a ranking there is nothing to analyse: its absence is said before a run.
    stored_table(home, "reference_ranking", ranker)
    checks, _ = run_stages(configuration, [Stage("analyse", (ranker,))])
    with opened_runner(configuration) as runner:
        reasons = runner.current().reasons("release", ranker)
    # A release that is missing is not from before the analyses.
    release_is_stale = bool(reasons) and reasons != ["missing"]
    print_analyses(home, ranker, checks, release_is_stale=release_is_stale)
    require_checks(checks)


def print_analyses(
    home: Home, ranker: str, summary: RunSummary, *, release_is_stale: bool = False
) -> None:
    """Print the main figures of the analyses of a ranker.

    Args:
        home: that holds their tables.
        ranker: whose analyses they are.
        summary: of the run that made them, with their checks.
        release_is_stale: the release was written before them, and lacks them.
    """
    from lunguage_assets.cli.console import print_pairs, print_table
    from lunguage_assets.cli.release_summary import checks_lines

    agreement = stored_table(home, "judge_agreement", ranker)
    of_judges = agreement[agreement["measure"].isin(_AGREEMENT_MEASURES)]
    defined = of_judges[of_judges["value"].notna()]
    print_table(defined[["measure", "coding", "first", "second", *_INTERVAL]])

    robustness = stored_table(home, "ranking_robustness", ranker)
    print_table(robustness.groupby("comparisons", as_index=False)[_CHANGES].mean())

    # Earlier steps say how fast a fit comes near, the last one how near.
    validation = stored_table(home, "fit_validation", ranker)
    is_last_step = validation["step"] == validation["step"].max()
    fits = validation[is_last_step & (validation["judges"] == "all")]
    by_strategy = fits.groupby("strategy", as_index=False)
    print_table(by_strategy[["mean_distance_stopped"]].mean())

    # Rows without a name are averages over experts; each expert's are in the table.
    experts = stored_table(home, "expert_agreement", ranker)
    is_of_all = (experts["measure"] == "with ranking") & (experts["first"] == "")
    print_table(experts.loc[is_of_all, ["measure", "group", *_INTERVAL]])

    lines = [
        *checks_lines(summary),
        ("tables, for any DuckDB client", str(home.database)),
    ]
    if len(defined) < len(of_judges):
        lines.insert(0, ("agreement of judges", _NO_AGREEMENT))
    if release_is_stale:
        again = "`lunguage run` writes it again: its report then shows these numbers"
        lines.append(("the release is from before", again))
    print_pairs(lines)


def _print_rows_by_cue(home: Home) -> None:
    """Print the rows of all batches by the cue that decided them; no text of a report.

    Raises:
        ConfigurationError: the offline rules, which alone name cues, have read nothing.
    """
    import pandas as pd

    from lunguage_assets.cli.console import print_table
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.structuring.cue_counts import rows_by_cue, rows_by_unread_word
    from lunguage_assets.tables import REPORT_TEXTS, STRUCTURED_FINDINGS
    from lunguage_assets.workspace.store import is_stored, partition_path, read_table

    paths = [
        partition_path(home.tables, STRUCTURED_FINDINGS.name, RULES, batch.key)
        for batch in home.registered()
    ]
    read = [path for path in paths if is_stored(STRUCTURED_FINDINGS, path)]
    if not read:
        raise ConfigurationError(
            f"{home.root} has no rows that the offline rules read, which alone name "
            "cues. Run `lunguage run --data DIR` with raw reports first."
        )
    findings = pd.concat(
        [read_table(STRUCTURED_FINDINGS, path) for path in read], ignore_index=True
    )
    print_table(rows_by_cue(findings))
    texts = [
        partition_path(home.tables, REPORT_TEXTS.name, batch.key)
        for batch in home.registered()
    ]
    stored_texts = [
        read_table(REPORT_TEXTS, path)
        for path in texts
        if is_stored(REPORT_TEXTS, path)
    ]
    # Single words, so that a person can call those of a corpus harmless.
    words = rows_by_unread_word(findings, pd.concat(stored_texts, ignore_index=True))
    print_table(words.head(_MOST_WORDS))
