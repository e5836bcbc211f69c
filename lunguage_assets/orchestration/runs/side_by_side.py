"""Batches side by side, in several processes: `lunguage run --processes N`.

Dagster executes a run in one process, and Python computes on one core; batches are independent of each
other. Consecutive stages of batches are dealt out to processes, all stages of a batch to the same one, in
their order; everything else stays in this process. Each process opens the home's instance for itself, so
that in the UI and on disk nothing differs from runs one after the other. Only where no judge is a language
model: `--budget` holds within a process, and a model in the process is loaded by each.

A process ends with the connection to this one, so that none outlives a killed command for longer than its
batch takes. A signal to this process is passed on to all.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

import dagster as dg

from lunguage_assets.collector import collect_seldom
from lunguage_assets.current.plan import Stage, Wanted
from lunguage_assets.current.recipes import BATCH
from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.interruption import answering_signals
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.instance import dagster_instance
from lunguage_assets.orchestration.runs.runner import Progress, RunFailed, Runner, RunSummary
from lunguage_assets.orchestration.withheld import where

_PATIENCE_S = 30.0
"""How long a process that was asked to stop may take to tidy up."""


@dataclass(frozen=True)
class _Task:
    """Stages of one batch, and those of the plan before them."""

    chain: Sequence[Stage]
    before: Sequence[Stage]
    wanted: Wanted


@dataclass(frozen=True)
class _Said:
    """What a process says of its task."""

    kind: Literal["begun", "done", "failed", "interrupted"]
    stage: Stage | None = None
    summary: RunSummary | None = None
    message: str = ""


def stretches(stages: Sequence[Stage]) -> Iterator[list[list[Stage]]]:
    """The stages in order: one by one, and consecutive stages of batches together, as one list per batch."""
    for of_batches, group in groupby(stages, lambda stage: BATCH in stage.dimensions):
        if not of_batches:
            yield from ([[stage]] for stage in group)
            continue
        together: dict[str, list[Stage]] = {}
        for stage in group:
            together.setdefault(stage.keys[-1], []).append(stage)
        yield list(together.values())


class SideBySideRunner(Runner):
    """A `Runner` that works on so many batches at once as it has processes.

    Raises:
        ConfigurationError: a judge of the preset is a language model.
    """

    def __init__(self, home: HomeResource, instance: dg.DagsterInstance, processes: int) -> None:
        super().__init__(home, instance)
        if models := home.judges.models:
            raise ConfigurationError(
                f"--processes {processes}: the preset {home.judges.preset!r} asks language models "
                f"({', '.join(models)}), whose budget holds within one process. Leave the option out: they "
                "are asked at the same time anyway."
            )
        self._processes = processes

    def _execute_all(self, stages: Sequence[Stage], progress: Progress, wanted: Wanted) -> RunSummary:
        summary, begun = RunSummary(), 0
        with ExitStack() as stack:
            workers: _Workers | None = None
            for chains in stretches(stages):
                if len(chains) == 1:
                    for stage in chains[0]:
                        progress(stage, begun, len(stages))
                        self.carry_on(stage, stages[:begun], summary, wanted)
                        begun += 1
                    continue
                workers = workers or stack.enter_context(_working(self._home, self._processes))
                before = stages[:begun]
                for said in workers.carry_out([_Task(chain, before, wanted) for chain in chains]):
                    if said.stage is not None:
                        progress(said.stage, begun, len(stages))
                        begun += 1
                    if said.summary is not None:
                        summary.add(said.summary)
        return summary


def runner_of(home: HomeResource, instance: dg.DagsterInstance, processes: int) -> Runner:
    """The runner for so many batches at once.

    Raises:
        ConfigurationError: as in `SideBySideRunner`.
    """
    return SideBySideRunner(home, instance, processes) if processes > 1 else Runner(home, instance)


@contextmanager
def _working(home: HomeResource, processes: int) -> Iterator[_Workers]:
    workers = _Workers(home, processes)
    try:
        yield workers
    except KeyboardInterrupt:  # of this process, or told by one of them
        workers.stop()
        raise
    finally:
        workers.close()


class _Workers:
    """Processes that carry out tasks."""

    def __init__(self, home: HomeResource, processes: int) -> None:
        # Not forked: Dagster's threads and SQLite's connections do not survive it.
        context = multiprocessing.get_context("spawn")
        self._processes: dict[Connection, Any] = {}
        for _ in range(processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(home.fields(), theirs), daemon=True)
            process.start()
            theirs.close()
            self._processes[ours] = process

    def carry_out(self, tasks: Sequence[_Task]) -> Iterator[_Said]:
        """What the processes say, until all tasks are done.

        Raises:
            RunFailed: a task failed; those at work were finished, no other was begun.
            KeyboardInterrupt: one of them was asked to stop.
        """
        waiting, idle, busy = deque(tasks), list(self._processes), set[Connection]()
        failures: list[str] = []
        while busy or (waiting and not failures):
            while waiting and idle and not failures:
                busy.add(idle[-1])
                idle.pop().send(waiting.popleft())
            for connection in wait(list(busy)):
                said = _received(connection)
                if said.kind == "interrupted":
                    raise KeyboardInterrupt
                if said.kind == "failed":
                    failures.append(said.message)
                if said.kind != "begun":
                    busy.discard(connection)
                    idle.append(connection)
                yield said
        if failures:
            raise RunFailed(failures[0])

    def stop(self) -> None:
        """Ask all of them to stop, and wait until they have tidied up."""
        for process in self._processes.values():
            if process.is_alive():
                os.kill(process.pid, signal.SIGINT)
        for process in self._processes.values():
            process.join(_PATIENCE_S)

    def close(self) -> None:
        for connection, process in self._processes.items():
            connection.close()
            process.join(_PATIENCE_S)
            if process.is_alive():
                process.terminate()


def _received(connection: Connection) -> _Said:
    try:
        said: _Said = connection.recv()
        return said
    except EOFError:
        return _Said(
            "failed",
            message="a process that worked on a batch was ended from outside, perhaps for want of memory. "
            "Run the same command again, with fewer processes: what is finished is kept.",
        )


def _serve(fields: dict[str, str], connection: Connection) -> None:
    """What one of the processes does: carry out tasks until the connection ends."""
    os.setsid()  # Ctrl-C in a terminal reaches the command alone, which passes it on once
    home = HomeResource(**fields)
    try:
        collect_seldom()
        with answering_signals(), dagster_instance(home.home) as instance:
            runner = Runner(home, instance)
            while True:
                for said in _carried_out(runner, connection.recv()):
                    connection.send(said)
    except (EOFError, BrokenPipeError):
        return
    except KeyboardInterrupt:
        connection.send(_Said("interrupted"))
    except LunguageError as error:
        connection.send(_Said("failed", message=str(error)))
    except Exception as error:  # its message may quote a report
        connection.send(_Said("failed", message=f"unexpected {where(error)}. Please report this."))


def _carried_out(runner: Runner, task: _Task) -> Iterator[_Said]:
    summary = RunSummary()
    for number, stage in enumerate(task.chain):
        yield _Said("begun", stage=stage)
        try:
            runner.carry_on(stage, [*task.before, *task.chain[:number]], summary, task.wanted)
        except RunFailed as error:
            yield _Said("failed", message=str(error), summary=summary)
            return
    yield _Said("done", summary=summary)
