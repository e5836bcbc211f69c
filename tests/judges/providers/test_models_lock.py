"""The lock of the extra `models` brings everything but torch, and nothing that only torch's CUDA builds
need.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def locked(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = (re.match(r"([a-z0-9._-]+)(?:\[.*\])?==(\S+)( ;.*)?", line) for line in lines)
    return {match[1]: match[2] for match in found if match is not None and match[3] is None}


def test_the_lock_has_the_libraries_and_neither_torch_nor_gigabytes_of_cuda() -> None:
    names = {
        match[1]
        for match in re.finditer(
            r"^([a-z0-9._-]+)", (ROOT / "requirements-models.lock").read_text(encoding="utf-8"), re.M
        )
    }
    assert {"transformers", "tokenizers", "sentence-transformers", "safetensors", "huggingface-hub"} <= names
    assert sorted(name for name in names if re.match(r"torch$|triton$|cuda-|nvidia-", name)) == []


def test_whoever_installs_both_locks_gets_one_version_of_everything() -> None:
    models, dev = locked("requirements-models.lock"), locked("requirements-dev.lock")
    shared = models.keys() & dev.keys()
    assert len(shared) > 50
    assert {name: models[name] for name in shared} == {name: dev[name] for name in shared}


def test_the_lock_is_hashed_and_names_no_index() -> None:
    text = (ROOT / "requirements-models.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    pinned = [block for block in re.split(r"\n(?=[a-z0-9])", text) if "==" in block.splitlines()[0]]
    assert len(pinned) > 100
    assert [block.splitlines()[0] for block in pinned if "--hash=sha256:" not in block] == []
