"""Group `explicit`: hedging phrases, their ranking by pairwise judgement, and the probability of every
tentative finding.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.current.plan import not_there
from lunguage_assets.current.recipes import BATCH
from lunguage_assets.documents import literal
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.trust.verification import verify_with_package
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.amendments import newest_only
from lunguage_assets.explicit.hedges.hedging import hedge_phrases as extract_hedge_phrases
from lunguage_assets.explicit.hedges.hedging import load_corrections, review_queue, unknown_corrections
from lunguage_assets.explicit.hedges.shown import shown_phrase
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary as collect_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches as play_matches
from lunguage_assets.explicit.rating.order_free import compare_with_order
from lunguage_assets.explicit.rating.ranking import reference_ranking as rank_phrases
from lunguage_assets.orchestration.assets.step import step_asset
from lunguage_assets.orchestration.checks.explicit import VERIFIED, verification_result
from lunguage_assets.orchestration.metadata import Spending, counts, picture, probability_bars
from lunguage_assets.orchestration.partitions import Partitions, partition_frames, store_keys
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.ahead import asked_ahead
from lunguage_assets.tables import HEDGE_PHRASES

GROUP = "explicit"
MOST_FREQUENT = 12


def _same_vocabulary(frame: pd.DataFrame, vocabulary: pd.DataFrame, what: str) -> None:
    """Refuse to mix artifacts of two vocabularies (re-asserted here: blocking checks do not reach other
    partitions).
    """
    expected = set(vocabulary["vocabulary_version"])
    found = set(frame["vocabulary_version"])
    if found - expected:
        raise MethodError(
            f"{what} belongs to another version of the hedge vocabulary. Materialise it again, "
            "then what follows from it."
        )


def extraction(
    context: dg.AssetExecutionContext, home: HomeResource, findings: pd.DataFrame
) -> Iterator[dg.Output]:
    """Find the hedging phrases of a batch's tentative findings with one judge."""
    key, batch = store_keys(context.partition_key, ("judge", BATCH))
    spending = Spending(context)
    judge = home.judge(key, spending.note)
    frame = extract_hedge_phrases(findings, judge, load_corrections(home.home.corrections_file))
    queue = home.keep_review_queue(key, batch, review_queue(frame))
    yield dg.Output(
        frame,
        "hedge_phrases",
        metadata={
            "judge": judge.identity,
            **spending.metadata(),
            "review_queue": dg.MetadataValue.path(str(queue)),
            "pairs": len(frame),
            "unreviewed": int(frame["needs_review"].sum()),
            "corrected": int(frame["corrected"].sum()),
            "review": counts(frame.loc[frame["needs_review"], "review_reason"], "reason"),
            "phrases": counts(
                frame["phrases"].explode().dropna().astype(str), "hedging phrase", most=MOST_FREQUENT
            ),
            "phrases_per_pair": counts(frame["phrases"].map(len).astype(str), "phrases in the pair"),
        },
    )


def collecting(
    context: dg.AssetExecutionContext, home: HomeResource, hedge_phrases: Any
) -> Iterator[dg.Output]:
    """Collect one judge's hedging phrases over all batches."""
    from lunguage_assets.pictures.plots import vocabulary_histogram  # matplotlib is slow to import

    frames = partition_frames(hedge_phrases, list(context.asset_partition_keys_for_input("hedge_phrases")))
    by_batch = {store_keys(key, ("judge", BATCH))[1]: frame for key, frame in frames.items()}
    registered = [batch.key for batch in home.home.registered()]
    if registered and not by_batch:
        raise MethodError(not_there("hedge_phrases", (context.partition_key, registered[0])))
    hedges = newest_only(by_batch, registered)
    collected = HEDGE_PHRASES.frame() if hedges is None else hedges
    unknown = unknown_corrections(load_corrections(home.home.corrections_file), collected)
    frame = collect_vocabulary(collected, home.settings.explicit)
    yield dg.Output(
        frame,
        "hedge_vocabulary",
        metadata={
            "batches": ", ".join(key for key in registered if key in by_batch) or "none",
            "retained": int(frame["retained"].sum()),
            "histogram": picture(vocabulary_histogram(frame)),
            "corrections_of_unknown_findings": ", ".join(unknown) or "none",
            "ruler": str(frame["ruler"].iloc[0]) if len(frame) else "none",
            "vocabulary_version": _version(frame, "vocabulary_version"),
        },
    )


def comparing(
    context: dg.AssetExecutionContext, home: HomeResource, hedge_vocabulary: pd.DataFrame
) -> Iterator[dg.Output]:
    """Have one judge play all comparisons of the vocabulary."""
    retained = set(hedge_vocabulary.loc[hedge_vocabulary["retained"], "phrase"])
    home.require_anchors(retained)
    spending = Spending(context, ahead=asked_ahead(home.root, context.partition_key))
    judge = home.judge(context.partition_key, spending.note)
    frame = play_matches(hedge_vocabulary, judge, home.settings.explicit)
    valid = frame["answer"] != "invalid"
    yield dg.Output(
        frame,
        "comparison_matches",
        metadata={
            "judge": judge.identity,
            **spending.metadata(),
            "matches": len(frame),
            "answers": counts(frame["answer"], "answer"),
            "invalid": int((~valid).sum()),
            "p_sentence_1": float((frame.loc[valid, "answer"] == "sentence_1").mean())
            if valid.any()
            else float("nan"),
            "vocabulary_version": _version(hedge_vocabulary, "vocabulary_version"),
        },
    )


