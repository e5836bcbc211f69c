"""Tiny random language models with a tokenizer of their own, saved as the libraries
save real ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.opening import provider_of
from lunguage_assets.judges.requests import Provider, Reply, Request

LABELS = ("sentence_1", "sentence_2")
SPECIALS = ("<pad>", "<bos>", "<end>", "<system>", "<user>", "<model>")
CORPUS = [
    "sentence_1: There may be an invented <finding> in zone 7. sentence_2: The <finding> is "
    "likely, and possibly larger.",
    "You judge invented sentences. Which is closer to certain? answer: sentence_1 answer: sentence_2",
    "present absent presently certainly not probable likely unlikely",
]
WITH_SYSTEM = (
    "<bos>{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}{% if "
    "add_generation_prompt %}<model>{{ thought | default('') }}{% endif %}"
)
REFUSING_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    + WITH_SYSTEM
)
DROPPING_SYSTEM = WITH_SYSTEM.replace("in messages", "in messages if m.role == 'user'")


def save(
    folder: Path,
    family: str = "llama",
    template: str | None = WITH_SYSTEM,
    *,
    positions: int = 4096,
) -> Path:
    """A model of two layers with random weights, and its tokenizer."""
    import torch

    torch.set_num_threads(1)  # threads take longer to wait than models so small to run
    tokens = _tokenizer(template)
    torch.manual_seed(0)
    _model(family, len(tokens), positions).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def _tokenizer(template: str | None) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator(CORPUS * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<end>",
        additional_special_tokens=list(SPECIALS[3:]),
        chat_template=template,
    )


def _model(family: str, vocabulary: int, positions: int) -> Any:
    """Initialised so widely that what a model answers depends on what it was asked."""
    import transformers as tf

    common: dict[str, Any] = {"vocab_size": vocabulary, "initializer_range": 0.35}
    common |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    common |= {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    common |= {"num_attention_heads": 4, "num_key_value_heads": 2}
    common |= {"max_position_embeddings": positions}
    if family != "gemma":
        return tf.LlamaForCausalLM(tf.LlamaConfig(**common))
    # MedGemma's kind: one layer sees a window of its neighbourhood only
    window = {"layer_types": ["sliding_attention", "full_attention"]}
    sizes = {"sliding_window": 16, "head_dim": 8, "query_pre_attn_scalar": 8}
    config = tf.Gemma3TextConfig(tie_word_embeddings=False, **common, **window, **sizes)
    model = tf.Gemma3ForCausalLM(config)
    # it is scaled up later, and the last word alone would decide
    model.get_input_embeddings().weight.data *= 0.1
    return model


@cache
def plain_model(folder: Path) -> Any:
    """The saved model, loaded by the library alone."""
    import transformers

    return transformers.AutoModelForCausalLM.from_pretrained(folder).eval()


@cache
def tokenizer(folder: Path) -> Any:
    import transformers

    return transformers.AutoTokenizer.from_pretrained(folder)


def next_token_scores(folder: Path, tokens: Sequence[int]) -> Any:
    """Log-probabilities of the token after these, by the plainest use of the library:
    one prompt, no padding, no generation.
    """
    import torch

    with torch.no_grad():
        logits = plain_model(folder)(torch.tensor([list(tokens)])).logits
    return torch.log_softmax(logits[0, -1].double(), dim=-1)


def made(folder: Path, params: dict[str, Any] | None = None) -> Provider:
    parameters = {"max_new_tokens": 12, **(params or {})}
    slot = {"provider": "transformers", "model": str(folder), "params": parameters}
    return provider_of("tiny", LLMJudgeConfig.model_validate(slot), {})


def question(number: int, mode: Any = "text") -> Request:
    """Invented questions of very different lengths, so that a batch of them is
    padded.
    """
    user = f"sentence_1: {'larger ' * (7 * number % 40)}zone {number} likely. sentence_2: possibly. answer:"
    return Request("compare", "You judge.", user, "v1", mode, LABELS)


def answers(provider: Provider, *requests: Request) -> list[Reply | BaseException]:
    """Replies to what is asked at once, or what they failed with."""

    async def ask() -> list[Reply | BaseException]:
        calls = map(provider.answer, requests)
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(ask())


def shown(folder: Path, request: Request) -> list[int]:
    """Tokens of a conversation as the test's template writes it, up to the model's
    turn.
    """
    text = f"<bos><system>{request.system}<end><user>{request.user}<end><model>"
    tokens: list[int] = tokenizer(folder)(text, add_special_tokens=False)["input_ids"]
    return tokens
