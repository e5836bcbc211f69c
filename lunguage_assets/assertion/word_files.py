"""Word files: groups of spellings that a person may edit."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import RootModel

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.packaged_data import read_as, resource


class _WordFile(RootModel[dict[str, list[str] | dict[str, list[str]]]]):
    """Groups of spellings, or of names with their spellings."""


def word_path(name: str) -> Path:
    """Find `resources/structuring/NAME.yaml`."""
    return resource("structuring", f"{name}.yaml")


def word_file(name: str) -> dict[tuple[str, str], list[str]]:
    """Read the spellings of NAME.yaml by group and name ("" where there are no names).

    Raises:
        ConfigurationError: the file cannot be read; names file and field.
    """
    remedy = 'The header of the file explains its form; words such as "no" need quotes.'
    file = read_as(word_path(name), _WordFile, remedy)
    spellings_by_group: dict[tuple[str, str], list[str]] = {}
    for group, content in file.root.items():
        if isinstance(content, list):
            # A group of words, and no names.
            spellings_by_group[group, ""] = content
            continue
        for title, spellings in content.items():
            spellings_by_group[group, title] = spellings
    return spellings_by_group


def require(file: str, names: Iterable[str], expected: Iterable[str]) -> None:
    """Refuse a group or name that the rules do not know, naming the file.

    Args:
        file: name of a word file.
        names: groups or names in it.
        expected: groups or names that the rules know.

    Raises:
        ConfigurationError: names the file and what was expected.
    """
    unknown = set(names) - set(expected)
    for name in sorted(unknown):
        path = word_path(file)
        codes = ", ".join(expected)
        raise ConfigurationError(f"{path}, {name!r} is no code; expected {codes}.")


class _RuleWords(dict[str, frozenset[str]]):
    """Group -> its words; a group that is missing is an error with its remedy."""

    def __missing__(self, group: str) -> frozenset[str]:
        path = word_path("rules")
        raise ConfigurationError(f"{path}: group {group!r} is missing. Restore it.")


WORDS = _RuleWords(
    {group: frozenset(words) for (group, _), words in word_file("rules").items()}
)
"""The words by which the rules decide, by group: `resources/structuring/rules.yaml`."""
