"""Vectors from Parquet files, made elsewhere: on a machine with a GPU, or by any encoder.

A file has two columns, `phrase` (text) and `vector` (a list of numbers, of one length); a folder of such
files counts as one. The encoder's name is in the metadata of files from `write_vectors`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
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
        """n x d; the file is read in pieces, and only the wanted vectors are kept.

        Raises:
            InputError: phrases without a vector (how many, and what to do), or a vector that is missing,
                double, of another length, or has no direction.
        """
        wanted = pa.array(phrases, type=pa.large_string())
        vectors: NDArray[np.float32] | None = None
        found = np.zeros(len(phrases), dtype=bool)
        for file, names, numbers in self._pieces():
            rows = np.asarray(pc.fill_null(pc.index_in(names, value_set=wanted), -1), dtype=np.int64)
            here = np.flatnonzero(rows >= 0)
            taken = rows[here]
            if len(np.unique(taken)) < len(taken) or found[taken].any():
                remedy = "Remove the rows that repeat a phrase."
                raise _unusable(file, "two vectors for one phrase", "one", "phrase", remedy)
            if vectors is None:
                vectors = np.empty((len(phrases), numbers.shape[1]), dtype=np.float32)
            width = vectors.shape[1]
            if numbers.shape[1] != width:
                raise _unusable(
                    file, f"vectors of {numbers.shape[1]} numbers", f"{width} as before", "vector"
                )
            vectors[taken] = self._unit(file, numbers[here])
            found[taken] = True
        self._require_all(found)
        return vectors if vectors is not None else np.empty((0, 0), dtype=np.float32)

    def _pieces(self) -> Iterator[tuple[Path, pa.Array, NDArray[np.float64]]]:
        """Pieces of all files: the file, its phrases, and its vectors as an n x d array."""
        for file in self._files:
            with pq.ParquetFile(file) as source:
                for piece in source.iter_batches(batch_size=_AT_ONCE, columns=["phrase", "vector"]):
                    if len(piece):
                        names = piece.column("phrase").cast(pa.large_string())
                        yield file, names, matrix(file, piece.column("vector"))

    def _unit(self, file: Path, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or (lengths < _SHORTEST).any():
            found = "a vector of zeros, or with a number that is none"
            raise _unusable(file, found, "finite vectors with a direction", "vector")
        return np.asarray(numbers / lengths)

    def _require_all(self, found: NDArray[np.bool_]) -> None:
        missing = int((~found).sum())
        if missing:
            raise _unusable(
                self._path,
                f"no vector for {missing} of {len(found)} phrases",
                "one for every phrase that is compared",
                "phrase",
                "Encode the phrases that have none (docs/models.md shows how), and put both files of vectors "
                "into one folder, named as implicit.encoder_vectors.",
            )


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


def matrix(file: Path, column: pa.Array) -> NDArray[np.float64]:
    """A column of lists as an n x d array."""
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    values = column.flatten()
    if len(lengths) != 1 or not lengths[0] or values.null_count:
        found = "empty, incomplete or unequally long vectors"
        raise _unusable(file, found, "vectors of one length", "vector")
    return np.asarray(values.cast(pa.float64())).reshape(len(column), lengths[0])


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
