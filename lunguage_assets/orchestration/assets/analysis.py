"""Group `analysis`: how far judges, ranking and fit can be trusted.

It rests on docs/method/explicit.md sections 3, 4 and 7. Nothing downstream depends on
it but the figures of the release. The statistics are not here, but in
`explicit.analysis`.
"""

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.analysis import agreement, experts, robustness, validation
from lunguage_assets.orchestration.assets.explicit import matches_by_judge
from lunguage_assets.orchestration.assets.steps import (
    Result,
    materialize_result,
    read_inputs,
    step_deps,
)
from lunguage_assets.orchestration.checks import check_specs, expectations
from lunguage_assets.orchestration.metadata import table_options
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

GROUP = "analysis"


def analysis_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """Return the assets of the group, for the rankers of `partitions`."""
    by_ranker = partitions.by("ranker")

    @dg.asset(
        **table_options("judge_agreement"),
        group_name=GROUP,
        partitions_def=by_ranker,
        deps=step_deps("judge_agreement", partitions),
        check_specs=check_specs("judge_agreement", by_ranker, expectations),
    )
    @redact_errors()
    def judge_agreement(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Measure how far judges agree.

        They are compared with each other, with themselves, with the pooled ranking, and
        with the human experts whose answers `lunguage survey import` has brought.
        """
        inputs = read_inputs(context, configuration)
        (ranker,) = inputs.keys
        settings = configuration.settings.explicit
        ranking = inputs.tables["reference_ranking"]
        matches = matches_by_judge(inputs.partitions["comparison_matches"], ranking)
        with_experts = EXPERT_AGREEMENT.frame()
        if configuration.home.expert_responses.exists():
            with_experts = experts.expert_agreement(
                experts.load_responses(configuration.home.expert_responses),
                experts.load_experts(configuration.home.expert_descriptions),
                ranker,
                ranking,
                matches,
                settings.seed,
            )
        between_judges = agreement.judge_agreement(matches)
        tables = {
            "judge_agreement": between_judges,
            "ranking_correlations": agreement.ranking_correlations(
                matches, ranker, ranking, settings
            ),
            "expert_agreement": with_experts,
        }
        return materialize_result(
            configuration,
            inputs,
            tables,
            {},
            [expectations(configuration, "judge_agreement", between_judges)],
        )

    @dg.asset(
        **table_options("fit_validation"),
        group_name=GROUP,
        partitions_def=by_ranker,
        deps=step_deps("fit_validation", partitions),
    )
    @redact_errors()
    def fit_validation(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Rank again with half of the comparisons, and fit ranked phrases back."""
        inputs = read_inputs(context, configuration)
        settings = configuration.settings.explicit
        ranking = inputs.tables["reference_ranking"]
        matches = matches_by_judge(inputs.partitions["comparison_matches"], ranking)
        tables = {
            "ranking_robustness": robustness.ranking_robustness(
                ranking, matches, settings
            ),
            "fit_validation": validation.fit_validation(ranking, matches, settings),
        }
        return materialize_result(configuration, inputs, tables, {})

    return [judge_agreement, fit_validation]
