"""A tiny random sentence encoder, saved as sentence-transformers saves real ones, for
the tests of models in this process.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = (
    "1"  # no test may fetch anything; read when the library is imported
)

WORDS = [
    "pleural",
    "effusion",
    "opacity",
    "nodule",
    "right",
    "left",
    "upper",
    "lower",
    "lobe",
    "small",
    "large",
    "mild",
    "hazy",
    "5",
    "mm",
    "scar",
    "mass",
    "edema",
]


def missing() -> str | None:
    """Why no model can run here, or None. In CI nothing may be missing."""
    absent = [
        module
        for module in ("torch", "transformers", "sentence_transformers")
        if find_spec(module) is None
    ]
    return (
        f"needs {absent[0]}: pip install 'lunguage-assets[models]'"
        if absent and not os.environ.get("CI")
        else None
    )


def save(folder: Path, *, seed: int = 0, longest: int = 32) -> Path:
    """Two layers of BERT with random weights and a tokenizer of whole words, mean
    pooling.
    """
    import torch
    import transformers as tf
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    torch.set_num_threads(
        1
    )  # threads that wait for each other take longer than models so small
    torch.manual_seed(seed)
    words = _tokenizer()
    bert = folder.with_name(f"{folder.name}-bert")
    size = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    tf.BertModel(
        tf.BertConfig(
            vocab_size=len(words),
            initializer_range=0.5,
            max_position_embeddings=64,
            pad_token_id=0,
            **size,
        )
    ).save_pretrained(bert)
    words.save_pretrained(bert)
    inner = Transformer(str(bert), max_seq_length=longest)
    SentenceTransformer(
        modules=[inner, Pooling(32, pooling_mode="mean")], device="cpu"
    ).save(str(folder), create_model_card=False)
    return folder


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {
        word: number
        for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])
    }
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def plain_vector(folder: Path, phrase: str) -> Any:
    """By the plainest use of the libraries: one phrase, no batch; mean of the last
    layer over all tokens, divided by its length.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    with torch.no_grad():
        layer = (
            AutoModel.from_pretrained(folder)
            .eval()(
                **AutoTokenizer.from_pretrained(folder)(phrase, return_tensors="pt")
            )
            .last_hidden_state[0]
        )
    mean = layer.double().mean(dim=0)
    return (mean / mean.norm()).numpy()
