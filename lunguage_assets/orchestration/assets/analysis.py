"""Group `analysis`: how far judges, ranking and fit can be trusted (explicit.md sections 3, 4, 7). Nothing
downstream depends on it.
"""

from collections.abc import Mapping

import dagster as dg
import pandas as pd

from lunguage_assets.current.standing import Keys
from lunguage_assets.explicit.analysis.agreement import judge_agreement as judges_with_each_other
from lunguage_assets.explicit.analysis.experts.expert_agreement import (
    expert_agreement as experts_with_ranking,
)
from lunguage_assets.explicit.analysis.experts.expert_views import by_expert, by_group
from lunguage_assets.explicit.analysis.experts.experts import load_experts, load_responses, undescribed
from lunguage_assets.explicit.analysis.rank_correlation import ranking_correlations as correlate_rankings
from lunguage_assets.explicit.analysis.trust.robustness import ranking_robustness as rank_with_half
from lunguage_assets.explicit.analysis.trust.validation import fit_validation as fit_phrases_back
from lunguage_assets.orchestration.assets.table_asset import Frames, Result, table_asset
from lunguage_assets.orchestration.metadata import picture, rows_table
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.pictures.heat_maps import agreement_heat_map, correlation_heat_map, expert_heat_map
from lunguage_assets.pictures.plots import robustness_plot, validation_curves, validation_spread
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

_SHOWN = ("measure", "coding", "first", "second", "value", "low", "high", "n", "left_out")


@table_asset("analysis")
def judge_agreement(
    home: HomeResource,
    keys: Keys,
    comparison_matches: Frames,
    hedge_phrases: Mapping[tuple[str, str], pd.DataFrame],
    reference_ranking: pd.DataFrame,
) -> Result:
    """How far judges agree with each other, with themselves and with the pooled ranking."""
    settings = home.settings.explicit
    matches, (ranker,) = _by_judge(comparison_matches), keys
    version = str(reference_ranking["vocabulary_version"].iloc[0])
    agreement = judges_with_each_other(matches, hedge_phrases, settings, version)
    correlations = correlate_rankings(matches, {ranker: reference_ranking}, settings, version)
    return dg.MaterializeResult(
        value={"judge_agreement": agreement, "ranking_correlations": correlations},
        metadata={
            "agreement": rows_table(agreement, _SHOWN),
            "plot": picture(agreement_heat_map(agreement)),
            "correlations": picture(correlation_heat_map(correlations)),
        },
    )


@table_asset("analysis")
def ranking_robustness(
    home: HomeResource, keys: Keys, reference_ranking: pd.DataFrame, comparison_matches: Frames
) -> Result:
    """Rank again with part of the comparisons."""
    frame = rank_with_half(reference_ranking, _by_judge(comparison_matches), home.settings.explicit)
    measures = ["mean_abs_mu", "mean_abs_rank", "spearman"]
    means = frame.groupby("comparisons", as_index=False)[measures].mean()
    plot = {"plot": picture(robustness_plot(frame))} if len(frame) else {}
    return dg.MaterializeResult(
        value=frame,
        metadata={"mean_over_repeats": rows_table(means, ["comparisons", *measures]), **plot},
    )


@table_asset("analysis")
def fit_validation(
    home: HomeResource, keys: Keys, reference_ranking: pd.DataFrame, comparison_matches: Frames
) -> Result:
    """Fit the phrases of the ranking back into it."""
    settings = home.settings.explicit
    frame = fit_phrases_back(reference_ranking, _by_judge(comparison_matches), settings)
    if frame.empty:
        note = "the published ruler has no matches to fit back with"
        return dg.MaterializeResult(value=frame, metadata={"note": note})
    limits = (settings.opponent_limit, settings.panel_steps)
    last = frame[frame["step"] == frame["step"].max()]
    of_run = ["strategy", "judges", "opponent_limit", "panel_steps"]
    distances = ["mean_distance", "sd_distance", "mean_distance_stopped"]
    return dg.MaterializeResult(
        value=frame,
        metadata={
            "last_step": rows_table(last, [*of_run, *distances]),
            "curves": picture(validation_curves(frame, *limits)),
            "spread": picture(validation_spread(frame, *limits)),
        },
    )


@table_asset("analysis")
def expert_agreement(
    home: HomeResource, keys: Keys, reference_ranking: pd.DataFrame, comparison_matches: Frames
) -> Result:
    """Compare human experts with the ranking; empty until `lunguage survey import` has brought answers."""
    if not home.home.expert_responses.exists():
        empty = EXPERT_AGREEMENT.frame()
        return dg.MaterializeResult(value=empty, metadata={"note": "no survey was imported"})
    responses = load_responses(home.home.expert_responses)
    experts = load_experts(home.home.expert_descriptions)
    matches = _by_judge(comparison_matches)
    frame = experts_with_ranking(
        responses, experts, *keys, reference_ranking, matches, home.settings.explicit
    )
    not_described, without_answers = undescribed(responses, experts)
    return dg.MaterializeResult(
        value=frame,
        metadata={
            "agreement": rows_table(frame, ["group", "experts", *_SHOWN]),
            "by_expert": picture(expert_heat_map(by_expert(frame, experts))),
            "by_occupation": picture(expert_heat_map(by_group(frame))),
            "experts": len(responses.experts),
            "experts_without_description": len(not_described),
            "descriptions_without_answers": len(without_answers),
        },
    )


def _by_judge(frames: Frames) -> dict[str, pd.DataFrame]:
    return {judge: frame for (judge,), frame in frames.items()}
