"""Group `explicit`: hedging phrases, their ranking by pairwise judgement, and the probability of every
tentative finding.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.trust.verification import verify_with_package
from lunguage_assets.explicit.fit.fitting import fit_with_log
from lunguage_assets.explicit.fit.probability import calibrate, load_anchors, require_anchors
from lunguage_assets.explicit.hedges.amendments import newest_only
from lunguage_assets.explicit.hedges.hedging import hedge_phrases as extract_hedge_phrases
from lunguage_assets.explicit.hedges.hedging import load_corrections, review_queue, unknown_corrections
from lunguage_assets.explicit.hedges.shown import shown_phrase
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary as collect_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches as play_matches
from lunguage_assets.explicit.rating.order_free import compare_with_order
from lunguage_assets.explicit.rating.ranking import reference_ranking as rank_phrases
from lunguage_assets.files import write_csv
from lunguage_assets.orchestration.checks.explicit import VERIFIED, verification_result
from lunguage_assets.orchestration.metadata import Spending, counts, picture, plain_failures, table_options
from lunguage_assets.orchestration.partitions import Partitions, dimension_keys, partition_frames
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.pools import JUDGES_POOL
from lunguage_assets.pictures.plots import (
    calibration_plot,
    probability_histogram,
    ranking_plot,
    vocabulary_histogram,
)
from lunguage_assets.tables import HEDGE_PHRASES

GROUP = "explicit"
MOST_FREQUENT = 12
TABLES_OF_FIT = ("fitted_probabilities", "fit_log")


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


def explicit_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    @dg.asset(
        **table_options("hedge_phrases", GROUP),
        pool=JUDGES_POOL,
        partitions_def=partitions.of("hedge_phrases"),
        ins={"findings": dg.AssetIn(partition_mapping=partitions.batch_only)},
    )
    def hedge_phrases(
        context: dg.AssetExecutionContext, home: HomeResource, findings: pd.DataFrame
    ) -> dg.Output[pd.DataFrame]:
        keys = dimension_keys(context.partition_key, "hedge_phrases")
        key = keys["judge"]
        with plain_failures():
            spending = Spending(context)
            judge = home.judge(key, spending.note)
            frame = extract_hedge_phrases(findings, judge, load_corrections(home.home.corrections_file))
            queue = home.home.review_queue(key, keys["report_batch"])
            write_csv(review_queue(frame), queue)
        return dg.Output(
            frame,
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

    @dg.asset(
        **table_options("hedge_vocabulary", GROUP),
        partitions_def=partitions.of("hedge_vocabulary"),
        ins={
            "hedge_phrases": dg.AssetIn(
                partition_mapping=partitions.judge_only, metadata={"allow_missing_partitions": True}
            )
        },
    )
    def hedge_vocabulary(
        context: dg.AssetExecutionContext, home: HomeResource, hedge_phrases: Any
    ) -> dg.Output[pd.DataFrame]:
        frames = partition_frames(
            hedge_phrases, list(context.asset_partition_keys_for_input("hedge_phrases"))
        )
        by_batch = {
            dimension_keys(key, "hedge_phrases")["report_batch"]: frame for key, frame in frames.items()
        }
        with plain_failures():
            registered = [batch.key for batch in home.home.registered()]
            hedges = newest_only(by_batch, registered)
            collected = HEDGE_PHRASES.frame() if hedges is None else hedges
            unknown = unknown_corrections(load_corrections(home.home.corrections_file), collected)
            frame = collect_vocabulary(collected, home.settings.explicit)
        return dg.Output(
            frame,
            metadata={
                "batches": ", ".join(key for key in registered if key in by_batch) or "none",
                "retained": int(frame["retained"].sum()),
                "histogram": picture(vocabulary_histogram(frame)),
                "corrections_of_unknown_findings": ", ".join(unknown) or "none",
                "ruler": str(frame["ruler"].iloc[0]) if len(frame) else "none",
                "vocabulary_version": _version(frame, "vocabulary_version"),
                "settings": stick_settings(home, ()),
            },
        )

    @dg.asset(
        **table_options("comparison_matches", GROUP),
        pool=JUDGES_POOL,
        partitions_def=partitions.of("comparison_matches"),
        ins={"hedge_vocabulary": dg.AssetIn(partition_mapping=partitions.extractors_vocabulary)},
    )
    def comparison_matches(
        context: dg.AssetExecutionContext, home: HomeResource, hedge_vocabulary: pd.DataFrame
    ) -> dg.Output[pd.DataFrame]:
        with plain_failures():
            require_anchors(
                set(hedge_vocabulary.loc[hedge_vocabulary["retained"], "phrase"]),
                load_anchors(home.home.anchor_ratings),
            )
            spending = Spending(context)
            judge = home.judge(context.partition_key, spending.note)
            frame = play_matches(hedge_vocabulary, judge, home.settings.explicit)
        valid = frame["answer"] != "invalid"
        return dg.Output(
            frame,
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
                "settings": stick_settings(home, [context.partition_key]),
            },
        )

    @dg.asset(
        **table_options("reference_ranking", GROUP),
        check_specs=[VERIFIED],
        partitions_def=partitions.of("reference_ranking"),
        ins={
            "hedge_vocabulary": dg.AssetIn(partition_mapping=partitions.extractors_vocabulary),
            "comparison_matches": dg.AssetIn(partition_mapping=partitions.members_of_ranker),
        },
    )
    def reference_ranking(
        context: dg.AssetExecutionContext,
        home: HomeResource,
        hedge_vocabulary: pd.DataFrame,
        comparison_matches: Any,
    ) -> Iterator[dg.Output | dg.AssetCheckResult]:
        frames = partition_frames(
            comparison_matches, list(context.asset_partition_keys_for_input("comparison_matches"))
        )
        with plain_failures():
            for judge, frame in frames.items():
                _same_vocabulary(frame, hedge_vocabulary, f"comparison_matches[{judge}]")
            in_panel_order = {judge: frames[judge] for judge in home.judges.members(context.partition_key)}
            identities = [home.identity(judge) for judge in in_panel_order]
            ranking = rank_phrases(hedge_vocabulary, in_panel_order, home.settings.explicit, identities)
            verified = verify_with_package(ranking, in_panel_order, home.settings.explicit)
        yield dg.Output(
            ranking,
            metadata={
                "judges": ", ".join(in_panel_order),
                "ruler": str(ranking["ruler"].iloc[0]),
                "phrases": len(ranking),
                "ranking_version": _version(ranking, "ranking_version"),
                "vocabulary_version": _version(hedge_vocabulary, "vocabulary_version"),
                "settings": stick_settings(home, list(in_panel_order)),
                "ranking": _ranking_table(ranking),
                "plot": picture(ranking_plot(ranking)),
                **_cross_check(ranking),
            },
        )
        yield verification_result(verified)

    @dg.multi_asset(
        name="fitting",
        pool=JUDGES_POOL,
        partitions_def=partitions.of("fitted_probabilities"),
        ins={
            "findings": dg.AssetIn(partition_mapping=partitions.batch_only),
            "hedge_phrases": dg.AssetIn(partition_mapping=partitions.extractors_phrases),
            "hedge_vocabulary": dg.AssetIn(partition_mapping=partitions.extractors_vocabulary),
            "reference_ranking": dg.AssetIn(partition_mapping=partitions.ranker_only),
        },
        outs={name: dg.AssetOut(**table_options(name, GROUP)) for name in TABLES_OF_FIT},
    )
    def fitting(
        context: dg.AssetExecutionContext,
        home: HomeResource,
        findings: pd.DataFrame,
        hedge_phrases: pd.DataFrame,
        hedge_vocabulary: pd.DataFrame,
        reference_ranking: pd.DataFrame,
    ) -> Iterator[dg.Output]:
        """Place every tentative finding in the ranking and map its place to a probability."""
        ranker = dimension_keys(context.partition_key, "fitted_probabilities")["ranker"]
        settings, anchors = home.settings.explicit, load_anchors(home.home.anchor_ratings)
        with plain_failures():
            _same_vocabulary(reference_ranking, hedge_vocabulary, f"reference_ranking[{ranker}]")
            spending = Spending(context)
            panel = [home.judge(key, spending.note) for key in home.judges.members(ranker)]
            tables = fit_with_log(
                findings, hedge_phrases, hedge_vocabulary, reference_ranking, panel, anchors, settings
            )
        frame = tables.probabilities
        yield dg.Output(
            frame,
            "fitted_probabilities",
            metadata={
                "pairs": len(frame),
                **spending.metadata(),
                "fit_settings": fit_settings(home),
                "ranking_version": _version(reference_ranking, "ranking_version"),
                "ruler": str(reference_ranking["ruler"].iloc[0]),
                **_summary_of_fits(frame),
                **(
                    {
                        "calibration": picture(
                            calibration_plot(frame, calibrate(reference_ranking, anchors), anchors)
                        )
                    }
                    if len(frame)
                    else {}
                ),
            },
        )
        yield dg.Output(
            tables.log,
            "fit_log",
            metadata={"opponents": counts(tables.log["opponent"], "opponent", most=MOST_FREQUENT)},
        )

    return [hedge_phrases, hedge_vocabulary, comparison_matches, reference_ranking, fitting]


_OF_THE_FIT = {
    "opponent_limit", "panel_steps", "patience", "step_limit", "fit",
    "fit_log", "economy_sd", "economy_answers", "economy_rounds",
}  # fmt: skip
"""Options that change fits and leave the measuring stick as it is."""

_READ_BY_FITS = {"seed", "position", *_OF_THE_FIT} - {"fit_log"}


def fit_settings(home: HomeResource) -> str:
    """The settings on which fits depend besides the ranking that they are made with, and the anchors; fits
    made with others are stale.
    """
    anchors = hashlib.sha256(repr(load_anchors(home.home.anchor_ratings)).encode()).hexdigest()[:12]
    return f"{home.settings.explicit.model_dump_json(include=_READ_BY_FITS)} anchors {anchors}"


def stick_settings(home: HomeResource, members: Sequence[str]) -> str:
    """The settings on which a part of the measuring stick depends, and who extracts and judges for it.

    A change asks for this part to be made again; a judge added to the configuration changes nothing for the
    others.
    """
    who = ", ".join(
        f"{key}: {home.identity(key)}" for key in dict.fromkeys([home.judges.extractor, *members])
    )
    return f"{home.settings.explicit.model_dump_json(exclude=_OF_THE_FIT)} {who}"


def _summary_of_fits(frame: pd.DataFrame) -> dict[str, Any]:
    fitted = frame[frame["p_source"] == "fitted"]
    return {
        "p_source": counts(frame["p_source"], "source of p"),
        "stop": counts(frame["stop"], "fit ended by"),
        "mean_p": round(float(fitted["p"].mean()), 4) if len(fitted) else 0.0,
        "sd_p": round(float(fitted["p"].std(ddof=0)), 4) if len(fitted) else 0.0,
        "mean_steps": round(float(fitted["steps"].mean()), 2) if len(fitted) else 0.0,
        "histogram": picture(probability_histogram(frame["p"])),
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
        f"| {rank} | {shown_phrase(phrase)} | {mu:.2f} | {low:.2f} to {high:.2f} | {n} |"
        for rank, phrase, mu, low, high, n in zip(*columns, strict=True)
    ]
    return dg.MetadataValue.md("\n".join(lines))
