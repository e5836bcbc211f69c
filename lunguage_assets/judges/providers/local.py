"""Models that run in this process: questions asked at the same time are answered in batches, smaller ones
when memory runs out.

Text stays on this machine, and a call costs nothing. How a loaded model answers a batch is in
`local_model.py`; torch and transformers are imported there, at the first question.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path
from lunguage_assets.judges.requests import ModelBinding, Provider, ProviderFailure, Reply, Request
from lunguage_assets.judges.slots import ModelSlot

INSTALL = "pip install 'lunguage-assets[models]'"
GGUF = ".gguf"
"""Ends the name of a model in one file, quantised; its numbers are read as `dtype` says."""

LINGER_S = 0.01
"""A batch that is not full waits so long for one more question; then nobody else is asking."""

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
    reply: asyncio.Future[Reply]

    @property
    def kind(self) -> tuple[str, ...]:
        """What must agree within a batch: the labels that are scored, none for free text."""
        return self.request.labels if self.request.is_choice else ()


class LocalProvider:
    """Gathers the questions asked at the same time into batches; used in one event loop at a time."""

    def __init__(self, binding: ModelBinding, load: Callable[[], BatchModel], batch_size: int) -> None:
        self.binding, self._load, self._batch_size = binding, load, batch_size
        self._waiting: list[_Asked] = []
        self._serving: asyncio.Task[None] | None = None
        self._model: BatchModel | None = None

    async def answer(self, request: Request) -> Reply:
        """One attempt, no retry.

        Raises:
            ProviderFailure: `rejected`, the prompt is too long for the model; `overloaded`, memory does not
                suffice for it alone.
            ConfigurationError: the model cannot be loaded, or cannot be asked so.
        """
        loop = asyncio.get_running_loop()
        asked = _Asked(request, loop.create_future())
        self._waiting.append(asked)
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())
        return await asked.reply

    async def close(self) -> None:
        """Let the model go."""
        self._model = None

    async def _serve(self) -> None:
        """Answer batch after batch while somebody waits, in a thread: the interpreter ends after it."""
        while self._waiting:
            if len(self._waiting) < self._batch_size:
                await asyncio.sleep(LINGER_S)
            if not (batch := self._gathered()):
                continue
            results = await asyncio.to_thread(self._answers, [one.request for one in batch])
            for one, result in zip(batch, results, strict=True):
                if one.reply.done():
                    continue
                if isinstance(result, Exception):
                    one.reply.set_exception(result)
                else:
                    one.reply.set_result(result)

    def _gathered(self) -> list[_Asked]:
        """The next batch: of one kind, in the order of asking, without those that nobody waits for."""
        waiting = [one for one in self._waiting if not one.reply.done()]
        alike = [one for one in waiting if one.kind == waiting[0].kind][: self._batch_size]
        self._waiting = [one for one in waiting if one not in alike]
        return alike

    def _answers(self, requests: Sequence[Request]) -> list[Reply | Exception]:
        """A result per request, in halves when memory runs out; later batches are then smaller."""
        try:
            if self._model is None:
                self._model = self._load()
            model = self._model
        except Exception as error:
            return [error] * len(requests)
        parts, results = deque([requests]), list[Reply | Exception]()
        while parts:
            part = parts.popleft()
            found = _attempted(model, part)
            if found is None:
                model.release_memory()
                half = (len(part) + 1) // 2
                self._batch_size = min(self._batch_size, half)
                if len(part) > 1:
                    parts.extendleft((part[half:], part[:half]))
                    continue
                found = [ProviderFailure("overloaded")]
            results += found
        return results


def _attempted(model: BatchModel, requests: Sequence[Request]) -> Sequence[Reply | Exception] | None:
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
