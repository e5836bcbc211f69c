"""The encoder of a distilled model: masked sentences in, vectors out.

docs/distilled.md says which encoders there are. torch and transformers are imported
when the first sentence is read. What is learnt from the vectors is in `model.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import find_model, quiet_transformers
from lunguage_assets.judges.protocol import MASK

Vectors = NDArray[np.float32]

MAX_TOKENS = 256
"""Tokens of a sentence that are read."""
SENTENCES_AT_ONCE = 64


class TokenizedBatch(NamedTuple):
    """Sentences as tensors, and their numbers among all sentences."""

    numbers: list[int]
    tokens: Any


class LoadedEncoder(NamedTuple):
    """A model of transformers, its tokenizer, and the device that it is on."""

    model: Any
    tokenizer: Any
    device: str


def has_gpu() -> bool:
    """Whether torch is installed and sees a GPU."""
    if find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


class MaskedEncoder:
    """A model of transformers that reads masked sentences.

    Only safetensors are loaded, no code of the model's own is run.

    Attributes:
        folder: in which the model lies.
        identity: its name and exact revision.
    """

    def __init__(self, name: str, revision: str = "", device: str = "auto") -> None:
        """Find the model; it is loaded with the first sentence.

        Args:
            name: a folder (`/...`, `./...`, `~/...`, `package:MODULE/PATH`), or a name
                on the hub.
            revision: of a model of the hub.
            device: of torch; `auto`: a GPU where there is one.

        Raises:
            ConfigurationError: a missing library or model.
        """
        if find_spec("transformers") is None or find_spec("torch") is None:
            raise ConfigurationError(
                "a distilled model needs transformers and torch, which are not "
                "installed. Run: pip install 'lunguage-assets[models]'"
            )
        self._device = device
        self.folder, self.identity, files = find_model(
            name, revision or "main", "distilled.encoder"
        )
        if all(file.suffix != ".safetensors" for file in files):
            raise ConfigurationError(
                f"distilled.encoder, folder {self.folder}: found no weights in "
                "safetensors (other formats can hold code), expected some. Save the "
                "model with transformers."
            )

    @cached_property
    def loaded(self) -> LoadedEncoder:
        """Load the model on its device, ready to read."""
        import torch
        from transformers import AutoModel, AutoTokenizer

        quiet_transformers()
        device = self._device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            tokenizer = AutoTokenizer.from_pretrained(
                self.folder, local_files_only=True
            )
            model = AutoModel.from_pretrained(
                self.folder,
                local_files_only=True,
                use_safetensors=True,
                dtype=torch.float32,
            )
            return LoadedEncoder(model.to(device).eval(), tokenizer, device)
        # Each library has its own errors; the text of some is a page long.
        except Exception as error:
            raise ConfigurationError(
                f"encoder {self.identity} cannot be loaded ({type(error).__name__}). "
                "Expected an encoder of transformers without code of its own: "
                "distilled.encoder, distilled.device."
            ) from None

    def batches(
        self, sentences: Sequence[str], batch_size: int = SENTENCES_AT_ONCE
    ) -> Iterator[TokenizedBatch]:
        """Tokenize sentences, those of similar length together, to pad them little.

        Args:
            sentences: masked sentences. `<finding>` becomes the tokenizer's mask, or
                its unknown word where it has no mask.
            batch_size: sentences that are read at once.
        """
        tokenizer = self.loaded.tokenizer
        mask = tokenizer.mask_token or tokenizer.unk_token
        # The sentence itself breaks ties, so that batches do not depend on the order.
        by_length = sorted(
            range(len(sentences)),
            key=lambda number: (len(sentences[number]), sentences[number]),
        )
        for start in range(0, len(by_length), batch_size):
            numbers = by_length[start : start + batch_size]
            tokens = tokenizer(
                [sentences[number].replace(MASK, mask) for number in numbers],
                padding=True,
                truncation=True,
                max_length=min(MAX_TOKENS, tokenizer.model_max_length),
                return_tensors="pt",
            )
            yield TokenizedBatch(numbers, tokens.to(self.loaded.device))

    def vectors(self, tokens: Any) -> Any:
        """Read tokenized sentences: the last layer at the mask, beside its mean.

        Where the mask was cut off, the mean stands in for it.

        Returns:
            A tensor of shape (sentences, 2 d); each half has length 1.
        """
        import torch
        from torch.nn.functional import normalize

        tokenizer = self.loaded.tokenizer
        layer = self.loaded.model(**tokens).last_hidden_state
        is_token = tokens["attention_mask"].unsqueeze(-1).to(layer.dtype)
        mean = (layer * is_token).sum(1) / is_token.sum(1)
        mask_id = tokenizer.mask_token_id
        if not tokenizer.mask_token:
            mask_id = tokenizer.unk_token_id
        has_mask_id = (tokens["input_ids"] == mask_id).unsqueeze(-1)
        is_mask = has_mask_id.to(layer.dtype) * is_token
        # A sentence may name its finding twice. None is left where the end of a long
        # sentence was cut off.
        masks = is_mask.sum(1)
        mean_at_masks = (layer * is_mask).sum(1) / masks.clamp(min=1.0)
        at_mask = torch.where(masks > 0, mean_at_masks, mean)
        return torch.cat([normalize(at_mask, dim=1), normalize(mean, dim=1)], dim=1)

    def encode(
        self, sentences: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> Vectors:
        """Read masked sentences.

        Args:
            sentences: masked sentences.
            progress: told how many more were read.

        Returns:
            Shape (sentences, 2 d), as of `vectors`.
        """
        import torch

        model = self.loaded.model
        vectors = np.zeros(
            (len(sentences), 2 * model.config.hidden_size), dtype=np.float32
        )
        model.eval()
        with torch.inference_mode():
            for numbers, tokens in self.batches(sentences):
                vectors[numbers] = self.vectors(tokens).float().cpu().numpy()
                if progress is not None:
                    progress(len(numbers))
        return vectors
