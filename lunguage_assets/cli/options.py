"""The options that commands share: a home with its judges, ledger and budget; files to be taken in."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    from dagster import DagsterInstance

    from lunguage_assets.configuration import Configuration
    from lunguage_assets.judges.configuration import JudgesConfiguration
    from lunguage_assets.judges.ledger.ledger import Ledger
    from lunguage_assets.lineage.staleness import StalenessChecker
    from lunguage_assets.settings import DataClass, Settings
    from lunguage_assets.workspace.home import Batch, Home, Registration

Command = Callable[..., Any]

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
GIVEN_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


def number(
    name: str, default: int, told: str | None = None, least: int = 1
) -> Callable[[Command], Command]:
    """An option that takes a whole number, at least 1 as a rule."""
    return click.option(
        name,
        default=default,
        show_default=True,
        type=click.IntRange(min=least),
        help=told,
    )


def into(what: str) -> Callable[[Command], Command]:
    """The option --out of a command that writes files into a folder."""
    return click.option("--out", required=True, type=FOLDER, help=f"Folder for {what}.")


HOME_OPTION = click.option(
    "--home",
    type=FOLDER,
    envvar="LUNGUAGE_HOME",
    default=".lunguage",
    show_default=True,
    help="Folder that holds everything: tables, DuckDB file, Dagster instance. Also $LUNGUAGE_HOME.",
)
RANKER_OPTION = click.option(
    "--ranker",
    help="One judge; default: 'panel', all judges pooled (of another preset than the home's: its name).",
)
REBUILD_OPTION = click.option(
    "--rebuild-ranking",
    is_flag=True,
    help="Make the reference scale (vocabulary, comparisons, ranking) again.",
)
FIT_OPTION = click.option(
    "--fit",
    type=click.Choice(["panel", "distilled"]),
    help="Who fits new batches: the judges, or the model of `lunguage distill`; default: settings.toml. "
    "Batches that judges have fitted stay as they are; 'panel' fits scored ones again.",
)
_OF_CHOSEN: dict[str, dict[str, Any]] = {
    "data": {
        "type": click.Path(path_type=Path),
        "help": "Folder or file with Lunguage.csv, or with raw reports (docs/reports.md).",
    },
    "batch": {"help": "Key of the batch: [a-z0-9._-]; default: the name of --data."},
    "text-column": {
        "help": "Column of the reports, where --data is a table; default: report."
    },
    "id-column": {
        "help": "Column of their ids, where --data is a table; default: study_id."
    },
    "preset": {
        "help": "Preset of the judges file; default: that of the home's first run, before it the file's own "
        "('offline'). Also $LUNGUAGE_PRESET."
    },
    "structurer": {
        "help": "Who reads findings in raw reports: 'rules', 'radgraph' (delivered entities; 'radgraph-2': "
        "those of a second person) or a model of the judges file; default: what the preset says ('rules'). "
        "Also $LUNGUAGE_STRUCTURER."
    },
    "budget": {
        "type": click.FloatRange(min=0),
        "metavar": "USD",
        "help": "Stop before a call that could pass this sum. Also $LUNGUAGE_BUDGET.",
    },
    "strict": {
        "is_flag": True,
        "help": "End the run when a study breaks a rule, instead of setting it aside. Also strict in "
        "settings.toml, $LUNGUAGE_STRICT.",
    },
}
"""Options that become fields of `Chosen`."""
COLUMNS = ("text-column", "id-column")
"""Options beside --data, for tables whose columns are called otherwise."""


def chooses(*options: str, there: bool = False) -> Callable[[Command], Command]:
    """--home and these options of a command become its argument `chosen`. With `there` the command makes no
    home; one that holds nothing is refused.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def choosing(*, home: Path, **given: Any) -> None:
            place = existing_home(home) if there else chosen_home(home)
            own = {
                name: given.pop(name)
                for name in (option.replace("-", "_") for option in options)
            }
            chosen = Chosen(place, **own)
            if "ranker" in given and given["ranker"] is None:
                given["ranker"] = chosen.judges().panel_ranker
            command(chosen=chosen, **given)

        decorated = choosing
        for name in reversed(options):
            decorated = click.option(f"--{name}", **_OF_CHOSEN[name])(decorated)
        return HOME_OPTION(decorated)

    return decorate


def chosen_home(folder: Path) -> Home:
    """The home in a folder."""
    from lunguage_assets.workspace.home import Home

    return Home(folder.expanduser().resolve())


def existing_home(folder: Path) -> Home:
    """The home in a folder. Raises `ConfigurationError`: nothing was ever registered there."""
    place = chosen_home(folder)
    if place.corpus() is not None or (place.root / "tables").exists():
        return place
    raise ConfigurationError(
        f"{place.root} holds no corpus: nothing was registered there. Name another home with --home or "
        "$LUNGUAGE_HOME, or take in files: lunguage run --data DIR"
    )


