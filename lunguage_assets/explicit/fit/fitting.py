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

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.fits import (
    INVALID,
    LOST,
    NO_ANSWERS,
    NOT_ASKED,
    STOPS,
    WON,
    FitPanel,
    Fits,
    Reference,
    choose_opponents,
    posterior_of_a_panel,
)
from lunguage_assets.explicit.fit.probability import (
    Anchor,
    Calibration,
    calibrate,
    placed,
    probability,
)
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.asking.progress import Fitting, announce
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.randomness import digest
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import FIT_LOG

EXPLICIT_SECTIONS = ("find", "impr")
"""History rows take no part in the explicit stage."""

Round = Mapping[str, NDArray[Any]]
"""Plays of a round by column of `FIT_LOG`, with numbers for names; `answers` has shape (plays, judges)."""
_WORDS = {WON: "won", LOST: "lost", INVALID: "invalid"}

SENTENCES_AT_ONCE = 20_000
"""Sentences whose fits advance together; memory follows from it, results do not."""


def tentative_rows(findings: pd.DataFrame) -> pd.DataFrame:
    """The rows of tentative pairs, sorted by study and row whatever the order of `findings`."""
    tentative = findings["status"].isin(["tp", "tn"]) & findings["section"].isin(
        EXPLICIT_SECTIONS
    )
    return findings[tentative.to_numpy(dtype=bool)].sort_values(
        ["study_id", "row", "finding_id"], kind="stable"
    )


def sentence_key(masked_sentence: str) -> str:
    """Identity of a masked sentence: identical ones are fitted once, and the log is kept by it."""
    return digest(masked_sentence)[:24]


