"""Which tests run, in which order, with how many generated examples.

One worker makes the finished home first, for `lineage`, while the others have tests
that need none. Tests that start processes follow: several workers then wait beside each
other, and none is left alone at the end. Tests marked `lengthy` run in CI only
(`CI=true make test`, as `.ci/run` does).
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from profiles import choose_profile

choose_profile()
os.environ["OMP_NUM_THREADS"] = (
    "1"  # of torch and BLAS, whose threads would wait for those of other workers
)
gc.set_threshold(100_000, 20, 20)  # as the command has it

# A script started in the background ignores SIGINT; its tests interrupt what they start
# all the same.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Dagster's migrations, a hundred files, are read once in a process and not for the
# database of each run.
_read_migrations = ScriptDirectory.from_config
_migrations = dict[str | None, ScriptDirectory]()


def _read_once(config: Config) -> ScriptDirectory:
    folder = config.get_main_option("script_location")
    return _migrations.get(folder) or _migrations.setdefault(
        folder, _read_migrations(config)
    )


ScriptDirectory.from_config = _read_once  # type: ignore[method-assign]

_FIRST = (
    "lineage",
    "deploy",
    "docs",
    "cli",
    "test_wheel.py",
    "orchestration",
    "judges",
    "release",
)
_TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(_TESTS).parts[0]
        return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)

    items.sort(key=place)
    if not os.environ.get("CI"):
        skipped = pytest.mark.skip(reason="takes minutes: CI=true make test runs it")
        for item in items:
            if item.get_closest_marker("lengthy"):
                item.add_marker(skipped)
