"""Finds the data folders `resources/` and `expectations/`, in a checkout and in an installed wheel."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lunguage_assets.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from jinja2 import Template
    from pydantic import BaseModel
    from pydantic_core import PydanticCustomError

    Form = TypeVar("Form", bound=BaseModel)

_DEEPEST = 100
"""Levels of a YAML file; libyaml goes down its levels with the process's own stack, and ends the process."""
_PACKAGE = Path(__file__).resolve().parent


def _data(name: str) -> Path:
    inside = _PACKAGE / "_data" / name  # an installed wheel
    if inside.exists():
        return inside
    beside = _PACKAGE.parent / name  # a checkout or an editable install
    if beside.exists():
        return beside
    raise FileNotFoundError(
        f"{name} is neither in {inside.parent} nor in {beside.parent}: the installation is incomplete"
    )


def resource(*parts: str) -> Path:
    """Path of a file under `resources/`, what the pipeline knows and a person may edit."""
    return _data("resources").joinpath(*parts)


def read_as(
    path: Path, form: type[Form], remedy: str = "Fix or restore the file."
) -> Form:
    """Content of a TOML or YAML file that a person may edit, in its form. Raises `ConfigurationError`: it
    cannot be read, gives a key twice, or a field is wrong; names file, line (YAML) and field.
    """
    import yaml
    from pydantic import ValidationError

    kind = path.suffix[1:].upper()
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if kind == "TOML" else _yaml(text)
    # ValueError: also a number of thousands of digits, or a day that no calendar has
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        said = (
            str(error)
            if kind == "TOML" and isinstance(error, ValueError)
            else type(error).__name__
        )
        mark, said = (
            getattr(error, "problem_mark", None),
            getattr(error, "problem", said),
        )
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigurationError(
            f"{path}{line}: not readable as {kind} ({said}). {remedy}"
        ) from None
    try:
        return form.model_validate(content)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # A mistyped key is missing under its right name too: what was written says more.
        mistyped = [
            problem for problem in problems if problem["type"] == "extra_forbidden"
        ]
        wrong = (mistyped or problems)[0]
        place = (*wrong["loc"], *wrong.get("ctx", {}).get("place", ()))
        line = "" if kind == "TOML" else f", line {_line(text, place)}"
        if wrong["type"] == "extra_forbidden":
            # Whoever pastes the wrong thing into a file may paste a report: the key is not repeated.
            *around, key = map(str, place)
            nearest = did_you_mean(key, _known_keys(form, _around(content, place)))
            where = f"{path}{line}, field {'.'.join(around) or 'the whole file'}"
            raise ConfigurationError(
                f"{where}: a key that is not known.{nearest} {remedy}"
            ) from None
        field = ".".join(map(str, place)) or "the whole file"
        raise ConfigurationError(
            f"{path}{line}, field {field}: {wrong['msg']}. {remedy}"
        ) from None


def _around(content: Any, place: Sequence[str | int]) -> set[str]:
    """The keys that stand beside the last one of a place; names of alternatives in it lead nowhere."""
    for key in place[:-1]:
        is_there = isinstance(content, dict) and key in content
        if is_there or isinstance(content, list):
            content = content[key]
    return set(map(str, content)) if isinstance(content, dict) else set()


def _known_keys(form: type[BaseModel], beside: set[str]) -> set[str]:
    """The keys of those parts of a form that have most of the keys beside an unknown one."""
    schema = form.model_json_schema()
    parts = [
        set(part.get("properties", ()))
        for part in (schema, *schema.get("$defs", {}).values())
    ]
    most = max(len(keys & beside) for keys in parts)
    return set().union(*(keys for keys in parts if len(keys & beside) == most)) - beside


def wrong_at(place: tuple[str | int, ...], problem: str) -> PydanticCustomError:
    """The error for a validator to raise of a value inside its own; `problem`: found, expected, remedy."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError(
        "wrong", "{problem}", {"problem": problem, "place": place}
    )


@lru_cache(maxsize=8)
def _yaml(text: str) -> Any:
    """The content of a YAML text, of which YAML itself would keep the last of a key's values."""
    import yaml

    loader_class = getattr(
        yaml, "CSafeLoader", yaml.SafeLoader
    )  # libyaml is some ten times faster
    _require_few_levels(yaml.parse(text, Loader=loader_class))
    loader = loader_class(text)
    root = loader.get_single_node()
    nodes, seen = [root], set[int]()
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            for number, (key, value) in enumerate(node.value):
                if key.value in keys[:number]:
                    problem = f"{key.value!r} is given twice"
                    raise yaml.MarkedYAMLError(
                        problem=problem, problem_mark=key.start_mark
                    )
                nodes.append(value)
    return loader.construct_document(root) if root is not None else None


def _require_few_levels(events: Iterable[Any]) -> None:
    """Refuse a YAML text of brackets in brackets, before its nodes are made."""
    import yaml

    depth = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            problem = f"more than {_DEEPEST} levels"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


def _line(text: str, place: Sequence[str | int]) -> int:
    """The 1-based line of a value, or of the innermost one around it that is there."""
    import yaml

    node, line = yaml.compose(text, Loader=yaml.SafeLoader), 1
    for key in place:
        inner = {}
        if isinstance(node, yaml.MappingNode):
            inner = {name.value: (name, value) for name, value in node.value}
        elif isinstance(node, yaml.SequenceNode):
            inner = {number: (item, item) for number, item in enumerate(node.value)}
        if key not in inner:
            break
        name, node = inner[key]
        # what an alias repeats stands where it is repeated
        line = max(line, name.start_mark.line + 1, node.start_mark.line + 1)
    return line


@cache
def page_template(*parts: str) -> Template:
    """A Jinja template under `resources/`. A page escapes whatever is put into it; in Markdown words that
    somebody else has written go through the filter `literal`. A name that is missing is an error.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from lunguage_assets.wording import literal

    environment = Environment(
        loader=FileSystemLoader(resource()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["literal"] = literal
    return environment.get_template("/".join(parts))


def expectation(*parts: str) -> Path:
    """Path of a file under `expectations/`, what people expect of a table."""
    return _data("expectations").joinpath(*parts)


def dagster_yaml() -> Path:
    """The Dagster instance configuration that is put into `$DAGSTER_HOME`."""
    return _data("dagster.yaml")
