"""Group `explicit`: hedging phrases, their ranking, and fitted probabilities.

Phrases are ranked by pairwise judgement, and every tentative finding gets its
probability from its place in the ranking (docs/method/explicit.md). A small model may
learn what the judges of a ranker said; it is tested against them, and may then be a
judge of the judges file, with a partition of its own (docs/distilled.md).

How phrases are extracted, ranked, fitted and learnt is not here, but in the package
`explicit`.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.distilled.judge import distilled_encoder
from lunguage_assets.explicit.distilled.learning import distil, panel_scores
from lunguage_assets.explicit.fitted_findings import fit_pairs
from lunguage_assets.explicit.hedges import (
    hedge_phrases as extract_hedge_phrases,
)
from lunguage_assets.explicit.hedges import load_corrections, review_queue
from lunguage_assets.explicit.open_judges import judge_identity, open_judge
from lunguage_assets.explicit.probability import anchors_in_use, require_anchors
from lunguage_assets.explicit.ranking import comparison_matches as play_matches
from lunguage_assets.explicit.ranking import ranking_on_scale
from lunguage_assets.explicit.ranking import reference_ranking as ranked_phrases
from lunguage_assets.explicit.vocabulary import (
    hedge_vocabulary as collect_vocabulary,
)
from lunguage_assets.explicit.vocabulary import newest_only
from lunguage_assets.files import write_csv
from lunguage_assets.orchestration.checks import as_good_as_the_panel
from lunguage_assets.orchestration.metadata import picture
from lunguage_assets.orchestration.outputs import (
    StepResult,
    table_asset,
    versioned,
)
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import ConfigurationResource
from lunguage_assets.quality.corrected_rows import require_known_rows
from lunguage_assets.settings import (
    COMPARISON_OPTIONS,
    FIT_OPTIONS,
    RANKING_OPTIONS,
    VOCABULARY_OPTIONS,
)
from lunguage_assets.spreadsheets import sheet_frame
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import NotStored, complete_batches, stored_table

GROUP = "explicit"

_OF_VOCABULARY = [
    "study_id",
    "finding_id",
    "phrases",
    "masked_sentence",
    "review_reason",
]
"""Columns of all batches that are held at once."""


def explicit_assets(
    configuration: Configuration, by: Partitions
) -> list[dg.AssetsDefinition]:
    """Return the assets of the group, upstream first.

    Args:
        configuration: of the home, whose settings are in the code versions.
        by: the partitions.
    """
    options = configuration.settings.explicit.model_dump
    of_extractor = dg.AssetIn(partition_mapping=by.extractor)

    @table_asset(
        configuration,
        GROUP,
        "2",
        by.judge_and_batch,
        "hedge_phrases",
        deps=["judges", "corrections_file"],
        asks_judges=True,
        automated=True,
    )
    def extract_phrases(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
        findings: pd.DataFrame,
    ) -> StepResult:
        """Find the hedging phrases of a batch's tentative findings with one judge.

        Args:
            context: of the run.
            configuration: of the home.
            findings: of the batch.
        """
        home = configuration.home
        keys = context.partition_key.keys_by_dimension
        # A correction of a row that is not there, or no more, would go unnoticed.
        require_known_rows(home, findings)
        around = configuration.judge_context()
        judge = open_judge(keys["judge"], configuration.judges, around)
        corrections = load_corrections(home.corrections_file)
        phrases = extract_hedge_phrases(findings, judge, corrections)
        queue = home.review_queue(keys["judge"], keys["report_batch"])
        write_csv(sheet_frame(review_queue(phrases)), queue)
        metadata = {
            "judge": judge.identity,
            "review_queue": dg.MetadataValue.path(str(queue)),
        }
        return StepResult({"hedge_phrases": phrases}, metadata)

    @table_asset(
        configuration,
        GROUP,
        versioned("2", options(include=VOCABULARY_OPTIONS)),
        by.judge,
        "hedge_vocabulary",
        # Over all batches there may be more rows than fit into memory: they are read
        # below, a batch at a time.
        deps=["hedge_phrases"],
    )
    def collect_phrases(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
    ) -> StepResult:
        """Collect one judge's hedging phrases over all batches."""
        home = configuration.home
        judge = context.partition_key
        batches = []
        for batch in home.registered():
            # A batch that is not read yet holds up no vocabulary.
            with suppress(NotStored):
                phrases = stored_table(home, "hedge_phrases", judge, batch.key)
                batches.append(phrases[_OF_VOCABULARY])
        if not batches:
            raise MethodError(
                f"no batch has its hedge_phrases by {judge}: materialise those first, "
                "or say `lunguage run`."
            )
        vocabulary = collect_vocabulary(
            # Of a study that came again, the newest.
            newest_only(batches),
            configuration.settings.explicit,
            anchors_in_use(configuration.home.anchor_ratings).anchors,
        )
        return StepResult({"hedge_vocabulary": vocabulary})

    @table_asset(
        configuration,
        GROUP,
        versioned("1", options(include=COMPARISON_OPTIONS)),
        by.judge,
        "comparison_matches",
        ins={"hedge_vocabulary": of_extractor},
        deps=["judges"],
        asks_judges=True,
    )
    def compare_phrases(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
        hedge_vocabulary: pd.DataFrame,
    ) -> StepResult:
        """Have one judge play all comparisons of the vocabulary.

        Args:
            context: of the run.
            configuration: of the home.
            hedge_vocabulary: the extractor's.
        """
        # Before anything is paid for: without anchors no ranking gives probabilities.
        retained = set(hedge_vocabulary.query("retained")["phrase"])
        anchors = anchors_in_use(configuration.home.anchor_ratings).anchors
        require_anchors(retained, anchors)
        around = configuration.judge_context()
        judge = open_judge(context.partition_key, configuration.judges, around)
        matches = play_matches(hedge_vocabulary, judge, configuration.settings.explicit)
        return StepResult({"comparison_matches": matches}, {"judge": judge.identity})

    @table_asset(
        configuration,
        GROUP,
        versioned("6", options(include=RANKING_OPTIONS)),
        by.ranker,
        "reference_ranking",
        ins={
            "hedge_vocabulary": of_extractor,
            "comparison_matches": dg.AssetIn(partition_mapping=by.members),
        },
        deps=["panels"],
    )
    def rank_phrases(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
        hedge_vocabulary: pd.DataFrame,
        comparison_matches: Any,
    ) -> StepResult:
        """Rank the phrases from the matches of a judge or panel.

        Where no probability can be read off their ranking, it is shown, and the
        published one is used.

        Args:
            context: of the run.
            configuration: of the home.
            hedge_vocabulary: the extractor's.
            comparison_matches: of the members, by judge; of one alone, its frame.
        """
        # matplotlib is slow to import
        from lunguage_assets.pictures.scale_plots import ranking_plot

        members = configuration.judges.members(context.partition_key)
        matches = matches_by_judge(members, comparison_matches, hedge_vocabulary)
        identities = [judge_identity(judge, configuration.judges) for judge in matches]
        settings = configuration.settings.explicit
        own_ranking = ranked_phrases(hedge_vocabulary, matches, settings, identities)
        anchors = anchors_in_use(configuration.home.anchor_ratings).anchors
        ranking = ranking_on_scale(own_ranking, anchors, settings, identities)
        metadata = {"plot": picture(ranking_plot(ranking))}
        # Their own ranking gave no probabilities, and the published one stands in: a
        # person sees what was wrong with it.
        if ranking is not own_ranking:
            metadata["own_ranking"] = picture(ranking_plot(own_ranking))
        return StepResult({"reference_ranking": ranking}, metadata)

    @table_asset(
        configuration,
        GROUP,
        versioned("5", options(include=FIT_OPTIONS)),
        by.ranker_and_batch,
        "fitted_probabilities",
        "fit_log",
        ins={
            "hedge_phrases": dg.AssetIn(partition_mapping=by.extractor_of_batch),
            "hedge_vocabulary": of_extractor,
        },
        deps=["panels", "anchors_file"],
        asks_judges=True,
        automated=True,
    )
    def fit_findings(
        context: dg.AssetExecutionContext,
        configuration: ConfigurationResource,
        findings: pd.DataFrame,
        hedge_phrases: pd.DataFrame,
        hedge_vocabulary: pd.DataFrame,
        reference_ranking: pd.DataFrame,
    ) -> StepResult:
        """Fit every tentative finding into the ranking; map its score to p.

        Args:
            context: of the run.
            configuration: of the home.
            findings: of the batch.
            hedge_phrases: of the batch, by the extractor.
            hedge_vocabulary: the extractor's.
            reference_ranking: the ranker's.
        """
        ranker = context.partition_key.keys_by_dimension["ranker"]
        require_same_vocabulary(
            reference_ranking, hedge_vocabulary, f"reference_ranking[{ranker}]"
        )
        judges = configuration.judges
        around = configuration.judge_context()
        panel = [open_judge(key, judges, around) for key in judges.members(ranker)]
        fits = fit_pairs(
            findings,
            hedge_phrases,
            hedge_vocabulary,
            reference_ranking,
            panel,
            anchors_in_use(configuration.home.anchor_ratings).anchors,
            configuration.settings.explicit,
        )
        return StepResult(
            {"fitted_probabilities": fits.probabilities, "fit_log": fits.log}
        )

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

    return [
        extract_phrases,
        collect_phrases,
        compare_phrases,
        rank_phrases,
        fit_findings,
        distil_panel,
    ]


