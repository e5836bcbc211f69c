"""The judges file: which judges there are, how they are pooled, and how a configured judge is made.

Only names and bindings are here; how a judge answers is in the module of its provider.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.cues import CuesJudge
from lunguage_assets.judges.lexicon import LexiconJudge
from lunguage_assets.judges.protocol import Judge

PANEL = "panel"
"""The ranker that pools the active preset's panel; every other ranker is one judge alone."""

_KEY = re.compile(r"[a-z0-9._-]+")

PROVIDERS: Mapping[str, Callable[[str], Judge]] = MappingProxyType({"cues": CuesJudge.bundled, "lexicon": LexiconJudge.bundled})
"""Provider name -> how to make a judge of that provider under a key."""


def _checked_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(f"key {key!r} is not usable; expected lower-case letters, digits, '.', '_' and '-' only")
    if key == PANEL:
        raise ValueError(f"key {PANEL!r} is reserved for the active preset's panel")
    return key


def _checked_provider(provider: str) -> str:
    if provider not in PROVIDERS:
        raise ValueError(f"provider {provider!r} is not known; expected one of {', '.join(sorted(PROVIDERS))}")
    return provider


Key = Annotated[str, AfterValidator(_checked_key)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgeSlot(_Part):
    """One `[judges.KEY]` table."""

    provider: Annotated[str, AfterValidator(_checked_provider)]
    description: str = ""


class Panel(_Part):
    """One `[panels.NAME]` table; the order of the members is the order in which their answers are used."""

    members: tuple[Key, ...] = Field(min_length=1)

    @field_validator("members")
    @classmethod
    def _distinct(cls, members: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(members)) != len(members):
            raise ValueError("a judge is named twice; expected every member once")
        return members


class Preset(_Part):
    """One `[presets.NAME]` table: the panel that ranks and fits, and the judge that extracts."""

    panel: str
    extractor: Key


class JudgesConfiguration(_Part):
    """A valid judges file. `judges`, `panels` and `presets` keep the file's order."""

    preset: str
    judges: dict[Key, JudgeSlot] = Field(min_length=1)
    panels: dict[Key, Panel] = Field(min_length=1)
    presets: dict[Key, Preset] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_exist(self) -> JudgesConfiguration:
        _expect("preset", self.preset, self.presets, "presets")
        for name, panel in self.panels.items():
            for member in panel.members:
                _expect(f"panels.{name}.members", member, self.judges, "judges")
        for name, preset in self.presets.items():
            _expect(f"presets.{name}.panel", preset.panel, self.panels, "panels")
            _expect(f"presets.{name}.extractor", preset.extractor, self.judges, "judges")
        return self

    @property
    def panel_members(self) -> tuple[str, ...]:
        """Judges of the active preset's panel, in panel order."""
        return self.panels[self.presets[self.preset].panel].members

    @property
    def extractor(self) -> str:
        """Judge of the active preset that extracts the hedging phrases."""
        return self.presets[self.preset].extractor

    @property
    def rankers(self) -> tuple[str, ...]:
        """`panel`, then every judge: the paper's "all" and single-model configurations."""
        return (PANEL, *self.judges)

    def members(self, ranker: str) -> tuple[str, ...]:
        """Judges that a ranker pools, in panel order.

        Raises:
            ConfigurationError: no such ranker.
        """
        if ranker == PANEL:
            return self.panel_members
        if ranker in self.judges:
            return (ranker,)
        raise ConfigurationError(
            f"ranker {ranker!r} is not known; expected one of {', '.join(self.rankers)}. Add the judge to the judges file."
        )


def load_judges(path: Path | None = None) -> JudgesConfiguration:
    """The judges file at `path`, or the bundled one.

    Raises:
        ConfigurationError: names the file and the field.
    """
    file = path if path is not None else resource("judges.toml")
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read ({type(error).__name__}). Name an existing judges file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{file}: not readable as TOML ({error}). Mend the judges file; a key stands once and for one model: a changed model gets a new key."
        ) from None
    try:
        return JudgesConfiguration.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"] if part != "[key]")
        raise ConfigurationError(f"{file}{', field ' + place if place else ''}: {problem['msg']}. Mend the judges file.") from None


def make_judge(key: str, configuration: JudgesConfiguration) -> Judge:
    """The judge of a slot.

    Raises:
        ConfigurationError: no such judge.
    """
    slot = configuration.judges.get(key)
    if slot is None:
        raise ConfigurationError(f"judge {key!r} is not known; expected one of {', '.join(configuration.judges)}. Add [judges.{key}].")
    return PROVIDERS[slot.provider](key)


def _expect(field: str, name: str, known: Mapping[str, Any], group: str) -> None:
    if name not in known:
        raise ValueError(f"{field} names {name!r}; expected one of {group}: {', '.join(known)}")
