"""Group `analysis`: how far judges, ranking, fit and pathways can be trusted (explicit.md sections 3, 4, 7;
implicit.md section 4). Nothing downstream depends on it but the figures of the release.
"""

from collections import Counter

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.explicit.analysis.agreement import (
    judge_agreement as judges_with_each_other,
)
from lunguage_assets.explicit.analysis.agreement import (
    ranking_correlations as correlate_rankings,
)
from lunguage_assets.explicit.analysis.experts import (
    expert_agreement as experts_with_ranking,
)
from lunguage_assets.explicit.analysis.experts import (
    load_experts,
    load_responses,
)
from lunguage_assets.explicit.analysis.robustness import (
    ranking_robustness as rank_with_half,
)
from lunguage_assets.explicit.analysis.validation import (
    fit_validation as fit_phrases_back,
)
from lunguage_assets.implicit.expansion.audit import Counts, audit_table, edge_counts
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    load_dictionary,
)
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.lineage.staleness import Keys
from lunguage_assets.orchestration.assets.explicit import by_judge
from lunguage_assets.orchestration.assets.release import newest_studies
from lunguage_assets.orchestration.assets.table_asset import Frames, Result, table_asset
from lunguage_assets.tables import TERMS
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT
from lunguage_assets.workspace.store import partition_path, read_table


@table_asset("analysis")
def judge_agreement(
    configuration: Configuration,
    keys: Keys,
    comparison_matches: Frames,
    reference_ranking: pd.DataFrame,
) -> Result:
    """How far judges agree with each other, with themselves, with the pooled ranking, and with the human
    experts whose answers `lunguage survey import` has brought.
    """
    settings, (ranker,) = configuration.settings.explicit, keys
    matches = by_judge(comparison_matches, reference_ranking)
    experts = EXPERT_AGREEMENT.frame()
    if configuration.home.expert_responses.exists():
        responses = load_responses(configuration.home.expert_responses)
        described = load_experts(configuration.home.expert_descriptions)
        experts = experts_with_ranking(
            responses, described, ranker, reference_ranking, matches, settings.seed
        )
    value = {
        "judge_agreement": judges_with_each_other(matches),
        "ranking_correlations": correlate_rankings(
            matches, ranker, reference_ranking, settings
        ),
        "expert_agreement": experts,
    }
    return dg.MaterializeResult(value=value)


@table_asset("analysis")
def fit_validation(
    configuration: Configuration,
    keys: Keys,
    reference_ranking: pd.DataFrame,
    comparison_matches: Frames,
) -> Result:
    """Rank again with half of the comparisons, and fit the phrases of the ranking back into it."""
    settings, matches = (
        configuration.settings.explicit,
        by_judge(comparison_matches, reference_ranking),
    )
    value = {
        "ranking_robustness": rank_with_half(reference_ranking, matches, settings),
        "fit_validation": fit_phrases_back(reference_ranking, matches, settings),
    }
    return dg.MaterializeResult(value=value)


@table_asset("analysis")
def pathway_audit(configuration: Configuration, keys: Keys) -> Result:
    """Count what the reports say of every edge of the pathways, beside the 0.8 of the experts. It reads all
    batches of a ranker a part at a time, as the release does.
    """
    dictionary = load_dictionary(
        configuration.home.pathways_file, Vocabulary.from_terms(TERMS.frame())
    )
    listed = load_label_list(dictionary=dictionary)

    def of_batch(batch: str) -> PathwayDictionary:
        terms = read_table(
            TERMS, partition_path(configuration.home.tables, TERMS.name, batch)
        )
        return load_dictionary(
            configuration.home.pathways_file, Vocabulary.from_terms(terms)
        )

    counts: Counts = Counter()
    with newest_studies(configuration, *keys, configuration.staleness()) as studies:
        known = {batch: of_batch(batch) for batch in studies.batches}
        for part in studies.parts("study", ["lunguage_plus_plus"]):
            for batch, rows in part.frames()["lunguage_plus_plus"].groupby(
                "report_batch", sort=True
            ):
                counts.update(edge_counts(rows, known[str(batch)], listed))
    audit = audit_table(counts, dictionary)
    below = int((audit["against_experts"] == "below").sum())
    metadata = {
        "measured": int((audit["mentioned"] > 0).sum()),
        "below_the_experts": below,
    }
    return dg.MaterializeResult(value=audit, metadata=metadata)
