"""A language model in this process: one question at a time.

Mode `text` generates, as in the paper; mode `enum` compares the log-probabilities of
the two labels in one forward pass. A server, such as vLLM, answers many at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from operator import ne
from pathlib import Path
from typing import Any

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import named_path, quiet_transformers, snapshot
from lunguage_assets.judges.judge_config import GenerationParameters, LLMJudgeConfig
from lunguage_assets.judges.requests import ProviderFailure, Reply, Request

_UNREAD_FILES = ("*/*", "consolidated*")
"""Copies of weights in their authors' own layout: fetched for nothing."""


class LocalProvider:
    """A model of `transformers`; nothing is loaded before the first question.

    Args:
        key: of the judge, for messages.
        config: its table.

    Raises:
        ConfigurationError: a library is not installed.
    """

    def __init__(self, key: str, config: LLMJudgeConfig) -> None:
        for module in ("torch", "transformers"):
            if find_spec(module) is None:
                raise ConfigurationError(
                    f"judge {key!r} runs its model in this process and needs {module}, "
                    "which is not installed. Run: pip install 'lunguage-assets[models]'"
                )
        self._config = config
        self._parameters = GenerationParameters.model_validate(config.params)
        self._one_at_a_time = asyncio.Lock()

    async def answer(self, request: Request) -> Reply:
        """Ask once; nothing is tried again.

        Raises:
            ProviderFailure: `rejected` where the prompt is too long for the model.
            ConfigurationError: the model cannot be loaded.
        """
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._answer, request)

    def _answer(self, request: Request) -> Reply:
        import torch

        config = self._config
        parameters = self._parameters
        model = loaded_model(config.model, config.revision, config.dtype)
        text = model.rendered(request, parameters.chat_template_kwargs)
        if len(model.tokens(text)) > model.longest - parameters.max_new_tokens:
            raise ProviderFailure("rejected", about="the prompt is too long")
        with torch.inference_mode():
            if request.is_choice:
                return model.choose(text, request.labels)
            return model.generate(text, parameters)


@dataclass(frozen=True)
class LocalModel:
    """A loaded model with its tokenizer.

    Attributes:
        name: of the model.
        tokenizer: with a chat template.
        model: a causal language model.
    """

    name: str
    tokenizer: Any
    model: Any

    @property
    def longest(self) -> float:
        """Tokens that the model reads and writes at most."""
        config = self.model.config.get_text_config()
        return getattr(config, "max_position_embeddings", None) or float("inf")

    def rendered(self, request: Request, template: dict[str, Any]) -> str:
        """Write the conversation up to where the model's answer begins.

        A template without a system role gets both texts as the user's: some refuse one
        by an error, some leave it out without a word.
        """
        conversation = [
            {"role": "system", "content": request.system},
            {"role": "user", "content": request.user},
        ]
        write = partial(
            self.tokenizer.apply_chat_template,
            tokenize=False,
            add_generation_prompt=True,
            **template,
        )
        try:
            text = write(conversation)
        except Exception:
            text = ""
        if request.system.strip() not in text:
            both = f"{request.system}\n\n{request.user}"
            text = write([{"role": "user", "content": both}])
        return str(text)

    def tokens(self, text: str) -> list[int]:
        """Cut a text into tokens; the template has the special ones already."""
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def choose(self, text: str, labels: tuple[str, ...]) -> Reply:
        """Choose the likelier of two labels, after one forward pass.

        Args:
            text: of the prompt.
            labels: of which one answers.
        """
        first, second = map(self.tokens, labels)
        # One token is looked at: where the labels part.
        parting = list(map(ne, first, second)).index(True)
        begun = self.tokens(text + self.tokenizer.decode(first[:parting]))
        logits = self.model(self._tensor(begun), logits_to_keep=1).logits[0, -1]
        margin = float(logits[first[parting]] - logits[second[parting]])
        return Reply(labels[margin < 0], self.name, len(begun), 1, margin=margin)

    def generate(self, text: str, parameters: GenerationParameters) -> Reply:
        """Write an answer.

        Args:
            text: of the prompt.
            parameters: of generation.
        """
        tokens = self.tokens(text)
        sequences = self.model.generate(
            self._tensor(tokens),
            **parameters.model_dump(exclude={"chat_template_kwargs"}),
        )
        answer_tokens = sequences[0, len(tokens) :]
        answer = self.tokenizer.decode(answer_tokens, skip_special_tokens=True)
        return Reply(answer, self.name, len(tokens), len(answer_tokens))

    def _tensor(self, tokens: list[int]) -> Any:
        import torch

        return torch.tensor([tokens], device=self.model.device)


@lru_cache(maxsize=2)
def loaded_model(name: str, revision: str, dtype: str) -> LocalModel:
    """Load a model, on a GPU where there is one; the last two are kept.

    Besides GGUF, weights are safetensors only, and no code of the model's own is run.

    Args:
        name: folder, GGUF file, or name on the hub.
        revision: on the hub.
        dtype: in which numbers are read.

    Raises:
        ConfigurationError: the model cannot be loaded, or is not made for
            conversations.
    """
    import torch
    import transformers

    quiet_transformers()
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
        ends = model.generation_config.eos_token_id or tokenizer.eos_token_id
        # Its authors' sampling habits would silently complete a judge's parameters.
        model.generation_config = transformers.GenerationConfig(eos_token_id=ends)
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
