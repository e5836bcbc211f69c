"""Models that run in this process: one thread that answers concurrent questions in batches, and what happens
when memory runs out.

Text stays on this machine, and a call costs nothing. How a loaded model answers a batch is in
`local_model.py`; torch and transformers are imported there, at the first question.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path
from lunguage_assets.judges.providers.constrained import constrained
from lunguage_assets.judges.requests import ModelBinding, Provider, ProviderFailure, Reply, Request
from lunguage_assets.judges.slots import ModelSlot

INSTALL = "pip install 'lunguage-assets[models]'"
GGUF = ".gguf"
"""Ends the name of a model in one file, quantised; its numbers are read as `dtype` says."""

LINGER_S = 0.01
"""A batch that is not full waits so long for one more question; then nobody else is asking."""

LAST_BATCH_S = 30.0
"""At its end the program waits so long for a batch that is being answered."""

_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")


class BatchModel(Protocol):
    """A loaded model."""

    def answer(self, requests: Sequence[Request]) -> list[Reply | ProviderFailure]:
        """One result per request, in their order; all are of one mode, with the same labels. May raise for
        want of memory.
        """
        ...

    def release_memory(self) -> None:
        """Give back what the last batch took, as far as it is not in use."""
        ...


def local_provider(key: str, slot: ModelSlot) -> Provider:
    """The provider of a slot of provider `transformers`; nothing is imported or loaded before the first
    question.

    Raises:
        ConfigurationError: a library is not installed, or the model is a folder, file or package that does
            not exist.
    """
    gguf = ("gguf", "accelerate") if slot.model.endswith(GGUF) else ()
    for module in ("torch", "transformers", *gguf):
        if find_spec(module) is None:
            raise ConfigurationError(
                f"judge {key!r} runs its model in this process and needs {module}, which is not "
                f"installed. Run: {INSTALL}"
            )
    place = named_path(slot.model)
    if place is not None and not (place.is_file() if slot.model.endswith(GGUF) else place.is_dir()):
        raise ConfigurationError(
            f"judge {key!r}: found no folder {slot.model}; expected one with the model's files, "
            f"a {GGUF} file, or a name on the hub."
        )

    def load() -> BatchModel:
        from lunguage_assets.judges.providers.local_model import load_model

        return load_model(key, slot.binding, slot.device)

    return LocalProvider(slot.binding, load, slot.batch_size)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that somebody waits for."""

    request: Request
    reply: Future[Reply]

    @property
    def kind(self) -> tuple[str, ...]:
        """What must agree within a batch: the labels that are scored, none for free text."""
        return self.request.labels if constrained(self.request) else ()

    def end(self, result: Reply | Exception) -> None:
        if isinstance(result, Exception):
            self.reply.set_exception(result)
        else:
            self.reply.set_result(result)


class LocalProvider:
    """Gathers the questions asked at the same time into batches; usable from any number of event loops and
    threads.
    """

    def __init__(self, binding: ModelBinding, load: Callable[[], BatchModel], batch_size: int) -> None:
        self.binding, self._load, self._batch_size = binding, load, batch_size
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._process = 0

    async def answer(self, request: Request) -> Reply:
        """One attempt, no retry.

        Raises:
            ProviderFailure: `rejected`, the prompt is too long for the model; `overloaded`, memory does not
                suffice for it alone.
            ConfigurationError: the model cannot be loaded, or cannot be asked so.
        """
        asked = _Asked(request, Future())
        self._put(asked)
        return await asyncio.wrap_future(asked.reply)

    async def close(self) -> None:
        """End the thread after its batch and let the model go."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _put(self, asked: _Asked) -> None:
        with self._lock:
            # a forked process has the object and not the thread
            if self._worker is None or self._process != os.getpid():
                self._worker, self._process = _Worker(self._load, self._batch_size), os.getpid()
                self._worker.start()
                weakref.finalize(self, self._worker.end).atexit = False
            self._worker.asked.put(asked)


class _Worker(threading.Thread):
    """The thread that loads a model and answers batch after batch; the model is let go with it."""

    def __init__(self, load: Callable[[], BatchModel], batch_size: int) -> None:
        super().__init__(name="local model", daemon=True)
        self.asked: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._load, self._batch_size, self._ended = load, batch_size, False
        self._waiting: list[_Asked] = []
        _WORKERS.add(self)

    def end(self) -> None:
        """No further batch; who still waits for one is cancelled."""
        self._ended = True
        self.asked.put(None)

    def run(self) -> None:
        model: BatchModel | None = None
        while batch := self._gathered():
            try:
                model = self._load() if model is None else model
            except Exception as error:
                for one in batch:
                    one.end(error)
                continue
            self._batch_size = _answer(model, batch, self._batch_size)

    def _gathered(self) -> list[_Asked]:
        """The next batch: of one kind, in the order of asking, without those that nobody waits for any more.
        Empty: there will be none.
        """
        while self._filled():
            kind = self._waiting[0].kind
            alike = [one for one in self._waiting if one.kind == kind]
            others = [one for one in self._waiting if one.kind != kind]
            batch, self._waiting = alike[: self._batch_size], others + alike[self._batch_size :]
            if wanted := [one for one in batch if one.reply.set_running_or_notify_cancel()]:
                return wanted
        while not self.asked.empty():
            self._waiting += [one for one in [self.asked.get()] if one is not None]
        for one in self._waiting:
            one.reply.cancel()
        return []

    def _filled(self) -> bool:
        """Wait until a batch is full, or nobody else is asking; false at the end."""
        while not self._ended and (
            not self._waiting
            or sum(one.kind == self._waiting[0].kind for one in self._waiting) < self._batch_size
        ):
            try:
                one = self.asked.get(timeout=LINGER_S if self._waiting else None)
            except queue.Empty:
                break
            if one is not None:
                self._waiting.append(one)
        return not self._ended


_WORKERS: weakref.WeakSet[_Worker] = weakref.WeakSet()


@atexit.register
def _end_workers() -> None:
    """The interpreter cannot end well under a thread that is inside torch."""
    for worker in list(_WORKERS):
        worker.end()
    for worker in list(_WORKERS):
        if worker.is_alive():
            worker.join(LAST_BATCH_S)


def _answer(model: BatchModel, batch: list[_Asked], batch_size: int) -> int:
    """Answer a batch, in halves when memory runs out; the batch size that memory has been seen to allow."""
    parts = deque([batch])
    while parts:
        part = parts.popleft()
        results = _attempted(model, [one.request for one in part])
        if results is not None:
            for one, result in zip(part, results, strict=True):
                one.end(result)
            continue
        model.release_memory()
        if len(part) == 1:
            part[0].end(ProviderFailure("overloaded"))
            continue
        half = (len(part) + 1) // 2
        batch_size = min(batch_size, half)
        parts.extendleft((part[half:], part[:half]))
    return batch_size


def _attempted(model: BatchModel, requests: list[Request]) -> Sequence[Reply | Exception] | None:
    """Results, None for want of memory. The error itself is let go at once: its frames hold the tensors that
    fill the memory.
    """
    try:
        return model.answer(requests)
    except Exception as error:
        return None if _out_of_memory(error) else [error] * len(requests)


def _out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError) or "OutOfMemoryError" in {cls.__name__ for cls in type(error).__mro__}:
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _MEMORY)
