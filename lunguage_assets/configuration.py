"""The configuration of one process: a home, and what is chosen for it.

What a caller gives, as the command line does with its options, goes before
`$LUNGUAGE_...` of the environment (`docs/dagster.md` lists them). It says which
settings, judges and ledger hold. The options of
the method are in `settings`, the judges file in `judges.configuration`, and Dagster's
wrapping in `orchestration.resources`.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    NonNegativeFloat,
    PositiveInt,
    ValidationError,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.budget import Budget
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.permissions import require_private
from lunguage_assets.settings import DataClass, Settings, load_settings
from lunguage_assets.workspace.home import Home

# The ledger's SQLAlchemy and what opens judges are imported when they are needed:
# commands such as `lunguage batches` do without them, and would take a third longer.
if TYPE_CHECKING:
    from lunguage_assets.judges.ledger import Ledger
    from lunguage_assets.judges.opening import JudgeContext


def _home_at(folder: Home | Path | str) -> Home:
    if isinstance(folder, Home):
        return folder
    return Home(Path(folder).expanduser().resolve())


class Configuration(BaseSettings):
    """A home with everything that differs from one command or deployment to the next.

    Attributes:
        home: the folder with tables, settings and batches; it need not exist yet.
        judges_file: the user's own judges file; None: the bundled one.
        preset: of the judges file; None: the home's, else the file's own.
        structurer: who reads raw reports; None: the preset's.
        ledger: file or PostgreSQL URL of the paid answers; None: in the home.
        budget: US dollars that this process may spend.
        daily_budget: US dollars within 24 hours, for all who share the ledger.
        strict: a study that breaks a rule ends the run, whatever the settings say.
        processes: how many compute one batch; None: as many as there are cores.
        release_to: folder in which `release/<ranker>/` is written; None: the home.
    """

    model_config = SettingsConfigDict(
        env_prefix="LUNGUAGE_",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        validate_default=True,
    )

    home: Annotated[Home, NoDecode, BeforeValidator(_home_at)] = Home(Path(".lunguage"))
    judges_file: Path | None = Field(default=None, validation_alias="LUNGUAGE_JUDGES")
    preset: str | None = None
    structurer: str | None = None
    # Its URL may hold a password.
    ledger: str | None = Field(default=None, repr=False)
    budget: NonNegativeFloat | None = None
    daily_budget: NonNegativeFloat | None = None
    strict: bool = False
    processes: PositiveInt | None = None
    release_to: Path | None = None

    def __init__(self, home: Home | Path | None = None, **options: Any) -> None:
        """Take what is given, and the rest from the environment.

        Args:
            home: None: the one that `$LUNGUAGE_HOME` names.
            options: fields by name.

        Raises:
            ConfigurationError: a value is of no use, or the home has the layout of
                another version.
        """
        if home is not None:
            options["home"] = home
        try:
            super().__init__(**options)
        except ValidationError as error:
            problem = error.errors()[0]
            field = str(problem["loc"][0])
            raise ConfigurationError(
                f"{field} ($LUNGUAGE_{field.upper()}): found {problem['input']!r}; "
                f"{problem['msg']}. Fix or unset it."
            ) from None
        self.home.require_this_layout()

    def reloaded(self) -> Configuration:
        """Make the same configuration for another run, which reads the files again."""
        fields = type(self).model_fields
        return Configuration(**{name: getattr(self, name) for name in fields})

    @property
    def settings(self) -> Settings:
        """The home's settings as they are now."""
        return load_settings(self.home.settings_file)

    @cached_property
    def judges(self) -> JudgesConfiguration:
        """The judges file with the preset and the structurer in force."""
        preset_of_home = ""
        # Broken settings stop whoever needs one of their options, with a message of
        # their own; `lunguage status` shows that message beside everything else.
        with suppress(ConfigurationError):
            preset_of_home = self.settings.preset
        return load_judges(
            self.judges_file, self.preset, self.structurer, of_home=preset_of_home
        )

    @property
    def data_class(self) -> DataClass:
        """Whose text the home holds; an undeclared corpus counts as patients'."""
        corpus = self.home.corpus()
        return corpus.data_class if corpus is not None else "credentialed"

    @property
    def is_strict(self) -> bool:
        """Whether a study that breaks a rule ends the run."""
        return self.strict or self.settings.strict

    @property
    def releases(self) -> Path:
        """The folder with the releases, one folder per ranker.

        Raises `ConfigurationError` where it is outside of the home, other accounts can
        read it, and the reports are patients'.
        """
        if self.release_to is None:
            return self.home.release
        if self.data_class == "credentialed":
            require_private(self.release_to, "the folder")
        return self.release_to / "release"

    @property
    def ledger_location(self) -> str:
        """Where paid answers are kept: a file or a PostgreSQL URL."""
        return self.ledger or str(self.home.root / "ledger.sqlite")

    def existing_ledger(self) -> Ledger | None:
        """Open the ledger where anything was paid for; else make none."""
        from lunguage_assets.judges.ledger import Ledger

        return Ledger.find(self.ledger_location)

    def judge_context(self) -> JudgeContext:
        """Gather what a language model needs of this home."""
        from lunguage_assets.judges.opening import JudgeContext

        return JudgeContext(
            data_class=self.data_class,
            open_ledger=lambda: _shared_ledger(self.ledger_location),
            budget=_shared_budget(self.budget, self.daily_budget),
            is_position_drawn=self.settings.explicit.position == "coin",
        )


@lru_cache(maxsize=4)
def _shared_ledger(location: str) -> Ledger:
    """Open the ledger at a location, once per process."""
    from lunguage_assets.judges.ledger import Ledger

    return Ledger.open(location)


_shared_budget = lru_cache(maxsize=4)(Budget)
"""Makes the one budget that all judges of the process share."""
