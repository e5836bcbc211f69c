"""The configuration of one process: a home, and what is chosen for it.

The command line makes it from its options, a deployment from the environment, a test
from arguments; `docs/dagster.md` lists the variables. It says which settings, judges,
prompts and ledger hold, and opens judges with them. The options of the method are in
`settings`, the judges file in `judges.configuration`, and Dagster's wrapping in
`orchestration.resources`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lunguage_assets import __version__
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.ask import Budget
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.judges.progress import Progress, announce
from lunguage_assets.permissions import require_private
from lunguage_assets.settings import DataClass, Settings, load_settings
from lunguage_assets.workspace.home import Home

# The ledger's SQLAlchemy and what opens judges are imported when they are needed:
# commands such as `lunguage batches` do without them, and would take a third longer.
if TYPE_CHECKING:
    import pandas as pd

    from lunguage_assets.judges.ledger import Ledger
    from lunguage_assets.judges.opening import JudgeContext
    from lunguage_assets.judges.protocol import Judge
    from lunguage_assets.structuring.contract import Structurer

FitBy = Literal["panel", "distilled"]

VARIABLES: Mapping[str, str] = {
    "judges_file": "LUNGUAGE_JUDGES",
    "preset": "LUNGUAGE_PRESET",
    "structurer": "LUNGUAGE_STRUCTURER",
    "prompts": "LUNGUAGE_PROMPTS",
    "ledger": "LUNGUAGE_LEDGER",
    "budget": "LUNGUAGE_BUDGET",
    "daily_budget": "LUNGUAGE_DAILY_BUDGET",
    "strict": "LUNGUAGE_STRICT",
    "processes": "LUNGUAGE_PROCESSES",
}
"""Field of `Configuration` -> environment variable that sets it."""


@dataclass(frozen=True, repr=False)
class Configuration:
    """A home with everything that differs from one command or deployment to the next.

    Args:
        home: the folder with tables, settings and batches; it need not exist yet.
        judges_file: the user's own judges file; None: the bundled one.
        preset: of the judges file; None: the home's, else the file's own.
        structurer: who reads raw reports; None: the preset's.
        prompts: folder of the user's own prompt templates; None: the bundled ones.
        ledger: file or PostgreSQL URL of the paid answers; None: in the home.
        budget: US dollars that this process may spend.
        daily_budget: US dollars within 24 hours, for all who share the ledger.
        strict: a study that breaks a rule ends the run, whatever the settings say.
        processes: how many compute one batch; None: as many as there are cores.
        release_to: folder in which `release/<ranker>/` is written; None: the home.
        fit: who fits new batches; None: as the settings say.
        encoder: that a distilled model is trained with; None: the settings'.
        from_variables: fields whose value a variable gave. A message names the
            variable and never repeats the value, which may be a key by mistake.
    """

    home: Home
    judges_file: Path | None = None
    preset: str | None = None
    structurer: str | None = None
    prompts: Path | None = None
    ledger: str | None = None
    budget: float | None = None
    daily_budget: float | None = None
    strict: bool = False
    processes: int | None = None
    release_to: Path | None = None
    fit: FitBy | None = None
    encoder: str | None = None
    from_variables: frozenset[str] = frozenset()

    @classmethod
    def from_environment(
        cls, home: Home | None = None, **options: Any
    ) -> Configuration:
        """Make the configuration that options and the environment choose.

        Args:
            home: None: the one that `$LUNGUAGE_HOME` names.
            options: fields by name. They go before the environment.

        Raises:
            ConfigurationError: a variable is no number where one is expected, or the
                home has the layout of another version.
        """
        values = {
            field: _value_of(field, os.environ[variable].strip())
            for field, variable in VARIABLES.items()
            if field not in options and os.environ.get(variable, "").strip()
        }
        configuration = cls(
            home=home or Home.from_environment(),
            from_variables=frozenset(values),
            **values,
            **options,
        )
        configuration._require_layout()
        return configuration

    def _require_layout(self) -> None:
        """Refuse a home of another version's layout, and say what becomes of it."""
        maker = self.home.other_maker()
        if not maker:
            return
        raise ConfigurationError(
            f"{self.home.root} was made by {maker}, and this is version {__version__}, "
            "which stores a home otherwise: register the deliveries again in a new "
            f"home (lunguage register --data DIR --home NEW){self._use_of_ledger()}."
        )

    def _use_of_ledger(self) -> str:
        """Say whether a new home can go on with the paid answers of this one."""
        from lunguage_assets.judges.ledger import LedgerError

        try:
            ledger = self.existing_ledger()
        except LedgerError as error:
            return f"; its paid answers can't be used ({str(error).rstrip('.')})"
        if ledger is None:
            return ""
        return (
            f"; the paid answers are kept, because the ledger {ledger.location} has "
            "this version's layout: name it with $LUNGUAGE_LEDGER"
        )

    def __repr__(self) -> str:
        """Show the folder alone: any other field may have come from a variable."""
        return f"Configuration({str(self.home.root)!r})"

    def reloaded(self) -> Configuration:
        """Make the same configuration for another run, which reads the files again."""
        return replace(self)

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
            self.judges_file,
            self.preset,
            self.structurer,
            of_home=preset_of_home,
            variables={field: VARIABLES[field] for field in self.from_variables},
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

        return Ledger.open_read_only(self.ledger_location)

    def judge_context(
        self, progress: Callable[[Progress], None] = announce
    ) -> JudgeContext:
        """Gather what a language model needs of this home."""
        from lunguage_assets.judges.opening import JudgeContext

        return JudgeContext(
            data_class=self.data_class,
            open_ledger=lambda: _shared_ledger(self.ledger_location),
            budget=_shared_budget(self.budget, self.daily_budget),
            prompts=self.prompts,
            progress=progress,
            is_position_drawn=self.settings.explicit.position == "coin",
        )

    def open_judge(
        self,
        key: str,
        progress: Callable[[Progress], None] = announce,
    ) -> Judge:
        """Open a judge of the judges file, ready to be asked about this corpus.

        Args:
            key: of the judge in the judges file.
            progress: is told what every recorded attempt adds.

        Raises:
            ConfigurationError: no such judge, or unusable prompt templates.
        """
        from lunguage_assets.explicit.open_judges import open_judge

        return open_judge(key, self.judges, self.judge_context(progress))

    def open_structurer(
        self,
        key: str,
        terms: pd.DataFrame,
        progress: Callable[[Progress], None] = announce,
    ) -> Structurer:
        """Open a structurer for raw reports.

        Args:
            key: `rules`, or a language model of the judges file.
            terms: a `TERMS` frame, the vocabulary of the reports.
            progress: is told what every recorded attempt adds.

        Raises:
            ConfigurationError: no such structurer, or unusable prompt templates.
        """
        from lunguage_assets.structuring.model.structurer import open_structurer

        return open_structurer(
            key,
            self.judges,
            terms,
            lambda: self.judge_context(progress),
            self.home.assertion_file,
        )


