"""`lunguage` commands, each as a scenario: {name, arguments, environment, crash, files,
copy}.

What a command shows, with everything that Python logs, goes to NAME.out in a folder,
its exit status to NAME.status. `crash` names functions, as module:function, that burst
with the planted words in their message, cause and context; `idle` names functions that
find nothing; `files` are written for the time of the command, and `copy` names a home
that is copied before, and to where. Pictures are blank: nobody searches them.
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

from blank_pictures import blank_pictures
from planted import PLANTED


def burst(*_: Any, **__: Any) -> Any:
    """An unexpected error as libraries raise them: it quotes the value it stumbled
    over.
    """
    try:
        raise KeyError(f"There may be a nodule {PLANTED}.")
    except KeyError as error:
        raise ValueError(
            f"cannot convert 'There may be a nodule {PLANTED}.'", {"sentence": PLANTED}
        ) from error


def nothing(*_: Any, **__: Any) -> list[Any]:
    return []


def replaced(targets: list[str], by: Callable[..., Any]) -> ExitStack:
    stack = ExitStack()
    for target in targets:
        module, name = target.split(":")
        stack.enter_context(
            mock.patch.object(importlib.import_module(module), name, by)
        )
    return stack


@contextmanager
def shown_in(file: Path) -> Iterator[None]:
    """Let everything that is printed and logged, at any level, go into a file."""
    root = logging.getLogger()
    kept = [os.dup(1), os.dup(2)]
    rights = os.umask(0)
    os.umask(rights)  # a command sets its own
    with file.open("w", encoding="utf-8", buffering=1) as stream:
        before = root.level
        handler = logging.StreamHandler(stream)
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            with redirect_stdout(stream), redirect_stderr(stream):
                yield
        finally:
            root.removeHandler(handler)
            root.setLevel(before)
            os.umask(rights)
            for number, descriptor in enumerate(kept, start=1):
                os.dup2(descriptor, number)
                os.close(descriptor)


def run(scenario: dict[str, Any], folder: Path) -> None:
    from lunguage_assets.cli.main import main as cli

    status: int | str | None = 0
    if scenario["copy"]:
        shutil.copytree(*scenario["copy"])
    for file, text in scenario["files"].items():
        Path(file).write_text(text, encoding="utf-8")
    ours = ("LUNGUAGE", "DAGSTER")
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(ours)
    }
    with (
        mock.patch.dict(os.environ, environment | scenario["environment"], clear=True),
        mock.patch.object(sys, "argv", ["lunguage", *scenario["arguments"]]),
        shown_in(folder / f"{scenario['name']}.out"),
        replaced(scenario["crash"], burst),
        replaced(scenario.get("idle", []), nothing),
        blank_pictures(),
        # Where torch is loaded the command ends its process, which here is the tests'.
        mock.patch.object(os, "_exit", sys.exit),
        mock.patch.object(atexit, "_run_exitfuncs"),
    ):
        try:
            cli()
        except SystemExit as end:
            status = end.code
        except BaseException:
            sys.excepthook(
                *sys.exc_info()
            )  # as the interpreter would, which also ends with status 1
            status = 1
    for file in scenario["files"]:
        Path(file).unlink()
    (folder / f"{scenario['name']}.status").write_text(str(status))
