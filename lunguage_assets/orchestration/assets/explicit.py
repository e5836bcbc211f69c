"""Group `explicit`: hedging phrases, their ranking, and fitted probabilities.

Phrases are ranked by pairwise judgement, and every tentative finding gets its
probability from its place in the ranking (docs/method/explicit.md).

Partitions come from the judges file, so the assets are made for a home's judges. What
a step reads is declared in `lineage.recipes`; `deps` draws it in the UI.

How phrases are extracted, ranked and fitted is not here, but in the package `explicit`;
the assets of a model that learns from the judges are in `distilled`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.package_check import verify_with_package
from lunguage_assets.explicit.distilled.scoring import score_sentences
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.phrases import (
    hedge_phrases as extract_hedge_phrases,
)
from lunguage_assets.explicit.hedges.review import (
    load_corrections,
    review_queue,
)
from lunguage_assets.explicit.hedges.vocabulary import (
    hedge_vocabulary as collect_vocabulary,
)
from lunguage_assets.explicit.hedges.vocabulary import newest_only
from lunguage_assets.explicit.rating.matches import comparison_matches as play_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking as rank_phrases
from lunguage_assets.files import write_csv
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.lineage.corrected_rows import require_known_rows
from lunguage_assets.lineage.input_fingerprints import NOTHING
from lunguage_assets.lineage.recipes import BATCH, not_there
from lunguage_assets.orchestration.assets.steps import (
    ConditionOf,
    Frames,
    Result,
    StepInputs,
    Tables,
    compute_valid_studies,
    materialize_result,
    read_inputs,
    step_deps,
)
from lunguage_assets.orchestration.checks import (
    check_specs,
    checks_of_answers,
    checks_of_scores,
    equals_trueskill_package,
    expectations,
)
from lunguage_assets.orchestration.metadata import counts, picture, table_options
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.orchestration.resources import (
    anchor_set,
    anchors_of,
    open_distilled_scorer,
    ranking_on_scale,
    require_anchor_phrases,
)
from lunguage_assets.orchestration.spending import Spending
from lunguage_assets.spreadsheets import sheet_frame
from lunguage_assets.tables import HEDGE_PHRASES

GROUP = "explicit"


def explicit_assets(
    partitions: Partitions, condition: ConditionOf, home: Configuration
) -> list[dg.AssetsDefinition]:
    """Return the assets of the group, upstream first.

    Args:
        partitions: of the judges in force.
        condition: when the sensor requests a step of a new batch.
        home: for which the assets are made; a run gets its configuration anew.
    """
    judges = partitions.judges
    answer_checks = checks_of_answers(judges)
    score_checks = checks_of_scores(home)
    by_judge = partitions.by("judge")
    by_judge_and_batch = partitions.by("judge", BATCH)
    by_ranker = partitions.by("ranker")
    by_ranker_and_batch = partitions.by("ranker", BATCH)

    @dg.asset(
        **table_options("hedge_phrases", judges),
        group_name=GROUP,
        partitions_def=by_judge_and_batch,
        deps=step_deps("hedge_phrases", partitions),
        check_specs=check_specs(
            "hedge_phrases", by_judge_and_batch, expectations, *answer_checks
        ),
        automation_condition=condition("hedge_phrases"),
    )
    @redact_errors()
    def hedge_phrases(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Find the hedging phrases of a batch's tentative findings with one judge."""
        inputs = read_inputs(context, configuration)
        judge_key, batch = inputs.keys
        # Rows of raw reports get new ids when they are read otherwise: a correction of
        # a row that is no more would go unnoticed.
        if configuration.home.batch(batch).kind == "text":
            require_known_rows(configuration.home, inputs.tables["findings"])
        spending = Spending(context, configuration)
        judge = configuration.open_judge(judge_key, spending.note, spending.bill)

        def extract(inputs: StepInputs) -> Tables:
            return {"hedge_phrases": extract_phrases(configuration, inputs, judge)}

        inputs, tables = compute_valid_studies(configuration, inputs, extract)
        phrases = tables["hedge_phrases"]
        queue = configuration.home.review_queue(judge_key, batch)
        write_csv(sheet_frame(review_queue(phrases)), queue)
        metadata = {
            "judge": judge.identity,
            "review_queue": dg.MetadataValue.path(str(queue)),
            "unreviewed": int(phrases["needs_review"].sum()),
            "phrases": counts(
                phrases["phrases"].explode().dropna().astype(str), "hedging phrase"
            ),
            **spending.metadata(),
        }
        return materialize_result(
            configuration,
            inputs,
            tables,
            metadata,
            [
                expectations(configuration, "hedge_phrases", phrases),
                *(check(configuration, spending.asked) for check in answer_checks),
            ],
        )

    @dg.asset(
        **table_options("hedge_vocabulary", judges),
        group_name=GROUP,
        partitions_def=by_judge,
        deps=step_deps("hedge_vocabulary", partitions),
        check_specs=check_specs("hedge_vocabulary", by_judge, expectations),
    )
    @redact_errors()
    def hedge_vocabulary(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Collect one judge's hedging phrases over all batches."""
        inputs = read_inputs(context, configuration)
        hedges = hedges_of_newest_studies(configuration, inputs)
        vocabulary = collect_vocabulary(
            hedges, configuration.settings.explicit, anchor_set(configuration)
        )
        # A correction of a finding that no batch has corrects nothing, and nobody would
        # notice.
        corrected = load_corrections(configuration.home.corrections_file).keys()
        unknown = sorted(corrected - {*hedges["finding_id"]})
        metadata = {
            "retained": int(vocabulary["retained"].sum()),
            "corrections_of_unknown_findings": ", ".join(unknown) or "none",
            **constants(vocabulary, "ruler", "ruler_reason", "vocabulary_version"),
        }
        return materialize_result(
            configuration,
            inputs,
            {"hedge_vocabulary": vocabulary},
            metadata,
            [expectations(configuration, "hedge_vocabulary", vocabulary)],
        )

    @dg.asset(
        **table_options("comparison_matches", judges),
        group_name=GROUP,
        partitions_def=by_judge,
        deps=step_deps("comparison_matches", partitions),
        check_specs=check_specs(
            "comparison_matches", by_judge, expectations, *answer_checks
        ),
    )
    @redact_errors()
    def comparison_matches(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Have one judge play all comparisons of the vocabulary."""
        inputs = read_inputs(context, configuration)
        (judge_key,) = inputs.keys
        vocabulary = inputs.tables["hedge_vocabulary"]
        # Before anything is paid for: without anchors no ranking gives probabilities.
        require_anchor_phrases(configuration, retained_phrases(vocabulary))
        spending = Spending(context, configuration)
        judge = configuration.open_judge(judge_key, spending.note, spending.bill)
        matches = play_matches(vocabulary, judge, configuration.settings.explicit)
        is_valid = matches["answer"] != "invalid"
        valid_answers = matches.loc[is_valid, "answer"]
        metadata = {
            "judge": judge.identity,
            "invalid": len(matches) - len(valid_answers),
            # Far from a half: the judge prefers a position (explicit.md section 2).
            "p_sentence_1": float((valid_answers == "sentence_1").mean()),
            **constants(vocabulary, "vocabulary_version"),
            **spending.metadata(),
        }
        return materialize_result(
            configuration,
            inputs,
            {"comparison_matches": matches},
            metadata,
            [
                expectations(configuration, "comparison_matches", matches),
                *(check(configuration, spending.asked) for check in answer_checks),
            ],
        )

    @dg.asset(
        **table_options("reference_ranking"),
        group_name=GROUP,
        partitions_def=by_ranker,
        deps=step_deps("reference_ranking", partitions),
        check_specs=check_specs(
            "reference_ranking", by_ranker, expectations, equals_trueskill_package
        ),
    )
    @redact_errors()
    def reference_ranking(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Rank the phrases from the matches of a judge or panel.

        Where no probability can be read off their ranking, it is shown, and the
        published one is used.
        """
        # matplotlib is slow to import
        from lunguage_assets.pictures.scale_plots import ranking_plot

        inputs = read_inputs(context, configuration)
        panel = panel_comparisons(configuration, inputs)
        own_ranking = rank_comparisons(configuration, panel)
        ranking = ranking_on_scale(configuration, own_ranking, panel.identities)
        verification = verify_with_package(
            own_ranking, panel.matches, configuration.settings.explicit
        )
        metadata = {
            "judges": ", ".join(panel.matches),
            **constants(
                ranking,
                "ruler",
                "ruler_reason",
                "ranking_version",
                "vocabulary_version",
            ),
            "plot": picture(ranking_plot(ranking)),
        }
        # Their own ranking gave no probabilities, and the published one stands in: a
        # person sees what was wrong with it.
        if ranking is not own_ranking:
            metadata["own_ranking"] = picture(ranking_plot(own_ranking))
        return materialize_result(
            configuration,
            inputs,
            {"reference_ranking": ranking},
            metadata,
            [
                equals_trueskill_package(verification),
                expectations(configuration, "reference_ranking", ranking),
            ],
        )

    @dg.asset(
        **table_options("fitted_probabilities", judges),
        group_name=GROUP,
        partitions_def=by_ranker_and_batch,
        deps=step_deps("fitted_probabilities", partitions),
        check_specs=check_specs(
            "fitted_probabilities",
            by_ranker_and_batch,
            expectations,
            *answer_checks,
            *score_checks,
        ),
        automation_condition=condition("fitted_probabilities"),
    )
    @redact_errors()
    def fitted_probabilities(
        context: dg.AssetExecutionContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> Result:
        """Fit every tentative finding into the ranking; map its score to p."""
        inputs = read_inputs(context, configuration)
        ranker, _ = inputs.keys
        ranking = inputs.tables["reference_ranking"]
        vocabulary = inputs.tables["hedge_vocabulary"]
        anchors = anchors_of(configuration, ranking)
        require_same_vocabulary(ranking, vocabulary, f"reference_ranking[{ranker}]")
        spending = Spending(context, configuration)
        panel = [
            configuration.open_judge(judge, spending.note, spending.bill)
            for judge in configuration.judges.members(ranker)
        ]

        def fit(inputs: StepInputs) -> Tables:
            fitted = fit_pairs(
                inputs.tables["findings"],
                inputs.tables["hedge_phrases"],
                vocabulary,
                ranking,
                panel,
                anchors,
                configuration.settings.explicit,
                scored=_scores_of_distilled_model(configuration, inputs),
            )
            return {
                "fitted_probabilities": fitted.probabilities,
                "fit_log": fitted.log,
            }

        inputs, tables = compute_valid_studies(configuration, inputs, fit)
        fitted = tables["fitted_probabilities"]
        fitted_p = fitted.loc[fitted["p_source"] == "fitted", "p"]
        metadata = {
            "stop": counts(fitted["stop"], "end of the fit"),
            **constants(ranking, "ruler", "ranking_version"),
            "mean_p": round(float(fitted_p.mean()), 4) if len(fitted_p) else 0.0,
            **spending.metadata(),
        }
        return materialize_result(
            configuration,
            inputs,
            tables,
            metadata,
            [
                expectations(configuration, "fitted_probabilities", fitted),
                *(check(configuration, spending.asked) for check in answer_checks),
                *(check(configuration, ranker, fitted) for check in score_checks),
            ],
        )

    return [
        hedge_phrases,
        hedge_vocabulary,
        comparison_matches,
        reference_ranking,
        fitted_probabilities,
    ]


def extract_phrases(
    configuration: Configuration, inputs: StepInputs, judge: Judge
) -> pd.DataFrame:
    """Return HEDGE_PHRASES of a batch.

    Args:
        configuration: of the home with the corrections.
        inputs: of `hedge_phrases`.
        judge: that is asked.
    """
    corrections = load_corrections(configuration.home.corrections_file)
    return extract_hedge_phrases(inputs.tables["findings"], judge, corrections)


class PanelComparisons(NamedTuple):
    """What a panel, or a judge alone, said of the phrases.

    Args:
        vocabulary: HEDGE_VOCABULARY that was compared.
        matches: COMPARISON_MATCHES by judge, in the order of the panel: the ranking is
            computed judge by judge.
        identities: of the judges, in the same order.
    """

    vocabulary: pd.DataFrame
    matches: Mapping[str, pd.DataFrame]
    identities: Sequence[str]


def panel_comparisons(
    configuration: Configuration, inputs: StepInputs
) -> PanelComparisons:
    """Return the comparisons of the members of a ranker."""
    vocabulary = inputs.tables["hedge_vocabulary"]
    matches = matches_by_judge(inputs.partitions["comparison_matches"], vocabulary)
    members = configuration.judges.members(*inputs.keys)
    fingerprints = configuration.staleness().fingerprints
    return PanelComparisons(
        vocabulary,
        {judge: matches[judge] for judge in members},
        [fingerprints.of("judge", {"judge": judge}) for judge in members],
    )


def rank_comparisons(
    configuration: Configuration, panel: PanelComparisons
) -> pd.DataFrame:
    """Return REFERENCE_RANKING of the panel's own comparisons."""
    return rank_phrases(
        panel.vocabulary,
        panel.matches,
        configuration.settings.explicit,
        panel.identities,
    )


def retained_phrases(vocabulary: pd.DataFrame) -> set[str]:
    """Return the phrases of a vocabulary that are ranked."""
    return set(vocabulary.loc[vocabulary["retained"], "phrase"])


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
    matches: Frames, vocabulary: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return COMPARISON_MATCHES by judge, all of the same vocabulary."""
    by_judge = {}
    # A judge who compared an older vocabulary answered about other phrases.
    for (judge,), frame in matches.items():
        require_same_vocabulary(frame, vocabulary, f"comparison_matches[{judge}]")
        by_judge[judge] = frame
    return by_judge


def hedges_of_newest_studies(
    configuration: Configuration, inputs: StepInputs
) -> pd.DataFrame:
    """Return HEDGE_PHRASES of all batches; of a study that came again, the newest."""
    frames = inputs.partitions["hedge_phrases"]
    by_batch = {batch: frame for (_, batch), frame in frames.items()}
    registered = [batch.key for batch in configuration.home.registered()]
    if registered and not by_batch:
        raise MethodError(not_there("hedge_phrases", (*inputs.keys, registered[0])))
    hedges = newest_only(by_batch, registered)
    return HEDGE_PHRASES.frame() if hedges is None else hedges


def _scores_of_distilled_model(
    configuration: Configuration, inputs: StepInputs
) -> pd.DataFrame | None:
    """Return the scores that a distilled model gives a batch's sentences.

    None: the judges fit all of them.
    """
    ranker, batch = inputs.keys
    staleness = configuration.staleness()
    if staleness.scorer_of(ranker, batch) == NOTHING:
        return None
    return score_sentences(
        inputs.tables["findings"],
        inputs.tables["hedge_phrases"],
        inputs.tables["reference_ranking"],
        open_distilled_scorer(configuration, ranker, staleness),
        ask_panel=configuration.settings.distilled.out_of_distribution == "panel",
    )


def constants(frame: pd.DataFrame, *columns: str) -> dict[str, str]:
    """Return the values of columns that have one value for all rows."""
    if not len(frame):
        return dict.fromkeys(columns, "none")
    return {column: str(frame[column].iloc[0]) for column in columns}
