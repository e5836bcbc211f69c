"""Sentence encoders, which measure the similarity of two phrases (implicit.md section 2).

An encoder is part of the provenance: its `identity` is stored with every row. One that cannot be opened is an
error, never a reason to take another. Vectors are in a Parquet file with the columns `phrase` and `vector`
and the encoder's name in its metadata; phrases are words of the reports, so only their owner can read it.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.files import replace_file
from lunguage_assets.hub import found_model, quiet_transformers
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.settings import ImplicitSettings

KEPT_EVERY = 20_000
"""Phrases that are encoded before their vectors are kept: what a run that is killed loses at most."""

_ENCODER_KEY = b"lunguage encoder"
_SHORTEST, _UNIT_TOLERANCE = 1e-12, 1e-3

BIOLORD = "FremyCompany/BioLORD-2023"
"""The encoder of the paper."""

BIOLORD_REVISION = "167aab527b238a50ca65224e6319215d2ff4fc9f"
"""The default revision."""

Floats = NDArray[np.float32]


class VectorEmbedder(Protocol):
    """A sentence encoder that gives vectors."""

    @property
    def identity(self) -> str:
        """Name and revision, recorded with every result."""

    def encode(self, phrases: Sequence[str]) -> Floats:
        """One L2-normalised row per phrase, n x d; a phrase's row does not depend on the other phrases."""


def checked_vectors(identity: str, answer: Floats, rows: int) -> Floats:
    """The encoder's answer as `rows` finite unit vectors; raises `MethodError` when it is not."""
    vectors = np.asarray(answer)
    right = vectors.ndim == 2 and len(vectors) == rows
    if not right or not np.allclose(
        np.linalg.norm(vectors, axis=1), 1.0, rtol=0.0, atol=_UNIT_TOLERANCE
    ):
        raise MethodError(
            f"encoder {identity}: found an array of shape {vectors.shape}, expected {rows} finite vectors of "
            "length 1."
        )
    return vectors


