"""A model of sentence-transformers in this process (implicit.md section 2). No text leaves the machine.

The paper's is BioLORD-2023. Files of the hub are fetched when the machine does not have them. Only
safetensors are read, and no code of a model's own is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.hub import PACKAGED, named_path, quiet_transformers, snapshot
from lunguage_assets.implicit.encoders.contract import checked_vectors

BIOLORD = "FremyCompany/BioLORD-2023"
"""The encoder of the paper."""

BIOLORD_REVISION = "167aab527b238a50ca65224e6319215d2ff4fc9f"
"""The default revision."""

_READ = ("*.json", "*.txt", "*.model", "*.safetensors")
_OTHER_FORMATS = ("onnx/*", "openvino/*")


class ModelFolder(NamedTuple):
    """Files of an encoder. `identity`: name and exact revision, the same on every machine."""

    path: Path
    identity: str


def find_model(name: str, revision: str) -> ModelFolder:
    """The encoder `name`: a folder (`/...`, `./...`, `~/...`, `package:MODULE/PATH`) or a name on the hub.

    `revision`: for the hub a commit, tag or branch (empty: for BioLORD-2023 the one this package was written
        for, else `main`), recorded as the commit that it stands for; for a folder the beginning of the
        SHA-256 of its files, or empty for whatever they are.

    Raises:
        ConfigurationError: a library is missing, the model cannot be found or fetched, is no sentence
            encoder, or has another revision.
    """
    for module in ("torch", "transformers", "sentence_transformers"):
        if find_spec(module) is None:
            remedy = "Run: pip install 'lunguage-assets[models]'"
            raise ConfigurationError(f"encoder 'sentence' needs {module}, which is not installed. {remedy}")
    folder = named_path(name)
    if folder is None:
        fetched = _of_the_hub(name, revision or (BIOLORD_REVISION if name == BIOLORD else "main"))
        _require_encoder(fetched)
        return ModelFolder(fetched, f"{name}@{fetched.name}")
    _require_encoder(folder)
    digest = _digest(folder)
    if not digest.startswith(revision.lower()):
        raise ConfigurationError(
            f"encoder_revision: the files in {folder} have SHA-256 {digest[:16]}..., expected {revision}. "
            "Name the beginning of it, leave encoder_revision empty, or restore the files."
        )
    known = name.removeprefix(PACKAGED) if name.startswith(PACKAGED) else folder.resolve().name
    return ModelFolder(folder, f"{known}@sha256:{digest[:16]}")


def _of_the_hub(name: str, revision: str) -> Path:
    try:
        return snapshot(name, revision, _OTHER_FORMATS)
    except Exception as error:  # the hub's libraries have many; their text may be a page long
        raise ConfigurationError(
            f"encoder_model: {name!r}, revision {revision!r}, is not on this machine and cannot be fetched "
            f"({type(error).__name__}). Check name and revision; or fetch it where the hub can be reached "
            f"(hf download {name} --revision {revision} --local-dir FOLDER), and name the folder as "
            "encoder_model."
        ) from None


def _require_encoder(folder: Path) -> None:
    """Raise `ConfigurationError` for a folder that is no sentence encoder in safetensors."""
    if not folder.is_dir():
        problem = "found no folder; expected one with a sentence encoder, or a name on the hub"
    elif not (folder / "modules.json").is_file():
        problem = "is no sentence encoder; expected a model saved by sentence-transformers"
    elif not any(path.suffix == ".safetensors" for path in _files(folder)):
        problem = "has no safetensors; other formats can hold code. Save it with safe_serialization=True"
    else:
        return
    raise ConfigurationError(f"encoder_model, folder {folder}: {problem}.")


def _files(folder: Path) -> list[Path]:
    """The files that a loader may read, sorted; hidden folders and other formats left out."""
    found = {path for pattern in _READ for path in folder.rglob(pattern) if path.is_file()}
    inner = {path: path.relative_to(folder).parts for path in found}
    return sorted(
        path
        for path, parts in inner.items()
        if parts[0] not in ("onnx", "openvino") and not any(part.startswith(".") for part in parts)
    )


def _digest(folder: Path) -> str:
    """SHA-256 over names and contents."""
    whole = hashlib.sha256()
    for path in _files(folder):
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(f"{path.relative_to(folder).as_posix()}\n{content}\n".encode())
    return whole.hexdigest()


class SentenceEmbedder:
    """A sentence encoder, loaded at the first phrase.

    It pools as the model's own files say (BioLORD-2023: the mean); vectors are L2-normalised, 32-bit floats.
    """

    def __init__(self, folder: ModelFolder, device: str = "auto", batch_size: int = 64) -> None:
        self._folder, self._device, self._batch_size = folder.path, device, batch_size
        self.identity = folder.identity

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """One vector per phrase, n x d; the model reads the first tokens of a phrase that is too long for it.

        A row depends on the phrases of its batch in the last bits only, below the rounding of cosines.

        Raises:
            ConfigurationError: the model cannot be loaded.
            MethodError: the model fails, or does not answer with unit vectors.
        """
        try:
            answer = self._model.encode(
                list(phrases),
                batch_size=self._batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        except (RuntimeError, MemoryError) as error:
            raise MethodError(
                f"encoder {self.identity} failed ({type(error).__name__}), perhaps for want of memory. Lower "
                "implicit.encoder_batch_size, or choose another implicit.encoder_device."
            ) from None
        return checked_vectors(self.identity, answer, len(phrases))

    @cached_property
    def _model(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        quiet_transformers()
        where = self._device if self._device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        try:
            return SentenceTransformer(
                str(self._folder),
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
