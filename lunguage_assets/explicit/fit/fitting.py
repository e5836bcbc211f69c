"""The paper's fit: masked sentences play reference phrases, in lockstep (explicit.md section 5).

A sentence's steps are sequential, but sentences are independent: every round chooses all opponents at once,
asks each judge once for all sentences, and updates all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from lunguage_assets.draws import digest
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.explicit.fit.fit_log import FitLog
from lunguage_assets.explicit.fit.fits import (
    LIMIT,
    NO_ANSWERS,
    NO_OPPONENT,
    STABLE,
    STOPS,
    VOID_STEPS,
    Answers,
    FitPanel,
    Fits,
    Play,
)
from lunguage_assets.explicit.fit.posterior import posterior_of_a_panel
from lunguage_assets.explicit.fit.probability import Anchor, Calibration, calibrate, probability
from lunguage_assets.explicit.fit.reference import Reference, choose_opponents, draw_probability, placed
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import FIT_LOG

EXPLICIT_SECTIONS = ("find", "impr")
"""History rows take no part in the explicit stage."""

SENTENCES_AT_ONCE = 20_000
"""Sentences whose fits advance together; memory follows from it, results do not."""

Places = Mapping[str, NDArray[Any]]
"""Places at the end of fits, arrays over sentences.

mu, sigma, rank: the place that the fit states; `mu_centre`, `mu_sd`: mean and deviation of the place given
all answers, from which the interval is made (docs/trust.md); `steps` includes those without a valid answer.
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """A tentative finding with its sentence; `masked_sentence` is None when the finding was not located."""

    finding_id: str
    study_id: str
    masked_sentence: str | None
    same_name: bool
    phrases: tuple[str, ...]


def tentative_rows(findings: pd.DataFrame) -> pd.DataFrame:
    """The rows of tentative pairs, sorted by study and row whatever the order of `findings`."""
    tentative = findings["status"].isin(["tp", "tn"]) & findings["section"].isin(EXPLICIT_SECTIONS)
    return findings[tentative.to_numpy(dtype=bool)].sort_values(
        ["study_id", "row", "finding_id"], kind="stable"
    )


def _collect_pairs(findings: pd.DataFrame, hedges: pd.DataFrame) -> list[Pair]:
    """All tentative pairs with their extracted phrases.

    Raises:
        MethodError: the two tables are not about the same pairs.
    """
    rows = tentative_rows(findings)
    phrases = dict(zip(hedges["finding_id"].tolist(), hedges["phrases"].tolist(), strict=True))
    ids = rows["finding_id"].tolist()
    if set(ids) != set(phrases):
        raise MethodError(
            f"hedge_phrases is about {len(phrases)} pairs, findings has {len(ids)}, and they are not the "
            "same ones. Materialise hedge_phrases again."
        )
    columns = [
        rows[name].tolist() for name in ("study_id", "masked_sentence", "mask_state", "same_name_in_sentence")
    ]
    return [
        Pair(
            finding_id,
            study,
            sentence if state == "masked" else None,
            bool(same_name),
            tuple(phrases[finding_id]),
        )
        for finding_id, study, sentence, state, same_name in zip(ids, *columns, strict=True)
    ]


def sentence_key(masked_sentence: str) -> str:
    """Identity of a masked sentence: identical ones are fitted once, and the log is kept by it."""
    return digest(masked_sentence)[:24]


