"""Fits the head of a distilled model, on an encoder that stays as it is.

docs/distilled.md. The probit likelihood of the answers is log-concave, and its ridge
makes the optimum unique, so that the same answers give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.explicit.distilled.encoder import Vectors
from lunguage_assets.explicit.distilled.folds import Masks
from lunguage_assets.explicit.distilled.model import Head
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.randomness import Floats

SPREADS = (1.5, 3.0, 6.0, 12.0, 24.0)
"""Ridges that are tried, as the prior standard deviation of mu at a usual sentence."""


class HeldOutScores(NamedTuple):
    """Scores of sentences by a model that had not seen them; NaN: in no fold.

    Attributes:
        mu: shape (sentences,).
        variance: of the head, of the same shape.
    """

    mu: Floats
    variance: Floats


def fit_head(vectors: Vectors, answers: Answers, spread: float) -> Head:
    """Find the head that makes the answers likeliest, by L-BFGS.

    Args:
        vectors: of all sentences of `answers`, shape (sentences, 2 d); those without an
            answer take no part.
        answers: from which it learns.
        spread: prior standard deviation of mu around TrueSkill's prior mean.
    """
    from scipy.optimize import minimize  # slow to import, as is scipy.stats

    answers = answers.merged()
    asked_vectors = vectors[answers.asked_sentences]
    centre = asked_vectors.astype(np.float64).mean(axis=0)
    squares = ((asked_vectors - centre) ** 2).sum(axis=1)
    # Scaled to length 1 at a usual sentence, so that `spread` is in units of mu.
    scale = float(np.sqrt(squares.mean())) or 1.0
    start = Head(
        centre=centre,
        scale=scale,
        weights=np.zeros(len(centre)),
        intercept=trueskill.MU,
        covariance=np.zeros((0, 0)),
    )
    inputs = start.inputs(vectors)
    ridge = 1.0 / spread**2

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights = parameters[:-1]
        intercept = parameters[-1]
        answers_loss = answers.loss(inputs @ weights + intercept)
        slopes = answers_loss.gradient
        # The prior of the intercept is TrueSkill's of a sentence.
        away = (intercept - trueskill.MU) / trueskill.SIGMA
        value = answers_loss.value
        value += 0.5 * ridge * float(weights @ weights) + 0.5 * away**2
        by_weights = inputs.T @ slopes + ridge * weights
        by_intercept = slopes.sum() + away / trueskill.SIGMA
        return value, np.append(by_weights, by_intercept)

    optimum = minimize(
        loss,
        np.append(start.weights, start.intercept),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-10, "gtol": 1e-4, "maxcor": 30},
    ).x
    # Rounded to single precision: the last bits depend on the machine.
    weights = optimum[:-1].astype(np.float32).astype(np.float64)
    intercept = float(np.float32(optimum[-1]))
    covariance = _covariance(inputs, answers, inputs @ weights + intercept, ridge)
    return Head(centre, scale, weights, intercept, covariance)


def _covariance(
    inputs: Floats, answers: Answers, scores: Floats, ridge: float
) -> Floats:
    """Compute the covariance of the weights, by Laplace.

    It is the inverse of the second derivative of minus the log posterior.
    """
    curvature = answers.loss(scores).curvature
    is_of_pair = answers.is_of_pair
    first = answers.sentence[is_of_pair]
    second = answers.other_sentence[is_of_pair]
    by_sentence = np.bincount(answers.sentence, curvature, len(inputs))
    by_sentence += np.bincount(second, curvature[is_of_pair], len(inputs))
    hessian = (inputs.T * by_sentence) @ inputs + ridge * np.eye(inputs.shape[1])
    if is_of_pair.any():
        # The products of the two sentences of a comparison, each pair once.
        pairs, pair_of_answer = np.unique(
            np.stack([first, second]), axis=1, return_inverse=True
        )
        by_pair = np.bincount(
            np.ravel(pair_of_answer), curvature[is_of_pair], pairs.shape[1]
        )
        cross = (inputs[pairs[0]].T * by_pair) @ inputs[pairs[1]]
        hessian -= cross + cross.T
    inverse: Floats = cho_solve(cho_factor(hessian), np.eye(len(hessian)))
    return inverse


def out_of_fold(
    vectors: Vectors,
    answers: Answers,
    held_out: Masks,
    spread: float,
    step: Callable[[int], None] = lambda more: None,
) -> HeldOutScores:
    """Score each sentence by a head that has seen neither it nor any answer about it.

    Args:
        vectors: of all sentences of `answers`, shape (sentences, 2 d).
        answers: of which those about a fold are left out.
        held_out: the sentences of each fold.
        spread: as of `fit_head`.
        step: told of every head that was fitted.
    """
    mu = np.full(len(vectors), np.nan)
    variance = np.full(len(vectors), np.nan)
    for mask in held_out:
        head = fit_head(vectors, answers.excluding(mask), spread)
        mu[mask] = head.mu(vectors[mask])
        variance[mask] = head.variance(vectors[mask])
        step(1)
    return HeldOutScores(mu, variance)


def rmse(mu: Floats, answers: Answers) -> float:
    """Compute the root mean squared distance from the panel's scores.

    Infinite where no sentence has both.
    """
    is_known = answers.is_fitted & ~np.isnan(mu)
    if not is_known.any():
        return float("inf")
    panel_mu = answers.sentences["mu_centre"].to_numpy()
    distance = mu[is_known] - panel_mu[is_known]
    return float(np.sqrt((distance**2).mean()))
