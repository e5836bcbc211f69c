"""Group `analysis`: how far judges, ranking and fit can be trusted.

It rests on docs/method/explicit.md sections 3, 4 and 7. Nothing downstream depends on
it but the figures of the release. The statistics are not here, but in
`explicit.analysis`.
"""

from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.analysis import agreement, experts, validation
from lunguage_assets.orchestration.assets.explicit import matches_by_judge
from lunguage_assets.orchestration.outputs import (
    StepResult,
    table_asset,
    versioned,
)
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import ConfigurationResource
from lunguage_assets.settings import (
    COMPARISON_OPTIONS,
    FIT_OPTIONS,
    RANKING_OPTIONS,
)
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT


def analysis_assets(
    configuration: Configuration, by: Partitions
) -> list[dg.AssetsDefinition]:
    """Return the assets of the group.

    Args:
        configuration: of the home, whose settings are in the code versions.
        by: the partitions.
    """
    options = COMPARISON_OPTIONS | RANKING_OPTIONS | FIT_OPTIONS

    @table_asset(
        configuration,
        "analysis",
        versioned("6", configuration.settings.explicit.model_dump(include=options)),
        by.ranker,
        "judge_agreement",
        "ranking_correlations",
        "expert_agreement",
        "fit_validation",
        "ranking_robustness",
        ins={"comparison_matches": dg.AssetIn(partition_mapping=by.members)},
        deps=["experts_file"],
    )
    def measure_trust(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
        reference_ranking: pd.DataFrame,
        comparison_matches: Any,
    ) -> StepResult:
        """Compare judges, rank with half of the comparisons, fit ranked phrases back.

        Judges are compared with each other, with themselves, with the pooled ranking,
        and with the human experts whose answers `lunguage survey import` has brought.

        Args:
            context: of the run.
            configuration: of the home.
            reference_ranking: the ranker's.
            comparison_matches: of its judges, by judge; of one alone, its frame.
        """
        ranker = context.partition_key
        settings = configuration.settings.explicit
        responses = configuration.home.expert_responses
        members = configuration.judges.members(ranker)
        matches = matches_by_judge(members, comparison_matches, reference_ranking)
        with_experts = EXPERT_AGREEMENT.frame()
        if responses.exists():
            with_experts = experts.expert_agreement(
                experts.load_responses(responses), ranker, reference_ranking, matches
            )
        correlations = agreement.ranking_correlations(
            matches, ranker, reference_ranking, settings
        )
        arguments = (reference_ranking, matches, settings)
        tables = {
            "judge_agreement": agreement.judge_agreement(matches),
            "expert_agreement": with_experts,
            "ranking_correlations": correlations,
            "fit_validation": validation.fit_validation(*arguments),
            "ranking_robustness": validation.ranking_robustness(*arguments),
        }
        return StepResult(tables)

    return [measure_trust]
