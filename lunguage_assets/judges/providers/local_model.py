"""A causal language model of `transformers`, loaded into this process: its chat template, its batches, its
two ways of answering.

Mode `text` generates, as in the paper. Mode `enum` scores the two labels in one forward pass. Which questions
share a batch is decided in `local.py`; an answer does not depend on it, up to floating point: prompts are
padded on the left and masked, and the random numbers of a sample are a function of the question alone.
"""

from __future__ import annotations

import hashlib
import math
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path, quiet_transformers, snapshot
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.requests import ModelBinding, Prompt, ProviderFailure, Reply, Request
from lunguage_assets.judges.slots import Generation

Tokens = list[int]

_BITS = 48
_NOT_READ = ("*/*", "consolidated*")
"""Copies of the weights in their authors' own layout, which would be fetched for nothing."""


@dataclass(eq=False)
class Weights:
    """A loaded model with its tokenizer. `ends`: tokens that end an answer. One batch at a time goes through
    it.
    """

    tokenizer: Any
    model: Any
    ends: Tokens
    pad: int
    longest: int | None
    lock: threading.Lock = field(default_factory=threading.Lock)


_LOADING = threading.Lock()
_LOADED: weakref.WeakValueDictionary[tuple[str, str, str, str], Weights] = weakref.WeakValueDictionary()


def load_model(key: str, binding: ModelBinding, device: str) -> LocalModel:
    """The model of a binding, whose weights are shared with every other judge of this process that has the
    same ones loaded.

    Raises:
        ConfigurationError: the model cannot be loaded, or is not made for conversations.
    """
    settings = dict(binding.parameters)
    place = (binding.model, str(settings["revision"]), str(settings["dtype"]), device)
    with _LOADING:
        weights = _LOADED.get(place)
        if weights is None:
            weights = _LOADED[place] = _load(key, *place)
    return LocalModel(key, binding, weights)


def _load(key: str, name: str, revision: str, dtype: str, device: str) -> Weights:
    """Model and tokenizer from a folder or GGUF file, or from the hub or its cache; besides GGUF safetensors
    only, and no code of the model's own is run.
    """
    import torch
    import transformers

    quiet_transformers()
    where = device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    problem = ""
    try:
        place = named_path(name) or Path(name)
        place = place if place.exists() else snapshot(name, revision, _NOT_READ)
        folder, file = (place, None) if place.is_dir() else (place.parent, place.name)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=file, dtype=dtype, use_safetensors=file is None
        )
        model = model.to(where).eval()
    except Exception as error:  # each library has its own errors; the text of some is a page long
        problem = type(error).__name__
    if problem:
        raise ConfigurationError(
            f"judge {key!r}: model {name!r}, revision {revision!r}, cannot be loaded on device {where!r} "
            f"({problem}). Expected a folder with safetensors, a .gguf file, or a name on the hub that this "
            "machine can reach, or has in its cache; a gated model needs its licence accepted and HF_TOKEN."
        )
    if not tokenizer.chat_template:
        raise ConfigurationError(
            f"judge {key!r}: model {name!r} has no chat template; expected a model tuned for instructions."
        )
    configured = getattr(model.generation_config, "eos_token_id", None)
    configured = tokenizer.eos_token_id if configured is None else configured
    ends = [
        token for token in (configured if isinstance(configured, list) else [configured]) if token is not None
    ]
    # its authors' sampling habits would silently complete a judge's parameters
    model.generation_config = transformers.GenerationConfig()
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else next(iter(ends), 0)
    longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return Weights(tokenizer, model, ends, pad, longest)


