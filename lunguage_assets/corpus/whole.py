"""Whether a table arrived whole: a batch never changes, so half a file must not become one."""

from __future__ import annotations

import io
import zlib
from collections import deque
from pathlib import Path

from lunguage_assets.corpus.records import UNCLOSED, WIDTH, read_records
from lunguage_assets.corpus.unpacking import Unpacked
from lunguage_assets.errors import InputError


def require_whole(path: Path) -> None:
    """Refuse a CSV file that was cut: its last record breaks off, and no line end follows.

    A cut between two records, or inside the last cell of one, cannot be told from the end.

    Raises:
        InputError: as said; of what else may be wrong the reading tells.
    """
    if _last_byte(path) in (b"\n", b"\r"):
        return
    try:
        header, records = read_records(path, ("subject_id", "study_id"), may_be_empty=True, keep_bytes=True)
        last = next(iter(deque(records, maxlen=1)), None)
    except InputError:
        return
    if last is not None and (
        last.broken == UNCLOSED or (last.broken == WIDTH and len(last.values) < len(header))
    ):
        found = "a last record that breaks off, without a line end behind it"
        remedy = "Deliver the whole file again; if it is whole, mend its last record."
        raise InputError(path.name, found, "a whole file", remedy, row=last.number)


def _last_byte(path: Path) -> bytes:
    """The last byte of the content; a line end where the content cannot be read."""
    with path.open("rb") as stream:
        if not path.name.lower().endswith(".gz"):
            stream.seek(-min(1, path.stat().st_size), io.SEEK_END)
            return stream.read()
        last, unpacked = b"", Unpacked(stream, path.name)
        try:
            while block := unpacked.read(1 << 20):
                last = block[-1:]
        except (OSError, EOFError, zlib.error, InputError):
            return b"\n"
        return last
