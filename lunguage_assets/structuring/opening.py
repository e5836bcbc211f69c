"""Opening a structurer by its key: the offline one, or a language model among the judges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from lunguage_assets.judges.binding_record import BindingRecord
from lunguage_assets.judges.configuration import RULES, JudgesConfiguration
from lunguage_assets.judges.opening import Surroundings
from lunguage_assets.structuring.contract import Structurer
from lunguage_assets.structuring.rules.building import content_hash
from lunguage_assets.structuring.rules.structurer import RuleStructurer, identity_of


def open_structurer(
    key: str,
    configuration: JudgesConfiguration,
    terms: pd.DataFrame,
    surroundings: Callable[[], Surroundings],
    record: BindingRecord,
) -> Structurer:
    """The structurer of a key, ready to be given reports; nothing is sent yet.

    Args:
        key: `rules`, or a language model of the judges file.
        configuration: the judges file.
        terms: the delivered vocabulary, `tables.TERMS`; the offline structurer knows its findings, too.
        surroundings: asked for where the structurer is a language model.
        record: the home's record of the models behind keys.

    Raises:
        ConfigurationError: no such structurer, or unusable prompt templates.
    """
    if key == RULES:
        return RuleStructurer.bundled(terms if len(terms) else None)
    from lunguage_assets.structuring.model import opening

    model = opening.open_structurer(key, configuration, surroundings())
    slot = configuration.models[key]
    record.require(key, slot)
    return opening.BoundStructurer(model, slot, record)


def structurer_identity(key: str, configuration: JudgesConfiguration, prompts: Path | None = None) -> str:
    """Identity of the structurer with the bundled words or these prompts; no ledger is opened for it.

    Raises:
        ConfigurationError: as of `open_structurer`.
    """
    if key == RULES:
        return identity_of(content_hash())
    from lunguage_assets.structuring.model import opening

    return opening.structurer_identity(key, configuration, prompts)
