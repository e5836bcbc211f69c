"""What assets need from outside: the home with its batches, the settings, the judges."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import dagster as dg

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.home.home import Home
from lunguage_assets.judges.asking.budget import Budget
from lunguage_assets.judges.asking.daily_budget import DailyBudget
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.judges.binding_record import BindingRecord, BoundJudge
from lunguage_assets.judges.configuration import PRESET_VARIABLE, JudgesConfiguration, load_judges
from lunguage_assets.judges.ledger.attempts import moment
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.opening import Surroundings, judge_identity, open_judge
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.settings import Settings, load_settings

JUDGES_VARIABLE = "LUNGUAGE_JUDGES"
LEDGER_VARIABLE = "LUNGUAGE_LEDGER"
BUDGET_VARIABLE = "LUNGUAGE_BUDGET"
DAILY_BUDGET_VARIABLE = "LUNGUAGE_DAILY_BUDGET"
PROMPTS_VARIABLE = "LUNGUAGE_PROMPTS"


def judges_file() -> Path | None:
    """The user's own judges file, named by `$LUNGUAGE_JUDGES`; None means the bundled one."""
    return Path(os.environ[JUDGES_VARIABLE]) if os.environ.get(JUDGES_VARIABLE) else None


def preset_name() -> str | None:
    """The preset that `$LUNGUAGE_PRESET` names; None means the judges file's own."""
    return os.environ.get(PRESET_VARIABLE, "").strip() or None


def prompts_folder() -> Path | None:
    """The user's own prompt templates, named by `$LUNGUAGE_PROMPTS`; None means the bundled ones."""
    return Path(os.environ[PROMPTS_VARIABLE]) if os.environ.get(PROMPTS_VARIABLE) else None


def ledger_place(home: Home) -> str:
    """Where paid answers are kept: `$LUNGUAGE_LEDGER` (a path or a PostgreSQL URL), else a file in the
    home.
    """
    return os.environ.get(LEDGER_VARIABLE) or str(home.root / "ledger.sqlite")


@lru_cache(maxsize=4)
def open_ledger(place: str) -> Ledger:
    """The ledger at a place, opened once per process."""
    return Ledger.open(place)


def run_budget(home: Home) -> Budget | None:
    """The ceilings for this process's judges; None without one.

    `$LUNGUAGE_BUDGET` is what this process may spend, `$LUNGUAGE_DAILY_BUDGET` what all that share the ledger
    may spend in 24 hours.
    """
    of_run, of_day = (os.environ.get(name, "").strip() for name in (BUDGET_VARIABLE, DAILY_BUDGET_VARIABLE))
    return _budget(of_run, of_day, ledger_place(home)) if of_run or of_day else None


@lru_cache(maxsize=4)
def _budget(of_run: str, of_day: str, ledger: str) -> Budget:
    run = Budget(_dollars(BUDGET_VARIABLE, of_run)) if of_run else None
    if not of_day:
        assert run is not None
        return run
    return DailyBudget(
        _dollars(DAILY_BUDGET_VARIABLE, of_day),
        lambda since: open_ledger(ledger).spent_since(moment(since)),
        run,
    )


def _dollars(variable: str, written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise ConfigurationError(
            f"${variable}: found {written!r}; expected US dollars, such as 25. Mend or unset it."
        ) from None


class HomeResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The home folder, by path, so that a test or a deployment can name another."""

    root: str

    @property
    def home(self) -> Home:
        return Home(Path(self.root))

    @property
    def settings(self) -> Settings:
        return load_settings(self.home.settings_file)

    @property
    def judges(self) -> JudgesConfiguration:
        return load_judges(judges_file(), preset_name())

    def judge(self, key: str, progress: Callable[[Progress], None] | None = None) -> Judge:
        """A judge of the active preset, ready to be asked about this home's corpus.

        Raises:
            ConfigurationError: no such judge, or one whose key stands for another model in this home.
        """
        corpus, configuration = self.home.corpus(), self.judges
        surroundings = Surroundings(
            data_class=corpus.data_class if corpus is not None else "credentialed",
            open_ledger=lambda: open_ledger(ledger_place(self.home)),
            budget=run_budget(self.home),
            prompts=prompts_folder(),
            progress=progress,
        )
        judge = open_judge(key, configuration, surroundings)
        record = BindingRecord(self.home.binding_file)
        record.require(key, configuration.judges[key])
        return BoundJudge(judge, configuration.judges[key], record)

    def identity(self, key: str) -> str:
        """The identity of `judge(key)`, which is not opened for it.

        Raises:
            ConfigurationError: as of `judge`.
        """
        configuration = self.judges
        found = judge_identity(key, configuration, prompts_folder())
        BindingRecord(self.home.binding_file).require(key, configuration.judges[key])
        return found
