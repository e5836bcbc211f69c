"""Options of the method, validated at the edge.

Defaults are in `resources/settings.toml`, which says what each option means; a file `settings.toml` in the
home overrides single values. With `as_published = true` in it the options of `resources/as_published.toml`
stand between the two. The constants of the method that are not options (TrueSkill's, for instance) live
beside the code that uses them.
"""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from lunguage_assets.errors import ConfigurationError, did_you_mean
from lunguage_assets.packaged_data import resource

Share = Annotated[float, Field(ge=0.0, le=1.0)]
DataClass = Literal["synthetic", "credentialed"]
"""What a corpus holds: invented text, or text under a data use agreement."""


RETIRED = {
    ("release", "p_estimate"): (
        "It did not rank implied findings better than their bound, which every release has "
        "(docs/method/implicit.md, section 4)."
    )
}
"""Options that went, by group and name -> what to use instead; still accepted for one version."""


class _Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CorpusSettings(_Options):
    """Reading a corpus (implicit.md section 1)."""

    default_view: str = ""
    batch_reports: int = Field(default=20_000, ge=1)


class ExplicitSettings(_Options):
    """Hedging phrases to probabilities (explicit.md)."""

    seed: int = Field(default=0, ge=0)
    ruler: Literal["auto", "own", "published"] = "auto"
    ruler_minimum: int = Field(default=20, ge=2)
    minimum_examples: int = Field(default=10, ge=1)
    repetitions: int = Field(default=10, ge=1)
    position: Literal["coin", "fixed"] = "coin"
    orders: int = Field(default=10, ge=1)
    bootstrap: int = Field(default=200, ge=0)
    opponent_limit: int = Field(default=5, ge=1)
    panel_steps: int = Field(default=10, ge=0)
    patience: int = Field(default=10, ge=1)
    step_limit: int = Field(default=100, ge=1, le=100)
    fit_log: bool = True
    fit: Literal["panel", "distilled"] = "panel"
    anchors: str = ""


class DistilledSettings(_Options):
    """A small model that learns the panel's judgement (docs/distilled.md)."""

    encoder: str = Field(default="sentence-transformers/all-MiniLM-L6-v2", min_length=1)
    revision: str = ""
    device: str = Field(default="auto", min_length=1)
    tune: bool = Field(default=False, strict=True)
    epochs: int = Field(default=4, ge=1)
    unlike: Literal["phrases", "panel"] = "phrases"


class ImplicitSettings(_Options):
    """Deduplicate, match, expand, resolve (implicit.md)."""

    mode: Literal["method", "paper"] = "method"
    encoder: Literal["lexical", "sentence", "precomputed"] = "lexical"
    encoder_model: str = Field(default="FremyCompany/BioLORD-2023", min_length=1)
    encoder_revision: str = ""
    encoder_device: str = Field(default="auto", min_length=1)
    encoder_batch_size: int = Field(default=64, ge=1)
    encoder_vectors: str = ""
    merge_threshold: float = Field(default=0.9, gt=0.0, le=1.0)
    history: Literal["exclude", "keep"] = "exclude"


class AutomationSettings(_Options):
    """Automatic runs (docs/dagster.md)."""

    enabled: bool = False
    nightly: str = "0 2 * * *"
    time_zone: str = "UTC"
    interval_s: int = Field(default=30, ge=1)

    @field_validator("time_zone")
    @classmethod
    def _known(cls, time_zone: str) -> str:
        try:
            ZoneInfo(time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f"found {time_zone!r}; expected such as 'UTC' or 'Europe/Berlin'"
            ) from None
        return time_zone


class LandingSettings(_Options):
    """The folder in which new reports land (docs/dagster.md)."""

    url: str = ""
    stable_s: float = Field(default=30.0, ge=0.0)
    interval_s: int = Field(default=30, ge=1)


class ReleaseSettings(_Options):
    """The bundle (docs/reports.md)."""

    keep: int = Field(default=0, ge=0)


class CheckSettings(_Options):
    """Limits of the checks that no file in `expectations/` can hold (docs/ui.md)."""

    rejected_share: Share = 0.05
    drift_distance: Share = 0.10
    unusable_share: Share = 0.05


class Settings(_Options):
    """All options."""

    as_published: bool = Field(default=False, strict=True)
    strict: bool = Field(default=False, strict=True)
    preset: str = ""
    corpus: CorpusSettings = CorpusSettings()
    explicit: ExplicitSettings = ExplicitSettings()
    distilled: DistilledSettings = DistilledSettings()
    implicit: ImplicitSettings = ImplicitSettings()
    checks: CheckSettings = CheckSettings()
    release: ReleaseSettings = ReleaseSettings()
    landing: LandingSettings = LandingSettings()
    automation: AutomationSettings = AutomationSettings()


def load_settings(home_file: Path | None = None) -> Settings:
    """The defaults, overridden by the home's own file when there is one.

    Where that file says `as_published = true`, the paper's options override the defaults before it. Raises
    `ConfigurationError`: an unreadable file or an unknown or wrong option, which is named.
    """
    values = _read(resource("settings.toml"))
    own = _read(home_file) if home_file is not None and home_file.exists() else {}
    _drop_retired(own, home_file)
    for layer in (published_options() if own.get("as_published") is True else {}, own):
        for group, options in layer.items():
            is_group = isinstance(options, dict) and isinstance(
                values.get(group, {}), dict
            )
            values[group] = (
                {**values.get(group, {}), **options} if is_group else options
            )
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        remedy = "Fix the option or remove it to take the default."
        if problem["type"] == "extra_forbidden":
            *groups, name = map(str, problem["loc"])
            known = _read(resource("settings.toml"))
            remedy = did_you_mean(
                name, known.get(groups[0], {}) if groups else known
            ).strip()
            remedy = remedy or "resources/settings.toml lists all options."
            raise ConfigurationError(
                f"{home_file}: unknown option {place!r}. {remedy}"
            ) from None
        raise ConfigurationError(
            f"{home_file}, option {place}: {problem['msg']}. {remedy}"
        ) from None


def _drop_retired(values: dict[str, Any], file: Path | None) -> None:
    """Take the options that went out of a home's values, and say what to use instead."""
    for (group, name), instead in RETIRED.items():
        options = values.get(group)
        if isinstance(options, dict) and options.pop(name, None) is not None:
            # Of a kind that Python shows to users by default, once for each text.
            warnings.warn(
                f"{file}: {group}.{name} is ignored. {instead} Remove the line; the next version refuses it.",
                FutureWarning,
                stacklevel=3,
            )


def published_options() -> dict[str, dict[str, Any]]:
    """The options that the paper states, by group."""
    return _read(resource("as_published.toml"))


def departures(settings: Settings) -> dict[str, tuple[Any, Any]]:
    """Options that are not as published, `group.option` -> (published, used)."""
    used = settings.model_dump()
    return {
        f"{group}.{name}": (value, used[group][name])
        for group, options in published_options().items()
        for name, value in options.items()
        if used[group][name] != value
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (
        ValueError
    ) as error:  # of TOML, of UTF-8, and a number of thousands of digits
        raise ConfigurationError(f"{path}: not readable as TOML ({error}).") from None
    except RecursionError:
        found = "too many brackets in brackets"
        raise ConfigurationError(
            f"{path}: not readable as TOML ({found}). Remove them."
        ) from None
