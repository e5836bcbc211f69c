"""The economy fit, an option: a few rounds of several opponents each, until the place is certain enough.

The paper's fit asks for one opponent at a time and ends when a rank is stable. This one asks for a round of
opponents at once, takes all answers together (`posterior.py`), and ends when the posterior is as narrow as
was asked for. Judges, draws, positions and invalid answers are those of `fitting.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.explicit.fit.asking import FitPanel, Play
from lunguage_assets.explicit.fit.fit_log import FitLog
from lunguage_assets.explicit.fit.fits import LIMIT, NARROW, NO_ANSWERS, NO_OPPONENT, ROUNDS, VOID_STEPS, Fits
from lunguage_assets.explicit.fit.posterior import posterior
from lunguage_assets.explicit.fit.reference import Reference, draw_probability
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.settings import ExplicitSettings

ANSWER_INFORMATION = 1.0 / (math.pi * trueskill.BETA**2)
"""Fisher information of one answer against an even opponent, per unit of mu squared.

No answer can say more about a place.
"""


def fit_economically(
    sentences: Sequence[str],
    reference: Reference,
    panel: Sequence[Judge],
    settings: ExplicitSettings,
    log: FitLog | None = None,
) -> Fits:
    """Fit distinct masked sentences in rounds, with one call per judge and round, noting every play in `log`.

    mu and variance are those of the exact posterior given all answers, in whatever order they came. A round
    plays as many opponents as the panel needs for `economy_answers` answers, fewer when fewer are expected to
    reach `economy_sd`; each is played by every judge.
    """
    fits = Fits.start(len(sentences), len(reference.mu), len(panel))
    judges = FitPanel.of(sentences, reference, panel, settings)
    for number in range(settings.economy_rounds):
        active = fits.running()
        if not len(active):
            break
        play = choose_round(active, fits, reference, len(panel), settings)
        own, other = play.sentence, play.opponent
        draw = draw_probability(
            fits.mu[own], fits.variance[own], reference.mu[other], reference.variance[other]
        )
        said = judges.ask(play, judges.everyone(play))
        fits.count(play.sentence, play.opponent, said)
        mean, sd = posterior(fits.won[active], fits.lost[active], reference)
        fits.mu[active], fits.variance[active] = mean, sd**2
        fits.rank[active] = (reference.mu > mean[:, None]).sum(axis=1)
        if log is not None:
            log.note(play, np.full(len(play.sentence), number), draw, said, fits)
        _stop(active, fits, settings, last=number + 1 == settings.economy_rounds)
    return fits


def choose_round(
    active: Integers, fits: Fits, reference: Reference, judges: int, settings: ExplicitSettings
) -> Play:
    """The opponents of a round, by sentence and then in the order in which they were chosen.

    They are spread over what is still possible: the k-th of n is the phrase nearest to the posterior's
    quantile (k + 1/2)/n that is not yet played in this round and fewer than `opponent_limit` times before;
    the higher ranked of two equally near.
    """
    wanted = _opponents_wanted(active, fits, judges, settings)
    open_to = fits.counts[active] < settings.opponent_limit
    wanted = np.minimum(wanted, open_to.sum(axis=1))
    chosen = np.full((len(active), int(wanted.max(initial=0))), -1, dtype=np.int64)
    sd = np.sqrt(fits.variance[active])
    for k in range(chosen.shape[1]):
        rows = np.flatnonzero(wanted > k)
        place = fits.mu[active[rows]] + sd[rows] * ndtri((k + 0.5) / wanted[rows])
        distance = np.where(open_to[rows], np.abs(reference.mu - place[:, None]), np.inf)
        nearest = np.argmin(distance, axis=1)
        chosen[rows, k] = nearest
        open_to[rows, nearest] = False
    row, place_in_round = np.nonzero(chosen >= 0)
    sentence = active[row]
    return Play(
        sentence, chosen[row, place_in_round], fits.steps[sentence] + fits.void[sentence] + place_in_round
    )


def _opponents_wanted(active: Integers, fits: Fits, judges: int, settings: ExplicitSettings) -> Integers:
    """Opponents for each sentence's round, at most what the missing answers and the step limits leave."""
    missing = (1.0 / settings.economy_sd**2 - 1.0 / fits.variance[active]) / ANSWER_INFORMATION
    needed = np.ceil(np.minimum(missing, settings.economy_answers) / judges).astype(np.int64)
    left = np.minimum(settings.step_limit - fits.steps[active], VOID_STEPS - fits.void[active])
    wanted: Integers = np.minimum(np.maximum(needed, 1), left)
    return wanted


def _stop(active: Integers, fits: Fits, settings: ExplicitSettings, *, last: bool) -> None:
    """End fits and record the reason.

    Of several reasons the first counts: narrow posterior, no opponent left, step limit, no valid answers,
    rounds.
    """
    if last:
        fits.stop[active] = ROUNDS
        fits.stop[active[fits.steps[active] == 0]] = NO_ANSWERS
    fits.stop[active[fits.void[active] >= VOID_STEPS]] = NO_ANSWERS
    fits.stop[active[fits.steps[active] >= settings.step_limit]] = LIMIT
    fits.stop[active[(fits.counts[active] >= settings.opponent_limit).all(axis=1)]] = NO_OPPONENT
    fits.stop[active[fits.variance[active] <= settings.economy_sd**2]] = NARROW