@dataclass(frozen=True)
class Chosen:
    """What the options of a command and the environment choose. Reading it imports nothing of Dagster."""

    home: Home
    data: Path | None = None
    batch: str | None = None
    text_column: str | None = None
    id_column: str | None = None
    preset: str | None = None
    structurer: str | None = None
    budget: float | None = None
    strict: bool = False

    @property
    def judges_file(self) -> Path | None:
        """The user's own judges file; None: the bundled one."""
        return _path("LUNGUAGE_JUDGES")

    @property
    def settings(self) -> Settings:
        """The home's settings."""
        from lunguage_assets.settings import load_settings

        return load_settings(self.home.settings_file)

    @property
    def data_class(self) -> DataClass:
        """Whose text the home holds; an undeclared corpus counts as patients'."""
        corpus = self.home.corpus()
        return corpus.data_class if corpus is not None else "credentialed"

    def register(self) -> list[Batch]:
        """The batches that the files are; says so when they were registered under another key."""
        from lunguage_assets.workspace.batch_keys import batch_keys

        key, registered = self._taken_by(self.home.register)
        for one, asked in zip(
            registered, batch_keys(key, len(registered)), strict=True
        ):
            if one.key != asked:
                click.echo(
                    f"the content of {asked} is registered as batch {one.key}, which is used"
                )
        return list(registered)

    def examine(self) -> list[Registration]:
        """What `register` would do."""
        return list(self._taken_by(self.home.examine)[1])

    def _taken_by(self, take: Callable[..., Any]) -> tuple[str, Any]:
        """The key for the files, and what a method of the home makes of them."""
        from lunguage_assets.workspace.batch_keys import batch_key

        if self.data is None:
            raise click.UsageError("Missing option '--data'.")
        key, most = (
            self.batch or batch_key(self.data),
            self.settings.corpus.batch_reports,
        )
        named = (self.id_column or "study_id", self.text_column or "report")
        columns = named if self.id_column or self.text_column else None
        return key, take(self.data, key, batch_reports=most, columns=columns)

    def instance(self) -> AbstractContextManager[DagsterInstance]:
        """The Dagster instance of the home, opened."""
        from lunguage_assets.orchestration.runs.instance import dagster_instance

        opened: AbstractContextManager[DagsterInstance] = dagster_instance(self.home)
        return opened

    @property
    def ledger_place(self) -> str:
        """Where paid answers are kept: a file or a PostgreSQL URL."""
        return os.environ.get("LUNGUAGE_LEDGER") or str(
            self.home.root / "ledger.sqlite"
        )

    def paid_answers(self) -> Ledger | None:
        """The ledger, where anything was paid for."""
        from lunguage_assets.judges.ledger.ledger import Ledger

        return Ledger.open_read_only(self.ledger_place)

    def _variables_in_use(self) -> dict[str, str]:
        """The environment variables that name judges because no option does, by the field of the home."""
        given = {
            "judges_file": None,
            "preset": self.preset,
            "structurer": self.structurer,
        }
        variables = {
            "judges_file": "LUNGUAGE_JUDGES",
            "preset": "LUNGUAGE_PRESET",
            "structurer": "LUNGUAGE_STRUCTURER",
        }
        return {
            field: variable
            for field, variable in variables.items()
            if not given[field] and os.environ.get(variable)
        }

    def judges(self, ranker: str | None = None) -> JudgesConfiguration:
        """The judges configuration in force. Raises `ConfigurationError`: unusable, or no such ranker."""
        from lunguage_assets.judges.configuration import load_judges

        of_home = ""
        with suppress(
            ConfigurationError
        ):  # a file that is wrong is named where its options are read
            of_home = self.settings.preset
        judges = load_judges(
            self.judges_file,
            self.preset or os.environ.get("LUNGUAGE_PRESET") or None,
            self.structurer or os.environ.get("LUNGUAGE_STRUCTURER") or None,
            of_home=of_home,
            variables=self._variables_in_use(),
        )
        if ranker is not None and ranker not in judges.rankers:
            raise ConfigurationError(
                f"ranker {ranker!r} (--ranker) is unknown; expected one of {', '.join(judges.rankers)}."
                f"{did_you_mean(ranker, judges.rankers)} A judge of the judges file takes part as a member "
                f"of the panel, or as one of candidates = [...] of [presets.{judges.preset}]."
            )
        return judges

    def staleness(
        self,
        releases: Path | None = None,
        fit: str | None = None,
        *,
        verify: bool = False,
    ) -> StalenessChecker:
        """What is current in the home, with the releases of another folder, and another one who fits;
        `verify` as in `StalenessChecker`.
        """
        from lunguage_assets.lineage.staleness import StalenessChecker

        prompts = _path("LUNGUAGE_PROMPTS")
        return StalenessChecker(
            self.home, self.judges(), prompts, releases, fit or "", verify=verify
        )

    def stored(self, table: str, key: str) -> pd.DataFrame:
        """A stored partition. Raises `ConfigurationError`: it is not there; says what to do to have it."""
        from lunguage_assets.tables import TABLES
        from lunguage_assets.workspace.store import partition_path, read_table

        path = partition_path(self.home.tables, table, key)
        if not path.exists():
            raise ConfigurationError(
                f"{self.home.root} has no {table} of {key!r}. Run `lunguage run` with that ranker first, or "
                "name another with --ranker."
            )
        return read_table(TABLES[table], path)

    def resource(
        self,
        release_to: Path | None = None,
        processes: int | None = None,
        **more: object,
    ) -> Configuration:
        """The same for Dagster; into `release_to`, else the home, the release is written. `more`: further
        fields.
        """
        from lunguage_assets.configuration import Configuration

        given = {
            "preset": self.preset,
            "structurer": self.structurer,
            "budget": self.budget,
            "strict": True if self.strict else None,
            "processes": processes,
            "release_to": release_to and release_to.resolve(),
            **more,
        }
        fields = {name: value for name, value in given.items() if value is not None}
        return Configuration.from_environment(self.home, **fields)


def _path(variable: str) -> Path | None:
    return Path(os.environ[variable]) if os.environ.get(variable) else None
