"""The steps by the group in which the UI shows their assets, in the order of the method."""

from __future__ import annotations

import dagster as dg

from lunguage_assets.orchestration.assets import analysis, corpus, explicit, implicit, text
from lunguage_assets.orchestration.assets.step import Compute, step_asset
from lunguage_assets.orchestration.partitions import Partitions

GROUPS: dict[str, dict[str, Compute]] = {
    "text": text.STEPS,
    "corpus": corpus.STEPS,
    "explicit": explicit.STEPS,
    "analysis": analysis.STEPS,
    "implicit": implicit.STEPS,
}
"""Group -> step -> function that makes its tables."""

COMPUTES: dict[str, Compute] = {step: made for steps in GROUPS.values() for step, made in steps.items()}


def step_assets(partitions: Partitions) -> list[dg.AssetsDefinition]:
    """All assets that are tables."""
    return [
        step_asset(step, compute, partitions, group)
        for group, steps in GROUPS.items()
        for step, compute in steps.items()
    ]
