"""The `lunguage` command as a user meets it, in this process; pictures are blank unless
asked for.
"""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from blank_pictures import blank_pictures
from click.testing import CliRunner

from lunguage_assets.cli.main import main


@dataclass(frozen=True)
class CommandResult:
    """Exit status and output of a command."""

    returncode: int
    stdout: str
    stderr: str


def lunguage(
    home: Path, *arguments: str | Path, draws: bool = False, **variables: str | None
) -> CommandResult:
    """Run `lunguage ARGS` on a home; `variables` are set, or taken away with None,
    while it runs.
    """
    environment = {
        "DAGSTER_HOME": None,
        "LUNGUAGE_JUDGES": None,
        # a command may leave these two behind
        "LUNGUAGE_BUDGET": None,
        "LUNGUAGE_PRESET": None,
        "COLUMNS": "200",
        "LUNGUAGE_HOME": str(home),
    }
    status = 0
    with (
        nullcontext() if draws else blank_pictures(),
        CliRunner().isolation(env={**environment, **variables}) as (out, err, _),
        mock.patch.object(sys, "argv", ["lunguage", *map(str, arguments)]),
        # Where torch is loaded the command ends its process, which here is the tests'.
        mock.patch.object(os, "_exit", sys.exit),
        mock.patch.object(atexit, "_run_exitfuncs"),
    ):
        try:
            main()
        except SystemExit as ended:
            status = int(ended.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        return CommandResult(status, out.getvalue().decode(), err.getvalue().decode())
