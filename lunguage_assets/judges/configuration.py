"""The judges file: which judges there are and how they are pooled.

What a judge's table may say is in `slots.py`; a judge is made in `opening.py`. The environment is not read
here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError, did_you_mean
from lunguage_assets.judges.slots import (
    MODEL_PROVIDERS,
    OFFLINE_PROVIDERS,
    JudgeSlot,
    ModelSlot,
    OfflineSlot,
    Part,
)

PANEL = "panel"
"""The ranker that pools the active preset's panel; every other ranker is one judge alone."""

PRESET_VARIABLE = "LUNGUAGE_PRESET"
"""Environment variable by which callers of `load_judges` let a person choose the preset."""

RULES = "rules"
"""The offline structurer; every other one is a language model among the judges."""

STRUCTURER_VARIABLE = "LUNGUAGE_STRUCTURER"
"""Environment variable that chooses another structurer than the preset's."""

_GONE = {
    **dict.fromkeys(
        ("batch_allowed", "batches", "batch_discount"), "providers' batch endpoints are not used any more"
    ),
    **dict.fromkeys(
        ("breaker_failures", "breaker_pause_s", "breaker_probes"),
        "a judge stops after 20 questions given up in a row",
    ),
}
"""Fields of judges files from before, and what became of them."""

_KEY = re.compile(r"(?!\.)[a-z0-9._-]{1,128}")


def _checked_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"key {key[:200]!r} is not usable; expected up to 128 lower-case letters, digits, '.', '_' and "
            "'-', and no '.' at the beginning"
        )
    if key == PANEL:
        raise ValueError(f"key {PANEL!r} is reserved for the active preset's panel")
    if key == RULES:
        raise ValueError(f"key {RULES!r} is reserved for the offline structurer")
    return key


Key = Annotated[str, AfterValidator(_checked_key)]


class Panel(Part):
    """One `[panels.NAME]` table; the order of the members is the order in which their answers are used."""

    members: tuple[Key, ...] = Field(min_length=1)

    @field_validator("members")
    @classmethod
    def _distinct(cls, members: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(members)) != len(members):
            raise ValueError("a judge is named twice; expected every member once")
        return members


class Preset(Part):
    """One `[presets.NAME]` table: the panel that ranks and fits, the judge that extracts, the candidates, and
    the structurer whose findings of raw reports are taken in.

    A candidate is asked and is a ranker of its own, but the panel does not pool it: a new judge is tried so,
    and no result of the panel changes.
    """

    panel: str
    extractor: Key
    candidates: tuple[Key, ...] = ()
    structurer: str = RULES


class JudgesConfiguration(Part):
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
            for candidate in preset.candidates:
                _expect(f"presets.{name}.candidates", candidate, self.judges, "judges")
            _expect(f"presets.{name}.structurer", preset.structurer, self.known_structurers, "structurers")
        return self

    @property
    def _active(self) -> Preset:
        return self.presets[self.preset]

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
        """Who reads findings in raw reports: `rules`, or a language model among the judges."""
        return self._active.structurer

    @property
    def structurers(self) -> tuple[str, ...]:
        """`rules`, then the language models of the active preset, its structurer among them."""
        return (RULES, *self.models)

    @property
    def known_structurers(self) -> tuple[str, ...]:
        """`rules`, and every language model of the file."""
        return (RULES, *(key for key, slot in self.judges.items() if isinstance(slot, ModelSlot)))

    @property
    def active_judges(self) -> tuple[str, ...]:
        """Judges of the active preset, its panel, its extractor, its candidates and its structurer, in the
        file's order: only these are ever asked.
        """
        used = {*self.panel_members, self.extractor, *self._active.candidates, self.structurer}
        return tuple(key for key in self.judges if key in used)

    @property
    def rankers(self) -> tuple[str, ...]:
        """`panel`, then every judge of the active preset's panel, and every candidate, in the file's order.

        These are the paper's "all" and single-model configurations.
        """
        return (
            PANEL,
            *(key for key in self.judges if key in self.panel_members or key in self._active.candidates),
        )

    @property
    def models(self) -> dict[str, ModelSlot]:
        """The language models among the active judges, by key."""
        slots = ((key, self.judges[key]) for key in self.active_judges)
        return {key: slot for key, slot in slots if isinstance(slot, ModelSlot)}

    def slot(self, key: str) -> OfflineSlot | ModelSlot:
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
        if ranker == PANEL:
            return self.panel_members
        if ranker in self.rankers:
            return (ranker,)
        raise ConfigurationError(
            f"ranker {ranker!r} is not known; expected one of {', '.join(self.rankers)}. "
            f"Name the judge in candidates = [...] of [presets.{self.preset}] in the judges file, "
            "or choose the preset whose panel it is in."
        )