def log_table(
    rounds: Sequence[Round],
    sentence_keys: Sequence[str],
    judges: Sequence[str],
    phrases: Sequence[str],
) -> pa.Table:
    """An Arrow table of `FIT_LOG` from the rounds of `fit_sentences`, in the order of `sentence_keys`, then
    by step; `judges` and `phrases` are the names of the numbers.
    """

    def named(names: Sequence[str], numbers: NDArray[Any]) -> pa.Array:
        return pa.array(list(names), type=pa.string()).take(pa.array(numbers))

    def told(answers: Sequence[int]) -> str:
        """'judge=won' of every judge that was asked, in panel order, joined by blanks."""
        each = zip(judges, answers, strict=True)
        return " ".join(
            f"{judge}={_WORDS[answer]}" for judge, answer in each if answer != NOT_ASKED
        )

    if not rounds:
        return FIT_LOG.arrow.empty_table()
    plays = {
        name: np.concatenate([each[name] for each in rounds]) for name in FIT_LOG.names
    }
    order = np.lexsort((plays["step"], plays["sentence_key"]))
    columns: dict[str, Any] = {name: values[order] for name, values in plays.items()}
    said, which = np.unique(columns["answers"], axis=0, return_inverse=True)
    columns["answers"] = named([told(answers) for answers in said.tolist()], which)
    columns["sentence_key"] = named(sentence_keys, columns["sentence_key"])
    columns["opponent"] = named(phrases, columns["opponent"])
    arrays = [pa.array(columns[column.name], column.type) for column in FIT_LOG.arrow]
    return pa.Table.from_arrays(arrays, schema=FIT_LOG.arrow)


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
    scored: pd.DataFrame | None = None,
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
        scored: places that need no fit (`distilled.places.scored_places`).

    Identical masked sentences are fitted once; a result depends on its sentence, the ranking, the panel, the
    anchors and the settings alone.

    Raises:
        MethodError: no judge; tables that do not belong together; unusable anchors.
    """
    rows = tentative_rows(findings)
    phrases = dict(zip(hedges["finding_id"], hedges["phrases"], strict=True))
    if set(rows["finding_id"]) != set(phrases):
        raise MethodError(
            f"hedge_phrases is about {len(phrases)} pairs, findings has {len(rows)}, and they are not the "
            "same ones. Materialise hedge_phrases again."
        )
    if not panel:
        raise MethodError(
            "the panel has no judge. Name its members in the judges file."
        )
    if rows.empty:
        return FitTables(FITTED_PROBABILITIES.frame(), FIT_LOG.frame())
    ranking = placed(ranking)
    calibration = calibrate(
        ranking, anchors
    )  # before judges are asked: bad anchors must not cost answers
    reference = Reference.of(ranking, vocabulary)
    located = rows.loc[rows["mask_state"] == "masked", "masked_sentence"]
    by_key = {sentence_key(sentence): sentence for sentence in located}
    keys = sorted(by_key.keys() - set(() if scored is None else scored.index))
    places, logs = [] if scored is None else [scored], []
    for start in range(0, max(len(keys), scored is None), at_once):
        chunk = keys[start : start + at_once]
        rounds: list[Round] | None = [] if settings.fit_log else None
        fits = fit_sentences(
            [by_key[key] for key in chunk], reference, panel, settings, rounds
        )
        places.append(_places(chunk, fits, reference))
        if rounds is not None:
            logs.append(
                log_table(
                    rounds, chunk, [judge.key for judge in panel], reference.phrases
                )
            )
    pairs = pd.DataFrame(
        {
            "finding_id": rows["finding_id"].tolist(),
            "study_id": rows["study_id"].tolist(),
            "phrases": [phrases[finding_id] for finding_id in rows["finding_id"]],
            "sentence_key": located.map(sentence_key)
            .reindex(rows.index)
            .fillna("")
            .tolist(),
            "same_name_in_sentence": rows["same_name_in_sentence"].tolist(),
        }
    )
    frame = _with_probabilities(
        pairs.join(pd.concat(places), on="sentence_key"), ranking, calibration
    )
    return FitTables(
        frame, FIT_LOG.from_arrow(pa.concat_tables(logs)) if logs else FIT_LOG.frame()
    )


def _places(keys: Sequence[str], fits: Fits, reference: Reference) -> pd.DataFrame:
    """Where each sentence ended, a line per key; no place where its fit was given up.

    mu, sigma, rank: the place that the fit states; mu_centre, mu_sd: mean and deviation of the place given
    all answers, from which the interval is made (docs/trust.md); steps includes those without a valid answer.
    """
    centre, mu_sd = posterior_of_a_panel(fits.won, fits.lost, reference)
    place = pd.DataFrame(
        {
            "mu": fits.mu,
            "sigma": np.sqrt(fits.variance),
            "mu_centre": centre,
            "mu_sd": mu_sd,
        },
        pd.Index(list(keys), dtype="str"),
    ).assign(rank=pd.array(fits.rank, dtype="Int64"))
    place.loc[fits.stop == NO_ANSWERS] = None
    return place.assign(
        steps=fits.steps + fits.void,
        answers=fits.answers,
        invalid_answers=fits.invalid,
        stop=[STOPS[reason] for reason in fits.stop.tolist()],
    )


def fit_sentences(
    sentences: Sequence[str],
    reference: Reference,
    panel: Sequence[Judge],
    settings: ExplicitSettings,
    log: list[Round] | None = None,
) -> Fits:
    """Fit distinct masked sentences in lockstep rounds, with one call per judge and round; every round is
    added to `log`, and where each sentence stands after it.
    """
    fits = Fits.start(len(sentences), len(reference.mu), len(panel))
    judges = FitPanel(sentences, reference, panel, settings)
    while len(active := fits.running()):
        opponent, draw = choose_opponents(
            active, fits, reference, settings.opponent_limit
        )
        step = fits.steps[active] + fits.void[active]
        said = judges.ask(
            active, opponent, step, fits.steps[active] < settings.panel_steps
        )
        fits.play(active, opponent, said, reference)
        if log is not None:
            played = {
                "sentence_key": active,
                "step": step,
                "opponent": opponent,
                "draw_probability": draw,
            }
            stands = {
                "mu": fits.mu[active],
                "sigma": np.sqrt(fits.variance[active]),
                "rank": fits.rank[active],
            }
            log.append({**played, "answers": said, **stands})
        fits.end(
            active, settings.opponent_limit, settings.step_limit, settings.patience
        )
        announce(Fitting(len(fits.running()), len(sentences), int(step.max()) + 1))
    return fits


def _with_probabilities(
    pairs: pd.DataFrame, ranking: pd.DataFrame, calibration: Calibration
) -> pd.DataFrame:
    """The `FITTED_PROBABILITIES` frame of pairs with their places.

    A pair without a place has its p from the mean mu of its ranked phrases, with TrueSkill's beta as standard
    error, else it is unknown (section 5).
    """
    places = dict(zip(ranking["phrase"].tolist(), ranking["mu"].tolist(), strict=True))
    p, low, high = probability(
        pairs["mu"], pairs["mu_sd"], calibration, pairs["mu_centre"]
    )
    source = np.full(len(pairs), "fitted", dtype=object)
    for row in np.flatnonzero(pairs["mu"].isna()).tolist():
        known = [
            places[phrase] for phrase in pairs["phrases"].iloc[row] if phrase in places
        ]
        p[row], low[row], high[row], source[row] = 0.5, 0.0, 1.0, "none"
        if known:
            p[row], low[row], high[row] = probability(
                sum(known) / len(known), trueskill.BETA, calibration
            )
            source[row] = "phrase"
    frame = pairs.assign(
        **{
            name: pairs[name].fillna(0).astype("int64")
            for name in ("steps", "answers", "invalid_answers")
        },
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
