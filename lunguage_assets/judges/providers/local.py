"""A language model in this process: questions asked at the same time become batches.

Mode `text` generates, as in the paper; mode `enum` compares the log-probabilities of
the two labels in one forward pass. Prompts are padded on the left and masked.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path, quiet_transformers, snapshot
from lunguage_assets.judges.judge_config import GenerationParameters, LLMJudgeConfig
from lunguage_assets.judges.requests import Prompt, ProviderFailure, Reply, Request

LINGER_S = 0.01
"""So long a batch that is not full waits for more questions."""

_UNREAD_FILES = ("*/*", "consolidated*")
"""Copies of weights in their authors' own layout: fetched for nothing."""

_Waiting: TypeAlias = "tuple[str, asyncio.Future[Reply]]"
"""A rendered prompt, and where its reply is awaited."""


class LocalProvider:
    """A model of `transformers`; nothing is loaded before the first question.

    Args:
        key: of the judge, for messages.
        config: its table.

    Raises:
        ConfigurationError: a library is not installed, or the model is a folder, file
            or package that does not exist.
    """

    def __init__(self, key: str, config: LLMJudgeConfig) -> None:
        for module in ("torch", "transformers"):
            if find_spec(module) is None:
                raise ConfigurationError(
                    f"judge {key!r} runs its model in this process and needs {module}, "
                    "which is not installed. Run: pip install 'lunguage-assets[models]'"
                )
        path = named_path(config.model)
        if path is not None and not path.exists():
            raise ConfigurationError(
                f"judge {key!r}: found no folder {config.model}; expected one with the "
                "model's files, a .gguf file, or a name on the hub."
            )
        self._config = config
        self._parameters = GenerationParameters.model_validate(config.params)
        # One forward pass answers labels; free answers take one for each token.
        self._waiting_by_labels: defaultdict[tuple[str, ...], list[_Waiting]]
        self._waiting_by_labels = defaultdict(list)
        self._one_batch_at_a_time = asyncio.Lock()

    async def answer(self, request: Request) -> Reply:
        """Ask once; nothing is tried again.

        Raises:
            ProviderFailure: `rejected` where the prompt is too long for the model.
            ConfigurationError: the model cannot be loaded, or cannot be asked so.
        """
        async with self._one_batch_at_a_time:
            model = await asyncio.to_thread(self._model)
        options = self._parameters.chat_template_kwargs
        text = model.rendered(request.prompt, options)
        if len(model.tokens(text)) > model.longest - self._parameters.max_new_tokens:
            raise ProviderFailure("rejected", about="the prompt is too long")
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        labels = request.labels if request.is_choice else ()
        waiting = self._waiting_by_labels[labels]
        waiting.append((text, reply))
        async with self._one_batch_at_a_time:
            # Whoever comes first answers for others, too.
            while not reply.done():
                if len(waiting) < self._config.batch_size:
                    await asyncio.sleep(LINGER_S)
                batch = waiting[: self._config.batch_size]
                del waiting[: len(batch)]
                await self._answer_batch(model, labels, batch)
        return reply.result()

    def _model(self) -> LocalModel:
        config = self._config
        return loaded_model(config.model, config.revision, config.dtype, config.device)

    async def _answer_batch(
        self, model: LocalModel, labels: tuple[str, ...], batch: Sequence[_Waiting]
    ) -> None:
        """Answer prompts in a thread: by one of the labels, or freely without any."""
        texts = [text for text, _ in batch]
        try:
            if labels:
                replies = await asyncio.to_thread(model.choose, texts, labels)
            else:
                replies = await asyncio.to_thread(
                    model.generate, texts, self._parameters
                )
        except Exception as error:
            for _, awaited in batch:
                awaited.set_exception(error)
            return
        for (_, awaited), reply in zip(batch, replies, strict=True):
            awaited.set_result(reply)


