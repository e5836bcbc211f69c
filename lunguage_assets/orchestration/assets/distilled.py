"""Group `explicit`: a small model that learns what the judges of a ranker said.

It is tested against them, and may then be a judge of the judges file, with a partition
of its own (docs/distilled.md). How it learns is in the package `explicit.distilled`.
"""

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.distilled.judge import distilled_encoder
from lunguage_assets.explicit.distilled.learning import distil, panel_scores
from lunguage_assets.orchestration.assets.explicit import GROUP
from lunguage_assets.orchestration.checks import as_good_as_the_panel
from lunguage_assets.orchestration.outputs import StepResult, table_asset
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import ConfigurationResource
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import complete_batches, stored_table


def distilled_assets(
    configuration: Configuration, by: Partitions
) -> list[dg.AssetsDefinition]:
    """Return the asset of distilled models.

    Args:
        configuration: of the home.
        by: the partitions.
    """

    @table_asset(
        configuration,
        GROUP,
        "3",
        by.ranker,
        "distilled_scorer",
        # Over all batches: read below, a batch at a time.
        deps=["fitted_probabilities"],
        checks=[as_good_as_the_panel],
    )
    def distil_panel(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
        reference_ranking: pd.DataFrame,
    ) -> StepResult:
        """Let a small model learn from the stored answers of a ranker's judges.

        Args:
            context: of the run.
            configuration: of the home.
            reference_ranking: the ranker's.
        """
        ranker = context.partition_key
        home = configuration.home
        batches = complete_batches(home, ranker)

        def over_batches(table: str, *keys: str) -> pd.DataFrame:
            frames = [stored_table(home, table, *keys, key) for key in batches]
            return pd.concat([TABLES[table].frame(), *frames])

        panel = panel_scores(
            over_batches("findings"),
            over_batches("fitted_probabilities", ranker),
            reference_ranking,
        )
        encoder = distilled_encoder(configuration.settings.distilled.encoder)
        scorer = distil(panel, encoder, home.distilled / ranker)
        return StepResult(
            {"distilled_scorer": scorer}, checks=[as_good_as_the_panel(scorer)]
        )

    return [distil_panel]
