"""Finds the data folders `resources/` and `expectations/`, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

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


def page_template(*parts: str) -> Template:
    """The Jinja template of an HTML page under `resources/`; whatever is put into it is escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(resource(*parts).read_text(encoding="utf-8"))


def expectation(*parts: str) -> Path:
    """Path of a file under `expectations/`, the Great Expectations suites, one per table."""
    return _data("expectations").joinpath(*parts)


def dagster_yaml() -> Path:
    """The Dagster instance configuration that is put into `$DAGSTER_HOME`."""
    return _data("dagster.yaml")
