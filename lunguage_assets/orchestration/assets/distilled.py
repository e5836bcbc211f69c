"""Group `explicit`: a small model that scores sentences in the judges' place.

It learns from what the judges of a ranker said, and is tested before it may score
(docs/distilled.md). The asset that it scores for, `fitted_probabilities`, is in
`explicit`; how it learns is in the package `explicit.distilled`.
"""

from collections.abc import Iterator

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.distilled.learning import distil
from lunguage_assets.explicit.distilled.panel_scores import panel_scores
from lunguage_assets.orchestration.assets.explicit import GROUP
from lunguage_assets.orchestration.checks import as_good_as_the_panel
from lunguage_assets.orchestration.current import complete_batches
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.outputs import (
    Result,
    check_specs,
    stored,
    table_outs,
)
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redacted
from lunguage_assets.orchestration.resources import (
    chosen_encoder,
    scored_batches,
    uses_distilled_model,
)
from lunguage_assets.tables import TABLES


def distilled_assets(
    configuration: Configuration, by: Partitions
) -> list[dg.AssetsDefinition]:
    """Return the asset of distilled models.

    Args:
        configuration: of the home.
        by: the partitions.
    """
    # While a model scores, fits rest on it, and it does not rest on fits.
    is_scoring = uses_distilled_model(configuration)
    learns_from = [] if is_scoring else ["fitted_probabilities"]

    @dg.multi_asset(
        name="distil_panel",
        outs=table_outs(GROUP, "1", "distilled_scorer"),
        ins={"hedge_vocabulary": dg.AssetIn(partition_mapping=by.extractor)},
        # Over all batches: read below, a batch at a time.
        deps=learns_from,
        partitions_def=by.ranker,
        check_specs=check_specs("distilled_scorer", by.ranker, as_good_as_the_panel),
    )
    @redacted
    def distil_panel(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
        hedge_vocabulary: pd.DataFrame,
        reference_ranking: pd.DataFrame,
    ) -> Iterator[Result]:
        """Let a small model learn from the stored answers of a ranker's judges.

        Args:
            context: of the run.
            configuration: of the home.
            hedge_vocabulary: the extractor's.
            reference_ranking: the ranker's.
        """
        ranker = context.partition_key
        home = configuration.home
        scored = scored_batches(configuration, ranker)
        # A model learns from what judges said, never from what such a model scored.
        batches = [
            batch for batch in complete_batches(home, ranker) if batch not in scored
        ]

        def over_batches(table: str, *keys: str) -> pd.DataFrame:
            frames = [stored_table(home.tables, table, *keys, key) for key in batches]
            return pd.concat([TABLES[table].frame(), *frames])

        scorer = distil(
            panel_scores(
                over_batches("findings"),
                over_batches("fitted_probabilities", ranker),
                over_batches("fit_log", ranker),
                reference_ranking,
                hedge_vocabulary,
            ),
            chosen_encoder(configuration),
            home.distilled / ranker,
            str(reference_ranking["ranking_version"].iloc[0]),
        )
        yield from stored(
            configuration,
            "distilled_scorer",
            scorer,
            checks=[as_good_as_the_panel(scorer)],
        )

    return [distil_panel]
