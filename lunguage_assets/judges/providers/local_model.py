"""A loaded causal language model of `transformers`, and its two ways of answering.

Mode `text` generates, as in the paper; mode `enum` scores the two labels in one forward
pass. An answer does not depend on its batch, up to floating point: prompts are padded
on the left and masked, and random numbers are a function of the question and of how
often it was asked before (`sampling.py`). How questions become batches is `local.py`.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path, quiet_transformers, snapshot
from lunguage_assets.judges.judge_config import GenerationParameters
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.providers.sampling import SeededSampler, fraction
from lunguage_assets.judges.requests import (
    ModelBinding,
    Prompt,
    ProviderFailure,
    Reply,
    Request,
)

_UNREAD_FILES = ("*/*", "consolidated*")
"""Copies of weights in their authors' own layout: fetched for nothing."""

Result = Reply | Exception
AnswerBatch = Callable[[Sequence[Request]], Sequence[Result]]
"""Answers a batch of requests: all free, or all about the same labels."""

Tokens = list[int]


class ModelSource(NamedTuple):
    """What is loaded, and where to.

    Attributes:
        name: folder, GGUF file, or name on the hub.
        revision: on the hub.
        dtype: in which numbers are read.
        device: `auto`: a GPU where there is one.
    """

    name: str
    revision: str
    dtype: str
    device: str


class _Answer(NamedTuple):
    """A text, and its number of tokens with the one that ends it."""

    text: str
    tokens: int


class _LabelTokens(NamedTuple):
    """How two labels begin.

    Attributes:
        common: tokens that both have.
        decisive: for each label, the token that then tells it from the other.
    """

    common: Tokens
    decisive: Tokens


def load_model(key: str, binding: ModelBinding, device: str) -> AnswerBatch:
    """Load a model, or take the one that another judge of this process has loaded.

    Args:
        key: of the judge, for messages.
        binding: of the model.
        device: see `ModelSource`.

    Raises:
        ConfigurationError: as `LocalModel`.
    """
    parameters = dict(binding.parameters)
    revision = str(parameters.pop("revision"))
    dtype = str(parameters.pop("dtype"))
    model = LOADED_MODELS.load(key, ModelSource(binding.model, revision, dtype, device))
    generation = GenerationParameters.model_validate(parameters)
    return partial(model.answer, binding, generation)


