"""Group `explicit`: hedging phrases, their ranking by pairwise judgement, and the probability of every
tentative finding.
"""

from collections.abc import Sequence
from contextlib import suppress

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import LunguageError, MethodError
from lunguage_assets.explicit.analysis.package_check import verify_with_package
from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.explicit.distilled.collecting import panel_answers
from lunguage_assets.explicit.distilled.evaluation import evaluate
from lunguage_assets.explicit.distilled.scoring import score_sentences
from lunguage_assets.explicit.distilled.training import distil
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.fit.probability import calibrate, ranked_phrases
from lunguage_assets.explicit.fit.reference import ReferenceScale
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
from lunguage_assets.explicit.rating.matches import schedule
from lunguage_assets.explicit.rating.ranking import reference_ranking as rank_phrases
from lunguage_assets.files import sheet_frame, write_csv
from lunguage_assets.judges.protocol import ask_panel
from lunguage_assets.lineage.input_fingerprints import NOTHING
from lunguage_assets.lineage.old_ids import require_known_rows
from lunguage_assets.lineage.recipes import not_there
from lunguage_assets.lineage.staleness import Keys
from lunguage_assets.orchestration.assets.table_asset import Frames, Result, table_asset
from lunguage_assets.orchestration.checks import verification_result
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.metadata import counts, picture
from lunguage_assets.orchestration.resources import (
    anchor_set,
    anchors_of,
    distilled_training,
    open_distilled_scorer,
    ranking_on_scale,
    require_anchor_phrases,
)
from lunguage_assets.orchestration.spending import Spending, bill_ahead
from lunguage_assets.tables import FINDINGS, FITTED_PROBABILITIES, HEDGE_PHRASES
from lunguage_assets.tables.explicit import FIT_LOG


def same_vocabulary(frame: pd.DataFrame, vocabulary: pd.DataFrame, what: str) -> None:
    """Refuse to mix artifacts of two vocabularies: blocking checks do not reach other partitions."""
    if set(frame["vocabulary_version"]) - set(vocabulary["vocabulary_version"]):
        raise MethodError(
            f"{what} belongs to another version of the hedge vocabulary. Materialise it again, "
            "then what follows from it."
        )


