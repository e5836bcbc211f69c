"""What assets need from outside: the home, its settings, the judges, the ledger, the budget. Whatever differs
between a test, the command line and a deployment is a field; only `from_environment` reads the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import dagster as dg
import pandas as pd

from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.explicit.distilled.encoder import has_gpu
from lunguage_assets.explicit.distilled.scorer import DistilledScorer
from lunguage_assets.explicit.distilled.training import Training
from lunguage_assets.explicit.fit.anchors import AnchorSet, chosen_anchors
from lunguage_assets.explicit.fit.probability import (
    Anchor,
    CalibrationError,
    calibration_problem,
    require_anchors,
)
from lunguage_assets.explicit.open_judges import open_judge
from lunguage_assets.explicit.rating.ranking import published_instead
from lunguage_assets.hub import packaged_copy
from lunguage_assets.judges.asking.limits import Budget
from lunguage_assets.judges.asking.progress import Progress, announce
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.judges.ledger.bills import Bill
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.opening import JudgeContext
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.lineage.staleness import StalenessChecker
from lunguage_assets.permissions import require_private
from lunguage_assets.settings import Settings, load_settings
from lunguage_assets.structuring.contract import Structurer
from lunguage_assets.structuring.model.structurer import open_structurer
from lunguage_assets.tables.analyses import DISTILLED_EVALUATION
from lunguage_assets.tables.explicit import DISTILLED_SCORER
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path, read_table

VARIABLES: Mapping[str, str] = {
    "judges_file": "LUNGUAGE_JUDGES",
    "preset": "LUNGUAGE_PRESET",
    "structurer_key": "LUNGUAGE_STRUCTURER",
    "prompts_folder": "LUNGUAGE_PROMPTS",
    "ledger": "LUNGUAGE_LEDGER",
    "budget": "LUNGUAGE_BUDGET",
    "daily_budget": "LUNGUAGE_DAILY_BUDGET",
    "strict": "LUNGUAGE_STRICT",
    "processes": "LUNGUAGE_PROCESSES",
}
"""Field of `HomeResource` -> environment variable that sets it in a deployment."""

open_ledger = lru_cache(maxsize=4)(Ledger.open)
"""The ledger at a place, opened once per process."""


@dataclass(frozen=True, repr=False)
class HomeResource:
    """The home folder with what differs from one deployment to the next; an empty field is not set.

    It is a plain object: what Dagster calls the resource's config could be overridden by whoever launches a
    run, who would choose the files that are read, the folder that is written to, and the budget.

    `judges_file` and `prompts_folder` are paths (else the bundled ones), `preset` one of the judges file,
    `structurer_key` another structurer than the preset's, `ledger` a file or a PostgreSQL URL (else in the
    home), `budget` and `daily_budget` US dollars: what this process, and what all who share the ledger within
    24 hours, may spend. `strict` lets a study that breaks a rule end the run. `processes` (else the cores) is
    how many compute one batch, `release_to` the folder in which the command line writes `release/<ranker>/`.
    `fit`, `encoder` and `tune` stand in for what the settings say of a distilled model. `of_environment` are
    the fields whose value a variable gave: no message repeats it.
    """

    root: str
    judges_file: str = ""
    preset: str = ""
    structurer_key: str = ""
    prompts_folder: str = ""
    ledger: str = ""
    budget: str = ""
    daily_budget: str = ""
    strict: str = ""
    processes: str = ""
    release_to: str = ""
    fit: str = ""
    encoder: str = ""
    tune: str = ""
    of_environment: frozenset[str] = frozenset()

    @classmethod
    def from_environment(cls, home: Home | None = None, **fields: str) -> HomeResource:
        """Fields that are not given have the value of their environment variable, as it is now."""
        from_variables = {
            field: os.environ[variable].strip()
            for field, variable in VARIABLES.items()
            if field not in fields and os.environ.get(variable, "").strip()
        }
        root = str((home or Home.from_environment()).root)
        return cls(
            root, of_environment=frozenset(from_variables), **from_variables, **fields
        )

    def __repr__(self) -> str:
        """The folder alone: another field may have come from a variable, and be anything."""
        return f"HomeResource({self.root!r})"

    def definition(self) -> dg.ResourceDefinition:
        """The resource as Dagster knows it. It takes no config, and refuses any."""
        return dg.ResourceDefinition(lambda _: self.anew(), config_schema={})

    def anew(self) -> HomeResource:
        """The same for another run, which reads the judges file again."""
        return replace(self)

    @property
    def home(self) -> Home:
        return Home(Path(self.root))

    @property
    def settings(self) -> Settings:
        """The home's settings as they are now."""
        return load_settings(self.home.settings_file)

    @property
    def is_strict(self) -> bool:
        """Whether a study that breaks a rule ends the run."""
        return bool(self.strict) or self.settings.strict

    @property
    def processes_at_once(self) -> int | None:
        """How many processes compute one batch; None: as many as there are cores."""
        number = _number("processes", self.processes, least=1)
        return None if number is None else int(number)

    @property
    def releases(self) -> Path:
        """The folder with the releases, one folder per ranker. Raises `ConfigurationError` where it is not in
        the home, others can read it, and the reports are patients'.
        """
        corpus = self.home.corpus()
        if self.release_to and (corpus is None or corpus.data_class == "credentialed"):
            require_private(Path(self.release_to), "the folder")
        return Path(self.release_to or self.root) / "release"

    @cached_property
    def judges(self) -> JudgesConfiguration:
        """The judges configuration in force."""
        return load_judges(
            Path(self.judges_file) if self.judges_file else None,
            self.preset or None,
            self.structurer_key or None,
            of_home=self.settings.preset,
            variables={field: VARIABLES[field] for field in self.of_environment},
        )

    @property
    def prompts(self) -> Path | None:
        """Folder of the user's own prompt templates; None: the bundled ones."""
        return Path(self.prompts_folder) if self.prompts_folder else None

    @property
    def ledger_place(self) -> str:
        """Where paid answers are kept."""
        return self.ledger or str(self.home.root / "ledger.sqlite")

    def staleness(self, *, verify: bool = False) -> StalenessChecker:
        """What is current in this home now; `verify` as in `StalenessChecker`."""
        return StalenessChecker(
            self.home, self.judges, self.prompts, self.releases, self.fit, verify=verify
        )

    def distilled(self, ranker: str, now: StalenessChecker) -> DistilledScorer:
        """The model that a ranker's judges taught. Raises `MethodError` when it is not there, or stale; says
        what to do.
        """
        said = f"Say `lunguage distill --ranker {ranker}`, or let the judges fit: --fit panel."
        for table in (DISTILLED_SCORER, DISTILLED_EVALUATION):
            found = now.of(table.name, ranker)
            if found.state != "current":
                why = (
                    f"is stale ({'; '.join(found.because)})"
                    if found.because
                    else "is not there"
                )
                raise MethodError(f"the distilled model of {ranker!r} {why}. {said}")
        made = read_table(
            DISTILLED_SCORER,
            partition_path(self.home.tables, DISTILLED_SCORER.name, ranker),
        )
        folder = self.home.distilled / ranker / str(made["files"].iloc[0])[:16]
        if not folder.exists():
            raise MethodError(
                f"{folder} is gone: the distilled model cannot score. {said}"
            )
        return DistilledScorer(folder, self.settings.distilled.device)

    @property
    def training(self) -> Training:
        """How a distilled model is trained. Where the encoder of the settings is not on this machine, the
        copy of it in an installed package is used.
        """
        options = self.settings.distilled
        own = bool(self.tune) or options.tune
        name = (
            self.encoder
            or packaged_copy(options.encoder, options.revision)
            or options.encoder
        )
        revision = "" if self.encoder else options.revision
        seed = self.settings.explicit.seed
        return Training(
            name, revision, options.device, own or has_gpu(), options.epochs, seed
        )

    def judge(
        self,
        key: str,
        progress: Callable[[Progress], None] = announce,
        bill: Bill | None = None,
    ) -> Judge:
        """A judge of the active preset, ready to be asked about this corpus; raises as `open_judge`."""
        return open_judge(key, self.judges, self.judge_context(progress, bill))

    def structurer(
        self,
        key: str,
        terms: pd.DataFrame,
        progress: Callable[[Progress], None] = announce,
        bill: Bill | None = None,
    ) -> Structurer:
        """A structurer (`rules`, or a language model of the active preset) for reports with these `terms`."""
        return open_structurer(
            key,
            self.judges,
            terms,
            lambda: self.judge_context(progress, bill),
            self.home.assertion_file,
        )

    def judge_context(
        self, progress: Callable[[Progress], None] = announce, bill: Bill | None = None
    ) -> JudgeContext:
        """What a language model needs of this home."""
        corpus = self.home.corpus()
        return JudgeContext(
            data_class=corpus.data_class if corpus is not None else "credentialed",
            open_ledger=lambda: open_ledger(self.ledger_place),
            budget=_budget(self.budget, self.daily_budget),
            prompts=self.prompts,
            progress=progress,
            bill=bill,
        )

    def anchor_set(self) -> AnchorSet:
        """The anchors that this home's settings choose."""
        return chosen_anchors(
            self.settings.explicit.anchors, self.home.anchor_ratings, self.home.root
        )

    def require_anchors(self, phrases: Collection[str]) -> None:
        """Raise `CalibrationError` unless the phrases hold the anchors, before comparisons are paid for."""
        require_anchors(set(phrases), self.anchor_set().of(phrases))

    def anchors(self, ranking: pd.DataFrame) -> Sequence[Anchor]:
        """Anchors that count for a ranking; raises `CalibrationError` when they give no probabilities."""
        anchors = self.anchor_set().of(set(ranking["phrase"]))
        if reason := calibration_problem(ranking, anchors):
            raise CalibrationError(reason)
        return anchors

    def on_a_scale(self, own: pd.DataFrame, identities: Sequence[str]) -> pd.DataFrame:
        """The ranking itself, or the published one where no probability can be read off it. Raises `CalibrationError`
        when the settings ask for the own one, or the anchors do not go with the published one either.
        """
        try:
            self.anchors(own)
        except CalibrationError as error:
            if self.settings.explicit.ruler != "auto":
                raise
            own = published_instead(own, error.reason, identities)
            self.anchors(own)
        return own


@lru_cache(maxsize=4)
def _budget(of_run: str, of_day: str) -> Budget | None:
    """One for all judges of the process."""
    if not of_run and not of_day:
        return None
    return Budget(_number("budget", of_run), _number("daily_budget", of_day))


def _number(field: str, written: str, least: float = 0) -> float | None:
    with suppress(ValueError):
        if not written or float(written) >= least:
            return float(written) if written else None
    # Not what was found: a variable may hold a key by mistake, and messages go into logs.
    raise ConfigurationError(
        f"{field} (${VARIABLES[field]}): found something else; expected a number, {least} or more. Fix or "
        "unset it."
    )
