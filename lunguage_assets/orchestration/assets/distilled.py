"""Group `explicit`: a small model that scores sentences in the judges' place.

It learns from what the judges of a ranker said, and is tested before it may score
(docs/distilled.md). The asset that it scores for, `fitted_probabilities`, is in
`explicit`; how it learns is in the package `explicit.distilled`.
"""

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.distilled.learning import distil
from lunguage_assets.explicit.distilled.panel_scores import panel_scores
from lunguage_assets.orchestration.assets.explicit import GROUP, constants
from lunguage_assets.orchestration.assets.steps import (
    Result,
    materialize_result,
    read_inputs,
    step_deps,
)
from lunguage_assets.orchestration.checks import as_good_as_the_panel, check_specs
from lunguage_assets.orchestration.metadata import table_options
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.orchestration.resources import chosen_encoder
from lunguage_assets.tables import FINDINGS, FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import FIT_LOG


def distilled_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """Return the asset of distilled models, for the rankers of `partitions`."""

    by_ranker = partitions.by("ranker")

    @dg.asset(
        **table_options("distilled_scorer"),
        group_name=GROUP,
        partitions_def=by_ranker,
        deps=step_deps("distilled_scorer", partitions),
        check_specs=check_specs("distilled_scorer", by_ranker, as_good_as_the_panel),
    )
    @redact_errors()
    def distilled_scorer(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Let a small model learn from the stored answers of a ranker's judges."""
        inputs = read_inputs(context, configuration)
        ranking = inputs.tables["reference_ranking"]
        findings, fitted, log = (
            pd.concat([table.frame(), *inputs.partitions[table.name].values()])
            for table in (FINDINGS, FITTED_PROBABILITIES, FIT_LOG)
        )
        scorer = distil(
            panel_scores(
                findings, fitted, log, ranking, inputs.tables["hedge_vocabulary"]
            ),
            chosen_encoder(configuration),
            configuration.home.distilled.joinpath(*inputs.keys),
            str(ranking["ranking_version"].iloc[0]),
        )
        return materialize_result(
            configuration,
            inputs,
            {"distilled_scorer": scorer},
            constants(scorer, "encoder", "sentences"),
            [as_good_as_the_panel(scorer)],
        )

    return [distilled_scorer]
