"""Word files: groups of spellings that a person may edit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import RootModel

from lunguage_assets.packaged_data import read_as, resource

_Groups = dict[str, list[str] | dict[str, list[str]]]
"""Groups of spellings, or of names with their spellings."""


@cache
def word_file(name: str) -> Mapping[str, Mapping[str, list[str]]]:
    """Read the spellings of `resources/structuring/NAME.yaml` by group and by name.

    The name is empty where a group has none.

    Raises:
        ConfigurationError: the file cannot be read; names file and field.
    """
    remedy = 'The header of the file explains its form; words such as "no" need quotes.'
    file = read_as(resource("structuring", f"{name}.yaml"), RootModel[_Groups], remedy)
    return {
        group: content if isinstance(content, dict) else {"": content}
        for group, content in file.root.items()
    }


WORDS = {group: frozenset(words[""]) for group, words in word_file("rules").items()}
"""The words by which the rules decide, by group: `resources/structuring/rules.yaml`."""
