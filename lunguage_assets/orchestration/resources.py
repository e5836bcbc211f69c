"""The configuration as Dagster's resource, and what its settings choose of the method.

A configuration is a plain object and the resource `configuration` only holds it. What
Dagster calls the config of a resource could be overridden by whoever launches a run,
who would then choose which files are read, where results go, and the budget.

Docs: https://docs.dagster.io/guides/build/external-resources
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.distilled.scorer import (
    DistilledScorer,
    distilled_encoder,
)
from lunguage_assets.explicit.fit.anchors import AnchorSet, chosen_anchors
from lunguage_assets.explicit.fit.probability import (
    Anchor,
    CalibrationError,
    calibration_problem,
    require_anchors,
)
from lunguage_assets.explicit.rating.ranking import published_instead
from lunguage_assets.hub import SentenceEmbedder, packaged_copy
from lunguage_assets.lineage.staleness import StalenessChecker
from lunguage_assets.tables.explicit import DISTILLED_SCORER
from lunguage_assets.workspace.store import partition_path, read_table


def configuration_resource(configuration: Configuration) -> dg.ResourceDefinition:
    """Make the Dagster resource that hands assets a configuration.

    It takes no config and refuses any. Every run gets an object of its own, so that
    a judges file that was edited in between is read again.
    """
    return dg.ResourceDefinition(lambda _: configuration.reloaded(), config_schema={})


def anchor_set(configuration: Configuration) -> AnchorSet:
    """Choose the anchors that the settings name (explicit.md section 6)."""
    home = configuration.home
    anchors = configuration.settings.explicit.anchors
    return chosen_anchors(anchors, home.anchor_ratings, home.root)


def require_anchor_phrases(
    configuration: Configuration, phrases: Collection[str]
) -> None:
    """Raise `CalibrationError` unless the anchors are among the phrases.

    Comparisons are paid for, so that this is asked before they are made.
    """
    require_anchors(set(phrases), anchor_set(configuration).of(phrases))


def anchors_of(configuration: Configuration, ranking: pd.DataFrame) -> Sequence[Anchor]:
    """Take the anchors that count for a ranking.

    Raises `CalibrationError` when they give the ranked phrases no probabilities.
    """
    anchors = anchor_set(configuration).of(set(ranking["phrase"]))
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
        published = published_instead(ranking, error.reason, identities)
        anchors_of(configuration, published)
        return published
    return ranking


def chosen_encoder(configuration: Configuration) -> SentenceEmbedder:
    """Find the encoder that a distilled model is trained with (docs/distilled.md).

    Where the encoder of the settings is not on this machine, the copy of it in an
    installed package is used.
    """
    options = configuration.settings.distilled
    if configuration.encoder:
        return distilled_encoder(configuration.encoder, "", options.device)
    installed = packaged_copy(options.encoder, options.revision)
    name = installed or options.encoder
    return distilled_encoder(name, options.revision, options.device)


def open_distilled_scorer(
    configuration: Configuration, ranker: str, staleness: StalenessChecker
) -> DistilledScorer:
    """Open the model that a ranker's judges taught.

    Args:
        configuration: of the home that holds the model.
        ranker: whose judges taught it.
        staleness: what is current in the home.

    Raises:
        MethodError: the model is not there, or stale; says what to do.
    """
    home = configuration.home
    remedy = (
        f"Say `lunguage distill --ranker {ranker}`, or let the judges fit: --fit panel."
    )
    freshness = staleness.of(DISTILLED_SCORER.name, ranker)
    if freshness.state != "current":
        reason = "is not there"
        if freshness.because:
            reason = f"is stale ({'; '.join(freshness.because)})"
        raise MethodError(f"the distilled model of {ranker!r} {reason}. {remedy}")
    path = partition_path(home.tables, DISTILLED_SCORER.name, ranker)
    digest = read_table(DISTILLED_SCORER, path)["files"].iloc[0]
    file = home.distilled / ranker / f"{digest}.safetensors"
    if not file.exists():
        raise MethodError(f"{file} is gone: the distilled model cannot score. {remedy}")
    return DistilledScorer(file, configuration.settings.distilled.device)
