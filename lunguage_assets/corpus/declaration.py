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
_LARGEST = 1 << 16
_MOST_DOTS = 1_000
"""Outside comments: tables in tables of tables (`a.a.a = 1`) take the square of their
depth to parse.
"""


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
    try:
        return _CORPUS.validate_python(tomllib.loads(_bounded_text(path)))
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        raise _wrong(path, "an unknown key or value", key) from None
    # Of UTF-8 or TOML; of brackets in brackets.
    except (ValueError, RecursionError):
        raise _wrong(path, "no such text") from None


def _bounded_text(path: Path) -> str:
    """Read a text that the parser of TOML can read in little time."""
    with path.open("rb") as stream:
        # One byte more shows that there are more.
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError
    text = content.decode()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if sum(line.count(".") for line in lines) > _MOST_DOTS:
        raise ValueError
    return text


def _wrong(path: Path, problem: str, key: str = "") -> InputError:
    expected = (
        "name (a text in quotes) and data_class ('synthetic' or 'credentialed'), "
        "in at most 64 KiB"
    )
    remedy = "Correct or remove the file."
    if key in _KEYS:
        return InputError(str(path), problem, expected, remedy, column=key)
    # The words of a delivered file are not repeated.
    if key:
        remedy += did_you_mean(key, _KEYS)
    return InputError(str(path), problem, expected, remedy)
