"""A causal language model of `transformers` in this process: its chat template, its two ways of answering,
and the batches in which questions asked at the same time are answered.

Mode `text` generates, as in the paper; mode `enum` scores the two labels in one forward pass. An answer does
not depend on its batch, up to floating point: prompts are padded on the left and masked, and the random
numbers of a sample are a function of the question and of how often it was asked before.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path, quiet_transformers, snapshot
from lunguage_assets.judges.judge_config import GenerationParameters, LLMJudgeConfig
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.requests import (
    ModelBinding,
    Prompt,
    Provider,
    ProviderFailure,
    Reply,
    Request,
)

GGUF = ".gguf"
"""Ends the name of a model in one file, quantised; its numbers are read as `dtype` says."""

LINGER_S = 0.01
"""A batch that is not full waits so long for one more question; then nobody else is asking."""

_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "alloc_failed",
)
_NOT_READ = ("*/*", "consolidated*")
"""Copies of the weights in their authors' own layout, which would be fetched for nothing."""

_BITS = 48

Result = Reply | Exception
Answers = Callable[[Sequence[Request]], Sequence[Result]]
Tokens = list[int]


def local_provider(key: str, slot: LLMJudgeConfig) -> Provider:
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
        slot.binding,
        lambda: load_model(key, slot.binding, slot.device),
        slot.batch_size,
    )


class LocalProvider:
    """Gathers the questions asked at the same time into batches, smaller ones when memory runs out; used in
    one event loop at a time.

    `load` gives what answers the requests of a batch: all free, or all about the same labels.
    """

    def __init__(
        self, binding: ModelBinding, load: Callable[[], Answers], batch_size: int
    ) -> None:
        self.binding, self._load, self._batch_size = binding, load, batch_size
        self._waiting: list[tuple[Request, asyncio.Future[Reply]]] = []
        self._serving: asyncio.Task[None] | None = None
        self._model: Answers | None = None

    async def answer(self, request: Request) -> Reply:
        """One attempt, no retry.

        Raises:
            ProviderFailure: `rejected`, the prompt is too long for the model; `overloaded`, memory does not
                suffice for it alone.
            ConfigurationError: the model cannot be loaded, or cannot be asked so.
        """
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[Reply] = loop.create_future()
        self._waiting.append((request, reply))
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())
        return await reply

    async def _serve(self) -> None:
        """Answer batch after batch while somebody waits, in a thread: the interpreter ends after it."""
        while self._waiting:
            if len(self._waiting) < self._batch_size:
                await asyncio.sleep(LINGER_S)
            waiting = [
                (request, reply) for request, reply in self._waiting if not reply.done()
            ]
            kind = waiting[0][0].is_choice if waiting else False
            batch = [one for one in waiting if one[0].is_choice == kind][
                : self._batch_size
            ]
            self._waiting = [one for one in waiting if one not in batch]
            if not batch:
                continue
            results = await asyncio.to_thread(
                self._answers, [request for request, _ in batch]
            )
            for (_, reply), result in zip(batch, results, strict=True):
                if reply.done():
                    continue
                if isinstance(result, Exception):
                    reply.set_exception(result)
                else:
                    reply.set_result(result)

    def _answers(self, requests: Sequence[Request]) -> Sequence[Result]:
        """A result per request, in halves when memory runs out; later batches are then smaller."""
        try:
            if self._model is None:
                self._model = self._load()
            return self._model(requests)
        except Exception as error:
            names = {cls.__name__ for cls in type(error).__mro__}
            full = isinstance(error, RuntimeError) and any(
                words in str(error).lower() for words in _MEMORY
            )
            if not (full or names & {"MemoryError", "OutOfMemoryError"}):
                return [error] * len(requests)
        # not above, where the error's frames still hold the tensors that fill the memory
        if len(requests) == 1:
            return [ProviderFailure("overloaded")]
        half = (len(requests) + 1) // 2
        self._batch_size = min(self._batch_size, half)
        return [*self._answers(requests[:half]), *self._answers(requests[half:])]


_LOADING = threading.Lock()
_LOADED: weakref.WeakValueDictionary[tuple[str, str, str, str], LocalModel] = (
    weakref.WeakValueDictionary()
)
"""Every judge of this process that names the same weights shares them; the last one lets them go."""


def load_model(key: str, binding: ModelBinding, device: str) -> Answers:
    """What answers a batch of requests of a binding; raises as `LocalModel`."""
    given = dict(binding.parameters)
    place = (binding.model, str(given.pop("revision")), str(given.pop("dtype")), device)
    with _LOADING:
        model = _LOADED.get(place)
        if model is None:
            model = _LOADED[place] = LocalModel(key, *place)
    return partial(model.answer, binding, GenerationParameters.model_validate(given))


