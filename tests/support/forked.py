"""Functions in processes of their own. These are forked from one process that has
imported everything, and so begin at once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from unittest.mock import patch

import child_process

_IMPORTED = ["sdk_run", "openai.resources.chat", "anthropic"]


@dataclass
class Forked:
    """A process that works."""

    process: BaseProcess
    connection: Connection

    def told(self) -> Any:
        """What the work returned, when it has ended."""
        if not self.connection.poll(60):
            self.process.kill()
            raise AssertionError("it should have ended")
        outcome = self.connection.recv()
        self.process.join()
        return outcome

    def signal(self, number: signal.Signals) -> None:
        """Stop it, wake it up, interrupt or kill it."""
        os.kill(self.process.pid or 0, number)
        if number == signal.SIGKILL:
            self.process.join()


def forked(
    work: Callable[..., Any],
    *arguments: Any,
    errors: str | Path = os.devnull,
    **options: Any,
) -> Forked:
    """A process that does `work`, a function of a module, and writes what it has to
    complain of to a file.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    own_end, child_end = context.Pipe()
    process = context.Process(
        target=_work,
        args=(child_end, str(errors), work, arguments, options),
        daemon=True,
    )
    with patch.dict(
        os.environ, child_process.environment()
    ):  # what is imported lies beside this module
        process.start()
    child_end.close()
    return Forked(process, own_end)


def _work(
    connection: Connection,
    errors: str,
    work: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> None:
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT, 0o600), 2)
    connection.send(work(*arguments, **options))