class LoadedModels:
    """The models that judges of a process use: judges with the same weights share them.

    A model is let go when its last judge is.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: weakref.WeakValueDictionary[ModelSource, LocalModel] = (
            weakref.WeakValueDictionary()
        )

    def load(self, key: str, source: ModelSource) -> LocalModel:
        """Give a model, which is loaded once.

        Args:
            key: of the judge, for messages.
            source: what is loaded.

        Raises:
            ConfigurationError: as `LocalModel`.
        """
        with self._lock:
            model = self._models.get(source)
            if model is None:
                model = LocalModel(key, source)
                self._models[source] = model
            return model

    def find(self, source: ModelSource) -> LocalModel | None:
        """Find a model that is loaded."""
        return self._models.get(source)


LOADED_MODELS = LoadedModels()


class LocalModel:
    """A loaded model with its tokenizer.

    Besides GGUF, weights are safetensors only, and no code of the model's own is run.

    Args:
        key: of the judge, for messages.
        source: what is loaded.

    Raises:
        ConfigurationError: the model cannot be loaded, or is not made for
            conversations.
    """

    def __init__(self, key: str, source: ModelSource) -> None:
        import transformers

        quiet_transformers()
        self.tokenizer, self.model = _load(key, source)
        if not self.tokenizer.chat_template:
            raise ConfigurationError(
                f"judge {key!r}: model {source.name!r} has no chat template; expected "
                "a model tuned for instructions."
            )
        self._end_tokens = self._tokens_that_end_an_answer()
        # Its authors' sampling habits would silently complete a judge's parameters.
        self.model.generation_config = transformers.GenerationConfig()
        self._pad_token = self._token_to_pad_with()
        longest = getattr(
            self.model.config.get_text_config(), "max_position_embeddings", None
        )
        self._longest = math.inf if longest is None else longest
        self._one_batch_at_a_time = threading.Lock()
        # Rendered as if the template had the role, to see whether its text is shown.
        self._has_system_role = True
        self._has_system_role = self._shows_system_role()

    def _tokens_that_end_an_answer(self) -> Tokens:
        ends = getattr(self.model.generation_config, "eos_token_id", None)
        if ends is None:
            ends = self.tokenizer.eos_token_id
        tokens = ends if isinstance(ends, list) else [ends]
        return [token for token in tokens if token is not None]

    def _token_to_pad_with(self) -> int:
        """Choose any token: what is padded is masked."""
        if self.tokenizer.pad_token_id is not None:
            token: int = self.tokenizer.pad_token_id
            return token
        return self._end_tokens[0] if self._end_tokens else 0

    def _shows_system_role(self) -> bool:
        """Whether the chat template shows a system text.

        Some templates refuse one by an error, some leave it out without a word.
        """
        try:
            return "by the system" in self._rendered(Prompt("by the system", "user"))
        except Exception:
            return False

    def answer(
        self,
        binding: ModelBinding,
        parameters: GenerationParameters,
        requests: Sequence[Request],
    ) -> list[Result]:
        """Answer a batch; may raise for want of memory.

        Args:
            binding: that the requests are made to.
            parameters: of generation.
            requests: all free, or all about the same labels.

        Returns:
            One result per request, in their order; `rejected` where a prompt is too
            long.

        Raises:
            ConfigurationError: the labels cannot be told apart by their tokens.
        """
        template = parameters.chat_template_kwargs
        texts = [self._rendered(request.prompt, template) for request in requests]
        prompts = self._tokens(texts)
        labels = _LabelTokens([], [])
        new_tokens = parameters.max_new_tokens
        if requests[0].is_choice:
            labels = self._label_tokens(requests[0].labels, template)
            new_tokens = len(labels.common) + 1
        replies: list[Result] = [ProviderFailure("rejected") for _ in requests]
        fitting = self._fitting(prompts, new_tokens)
        if not fitting:
            return replies
        fitting_requests = [requests[position] for position in fitting]
        fitting_prompts = [prompts[position] for position in fitting]
        seeds = [request_key(binding, request) for request in fitting_requests]
        with self._one_batch_at_a_time:
            if requests[0].is_choice:
                answers = self._choose(fitting_requests, seeds, fitting_prompts, labels)
            else:
                # A question that is asked again, after an answer of no use, draws anew.
                draws = [
                    f"{seed}/{request.attempt}"
                    for seed, request in zip(seeds, fitting_requests, strict=True)
                ]
                answers = self._generate_texts(parameters, draws, fitting_prompts)
        for position, answer in zip(fitting, answers, strict=True):
            replies[position] = Reply(
                text=answer.text,
                returned_model=binding.model,
                input_tokens=len(prompts[position]),
                output_tokens=len(labels.common) + answer.tokens,
            )
        return replies

    def _fitting(self, prompts: Sequence[Tokens], new_tokens: int) -> list[int]:
        """List the positions of prompts that leave room for an answer."""
        return [
            position
            for position, prompt in enumerate(prompts)
            if len(prompt) + new_tokens <= self._longest
        ]

    def _rendered(
        self, prompt: Prompt, template: Mapping[str, Any] = MappingProxyType({})
    ) -> str:
        """Write the conversation up to where the model's answer begins.

        A template without a system role gets both texts as the user's.
        """
        messages = [{"role": "user", "content": prompt.user}]
        if prompt.system and self._has_system_role:
            messages.insert(0, {"role": "system", "content": prompt.system})
        elif prompt.system:
            messages[0]["content"] = f"{prompt.system}\n\n{prompt.user}"
        text: str = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **template
        )
        return text

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        # The template has the special tokens already.
        encoded = self.tokenizer(list(texts), add_special_tokens=False)
        tokens: list[Tokens] = encoded["input_ids"]
        return tokens

    def _label_tokens(
        self, labels: tuple[str, ...], template: Mapping[str, Any]
    ) -> _LabelTokens:
        """Cut two labels into tokens, as the beginning of an answer.

        Some tokenizers cut a word otherwise when it stands alone.
        """
        before = self._rendered(Prompt("", "text"), template)
        (beginning,) = self._tokens([before])
        answers = self._tokens([before + label for label in labels])
        tokens_of_labels: list[Tokens] = []
        for answer, alone in zip(answers, self._tokens(labels), strict=True):
            tokens = alone
            if answer[: len(beginning)] == beginning:
                tokens = answer[len(beginning) :]
            tokens_of_labels.append(tokens)
        first, second = tokens_of_labels
        shorter = min(len(first), len(second))
        length = 0
        while length < shorter and first[length] == second[length]:
            length += 1
        if length == shorter:
            raise ConfigurationError(
                f"model {self.tokenizer.name_or_path!r} does not tell the labels "
                f"{', '.join(labels)} apart; expected different tokens. Use mode text."
            )
        return _LabelTokens(first[:length], [first[length], second[length]])

    def _choose(
        self,
        requests: Sequence[Request],
        seeds: Sequence[str],
        prompts: Sequence[Tokens],
        labels: _LabelTokens,
    ) -> list[_Answer]:
        """Choose the likelier label for each prompt, after one forward pass."""
        # One token is looked at: where the labels part.
        begun = [prompt + labels.common for prompt in prompts]
        output = self._generate(
            begun,
            new_tokens=1,
            use_cache=False,
            output_logits=True,
            return_dict_in_generate=True,
        )
        scores = output.logits[0][:, labels.decisive].tolist()
        answers: list[_Answer] = []
        for request, seed, label_scores in zip(requests, seeds, scores, strict=True):
            first_score, second_score = label_scores
            is_second = second_score > first_score
            if first_score == second_score:
                # Often so in half precision: then a coin decides.
                is_second = fraction(seed, "tie") < 0.5
            answers.append(_Answer(request.labels[int(is_second)], 1))
        return answers

    def _generate_texts(
        self,
        parameters: GenerationParameters,
        seeds: Sequence[str],
        prompts: Sequence[Tokens],
    ) -> list[_Answer]:
        """Write an answer to each prompt."""
        # Prompts are padded on the left: all answers begin behind the longest of them.
        start = max(map(len, prompts))
        samplers = []
        if parameters.do_sample:
            samplers.append(SeededSampler(parameters, seeds, start))
        sequences = self._generate(
            prompts, parameters.max_new_tokens, logits_processor=samplers
        )
        answers: list[_Answer] = []
        for tokens in sequences[:, start:].tolist():
            length = self._length_of_answer(tokens)
            text = self.tokenizer.decode(tokens[:length], skip_special_tokens=True)
            answers.append(_Answer(text, length))
        return answers

    def _length_of_answer(self, tokens: Tokens) -> int:
        """Count tokens up to the one that ends the answer; padding stands behind it."""
        for position, token in enumerate(tokens):
            if token in self._end_tokens:
                return position + 1
        return len(tokens)

    def _generate(
        self, prompts: Sequence[Tokens], new_tokens: int, **options: Any
    ) -> Any:
        """Call the model's `generate` on prompts that are padded on the left."""
        import torch

        length = max(map(len, prompts))
        padded: list[Tokens] = []
        masks: list[list[int]] = []
        for prompt in prompts:
            padding = length - len(prompt)
            padded.append([self._pad_token] * padding + prompt)
            masks.append([0] * padding + [1] * len(prompt))
        with torch.inference_mode():
            return self.model.generate(
                input_ids=torch.tensor(padded, device=self.model.device),
                attention_mask=torch.tensor(masks, device=self.model.device),
                max_new_tokens=new_tokens,
                # A `SeededSampler` draws, and greedy search takes what it has drawn.
                do_sample=False,
                eos_token_id=self._end_tokens or None,
                pad_token_id=self._pad_token,
                **options,
            )


def _load(key: str, source: ModelSource) -> tuple[Any, Any]:
    """Load tokenizer and model."""
    import torch
    import transformers

    device = source.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    problem = ""
    try:
        folder, file = _files_of(source)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=file, dtype=source.dtype, use_safetensors=file is None
        )
        return tokenizer, model.to(device).eval()
    except Exception as error:
        # Each library has its own errors, and the text of some is a page long.
        problem = type(error).__name__
    raise ConfigurationError(
        f"judge {key!r}: model {source.name!r}, revision {source.revision!r}, cannot "
        f"be loaded on device {device!r} ({problem}). Expected a folder with "
        "safetensors, a .gguf file, or a name on the hub that this machine can reach, "
        "or has in its cache; a gated model needs its licence accepted and HF_TOKEN."
    )


def _files_of(source: ModelSource) -> tuple[Path, str | None]:
    """Find the folder of a model, and the GGUF file in it, if it is one."""
    path = named_path(source.name) or Path(source.name)
    if not path.exists():
        path = snapshot(source.name, source.revision, _UNREAD_FILES)
    return (path, None) if path.is_dir() else (path.parent, path.name)
