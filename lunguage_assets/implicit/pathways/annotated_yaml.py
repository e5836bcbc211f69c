"""YAML files that a person edits, read so that an error can name the line and the field.

What the files mean belongs to their own modules (`blacklist.py`, `pathways.py`); only reading and pointing at
a place is here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from lunguage_assets.errors import ConfigurationError

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[Hashable, ...]
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is some ten times faster


class YamlMapping(BaseModel):
    """A mapping in such a file; keys that nobody knows are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class AnnotatedYaml:
    """A parsed file and the 1-based line of every value, by its path of keys and positions."""

    file: Path
    values: Any
    lines: dict[Place, int]

    def error(self, place: Sequence[Hashable], problem: str, remedy: str) -> ConfigurationError:
        """The error to raise for a value: file, line, field, what is wrong and what to do."""
        inner = tuple(place)
        while inner not in self.lines and inner:
            inner = inner[:-1]
        field = ".".join(str(part) for part in place) or "the whole file"
        return ConfigurationError(
            f"{self.file}, line {self.lines.get(inner, 1)}, field {field}: {problem}. {remedy}"
        )

    def validated(self, model: type[Model]) -> Model:
        """The file as `model`; raises `ConfigurationError` at the first value that does not fit."""
        try:
            return model.model_validate(self.values)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise self.error(
                problem["loc"], problem["msg"], "Fix the field; the header of the file explains its form."
            ) from None


def read_annotated(file: Path) -> AnnotatedYaml:
    """Read a YAML file; unreadable text, bad syntax and a key given twice are `ConfigurationError`s."""
    try:
        return _parsed(file, file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        problem = "not found" if isinstance(error, FileNotFoundError) else "not UTF-8 text"
        raise ConfigurationError(
            f"{file}: {problem}. Give the path of a file in UTF-8, or none for the packaged one."
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or type(error).__name__
        raise ConfigurationError(f"{file}{place}: not YAML ({reason}). Fix it.") from None


@lru_cache(maxsize=4)
def _parsed(file: Path, text: str) -> AnnotatedYaml:
    """A file by its text: several steps of a run read the same pathways."""
    loader = _LOADER(text)
    try:
        root = loader.get_single_node()
        values = loader.construct_document(root) if root is not None else None
    finally:
        loader.dispose()
    lines = dict(_places(root, (), file)) if root is not None else {}
    return AnnotatedYaml(file, values, lines)


def _places(node: yaml.Node, place: Place, file: Path) -> Iterator[tuple[Place, int]]:
    yield place, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield from _places(item, (*place, position), file)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:  # YAML itself silently keeps the last one
                raise ConfigurationError(
                    f"{file}, line {key.start_mark.line + 1}, field {key.value}: "
                    "given twice in one mapping. Keep one of the two."
                )
            seen.add(key.value)
            yield from (
                (inner, max(line, key.start_mark.line + 1))
                for inner, line in _places(value, (*place, key.value), file)
            )
