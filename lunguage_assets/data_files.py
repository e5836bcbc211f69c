"""Finds the data folders `resources/` and `expectations/`, in a checkout and in an installed wheel."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lunguage_assets.errors import ConfigurationError

if TYPE_CHECKING:
    from jinja2 import Template
    from pydantic import BaseModel

    Form = TypeVar("Form", bound=BaseModel)

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


def read_as(path: Path, form: type[Form], remedy: str = "Fix or restore the file.") -> Form:
    """Content of a TOML or YAML file that a person may edit, in its form. Raises `ConfigurationError`: it
    cannot be read, or a field is wrong; names file and field, with the remedy.
    """
    import yaml
    from pydantic import ValidationError

    kind = path.suffix[1:].upper()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = path.read_text(encoding="utf-8")
        return form.model_validate(
            tomllib.loads(text) if kind == "TOML" else yaml.load(text, Loader=loader)  # a safe one
        )
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        said = str(error) if kind == "TOML" and isinstance(error, ValueError) else type(error).__name__
        raise ConfigurationError(f"{path}: not readable as {kind} ({said}). {remedy}") from None
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"])) or "the file"
        raise ConfigurationError(f"{path}, field {place}: {problem['msg']}. {remedy}") from None


@cache
def page_template(*parts: str) -> Template:
    """A Jinja template under `resources/`. A page escapes whatever is put into it, Markdown shows it as it
    is; a name that is missing is an error.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("/".join(parts))


def expectation(*parts: str) -> Path:
    """Path of a file under `expectations/`, what people expect of a table."""
    return _data("expectations").joinpath(*parts)


def dagster_yaml() -> Path:
    """The Dagster instance configuration that is put into `$DAGSTER_HOME`."""
    return _data("dagster.yaml")