class SentenceEmbedder:
    """A model of sentence-transformers in this process, loaded at the first phrase; one of the hub is fetched
    when it is not here. Only safetensors are read, and no code of a model's own is run.

    It pools as the model's own files say (BioLORD-2023: the mean); vectors are L2-normalised, 32-bit floats.
    Its identity is the name and the exact revision, the same on every machine.
    """

    def __init__(
        self, name: str, revision: str = "", device: str = "auto", batch_size: int = 64
    ) -> None:
        """Find the model: a folder (`/...`, `./...`, `~/...`, `package:MODULE/PATH`), known by the SHA-256 of
        its files, or a name on the hub with a commit, tag or branch as `revision` (empty: `main`, of
        BioLORD-2023 the one this package was written for). `device` is torch's name, or `auto`: a GPU if
        there is one. Raises `ConfigurationError` for a missing library, or a model that cannot be found,
        fetched or read.
        """
        if find_spec("sentence_transformers") is None:
            raise ConfigurationError(
                "encoder 'sentence' needs sentence_transformers, which is not installed. Run: pip install "
                "'lunguage-assets[models]'"
            )
        self._device, self._batch_size = device, batch_size
        pinned = revision or (BIOLORD_REVISION if name == BIOLORD else "main")
        self._folder, self.identity, files = found_model(name, pinned, "encoder_model")
        if self._folder / "modules.json" not in files or all(
            one.suffix != ".safetensors" for one in files
        ):
            raise ConfigurationError(
                f"encoder_model, folder {self._folder}: found no sentence encoder in safetensors (other "
                "formats can hold code), expected one. Save it with sentence-transformers."
            )

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """One vector per phrase, n x d; raises `ConfigurationError` when the model cannot be loaded."""
        found: NDArray[np.float32] = self._model.encode(
            list(phrases),
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )
        return found

    @cached_property
    def _model(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        quiet_transformers()
        where = (
            self._device
            if self._device != "auto"
            else "cuda"
            if torch.cuda.is_available()
            else "cpu"
        )
        try:
            return SentenceTransformer(
                str(self._folder),
                device=where,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            ).eval()
        except (
            Exception
        ) as error:  # each library has its own errors; the text of some is a page long
            raise ConfigurationError(
                f"encoder {self.identity} cannot be loaded on device {where!r} ({type(error).__name__}). "
                "Expected the files of a sentence encoder without code of its own, and a device that torch "
                "knows: implicit.encoder_model, implicit.encoder_device."
            ) from None


class PrecomputedEmbedder:
    """Vectors from a file, normalised to length 1; raises `InputError` when it cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            name = (pq.read_schema(path).metadata or {}).get(
                _ENCODER_KEY, path.stem.encode()
            )
            with path.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
        except (OSError, pa.ArrowException) as error:
            raise _unusable(path, f"no Parquet file ({type(error).__name__})") from None
        self.identity = (
            f"precomputed {name.decode('utf-8', 'replace')}, sha256:{content[:16]}"
        )

    def encode(self, phrases: Sequence[str]) -> Floats:
        """n x d; raises `InputError` for phrases without a vector, or vectors that cannot be used."""
        missing = len(set(phrases) - self._known.keys())
        if missing:
            found = f"no vector for {missing} of {len(phrases)} phrases"
            remedy = "Make the file again from all phrases that are compared; docs/models.md shows how."
            raise InputError(
                str(self._path), found, "one for every phrase", remedy, column="phrase"
            )
        return np.stack([self._known[phrase] for phrase in phrases])

    @cached_property
    def _known(self) -> dict[str, Floats]:
        names, vectors = _read_vectors(self._path)
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        if (
            len(set(names)) < len(names)
            or not (np.isfinite(lengths) & (lengths > _SHORTEST)).all()
        ):
            raise _unusable(
                self._path,
                "two vectors for one phrase, one of zeros, or a number that is none",
            )
        return dict(zip(names, (vectors / lengths).astype(np.float32), strict=True))


class CachedEmbedder:
    """Another encoder's vectors, kept in `folder`. Of two processes that write at once the last one wins."""

    def __init__(self, inner: VectorEmbedder, folder: Path) -> None:
        self._inner, self.identity = inner, inner.identity
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.identity)[:60].strip("-.")
        digest = hashlib.sha256(self.identity.encode()).hexdigest()[:16]
        self.path = folder / f"{name}-{digest}.parquet"

    def encode(self, phrases: Sequence[str]) -> Floats:
        """n x d, as the inner encoder says; when it fails, what was encoded until then is kept."""
        known = (
            dict(zip(*_read_vectors(self.path), strict=True))
            if self.path.exists()
            else {}
        )
        missing = sorted(
            set(phrases) - known.keys(), key=lambda phrase: (len(phrase), phrase)
        )
        for start in range(0, len(missing), KEPT_EVERY):
            said = missing[start : start + KEPT_EVERY]
            fresh = checked_vectors(
                self.identity, self._inner.encode(said), len(said)
            ).astype(np.float32)
            known.update(zip(said, fresh, strict=True))
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_vectors(
                self.path, list(known), np.stack(list(known.values())), self.identity
            )
        return np.stack([known[phrase] for phrase in phrases])


def _read_vectors(path: Path) -> tuple[list[str], Floats]:
    """The phrases of a file, and their vectors, n x d, as they are; raises `InputError` for another form."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as source:
            table = source.read(["phrase", "vector"], use_threads=False)
        vectors = np.stack(table.column("vector").to_numpy()).astype(np.float32)
        return list(map(str, table.column("phrase").to_pylist())), vectors
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise _unusable(
            path, f"a file that cannot be read ({type(error).__name__})"
        ) from None


def write_vectors(
    path: Path, phrases: Sequence[str], vectors: Floats, encoder: str
) -> None:
    """Write a file for `PrecomputedEmbedder` from n phrases and an n x d array."""
    numbers = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    lists = pa.FixedSizeListArray.from_arrays(numbers, vectors.shape[1])
    table = pa.table({"phrase": pa.array(phrases, type=pa.string()), "vector": lists})
    table = table.replace_schema_metadata({_ENCODER_KEY: encoder.encode()})

    def write(stream: BinaryIO) -> None:
        os.fchmod(stream.fileno(), 0o600)
        pq.write_table(table, stream, compression="zstd", write_page_checksum=True)

    replace_file(path, write)


def _unusable(path: Path, found: str) -> InputError:
    expected = "Parquet with 'phrase' (text, each once) and 'vector' (finite numbers, of one length)"
    remedy = "Make the file again, as docs/models.md shows; one below `encodings` only delete."
    return InputError(str(path), found, expected, remedy)


IDENTITY = "lexical-1"
"""Of the built-in encoder."""

_LONGEST_TERM = 6
_FUNCTION_WORDS = frozenset({"a", "an", "and", "at", "in", "of", "the"})

_DECIMALS = 6
"""Cosines are rounded to this many decimals before any comparison: no platform's last bit decides a merge."""

