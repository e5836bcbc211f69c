"""Vectors from Parquet files, made elsewhere: on a machine with a GPU, or by any encoder.

A file has two columns, `phrase` (text) and `vector` (a list of numbers, of one length); a folder of such
files counts as one. The encoder's name is in the metadata of files from `write_vectors`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lunguage_assets.errors import InputError
from lunguage_assets.files import replace_file

ENCODER_KEY = b"lunguage encoder"
_AT_ONCE = 16_384
_SHORTEST = 1e-12
_FORM = (
    "Parquet with the columns 'phrase' (text) and 'vector' (a "
    "list of numbers), as docs/models.md describes it"
)


class PrecomputedEmbedder:
    """Vectors from a file, normalised to length 1.

    Its identity names the encoder that the file names, and the file's content.
    """

    def __init__(self, path: Path) -> None:
        """Raises `InputError` when there is no such file, or it has another form."""
        self._path = path
        self._files = vector_files(path)
        for file in self._files:
            _check_form(file)

    @cached_property
    def identity(self) -> str:
        encoders = {
            (pq.read_schema(file).metadata or {}).get(ENCODER_KEY, b"").decode("utf-8", "replace")
            for file in self._files
        }
        if len(encoders) > 1:
            remedy = "Remove the files of the others."
            raise _unusable(self._path, "vectors of several encoders", "files of one encoder", remedy=remedy)
        content = hashlib.sha256()
        for file in self._files:
            with file.open("rb") as stream:
                content.update(hashlib.file_digest(stream, "sha256").digest())
        return f"precomputed {encoders.pop() or self._path.stem}, sha256:{content.hexdigest()[:16]}"

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """n x d.

        Raises:
            InputError: phrases without a vector (how many, and what to do), or a vector that is missing,
                double, of another length, or has no direction.
        """
        number, vectors = self._known
        missing = len(set(phrases) - number.keys())
        if missing:
            raise _unusable(
                self._path,
                f"no vector for {missing} of {len(phrases)} phrases",
                "one for every phrase that is compared",
                "phrase",
                "Encode the phrases that have none (docs/models.md shows how), and put both files of vectors "
                "into one folder, named as implicit.encoder_vectors.",
            )
        return vectors[[number[phrase] for phrase in phrases]]

    @cached_property
    def _known(self) -> tuple[dict[str, int], NDArray[np.float32]]:
        """Number of every phrase, and the vectors of all files by number."""
        number: dict[str, int] = {}
        parts: list[NDArray[np.float32]] = []
        for file in self._files:
            names, vectors = read_vectors(file)
            lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
            if not np.isfinite(lengths).all() or (lengths < _SHORTEST).any():
                found = "a vector of zeros, or with a number that is none"
                raise _unusable(file, found, "finite vectors with a direction", "vector")
            if parts and parts[0].shape[1] != vectors.shape[1]:
                width = f"{parts[0].shape[1]} as before"
                raise _unusable(file, f"vectors of {vectors.shape[1]} numbers", width, "vector")
            before = len(number)
            number |= {name: place for place, name in enumerate(names, before)}
            if len(number) < before + len(names):
                remedy = "Remove the rows that repeat a phrase."
                raise _unusable(file, "two vectors for one phrase", "one", "phrase", remedy)
            parts.append((vectors / lengths).astype(np.float32))
        return number, np.concatenate(parts)


def read_vectors(file: Path) -> tuple[list[str], NDArray[np.float32]]:
    """The phrases of a file and their vectors, n x d, as they are.

    Raises:
        InputError: vectors that are missing, incomplete or of several lengths.
    """
    with pq.ParquetFile(file, pre_buffer=False, page_checksum_verification=True) as source:
        table = source.read(["phrase", "vector"], use_threads=False)
    column = table.column("vector").combine_chunks()
    values, lengths = column.flatten(), pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) != 1 or not lengths[0] or values.null_count:
        found = "empty, incomplete or unequally long vectors"
        raise _unusable(file, found, "vectors of one length", "vector")
    numbers = np.asarray(values.cast(pa.float32(), safe=False)).reshape(len(column), lengths[0])
    return table.column("phrase").to_pylist(), numbers


def _unusable(
    file: Path,
    found: str,
    expected: str,
    column: str | None = None,
    remedy: str = "Make the file again, as docs/models.md shows.",
) -> InputError:
    return InputError(str(file), found, expected, remedy, column=column)


def vector_files(path: Path) -> list[Path]:
    """The file, or the Parquet files of the folder, sorted; raises `InputError` when there are none."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        found = "no file" if not path.is_dir() else "a folder without Parquet files"
        remedy = "docs/models.md shows how to make one."
        raise _unusable(path, found, _FORM, remedy=remedy)
    return files


def _check_form(file: Path) -> None:
    try:
        schema = pq.read_schema(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise _unusable(file, f"a file that cannot be read ({type(error).__name__})", _FORM) from None
    if not {"phrase", "vector"} <= set(schema.names):
        raise _unusable(file, f"the columns {sorted(schema.names)[:5]}", _FORM)
    text, vector = schema.field("phrase").type, schema.field("vector").type
    if not (pa.types.is_string(text) or pa.types.is_large_string(text)):
        raise _unusable(file, f"type {text}", "text", "phrase")
    lists = pa.types.is_list(vector) or pa.types.is_large_list(vector) or pa.types.is_fixed_size_list(vector)
    if not lists or not (pa.types.is_floating(vector.value_type) or pa.types.is_integer(vector.value_type)):
        raise _unusable(file, f"type {vector}", "lists of numbers", "vector")


def write_vectors(path: Path, phrases: Sequence[str], vectors: NDArray[np.float32], encoder: str) -> None:
    """Write a file for `PrecomputedEmbedder` from n phrases and an n x d array.

    Only its owner can read it: phrases are report text.
    """
    numbers = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    lists = pa.FixedSizeListArray.from_arrays(numbers, vectors.shape[1])
    table = pa.table({"phrase": pa.array(phrases, type=pa.string()), "vector": lists})
    table = table.replace_schema_metadata({ENCODER_KEY: encoder.encode()})

    def write(stream: BinaryIO) -> None:
        os.fchmod(stream.fileno(), 0o600)
        pq.write_table(table, stream, compression="zstd", row_group_size=_AT_ONCE, write_page_checksum=True)

    replace_file(path, write)
