"""The folder of a distilled model, which is read as it was written or refused.

It holds `scorer.json`, `scorer.npz` and, where the encoder was fine-tuned, `encoder/`:
learnt from reports, and as restricted as they are. What a model scores is released
under the digest of its weights, so the digest is checked whenever they are read.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.explicit.distilled.model import Head, ScoreErrors
from lunguage_assets.files import replace_file, replace_text
from lunguage_assets.hub import files_digest

_WEIGHTS = "scorer.npz"
_ABOUT = "scorer.json"
ENCODER = "encoder"
"""Folder of an encoder of the scorer's own."""

_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What numpy raises when a file is damaged; one may claim to hold more than fits into
memory.
"""
_HEAD_FIELDS = [field.name for field in fields(Head)]
_ERROR_FIELDS = [field.name for field in fields(ScoreErrors)]
_STORED_TYPES = {"covariance": np.float32, "known": np.float16}
"""Arrays that are stored in a smaller type than that of numpy."""


class About(BaseModel):
    """What `scorer.json` says.

    Attributes:
        made_of: fingerprint of the answers and options that it was trained with.
        encoder: identity of the encoder.
        encoder_name: its name on the hub, or its folder.
        revision: of a model of the hub.
        rung: name of the model variant, `frozen` or `tuned`.
        ranking_version: of the ranking to which the answers belong.
        phrases: hedging phrases of the sentences that it learnt from.
        files: digest of the weights (SHA-256): `scorer.npz`, and those of an encoder of
            its own.
        beside: digest of everything else; scorers of version 0.1 have none.
    """

    model_config = ConfigDict(frozen=True)

    made_of: str
    encoder: str
    encoder_name: str
    revision: str
    rung: str
    ranking_version: str
    phrases: list[str]
    files: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    beside: str = ""


def about_scorer(folder: Path) -> About:
    """Read `scorer.json`.

    Raises:
        ConfigurationError: the folder holds no scorer, or it was damaged.
    """
    try:
        return About.model_validate_json((folder / _ABOUT).read_bytes())
    except OSError:
        raise ConfigurationError(
            f"{folder}: found no distilled scorer ({_ABOUT}). `lunguage distill` makes "
            "one below `distilled` of the home."
        ) from None
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"])) or "the whole file"
        raise _damaged(folder, f"{_ABOUT} is wrong at {field}") from None


def scorer_identity(folder: Path) -> str:
    """Name the scorer in a folder; raises as `about_scorer`."""
    return f"distilled/{about_scorer(folder).files[:16]}"


def stored_model(folder: Path) -> tuple[Head, ScoreErrors]:
    """Read what was learnt beside the encoder: the head, and how far it errs.

    Raises:
        ConfigurationError: the folder holds no scorer, or something in it is not as it
            was written.
    """
    require_whole(folder)
    arrays = stored_arrays(folder / _WEIGHTS)
    misfit = _misfit(arrays)
    if misfit:
        raise _damaged(folder, f"{_WEIGHTS}: {misfit}")
    # A number is stored as an array without dimensions.
    values: dict[str, Any] = {
        name: array if array.ndim else array.item() for name, array in arrays.items()
    }
    head = Head(**{name: values[name] for name in _HEAD_FIELDS})
    errors = ScoreErrors(**{name: values[name] for name in _ERROR_FIELDS})
    return head, errors


def stored_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays in a file of a scorer's folder.

    Raises:
        ConfigurationError: it cannot be read.
    """
    try:
        with np.load(file) as stored:
            return {name: stored[name] for name in stored.files}
    except _UNREADABLE as error:
        problem = f"{file.name} cannot be read ({type(error).__name__})"
        raise _damaged(file.parent, problem) from None


def require_whole(folder: Path) -> None:
    """Refuse a scorer whose files are not those that were written.

    Raises:
        ConfigurationError: a digest differs, or a file cannot be read.
    """
    about = about_scorer(folder)
    try:
        is_same = files_digest(folder, _weight_files(folder)) == about.files
        if about.beside:
            is_same &= _digest_beside(folder, about) == about.beside
    except OSError as error:
        problem = f"a file cannot be read ({type(error).__name__})"
        raise _damaged(folder, problem) from None
    if not is_same:
        raise _damaged(folder, f"files are not those whose digest {_ABOUT} names")


def write_scorer(
    folder: Path, about: Mapping[str, Any], head: Head, errors: ScoreErrors
) -> str:
    """Write a scorer, beside an `encoder/` that may be there.

    The same values give the same bytes.

    Args:
        folder: in which it is written.
        about: fields of `About` but the digests.
        head: of the model.
        errors: of its scores.

    Returns:
        The digest of the weights, which `scorer.json` then names.
    """
    learnt = asdict(head) | asdict(errors)
    arrays: dict[str, Any] = {
        name: np.asarray(value, dtype=_STORED_TYPES.get(name))
        for name, value in learnt.items()
    }

    replace_file(folder / _WEIGHTS, lambda stream: np.savez(stream, **arrays))
    files = files_digest(folder, _weight_files(folder))
    content = About(**about, files=files)
    # The second digest covers the first, and all that is said of the scorer.
    content = content.model_copy(update={"beside": _digest_beside(folder, content)})
    text = json.dumps(content.model_dump(), indent=1, sort_keys=True)
    replace_text(folder / _ABOUT, text)
    return files


def _weight_files(folder: Path) -> list[Path]:
    """List the files whose digest is the scorer's identity."""
    return [folder / _WEIGHTS, *sorted((folder / ENCODER).rglob("*.safetensors"))]


def _digest_beside(folder: Path, about: About) -> str:
    """Hash what else decides a score: the rest of `scorer.json` and of the encoder."""
    beside_weights = [
        path
        for path in sorted((folder / ENCODER).rglob("*"))
        if path.is_file() and path.suffix != ".safetensors"
    ]
    files = files_digest(folder, beside_weights)
    described = about.model_dump(exclude={"beside"})
    text = json.dumps([described, files], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _damaged(folder: Path, problem: str) -> ConfigurationError:
    return ConfigurationError(
        f"{folder}: {problem}; expected the distilled model as `lunguage distill` "
        "wrote it, because what it scores is released under its digest. Say `lunguage "
        "distill` again, or put the files back."
    )


def _misfit(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Say what is wrong with the stored arrays; empty: nothing."""
    names = {*_HEAD_FIELDS, *_ERROR_FIELDS}
    if arrays.keys() != names:
        return f"found other arrays than {', '.join(sorted(names))}"
    size = arrays["weights"].size
    known_vectors = arrays["known"]
    expected_shapes = {
        "centre": (size,),
        "scale": (),
        "weights": (size,),
        "intercept": (),
        "covariance": (size, size),
        "cuts": (2,),
        "variance": (3,),
        "usual": (),
        "farthest": (),
        "known": (len(known_vectors) if known_vectors.ndim else 0, size),
    }
    for name, shape in expected_shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype.kind != "f":
            return (
                f"array {name} has shape {array.shape} of {array.dtype}, expected "
                f"{shape} of floats"
            )
        if not np.isfinite(array).all():
            return f"array {name} holds what is no finite number"
    is_empty = not size or not len(known_vectors)
    if is_empty or arrays["scale"] <= 0.0 or (arrays["variance"] < 0.0).any():
        return "arrays are empty, or scale or variance is not above zero"
    return ""
