"""Hypothesis profiles: `quick` at a desk, `ci` in CI, `thorough` on request.

CI draws the same examples every time: more of them would find nothing new in unchanged
code. Whoever changes a property runs its tests with `--hypothesis-profile thorough`,
which draws others each time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_BASE = 100
"""Examples of a test that asks for no number of its own, in profile `thorough`."""


def choose_profile() -> None:
    """Register the profiles and load `ci` if CI is set, `quick` otherwise."""
    lenient = {
        "deadline": None,
        "suppress_health_check": [HealthCheck.too_slow],
    }  # a busy machine is no fault
    settings.register_profile("quick", max_examples=_BASE // 5, **lenient)
    settings.register_profile(
        "ci", settings.get_profile("ci"), max_examples=_BASE // 2, **lenient
    )
    settings.register_profile("thorough", max_examples=_BASE, **lenient)
    settings.load_profile("ci" if os.environ.get("CI") else "quick")


def scaled(thorough: int) -> int:
    """A number of repetitions: as given in profile `thorough`, half in `ci`, a fifth in
    `quick`, at least one.
    """
    return max(1, thorough * settings.default.max_examples // _BASE)


def examples(thorough: int, **options: object) -> settings:
    """The settings of a test with `thorough` examples in the profile of that name, half
    in `ci`, a fifth in `quick`.
    """
    return settings(max_examples=scaled(thorough), **options)