class LocalModel:
    """A loaded model with its tokenizer, from a folder or GGUF file, or from the hub or its cache. Besides
    GGUF, weights are safetensors only, and no code of the model's own is run.

    Raises:
        ConfigurationError: the model cannot be loaded, or is not made for conversations.
    """

    def __init__(
        self, key: str, name: str, revision: str, dtype: str, device: str
    ) -> None:
        import torch
        import transformers

        quiet_transformers()
        where = (
            device
            if device != "auto"
            else "cuda"
            if torch.cuda.is_available()
            else "cpu"
        )
        problem = ""
        try:
            place = named_path(name) or Path(name)
            place = place if place.exists() else snapshot(name, revision, _NOT_READ)
            folder, file = (
                (place, None) if place.is_dir() else (place.parent, place.name)
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, gguf_file=file
            )
            model = transformers.AutoModelForCausalLM.from_pretrained(
                folder, gguf_file=file, dtype=dtype, use_safetensors=file is None
            )
            model = model.to(where).eval()
        except (
            Exception
        ) as error:  # each library has its own errors; the text of some is a page long
            problem = type(error).__name__
        if problem:
            raise ConfigurationError(
                f"judge {key!r}: model {name!r}, revision {revision!r}, cannot be loaded on device {where!r} "
                f"({problem}). Expected a folder with safetensors, a .gguf file, or a name on the hub that "
                "this machine can reach, or has in its cache; a gated model needs its licence accepted and "
                "HF_TOKEN."
            )
        if not tokenizer.chat_template:
            expected = "expected a model tuned for instructions"
            raise ConfigurationError(
                f"judge {key!r}: model {name!r} has no chat template; {expected}."
            )
        ends = getattr(model.generation_config, "eos_token_id", None)
        ends = tokenizer.eos_token_id if ends is None else ends
        # its authors' sampling habits would silently complete a judge's parameters
        model.generation_config = transformers.GenerationConfig()
        self.tokenizer, self.model = tokenizer, model
        self._ends = [
            end
            for end in (ends if isinstance(ends, list) else [ends])
            if end is not None
        ]
        self._pad = next(
            (n for n in (tokenizer.pad_token_id, *self._ends) if n is not None), 0
        )
        longest = getattr(
            model.config.get_text_config(), "max_position_embeddings", None
        )
        self._longest = math.inf if longest is None else longest
        self._lock = threading.Lock()  # one batch at a time
        self._system_role = True
        try:  # some templates refuse a system role, some leave it out without a word
            self._system_role = "by the system" in self._rendered(
                Prompt("by the system", "user")
            )
        except Exception:
            self._system_role = False

    def answer(
        self,
        binding: ModelBinding,
        parameters: GenerationParameters,
        requests: Sequence[Request],
    ) -> list[Result]:
        """One result per request, in their order; all are free, or about the same labels. May raise for want
        of memory.

        Raises:
            ConfigurationError: the labels cannot be told apart by their tokens.
        """
        said = parameters.chat_template_kwargs
        prompts = self._tokens(
            [self._rendered(request.prompt, said) for request in requests]
        )
        common, decisive, new = list[int](), list[int](), parameters.max_new_tokens
        if scored := requests[0].is_choice:
            common, decisive = self._labels(requests[0].labels, said)
            new = len(common) + 1
        fitting = [
            n for n, tokens in enumerate(prompts) if len(tokens) + new <= self._longest
        ]
        replies: list[Result] = [ProviderFailure("rejected") for _ in requests]
        if not fitting:
            return replies
        asked, shown = [requests[n] for n in fitting], [prompts[n] for n in fitting]
        seeds = [request_key(binding, request) for request in asked]
        with self._lock:
            if scored:
                found = self._scored(
                    asked, seeds, [prompt + common for prompt in shown], decisive
                )
            else:
                draws = [
                    f"{seed}/{one.attempt}"
                    for seed, one in zip(seeds, asked, strict=True)
                ]
                found = self._generated(parameters, draws, shown)
        for n, (text, answered) in zip(fitting, found, strict=True):
            replies[n] = Reply(
                text, binding.model, len(prompts[n]), len(common) + answered
            )
        return replies

    def _rendered(
        self, prompt: Prompt, template: Mapping[str, Any] = MappingProxyType({})
    ) -> str:
        """The conversation up to where the model's answer begins; a template without a system role gets both
        texts as the user's.
        """
        said = {"system": prompt.system, "user": prompt.user}
        if not (self._system_role and prompt.system):
            said = {
                "user": f"{prompt.system}\n\n{prompt.user}"
                if prompt.system
                else prompt.user
            }
        messages = [{"role": role, "content": text} for role, text in said.items()]
        shown: str = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **template
        )
        return shown

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        encoded = self.tokenizer(
            list(texts), add_special_tokens=False
        )  # the template has them
        tokens: list[Tokens] = encoded["input_ids"]
        return tokens

    def _labels(
        self, labels: tuple[str, ...], template: Mapping[str, Any]
    ) -> tuple[Tokens, Tokens]:
        """What two labels have in common, and the token that then decides for each, as the beginning of an
        answer: some tokenizers cut a word otherwise when it stands alone.
        """
        before = self._rendered(Prompt("", "text"), template)
        start, *whole = self._tokens([before, *(before + label for label in labels)])
        one, other = (
            tokens[len(start) :] if tokens[: len(start)] == start else alone
            for tokens, alone in zip(whole, self._tokens(labels), strict=True)
        )
        alike = takewhile(
            lambda pair: pair[0] == pair[1], zip(one, other, strict=False)
        )
        common = [token for token, _ in alike]
        if len(common) == min(len(one), len(other)):
            raise ConfigurationError(
                f"model {self.tokenizer.name_or_path!r} does not tell the labels {', '.join(labels)} apart; "
                "expected different tokens. Use mode text."
            )
        return common, [one[len(common)], other[len(common)]]

    def _scored(
        self,
        requests: Sequence[Request],
        seeds: Sequence[str],
        prompts: Sequence[Tokens],
        decisive: Tokens,
    ) -> list[tuple[str, int]]:
        """The likelier label of each prompt after one forward pass. Scores of half precision are often equal:
        then a coin decides.
        """
        options = {
            "use_cache": False,
            "output_logits": True,
            "return_dict_in_generate": True,
        }
        logits = self._generate(prompts, 1, **options).logits[0][:, decisive].tolist()
        answers = []
        for request, seed, (a, b) in zip(requests, seeds, logits, strict=True):
            coin = int(a == b and fraction(seed, "tie") < 0.5)
            answers.append((request.labels[coin or int(b > a)], 1))
        return answers

    def _generated(
        self,
        parameters: GenerationParameters,
        seeds: Sequence[str],
        prompts: Sequence[Tokens],
    ) -> list[tuple[str, int]]:
        """Text and its number of tokens, the ending one included, for each prompt."""
        start = max(map(len, prompts))
        chosen = [Chooser(parameters, seeds, start)] if parameters.do_sample else []
        sequences = self._generate(
            prompts, parameters.max_new_tokens, logits_processor=chosen
        )
        answers = []
        for tokens in sequences[:, start:].tolist():
            end = next(
                (n + 1 for n, token in enumerate(tokens) if token in self._ends),
                len(tokens),
            )
            text: str = self.tokenizer.decode(tokens[:end], skip_special_tokens=True)
            answers.append((text, end))
        return answers

    def _generate(
        self, prompts: Sequence[Tokens], new_tokens: int, **options: Any
    ) -> Any:
        """`generate` of the prompts, padded on the left."""
        import torch

        length = max(map(len, prompts))
        padded = [[self._pad] * (length - len(tokens)) + tokens for tokens in prompts]
        masks = [[0] * (length - len(tokens)) + [1] * len(tokens) for tokens in prompts]
        with torch.inference_mode():
            return self.model.generate(
                input_ids=torch.tensor(padded, device=self.model.device),
                attention_mask=torch.tensor(masks, device=self.model.device),
                max_new_tokens=new_tokens,
                do_sample=False,
                eos_token_id=self._ends or None,
                pad_token_id=self._pad,
                **options,
            )


