"""The files of a sentence encoder and their revision: a folder, or a model of the hub.

Files of the hub are fetched when the machine does not have them. Only safetensors are read, and no code of a
model's own is run.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.hub import PACKAGED, named_path, snapshot

INSTALL = "pip install 'lunguage-assets[models]'"

BIOLORD = "FremyCompany/BioLORD-2023"
"""The encoder of the paper."""

BIOLORD_REVISION = "167aab527b238a50ca65224e6319215d2ff4fc9f"
"""The default revision."""

_READ = ("*.json", "*.txt", "*.model", "*.safetensors")
_OTHER_FORMATS = ("onnx/*", "openvino/*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHORTEST_DIGEST = 8


@dataclass(frozen=True)
class ModelFolder:
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
            raise ConfigurationError(
                f"encoder 'sentence' needs {module}, which is not installed. Run: {INSTALL}"
            )
    folder = named_path(name)
    if folder is not None:
        return _local(folder, revision, name.removeprefix(PACKAGED) if name.startswith(PACKAGED) else "")
    return _of_the_hub(name, revision or (BIOLORD_REVISION if name == BIOLORD else "main"))


def _local(folder: Path, revision: str, name: str) -> ModelFolder:
    if not folder.is_dir():
        raise ConfigurationError(
            f"encoder_model: found no folder {folder}; expected "
            "one with a sentence encoder, or a name on the hub."
        )
    problem = _incomplete(folder)
    if problem:
        raise ConfigurationError(f"encoder_model: folder {folder} {problem}.")
    digest = _digest(folder)
    if revision and (len(revision) < _SHORTEST_DIGEST or not digest.startswith(revision.lower())):
        raise ConfigurationError(
            f"encoder_revision: the files in {folder} have SHA-256 {digest[:16]}..., expected {revision}. "
            f"Name at least {_SHORTEST_DIGEST} digits of it, leave encoder_revision empty to take the files "
            "as they are, or restore them."
        )
    return ModelFolder(folder, f"{name or folder.resolve().name}@sha256:{digest[:16]}")


def _of_the_hub(name: str, revision: str) -> ModelFolder:
    try:
        folder = snapshot(name, revision, _OTHER_FORMATS)
    except Exception as error:  # the hub's libraries have many; their text may be a page long
        raise ConfigurationError(
            f"encoder_model: {name!r}, revision {revision!r}, is not on this machine and cannot be fetched "
            f"({type(error).__name__}). Check name and revision; or fetch it where the hub can be reached "
            f"(hf download {name} --revision {revision} --local-dir FOLDER), bring the folder here and name "
            "it as encoder_model."
        ) from None
    problem = _incomplete(folder)
    if problem:
        raise ConfigurationError(f"encoder_model: {name!r}, revision {revision!r}, {problem}.")
    if _COMMIT.fullmatch(revision) and folder.name != revision:
        raise ConfigurationError(
            f"encoder_revision: found commit {folder.name} of {name!r}, expected {revision}."
        )
    return ModelFolder(folder, f"{name}@{folder.name}")


def _incomplete(folder: Path) -> str:
    """The part that a folder lacks to be a sentence encoder; empty for a complete one."""
    if not (folder / "modules.json").is_file():
        return "is no sentence encoder; expected a model saved by sentence-transformers, with a modules.json"
    if not any(path.suffix == ".safetensors" for path in _files(folder)):
        return (
            "has no safetensors; other formats can hold code and are "
            "not read. Save the model again with safe_serialization=True"
        )
    return ""


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
