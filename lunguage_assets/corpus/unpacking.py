"""How much a packed file may hold: a megabyte of packed zeros unpacks to a gigabyte."""

from __future__ import annotations

import gzip
import io
from typing import BinaryIO

from lunguage_assets.errors import InputError

MOST_UNPACKED = 1 << 30
"""Bytes that are unpacked of one file or package, or of all `.gz` files of a delivery that lands.

All reports of MIMIC-CXR are a fifth of it.
"""
MOST_ENTRIES = 1_000_000
"""Files and folders in one `.zip`; MIMIC-CXR's has 300,000."""


def require_size(file: str, unpacked: int) -> None:
    """Stop when more than `MOST_UNPACKED` bytes came out of a file.

    Raises:
        InputError: with the limit.
    """
    if unpacked > MOST_UNPACKED:
        expected = f"at most {MOST_UNPACKED >> 20:,} MiB"
        remedy = "Deliver it unpacked, or in several deliveries."
        raise InputError(file, f"more than {MOST_UNPACKED >> 20:,} MiB when unpacked", expected, remedy)


class Unpacked(gzip.GzipFile):
    """The content of a `.gz` file up to `MOST_UNPACKED` bytes, then an `InputError`."""

    def __init__(self, packed: BinaryIO, file: str) -> None:
        super().__init__(fileobj=packed)
        self._file, self._given = file, 0

    def read(self, size: int | None = -1) -> bytes:
        return self._counted(super().read(size))

    def read1(self, size: int = io.DEFAULT_BUFFER_SIZE) -> bytes:
        return self._counted(super().read1(size))

    def _counted(self, block: bytes) -> bytes:
        self._given += len(block)
        require_size(self._file, self._given)
        return block