@dataclass(frozen=True)
class FitTables:
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
    at_once: int = SENTENCES_AT_ONCE,
) -> FitTables:
    """Place and probability of every tentative finding by study and row, and the log of every play by
    sentence key and step; the log is empty when `settings.fit_log` is off.

    Args:
        findings: `FINDINGS` frame of a batch.
        hedges: its `HEDGE_PHRASES` frame.
        vocabulary: the `HEDGE_VOCABULARY` frame that was ranked.
        ranking: its `REFERENCE_RANKING` frame.
        panel: judges, in the order in which their answers are used.
        anchors: phrases of known probability.
        settings: options of the fit, seed, position.
        at_once: sentences per chunk; no result depends on it.

    Identical masked sentences are fitted once; a result depends on its sentence, the ranking, the panel, the
    anchors and the settings alone.

    Raises:
        MethodError: no judge; tables that do not belong together; unusable anchors.
    """
    pairs = _collect_pairs(findings, hedges)
    if not panel:
        raise MethodError("the panel has no judge. Name its members in the judges file.")
    if not pairs:
        return FitTables(FITTED_PROBABILITIES.frame(), FIT_LOG.frame())
    ranking = placed(ranking)
    calibration = calibrate(ranking, anchors)  # before judges are asked: bad anchors must not cost answers
    reference = Reference.of(ranking, vocabulary)
    masked = (pair.masked_sentence for pair in pairs)
    by_key = {sentence_key(sentence): sentence for sentence in masked if sentence is not None}
    keys = sorted(by_key)
    places, logs = [], []
    for start in range(0, max(len(keys), 1), at_once):
        chunk = keys[start : start + at_once]
        log = FitLog([judge.key for judge in panel], reference.phrases) if settings.fit_log else None
        fits = fit_sentences([by_key[key] for key in chunk], reference, panel, settings, log)
        places.append(_places(fits, reference))
        if log is not None:
            logs.append(log.table(chunk))
    number = {key: i for i, key in enumerate(keys)}
    whole = {name: np.concatenate([part[name] for part in places]) for name in places[0]}
    frame = _fitted_frame(pairs, number, whole, ranking, calibration)
    return FitTables(frame, FIT_LOG.from_arrow(pa.concat_tables(logs)) if logs else FIT_LOG.frame())


def _places(fits: Fits, reference: Reference) -> Places:
    centre, mu_sd = posterior_of_a_panel(fits.won, fits.lost, reference)
    return {
        "mu": fits.mu,
        "sigma": np.sqrt(fits.variance),
        "rank": fits.rank,
        "mu_centre": centre,
        "mu_sd": mu_sd,
        "steps": fits.steps + fits.void,
        "answers": fits.answers,
        "invalid_answers": fits.invalid,
        "stop": fits.stop,
    }


def fit_sentences(
    sentences: Sequence[str],
    reference: Reference,
    panel: Sequence[Judge],
    settings: ExplicitSettings,
    log: FitLog | None = None,
) -> Fits:
    """Fit distinct masked sentences in lockstep rounds, with one call per judge and round.

    Every step is noted in `log`.
    """
    fits = Fits.start(len(sentences), len(reference.mu), len(panel))
    judges = FitPanel.of(sentences, reference, panel, settings)
    while len(active := fits.running()):
        opponent = choose_opponents(
            fits.mu[active], fits.variance[active], fits.counts[active], reference, settings.opponent_limit
        )
        draw = draw_probability(
            fits.mu[active], fits.variance[active], reference.mu[opponent], reference.variance[opponent]
        )
        play = Play(active, opponent, fits.steps[active] + fits.void[active])
        asked = np.where(
            (fits.steps[active] < settings.panel_steps)[:, None],
            judges.everyone(play),
            judges.one_at_random(play),
        )
        said = judges.ask(play, asked)
        apply_answers(active, opponent, said, fits, reference)
        if log is not None:
            log.note(play, draw, said, fits)
        end_fits(active, fits, settings)
    return fits


def apply_answers(
    active: Integers, opponent: Integers, said: Answers, fits: Fits, reference: Reference
) -> None:
    """Move the sentences, not the reference, answer by answer in panel order (step 3); count the step."""
    for j in range(said.shape[1]):
        valid = said[:, j] >= 0
        rows, theirs = active[valid], opponent[valid]
        fits.mu[rows], fits.variance[rows] = trueskill.update(
            fits.mu[rows],
            fits.variance[rows],
            reference.mu[theirs],
            reference.variance[theirs],
            said[valid, j] == 1,
        )
    answered = fits.count(active, opponent, said)
    rank = (reference.mu > fits.mu[active, None]).sum(axis=1)
    same = rank == fits.rank[active]
    fits.stable[active] = np.where(answered, np.where(same, fits.stable[active] + 1, 1), fits.stable[active])
    fits.rank[active] = rank


