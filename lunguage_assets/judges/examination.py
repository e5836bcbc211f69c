"""What a person should know of the judges before a run; for `lunguage doctor`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from typing import Literal

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.asking.budget import output_limit
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.policy import preflight
from lunguage_assets.judges.providers import provider_of
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.settings import DataClass

STRUCTURING_TOKENS = 3000
"""Output tokens that an answer about a long report needs, about: 25 findings of 120 tokens."""

Message = tuple[Literal["ok", "warning", "refusal"], str]


def examination(
    configuration: JudgesConfiguration,
    data_class: DataClass,
    today: date,
    environ: Mapping[str, str],
    only: Collection[str] | None = None,
) -> list[Message]:
    """Severity and message, judge by judge of the active preset.

    Looks at policy, retirement dates, prices, environment variables and installed SDKs; nothing is sent.
    `only` names the judges to look at; None: all.
    """
    lines: list[Message] = []
    for key in configuration.active_judges:
        if only is not None and key not in only:
            continue
        slot = configuration.judges[key]
        if isinstance(slot, ModelSlot):
            lines += _of_model(key, slot, data_class, today, environ)
            if key == configuration.structurer:
                lines += _of_structurer(key, slot)
        else:
            lines.append(("ok", f"judge {key!r} is rule-based: no network, no key, no cost"))
    return lines


def _of_structurer(key: str, slot: ModelSlot) -> list[Message]:
    """Whether an answer about a whole report fits into what the model may say."""
    room = output_limit(slot.binding)
    if room is None or room >= STRUCTURING_TOKENS:
        return []
    short = (
        f"judge {key!r} structures reports and may answer with {room} tokens; expected "
        f"{STRUCTURING_TOKENS} or more: answers about longer reports will be cut off and unreadable"
    )
    return [("warning", short)]


def _of_model(
    key: str, slot: ModelSlot, data_class: DataClass, today: date, environ: Mapping[str, str]
) -> list[Message]:
    problems = preflight(key, slot, environ, data_class, today)
    found: list[Message] = [(problem.severity, problem.message) for problem in problems]
    try:
        provider_of(key, slot, environ)
    except ConfigurationError as error:
        found.append(("refusal", str(error)))
    if slot.price is None:
        unpriced = f"judge {key!r} has no price: its cost is not known and no budget can be kept with it"
        found.append(("warning", unpriced))
    fine = f"judge {key!r}: {slot.provider}, model {slot.model!r}, may receive {data_class} text"
    return found or [("ok", fine)]