@lru_cache(maxsize=4)
def _shared_ledger(location: str) -> Ledger:
    """Open the ledger at a location, once per process."""
    from lunguage_assets.judges.ledger import Ledger

    return Ledger.open(location)


@lru_cache(maxsize=4)
def _shared_budget(of_run_usd: float | None, of_day_usd: float | None) -> Budget | None:
    """Make the one budget that all judges of the process share."""
    if of_run_usd is None and of_day_usd is None:
        return None
    return Budget(of_run_usd, of_day_usd)


def _value_of(field: str, text: str) -> Any:
    """Convert the text of an environment variable to the type of its field."""
    if field in ("judges_file", "prompts"):
        return Path(text)
    if field in ("budget", "daily_budget"):
        return _number(field, text, convert=float, least=0)
    if field == "processes":
        return _number(field, text, convert=int, least=1)
    if field == "strict":
        return True
    return text


def _number(
    field: str, text: str, convert: type[float] | type[int], least: int
) -> float:
    """Read a number of at least `least` from the text of a variable."""
    with suppress(ValueError):
        number = convert(text)
        if number >= least:
            return number
    # The message does not say what was found: the variable may hold a key by mistake,
    # and messages go into logs.
    raise ConfigurationError(
        f"{field} (${VARIABLES[field]}): found something else; expected a number, "
        f"{least} or more. Fix or unset it."
    )
