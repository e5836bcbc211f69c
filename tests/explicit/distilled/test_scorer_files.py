"""The folder of a distilled model is read as it was written, or refused: its digest is
its identity.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.explicit.distilled.model import Head, ScoreErrors
from lunguage_assets.explicit.distilled.scorer_files import (
    about_scorer,
    require_whole,
    scorer_identity,
    stored_model,
    write_scorer,
)
from lunguage_assets.hub import files_digest

SIZE = 6
ABOUT: dict[str, Any] = {
    "made_of": "0" * 16, "encoder": "tiny@sha256:0", "encoder_name": "/tiny", "revision": "",
    "rung": "frozen", "ranking_version": "v1", "phrases": ["may be"],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scorer with an encoder of its own."""
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "encoder" / "tokenizer.json").write_text("{}")
    head = Head(np.zeros(SIZE), 1.0, np.ones(SIZE), 25.0, np.eye(SIZE))
    errors = ScoreErrors(
        np.array([20.0, 30.0]), np.ones(3), 0.5, np.zeros((4, SIZE), np.float16), 1.0
    )
    write_scorer(tmp_path, ABOUT, head, errors)
    return tmp_path


def arrays_of(folder: Path) -> dict[str, Any]:
    with np.load(folder / "scorer.npz") as stored:
        return {name: stored[name] for name in stored.files}


def redeclared(folder: Path) -> None:
    """Let scorer.json name the digest of what is there."""
    file = folder / "scorer.json"
    about = json.loads(file.read_text())
    weights = [folder / "scorer.npz", folder / "encoder" / "model.safetensors"]
    about = {**about, "files": files_digest(folder, weights), "beside": ""}
    file.write_text(json.dumps(about))


def refused(folder: Path) -> str:
    """The refusal of the folder; it has a remedy."""
    with pytest.raises(ConfigurationError, match="lunguage distill") as caught:
        stored_model(folder)
    return str(caught.value)


def test_what_was_written_is_read(folder: Path) -> None:
    head, errors = stored_model(folder)
    assert head.weights.tolist() == [1.0] * SIZE
    assert errors.known.shape == (4, SIZE)


def test_changed_weights_are_refused(folder: Path) -> None:
    np.savez(
        folder / "scorer.npz", **{**arrays_of(folder), "weights": np.full(SIZE, 2.0)}
    )
    assert "digest" in refused(folder)


def test_an_encoder_that_was_changed_is_refused(folder: Path) -> None:
    (folder / "encoder" / "model.safetensors").write_bytes(b"other weights")
    assert "digest" in refused(folder)


def test_an_encoder_that_was_put_beside_is_refused(folder: Path) -> None:
    (folder / "encoder" / "more.safetensors").write_bytes(b"other weights")
    assert "digest" in refused(folder)


def test_a_tokenizer_that_was_changed_is_refused(folder: Path) -> None:
    (folder / "encoder" / "tokenizer.json").write_text('{"other": 1}')
    assert "digest" in refused(folder)


def test_phrases_that_were_changed_are_refused(folder: Path) -> None:
    file = folder / "scorer.json"
    file.write_text(file.read_text().replace("may be", "could be"))
    assert "digest" in refused(folder)


def test_a_scorer_of_0_1_is_read_without_a_second_digest(
    folder: Path,
) -> None:
    about = json.loads((folder / "scorer.json").read_text())
    del about["beside"]
    (folder / "scorer.json").write_text(json.dumps(about))
    require_whole(folder)


def test_the_identity_is_the_digest_of_the_weights_alone(folder: Path) -> None:
    weights = [folder / "scorer.npz", folder / "encoder" / "model.safetensors"]
    assert scorer_identity(folder) == f"distilled/{files_digest(folder, weights)[:16]}"


@pytest.mark.parametrize("change", [
    lambda arrays: arrays.pop("known"),
    lambda arrays: arrays.update(more=np.ones(1)),
    lambda arrays: arrays.update(weights=np.ones(SIZE - 1)),
    lambda arrays: arrays.update(weights=np.full(SIZE, np.nan)),
    lambda arrays: arrays.update(covariance=np.full((SIZE, SIZE), np.inf)),
    lambda arrays: arrays.update(cuts=np.ones(3)),
    lambda arrays: arrays.update(known=np.zeros((0, SIZE), np.float16)),
    lambda arrays: arrays.update(known=np.float16(1.0)),
    lambda arrays: arrays.update(scale=np.float64(0.0)),
    lambda arrays: arrays.update(variance=np.array([1.0, -1.0, 1.0])),
    lambda arrays: arrays.update(weights=np.array(["one"] * SIZE)),
    lambda arrays: arrays.update(weights=np.array([object()] * SIZE)),
])  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(
    folder: Path, change: Callable[[Any], None]
) -> None:
    arrays = arrays_of(folder)
    change(arrays)
    np.savez(folder / "scorer.npz", **arrays)
    redeclared(folder)
    assert "scorer.npz" in refused(folder)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive at all"])
def test_a_file_of_weights_that_cannot_be_read_is_refused(
    folder: Path, content: bytes
) -> None:
    (folder / "scorer.npz").write_bytes(content)
    redeclared(folder)
    assert "scorer.npz cannot be read" in refused(folder)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "[" * 60_000, json.dumps({**ABOUT, "files": "abc"})]
)
def test_a_description_that_does_not_fit_is_refused(folder: Path, content: str) -> None:
    (folder / "scorer.json").write_text(content)
    assert "scorer.json is wrong" in refused(folder)


def test_a_folder_without_a_scorer_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="found no distilled scorer"):
        about_scorer(tmp_path)
