"""Hypothesis profiles: `quick` at a desk, `thorough` in CI.

`--hypothesis-profile` chooses another one than the machine's.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_BASE = 100
"""Examples of a test that asks for no number of its own, in profile `thorough`."""


def choose_profile() -> None:
    """Register both profiles and load `thorough` if CI is set, `quick` otherwise."""
    lenient = {
        "deadline": None,
        "suppress_health_check": [HealthCheck.too_slow],
    }  # a busy machine is no fault
    settings.register_profile("quick", max_examples=_BASE // 5, **lenient)
    settings.register_profile(
        "thorough", settings.get_profile("ci"), max_examples=_BASE, **lenient
    )
    settings.load_profile("thorough" if os.environ.get("CI") else "quick")


def scaled(thorough: int) -> int:
    """A number of repetitions: as given in profile `thorough`, a fifth in `quick`, at least one."""
    return max(1, thorough * settings.default.max_examples // _BASE)


def examples(thorough: int, **options: object) -> settings:
    """The settings of a test with `thorough` examples in the profile of that name, a fifth in `quick`."""
    return settings(max_examples=scaled(thorough), **options)
