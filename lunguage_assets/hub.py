"""Finds the files of a model: in a folder, in an installed package, or on the hub.

The hub is Hugging Face's; docs/models.md says how models are named. A sentence encoder
is opened here, too, because both halves of the method use one.

Not here: loading a language model from its files (`judges/providers/local.py`).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError

PACKAGED = "package:"
"""Begins the name of a model in an installed package: `package:MODULE/PATH`."""
_READ_BY_LOADERS = ("*.json", "*.txt", "*.model", "*.safetensors")
"""Files of a model: safetensors and text only, because other weights can hold code."""
_OTHER_RUNTIMES = ("onnx/*", "openvino/*")
"""The same weights once more."""
_PHRASES_AT_ONCE = 64
"""Phrases that go through a model together."""
BIOLORD = "FremyCompany/BioLORD-2023"
"""The encoder of the paper."""

BIOLORD_REVISION = "167aab527b238a50ca65224e6319215d2ff4fc9f"
"""The default revision."""


def named_path(name: str) -> Path | None:
    """Find the folder or file that a model's name stands for; it may be missing.

    Such names are `/...`, `./...`, `../...`, `~...` and `package:MODULE/PATH`.

    Returns:
        The path; None for the name of a model on the hub.

    Raises:
        ConfigurationError: the package is not installed.
    """
    if name.startswith(("/", "./", "../", "~")):
        return Path(name).expanduser()
    if not name.startswith(PACKAGED):
        return None
    module, _, path_in_package = name.removeprefix(PACKAGED).partition("/")
    # Looked up and not imported: a package of weights may depend on libraries that
    # are not installed, and none of its code need run.
    spec = find_spec(module) if module.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(
            f"model {name!r}: found no installed package {module!r}; expected "
            "package:MODULE/PATH, a folder or file in a package that is installed. "
            "Those of the small models come with: make models"
        )
    return Path(spec.submodule_search_locations[0], path_in_package)


def snapshot(name: str, revision: str, left_out: Sequence[str]) -> Path:
    """Fetch the files of a model, unless they are on this machine.

    A model is loaded from this folder, never by its name: for a name without
    safetensors transformers would ask a service on the hub to convert its other
    formats.

    Args:
        name: of a model on the hub.
        revision: a commit, tag or branch.
        left_out: patterns of files that are not fetched.

    Returns:
        The folder of the files, which is named by their commit.

    Raises:
        Exception: whatever the library, its transport and the disk raise; the text of
            some is a page long.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    constants.HF_HUB_DISABLE_TELEMETRY = True
    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    folder = snapshot_download(
        name,
        revision=revision,
        allow_patterns=[*_READ_BY_LOADERS, "*.jinja"],
        ignore_patterns=list(left_out),
    )
    return Path(folder)


def _digest_of_files(folder: Path) -> str:
    """Hash names and contents of the files that a loader may read."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        is_read = f"*{path.suffix}" in _READ_BY_LOADERS
        if not is_read or name.startswith((".", "onnx/", "openvino/")):
            continue
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{name}\n{content}\n".encode())
    return digest.hexdigest()


def quiet_transformers() -> None:
    """Switch off progress bars of transformers, and its advice."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


class SentenceEmbedder:
    """A model of sentence-transformers in this process, loaded at the first phrase.

    One of the hub is fetched when it is not here. Only safetensors are read, and no
    code of a model's own is run. It pools as the model's own files say (BioLORD-2023:
    the mean); vectors are L2-normalised, 32-bit floats. Its identity, `name@version`,
    is the same on every machine: the version is the commit, or the SHA-256 of the files
    in a folder.
    """

    def __init__(
        self, name: str, revision: str = "", option: str = "implicit.encoder_model"
    ) -> None:
        """Find the model.

        Args:
            name: as of `named_path`, or on the hub.
            revision: on the hub a commit, tag or branch; empty: `main`, of BioLORD-2023
                the one this package was written for.
            option: the setting that names the encoder, for messages.

        Raises:
            ConfigurationError: a library is missing, or the model cannot be found,
                fetched or read.
        """
        if find_spec("sentence_transformers") is None:
            raise ConfigurationError(
                f"{option} needs sentence_transformers, which is not installed. Run: "
                "pip install 'lunguage-assets[models]'"
            )
        self.name = name
        self._option = option
        folder = named_path(name)
        if folder is None:
            revision = revision or {BIOLORD: BIOLORD_REVISION}.get(name, "main")
            try:
                folder = snapshot(name, revision, _OTHER_RUNTIMES)
            # The hub's libraries raise many kinds; their text may be a page long.
            except Exception as error:
                raise ConfigurationError(
                    f"{option}: {name!r}, revision {revision!r}, is not on this "
                    f"machine and cannot be fetched ({type(error).__name__}). Check "
                    "name and revision; or fetch it where the hub can be reached (hf "
                    f"download {name} --revision {revision} --local-dir FOLDER), and "
                    f"name the folder as {option}."
                ) from None
            self.identity = f"{name}@{folder.name}"
        else:
            # Where a folder lies differs between machines: only its own name counts.
            is_packaged = name.startswith(PACKAGED)
            short_name = name[len(PACKAGED) :] if is_packaged else folder.resolve().name
            self.identity = f"{short_name}@sha256:{_digest_of_files(folder)[:16]}"
        self._folder = folder

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """Encode n phrases as n x d.

        Raises:
            ConfigurationError: the model cannot be loaded.
        """
        vectors: NDArray[np.float32] = self._model.encode(
            list(phrases),
            batch_size=_PHRASES_AT_ONCE,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )
        return vectors

    @property
    def mask_token(self) -> str:
        """The tokenizer's mask, or its unknown word where it has none."""
        tokenizer = self._model.tokenizer
        return str(tokenizer.mask_token or tokenizer.unk_token)

    @cached_property
    def _model(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        quiet_transformers()
        try:
            return SentenceTransformer(
                str(self._folder),
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            ).eval()
        # Each library has its own errors; the text of some is a page long.
        except Exception as error:
            raise ConfigurationError(
                f"encoder {self.identity} cannot be loaded ({type(error).__name__}). "
                "Expected a sentence encoder in safetensors, without code of its own: "
                f"{self._option}."
            ) from None