class LocalModel:
    """A loaded model with its tokenizer.

    Besides GGUF, weights are safetensors only, and no code of the model's own is run.

    Args:
        name: of the model.
        tokenizer: of the model, with a chat template.
        model: a causal language model.
    """

    def __init__(self, name: str, tokenizer: Any, model: Any) -> None:
        import transformers

        self._name = name
        self._tokenizer = tokenizer
        self._model = model
        ends = getattr(model.generation_config, "eos_token_id", None)
        self._ends = tokenizer.eos_token_id if ends is None else ends
        # Its authors' sampling habits would silently complete a judge's parameters.
        model.generation_config = transformers.GenerationConfig()
        tokenizer.padding_side = "left"
        if tokenizer.pad_token_id is None:
            # Any token will do: what is padded is masked.
            tokenizer.pad_token = tokenizer.eos_token
        text_config = model.config.get_text_config()
        longest = getattr(text_config, "max_position_embeddings", None)
        self.longest = longest or float("inf")

    def rendered(self, prompt: Prompt, template: dict[str, Any]) -> str:
        """Write the conversation up to where the model's answer begins.

        A template without a system role gets both texts as the user's: some refuse one
        by an error, some leave it out without a word.
        """
        user = {"role": "user", "content": prompt.user}
        system = {"role": "system", "content": prompt.system}
        options: dict[str, Any] = {"tokenize": False, "add_generation_prompt": True}
        options |= template
        try:
            text = self._tokenizer.apply_chat_template([system, user], **options)
        except Exception:
            text = ""
        if prompt.system.strip() not in text:
            user["content"] = f"{prompt.system}\n\n{prompt.user}"
            text = self._tokenizer.apply_chat_template([user], **options)
        return str(text)

    def tokens(self, text: str) -> list[int]:
        """Cut a text into tokens; the template has the special ones already."""
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def choose(self, texts: Sequence[str], labels: tuple[str, ...]) -> list[Reply]:
        """Choose the likelier of two labels for each prompt, after one forward pass.

        Args:
            texts: of the prompts.
            labels: of which one answers.
        """
        import torch

        first, second = map(self.tokens, labels)
        # One token is looked at: where the labels part.
        pairs = enumerate(zip(first, second, strict=False))
        parting = next(at for at, tokens in pairs if len(set(tokens)) == 2)
        begun = [text + self._tokenizer.decode(first[:parting]) for text in texts]
        encoded = self._encoded(begun)
        with torch.inference_mode():
            logits = self._model(**encoded, logits_to_keep=1).logits[:, -1]
        margins = (logits[:, first[parting]] - logits[:, second[parting]]).tolist()
        lengths = encoded["attention_mask"].sum(dim=1).tolist()
        return [
            Reply(labels[int(margin < 0)], self._name, length, 1, margin=margin)
            for margin, length in zip(margins, lengths, strict=True)
        ]

    def generate(
        self, texts: Sequence[str], parameters: GenerationParameters
    ) -> list[Reply]:
        """Write an answer to each prompt.

        Args:
            texts: of the prompts.
            parameters: of generation.
        """
        import torch

        encoded = self._encoded(texts)
        left_out = {"chat_template_kwargs"}
        if not parameters.do_sample:
            left_out |= {"temperature", "top_p", "top_k", "min_p"}
        with torch.inference_mode():
            sequences = self._model.generate(
                **encoded,
                **parameters.model_dump(exclude=left_out),
                eos_token_id=self._ends,
                pad_token_id=self._tokenizer.pad_token_id,
            )
        answers = sequences[:, encoded["input_ids"].shape[1] :]
        decoded = self._tokenizer.batch_decode(answers, skip_special_tokens=True)
        lengths = encoded["attention_mask"].sum(dim=1).tolist()
        return [
            Reply(text, self._name, length, len(self.tokens(text)) + 1)
            for text, length in zip(decoded, lengths, strict=True)
        ]

    def _encoded(self, texts: Sequence[str]) -> Any:
        encoded = self._tokenizer(
            list(texts), add_special_tokens=False, padding=True, return_tensors="pt"
        )
        encoded.pop("token_type_ids", None)
        return encoded.to(self._model.device)


@lru_cache(maxsize=2)
def loaded_model(name: str, revision: str, dtype: str, device: str) -> LocalModel:
    """Load a model; the two that were used last are kept.

    Args:
        name: folder, GGUF file, or name on the hub.
        revision: on the hub.
        dtype: in which numbers are read.
        device: `auto`: a GPU where there is one.

    Raises:
        ConfigurationError: the model cannot be loaded, or is not made for
            conversations.
    """
    import torch
    import transformers

    quiet_transformers()
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    problem = ""
    try:
        path = named_path(name) or Path(name)
        if not path.exists():
            path = snapshot(name, revision, _UNREAD_FILES)
        folder, file = (path, None) if path.is_dir() else (path.parent, path.name)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=file, dtype=dtype, use_safetensors=file is None
        )
        model = model.to(device).eval()
        if not tokenizer.chat_template:
            problem = "no chat template: it is not tuned for instructions"
    except Exception as error:
        # Each library has its own errors, and the text of some is a page long.
        problem = type(error).__name__
    if problem:
        raise ConfigurationError(
            f"model {name!r}, revision {revision!r}, cannot be loaded on device "
            f"{device!r} ({problem}). Expected a folder with safetensors, a .gguf "
            "file, or a name on the hub that this machine can reach, or has in its "
            "cache; a gated model needs its licence accepted and HF_TOKEN."
        )
    return LocalModel(name, tokenizer, model)
