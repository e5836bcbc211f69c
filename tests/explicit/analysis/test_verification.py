"""The ranking is verified by the package `trueskill`: over full match sequences, and as a check that can
fail.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from recorded_matches import noisy, ranked, recorded

from lunguage_assets.explicit.analysis.verification import play_with_package, verify_with_package
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.settings import ExplicitSettings

SETTINGS = ExplicitSettings(bootstrap=0)
MATCHES = recorded(8, ["one", "two"], noisy())
RANKING = ranked(MATCHES, SETTINGS)


def whole_corpus(per_pair: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Winners, losers and an order of the comparisons of 42 phrases, as many per pair as given."""
    rng = np.random.default_rng(5)
    pairs = np.repeat(list(combinations(range(42), 2)), per_pair, axis=0)
    first = rng.normal(pairs[:, 1] - pairs[:, 0], 6.0) > 0.0
    return np.where(first, *pairs.T), np.where(first, *pairs.T[::-1]), rng.permutation(len(pairs))


@pytest.mark.lengthy
@pytest.mark.parametrize(("backend", "per_pair", "tolerance"), [(None, 40, 1e-5), ("scipy", 10, 1e-9)])
def test_a_whole_corpus_equals_the_package(backend: str | None, per_pair: int, tolerance: float) -> None:
    """40 per pair are the published corpus' 34,440 matches, 10 those of one judge, as the scipy backend is
    ten times as slow. Shorter sequences are in `rating/test_trueskill.py`.
    """
    winners, losers, order = whole_corpus(per_pair)
    assert len(order) == 861 * per_pair
    closed = np.concatenate(trueskill.play(winners, losers, 42, order[None]))
    assert np.abs(closed - play_with_package(winners, losers, 42, order, backend)).max() < tolerance


def test_a_sound_ranking_passes() -> None:
    verification = verify_with_package(RANKING, MATCHES, SETTINGS)
    assert verification.passed
    assert verification.matches == 28 * 10 * 2, "a small corpus is played whole"
    assert 0 <= verification.order < SETTINGS.orders
    assert verification.replay_difference == 0.0


def test_a_changed_place_fails() -> None:
    for column in ("mu", "sigma"):
        changed = RANKING.copy()
        changed.loc[3, column] += 1e-6
        verification = verify_with_package(changed, MATCHES, SETTINGS)
        assert not verification.passed
        assert verification.replay_difference == pytest.approx(1e-6)


def test_a_wrong_closed_form_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    right = trueskill.corrections
    monkeypatch.setattr(trueskill, "corrections", lambda t: tuple(1.001 * part for part in right(t)))
    verification = verify_with_package(RANKING, MATCHES, SETTINGS)
    assert verification.package_difference > 1e-5
    assert not verification.passed


def test_of_the_published_ruler_nothing_is_compared() -> None:
    verification = verify_with_package(RANKING.assign(ruler="published"), {}, SETTINGS)
    assert (verification.passed, verification.matches) == (True, 0)
