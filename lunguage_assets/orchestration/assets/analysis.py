"""Group `analysis`: how far judges, ranking, fit and pathways can be trusted.

It rests on docs/method/explicit.md sections 3, 4, 7 and docs/method/implicit.md section
4.

Nothing downstream depends on it but the figures of the release. The statistics are not
here, but in `explicit.analysis` and `implicit.expansion.audit`.
"""

from collections import Counter

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.explicit.analysis import agreement, experts, robustness, validation
from lunguage_assets.implicit.expansion.audit import Counts, audit_table, edge_counts
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    load_dictionary,
)
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.orchestration.assets.explicit import matches_by_judge
from lunguage_assets.orchestration.assets.release import newest_studies
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
from lunguage_assets.tables import TERMS
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT
from lunguage_assets.workspace.store import partition_path, read_table

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

    @dg.asset(
        **table_options("pathway_audit"),
        group_name=GROUP,
        partitions_def=by_ranker,
        deps=step_deps("pathway_audit", partitions),
    )
    @redact_errors()
    def pathway_audit(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Count what reports say of every edge of the pathways.

        The experts' 0.8 stands beside it. All batches of a ranker are read a part at a
        time, as the release does.
        """
        inputs = read_inputs(context, configuration)
        (ranker,) = inputs.keys
        dictionary = _dictionary(configuration, TERMS.frame())
        audit = audit_table(_edge_counts(configuration, ranker, dictionary), dictionary)
        metadata = {
            "measured": int((audit["mentioned"] > 0).sum()),
            "below_the_experts": int((audit["against_experts"] == "below").sum()),
        }
        return materialize_result(
            configuration, inputs, {"pathway_audit": audit}, metadata
        )

    return [judge_agreement, fit_validation, pathway_audit]


def _edge_counts(
    configuration: Configuration, ranker: str, dictionary: PathwayDictionary
) -> Counts:
    """Count the edges over the newest delivery of every study, part by part."""
    label_list = load_label_list(dictionary=dictionary)
    edges: Counts = Counter()
    with newest_studies(configuration, ranker, configuration.staleness()) as studies:
        # Each batch was matched with the terms that were delivered with it.
        dictionary_of_batch = {}
        for batch in studies.batches:
            path = partition_path(configuration.home.tables, TERMS.name, batch)
            terms = read_table(TERMS, path)
            dictionary_of_batch[batch] = _dictionary(configuration, terms)
        for part in studies.parts("study", ["lunguage_plus_plus"]):
            rows_of_part = part.frames()["lunguage_plus_plus"]
            for report_batch, rows in rows_of_part.groupby("report_batch", sort=True):
                of_batch = dictionary_of_batch[str(report_batch)]
                edges.update(edge_counts(rows, of_batch, label_list))
    return edges


def _dictionary(configuration: Configuration, terms: pd.DataFrame) -> PathwayDictionary:
    return load_dictionary(
        configuration.home.pathways_file, Vocabulary.from_terms(terms)
    )