def end_fits(active: Integers, fits: Fits, settings: ExplicitSettings) -> None:
    """End fits (step 4); of several reasons the first of `STOPS` is recorded, a void fit counting last."""
    fits.stop[active[fits.void[active] >= VOID_STEPS]] = NO_ANSWERS
    fits.stop[active[(fits.counts[active] >= settings.opponent_limit).all(axis=1)]] = NO_OPPONENT
    fits.stop[active[fits.steps[active] >= settings.step_limit]] = LIMIT
    fits.stop[active[fits.stable[active] >= settings.patience]] = STABLE


def _fitted_frame(
    pairs: Sequence[Pair],
    number: Mapping[str, int],
    places: Places,
    ranking: pd.DataFrame,
    calibration: Calibration,
) -> pd.DataFrame:
    """The `FITTED_PROBABILITIES` frame of all pairs.

    `number` is a sentence's place in `places`, by its key.
    """
    keys = ["" if pair.masked_sentence is None else sentence_key(pair.masked_sentence) for pair in pairs]
    row = np.array([number[key] if key else -1 for key in keys], dtype=np.int64)
    stop = [STOPS[places["stop"][i]] if i >= 0 else "not located" for i in row.tolist()]
    fitted = np.array([reason not in ("not located", "no valid answers") for reason in stop], dtype=bool)
    place = {
        name: np.where(row >= 0, values[row] if len(values) else 0, 0) for name, values in places.items()
    }
    p, low, high = probability(place["mu"], place["mu_sd"], calibration, place["mu_centre"])
    source = np.full(len(pairs), "fitted", dtype=object)
    mu_of = dict(zip(ranking["phrase"].tolist(), ranking["mu"].tolist(), strict=True))
    for i in np.flatnonzero(~fitted).tolist():
        p[i], low[i], high[i], source[i] = _from_phrases(pairs[i].phrases, mu_of, calibration)
    columns: dict[str, Sequence[Any]] = {
        "finding_id": [pair.finding_id for pair in pairs],
        "study_id": [pair.study_id for pair in pairs],
        "phrases": [list(pair.phrases) for pair in pairs],
        "sentence_key": keys,
        "same_name_in_sentence": [pair.same_name for pair in pairs],
        **{name: _where(fitted, place[name]) for name in ("mu", "sigma", "rank", "mu_centre", "mu_sd")},
        **{name: place[name].tolist() for name in ("steps", "answers", "invalid_answers")},
        "stop": stop,
        "p": p.tolist(),
        "p_low": low.tolist(),
        "p_high": high.tolist(),
        "p_source": source.tolist(),
        "ruler": [str(ranking["ruler"].iloc[0])] * len(pairs),
        "ranking_version": [str(ranking["ranking_version"].iloc[0])] * len(pairs),
    }
    return FITTED_PROBABILITIES.frame(columns)


def _where(known: NDArray[np.bool_], values: NDArray[Any]) -> list[Any]:
    """Values, null where not known."""
    return [
        value if is_known else None for value, is_known in zip(values.tolist(), known.tolist(), strict=True)
    ]


def _from_phrases(
    phrases: Sequence[str], mu_of: Mapping[str, float], calibration: Calibration
) -> tuple[float, float, float, str]:
    """p, p_low, p_high and p_source of a pair without a fit: from the mean mu of its ranked phrases, else
    unknown (section 5).

    One sentence strays from its phrase's mean; TrueSkill's own model of that is a normal of deviation beta,
    taken here as the standard error of the place.
    """
    known = [mu_of[phrase] for phrase in phrases if phrase in mu_of]
    if not known:
        return 0.5, 0.0, 1.0, "none"
    p, low, high = probability(sum(known) / len(known), trueskill.BETA, calibration)
    return float(p), float(low), float(high), "phrase"
