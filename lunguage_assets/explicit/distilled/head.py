"""The convex rung: a linear head on an encoder that stays as it is. The probit likelihood of the answers is
log-concave and its ridge makes the optimum unique, so that the same answers give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.distilled import Head, Vectors
from lunguage_assets.randomness import Floats

SPREADS = (1.5, 3.0, 6.0, 12.0, 24.0)
"""Ridges that are tried, as the prior standard deviation of mu at a usual sentence."""


def fit_head(
    vectors: Vectors, answers: Answers, spread: float, start: Head | None = None
) -> Head:
    """The head that makes the answers likeliest, by L-BFGS.

    Args:
        vectors: of all sentences of `answers`, shape (sentences, 2 d); those without an answer take no part.
        spread: prior standard deviation of mu around TrueSkill's prior mean.
        start: from where the search begins; the optimum is the same.
    """
    from scipy.optimize import minimize  # slow to import, as is scipy.stats

    answers = answers.merged()
    asked = np.union1d(answers.one, answers.other[answers.other >= 0])
    centre = vectors[asked].astype(np.float64).mean(axis=0)
    scale = float(np.sqrt(((vectors[asked] - centre) ** 2).sum(axis=1).mean())) or 1.0
    head = Head(centre, scale, np.zeros(len(centre)), trueskill.MU, np.zeros((0, 0)))
    inputs, ridge = head.inputs(vectors), 1.0 / spread**2

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights, intercept = parameters[:-1], parameters[-1]
        value, slopes, _ = answers.loss(inputs @ weights + intercept)
        away = (intercept - trueskill.MU) / trueskill.SIGMA
        value += 0.5 * ridge * float(weights @ weights) + 0.5 * away**2
        slope = np.append(
            inputs.T @ slopes + ridge * weights, slopes.sum() + away / trueskill.SIGMA
        )
        return value, slope

    first = np.append(head.weights, trueskill.MU)
    if start is not None:
        first = np.append(start.weights, start.intercept)
    options = {"maxiter": 500, "ftol": 1e-10, "gtol": 1e-4, "maxcor": 30}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options).x
    weights, intercept = (
        found[:-1].astype(np.float32).astype(np.float64),
        float(np.float32(found[-1])),
    )
    covariance = _covariance(inputs, answers, inputs @ weights + intercept, ridge)
    return Head(centre, scale, weights, intercept, covariance)


def _covariance(
    inputs: Floats, answers: Answers, scores: Floats, ridge: float
) -> Floats:
    """Of the weights, by Laplace: the inverse of the second derivative of minus the log posterior."""
    curved = answers.loss(scores)[2]
    both = answers.other >= 0
    at = np.bincount(answers.one, curved, len(inputs))
    at += np.bincount(answers.other[both], curved[both], len(inputs))
    hessian = (inputs.T * at) @ inputs + ridge * np.eye(inputs.shape[1])
    if both.any():  # the products of the two sentences of a comparison
        pair = np.unique(
            np.stack([answers.one[both], answers.other[both]]),
            axis=1,
            return_inverse=True,
        )
        (one, other), which = pair[0], np.ravel(pair[1])
        shared = np.bincount(which, curved[both], len(one))
        cross = (inputs[one].T * shared) @ inputs[other]
        hessian -= cross + cross.T
    inverse: Floats = cho_solve(cho_factor(hessian), np.eye(len(hessian)))
    return inverse


def out_of_fold(
    vectors: Vectors,
    answers: Answers,
    held_out: list[NDArray[np.bool_]],
    spread: float,
    step: Callable[[int], None] = lambda more: None,
) -> tuple[Floats, Floats]:
    """mu of each sentence, and the head's variance, by a head that has seen neither it nor any answer about
    it; NaN for a sentence that is in no fold.

    Args:
        vectors: of all sentences of `answers`, shape (sentences, 2 d).
        answers: of which those about a fold are left out.
        held_out: the sentences of each fold.
        spread: as of `fit_head`.
        step: told of every head that was fitted.
    """
    mu, variance = np.full(len(vectors), np.nan), np.full(len(vectors), np.nan)
    for mask in held_out:
        head = fit_head(vectors, answers.without(mask), spread)
        mu[mask], variance[mask] = head.mu(vectors[mask]), head.variance(vectors[mask])
        step(1)
    return mu, variance


def error(mu: Floats, answers: Answers) -> float:
    """Root mean squared distance from the panel's places, where both are known."""
    known = answers.is_fitted & ~np.isnan(mu)
    apart = mu[known] - answers.sentences["mu_centre"].to_numpy()[known]
    return float(np.sqrt((apart**2).mean())) if known.any() else float("inf")


def best_spread(
    vectors: Vectors, answers: Answers, held_out: list[NDArray[np.bool_]]
) -> float:
    """The ridge with the smallest error on sentences that were held out."""
    return min(
        SPREADS,
        key=lambda one: error(out_of_fold(vectors, answers, held_out, one)[0], answers),
    )
