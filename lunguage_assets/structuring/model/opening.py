"""Opening a language model as a structurer: behind the ledger, the limits, the budget and the data policy of
the judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.binding_record import Bound
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.opening import Surroundings, open_asker
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.structuring.contract import SectionedReport, StructuredReport
from lunguage_assets.structuring.model.prompts import load_structuring_prompts
from lunguage_assets.structuring.model.structurer import ModelStructurer


def open_structurer(
    key: str, configuration: JudgesConfiguration, surroundings: Surroundings
) -> ModelStructurer:
    """The language model of a slot, ready to be asked about reports; nothing is sent yet.

    Raises:
        ConfigurationError: no such slot, a rule-based judge, or unusable prompt templates.
    """
    slot = _model_slot(key, configuration)
    prompts = load_structuring_prompts(surroundings.prompts)
    return ModelStructurer(open_asker(key, slot, surroundings), prompts, slot.mode)


def structurer_identity(key: str, configuration: JudgesConfiguration, prompts: Path | None = None) -> str:
    """The identity of the structurer that `open_structurer` would open; no ledger is opened for it.

    Args:
        key: the slot's name.
        configuration: the judges file.
        prompts: the user's own prompt templates, or None for the bundled ones.

    Raises:
        ConfigurationError: as of `open_structurer`.
    """
    slot = _model_slot(key, configuration)
    return ModelStructurer.identity_of(slot.binding, load_structuring_prompts(prompts), slot.mode)


class BoundStructurer(Bound[ModelStructurer]):
    """A structurer whose key is claimed in a home when its first answers come."""

    def structure(self, reports: Sequence[SectionedReport]) -> list[StructuredReport]:
        """As the structurer itself.

        Raises:
            ConfigurationError: the key stands for another model in this home; nothing was asked.
        """
        return self._answered(self.asked.structure, reports)


def _model_slot(key: str, configuration: JudgesConfiguration) -> ModelSlot:
    slot = configuration.slot(key)
    if not isinstance(slot, ModelSlot):
        raise ConfigurationError(
            f"judge {key!r} is rule-based ({slot.provider}) and reads hedges, not reports; expected a "
            "language model as structurer. Name one, or the offline structurer."
        )
    return slot