_AT_ONCE = 8192
_ROWS_AT_ONCE = 1024
_PRODUCT_ERROR = 1e-3
"""How far a product of matrices in single precision may be from the cosine, generously."""
_FEW_PHRASES = 24
"""So few phrases are compared every two of them: an index would cost more than it saves."""


def make_embedder(
    settings: ImplicitSettings, vocabulary: Vocabulary, home: Path
) -> Embedder:
    """The configured encoder, opened; a model keeps its vectors in `encodings` of the home. Raises
    `ConfigurationError` without library, model, revision or named file, `InputError` for an unusable file.
    """
    return (
        LexicalEmbedder(vocabulary)
        if settings.encoder == "lexical"
        else _from_outside(settings, home)
    )


def encoder_identity(settings: ImplicitSettings, home: Path) -> str:
    """The identity of the encoder that `make_embedder` would open; raises as that does."""
    return (
        IDENTITY
        if settings.encoder == "lexical"
        else _from_outside(settings, home).identity
    )


def _from_outside(settings: ImplicitSettings, home: Path) -> VectorEmbedder:
    if settings.encoder == "sentence":
        name, revision = settings.encoder_model, settings.encoder_revision
        model = SentenceEmbedder(
            name, revision, settings.encoder_device, settings.encoder_batch_size
        )
        return CachedEmbedder(model, home / "encodings")
    if not settings.encoder_vectors:
        raise ConfigurationError(
            "settings.toml, option implicit.encoder_vectors: found nothing, expected the Parquet file with "
            "the vectors of encoder 'precomputed'. docs/models.md shows how to make one."
        )
    return PrecomputedEmbedder(home / Path(settings.encoder_vectors).expanduser())


def close_pairs(
    embedder: Embedder, groups: Sequence[Collection[str]], threshold: float
) -> list[dict[tuple[str, str], float]]:
    """Find the pairs of phrases that are similar enough, without comparing every two in Python.

    Args:
        embedder: what measures similarity; it encodes every phrase once.
        groups: distinct phrases; those of different groups are not compared.
        threshold: the least rounded cosine of a pair.

    Returns:
        For each group its pairs, the phrases of each in alphabetical order, with their rounded cosine.

    Raises:
        MethodError: the encoder's answer is not one finite unit vector per phrase.
    """
    phrases = sorted({phrase for group in groups for phrase in group})
    number = {phrase: row for row, phrase in enumerate(phrases)}
    if isinstance(embedder, LexicalEmbedder):
        candidates = [
            embedder.candidate_pairs(sorted(group), threshold) for group in groups
        ]
        distinct_pairs = sorted({pair for pairs in candidates for pair in pairs})
        first, second = (
            [number[pair[side]] for pair in distinct_pairs] for side in (0, 1)
        )
        cosines = embedder.cosines(phrases, first, second)
    else:
        vectors: NDArray[Any] = np.zeros((0, 1))
        if phrases:
            vectors = checked_vectors(
                embedder.identity, embedder.encode(phrases), len(phrases)
            )
        candidates = [
            _candidates_by_vectors(sorted(group), number, vectors, threshold)
            for group in groups
        ]
        distinct_pairs = sorted({pair for pairs in candidates for pair in pairs})
        cosines = _cosines_of_vectors(distinct_pairs, number, vectors)
    rounded = dict(
        zip(distinct_pairs, np.round(cosines, _DECIMALS).tolist(), strict=True)
    )
    return [
        {pair: rounded[pair] for pair in pairs if rounded[pair] >= threshold}
        for pairs in candidates
    ]


def _cosines_of_vectors(
    pairs: Sequence[tuple[str, str]], number: Mapping[str, int], vectors: NDArray[Any]
) -> NDArray[np.float64]:
    """The cosine of every pair of phrases, computed alone: the same on every machine."""
    found = np.empty(len(pairs))
    for start in range(
        0, len(pairs), _AT_ONCE
    ):  # bounds the memory of the gathered rows
        part = pairs[start : start + _AT_ONCE]
        first = vectors[[number[one] for one, _ in part]]
        second = vectors[[number[other] for _, other in part]]
        found[start : start + len(part)] = np.einsum(
            "ij,ij->i", first, second, dtype=np.float64
        )
    return found


