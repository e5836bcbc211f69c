"""What would stop a run later, said before its first stage, and all at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.settings import departures, published_options

if TYPE_CHECKING:
    from lunguage_assets.cli.options import Chosen
    from lunguage_assets.current.plan import Stage
    from lunguage_assets.judges.configuration import JudgesConfiguration
    from lunguage_assets.settings import Settings


def require_place(out: Path | None) -> None:
    """Refuse a folder for the release that cannot be made or written into.

    Raises:
        ConfigurationError: a file is in the way, or this account may not write there.
    """
    if out is None:
        return
    there = next(place for place in (out.resolve(), *out.resolve().parents) if place.exists())
    if not there.is_dir():
        raise ConfigurationError(f"--out {out}: {there} is a file; expected a folder. Name another one.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ConfigurationError(
            f"--out {out}: this account may not write into {there}. Mend its rights, or name another folder."
        )


def require_judges(chosen: Chosen, judges: JudgesConfiguration, stages: Sequence[Stage]) -> None:
    """Refuse stages that would ask a judge who cannot be asked: policy, retirement, key, SDK.

    A judge of whose model the ledger has answers is left alone: what it has to answer may all be there.

    Raises:
        ConfigurationError: one line with everything that is wrong.
    """
    from datetime import UTC, datetime

    from lunguage_assets.judges.examination import examination

    asked = set(_asked(stages, judges)) & judges.models.keys()
    if not asked:
        return
    ledger = chosen.paid_answers()
    answered = set() if ledger is None else set(ledger.statistics()["model"])
    asked = {key for key in asked if judges.models[key].model not in answered}
    found = examination(judges, chosen.data_class, datetime.now(UTC).date(), os.environ, only=asked)
    refusals = [message for severity, message in found if severity == "refusal"]
    if refusals:
        raise ConfigurationError(
            f"{' '.join(refusals)} Nothing was asked. `lunguage doctor --preset {judges.preset}` looks again."
        )


def _asked(stages: Sequence[Stage], judges: JudgesConfiguration) -> Iterator[str]:
    for stage in stages:
        if stage.job in ("structure", "extract_hedges", "compare"):
            yield stage.keys[0]
        elif stage.job in ("fit", "refit"):
            yield from judges.members(stage.keys[0])


def as_published_lines(settings: Settings, preset: str) -> list[str]:
    """What to tell of the options that are the paper's; nothing where the home does not ask for them."""
    if not settings.as_published:
        return []
    other = departures(settings)
    told = ", ".join(
        f"{name} = {value}"
        for group in published_options().values()
        for name, value in group.items()
        if not any(key.endswith(f".{name}") for key in other)
        and not (name == "encoder_model" and "implicit.encoder" in other)
    )
    return [
        f"as published (settings.toml): {told}",
        *(f"not as published: {key} = {used} (published: {was})" for key, (was, used) in other.items()),
        f"not options: the judges are those of preset {preset!r}, the prompts this package's own",
    ]
