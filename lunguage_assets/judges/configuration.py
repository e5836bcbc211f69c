"""The judges file: which judges there are and how they are pooled. The environment is not read here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from lunguage_assets.errors import ConfigurationError, did_you_mean
from lunguage_assets.judges.judge_config import (
    JudgeConfig,
    LLMJudgeConfig,
    OfflineJudgeConfig,
    TomlTable,
)
from lunguage_assets.packaged_data import read_as, resource

PANEL = "panel"
"""The ranker that pools the panel of the home's preset; that of another preset is named as the preset, and
every other ranker is one judge alone.
"""

RULES = "rules"
"""The offline structurer."""

RADGRAPH = "radgraph"
"""The structurer that takes delivered entities of RadGraph as findings."""

RADGRAPH_SECOND = "radgraph-2"
"""The same with what a second person annotated in the same reports."""

OFFLINE_STRUCTURERS = (RULES, RADGRAPH, RADGRAPH_SECOND)
"""Structurers of this package; every other one is a language model among the judges."""


def _free(key: str) -> str:
    if key in (PANEL, *OFFLINE_STRUCTURERS):
        raise ValueError(
            f"key {key!r} is reserved for the active preset's panel or a structurer"
        )
    return key


Key = Annotated[
    str, Field(pattern=r"^[a-z0-9_-][a-z0-9._-]{0,127}$"), AfterValidator(_free)
]


class Panel(TomlTable):
    """One `[panels.NAME]` table; the order of the members is the order in which their answers are used."""

    members: tuple[Key, ...] = Field(min_length=1)


class Preset(TomlTable):
    """One `[presets.NAME]` table. A candidate is asked and is a ranker of its own, but the panel does not
    pool it: a new judge is tried so, and no result of the panel changes.
    """

    panel: str
    extractor: Key
    candidates: tuple[Key, ...] = ()
    structurer: str = RULES


class JudgesConfiguration(TomlTable):
    """A valid judges file. `judges`, `panels` and `presets` keep the file's order."""

    preset: str
    judges: dict[Key, JudgeConfig] = Field(min_length=1)
    panels: dict[Key, Panel] = Field(min_length=1)
    presets: dict[Key, Preset] = Field(min_length=1)
    _panel_ranker: str = PrivateAttr(default=PANEL)

    @model_validator(mode="after")
    def _names_exist(self) -> JudgesConfiguration:
        _expect("preset", (self.preset,), self.presets)
        for name, panel in self.panels.items():
            _expect(f"panels.{name}.members", panel.members, self.judges)
            if copies := [key for key in panel.members if self._is_distilled(key)]:
                raise ValueError(
                    f"panels.{name}.members names {copies[0]!r}, a distilled model: it repeats those whom it "
                    "learnt from. Name it in candidates = [...] of a preset: it then ranks alone, beside them"
                )
            if len(set(panel.members)) != len(panel.members):
                raise ValueError(
                    f"panels.{name}.members names a judge twice; expected every member once"
                )
        for name, preset in self.presets.items():
            _expect(f"presets.{name}.panel", (preset.panel,), self.panels)
            extractors = [key for key in self.judges if not self._is_distilled(key)]
            _expect(f"presets.{name}.extractor", (preset.extractor,), extractors)
            _expect(f"presets.{name}.candidates", preset.candidates, self.judges)
            _expect(
                f"presets.{name}.structurer",
                (preset.structurer,),
                self.known_structurers,
            )
        return self

    def _is_distilled(self, key: str) -> bool:
        slot = self.judges[key]
        return isinstance(slot, OfflineJudgeConfig) and slot.provider == "distilled"

    @property
    def _active(self) -> Preset:
        return self.presets[self.preset]

    @property
    def panel_ranker(self) -> str:
        """The ranker that pools the active preset's panel."""
        return self._panel_ranker

    @property
    def panel_members(self) -> tuple[str, ...]:
        """Judges of the active preset's panel, in panel order."""
        return self.panels[self._active.panel].members

    @property
    def extractor(self) -> str:
        """Judge of the active preset that extracts the hedging phrases."""
        return self._active.extractor

    @property
    def structurer(self) -> str:
        """Who reads findings in raw reports, of `known_structurers`."""
        return self._active.structurer

    @property
    def structurers(self) -> tuple[str, ...]:
        """Those of this package, then the language models of the active preset."""
        return (*OFFLINE_STRUCTURERS, *self.models)

    @property
    def known_structurers(self) -> tuple[str, ...]:
        """Those of this package, and every language model of the file."""
        models = [
            key for key, slot in self.judges.items() if isinstance(slot, LLMJudgeConfig)
        ]
        return (*OFFLINE_STRUCTURERS, *models)

    @property
    def active_judges(self) -> tuple[str, ...]:
        """All judges of the active preset, in the file's order: only these are ever asked."""
        used = {
            *self.panel_members,
            self.extractor,
            *self._active.candidates,
            self.structurer,
        }
        return tuple(key for key in self.judges if key in used)

    @property
    def rankers(self) -> tuple[str, ...]:
        """The panel, then every judge of the preset's panel and every candidate, in the file's order."""
        alone = {*self.panel_members, *self._active.candidates}
        return (self.panel_ranker, *(key for key in self.judges if key in alone))

    @property
    def models(self) -> dict[str, LLMJudgeConfig]:
        """The language models among the active judges, by key."""
        return {
            key: slot
            for key in self.active_judges
            if isinstance(slot := self.judges[key], LLMJudgeConfig)
        }

    def judge_config(self, key: str) -> OfflineJudgeConfig | LLMJudgeConfig:
        """The table of a judge.

        Raises:
            ConfigurationError: no such judge.
        """
        if (slot := self.judges.get(key)) is None:
            raise ConfigurationError(
                f"judge {key!r} is not known; expected one of {', '.join(self.judges)}. Add [judges.{key}]."
            )
        return slot

    def members(self, ranker: str) -> tuple[str, ...]:
        """Judges that a ranker pools, in panel order.

        Raises:
            ConfigurationError: no such ranker.
        """
        if ranker == self.panel_ranker:
            return self.panel_members
        if ranker in self.rankers:
            return (ranker,)
        raise ConfigurationError(
            f"ranker {ranker!r} is not known; expected one of {', '.join(self.rankers)}. Choose the preset "
            f"whose panel it is in, or name it in candidates = [...] of [presets.{self.preset}]."
        )


