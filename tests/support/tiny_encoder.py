"""A tiny random sentence encoder, saved as sentence-transformers saves real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "pleural", "effusion", "opacity", "nodule", "right", "left", "upper",
    "lower", "lobe", "small", "large", "mild", "hazy", "5", "mm", "scar", "mass", "edema",
]  # fmt: skip


def save(folder: Path, *, seed: int = 0, longest: int = 32) -> Path:
    """Two layers of BERT with random weights and a tokenizer of whole words, mean
    pooling.
    """
    import torch
    import transformers as tf
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    torch.set_num_threads(1)  # threads take longer to wait than models so small to run
    torch.manual_seed(seed)
    bert = folder.with_name(f"{folder.name}-bert")
    config = tf.BertConfig(
        vocab_size=len(WORDS),
        initializer_range=0.5,
        max_position_embeddings=64,
        pad_token_id=0,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
    )
    tf.BertModel(config).save_pretrained(bert)
    _tokenizer().save_pretrained(bert)
    modules = [
        Transformer(str(bert), max_seq_length=longest),
        Pooling(32, pooling_mode="mean"),
    ]
    encoder = SentenceTransformer(modules=modules, device="cpu")
    encoder.save(str(folder), create_model_card=False)
    return folder


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(WORDS)}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"}
    tokens = {f"{name}_token": token for name, token in names.items()}
    return PreTrainedTokenizerFast(tokenizer_object=words, **tokens)


def plain_vector(folder: Path, phrase: str) -> Any:
    """By the plainest use of the libraries: one phrase, no batch; mean of the last
    layer over all tokens, divided by its length.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(phrase, return_tensors="pt")
    with torch.no_grad():
        layer = AutoModel.from_pretrained(folder).eval()(**tokens).last_hidden_state[0]
    mean = layer.double().mean(dim=0)
    return (mean / mean.norm()).numpy()
