"""Fits every tentative finding into the reference scale and reads its probability off.

Section 5 of docs/method/explicit.md. A sentence's steps follow one another, but
sentences are independent: every round chooses all opponents at once (`fit_state.py`),
asks each judge once for all sentences (`fit_panel.py`), and updates all scores. From a
score to a probability: `probability.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.fit_log import Round, log_table
from lunguage_assets.explicit.fit.fit_panel import FitPanel
from lunguage_assets.explicit.fit.fit_state import (
    STOP_LABELS,
    FitState,
    Stop,
    choose_opponents,
)
from lunguage_assets.explicit.fit.posterior import panel_posterior
from lunguage_assets.explicit.fit.probability import (
    Anchor,
    Calibration,
    calibrate,
    probability,
    ranked_phrases,
)
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.pairs import sentence_key, tentative_rows
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.asking.progress import Fitting, announce
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import FIT_LOG

SENTENCES_AT_ONCE = 20_000
"""Sentences whose fits advance together; memory follows from it, results do not."""


class FitTables(NamedTuple):
    """`FITTED_PROBABILITIES` and `FIT_LOG` frames of the same fits."""

    probabilities: pd.DataFrame
    log: pd.DataFrame


def fit_pairs(
    findings: pd.DataFrame,
    hedges: pd.DataFrame,
    vocabulary: pd.DataFrame,
    ranking: pd.DataFrame,
    panel: Sequence[Judge],
    anchors: Sequence[Anchor],
    settings: ExplicitSettings,
    scored: pd.DataFrame | None = None,
) -> FitTables:
    """Fit every tentative finding and read its probability off its score.

    Identical masked sentences are fitted once. A result depends on its sentence, the
    ranking, the panel, the anchors and the settings, and on no other sentence.

    Args:
        findings: `FINDINGS` frame of a batch.
        hedges: its `HEDGE_PHRASES` frame.
        vocabulary: the `HEDGE_VOCABULARY` frame that was ranked.
        ranking: its `REFERENCE_RANKING` frame.
        panel: judges, in the order in which their answers are used.
        anchors: phrases of known probability.
        settings: options of the fit, seed, position.
        scored: sentences that a distilled model has scored, which need no fit
            (`distilled.scoring.score_sentences`).

    Returns:
        Probabilities by study and row, and the plays by sentence key and step; the log
        is empty when `settings.fit_log` is off.

    Raises:
        MethodError: no judge; tables that do not belong together; unusable anchors.
    """
    rows = tentative_rows(findings)
    phrases_by_finding = dict(zip(hedges["finding_id"], hedges["phrases"], strict=True))
    if set(rows["finding_id"]) != set(phrases_by_finding):
        raise MethodError(
            f"hedge_phrases is about {len(phrases_by_finding)} pairs, findings has "
            f"{len(rows)}, and they are not the same ones. Materialise hedge_phrases "
            "again."
        )
    if not panel:
        raise MethodError(
            "the panel has no judge. Name its members in the judges file."
        )
    if rows.empty:
        return FitTables(FITTED_PROBABILITIES.frame(), FIT_LOG.frame())
    ranking = ranked_phrases(ranking)
    # Before any judge is asked: unusable anchors must not cost answers.
    calibration = calibrate(ranking, anchors)
    reference = ReferenceScale.from_tables(ranking, vocabulary)

    masked = rows.loc[rows["mask_state"] == "masked", "masked_sentence"]
    key_by_row = masked.map(sentence_key)
    sentence_by_key = dict(zip(key_by_row, masked, strict=True))
    # Sentences of one wording have one fit, which all their pairs share.
    scores = [] if scored is None else [scored]
    logs = []
    for chunk in _unscored_chunks(sentence_by_key, scored):
        rounds: list[Round] | None = [] if settings.fit_log else None
        sentences = [sentence_by_key[key] for key in chunk]
        fits = fit_sentences(sentences, reference, panel, settings, rounds)
        scores.append(_scores(chunk, fits, reference))
        if rounds is not None:
            judges = [judge.key for judge in panel]
            logs.append(log_table(rounds, chunk, judges, reference.phrases))
    pairs = pd.DataFrame(
        {
            "finding_id": rows["finding_id"].tolist(),
            "study_id": rows["study_id"].tolist(),
            "phrases": [phrases_by_finding[key] for key in rows["finding_id"]],
            "sentence_key": key_by_row.reindex(rows.index).fillna("").tolist(),
            "same_name_in_sentence": rows["same_name_in_sentence"].tolist(),
        }
    )
    scored_pairs = pairs.join(pd.concat(scores), on="sentence_key")
    log = FIT_LOG.frame()
    if logs:
        log = FIT_LOG.from_arrow(pa.concat_tables(logs))
    return FitTables(_with_probabilities(scored_pairs, ranking, calibration), log)


def _unscored_chunks(
    sentence_by_key: Mapping[str, str], scored: pd.DataFrame | None
) -> Iterator[list[str]]:
    """Divide the keys of the sentences that are to be fitted."""
    keys = sorted(sentence_by_key)
    if scored is not None:
        keys = sorted(sentence_by_key.keys() - set(scored.index))
    elif not keys:
        yield []  # so that there is a frame of scores, if an empty one
    for start in range(0, len(keys), SENTENCES_AT_ONCE):
        yield keys[start : start + SENTENCES_AT_ONCE]


def fit_sentences(
    sentences: Sequence[str],
    reference: ReferenceScale,
    panel: Sequence[Judge],
    settings: ExplicitSettings,
    log: list[Round] | None = None,
) -> FitState:
    """Fit distinct masked sentences, with one call per judge and round.

    Args:
        sentences: masked sentences.
        reference: the phrases that they play.
        panel: judges, in the order in which their answers are used.
        settings: options of the fit (N is `opponent_limit`, K is `panel_steps`).
        log: every round is added to it.

    Returns:
        The fits, all ended.
    """
    fits = FitState.start(len(sentences), len(reference.mu), len(panel))
    fit_panel = FitPanel(sentences, reference, panel, settings)
    while len(active := fits.running()):
        opponents = choose_opponents(active, fits, reference, settings.opponent_limit)
        step = fits.steps[active] + fits.void[active]
        # Steps without a valid answer do not use up the whole panel's share of K steps.
        is_whole_panel = fits.steps[active] < settings.panel_steps
        outcomes = fit_panel.ask(active, opponents.phrase, step, is_whole_panel)
        fits.play(active, opponents.phrase, outcomes, reference)
        if log is not None:
            log.append(
                Round(
                    sentence=active,
                    step=step,
                    opponent=opponents.phrase,
                    draw_probability=opponents.draw,
                    outcomes=outcomes,
                    mu=fits.mu[active],
                    sigma=np.sqrt(fits.variance[active]),
                    rank=fits.rank[active],
                )
            )
        fits.end(
            active, settings.opponent_limit, settings.step_limit, settings.patience
        )
        running = len(fits.running())
        steps_played = int(step.max()) + 1
        announce(Fitting(running, len(sentences), steps_played))
    return fits


def _scores(
    keys: Sequence[str], fits: FitState, reference: ReferenceScale
) -> pd.DataFrame:
    """Make a row per sentence key; no score where the fit was given up.

    `mu`, `sigma` and `rank` are the filter's, from which p follows. `mu_centre` and
    `mu_sd` are of the score given all answers, from which the interval follows
    (docs/trust.md). `steps` has those without a valid answer, too.
    """
    posterior = panel_posterior(fits.won, fits.lost, reference)
    scores = pd.DataFrame(
        {
            "mu": fits.mu,
            "sigma": np.sqrt(fits.variance),
            "mu_centre": posterior.mean,
            "mu_sd": posterior.sd,
        },
        pd.Index(list(keys), dtype="str"),
    ).assign(rank=pd.array(fits.rank, dtype="Int64"))
    scores.loc[fits.stop == Stop.NO_ANSWERS] = None
    return scores.assign(
        steps=fits.steps + fits.void,
        answers=fits.answers,
        invalid_answers=fits.invalid,
        stop=[STOP_LABELS[Stop(stop)] for stop in fits.stop.tolist()],
    )


def _with_probabilities(
    pairs: pd.DataFrame, ranking: pd.DataFrame, calibration: Calibration
) -> pd.DataFrame:
    """Make the `FITTED_PROBABILITIES` frame of pairs with their scores."""
    p, low, high = probability(
        pairs["mu"], pairs["mu_sd"], calibration, pairs["mu_centre"]
    )
    source = np.full(len(pairs), "fitted", dtype=object)
    mu_by_phrase = ranking.set_index("phrase")["mu"].to_dict()
    # Without a score, p is that of the phrases' mean mu, with TrueSkill's beta as its
    # error; without a ranked phrase it is unknown (section 5).
    for row in np.flatnonzero(pairs["mu"].isna()).tolist():
        phrases = pairs["phrases"].iloc[row]
        mus = [mu_by_phrase[phrase] for phrase in phrases if phrase in mu_by_phrase]
        if mus:
            mean_mu = sum(mus) / len(mus)
            by_phrases = probability(mean_mu, trueskill.BETA, calibration)
            p[row], low[row], high[row] = by_phrases
            source[row] = "phrase"
        else:
            p[row] = 0.5
            low[row] = 0.0
            high[row] = 1.0
            source[row] = "none"
    counted = {
        name: pairs[name].fillna(0).astype("int64")
        for name in ("steps", "answers", "invalid_answers")
    }
    frame = pairs.assign(
        **counted,
        stop=pairs["stop"].fillna("not located"),
        p=p,
        p_low=low,
        p_high=high,
        p_source=source,
        ruler=ranking["ruler"].iloc[0],
        ranking_version=ranking["ranking_version"].iloc[0],
    )
    return FITTED_PROBABILITIES.frame(
        {name: frame[name].tolist() for name in FITTED_PROBABILITIES.names}
    )
