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
from lunguage_assets.explicit.distilled.scoring import OUT_OF_DISTRIBUTION
from lunguage_assets.explicit.probability import (
    Anchor,
    AnchorSet,
    CalibrationError,
    calibration_problem,
    chosen_anchors,
    require_anchors,
)
from lunguage_assets.explicit.ranking import published_instead
from lunguage_assets.hub import SentenceEmbedder, packaged_copy
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import DISTILLED_SCORER
from lunguage_assets.workspace.store import is_stored, partition_path, read_table

_BY_MODEL = ("scored", OUT_OF_DISTRIBUTION)
"""How a fit ended that a distilled model made."""


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
    return chosen_anchors(anchors, home.anchor_ratings)


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


def uses_distilled_model(configuration: Configuration) -> bool:
    """Whether a distilled model fits new batches, and not the judges."""
    fitter = configuration.fit or configuration.settings.explicit.fit
    return fitter == "distilled"


def scored_batches(configuration: Configuration, ranker: str) -> list[str]:
    """List the batches that a distilled model scored, oldest first."""
    return [
        batch.key
        for batch in configuration.home.registered()
        if _was_scored(configuration, ranker, batch.key)
    ]


def is_scored(configuration: Configuration, ranker: str, batch: str) -> bool:
    """Whether a distilled model fits a batch now.

    A batch stays with who fitted it: a model learns from judges' fits, and a scored
    archive is not asked about by mistake. `--fit panel` asks for it.

    Args:
        configuration: of the home.
        ranker: whose batch it is.
        batch: its key.
    """
    was_scored = _was_scored(configuration, ranker, batch)
    if was_scored is None:
        return uses_distilled_model(configuration)
    return was_scored and configuration.fit != "panel"


def _was_scored(configuration: Configuration, ranker: str, batch: str) -> bool | None:
    """Whether a model has fitted a batch; None: nobody has fitted anything."""
    tables = configuration.home.tables
    path = partition_path(tables, FITTED_PROBABILITIES.name, ranker, batch)
    if not is_stored(FITTED_PROBABILITIES, path):
        return None
    stops = read_table(FITTED_PROBABILITIES, path)["stop"]
    # Without tentative findings nobody has fitted anything.
    return bool(stops.isin(_BY_MODEL).any()) if len(stops) else None


def distilled_model(configuration: Configuration, ranker: str) -> pd.DataFrame:
    """Read what there is to know of the model that a ranker's judges taught.

    Raises:
        MethodError: it is not there.
    """
    path = partition_path(configuration.home.tables, DISTILLED_SCORER.name, ranker)
    if not is_stored(DISTILLED_SCORER, path):
        raise MethodError(
            f"the distilled model of {ranker!r} is not there. {_remedy(ranker)}"
        )
    return read_table(DISTILLED_SCORER, path)


def _remedy(ranker: str) -> str:
    return (
        f"Say `lunguage distill --ranker {ranker}`, or let the judges fit: --fit panel."
    )


def open_distilled_scorer(
    configuration: Configuration, ranker: str, ranking_version: str
) -> DistilledScorer:
    """Open the model that a ranker's judges taught.

    Args:
        configuration: of the home that holds the model.
        ranker: whose judges taught it.
        ranking_version: of the ranking into which it scores.

    Raises:
        MethodError: the model is not there, or of another ranking; says what to do.
    """
    model = distilled_model(configuration, ranker).iloc[0]
    if model["ranking_version"] != ranking_version:
        raise MethodError(
            f"the distilled model of {ranker!r} is stale: it learnt another ranking. "
            f"{_remedy(ranker)}"
        )
    file = configuration.home.distilled / ranker / f"{model['files']}.safetensors"
    if not file.exists():
        raise MethodError(
            f"{file} is gone: the distilled model cannot score. {_remedy(ranker)}"
        )
    return DistilledScorer(file, configuration.settings.distilled.device)
