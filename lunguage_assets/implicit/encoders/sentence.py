"""A model of sentence-transformers in this process (implicit.md section 2). No text leaves the machine.

The paper's is BioLORD-2023.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.hub import quiet_transformers
from lunguage_assets.implicit.encoders.contract import checked_vectors
from lunguage_assets.implicit.encoders.model_folder import ModelFolder

_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")
_log = logging.getLogger(__name__)


class SentenceEmbedder:
    """A sentence encoder, loaded at the first phrase.

    It pools as the model's own files say (BioLORD-2023: the mean); vectors are L2-normalised, 32-bit floats.
    """

    def __init__(self, folder: ModelFolder, device: str = "auto", batch_size: int = 64) -> None:
        self._folder, self._device, self._batch_size = folder, device, batch_size

    @property
    def identity(self) -> str:
        return self._folder.identity

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """One vector per phrase, n x d.

        Phrases are sorted by length, then by the alphabet: batches do not depend on the order of the input. A
        row depends on the phrases that share its batch in the last bits only; cosines are rounded above them.

        Raises:
            ConfigurationError: the model cannot be loaded.
            MethodError: memory does not suffice for a single phrase, or the model's answer is not made of
                unit vectors.
        """
        order = sorted(range(len(phrases)), key=lambda number: (len(phrases[number]), phrases[number]))
        ordered = [phrases[number] for number in order]
        self._note_cut(ordered)
        found = checked_vectors(self.identity, self._encoded(ordered), len(phrases))
        vectors = np.empty_like(found)
        vectors[order] = found
        return vectors

    def _encoded(self, phrases: list[str]) -> NDArray[np.float32]:
        """Encode in batches, half as large whenever memory runs out; the smaller size stays."""
        while True:
            problem: Exception
            try:
                vectors: NDArray[np.float32] = self._model.encode(
                    phrases,
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                    normalize_embeddings=True,
                )
                return vectors
            except (RuntimeError, MemoryError) as error:
                if not isinstance(error, MemoryError) and not any(
                    sign in str(error).lower() for sign in _MEMORY
                ):
                    raise
                problem = error
            if self._batch_size == 1:
                raise MethodError(
                    f"encoder {self.identity}: memory does not suffice for one phrase "
                    f"({type(problem).__name__}). Choose another implicit.encoder_device."
                )
            self._batch_size //= 2

    def _note_cut(self, phrases: Sequence[str]) -> None:
        """Warn about phrases with more tokens than the model reads.

        A phrase never has more tokens than characters.
        """
        limit = self._model.max_seq_length
        long = [phrase for phrase in phrases if limit is not None and len(phrase) > limit - 2]
        if not long:
            return
        cut = sum(len(tokens) > limit for tokens in self._model.tokenizer(long, verbose=False)["input_ids"])
        if cut:
            _log.warning(
                "encoder %s reads only the first %d tokens of %d phrases, which are longer",
                self.identity,
                limit,
                cut,
            )

    @cached_property
    def _model(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        quiet_transformers()
        where = self._device if self._device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        try:
            return SentenceTransformer(
                str(self._folder.path),
                device=where,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            ).eval()
        except Exception as error:  # each library has its own errors; the text of some is a page long
            raise ConfigurationError(
                f"encoder {self.identity} cannot be loaded on device {where!r} ({type(error).__name__}). "
                "Expected the files of a sentence encoder without code of its own, and a device that torch "
                "knows: implicit.encoder_model, implicit.encoder_device."
            ) from None
