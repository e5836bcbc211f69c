"""A language model in this process: questions asked at the same time become batches.

How a model is loaded and answers is `local_model.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import NamedTuple

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.providers.local_model import (
    AnswerBatch,
    Result,
    load_model,
)
from lunguage_assets.judges.requests import (
    ModelBinding,
    Provider,
    ProviderFailure,
    Reply,
    Request,
)

GGUF = ".gguf"
"""Ends the name of a quantised model in one file, whose numbers `dtype` reads."""

LINGER_S = 0.01
"""A batch that is not full waits so long for more questions."""

_OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "alloc_failed",
)
"""Words of a RuntimeError of torch, by which alone some devices say it."""


class _WaitingRequest(NamedTuple):
    """A question, and where its reply is awaited."""

    request: Request
    reply: asyncio.Future[Reply]


def local_provider(key: str, config: LLMJudgeConfig) -> Provider:
    """Make the provider of a model in this process.

    Nothing is imported or loaded before the first question.

    Raises:
        ConfigurationError: a library is not installed, or the model is a folder, file
            or package that does not exist.
    """
    is_gguf = config.model.endswith(GGUF)
    modules = ["torch", "transformers"]
    if is_gguf:
        modules += ["gguf", "accelerate"]
    for module in modules:
        if find_spec(module) is None:
            raise ConfigurationError(
                f"judge {key!r} runs its model in this process and needs {module}, "
                "which is not installed. Run: pip install 'lunguage-assets[models]'"
            )
    path = named_path(config.model)
    if path is not None:
        is_there = path.is_file() if is_gguf else path.is_dir()
        if not is_there:
            raise ConfigurationError(
                f"judge {key!r}: found no folder {config.model}; expected one with the "
                f"model's files, a {GGUF} file, or a name on the hub."
            )
    return LocalProvider(
        config.binding,
        lambda: load_model(key, config.binding, config.device),
        config.batch_size,
    )


class LocalProvider:
    """Gathers questions into batches, smaller ones when memory runs out.

    Used in one event loop at a time.

    Args:
        binding: of the model.
        load: loads the model, at the first question.
        batch_size: at most.
    """

    def __init__(
        self, binding: ModelBinding, load: Callable[[], AnswerBatch], batch_size: int
    ) -> None:
        self.binding = binding
        self._load = load
        self._batch_size = batch_size
        self._waiting: list[_WaitingRequest] = []
        self._serving: asyncio.Task[None] | None = None
        self._answer_batch: AnswerBatch | None = None

    async def answer(self, request: Request) -> Reply:
        """Ask once; nothing is tried again.

        Raises:
            ProviderFailure: `rejected` where the prompt is too long for the model,
                `overloaded` where memory does not suffice for it alone.
            ConfigurationError: the model cannot be loaded, or cannot be asked so.
        """
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[Reply] = loop.create_future()
        self._waiting.append(_WaitingRequest(request, reply))
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())
        return await reply

    async def _serve(self) -> None:
        """Answer batch after batch while somebody waits.

        The model computes in a thread, which the interpreter awaits when it ends.
        """
        while self._waiting:
            if len(self._waiting) < self._batch_size:
                await asyncio.sleep(LINGER_S)
            batch = self._take_batch()
            if not batch:
                continue
            requests = [waiting.request for waiting in batch]
            results = await asyncio.to_thread(self._results, requests)
            for waiting, result in zip(batch, results, strict=True):
                if waiting.reply.done():
                    continue
                if isinstance(result, Exception):
                    waiting.reply.set_exception(result)
                else:
                    waiting.reply.set_result(result)

    def _take_batch(self) -> list[_WaitingRequest]:
        """Take what waits and is answered as the first of it: freely, or by labels."""
        # Who was cancelled waits no more.
        self._waiting = [
            waiting for waiting in self._waiting if not waiting.reply.done()
        ]
        if not self._waiting:
            return []
        is_choice = self._waiting[0].request.is_choice
        alike = [
            waiting
            for waiting in self._waiting
            if waiting.request.is_choice == is_choice
        ]
        batch = alike[: self._batch_size]
        self._waiting = [waiting for waiting in self._waiting if waiting not in batch]
        return batch

    def _results(self, requests: Sequence[Request]) -> Sequence[Result]:
        """Answer a batch; in halves, as all later ones, when memory runs out."""
        try:
            if self._answer_batch is None:
                self._answer_batch = self._load()
            return self._answer_batch(requests)
        except Exception as error:
            if not _is_out_of_memory(error):
                return [error] * len(requests)
        # Tried again here and not above: there the error's frames still hold the
        # tensors that fill the memory.
        if len(requests) == 1:
            return [ProviderFailure("overloaded")]
        half = (len(requests) + 1) // 2
        self._batch_size = min(self._batch_size, half)
        first_results = self._results(requests[:half])
        second_results = self._results(requests[half:])
        return [*first_results, *second_results]


def _is_out_of_memory(error: Exception) -> bool:
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & {"MemoryError", "OutOfMemoryError"}:
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(
        words in text for words in _OUT_OF_MEMORY
    )
