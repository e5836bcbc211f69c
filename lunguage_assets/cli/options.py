"""Options that commands share, and the configuration that they become.

Nothing heavy is imported before a command runs, so that help and a mistyped option are
answered at once. What the options of a configuration mean is in `configuration`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from lunguage_assets.workspace.home import Home

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
EXISTING_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)

_HOME_OPTION = click.option(
    "--home",
    type=FOLDER,
    envvar="LUNGUAGE_HOME",
    default=".lunguage",
    show_default=True,
    help="Folder that holds everything: tables, DuckDB file, Dagster instance. "
    "Also $LUNGUAGE_HOME.",
)
PRESET_OPTION = click.option(
    "--preset",
    help="Preset of the judges file; default: that of the home's first run, before it "
    "the file's own ('offline'). Also $LUNGUAGE_PRESET.",
)
STRUCTURER_OPTION = click.option(
    "--structurer",
    help="Who reads findings in raw reports: 'rules' or a model of the judges file; "
    "default: what the preset says ('rules'). Also $LUNGUAGE_STRUCTURER.",
)
RANKER_OPTION = click.option(
    "--ranker",
    help="One judge; default: 'panel', all judges pooled (of another preset than the "
    "home's: its name).",
)
REBUILD_OPTION = click.option(
    "--rebuild-ranking",
    is_flag=True,
    help="Make the reference scale (vocabulary, comparisons, ranking) again.",
)


def configured(*, existing: bool = False) -> Decorator:
    """Give a command --home, and a `configuration`, made of all its options.

    A command without --ranker gets the panel of its preset. With `existing`, the
    command makes no home, and one in which nothing was registered is refused.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_configuration(*, home: Path, **arguments: Any) -> None:
            from lunguage_assets.configuration import Configuration

            options = {}
            for field in Configuration.model_fields:
                value = arguments.pop(field, None)
                # An option that was not given leaves the field to its environment
                # variable.
                if value is not None and value is not False:
                    options[field] = value
            configuration = Configuration(home, **options)
            if existing:
                require_registered(configuration.home)
            # What the panel is called depends on the preset: that of another one than
            # the home's ranks under the name of its preset.
            if "ranker" in arguments and arguments["ranker"] is None:
                arguments["ranker"] = configuration.judges.panel_ranker
            command(configuration=configuration, **arguments)

        return _HOME_OPTION(with_configuration)

    return decorate


def require_registered(home: Home) -> None:
    """Raise `ConfigurationError` where nothing was ever registered in a home."""
    if home.corpus() is not None or (home.root / "tables").exists():
        return
    raise ConfigurationError(
        f"{home.root} holds no corpus: nothing was registered there. Name another home "
        "with --home or $LUNGUAGE_HOME, or take in files: lunguage run --data DIR"
    )
