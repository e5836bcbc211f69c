"""Options of the method, validated where they are read.

Three layers: the defaults of `resources/settings.toml`, which says what each option
means; with `as_published = true` the paper's, `resources/as_published.toml`; and
`settings.toml` of the home, which overrides single values. Constants of the method that
are not options, such as TrueSkill's, stand beside the code that uses them. What differs
from one command to the next is in `configuration`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from lunguage_assets.errors import ConfigurationError, did_you_mean
from lunguage_assets.packaged_data import resource

Share = Annotated[float, Field(ge=0.0, le=1.0)]
DataClass = Literal["synthetic", "credentialed"]
"""What a corpus holds: invented text, or text under a data use agreement."""


class _Options(BaseModel):
    """Options of a group."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CorpusSettings(_Options):
    """Reading a corpus (implicit.md section 1)."""

    default_view: str = ""
    batch_reports: int = Field(default=20_000, ge=1)


class ExplicitSettings(_Options):
    """Hedging phrases to probabilities (explicit.md)."""

    seed: int = Field(default=0, ge=0)
    reference_scale: Literal["auto", "own", "published"] = "auto"
    reference_scale_minimum: int = Field(default=20, ge=2)
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
    out_of_distribution: Literal["phrases", "panel"] = "phrases"


class ImplicitSettings(_Options):
    """Deduplicate, match, expand, resolve (implicit.md)."""

    mode: Literal["method", "paper"] = "method"
    encoder: Literal["lexical", "sentence"] = "lexical"
    encoder_model: str = Field(default="FremyCompany/BioLORD-2023", min_length=1)
    encoder_revision: str = ""
    encoder_device: str = Field(default="auto", min_length=1)
    encoder_batch_size: int = Field(default=64, ge=1)
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
    def _is_known(cls, time_zone: str) -> str:
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
    """Read the options that hold in a home.

    Args:
        home_file: its `settings.toml`, which need not exist.

    Raises:
        ConfigurationError: the file cannot be read, or an option is unknown or wrong.
    """
    home_values: dict[str, Any] = {}
    if home_file is not None and home_file.exists():
        home_values = _read(home_file)
    values = _read(resource("settings.toml"))
    # Later layers win: what the home says goes before what the paper states.
    if home_values.get("as_published") is True:
        _override(values, published_options())
    _override(values, home_values)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError(f"{home_file}{_problem_of(error)}") from None


def published_options() -> dict[str, dict[str, Any]]:
    """Read the options that the paper states, by group."""
    return _read(resource("as_published.toml"))


def departures(settings: Settings) -> dict[str, tuple[Any, Any]]:
    """Find the options that are not as published.

    Returns:
        `group.option` -> (published value, used value).
    """
    departing: dict[str, tuple[Any, Any]] = {}
    for group, published_values in published_options().items():
        options = getattr(settings, group)
        for name, published in published_values.items():
            used = getattr(options, name)
            if used != published:
                departing[f"{group}.{name}"] = (published, used)
    return departing


def _override(values: dict[str, Any], layer: Mapping[str, Any]) -> None:
    """Put the options of a layer over values, group by group."""
    for group, options in layer.items():
        options_below = values.get(group, {})
        # What is no group, such as `strict`, or stands where a group should, replaces.
        if isinstance(options, dict) and isinstance(options_below, dict):
            values[group] = {**options_below, **options}
        else:
            values[group] = options


def _problem_of(error: ValidationError) -> str:
    """Name the first wrong option, and what to do about it."""
    problem = error.errors()[0]
    option = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f": unknown option {option!r}. {_nearest_option(option)}"
    remedy = "Fix the option or remove it to take the default."
    return f", option {option}: {problem['msg']}. {remedy}"


def _nearest_option(option: str) -> str:
    """Suggest the option of the same group that a mistyped one may have meant."""
    group, _, name = option.rpartition(".")
    names = _read(resource("settings.toml"))
    if group:
        names = names.get(group, {})
    suggestion = did_you_mean(name, names).strip()
    return suggestion or "resources/settings.toml lists all options."


def _read(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises `ConfigurationError` where it cannot be parsed."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        # Of TOML, of UTF-8, or of a number of thousands of digits.
        raise ConfigurationError(f"{path}: not readable as TOML ({error}).") from None
    except RecursionError:
        raise ConfigurationError(
            f"{path}: not readable as TOML (too many brackets in brackets). "
            "Remove them."
        ) from None
