"""The paper's fit: masked sentences play reference phrases, in lockstep (explicit.md section 5).

A sentence's steps are sequential, but sentences are independent: every round chooses all opponents at once,
asks each judge once for all sentences, and updates all. The paper's fit is here, the economical one in
`economy.py`; which findings are fitted and what becomes of the others is in `pairs.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.explicit.fit.asking import Answers, FitPanel, Play
from lunguage_assets.explicit.fit.economy import fit_economically
from lunguage_assets.explicit.fit.fit_log import FitLog
from lunguage_assets.explicit.fit.fits import (
    LIMIT,
    NO_ANSWERS,
    NO_OPPONENT,
    STABLE,
    VOID_STEPS,
    Fits,
    Places,
)
from lunguage_assets.explicit.fit.pairs import collect_pairs, fitted_frame, sentence_key
from lunguage_assets.explicit.fit.posterior import posterior_of_a_panel
from lunguage_assets.explicit.fit.probability import Anchor, calibrate
from lunguage_assets.explicit.fit.reference import Reference, choose_opponents, draw_probability, placed
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import FIT_LOG

SENTENCES_AT_ONCE = 20_000
"""Sentences whose fits advance together; memory follows from it, results do not."""


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
        settings: which fit and its options, seed, position.
        at_once: sentences per chunk; no result depends on it.

    Identical masked sentences are fitted once; a result depends on its sentence, the ranking, the panel, the
    anchors and the settings alone.

    Raises:
        MethodError: no judge; tables that do not belong together; unusable anchors.
    """
    pairs = collect_pairs(findings, hedges)
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
    fit = fit_economically if settings.fit == "economy" else fit_sentences
    places, logs = [], []
    for start in range(0, max(len(keys), 1), at_once):
        chunk = keys[start : start + at_once]
        log = FitLog([judge.key for judge in panel], reference.phrases) if settings.fit_log else None
        fits = fit([by_key[key] for key in chunk], reference, panel, settings, log)
        places.append(_places(fits, reference))
        if log is not None:
            logs.append(log.table(chunk))
    number = {key: i for i, key in enumerate(keys)}
    frame = fitted_frame(pairs, number, Places.join(places), settings.fit, ranking, calibration)
    return FitTables(frame, FIT_LOG.from_arrow(pa.concat_tables(logs)) if logs else FIT_LOG.frame())


def _places(fits: Fits, reference: Reference) -> Places:
    centre, mu_sd = posterior_of_a_panel(fits.won, fits.lost, reference)
    return Places(
        fits.mu, np.sqrt(fits.variance), fits.rank, centre, mu_sd, fits.steps + fits.void, fits.answers,
        fits.invalid, fits.stop
    )  # fmt: skip


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
            log.note(play, play.step, draw, said, fits)
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
