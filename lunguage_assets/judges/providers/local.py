"""Models that run in this process: questions asked at the same time are answered in batches, smaller ones
when memory runs out.

Text stays on this machine, and a call costs nothing. How a loaded model answers a batch is in
`local_model.py`; torch and transformers are imported there, at the first question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path
from lunguage_assets.judges.providers import local_model
from lunguage_assets.judges.requests import ModelBinding, Provider, ProviderFailure, Reply, Request
from lunguage_assets.judges.slots import ModelSlot

GGUF = ".gguf"
"""Ends the name of a model in one file, quantised; its numbers are read as `dtype` says."""

LINGER_S = 0.01
"""A batch that is not full waits so long for one more question; then nobody else is asking."""

_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")

_Asked = tuple[Request, asyncio.Future[Reply]]
"""A request that somebody waits for."""


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
                "installed. Run: pip install 'lunguage-assets[models]'"
            )
    place = named_path(slot.model)
    if place is not None and not (place.is_file() if gguf else place.is_dir()):
        raise ConfigurationError(
            f"judge {key!r}: found no folder {slot.model}; expected one with the model's files, "
            f"a {GGUF} file, or a name on the hub."
        )
    return LocalProvider(
        slot.binding, lambda: local_model.load_model(key, slot.binding, slot.device), slot.batch_size
    )


class LocalProvider:
    """Gathers the questions asked at the same time into batches; used in one event loop at a time."""

    def __init__(
        self, binding: ModelBinding, load: Callable[[], local_model.LocalModel], batch_size: int
    ) -> None:
        self.binding, self._load, self._batch_size = binding, load, batch_size
        self._waiting: list[_Asked] = []
        self._serving: asyncio.Task[None] | None = None
        self._model: local_model.LocalModel | None = None

    async def answer(self, request: Request) -> Reply:
        """One attempt, no retry.

        Raises:
            ProviderFailure: `rejected`, the prompt is too long for the model; `overloaded`, memory does not
                suffice for it alone.
            ConfigurationError: the model cannot be loaded, or cannot be asked so.
        """
        loop = asyncio.get_running_loop()
        reply = loop.create_future()
        self._waiting.append((request, reply))
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())
        answer: Reply = await reply
        return answer

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
            results = await asyncio.to_thread(self._answers, [request for request, _ in batch])
            for (_, reply), result in zip(batch, results, strict=True):
                if reply.done():
                    continue
                if isinstance(result, Exception):
                    reply.set_exception(result)
                else:
                    reply.set_result(result)

    def _gathered(self) -> list[_Asked]:
        """The next batch, in the order of asking, without those that nobody waits for; of one kind: the
        labels that are scored, or free text.
        """
        waiting = [one for one in self._waiting if not one[1].done()]
        alike = [one for one in waiting if _kind(one) == _kind(waiting[0])][: self._batch_size]
        self._waiting = [one for one in waiting if one not in alike]
        return alike

    def _answers(self, requests: Sequence[Request]) -> Sequence[Reply | Exception]:
        """A result per request, in halves when memory runs out; later batches are then smaller."""
        try:
            if self._model is None:
                self._model = self._load()
        except Exception as error:
            return [error] * len(requests)
        found = _attempted(self._model, requests)
        if found is not None:
            return found
        self._model.release_memory()
        half = (len(requests) + 1) // 2
        self._batch_size = min(self._batch_size, half)
        if len(requests) == 1:
            return [ProviderFailure("overloaded")]
        return [*self._answers(requests[:half]), *self._answers(requests[half:])]


def _kind(asked: _Asked) -> tuple[str, ...]:
    return asked[0].labels if asked[0].is_choice else ()


def _attempted(
    model: local_model.LocalModel, requests: Sequence[Request]
) -> Sequence[Reply | Exception] | None:
    """Results, None for want of memory. The error itself is let go at once: its frames hold the tensors that
    fill the memory.
    """
    try:
        return model.answer(requests)
    except Exception as error:
        names = {cls.__name__ for cls in type(error).__mro__}
        lacking = isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _MEMORY)
        return None if lacking or names & {"MemoryError", "OutOfMemoryError"} else [error] * len(requests)
