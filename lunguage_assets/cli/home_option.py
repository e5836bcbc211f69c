"""The options that commands share, and what they choose: a home with its judges, ledger and budget."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lunguage_assets.current.standing import Standings
    from lunguage_assets.home.home import Home
    from lunguage_assets.judges.configuration import JudgesConfiguration
    from lunguage_assets.orchestration.resources import HomeResource

HOME_OPTION = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="LUNGUAGE_HOME",
    default=".lunguage",
    show_default=True,
    help="Folder that holds everything: tables, DuckDB file, Dagster instance. Also $LUNGUAGE_HOME.",
)
RANKER_OPTION = click.option(
    "--ranker", default="panel", show_default=True, help="'panel' (all judges pooled) or one judge."
)
PRESET_OPTION = click.option(
    "--preset",
    default=None,
    help="Preset of the judges file; default: what the file says ('offline'). Also $LUNGUAGE_PRESET.",
)
STRUCTURER_OPTION = click.option(
    "--structurer",
    default=None,
    help="Who reads findings in raw reports: 'rules' or a language model of the judges file; default: what "
    "the preset says ('rules'). Also $LUNGUAGE_STRUCTURER.",
)
BUDGET_OPTION = click.option(
    "--budget",
    type=click.FloatRange(min=0),
    default=None,
    metavar="USD",
    help="Stop before a call that could pass this sum. Also $LUNGUAGE_BUDGET.",
)

_DATA_OPTIONS = [
    click.option(
        "--data",
        required=True,
        type=click.Path(path_type=Path),
        help="Folder or file with Lunguage.csv, or with raw reports (docs/reports.md).",
    ),
    click.option("--batch", default=None, help="Key of the batch: [a-z0-9._-]; default: the name of --data."),
    click.option(
        "--corpus", default=None, help="Name of the corpus, when the folder's corpus.toml does not give one."
    ),
    click.option(
        "--data-class",
        type=click.Choice(["synthetic", "credentialed"]),
        default=None,
        help="Whether the text is patient data; default: what corpus.toml says, else credentialed.",
    ),
    HOME_OPTION,
]


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that take a delivery."""
    for option in reversed(_DATA_OPTIONS):
        command = option(command)
    return command


def chosen_home(folder: Path) -> Home:
    """The home in a folder."""
    from lunguage_assets.home.home import Home

    return Home(folder.expanduser().resolve())


def existing_home(folder: Path) -> Home:
    """The home in a folder, for commands that only look, or work on what is there: they make none.

    Raises:
        ConfigurationError: nothing was ever registered there; the message names homes beside it.
    """
    from lunguage_assets.errors import ConfigurationError

    place = chosen_home(folder)
    if place.corpus() is not None or (place.root / "tables").exists():
        return place
    raise ConfigurationError(nothing_in(place) + " To take in files: lunguage run --data DIR")


def nothing_in(place: Home) -> str:
    """The message about a home in which nothing is registered; it names those beside it that are in use."""
    beside = sorted({*place.root.parent.glob("*/corpus.json"), *Path.cwd().glob("*/corpus.json")})
    told = f"{place.root} holds no corpus: nothing was registered there."
    for home in beside[:1]:
        told += f" {home.parent} holds one: say --home {_short(home.parent)}, or once for all commands: "
        told += f"export LUNGUAGE_HOME={_short(home.parent)}"
    if len(beside) > 1:
        told += f" (there are also {', '.join(_short(home.parent) for home in beside[1:])})"
    return told + ("." if beside else "")


def _short(folder: Path) -> str:
    """A path as a person would type it here."""
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)


@dataclass(frozen=True)
class Chosen:
    """What the options of a command and the environment choose. Reading it imports nothing of Dagster."""

    home: Home
    preset: str | None = None
    budget: float | None = None
    structurer: str | None = None

    @property
    def judges_file(self) -> Path | None:
        """The user's own judges file; None: the bundled one."""
        return _path("LUNGUAGE_JUDGES")

    @property
    def prompts(self) -> Path | None:
        """The user's own prompt templates; None: the bundled ones."""
        return _path("LUNGUAGE_PROMPTS")

    @property
    def ledger(self) -> str:
        """Where paid answers are kept."""
        return os.environ.get("LUNGUAGE_LEDGER") or str(self.home.root / "ledger.sqlite")

    def lost_answers(self) -> int:
        """Calls of language models that were sent and not answered before their process was killed."""
        from lunguage_assets.judges.ledger.reading import LedgerReader

        ledger = LedgerReader.at(self.ledger)
        return ledger.lost() if ledger is not None else 0

    def judges(self, ranker: str | None = None) -> JudgesConfiguration:
        """The judges configuration in force.

        Raises:
            ConfigurationError: an unusable judges file, or no such ranker in it.
        """
        from lunguage_assets.errors import ConfigurationError, did_you_mean
        from lunguage_assets.judges.configuration import load_judges

        judges = load_judges(
            self.judges_file,
            self.preset or os.environ.get("LUNGUAGE_PRESET") or None,
            self.structurer or os.environ.get("LUNGUAGE_STRUCTURER") or None,
            chosen_by="--preset" if self.preset else "$LUNGUAGE_PRESET",
        )
        if ranker is not None and ranker not in judges.rankers:
            known = ", ".join(judges.rankers)
            raise ConfigurationError(
                f"ranker {ranker!r} (--ranker) is unknown; expected one of {known}."
                f"{did_you_mean(ranker, judges.rankers)}"
            )
        return judges

    def standings(self) -> Standings:
        """What is current in the home."""
        from lunguage_assets.current.standing import Standings

        return Standings(self.home, self.judges(), self.prompts)

    def resource(self, release_to: Path | None = None) -> HomeResource:
        """The same for Dagster; `release_to` is a folder that the person lets the release be written into."""
        from lunguage_assets.orchestration.resources import HomeResource

        fields = {
            "preset": self.preset,
            "structurer_key": self.structurer,
            "budget": None if self.budget is None else str(self.budget),
            "release_to": None if release_to is None else str(release_to.resolve()),
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return HomeResource.from_environment(self.home, **given)


def _path(variable: str) -> Path | None:
    return Path(os.environ[variable]) if os.environ.get(variable) else None
