"""Finds and reads the data that the package brings: `resources/` and `expectations/`.

They lie inside an installed wheel, and beside the package in a checkout.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lunguage_assets.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from jinja2 import Template
    from pydantic import BaseModel, ValidationError
    from pydantic_core import PydanticCustomError

    Form = TypeVar("Form", bound=BaseModel)

_PACKAGE = Path(__file__).resolve().parent


def _data(name: str) -> Path:
    in_wheel = _PACKAGE / "_data" / name
    if in_wheel.exists():
        return in_wheel
    in_checkout = _PACKAGE.parent / name
    if in_checkout.exists():
        return in_checkout
    raise FileNotFoundError(
        f"{name} is neither in {in_wheel.parent} nor in {in_checkout.parent}: the "
        "installation is incomplete"
    )


def resource(*parts: str) -> Path:
    """Find a file under `resources/`: what the pipeline knows and a person may edit."""
    return _data("resources").joinpath(*parts)


def expectation(*parts: str) -> Path:
    """Find a file under `expectations/`: what people expect of a table."""
    return _data("expectations").joinpath(*parts)


def dagster_yaml() -> Path:
    """Find the configuration of a Dagster instance, for `$DAGSTER_HOME`."""
    return _data("dagster.yaml")


def read_as(
    path: Path, form: type[Form], remedy: str = "Fix or restore the file."
) -> Form:
    """Read a TOML or YAML file that a person may edit, in its form.

    Args:
        path: of the file; its ending says which of them it is.
        form: the pydantic model of its content.
        remedy: what to do when it cannot be used.

    Raises:
        ConfigurationError: it cannot be read, gives a key twice, or a field is wrong;
            names file, line (YAML) and field.
    """
    from pydantic import ValidationError

    text, content = _read_content(path, remedy)
    try:
        return form.model_validate(content)
    except ValidationError as error:
        problem = _first_problem(error)
        # Of an error of `wrong_at`: pydantic itself gets no further than the validator.
        inner_location = problem.get("ctx", {}).get("location", ())
        location = (*problem["loc"], *inner_location)
        where = str(path)
        if path.suffix != ".toml":
            where = f"{path}, line {_line(text, location)}"
        if problem["type"] == "extra_forbidden":
            raise _unknown_key(where, location, form, remedy) from None
        field = ".".join(map(str, location)) or "the whole file"
        raise ConfigurationError(
            f"{where}, field {field}: {problem['msg']}. {remedy}"
        ) from None


def _read_content(path: Path, remedy: str) -> tuple[str, Any]:
    """Read a file's text, and what TOML or YAML makes of it."""
    import yaml

    language = path.suffix[1:].upper()
    parse: Callable[[str], Any] = _yaml
    if language == "TOML":
        parse = tomllib.loads
    try:
        text = path.read_text(encoding="utf-8")
        return text, parse(text)
    # ValueError: also a number of thousands of digits, or a day that no calendar has.
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = type(error).__name__
        if language == "TOML" and isinstance(error, ValueError):
            reason = str(error)
        reason = getattr(error, "problem", reason)
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigurationError(
            f"{path}{line}: not readable as {language} ({reason}). {remedy}"
        ) from None


def _first_problem(error: ValidationError) -> dict[str, Any]:
    """Choose the problem that the message names."""
    problems: list[Any] = list(error.errors(include_url=False))
    for problem in problems:
        # A mistyped key is missing under its right name too: what was written says
        # more.
        if problem["type"] == "extra_forbidden":
            return dict(problem)
    return dict(problems[0])


def _unknown_key(
    where: str, location: Sequence[str | int], form: type[BaseModel], remedy: str
) -> ConfigurationError:
    """Make the error of a key that a form does not have.

    The key is not repeated: whoever pastes the wrong thing into a file may paste a
    report.

    Args:
        where: file and line.
        location: the keys that lead to it, itself last.
        form: of the file.
        remedy: what to do.
    """
    *parents, key = map(str, location)
    schema = form.model_json_schema()
    known_keys: set[str] = set()
    for part in (schema, *schema.get("$defs", {}).values()):
        known_keys.update(part.get("properties", ()))
    field = ".".join(parents) or "the whole file"
    return ConfigurationError(
        f"{where}, field {field}: a key that is not known."
        f"{did_you_mean(key, known_keys)} {remedy}"
    )


def wrong_at(location: tuple[str | int, ...], problem: str) -> PydanticCustomError:
    """Make the error of a value inside that of a validator, for it to raise.

    Args:
        location: keys that lead from the validator's value to the wrong one.
        problem: what was found, what was expected, and what to do.
    """
    from pydantic_core import PydanticCustomError

    details = {"problem": problem, "location": location}
    return PydanticCustomError("wrong", "{problem}", details)


@lru_cache(maxsize=8)
def _yaml(text: str) -> Any:
    """Read a YAML text, and refuse a key that is given twice.

    YAML itself would keep the last of its values.
    """
    import yaml

    # libyaml is some ten times faster.
    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = loader_class(text)
    root = loader.get_single_node()
    if root is None:
        return None
    _require_different_keys(root)
    return loader.construct_document(root)


def _require_different_keys(root: Any) -> None:
    import yaml

    nodes = [root]
    seen: set[int] = set()
    while nodes:
        node = nodes.pop()
        # An alias leads to a node that was there before.
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif isinstance(node, yaml.MappingNode):
            keys: list[Any] = []
            for key, value in node.value:
                if key.value in keys:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value!r} is given twice",
                        problem_mark=key.start_mark,
                    )
                keys.append(key.value)
                nodes.append(value)


def _line(text: str, location: Sequence[str | int]) -> int:
    """Find the 1-based line of a value, or of the innermost one around it."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    node = yaml.compose(text, Loader=loader)
    line = 1
    for key in location:
        children: dict[Any, tuple[Any, Any]] = {}
        if isinstance(node, yaml.MappingNode):
            children = {name.value: (name, value) for name, value in node.value}
        elif isinstance(node, yaml.SequenceNode):
            children = {number: (item, item) for number, item in enumerate(node.value)}
        if key not in children:
            break
        name, node = children[key]
        # What an alias repeats stands where it is repeated, not where it was written.
        line_of_name = name.start_mark.line + 1
        line_of_value = node.start_mark.line + 1
        line = max(line, line_of_name, line_of_value)
    return line


@cache
def page_template(*parts: str) -> Template:
    """Load a Jinja template under `resources/`.

    A page escapes whatever is put into it; in Markdown, words that somebody else has
    written go through the filter `literal`. A name that is missing is an error.
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
