"""What a delivery declares of itself in `corpus.toml`: its name and data class."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as validated

from lunguage_assets.errors import InputError
from lunguage_assets.settings import DataClass

DECLARATION = "corpus.toml"
_LARGEST_BYTES = 4096
"""Keys that are nested in a larger file would hold its reader for seconds."""


@validated(frozen=True, config=ConfigDict(extra="forbid"))
class Corpus:
    """The name of a corpus, and whether its text is patient data.

    Undeclared text is patient data.
    """

    name: str = ""
    data_class: DataClass = "credentialed"

    @property
    def title(self) -> str:
        """What pages call the corpus."""
        # The name of the bundled sample says nothing in a heading.
        return "the synthetic sample" if self.name == "synthetic" else self.name


def read_declaration(path: Path) -> Corpus:
    """Read a `corpus.toml`; a missing file declares nothing.

    Raises:
        InputError: it is not TOML, or says something else than name and data class.
    """
    if not path.is_file():
        return Corpus()
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise ValueError
        return Corpus(**tomllib.loads(path.read_text("utf-8")))
    # The words of a delivered file are not repeated.
    except (ValueError, RecursionError):
        raise InputError(
            str(path),
            "no TOML of at most 4 KiB, or an unknown key or value",
            "name (a text in quotes) and data_class ('synthetic' or 'credentialed'), "
            "and nothing else",
            "Correct or remove the file.",
        ) from None
