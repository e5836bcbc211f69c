"""Several cores for one batch: pure functions over chunks of studies, in processes.

Studies are independent of each other, a chunk is computed as it would be alone, and
results come in the order of the chunks: the bytes are the same for any number of
processes. Fewer studies than `MIN_STUDIES_FOR_POOL` are computed in this process,
because starting others costs seconds. The processes of a call end with it.

Not here: batches over several machines, which are Dagster's runs (`docs/scale.md`).
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from lunguage_assets.caches import fewer_collections
from lunguage_assets.errors import LunguageError

Result = TypeVar("Result")
Frames = TypeVar("Frames", bound=tuple[pd.DataFrame, ...])

MIN_STUDIES_FOR_POOL = 500
"""Studies of a batch for which other processes are started."""
CHUNK = 250
"""Studies of a chunk: a second of work or two, so that Ctrl-C does not wait long."""


def map_studies(
    function: Callable[..., Result],
    frames: Sequence[pd.DataFrame],
    make_tools: Callable[..., tuple[Any, ...]],
    *tool_arguments: Any,
    processes: int | None = None,
) -> list[Result]:
    """Compute `function(*rows, *tools)` for the rows of each chunk of studies.

    Args:
        function: of a module; it gets the rows of a chunk of each frame, then the
            tools.
        frames: each with a column `study_id`.
        make_tools: function of a module that makes what `function` needs besides the
            rows; called once in each process.
        tool_arguments: of `make_tools`; they can be pickled.
        processes: how many compute; None: one for each core that this one may use.

    Returns:
        The results of the chunks, sorted by study; at least one.
    """
    # Sorted: the chunks do not depend on the order of the rows.
    studies = sorted(pd.concat([frame["study_id"] for frame in frames]).unique())
    frames_by_chunk = [_chunks_of(frame, studies) for frame in frames]
    return list(
        map_chunks(
            function,
            zip(*frames_by_chunk, strict=True),
            make_tools,
            *tool_arguments,
            studies=len(studies),
            processes=processes,
        )
    )


def _chunks_of(frame: pd.DataFrame, studies: Sequence[str]) -> list[pd.DataFrame]:
    """Split a frame by the chunk that its study is in; a chunk may have no row."""
    chunks = pd.Index(studies).get_indexer(pd.Index(frame["study_id"])) // CHUNK
    # Sorted, so that each chunk is a slice, which copies nothing.
    frame = frame.iloc[np.argsort(chunks, kind="stable")]
    count = math.ceil(len(studies) / CHUNK) or 1
    ends = np.searchsorted(np.sort(chunks), range(count + 1))
    return [frame.iloc[begin:end] for begin, end in pairwise(ends)]


def map_chunks(
    function: Callable[..., Result],
    chunks: Iterable[tuple[Any, ...]],
    make_tools: Callable[..., tuple[Any, ...]],
    *tool_arguments: Any,
    studies: int,
    processes: int | None = None,
) -> Generator[Result, None, None]:
    """Compute `function(*chunk, *tools)` for each chunk, in their order.

    Close what is returned where it is not read to its end: the processes end then.
    A few more chunks than there are processes are held at a time.

    Args:
        function: as in `map_studies`.
        chunks: the arguments for each call.
        make_tools: as in `map_studies`.
        tool_arguments: as in `map_studies`.
        studies: how many there are in all chunks.
        processes: as in `map_studies`.

    Raises:
        LunguageError: a process was ended from outside.
    """
    pool_size = _processes_for(studies, processes)
    if pool_size < 2:
        tools = make_tools(*tool_arguments)
        for chunk in chunks:
            yield function(*chunk, *tools)
        return
    recipe = pickle.dumps((make_tools, tool_arguments))
    running = deque[Future[Result]]()
    # They are forked from a server that has no threads and connections of this process,
    # for these survive no fork. What the server has imported they need not import.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    # One that outlived the block would be joined for ever by Dagster's process of the
    # run.
    with ProcessPoolExecutor(pool_size, context, _begin_process) as pool:
        try:
            for chunk in chunks:
                running.append(pool.submit(_compute, function, chunk, recipe))
                if len(running) > 2 * pool_size:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        except BrokenProcessPool:
            raise LunguageError(
                "a process that computed a part of this batch was ended from outside, "
                "perhaps for want of memory. Run the same command again, with fewer of "
                "them (--processes, $LUNGUAGE_PROCESSES): what is finished is kept."
            ) from None
        finally:
            # Else their chunks would be computed before the processes end.
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


def joined_tables(chunks: Sequence[Frames]) -> Frames:
    """Join named tuples of frames, field by field."""
    fields: Any = [joined(frames) for frames in zip(*chunks, strict=True)]
    return type(chunks[0])(*fields)


def _processes_for(studies: int, processes: int | None) -> int:
    # A worker of Celery is a daemon, and may start no processes.
    is_daemon = multiprocessing.current_process().daemon
    if studies < MIN_STUDIES_FOR_POOL or is_daemon:
        return 1
    if processes is not None:
        return processes
    # Only Linux tells which cores this process may use.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _begin_process() -> None:
    # Ctrl-C is for the process that computes with this one, and tells it to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End when the parent ends, however it does."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@lru_cache(maxsize=1)
def _made_tools(recipe: bytes) -> tuple[Any, ...]:
    """Make the tools of a process, once for all its chunks."""
    # It comes from the process that started this one.
    make_tools, tool_arguments = pickle.loads(recipe)
    tools: tuple[Any, ...] = make_tools(*tool_arguments)
    return tools


def _compute(
    function: Callable[..., Result], chunk: tuple[Any, ...], recipe: bytes
) -> Result:
    with fewer_collections():
        return function(*chunk, *_made_tools(recipe))