def load_judges(
    path: Path | None = None,
    preset: str | None = None,
    structurer: str | None = None,
    *,
    chosen_by: str = f"--preset or ${PRESET_VARIABLE}",
) -> JudgesConfiguration:
    """The judges file at `path`, or the bundled one, with `preset` active, or the file's own.

    `structurer` stands in for the preset's own; `chosen_by` is the option that names the preset.

    Raises:
        ConfigurationError: names the file and the field.
    """
    file = path if path is not None else resource("judges.toml")
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"{file}: cannot be read ({type(error).__name__}). Name an existing judges file."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{file}: not readable as TOML ({error}). Fix the judges file; a key stands once and "
            "for one model: a changed model gets a new key."
        ) from None
    try:
        configuration = JudgesConfiguration.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError(f"{file}{_problem(error)}. Fix the judges file.") from None
    chosen = preset or configuration.preset
    if chosen not in configuration.presets:
        raise ConfigurationError(
            f"{chosen_by}: preset {chosen!r} is not in {file}; expected one of "
            f"{', '.join(configuration.presets)}.{did_you_mean(chosen, configuration.presets)}"
        )
    configuration = configuration.model_copy(update={"preset": chosen})
    return configuration if structurer is None else _structured_by(configuration, structurer, file)


def _structured_by(configuration: JudgesConfiguration, structurer: str, file: Path) -> JudgesConfiguration:
    known = configuration.known_structurers
    if structurer not in known:
        raise ConfigurationError(
            f"structurer {structurer!r} is not known in {file}; expected one of {', '.join(known)}. Choose "
            f"one with --structurer or ${STRUCTURER_VARIABLE}."
        )
    chosen = configuration.presets[configuration.preset].model_copy(update={"structurer": structurer})
    presets = {**configuration.presets, configuration.preset: chosen}
    return configuration.model_copy(update={"presets": presets})


def _problem(error: ValidationError) -> str:
    """Field and complaint of the first problem."""
    problem = error.errors(include_url=False)[0]
    place = [str(part) for part in problem["loc"] if part != "[key]"]
    if place[:1] == ["judges"] and place[2:3] and place[2] in (*OFFLINE_PROVIDERS, *MODEL_PROVIDERS):
        del place[2]  # the provider by which the kind of table was recognised
    message = problem["msg"]
    if problem["type"] in ("union_tag_invalid", "union_tag_not_found"):
        place.append("provider")
        known = f"expected one of {', '.join(OFFLINE_PROVIDERS)}, {', '.join(MODEL_PROVIDERS)}"
        message = (
            f"provider {problem['ctx']['tag']!r} is not known; {known}"
            if "tag" in problem.get("ctx", {})
            else f"is missing; {known}"
        )
    if problem["type"] == "extra_forbidden" and place[-1] in _GONE:
        message = f"{_GONE[place[-1]]}; delete this field"
    return f"{', field ' + '.'.join(place) if place else ''}: {message}"


def _expect(field: str, name: str, known: Collection[str], group: str) -> None:
    if name not in known:
        raise ValueError(f"{field} names {name!r}; expected one of {group}: {', '.join(known)}")