class LocalModel:
    """A judge's way of asking a loaded model: the parameters of its slot, over weights that it may share."""

    def __init__(self, key: str, binding: ModelBinding, weights: Weights) -> None:
        self._key, self._binding, self._weights = key, binding, weights
        given = dict(binding.parameters)
        self._parameters = Generation.model_validate(
            {name: value for name, value in given.items() if name in Generation.model_fields}
        )
        self._system_role = True
        try:  # some templates refuse a system role, some leave it out without a word
            self._system_role = "spoken by the system" in self._rendered(
                Prompt("spoken by the system", "user")
            )
        except Exception:
            self._system_role = False

    def answer(self, requests: Sequence[Request]) -> list[Reply | ProviderFailure]:
        """One result per request, in their order; all are of one mode, with the same labels. May raise for
        want of memory.

        Raises:
            ConfigurationError: the labels cannot be told apart by their tokens.
        """
        scored = requests[0].is_choice
        common, decisive = self._labels(requests[0].labels) if scored else ([], [])
        new = 1 if scored else self._parameters.max_new_tokens
        prompts = self._tokens([self._rendered(request.prompt) for request in requests])
        longest = self._weights.longest
        room = math.inf if longest is None else longest - len(common) - new
        fitting = [n for n, tokens in enumerate(prompts) if len(tokens) <= room]
        replies: list[Reply | ProviderFailure] = [ProviderFailure("rejected") for _ in requests]
        if fitting:
            asked, shown = [requests[n] for n in fitting], [prompts[n] for n in fitting]
            with self._weights.lock:
                if scored:
                    found = self._scored(asked, shown, common, decisive)
                else:
                    found = self._generated(asked, shown)
            for n, (text, answered) in zip(fitting, found, strict=True):
                replies[n] = Reply(text, self._binding.model, len(prompts[n]), answered)
        return replies

    def release_memory(self) -> None:
        """Give back what the last batch took, as far as it is not in use."""
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _rendered(self, prompt: Prompt) -> str:
        """The conversation up to where the model's answer begins; a template without a system role gets both
        texts as the user's.
        """
        said = {"system": prompt.system, "user": prompt.user}
        if not (self._system_role and prompt.system):
            said = {"user": f"{prompt.system}\n\n{prompt.user}" if prompt.system else prompt.user}
        messages = [{"role": role, "content": text} for role, text in said.items()]
        template = self._parameters.chat_template_kwargs
        shown: str = self._weights.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **template
        )
        return shown

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        encoded = self._weights.tokenizer(list(texts), add_special_tokens=False)  # the template has them
        tokens: list[Tokens] = encoded["input_ids"]
        return tokens

    def _labels(self, labels: tuple[str, ...]) -> tuple[Tokens, list[Tokens]]:
        """What two labels have in common, and the tokens that then decide for each: one, or the ends of an
        answer where a label ends there.

        Labels are tokenized as the beginning of an answer: some tokenizers cut a word otherwise when it
        stands alone.
        """
        before = self._rendered(Prompt("", "text"))
        start, *whole = self._tokens([before, *(before + label for label in labels)])
        behind = [
            tokens[len(start) :] if tokens[: len(start)] == start else alone
            for tokens, alone in zip(whole, self._tokens(labels), strict=True)
        ]
        pairs = zip(behind[0], behind[-1], strict=False)
        common = [token for token, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        decisive = [label[len(common) : len(common) + 1] or self._weights.ends for label in behind]
        if len(behind) != 2 or behind[0] == behind[1] or not all(decisive):
            raise ConfigurationError(
                f"judge {self._key!r}: model {self._binding.model!r} does not tell the labels apart; "
                "expected two of different tokens, or a token that ends an answer. Use mode text."
            )
        return common, decisive

    def _scored(
        self,
        requests: Sequence[Request],
        prompts: Sequence[Tokens],
        common: Tokens,
        decisive: Sequence[Tokens],
    ) -> list[tuple[str, int]]:
        """The likelier label of each prompt after one forward pass. Scores of half precision are often equal:
        then a coin decides.
        """
        import torch

        options = {"use_cache": False, "output_logits": True, "return_dict_in_generate": True}
        result = self._generate([prompt + common for prompt in prompts], 1, None, **options)
        scores = torch.log_softmax(result.logits[0].double(), dim=-1)
        first, second = (torch.logsumexp(scores[:, tokens], dim=-1).tolist() for tokens in decisive)
        answers = []
        for request, a, b in zip(requests, first, second, strict=True):
            coin = int(a == b and fraction(request_key(self._binding, request), "tie") < 0.5)
            answers.append((request.labels[coin or int(b > a)], len(common) + 1))
        return answers

    def _generated(self, requests: Sequence[Request], prompts: Sequence[Tokens]) -> list[tuple[str, int]]:
        """Text and its number of tokens, the ending one included, for each prompt.

        A sample is a function of the question and of how often it was asked before: a question that is asked
        again because its answer was unusable is a new draw.
        """
        chooser, start = None, max(map(len, prompts))
        if self._parameters.do_sample:
            seeds = [f"{request_key(self._binding, request)}/{request.attempt}" for request in requests]
            chooser = Chooser(self._parameters, seeds, start)
        sequences = self._generate(prompts, self._parameters.max_new_tokens, chooser)[:, start:].tolist()
        answers = []
        for tokens in sequences:
            end = next((n + 1 for n, token in enumerate(tokens) if token in self._weights.ends), len(tokens))
            text: str = self._weights.tokenizer.decode(tokens[:end], skip_special_tokens=True)
            answers.append((text, end))
        return answers

    def _generate(
        self, prompts: Sequence[Tokens], new_tokens: int, chooser: Chooser | None, **options: Any
    ) -> Any:
        """`generate` of the prompts, padded on the left."""
        import torch

        length, pad = max(map(len, prompts)), self._weights.pad
        padded = [[pad] * (length - len(tokens)) + tokens for tokens in prompts]
        masks = [[0] * (length - len(tokens)) + [1] * len(tokens) for tokens in prompts]
        model = self._weights.model
        with torch.inference_mode():
            return model.generate(
                input_ids=torch.tensor(padded, device=model.device),
                attention_mask=torch.tensor(masks, device=model.device),
                max_new_tokens=new_tokens,
                do_sample=False,
                logits_processor=[chooser] if chooser is not None else [],
                eos_token_id=self._weights.ends or None,
                pad_token_id=pad,
                **options,
            )


class Chooser:
    """Draws the next token of every row of a batch, as a logits processor: the drawn token alone keeps a
    score, and greedy search takes it.

    `generate` itself draws for all rows from one stream of random numbers, so that an answer would depend on
    its neighbours in the batch. Here each row has its own number per step, hashed from its seed, and the
    token is where that number falls in the distribution's cumulative sum.
    """

    def __init__(self, parameters: Generation, seeds: Sequence[str], start: int) -> None:
        import transformers as tf

        self._seeds, self._start = seeds, start
        shapers = (  # the library's own, in its order
            parameters.temperature != 1 and tf.TemperatureLogitsWarper(float(parameters.temperature)),
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
        sought = torch.tensor(numbers, dtype=torch.float64, device=scores.device) * heaps[:, -1:]
        drawn = torch.searchsorted(heaps, sought, right=True)
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn, 0.0)


def fraction(*parts: object) -> float:
    """A number in [0, 1), hashed from the parts."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=_BITS // 8).digest(), "little") / 2.0**_BITS
