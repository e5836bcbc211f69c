"""Commands of `lunguage`, run in the process of the test."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

from blank_pictures import blank_pictures
from click.testing import CliRunner

from lunguage_assets.cli.main import commands
from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration import checks

_WRITTEN = ("DAGSTER_HOME", "LUNGUAGE_BUDGET", "LUNGUAGE_PRESET")
"""Variables that a command may leave behind."""


def lunguage(home: Path, *arguments: str) -> LunguageError | None:
    """Run a command on a home with the judges file in it; the error that it ended with,
    if any.

    No other variable of ours is set meanwhile, and none stays set. Pictures are blank,
    and no expectations are looked at: Great Expectations takes seconds to import.
    """
    ours = [name for name in os.environ if name.startswith(("LUNGUAGE", "DAGSTER"))]
    variables: dict[str, str | None] = dict.fromkeys([*ours, *_WRITTEN])
    variables |= {
        "LUNGUAGE_HOME": str(home),
        "LUNGUAGE_JUDGES": str(home / "judges.toml"),
    }
    with blank_pictures(), mock.patch.object(checks, "examined", return_value=[]):
        done = CliRunner().invoke(
            commands, arguments, env=variables, standalone_mode=False
        )
    if done.exception is not None and not isinstance(done.exception, LunguageError):
        raise done.exception
    return done.exception
