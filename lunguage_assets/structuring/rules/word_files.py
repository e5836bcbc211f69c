"""The word files of the offline structurer, `resources/structuring/*.yaml`: their forms and their reading.

What each key means is in the header of its file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, RootModel

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.structuring.text.words import WordGroup

Spellings = dict[str, list[str]]
_Form = TypeVar("_Form", bound=BaseModel)


class FindingFile(RootModel[dict[str, Spellings]]):
    """Findings or devices: category code -> canonical name -> spellings."""

    model_config = ConfigDict(frozen=True)


class PlaceFile(WordGroup):
    """Parts of the body, statements that are normal as a whole, and details of places."""

    anatomy: Spellings
    normal: Spellings
    details: list[str]
    elsewhere: list[str]


class AttributeFile(WordGroup):
    """Attribute column -> spellings."""

    words: Spellings
    abnormal: Spellings
    normal: Spellings
    undecided: Spellings


class SpellingFile(WordGroup):
    """Words that are read as another."""

    spellings: Spellings


class Denied(WordGroup):
    before: list[str]
    near: list[str]
    after: list[str]
    ended: list[str]


class Doubted(WordGroup):
    before: list[str]
    after: list[str]


class Open(WordGroup):
    near: list[str]
    list_: list[str] = Field(alias="list")
    after: list[str]
    alternatives: list[str]


class Advice(WordGroup):
    moves: list[str]
    verbs: list[str]
    aims: list[str]
    exams: list[str]


class ScopeFile(WordGroup):
    """Words that decide what is said of a finding."""

    denied: Denied
    doubted: Doubted
    open: Open
    question: list[str]
    breaks: list[str]
    copulas: list[str]
    seen: list[str]
    links: list[str]
    prepositions: list[str]
    with_: list[str] = Field(alias="with")
    past: list[str]
    source: list[str]
    parts: list[str]
    settings: list[str]
    advice: Advice
    conditions: list[str]
    somebody_else: list[str]
    articles: list[str]


def word_file(name: str) -> Path:
    """Path of a word file."""
    return resource("structuring", f"{name}.yaml")


def read_words(path: Path, form: type[_Form]) -> _Form:
    """One file in its form; raises `ConfigurationError` that names file and field."""
    return read_as(path, form, "The header of the file explains its form.")
