"""Time and memory of keeping, reading and comparing vectors: `python benchmarks/encoders.py [phrases] [pairs]
[model]`.

Invented unit vectors of 768 numbers, as BioLORD-2023 has; 660,000 phrases are what all of MIMIC-CXR says.
With `model` (a name or a folder) phrases of the invented corpus are encoded by it as well. Prints seconds per
step and the peak memory of the process.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from implicit_speed import invented
from numpy.typing import NDArray

from lunguage_assets.implicit.encoders import pair_cosines
from lunguage_assets.implicit.encoders.cached import CachedEmbedder
from lunguage_assets.implicit.encoders.model_folder import find_model
from lunguage_assets.implicit.encoders.precomputed import PrecomputedEmbedder, write_vectors
from lunguage_assets.implicit.encoders.sentence import SentenceEmbedder
from lunguage_assets.implicit.merging.blacklist import load_blacklist
from lunguage_assets.implicit.merging.deduplicate import compared_phrases
from lunguage_assets.settings import ImplicitSettings

WIDTH = 768


class RandomEmbedder:
    """Unit vectors that cost nothing to make."""

    identity = "random"

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """Random directions."""
        vectors = np.random.default_rng(0).standard_normal((len(phrases), WIDTH), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def timed(step: str, work: Callable[[], Any]) -> Any:
    """Do it and print how long it took."""
    start = time.perf_counter()
    result = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{step:34} {time.perf_counter() - start:8.2f} s, peak memory so far {peak:6.0f} MB")
    return result


def main() -> None:
    """Time every step once."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    said = [f"invented phrase {number}" for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        cache, file = Path(folder), Path(folder) / "vectors.parquet"
        timed("encode nothing, keep all", lambda: CachedEmbedder(RandomEmbedder(), cache).encode(said))
        timed("read what is kept", lambda: CachedEmbedder(RandomEmbedder(), cache).encode(said))
        write_vectors(file, said, RandomEmbedder().encode(said), "random")
        vectors = timed("read the same from Parquet", lambda: PrecomputedEmbedder(file).encode(said))
        dice = np.random.default_rng(1)
        first, second = dice.integers(0, count, pairs).tolist(), dice.integers(0, count, pairs).tolist()
        fixed = type("Fixed", (), {"identity": "fixed", "encode": lambda self, phrases: vectors})()
        timed(f"{pairs} cosines", lambda: pair_cosines(fixed, said, first, second))
    if len(sys.argv) > 3:
        findings, _, _ = invented(1473, 12)
        phrases = compared_phrases(findings, load_blacklist(), ImplicitSettings())
        model = SentenceEmbedder(find_model(sys.argv[3], ""))
        timed(f"{len(phrases)} phrases through the model", lambda: model.encode(phrases))


if __name__ == "__main__":
    main()
