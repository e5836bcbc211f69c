"""Word files: groups of spellings that a person may edit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import chain

from pydantic import RootModel

from lunguage_assets.packaged_data import read_as, resource

_Groups = dict[str, list[str] | dict[str, list[str]]]
"""Groups of spellings, or of names with their spellings."""


@cache
def word_file(
    name: str, folder: str = "structuring"
) -> Mapping[str, Mapping[str, list[str]]]:
    """Read the spellings of `resources/FOLDER/NAME.yaml` by group and by name.

    The name is empty where a group has none.

    Raises:
        ConfigurationError: the file cannot be read; names file and field.
    """
    remedy = 'The header of the file explains its form; words such as "no" need quotes.'
    file = read_as(resource(folder, f"{name}.yaml"), RootModel[_Groups], remedy)
    return {
        group: content if isinstance(content, dict) else {"": content}
        for group, content in file.root.items()
    }


def words_by_group(name: str, folder: str = "structuring") -> dict[str, frozenset[str]]:
    """Read all words of each group of a word file, whatever their names."""
    return {
        group: frozenset(chain.from_iterable(listed.values()))
        for group, listed in word_file(name, folder).items()
    }


WORDS = words_by_group("rules")
"""The words by which the rules decide, by group: `resources/structuring/rules.yaml`."""