def require_same_vocabulary(
    frame: pd.DataFrame, vocabulary: pd.DataFrame, name: str
) -> None:
    """Refuse to mix tables of two vocabularies.

    Blocking checks do not reach other partitions.

    Args:
        frame: with `vocabulary_version`.
        vocabulary: to which it should belong; any table that has its version.
        name: of the frame, for the message.

    Raises:
        MethodError: the frame belongs to another version.
    """
    if set(frame["vocabulary_version"]) - set(vocabulary["vocabulary_version"]):
        raise MethodError(
            f"{name} belongs to another version of the hedge vocabulary. Materialise "
            "it again, then what follows from it."
        )


def matches_by_judge(
    members: Sequence[str],
    matches: Mapping[str, pd.DataFrame] | pd.DataFrame,
    vocabulary: pd.DataFrame,
) -> dict[str, pd.DataFrame]:
    """Return COMPARISON_MATCHES by judge, all of the same vocabulary.

    Args:
        members: of the ranker, in whose order a ranking is computed.
        matches: by judge; of one alone, its frame, as Dagster hands it.
        vocabulary: that they must have compared.
    """
    if isinstance(matches, pd.DataFrame):
        matches = dict.fromkeys(members, matches)
    # A judge who compared an older vocabulary answered about other phrases.
    for judge in members:
        require_same_vocabulary(
            matches[judge], vocabulary, f"comparison_matches[{judge}]"
        )
    return {judge: matches[judge] for judge in members}
