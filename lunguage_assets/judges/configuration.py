"""The judges file: which judges there are, and how they are pooled.

One judge's table is `judge_config.py`. The environment is not read here, but in
`lunguage_assets.configuration`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from lunguage_assets.errors import ConfigurationError, did_you_mean
from lunguage_assets.judges.judge_config import (
    JudgeConfig,
    LLMJudgeConfig,
    TomlTable,
)
from lunguage_assets.packaged_data import read_as, resource

PANEL = "panel"
"""The ranker that pools the panel of the home's preset; that of another preset is named
as the preset, and every other ranker is one judge alone.
"""

RULES = "rules"
"""The offline structurer; every other one is a language model among the judges."""

_REMEDY = (
    "Fix the judges file; a key stands once and for one model: a changed model gets a "
    "new key."
)


def _unreserved(key: str) -> str:
    if key in (PANEL, RULES):
        raise ValueError(
            f"key {key!r} is reserved for the active preset's panel or the rules"
        )
    return key


Key = Annotated[
    str, Field(pattern=r"^[a-z0-9_-][a-z0-9._-]{0,127}$"), AfterValidator(_unreserved)
]


class Panel(TomlTable):
    """One `[panels.NAME]` table.

    The order of the members is the order in which their answers are used.
    """

    members: tuple[Key, ...] = Field(min_length=1)


class Preset(TomlTable):
    """One `[presets.NAME]` table.

    A candidate is asked and is a ranker of its own, but the panel does not pool it: a
    new judge is tried so, and no result of the panel changes.
    """

    panel: str
    extractor: Key
    candidates: tuple[Key, ...] = ()
    structurer: str = RULES
    second_reader: str = ""
    """The language model that reads what the rules leave unresolved; empty: none."""


@dataclass(frozen=True)
class JudgesConfiguration:
    """A valid judges file with one preset active.

    Attributes:
        judges: all tables of the file, by key, in its order.
        preset: that is active.
        panel_ranker: the ranker that pools its panel.
        panel_members: judges of the panel, in panel order.
        rankers: the panel, then each of its judges and candidates, in the file's order.
        extractor: the judge that extracts the hedging phrases.
        structurer: who reads findings in raw reports.
        second_reader: who reads what the rules leave unresolved; empty: nobody.
    """

    judges: dict[str, JudgeConfig]
    preset: str
    panel_ranker: str
    panel_members: tuple[str, ...]
    rankers: tuple[str, ...]
    extractor: str
    structurer: str
    second_reader: str

    @property
    def active_judges(self) -> tuple[str, ...]:
        """All judges of the active preset, in the file's order: no others are asked."""
        active = {*self.rankers, self.extractor, self.structurer, self.second_reader}
        return tuple(key for key in self.judges if key in active)

    @property
    def models(self) -> dict[str, LLMJudgeConfig]:
        """The language models among the active judges, by key."""
        return {
            key: config
            for key in self.active_judges
            if isinstance(config := self.judges[key], LLMJudgeConfig)
        }

    @property
    def structurers(self) -> tuple[str, ...]:
        """The rules, then the language models of the active preset."""
        return (RULES, *self.models)

    def members(self, ranker: str) -> tuple[str, ...]:
        """List the judges that a ranker pools, in panel order.

        Raises:
            ConfigurationError: no such ranker.
        """
        if ranker == self.panel_ranker:
            return self.panel_members
        if ranker in self.rankers:
            return (ranker,)
        raise ConfigurationError(
            f"ranker {ranker!r} (--ranker) is unknown; expected one of "
            f"{', '.join(self.rankers)}.{did_you_mean(ranker, self.rankers)} "
            "A judge of the judges file takes part as a member of the panel, or as one "
            f"of candidates = [...] of [presets.{self.preset}]."
        )


class JudgesFile(TomlTable):
    """The content of a judges file."""

    preset: str
    judges: dict[Key, JudgeConfig] = Field(min_length=1)
    panels: dict[Key, Panel] = Field(min_length=1)
    presets: dict[Key, Preset] = Field(min_length=1)

    @property
    def structurers(self) -> list[str]:
        """The rules, and every language model of the file."""
        models = [
            key
            for key, config in self.judges.items()
            if isinstance(config, LLMJudgeConfig)
        ]
        return [RULES, *models]

    @model_validator(mode="after")
    def _check_names(self) -> JudgesFile:
        # A distilled model repeats those whom it learnt from, and names no phrases.
        judges = [
            key for key, config in self.judges.items() if config.provider != "distilled"
        ]
        _require_known("preset", self.preset, self.presets)
        for name, panel in self.panels.items():
            field = f"panels.{name}.members"
            _require_known(field, panel.members, judges)
            if len(set(panel.members)) != len(panel.members):
                raise ValueError(f"{field} names a judge twice; expected each once")
        choices_by_field = {
            "panel": self.panels,
            "extractor": judges,
            "candidates": self.judges,
            "structurer": self.structurers,
            # The first of the structurers are the rules, which do not read again.
            "second_reader": ["", *self.structurers[1:]],
        }
        for name, preset in self.presets.items():
            for field, choices in choices_by_field.items():
                named = getattr(preset, field)
                _require_known(f"presets.{name}.{field}", named, choices)
        return self


def load_judges(
    path: Path | None = None,
    preset: str | None = None,
    structurer: str | None = None,
    *,
    of_home: str = "",
) -> JudgesConfiguration:
    """Load a judges file with one preset active.

    Args:
        path: of the file; None: the bundled one.
        preset: that is active; None: the home's, or the file's own.
        structurer: stands in for the preset's own.
        of_home: preset of the home. The panel of another one ranks under the name of
            its preset, so that both keep their results.

    Raises:
        ConfigurationError: names the file and the field.
    """
    source = path or resource("judges.toml")
    file = read_as(source, JudgesFile, _REMEDY)
    name = preset or of_home or file.preset
    _require_choice(source, "preset", name, file.presets)
    _require_choice(source, "structurer", structurer or RULES, file.structurers)
    chosen = file.presets[name]
    members = file.panels[chosen.panel].members
    panel_ranker = PANEL if name == (of_home or name) else name
    ranking = {*members, *chosen.candidates}
    reading = structurer or chosen.structurer
    return JudgesConfiguration(
        judges=file.judges,
        preset=name,
        panel_ranker=panel_ranker,
        panel_members=members,
        rankers=(panel_ranker, *(key for key in file.judges if key in ranking)),
        extractor=chosen.extractor,
        structurer=reading,
        second_reader=chosen.second_reader if reading == RULES else "",
    )


def _require_choice(
    source: Path, field: str, value: str, choices: Collection[str]
) -> None:
    if value not in choices:
        raise ConfigurationError(
            f"{source} has no {field} {value!r}; expected one of "
            f"{', '.join(choices)}.{did_you_mean(value, choices)} Name one of them "
            f"with --{field} or $LUNGUAGE_{field.upper()}."
        )


def _require_known(
    field: str, named: str | Sequence[str], choices: Collection[str]
) -> None:
    keys = [named] if isinstance(named, str) else named
    for key in keys:
        if key not in choices:
            expected = ", ".join(filter(None, choices))
            raise ValueError(f"{field} names {key!r}; expected one of {expected}")