class Chooser:
    """Draws the next token of every row of a batch, as a logits processor: the drawn token alone keeps a
    score, and greedy search takes it. Each row has its own number per step, hashed from its seed, because
    `generate` draws for all rows from one stream: an answer would depend on its neighbours.
    """

    def __init__(
        self, parameters: GenerationParameters, seeds: Sequence[str], start: int
    ) -> None:
        import transformers as tf

        self._seeds, self._start = seeds, start
        shapers = (  # the library's own, in its order
            parameters.temperature != 1
            and tf.TemperatureLogitsWarper(float(parameters.temperature)),
            parameters.top_k and tf.TopKLogitsWarper(parameters.top_k),
            parameters.top_p < 1 and tf.TopPLogitsWarper(parameters.top_p),
            parameters.min_p and tf.MinPLogitsWarper(parameters.min_p),
        )
        self._shapers: list[Any] = [shape for shape in shapers if shape]

    def __call__(self, tokens: Any, scores: Any) -> Any:
        """Scores of shape (rows, vocabulary): 0 for the drawn token of each row, minus infinity elsewhere."""
        import torch

        for shape in self._shapers:
            scores = shape(tokens, scores)
        step = tokens.shape[1] - self._start
        numbers = [[fraction(seed, step)] for seed in self._seeds]
        heaps = torch.softmax(scores.double(), dim=-1).cumsum(dim=-1)
        sought = (
            torch.tensor(numbers, dtype=torch.float64, device=scores.device)
            * heaps[:, -1:]
        )
        drawn = torch.searchsorted(heaps, sought, right=True)
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn, 0.0)


def fraction(*parts: object) -> float:
    """A number in [0, 1), hashed from the parts."""
    text = "\x1f".join(map(str, parts)).encode()
    return (
        int.from_bytes(hashlib.blake2b(text, digest_size=_BITS // 8).digest(), "little")
        / 2.0**_BITS
    )
