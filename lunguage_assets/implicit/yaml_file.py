"""YAML files that a person edits, read so that an error names the line and the field."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from lunguage_assets.errors import ConfigurationError

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[Hashable, ...]
"""Keys and positions that lead to a value."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is some ten times faster


class YamlMapping(BaseModel):
    """A mapping in such a file; keys that nobody knows are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def wrong_at(place: Place, problem: str) -> PydanticCustomError:
    """The error for a validator to raise of a value inside its own; `problem`: found, expected, remedy."""
    return PydanticCustomError("wrong", "{problem}", {"problem": problem, "place": place})


def read_yaml(file: Path, model: type[Model]) -> Model:
    """The file in its form; raises `ConfigurationError` when it is not there, no YAML in UTF-8, gives a key
    twice, or has a value that does not fit.
    """
    try:
        read: Model = _read(file, file.read_text(encoding="utf-8"), model)
        return read
    except (OSError, UnicodeDecodeError) as error:
        found = "not found" if isinstance(error, FileNotFoundError) else "not UTF-8 text"
        remedy = "Give the path of a file in UTF-8, or none for the packaged one."
        raise ConfigurationError(f"{file}: {found}. {remedy}") from None
    except yaml.YAMLError as error:
        mark, reason = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        at = f", line {mark.line + 1}" if mark else ""
        raise ConfigurationError(f"{file}{at}: not YAML ({reason}). Fix it.") from None


@lru_cache(maxsize=8)
def _read(file: Path, text: str, model: type[BaseModel]) -> Any:
    """A file by its text: several steps of a run read the same pathways."""
    loader = _LOADER(text)
    root, lines = loader.get_single_node(), dict[Place, int]()
    if root is not None:
        _note_lines(root, (), 1, lines)
    try:
        return model.model_validate(None if root is None else loader.construct_document(root))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = inner = (*problem["loc"], *problem.get("ctx", {}).get("place", ()))
        while inner not in lines and inner:
            inner = inner[:-1]
        field = ".".join(map(str, place)) or "the whole file"
        raise ConfigurationError(
            f"{file}, line {lines.get(inner, 1)}, field {field}: {problem['msg']}. Fix the field; the header "
            "of the file explains its form."
        ) from None


def _note_lines(node: yaml.Node, place: Place, least: int, lines: dict[Place, int]) -> None:
    """Note where a value and all inside it stand; what an alias repeats stands where it is repeated."""
    lines[place] = max(least, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            _note_lines(item, (*place, position), least, lines)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, key.value)
            if inner in lines:  # YAML itself silently keeps the last one
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value!r} is given twice", problem_mark=key.start_mark
                )
            _note_lines(value, inner, max(least, key.start_mark.line + 1), lines)