def by_judge(matches: Frames, vocabulary: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """COMPARISON_MATCHES by judge, all of the same vocabulary."""
    for (judge,), frame in matches.items():
        same_vocabulary(frame, vocabulary, f"comparison_matches[{judge}]")
    return {judge: frame for (judge,), frame in matches.items()}


@table_asset("explicit")
def hedge_phrases(
    configuration: Configuration, keys: Keys, spending: Spending, findings: pd.DataFrame
) -> Result:
    """Find the hedging phrases of a batch's tentative findings with one judge."""
    key, batch = keys
    if configuration.home.batch(batch).kind == "text":
        require_known_rows(configuration.home, findings)
    judge = configuration.open_judge(key, spending.note, spending.bill)
    frame = extract_hedge_phrases(
        findings, judge, load_corrections(configuration.home.corrections_file)
    )
    queue = configuration.home.review_queue(key, batch)
    write_csv(sheet_frame(review_queue(frame)), queue)
    metadata = {
        "judge": judge.identity,
        "review_queue": dg.MetadataValue.path(str(queue)),
        "unreviewed": int(frame["needs_review"].sum()),
        "phrases": counts(
            frame["phrases"].explode().dropna().astype(str), "hedging phrase"
        ),
    }
    return dg.MaterializeResult(value=frame, metadata=metadata)


@table_asset("explicit")
def hedge_vocabulary(
    configuration: Configuration, keys: Keys, hedge_phrases: Frames
) -> Result:
    """Collect one judge's hedging phrases over all batches."""
    by_batch = {batch: frame for (_, batch), frame in hedge_phrases.items()}
    registered = [batch.key for batch in configuration.home.registered()]
    if registered and not by_batch:
        raise MethodError(not_there("hedge_phrases", (*keys, registered[0])))
    hedges = newest_only(by_batch, registered)
    collected = HEDGE_PHRASES.frame() if hedges is None else hedges
    unknown = sorted(
        load_corrections(configuration.home.corrections_file).keys()
        - {*collected["finding_id"]}
    )
    frame = collect_vocabulary(
        collected, configuration.settings.explicit, anchor_set(configuration)
    )
    metadata = {
        "retained": int(frame["retained"].sum()),
        "corrections_of_unknown_findings": ", ".join(unknown) or "none",
        **_first(frame, "ruler", "ruler_reason", "vocabulary_version"),
    }
    return dg.MaterializeResult(value=frame, metadata=metadata)


@table_asset("explicit")
def comparison_matches(
    configuration: Configuration,
    keys: Keys,
    spending: Spending,
    hedge_vocabulary: pd.DataFrame,
) -> Result:
    """Have one judge play all comparisons of the vocabulary."""
    (key,) = keys
    require_anchor_phrases(
        configuration, set(hedge_vocabulary.loc[hedge_vocabulary["retained"], "phrase"])
    )
    judge = configuration.open_judge(key, spending.note, spending.bill)
    frame = play_matches(hedge_vocabulary, judge, configuration.settings.explicit)
    valid = frame.loc[frame["answer"] != "invalid", "answer"]
    metadata = {
        "judge": judge.identity,
        "invalid": len(frame) - len(valid),
        "p_sentence_1": float((valid == "sentence_1").mean()),
        **_first(hedge_vocabulary, "vocabulary_version"),
    }
    return dg.MaterializeResult(value=frame, metadata=metadata)


def prefetch_comparisons(configuration: Configuration, keys: Sequence[str]) -> None:
    """Ask the language models among these judges for all comparisons of the vocabulary at the same time, if
    they are several: each partition then finds its answers in the ledger, and stores what it would have
    stored alone. Where one cannot answer, the others do; the partition's own run says why.
    """
    models = [key for key in keys if key in configuration.judges.models]
    if len(models) < 2:
        return
    with suppress(LunguageError):
        vocabulary = stored_table(
            configuration.home.tables,
            "hedge_vocabulary",
            (configuration.judges.extractor,),
        )
        require_anchor_phrases(
            configuration, set(vocabulary.loc[vocabulary["retained"], "phrase"])
        )
        matches = schedule(vocabulary, configuration.settings.explicit)
        questions = [match.question for match in matches]
        bills = [bill_ahead(configuration, "comparison_matches", key) for key in models]
        panel = [
            configuration.open_judge(key, bill=bill)
            for key, bill in zip(models, bills, strict=True)
        ]
        ask_panel(panel, [questions] * len(panel))


@table_asset("explicit")
def reference_ranking(
    configuration: Configuration,
    keys: Keys,
    hedge_vocabulary: pd.DataFrame,
    comparison_matches: Frames,
) -> Result:
    """Rank the phrases from the matches of a judge or panel; where no probability can be read off their
    ranking, it is shown, and the published one is used.
    """
    from lunguage_assets.pictures.plots import (
        ranking_plot,
    )  # matplotlib is slow to import

    frames = by_judge(comparison_matches, hedge_vocabulary)
    in_panel_order = {
        judge: frames[judge] for judge in configuration.judges.members(*keys)
    }
    reads = configuration.staleness().fingerprints
    identities = [reads.of("judge", {"judge": judge}) for judge in in_panel_order]
    own = rank_phrases(
        hedge_vocabulary, in_panel_order, configuration.settings.explicit, identities
    )
    ranked = ranking_on_scale(configuration, own, identities)
    verified = verify_with_package(own, in_panel_order, configuration.settings.explicit)
    metadata = {
        "judges": ", ".join(in_panel_order),
        **_first(
            ranked, "ruler", "ruler_reason", "ranking_version", "vocabulary_version"
        ),
        "plot": picture(ranking_plot(ranked)),
        **({} if ranked is own else {"own_ranking": picture(ranking_plot(own))}),
    }
    return dg.MaterializeResult(
        value=ranked, check_results=[verification_result(verified)], metadata=metadata
    )


@table_asset("explicit")
def fitted_probabilities(
    configuration: Configuration,
    keys: Keys,
    spending: Spending,
    findings: pd.DataFrame,
    hedge_phrases: pd.DataFrame,
    hedge_vocabulary: pd.DataFrame,
    reference_ranking: pd.DataFrame,
) -> Result:
    """Place every tentative finding in the ranking and map its place to a probability."""
    ranker, _ = keys
    settings, anchors = (
        configuration.settings.explicit,
        anchors_of(configuration, reference_ranking),
    )
    same_vocabulary(reference_ranking, hedge_vocabulary, f"reference_ranking[{ranker}]")
    panel, scored = (
        [
            configuration.open_judge(key, spending.note, spending.bill)
            for key in configuration.judges.members(ranker)
        ],
        None,
    )
    if (now := configuration.staleness()).scorer_of(*keys) != NOTHING:
        scorer = open_distilled_scorer(configuration, ranker, now)
        ask_panel = configuration.settings.distilled.unlike == "panel"
        scored = score_sentences(
            findings, hedge_phrases, reference_ranking, scorer, ask_panel=ask_panel
        )
    made_of = (
        findings,
        hedge_phrases,
        hedge_vocabulary,
        reference_ranking,
        panel,
        anchors,
        settings,
    )
    tables = fit_pairs(*made_of, scored=scored)
    frame = tables.probabilities
    fitted = frame[frame["p_source"] == "fitted"]
    metadata = {
        "stop": counts(frame["stop"], "end of the fit"),
        **_first(reference_ranking, "ruler", "ranking_version"),
        "mean_p": round(float(fitted["p"].mean()), 4) if len(fitted) else 0.0,
    }
    value = {"fitted_probabilities": frame, "fit_log": tables.log}
    return dg.MaterializeResult(value=value, metadata=metadata)


def _answers(
    findings: Frames,
    fitted_probabilities: Frames,
    fit_log: Frames,
    comparison_matches: Frames,
    ranking: pd.DataFrame,
) -> Answers:
    """What the judges of a ranker have said, in all batches that they fitted."""
    tables = (
        (FINDINGS, findings),
        (FITTED_PROBABILITIES, fitted_probabilities),
        (FIT_LOG, fit_log),
    )
    whole = (pd.concat([table.frame(), *frames.values()]) for table, frames in tables)
    return panel_answers(*whole, by_judge(comparison_matches, ranking), ranking)


@table_asset("explicit")
def distilled_scorer(
    configuration: Configuration,
    keys: Keys,
    findings: Frames,
    fitted_probabilities: Frames,
    fit_log: Frames,
    comparison_matches: Frames,
    reference_ranking: pd.DataFrame,
) -> Result:
    """Let a small model learn the judgement of a ranker's judges from their stored answers."""
    read = (
        findings,
        fitted_probabilities,
        fit_log,
        comparison_matches,
        reference_ranking,
    )
    version, place = (
        str(reference_ranking["ranking_version"].iloc[0]),
        configuration.home.distilled.joinpath(*keys),
    )
    frame = distil(_answers(*read), version, place, distilled_training(configuration))
    return dg.MaterializeResult(
        value=frame, metadata=_first(frame[frame["is_used"]], "rung", "encoder")
    )


@table_asset("explicit")
def distilled_evaluation(
    configuration: Configuration,
    keys: Keys,
    findings: Frames,
    fitted_probabilities: Frames,
    fit_log: Frames,
    comparison_matches: Frames,
    reference_ranking: pd.DataFrame,
    hedge_vocabulary: pd.DataFrame,
    distilled_scorer: pd.DataFrame,
) -> Result:
    """Hold a distilled model against its judges, on sentences and phrases that it had not seen."""
    from lunguage_assets.pictures.plots import (
        distilled_errors,
    )  # matplotlib is slow to import

    read = (
        findings,
        fitted_probabilities,
        fit_log,
        comparison_matches,
        reference_ranking,
    )
    folder = configuration.home.distilled.joinpath(
        *keys, str(distilled_scorer["files"].iloc[0])[:16]
    )
    line = calibrate(
        ranked_phrases(reference_ranking), anchors_of(configuration, reference_ranking)
    )
    reference = ReferenceScale.from_tables(reference_ranking, hedge_vocabulary)
    frame = evaluate(_answers(*read), distilled_scorer, folder, reference, line)
    return dg.MaterializeResult(
        value=frame, metadata={"plot": picture(distilled_errors(frame))}
    )


def _first(frame: pd.DataFrame, *columns: str) -> dict[str, str]:
    """Columns that have one value for all rows."""
    return {
        column: str(frame[column].iloc[0]) if len(frame) else "none"
        for column in columns
    }