def _candidates_by_vectors(
    group: Sequence[str],
    number: Mapping[str, int],
    vectors: NDArray[Any],
    threshold: float,
) -> list[tuple[str, str]]:
    """Pairs whose product of vectors comes near the threshold; their cosines are computed one by one then,
    since the last bits of a product of matrices differ from machine to machine.
    """
    own = vectors[[number[phrase] for phrase in group]]
    pairs: list[tuple[str, str]] = []
    for start in range(0, len(group), _ROWS_AT_ONCE):
        products = own[start : start + _ROWS_AT_ONCE] @ own.T
        rows, columns = np.nonzero(products >= threshold - _PRODUCT_ERROR)
        pairs += [
            (group[start + row], group[column])
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
            if start + row < column
        ]
    return pairs


class LexicalEmbedder:
    """Phrases as sets of the vocabulary's words ("effusion RUL": "pleural effusion right upper lobe")."""

    identity = IDENTITY

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._singular = remembered(self._singular_of)
        self._finding = remembered(
            lambda said: self._rewritten(said, vocabulary.finding)
        )
        self._location = remembered(lambda said: self._rewritten(said, self._place))
        self._bag = remembered(self._bag_of)

    def cosines(
        self, phrases: Sequence[str], first: Sequence[int], second: Sequence[int]
    ) -> NDArray[np.float64]:
        """Exact cosines: shared words over the geometric mean of both counts."""
        bags = [self._bag(phrase) for phrase in phrases]
        shared = [
            len(bags[a] & bags[b]) / math.sqrt(len(bags[a]) * len(bags[b]))
            for a, b in zip(first, second, strict=True)
        ]
        return np.array(shared, dtype=np.float64)

    def candidate_pairs(
        self, phrases: Sequence[str], threshold: float
    ) -> list[tuple[str, str]]:
        """Find the pairs of phrases that may reach a cosine, of many phrases by their rarest words.

        Two bags with a cosine of t share at least t² of the words of either. So they share one of the first
        n - ceil(t² n) + 1 words of each, whatever the order of the words, as long as it is one for all; with
        the rarest first, few pairs are left ("prefix filtering" in the literature of similarity joins).
        """
        if len(phrases) <= _FEW_PHRASES:
            return list(combinations(phrases, 2))
        bags = [self._bag(phrase) for phrase in phrases]
        frequency = Counter(word for bag in bags for word in bag)
        found: set[tuple[int, int]] = set()
        numbers_by_word: dict[str, list[int]] = {}
        least = max(threshold - 10.0**-_DECIMALS, 0.0) ** 2
        for number, bag in enumerate(bags):
            rarest_first = sorted(bag, key=lambda word: (frequency[word], word))
            shared_at_least = max(1, math.ceil(least * len(bag) - 1e-9))
            for word in rarest_first[: len(bag) - shared_at_least + 1]:
                known = numbers_by_word.setdefault(word, [])
                found.update((earlier, number) for earlier in known)
                known.append(number)
        return [(phrases[one], phrases[other]) for one, other in sorted(found)]

    def _bag_of(self, phrase: str) -> frozenset[str]:
        """Words of a phrase; one without any word (only punctuation) is a word of its own."""
        said = tokens(phrase)
        words: list[str] = []
        start = 0
        for length in range(
            min(_LONGEST_TERM, len(said)), 0, -1
        ):  # the finding comes first
            if term := self._finding(said[:length]):
                words += term
                start = length
                break
        while start < len(said):
            for taken in (
                2,
                1,
            ):  # abbreviated places have at most two words ("cp angle", "rul")
                place = (
                    self._location(said[start : start + taken])
                    if start + taken <= len(said)
                    else ()
                )
                if place:
                    break
            words += place or (self._singular(said[start]),)
            start += taken
        return frozenset(words) - _FUNCTION_WORDS or frozenset((phrase,))

    def _rewritten(
        self, said: tuple[str, ...], form: Callable[[str], str]
    ) -> tuple[str, ...]:
        """The vocabulary's words for some words; empty when they are the same, word by word."""
        term = tuple(map(self._singular, tokens(form(" ".join(said)))))
        return () if set(term) == set(map(self._singular, said)) else term

    def _place(self, span: str) -> str:
        return " ".join(self._vocabulary.location_parts(span))

    def _singular_of(self, word: str) -> str:
        """The vocabulary's one-word form of a word, as a finding or else as a place; else the word itself."""
        forms = (tokens(self._vocabulary.finding(word)), tokens(self._place(word)))
        return next((form[0] for form in forms if len(form) == 1), word)


Embedder = VectorEmbedder | LexicalEmbedder
"""What measures the similarity of two phrases; one's own has the members of `VectorEmbedder`."""
