"""The check of a ranking by the package `trueskill` can fail (the arithmetic: `rating/test_trueskill.py`)."""

from __future__ import annotations

import pytest
from invented_answers import noisy, ranked, recorded

from lunguage_assets.explicit.analysis.verification import verify_with_package
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.settings import ExplicitSettings

SETTINGS = ExplicitSettings(bootstrap=0)
MATCHES = recorded(8, ["one", "two"], noisy())
RANKING = ranked(MATCHES, SETTINGS)


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