def load_judges(
    path: Path | None = None,
    preset: str | None = None,
    structurer: str | None = None,
    *,
    of_home: str = "",
    variables: Mapping[str, str] | None = None,
) -> JudgesConfiguration:
    """The judges file at `path`, or the bundled one; `preset` is active, or the home's, or the file's own.

    `of_home` is the preset of the home: the panel of another one ranks under the name of its preset.
    `structurer` stands in for the preset's own. `variables` are the names of the environment variables from
    which `judges_file`, `preset` and `structurer` came: a message names the variable and never its value,
    which may be anything, a key too.

    Raises:
        ConfigurationError: names the file and the field.
    """
    file = path or resource("judges.toml")
    remedy = "Fix the judges file; a key stands once and for one model: a changed model gets a new key."
    variables = variables or {}
    if "judges_file" in variables and not file.is_file():
        raise ConfigurationError(
            f"${variables['judges_file']} names no file. Fix or unset it."
        )
    configuration = read_as(file, JudgesConfiguration, remedy)
    chosen = preset or of_home or configuration.preset
    if chosen not in configuration.presets:
        expected = f"expected one of {', '.join(configuration.presets)}"
        nearest = did_you_mean(chosen, configuration.presets)
        if preset and "preset" in variables:
            raise ConfigurationError(
                f"${variables['preset']} names no preset of {file}; {expected}.{nearest} Fix or unset it."
            )
        named_by = "--preset" if preset else "settings.toml"
        raise ConfigurationError(
            f"{named_by}: preset {chosen!r} is not in {file}; {expected}.{nearest}"
        )
    active, known = configuration.presets[chosen], configuration.known_structurers
    if structurer is not None and structurer not in known:
        expected = f"expected one of {', '.join(known)}"
        if "structurer" in variables:
            raise ConfigurationError(
                f"${variables['structurer']} names no structurer of {file}; {expected}. Fix or unset it."
            )
        raise ConfigurationError(
            f"structurer {structurer!r} is not known in {file}; {expected}. Choose one with --structurer or "
            "$LUNGUAGE_STRUCTURER."
        )
    active = active.model_copy(update={"structurer": structurer or active.structurer})
    presets = {**configuration.presets, chosen: active}
    loaded = configuration.model_copy(update={"preset": chosen, "presets": presets})
    if chosen != (of_home or chosen):
        loaded._panel_ranker = chosen
        if chosen in loaded.judges:
            raise ConfigurationError(
                f"{file}: preset {chosen!r} is named as a judge is, so that the two rankers cannot be told "
                "apart. Rename the preset."
            )
    return loaded


def _expect(field: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(
                f"{field} names {name!r}; expected one of {', '.join(known)}"
            )