def ranking(
    context: dg.AssetExecutionContext,
    home: HomeResource,
    hedge_vocabulary: pd.DataFrame,
    comparison_matches: Any,
) -> Iterator[dg.Output | dg.AssetCheckResult]:
    """Rank the phrases from the matches of a judge or panel."""
    from lunguage_assets.pictures.plots import ranking_plot  # matplotlib is slow to import

    frames = partition_frames(
        comparison_matches, list(context.asset_partition_keys_for_input("comparison_matches"))
    )
    for judge, frame in frames.items():
        _same_vocabulary(frame, hedge_vocabulary, f"comparison_matches[{judge}]")
    in_panel_order = {judge: frames[judge] for judge in home.judges.members(context.partition_key)}
    standings = home.standings()
    identities = [standings.reads.of("judge", {"judge": judge}) for judge in in_panel_order]
    ranked = rank_phrases(hedge_vocabulary, in_panel_order, home.settings.explicit, identities)
    yield dg.Output(
        ranked,
        "reference_ranking",
        metadata={
            "judges": ", ".join(in_panel_order),
            "ruler": str(ranked["ruler"].iloc[0]),
            "phrases": len(ranked),
            "ranking_version": _version(ranked, "ranking_version"),
            "vocabulary_version": _version(hedge_vocabulary, "vocabulary_version"),
            "ranking": _ranking_table(ranked),
            "plot": picture(ranking_plot(ranked)),
            **_cross_check(ranked),
        },
    )
    yield verification_result(verify_with_package(ranked, in_panel_order, home.settings.explicit))


def fitting(
    context: dg.AssetExecutionContext,
    home: HomeResource,
    findings: pd.DataFrame,
    hedge_phrases: pd.DataFrame,
    hedge_vocabulary: pd.DataFrame,
    reference_ranking: pd.DataFrame,
) -> Iterator[dg.Output]:
    """Place every tentative finding in the ranking and map its place to a probability."""
    ranker, _ = store_keys(context.partition_key, ("ranker", BATCH))
    settings, anchors = home.settings.explicit, home.anchors(reference_ranking)
    _same_vocabulary(reference_ranking, hedge_vocabulary, f"reference_ranking[{ranker}]")
    spending = Spending(context)
    panel = [home.judge(key, spending.note) for key in home.judges.members(ranker)]
    tables = fit_pairs(findings, hedge_phrases, hedge_vocabulary, reference_ranking, panel, anchors, settings)
    frame = tables.probabilities
    yield dg.Output(
        frame,
        "fitted_probabilities",
        metadata={
            "pairs": len(frame),
            **spending.metadata(),
            "ranking_version": _version(reference_ranking, "ranking_version"),
            "ruler": str(reference_ranking["ruler"].iloc[0]),
            **_summary_of_fits(frame),
        },
    )
    yield dg.Output(
        tables.log,
        "fit_log",
        metadata={"opponents": counts(tables.log["opponent"], "opponent", most=MOST_FREQUENT)},
    )


def explicit_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """From phrases to probabilities."""
    steps = {
        "extraction": extraction,
        "collecting": collecting,
        "comparing": comparing,
        "ranking": ranking,
        "fitting": fitting,
    }
    checks = {"ranking": [VERIFIED]}
    return [
        step_asset(step, compute, partitions, GROUP, check_specs=checks.get(step, ()))
        for step, compute in steps.items()
    ]


def _summary_of_fits(frame: pd.DataFrame) -> dict[str, Any]:
    fitted = frame[frame["p_source"] == "fitted"]
    return {
        "p_source": counts(frame["p_source"], "source of p"),
        "stop": counts(frame["stop"], "fit ended by"),
        "mean_p": round(float(fitted["p"].mean()), 4) if len(fitted) else 0.0,
        "sd_p": round(float(fitted["p"].std(ddof=0)), 4) if len(fitted) else 0.0,
        "mean_steps": round(float(fitted["steps"].mean()), 2) if len(fitted) else 0.0,
        "histogram": probability_bars(frame["p"]),
    }


def _version(frame: pd.DataFrame, column: str) -> str:
    return str(frame[column].iloc[0]) if len(frame) else "none"


def _cross_check(ranking: pd.DataFrame) -> dict[str, Any]:
    """How the order-free estimate agrees; nothing for the published ruler."""
    compared = compare_with_order(ranking)
    if compared is None:
        return {}
    return {
        "order_free_largest_deviation": compared.largest_deviation,
        "order_free_differs_most": shown_phrase(compared.phrase),
        "order_free_spearman": float("nan") if compared.spearman is None else compared.spearman,
    }


def _ranking_table(ranking: pd.DataFrame) -> dg.MetadataValue:
    lines = ["| rank | phrase | mu | 95% interval | matches |", "|---|---|---|---|---|"]
    columns = [ranking[name].tolist() for name in ("rank", "phrase", "mu", "mu_low", "mu_high", "n_matches")]
    lines += [
        f"| {rank} | {literal(shown_phrase(phrase))} | {mu:.2f} | {low:.2f} to {high:.2f} | {n} |"
        for rank, phrase, mu, low, high, n in zip(*columns, strict=True)
    ]
    return dg.MetadataValue.md("\n".join(lines))
