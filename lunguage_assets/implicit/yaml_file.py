"""YAML files that a person edits, read so that an error names the line and the field."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from lunguage_assets.errors import ConfigurationError

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[Hashable, ...]
"""Keys and positions that lead to a value."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is some ten times faster


class YamlMapping(BaseModel):
    """A mapping in such a file; keys that nobody knows are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Source:
    """A file, and the 1-based line of each of its values."""

    file: Path
    lines: dict[Place, int]

    def error(self, place: Sequence[Hashable], problem: str, remedy: str) -> ConfigurationError:
        """The error to raise for a value: file, line, field, what is wrong and what to do."""
        inner = tuple(place)
        while inner not in self.lines and inner:
            inner = inner[:-1]
        field = ".".join(map(str, place)) or "the whole file"
        return ConfigurationError(
            f"{self.file}, line {self.lines.get(inner, 1)}, field {field}: {problem}. {remedy}"
        )


def read_yaml(file: Path, model: type[Model]) -> tuple[Model, Source]:
    """The file in its form, and its lines for further checks.

    Raises:
        ConfigurationError: it is not there, no YAML in UTF-8, gives a key twice, or a value does not fit.
    """
    try:
        values, source = _parsed(file, file.read_text(encoding="utf-8"))
        return model.model_validate(values), source
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        remedy = "Fix the field; the header of the file explains its form."
        raise source.error(problem["loc"], problem["msg"], remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        found = "not found" if isinstance(error, FileNotFoundError) else "not UTF-8 text"
        remedy = "Give the path of a file in UTF-8, or none for the packaged one."
        raise ConfigurationError(f"{file}: {found}. {remedy}") from None
    except yaml.YAMLError as error:
        mark, reason = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise ConfigurationError(f"{file}{place}: not YAML ({reason}). Fix it.") from None


@lru_cache(maxsize=4)
def _parsed(file: Path, text: str) -> tuple[Any, Source]:
    """A file by its text: several steps of a run read the same pathways."""
    loader = _LOADER(text)
    try:
        root = loader.get_single_node()
        values = loader.construct_document(root) if root is not None else None
    finally:
        loader.dispose()
    source = Source(file, {})
    if root is not None:
        _note_lines(root, (), 1, source)
    return values, source


def _note_lines(node: yaml.Node, place: Place, least: int, source: Source) -> None:
    """Note where a value and all inside it stand; what an alias repeats stands where it is repeated."""
    source.lines[place] = max(least, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            _note_lines(item, (*place, position), least, source)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner, line = (*place, key.value), max(least, key.start_mark.line + 1)
            if inner in source.lines:  # YAML itself silently keeps the last one
                source.lines[inner] = line
                raise source.error(inner, "given twice in one mapping", "Keep one of the two.")
            _note_lines(value, inner, line, source)
