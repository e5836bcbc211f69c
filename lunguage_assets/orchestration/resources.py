"""The configuration as Dagster's resource, and what its settings choose of the method.

A configuration is a plain object and the resource `configuration` only holds it. What
Dagster calls the config of a resource could be overridden by whoever launches a run,
who would then choose which files are read, where results go, and the budget.

Docs: https://docs.dagster.io/guides/build/external-resources
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.probability import (
    Anchor,
    CalibrationError,
    anchors_in_use,
    calibration_problem,
)
from lunguage_assets.explicit.ranking import on_published_scale

ConfigurationResource: TypeAlias = dg.ResourceParam[Configuration]
"""Type of a parameter that gets the resource `configuration`."""


def configuration_resource(configuration: Configuration) -> dg.ResourceDefinition:
    """Make the Dagster resource that hands assets a configuration.

    It takes no config and refuses any. Every run gets an object of its own, so that
    a judges file that was edited in between is read again.
    """
    return dg.ResourceDefinition(lambda _: configuration.reloaded(), config_schema={})


def anchors_of(configuration: Configuration, ranking: pd.DataFrame) -> Sequence[Anchor]:
    """Take the anchors that count for a ranking.

    Raises `CalibrationError` when they give the ranked phrases no probabilities.
    """
    anchors = anchors_in_use(configuration.home.anchor_ratings).anchors
    reason = calibration_problem(ranking, anchors)
    if reason:
        raise CalibrationError(reason)
    return anchors


def ranking_on_scale(
    configuration: Configuration, ranking: pd.DataFrame, identities: Sequence[str]
) -> pd.DataFrame:
    """Take a ranking, or the published one where no probability can be read off it.

    Args:
        configuration: whose settings say whether the published ranking may stand in.
        ranking: a `REFERENCE_RANKING` frame of this corpus' own phrases.
        identities: of the judges that ranked them.

    Returns:
        A `REFERENCE_RANKING` frame.

    Raises:
        CalibrationError: the settings ask for the corpus' own ranking, or the anchors
            do not go with the published one either.
    """
    try:
        anchors_of(configuration, ranking)
    except CalibrationError as error:
        if configuration.settings.explicit.reference_scale != "auto":
            raise
        judges = ranking["judges"].iloc[0]
        published = on_published_scale(ranking, judges, error.reason, identities)
        anchors_of(configuration, published)
        return published
    return ranking
