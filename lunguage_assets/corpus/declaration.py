"""What a delivery declares of itself in `corpus.toml`: its name and data class."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated

from lunguage_assets.errors import InputError, did_you_mean
from lunguage_assets.settings import DataClass

DECLARATION = "corpus.toml"
_KEYS = ("name", "data_class")
_LARGEST = 1 << 12
"""Bytes; the parser takes the square of the depth of tables in tables (`a.a.a = 1`)."""


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


_CORPUS = TypeAdapter(Corpus)


def read_declaration(path: Path) -> Corpus:
    """Read a `corpus.toml`; a missing file declares nothing.

    Raises:
        InputError: it is not TOML, or says something else than name and data class.
    """
    if not path.is_file():
        return Corpus()
    problem = "no TOML in UTF-8 of at most 4 KiB"
    key = ""
    try:
        if path.stat().st_size <= _LARGEST:
            return _CORPUS.validate_python(tomllib.loads(path.read_text("utf-8")))
    except ValidationError as error:
        problem = "an unknown key or value"
        key = str(error.errors()[0]["loc"][0])
    except (ValueError, RecursionError):
        pass
    remedy = "Correct or remove the file."
    # The words of a delivered file are not repeated.
    if key not in _KEYS:
        remedy += did_you_mean(key, _KEYS)
    raise InputError(
        str(path),
        problem,
        "name (a text in quotes) and data_class ('synthetic' or 'credentialed')",
        remedy,
        column=key if key in _KEYS else None,
    )
