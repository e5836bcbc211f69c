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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import PACKAGED, named_path, quiet_transformers, snapshot

BIOLORD = "FremyCompany/BioLORD-2023"
"""The encoder of the paper."""

BIOLORD_REVISION = "167aab527b238a50ca65224e6319215d2ff4fc9f"
"""The default revision."""

_READ = frozenset({".json", ".txt", ".model", ".safetensors"})
_OTHER_FORMATS = ("onnx", "openvino")


class SentenceEmbedder:
    """A sentence encoder, loaded at the first phrase.

    It pools as the model's own files say (BioLORD-2023: the mean); vectors are L2-normalised, 32-bit floats.
    Its identity is the name and the exact revision, the same on every machine.
    """

    def __init__(self, name: str, revision: str = "", device: str = "auto", batch_size: int = 64) -> None:
        """Find the model.

        Args:
            name: a folder (`/...`, `./...`, `~/...`, `package:MODULE/PATH`) or a name on the hub.
            revision: on the hub a commit, tag or branch, recorded as the commit that it stands for; empty:
                for BioLORD-2023 the one this package was written for, else `main`. A folder is known by the
                SHA-256 of its files.
            device: as torch names it; `auto` takes a GPU if there is one.
            batch_size: phrases that go through the model together.

        Raises:
            ConfigurationError: a library is missing, or the model cannot be found, fetched or read.
        """
        if find_spec("sentence_transformers") is None:
            raise ConfigurationError(
                "encoder 'sentence' needs sentence_transformers, which is not installed. Run: pip install "
                "'lunguage-assets[models]'"
            )
        self._device, self._batch_size = device, batch_size
        folder = named_path(name)
        self._folder = folder or _fetched(name, revision or (BIOLORD_REVISION if name == BIOLORD else "main"))
        files = _files(self._folder)
        if self._folder / "modules.json" not in files or all(one.suffix != ".safetensors" for one in files):
            raise ConfigurationError(
                f"encoder_model, folder {self._folder}: found no sentence encoder in safetensors (other "
                "formats can hold code), expected one. Save it with sentence-transformers."
            )
        version = self._folder.name
        if folder is not None:
            name = name.removeprefix(PACKAGED) if name.startswith(PACKAGED) else folder.resolve().name
            version = f"sha256:{_digest(folder, files)[:16]}"
        self.identity = f"{name}@{version}"

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """One vector per phrase, n x d; the model reads the first tokens of a phrase that is too long for it.
        Raises `ConfigurationError` when it cannot be loaded.
        """
        found: NDArray[np.float32] = self._model.encode(
            list(phrases),
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )
        return found

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


def _fetched(name: str, revision: str) -> Path:
    try:
        return snapshot(name, revision, tuple(f"{other}/*" for other in _OTHER_FORMATS))
    except Exception as error:  # the hub's libraries have many; their text may be a page long
        raise ConfigurationError(
            f"encoder_model: {name!r}, revision {revision!r}, is not on this machine and cannot be fetched "
            f"({type(error).__name__}). Check name and revision; or fetch it where the hub can be reached "
            f"(hf download {name} --revision {revision} --local-dir FOLDER), and name the folder as "
            "encoder_model."
        ) from None


def _files(folder: Path) -> list[Path]:
    """The files that a loader may read, sorted; hidden folders and other formats left out."""
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in inside) or inside[0] in _OTHER_FORMATS
        if path.suffix in _READ and path.is_file() and not hidden:
            found.append(path)
    return found


def _digest(folder: Path, files: Sequence[Path]) -> str:
    """SHA-256 over names and contents."""
    whole = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(f"{path.relative_to(folder).as_posix()}\n{content}\n".encode())
    return whole.hexdigest()
