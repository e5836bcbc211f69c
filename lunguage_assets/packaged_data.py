"""Finds and reads the data that the package brings: `resources/` and `expectations/`.

They lie inside an installed wheel, and beside the package in a checkout.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from lunguage_assets.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from jinja2 import Template
    from pydantic import BaseModel
    from pydantic_core import PydanticCustomError

    Form = TypeVar("Form", bound=BaseModel)

_PACKAGE = Path(__file__).resolve().parent


def _data(name: str) -> Path:
    in_wheel = _PACKAGE / "_data" / name
    if in_wheel.exists():
        return in_wheel
    return _PACKAGE.parent / name


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
            names file and field.
    """
    from pydantic import ValidationError

    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            content = tomllib.loads(text)
        else:
            content = yaml.load(text, Loader=_Loader)
    # ValueError: also a number of thousands of digits, or a day that no calendar has.
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        language = path.suffix[1:].upper()
        raise ConfigurationError(
            f"{path}: not readable as {language} ({_reason(error)}). {remedy}"
        ) from None
    try:
        return form.model_validate(content)
    except ValidationError as error:
        # A mistyped key is missing under its right name too: what was written says
        # more.
        problem = min(
            error.errors(include_url=False),
            key=lambda problem: problem["type"] != "extra_forbidden",
        )
        # Of an error of `wrong_at`: pydantic itself gets no further than the validator.
        inner_location = problem.get("ctx", {}).get("location", ())
        location = [str(key) for key in (*problem["loc"], *inner_location)]
        message = problem["msg"].rstrip(".") + "."
        found = problem["input"]
        # A number or one word is no report. The errors of `wrong_at` say themselves.
        # Lists that repeat lists by aliases are never written out.
        is_word = isinstance(found, str) and found.isidentifier()
        is_shown = is_word or isinstance(found, int | float)
        if is_shown and problem["type"] != "wrong":
            message = f"found {found!r}; {message}"
        if problem["type"] == "extra_forbidden":
            key = location.pop()
            # Whoever pastes the wrong thing into a file may paste a report.
            shown_key = "a key"
            if key.isidentifier():
                shown_key = f"key {key!r}"
            message = f"{shown_key} is not known.{did_you_mean(key, _keys_of(form))}"
        field = ".".join(location) or "the whole file"
        raise ConfigurationError(f"{path}, field {field}: {message} {remedy}") from None


def _reason(error: Exception) -> str:
    """Say in a few words why a file cannot be parsed, and never what stands in it."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    if isinstance(error, tomllib.TOMLDecodeError | yaml.YAMLError):
        return str(error)
    return type(error).__name__


def _keys_of(form: type[BaseModel]) -> set[str]:
    """Collect all keys that a form knows, of its parts too."""
    schema = form.model_json_schema()
    parts = [schema, *schema.get("$defs", {}).values()]
    return {key for part in parts for key in part.get("properties", ())}


def wrong_at(location: tuple[str | int, ...], problem: str) -> PydanticCustomError:
    """Make the error of a value inside that of a validator, for it to raise.

    Args:
        location: keys that lead from the validator's value to the wrong one.
        problem: what was found, what was expected, and what to do.
    """
    from pydantic_core import PydanticCustomError

    details = {"problem": problem, "location": location}
    return PydanticCustomError("wrong", "{problem}", details)


class _Loader(yaml.CSafeLoader):
    """Refuses a key that is given twice: YAML itself would keep its last value."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys: list[Any] = []
        for key, _ in node.value:
            if key.value in keys:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value!r} is given twice", problem_mark=key.start_mark
                )
            keys.append(key.value)
        return super().construct_mapping(node, deep)


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
