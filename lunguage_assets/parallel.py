"""Several cores for one batch: pure functions over chunks of studies, in processes.

Studies are independent of each other, a chunk is computed as it would be alone, and
results come in the order of the chunks: the bytes are the same for any number of
processes. Fewer studies than `MIN_STUDIES_FOR_POOL` are computed in this process,
because starting others costs seconds.

Not here: batches over several machines, which are Dagster's runs (`docs/scale.md`).
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
_GC_THRESHOLDS = (200_000, 20, 20)
"""As the command has them: fewer collections, because chunks make many objects."""


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
    """Compute `function(*frames, *tools(*given))` for chunks of studies.

    Args:
        function: of a module; it gets the rows of a chunk of each frame, then the
            tools.
        frames: each with a column `study_id`.
        tools: function of a module that makes what `function` needs besides, once for
            each process.
        given: what tools are made of; it can be pickled.
        processes: how many compute; None: as many as this one may use cores.

    Returns:
        The results of the chunks, sorted by study; one where the studies are few.
    """
    studies = sorted(set().union(*(frame["study_id"].unique() for frame in frames)))
    if _processes_for(len(studies), processes) < 2:
        return [function(*frames, *tools(*given))]
    rows_by_chunk_of_frames = [_rows_by_chunk(frame, studies) for frame in frames]
    chunks = []
    for number in range(-(-len(studies) // CHUNK)):
        chunk = tuple(
            rows_by_chunk.get(number, frame.iloc[:0])
            for rows_by_chunk, frame in zip(
                rows_by_chunk_of_frames, frames, strict=True
            )
        )
        chunks.append(chunk)
    return list(
        map_chunks(
            function,
            chunks,
            tools,
            *given,
            studies=len(studies),
            processes=processes,
        )
    )


def _rows_by_chunk(
    frame: pd.DataFrame, studies: Sequence[str]
) -> dict[Any, pd.DataFrame]:
    """Split a frame by the chunk that its study is in."""
    positions = pd.Index(studies).get_indexer(pd.Index(frame["study_id"]))
    return dict(iter(frame.groupby(positions // CHUNK)))


def map_chunks(
    function: Callable[..., Result],
    chunks: Iterable[tuple[Any, ...]],
    tools: Callable[..., tuple[Any, ...]],
    *given: Any,
    studies: int,
    processes: int | None = None,
) -> Iterator[Result]:
    """Compute `function(*chunk, *tools(*given))` for each chunk, in their order.

    A few more chunks than there are processes are held at a time.

    Args:
        function: as in `map_studies`.
        chunks: the arguments for each call.
        tools: as in `map_studies`.
        given: as in `map_studies`.
        studies: how many there are in all chunks.
        processes: as in `map_studies`.

    Raises:
        ProcessLost: a process was ended from outside.
        ChangedMeanwhile: a file among `given` was edited.
    """
    pool_size = _processes_for(studies, processes)
    if pool_size < 2:
        made_tools = tools(*given)
        for chunk in chunks:
            yield function(*chunk, *made_tools)
        return
    # With the content of the files: a process that stays for the next batch must not
    # take an edited file for the one that it knows.
    recipe = pickle.dumps((tools, given, _digests_of_files(given)))
    running = deque[Future[Result]]()
    try:
        for chunk in chunks:
            running.append(_pool(pool_size).submit(_compute, function, chunk, recipe))
            if len(running) > 2 * pool_size:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    except BrokenProcessPool:
        _pool.cache_clear()
        raise ProcessLost(
            "a process that computed a part of this batch was ended from outside, "
            "perhaps for want of memory. Run the same command again, with fewer of them "
            "(--processes, $LUNGUAGE_PROCESSES): what is finished is kept."
        ) from None
    finally:
        for future in running:
            future.cancel()


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join the rows of all frames; a column `number` counts them from 0."""
    if len(frames) == 1:
        return frames[0]
    rows = pd.concat(frames, ignore_index=True)
    if "number" not in rows:
        return rows
    return rows.assign(number=rows.index.astype(rows["number"].dtype))


def _processes_for(studies: int, processes: int | None) -> int:
    # A worker of Celery is a daemon, and may start no processes.
    is_daemon = multiprocessing.current_process().daemon
    if studies < MIN_STUDIES_FOR_POOL or is_daemon:
        return 1
    return processes or usable_cores()


def usable_cores() -> int:
    """Count the cores that this process may use; all where the system does not tell."""
    # Linux alone has it.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool(processes: int) -> ProcessPoolExecutor:
    """Start processes that stay for what comes next.

    They are spawned: threads and connections survive no fork.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(processes, context, _begin_process)


def _begin_process() -> None:
    gc.set_threshold(*_GC_THRESHOLDS)
    # Ctrl-C is for the process that computes with this one, and tells it to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End when the parent ends, however it does."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@lru_cache(maxsize=4)
def _made_tools(recipe: bytes) -> tuple[Any, ...]:
    """Make the tools of a process, once for all its chunks."""
    # It comes from the process that started this one.
    tools, given, digests = pickle.loads(recipe)
    made_tools: tuple[Any, ...] = tools(*given)
    if _digests_of_files(given) != digests:
        paths = [str(value) for value in given if isinstance(value, Path)]
        raise ChangedMeanwhile(
            f"one of {', '.join(sorted(paths))} was edited while it was read. Run the "
            "same command again."
        )
    return made_tools


def _digests_of_files(given: Sequence[object]) -> list[str]:
    """Hash the files among what tools are made of; "" for everything else."""
    return [
        hashlib.sha256(value.read_bytes()).hexdigest()
        if isinstance(value, Path) and value.is_file()
        else ""
        for value in given
    ]


def _compute(
    function: Callable[..., Result], chunk: tuple[Any, ...], recipe: bytes
) -> Result:
    return function(*chunk, *_made_tools(recipe))
