"""Several cores for one batch: pure functions over chunks of studies, in processes of their own.

Studies are independent of each other, a chunk is computed as it would be alone, and
results come in the order of the chunks: the bytes are the same for any number of
processes. Fewer studies than `MIN_STUDIES_FOR_POOL` are computed in this process, because
starting others costs seconds.
"""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from lunguage_assets.errors import LunguageError

Result = TypeVar("Result")

MIN_STUDIES_FOR_POOL = 500
CHUNK = 250
"""Studies of a chunk: a second of work or two, so that Ctrl-C does not wait long."""


class ChangedMeanwhile(LunguageError):
    """A file was edited while it was read; nothing was stored."""


class ProcessLost(LunguageError):
    """A process of this one ended before it had computed its part."""


def map_studies(
    function: Callable[..., Result],
    frames: Sequence[pd.DataFrame],
    tools: Callable[..., tuple[Any, ...]],
    *given: Any,
    processes: int | None = None,
) -> list[Result]:
    """`function(*frames, *tools(*given))` for chunks of studies, sorted by their ids; one where they are few.

    Frames have a column `study_id`. Functions are those of a module, and `given` can be pickled: each process
    makes its tools once. `processes` is how many compute; None: as many as this one may use cores.
    """
    studies = sorted(set().union(*(frame["study_id"].unique() for frame in frames)))
    at_once = _at_once(len(studies), processes)
    if at_once < 2:
        return [function(*frames, *tools(*given))]
    numbers = [
        pd.Index(studies).get_indexer(frame["study_id"].to_numpy()) // CHUNK
        for frame in frames
    ]
    parts = [
        dict(list(frame.groupby(number)))
        for frame, number in zip(frames, numbers, strict=True)
    ]
    of_chunks = [
        tuple(
            part.get(at, frame.iloc[:0])
            for part, frame in zip(parts, frames, strict=True)
        )
        for at in range(-(-len(studies) // CHUNK))
    ]
    return list(
        map_chunks(
            function,
            of_chunks,
            tools,
            *given,
            studies=len(studies),
            processes=processes,
        )
    )


def map_chunks(
    function: Callable[..., Result],
    parts: Iterable[tuple[Any, ...]],
    tools: Callable[..., tuple[Any, ...]],
    *given: Any,
    studies: int,
    processes: int | None = None,
) -> Iterator[Result]:
    """`function(*part, *tools(*given))` for each part of so many `studies`, in their order; a few parts more
    than there are processes are held at a time. The rest is as in `map_studies`.
    """
    at_once = _at_once(studies, processes)
    if at_once < 2:
        own = tools(*given)
        yield from (function(*part, *own) for part in parts)
        return
    # With the content of the files: a process that stays must not take an edited file for the one it knows.
    made, begun = (
        pickle.dumps((tools, given, _contents(given))),
        deque[Future[Result]](),
    )
    try:
        for part in parts:
            begun.append(_pool(at_once).submit(_call, function, part, made))
            if len(begun) > 2 * at_once:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    except BrokenProcessPool:
        _pool.cache_clear()
        raise ProcessLost(
            "a process that computed a part of this batch was ended from outside, perhaps for want of "
            "memory. Run the same command again, with fewer of them (--processes, $LUNGUAGE_PROCESSES): "
            "what is finished is kept."
        ) from None
    finally:
        for one in begun:
            one.cancel()


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all frames; of one, the frame itself. A column `number` counts them from 0."""
    if len(frames) == 1:
        return frames[0]
    rows = pd.concat(frames, ignore_index=True)
    return (
        rows.assign(number=rows.index.astype(rows["number"].dtype))
        if "number" in rows
        else rows
    )


def _at_once(studies: int, processes: int | None) -> int:
    # a worker of Celery is a daemon, and may start no processes
    if studies < MIN_STUDIES_FOR_POOL or multiprocessing.current_process().daemon:
        return 1
    return processes or usable_cores()


def usable_cores() -> int:
    """How many cores this process may use; all of the machine where the system does not tell."""
    if hasattr(os, "sched_getaffinity"):  # Linux alone has it
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool(processes: int) -> ProcessPoolExecutor:
    """Processes that stay for what comes next; spawned, as threads and connections survive no fork."""
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _begin)


def _begin() -> None:
    """Leave Ctrl-C to the process that computes with this one, and end when it ends, however it does."""
    gc.set_threshold(200_000, 20, 20)  # as the command has it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@lru_cache(maxsize=4)
def _tools(made: bytes) -> tuple[Any, ...]:
    tools, given, contents = pickle.loads(made)  # of the process that started this one
    found: tuple[Any, ...] = tools(*given)
    if _contents(given) != contents:
        names = ", ".join(sorted(str(one) for one in given if isinstance(one, Path)))
        raise ChangedMeanwhile(
            f"one of {names} was edited while it was read. Run the same command again."
        )
    return found


def _contents(given: Sequence[object]) -> list[str]:
    """Digests of the files among what tools are made of; "" for everything else."""
    return [
        hashlib.sha256(one.read_bytes()).hexdigest()
        if isinstance(one, Path) and one.is_file()
        else ""
        for one in given
    ]


def _call(
    function: Callable[..., Result], of_chunk: tuple[Any, ...], made: bytes
) -> Result:
    return function(*of_chunk, *_tools(made))
