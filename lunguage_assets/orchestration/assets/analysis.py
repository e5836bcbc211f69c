"""Group `analysis`: how far judges, ranking and fit can be trusted (explicit.md sections 3, 4, 7). Nothing
downstream depends on it.
"""

import dagster as dg
import pandas as pd

from lunguage_assets.current.standing import Keys
from lunguage_assets.explicit.analysis.agreement import judge_agreement as judges_with_each_other
from lunguage_assets.explicit.analysis.agreement import ranking_correlations as correlate_rankings
from lunguage_assets.explicit.analysis.experts import by_group, load_experts, load_responses
from lunguage_assets.explicit.analysis.experts import expert_agreement as experts_with_ranking
from lunguage_assets.explicit.analysis.validation import fit_validation as fit_phrases_back
from lunguage_assets.explicit.analysis.validation import ranking_robustness as rank_with_half
from lunguage_assets.orchestration.assets.explicit import same_vocabulary
from lunguage_assets.orchestration.assets.table_asset import Frames, Result, table_asset
from lunguage_assets.orchestration.metadata import picture, rows_table
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.pictures.heat_maps import agreement_heat_map, correlation_heat_map, expert_heat_map
from lunguage_assets.pictures.plots import robustness_plot, validation_curves, validation_spread
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

_SHOWN = ("measure", "coding", "first", "second", "value", "low", "high", "n")


@table_asset("analysis")
def judge_agreement(
    home: HomeResource,
    keys: Keys,
    comparison_matches: Frames,
    reference_ranking: pd.DataFrame,
) -> Result:
    """How far judges agree with each other, with themselves, with the pooled ranking, and with the human
    experts whose answers `lunguage survey import` has brought.
    """
    settings, (ranker,) = home.settings.explicit, keys
    matches = _by_judge(comparison_matches, reference_ranking)
    agreement = judges_with_each_other(matches)
    correlations = correlate_rankings(matches, ranker, reference_ranking, settings)
    experts, of_experts = EXPERT_AGREEMENT.frame(), {}
    if home.home.expert_responses.exists():
        responses = load_responses(home.home.expert_responses)
        described = load_experts(home.home.expert_descriptions)
        experts = experts_with_ranking(
            responses, described, ranker, reference_ranking, matches, settings.seed
        )
        of_experts = {
            "experts": rows_table(experts, ["group", "experts", *_SHOWN]),
            "experts_by_occupation": picture(expert_heat_map(by_group(experts))),
        }
    return dg.MaterializeResult(
        value={
            "judge_agreement": agreement,
            "ranking_correlations": correlations,
            "expert_agreement": experts,
        },
        metadata={
            "agreement": rows_table(agreement, _SHOWN),
            "plot": picture(agreement_heat_map(agreement)),
            "correlations": picture(correlation_heat_map(correlations)),
            **of_experts,
        },
    )


@table_asset("analysis")
def fit_validation(
    home: HomeResource, keys: Keys, reference_ranking: pd.DataFrame, comparison_matches: Frames
) -> Result:
    """Rank again with half of the comparisons, and fit the phrases of the ranking back into it."""
    settings, matches = home.settings.explicit, _by_judge(comparison_matches, reference_ranking)
    robustness = rank_with_half(reference_ranking, matches, settings)
    validation = fit_phrases_back(reference_ranking, matches, settings)
    value = {"fit_validation": validation, "ranking_robustness": robustness}
    if validation.empty:
        note = "the published ruler has no matches to rank again and to fit back with"
        return dg.MaterializeResult(value=value, metadata={"note": note})
    measures = ["mean_abs_mu", "mean_abs_rank", "spearman"]
    means = robustness.groupby("comparisons", as_index=False)[measures].mean()
    limits = (settings.opponent_limit, settings.panel_steps)
    last = validation[validation["step"] == validation["step"].max()]
    of_run = ["strategy", "judges", "opponent_limit", "panel_steps"]
    distances = ["mean_distance", "sd_distance", "mean_distance_stopped"]
    return dg.MaterializeResult(
        value=value,
        metadata={
            "robustness": rows_table(means, ["comparisons", *measures]),
            "robustness_plot": picture(robustness_plot(robustness)),
            "last_step": rows_table(last, [*of_run, *distances]),
            "curves": picture(validation_curves(validation, *limits)),
            "spread": picture(validation_spread(validation, *limits)),
        },
    )


def _by_judge(frames: Frames, ranking: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Matches by judge; refuses those of another vocabulary than the ranking's."""
    for (judge,), frame in frames.items():
        same_vocabulary(frame, ranking, f"comparison_matches[{judge}]")
    return {judge: frame for (judge,), frame in frames.items()}
