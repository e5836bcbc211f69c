"""The lock of the extra `models` brings everything but torch, and nothing that only torch's CUDA builds
need.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_lock_has_the_libraries_and_neither_torch_nor_gigabytes_of_cuda() -> None:
    names = {
        match[1]
        for match in re.finditer(
            r"^([a-z0-9._-]+)", (ROOT / "requirements-models.lock").read_text(encoding="utf-8"), re.M
        )
    }
    assert {"transformers", "tokenizers", "sentence-transformers", "safetensors", "huggingface-hub"} <= names
    assert sorted(name for name in names if re.match(r"torch$|triton$|cuda-|nvidia-", name)) == []
