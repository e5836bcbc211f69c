"""Which files of a folder hold raw reports, and in what layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Layout = Literal["packed", "table", "open-i table", "open-i XML", "text files"]
"""`packed`: as a home stores raw reports of any other layout."""


@dataclass(frozen=True)
class TextSource:
    """Raw reports of one layout.

    Args:
        layout: how they are written.
        files: a table, a package (`.zip`), or the folder under which the files of one report each lie.
        projections: views of an Open-i table.
        chosen: which records belong, one byte (0 or 1) for each in the order of reading; None: all.
    """

    layout: Layout
    files: tuple[Path, ...]
    projections: Path | None = None
    chosen: bytes | None = None
