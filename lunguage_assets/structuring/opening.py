"""Opening a structurer by its key: the offline one, or a language model behind the ledger, limits, budget and
data policy of the judges.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.configuration import RULES, JudgesConfiguration
from lunguage_assets.judges.opening import Surroundings, open_asker
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.structuring.contract import Structurer
from lunguage_assets.structuring.model.structurer import ModelStructurer, load_structuring_prompts
from lunguage_assets.structuring.rules.lexicon import content_hash
from lunguage_assets.structuring.rules.structurer import RuleStructurer, identity_of


def open_structurer(
    key: str,
    configuration: JudgesConfiguration,
    terms: pd.DataFrame,
    surroundings: Callable[[], Surroundings],
) -> Structurer:
    """The structurer of a key, ready to be given reports; nothing is sent yet.

    Args:
        key: `rules`, or a language model of the judges file.
        configuration: the judges file.
        terms: the delivered vocabulary, `tables.TERMS`; the offline structurer knows its findings, too.
        surroundings: asked for where the structurer is a language model.

    Raises:
        ConfigurationError: no such structurer, or unusable prompt templates.
    """
    if key == RULES:
        return RuleStructurer(terms)
    return open_model(key, configuration, surroundings())


def open_model(key: str, configuration: JudgesConfiguration, surroundings: Surroundings) -> ModelStructurer:
    """The language model of a slot as a structurer; errors as in `open_structurer`."""
    slot, prompts = _model_slot(key, configuration), load_structuring_prompts(surroundings.prompts)
    return ModelStructurer(open_asker(key, slot, surroundings), prompts, slot.mode)


def structurer_identity(key: str, configuration: JudgesConfiguration, prompts: Path | None = None) -> str:
    """Identity of the structurer with the bundled words or these prompts; no ledger is opened for it.

    Raises:
        ConfigurationError: as in `open_structurer`.
    """
    if key == RULES:
        return identity_of(content_hash())
    slot = _model_slot(key, configuration)
    return ModelStructurer.identity_of(slot.binding, load_structuring_prompts(prompts), slot.mode)


def _model_slot(key: str, configuration: JudgesConfiguration) -> ModelSlot:
    slot = configuration.slot(key)
    if not isinstance(slot, ModelSlot):
        raise ConfigurationError(
            f"judge {key!r} is rule-based and reads hedges, not reports; expected a language model as "
            "structurer. Name one, or the offline structurer."
        )
    return slot
