"""Group `explicit`: a small model that scores sentences in the judges' place.

It learns from what the judges of a ranker said, and is tested before it may score
(docs/distilled.md). The asset that it scores for, `fitted_probabilities`, is in
`explicit`; how it learns is in the package `explicit.distilled`.
"""

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.explicit.distilled.collecting import panel_answers
from lunguage_assets.explicit.distilled.evaluation import evaluate
from lunguage_assets.explicit.distilled.training import distil
from lunguage_assets.explicit.fit.probability import calibrate, ranked_phrases
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.orchestration.assets.explicit import (
    GROUP,
    constants,
    matches_by_judge,
)
from lunguage_assets.orchestration.assets.steps import (
    Result,
    StepInputs,
    materialize_result,
    read_inputs,
    step_deps,
)
from lunguage_assets.orchestration.checks import as_good_as_the_panel, check_specs
from lunguage_assets.orchestration.metadata import picture, table_options
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.orchestration.resources import (
    anchors_of,
    distilled_training,
    scorer_folder,
)
from lunguage_assets.tables import FINDINGS, FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import FIT_LOG


def distilled_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """Return the assets of distilled models, for the rankers of `partitions`."""

    by_ranker = partitions.by("ranker")

    @dg.asset(
        **table_options("distilled_scorer"),
        group_name=GROUP,
        partitions_def=by_ranker,
        deps=step_deps("distilled_scorer", partitions),
    )
    @redact_errors()
    def distilled_scorer(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Let a small model learn from the stored answers of a ranker's judges."""
        inputs = read_inputs(context, configuration)
        ranking = inputs.tables["reference_ranking"]
        scorer = distil(
            _answers_of_panel(inputs),
            str(ranking["ranking_version"].iloc[0]),
            configuration.home.distilled.joinpath(*inputs.keys),
            distilled_training(configuration),
        )
        used = scorer[scorer["is_used"]]
        return materialize_result(
            configuration,
            inputs,
            {"distilled_scorer": scorer},
            constants(used, "rung", "encoder"),
        )

    @dg.asset(
        **table_options("distilled_evaluation"),
        group_name=GROUP,
        partitions_def=by_ranker,
        deps=step_deps("distilled_evaluation", partitions),
        check_specs=check_specs(
            "distilled_evaluation", by_ranker, as_good_as_the_panel
        ),
    )
    @redact_errors()
    def distilled_evaluation(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Test a distilled model on sentences and phrases that it had not seen."""
        # matplotlib is slow to import
        from lunguage_assets.pictures.validation_plots import distilled_errors

        inputs = read_inputs(context, configuration)
        (ranker,) = inputs.keys
        ranking = inputs.tables["reference_ranking"]
        scorer = inputs.tables["distilled_scorer"]
        evaluation = evaluate(
            _answers_of_panel(inputs),
            scorer,
            scorer_folder(configuration.home, ranker, scorer),
            ReferenceScale.from_tables(ranking, inputs.tables["hedge_vocabulary"]),
            calibrate(ranked_phrases(ranking), anchors_of(configuration, ranking)),
        )
        return materialize_result(
            configuration,
            inputs,
            {"distilled_evaluation": evaluation},
            {"plot": picture(distilled_errors(evaluation))},
            [as_good_as_the_panel(evaluation)],
        )

    return [distilled_scorer, distilled_evaluation]


def _answers_of_panel(inputs: StepInputs) -> Answers:
    """Return what the judges of a ranker said, in all batches that they fitted."""
    ranking = inputs.tables["reference_ranking"]
    findings, fitted, log = (
        pd.concat([table.frame(), *inputs.partitions[table.name].values()])
        for table in (FINDINGS, FITTED_PROBABILITIES, FIT_LOG)
    )
    matches = matches_by_judge(inputs.partitions["comparison_matches"], ranking)
    return panel_answers(findings, fitted, log, matches, ranking)
