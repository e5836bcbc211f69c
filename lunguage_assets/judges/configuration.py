"""The judges file: which judges there are, and how they are pooled.

One judge's table is `judge_config.py`. The environment is not read here, but in
`lunguage_assets.configuration`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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


class JudgesConfiguration(TomlTable):
    """A valid judges file. `judges`, `panels` and `presets` keep the file's order."""

    preset: str
    judges: dict[Key, JudgeConfig] = Field(min_length=1)
    panels: dict[Key, Panel] = Field(min_length=1)
    presets: dict[Key, Preset] = Field(min_length=1)
    _panel_ranker: str = PrivateAttr(default=PANEL)
    _other_structurer: str | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _check_names(self) -> JudgesConfiguration:
        # A distilled model repeats those whom it learnt from, and names no phrases.
        judges = [
            key for key in self.judges if self.judges[key].provider != "distilled"
        ]
        _require_known("preset", [self.preset], self.presets)
        for name, panel in self.panels.items():
            _require_known(f"panels.{name}.members", panel.members, judges)
            if len(set(panel.members)) != len(panel.members):
                raise ValueError(
                    f"panels.{name}.members names a judge twice; expected every member "
                    "once"
                )
        for name, preset in self.presets.items():
            field = f"presets.{name}"
            _require_known(f"{field}.panel", [preset.panel], self.panels)
            _require_known(f"{field}.extractor", [preset.extractor], judges)
            _require_known(f"{field}.candidates", preset.candidates, self.judges)
            structurers = self.known_structurers
            _require_known(f"{field}.structurer", [preset.structurer], structurers)
            # The first of them are the rules, which do not read again.
            readers = ["", *structurers[1:]]
            _require_known(f"{field}.second_reader", [preset.second_reader], readers)
        return self

    @property
    def _active_preset(self) -> Preset:
        return self.presets[self.preset]

    @property
    def panel_ranker(self) -> str:
        """The ranker that pools the active preset's panel."""
        return self._panel_ranker

    @property
    def panel_members(self) -> tuple[str, ...]:
        """Judges of the active preset's panel, in panel order."""
        return self.panels[self._active_preset.panel].members

    @property
    def extractor(self) -> str:
        """Judge of the active preset that extracts the hedging phrases."""
        return self._active_preset.extractor

    @property
    def structurer(self) -> str:
        """Who reads findings in raw reports, of `known_structurers`."""
        return self._other_structurer or self._active_preset.structurer

    @property
    def second_reader(self) -> str:
        """Who reads what the rules leave unresolved; empty: nobody."""
        is_of_rules = self.structurer == RULES
        return self._active_preset.second_reader if is_of_rules else ""

    @property
    def structurers(self) -> tuple[str, ...]:
        """The rules, then the language models of the active preset."""
        return (RULES, *self.models)

    @property
    def known_structurers(self) -> tuple[str, ...]:
        """The rules, and every language model of the file."""
        return (RULES, *_models(self.judges))

    @property
    def active_judges(self) -> tuple[str, ...]:
        """All judges of the active preset, in the file's order: no others are asked."""
        active = {*self.rankers, self.extractor, self.structurer, self.second_reader}
        return tuple(key for key in self.judges if key in active)

    @property
    def rankers(self) -> tuple[str, ...]:
        """The panel, then each of its judges and candidates, in the file's order."""
        single = {*self.panel_members, *self._active_preset.candidates}
        return (self.panel_ranker, *(key for key in self.judges if key in single))

    @property
    def models(self) -> dict[str, LLMJudgeConfig]:
        """The language models among the active judges, by key."""
        return _models({key: self.judges[key] for key in self.active_judges})

    def judge_config(self, key: str) -> OfflineJudgeConfig | LLMJudgeConfig:
        """Find the table of a judge.

        Raises:
            ConfigurationError: no such judge.
        """
        if key not in self.judges:
            raise ConfigurationError(
                f"judge {key!r} is not known; expected one of "
                f"{', '.join(self.judges)}. Add [judges.{key}]."
            )
        return self.judges[key]

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
            f"ranker {ranker!r} is not known; expected one of "
            f"{', '.join(self.rankers)}. Choose the preset whose panel it is in, or "
            f"name it in candidates = [...] of [presets.{self.preset}]."
        )


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
    file = path or resource("judges.toml")
    configuration = read_as(file, JudgesConfiguration, _REMEDY)
    name = preset or of_home or configuration.preset
    for field, value, choices in (
        ("preset", name, tuple(configuration.presets)),
        ("structurer", structurer or RULES, configuration.known_structurers),
    ):
        if value not in choices:
            raise ConfigurationError(
                f"{file} has no {field} {value!r}; expected one of "
                f"{', '.join(choices)}.{did_you_mean(value, choices)} Name one of them "
                f"with --{field} or $LUNGUAGE_{field.upper()}."
            )
    # `model_copy` checks nothing: both names were checked.
    loaded = configuration.model_copy(update={"preset": name})
    loaded._other_structurer = structurer
    if of_home and name != of_home:
        if name in loaded.judges:
            raise ConfigurationError(
                f"{file}: preset {name!r} is named as a judge is, so that the two "
                "rankers cannot be told apart. Rename the preset."
            )
        loaded._panel_ranker = name
    return loaded


def _models(judges: Mapping[str, JudgeConfig]) -> dict[str, LLMJudgeConfig]:
    """Take the language models among judges, by key."""
    return {
        key: judge for key, judge in judges.items() if isinstance(judge, LLMJudgeConfig)
    }


def _require_known(field: str, names: Sequence[str], expected: Collection[str]) -> None:
    for name in names:
        if name not in expected:
            choices = ", ".join(filter(None, expected))
            raise ValueError(f"{field} names {name!r}; expected one of {choices}")
