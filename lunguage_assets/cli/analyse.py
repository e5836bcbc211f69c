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
    import pandas as pd

    from lunguage_assets.configuration import Configuration
    from lunguage_assets.orchestration.run import RunSummary
    from lunguage_assets.workspace.home import Home

_INTERVAL = ["value", "low", "high"]
_AGREEMENT_MEASURES = ("pairwise agreement", "fleiss kappa", "krippendorff alpha")


@click.command(short_help="Analyse how far the numbers can be trusted.")
@HOME_OPTION
@PRESET_OPTION
@RANKER_OPTION
@click.option(
    "--cues",
    is_flag=True,
    help="Instead, count the rows of raw reports by the cue that decided them.",
)
@configured(existing=True)
def analyse(configuration: Configuration, ranker: str, cues: bool) -> None:
    """Analyse how far the numbers can be trusted.

    Agreement of the judges, robustness of the ranking, validation of the fit. Asks no
    judge: everything comes from recorded matches.
    """
    if cues:
        _print_rows_by_cue(configuration.home)
    else:
        _run_analyses(configuration, ranker)


def _run_analyses(configuration: Configuration, ranker: str) -> None:
    """Make and print the analyses of a ranker."""
    from lunguage_assets.cli.run import opened_runner, require_checks, run_stages
    from lunguage_assets.orchestration.run_plan import Stage

    home = configuration.home
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
    robustness = stored_table(home, "ranking_robustness", ranker)
    validation = stored_table(home, "fit_validation", ranker)
    experts = stored_table(home, "expert_agreement", ranker)

    of_judges = agreement[agreement["measure"].isin(_AGREEMENT_MEASURES)]
    defined = of_judges[of_judges["value"].notna()]
    print_table(defined[["measure", "coding", "first", "second", *_INTERVAL]])
    print_table(_mean_changes(robustness))
    print_table(_mean_distances(validation))
    # Rows without a name are averages over experts; each expert's are in the table.
    all_experts = (experts["measure"] == "with ranking") & (experts["first"] == "")
    print_table(experts.loc[all_experts, ["measure", "group", *_INTERVAL]])

    lines = [
        *checks_lines(summary),
        ("tables, for any DuckDB client", str(home.database)),
    ]
    if len(defined) < len(of_judges):
        ranking = stored_table(home, "reference_ranking", ranker)
        lines.insert(0, ("agreement of judges", why_no_agreement(ranking)))
    if release_is_stale:
        lines.append(
            (
                "the release is from before",
                "say `lunguage run` again, or launch the job `release`: its report "
                "then shows these numbers",
            )
        )
    print_pairs(lines)


def _mean_changes(robustness: pd.DataFrame) -> pd.DataFrame:
    """Average how much rankings from fewer comparisons change."""
    changes = ["mean_abs_mu", "mean_abs_rank", "spearman"]
    return robustness.groupby("comparisons", as_index=False)[changes].mean()


def _mean_distances(validation: pd.DataFrame) -> pd.DataFrame:
    """Average the distance to the known score at the last step of all judges' fits."""
    # Earlier steps say how fast a fit comes near, the last one how near.
    is_last_step = validation["step"] == validation["step"].max()
    of_all_judges = validation[is_last_step & (validation["judges"] == "all")]
    by_strategy = of_all_judges.groupby("strategy", as_index=False)
    means: pd.DataFrame = by_strategy[["mean_distance_stopped"]].mean()
    return means


def why_no_agreement(ranking: pd.DataFrame) -> str:
    """Say why the judges of a `REFERENCE_RANKING` frame have no kappa or alpha."""
    first = ranking.iloc[0]
    if not ranking["n_matches"].any():
        return (
            f"none: the published ranking is used ({first['ruler_reason']}), and the "
            "judges compared no phrases"
        )
    if len(first["judges"]) < 2:
        return (
            f"none: {first['judges'][0]} ranks alone, and nobody is there to agree with"
        )
    return (
        "kappa and alpha have no value where all judges always gave the same one answer"
    )


def _print_rows_by_cue(home: Home) -> None:
    """Print the rows of all batches by the cue that decided them; no text of a report.

    Raises:
        ConfigurationError: the offline rules, which alone name cues, have read nothing.
    """
    import pandas as pd

    from lunguage_assets.cli.console import print_table
    from lunguage_assets.judges.configuration import RULES
    from lunguage_assets.structuring.cue_counts import rows_by_cue
    from lunguage_assets.tables import STRUCTURED_FINDINGS
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
    findings = [read_table(STRUCTURED_FINDINGS, path) for path in read]
    print_table(rows_by_cue(pd.concat(findings, ignore_index=True)))
