"""Finds the data folders `resources/` and `expectations/`, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

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


def expectation(*parts: str) -> Path:
    """Path of a file under `expectations/`, the Great Expectations suites, one per table."""
    return _data("expectations").joinpath(*parts)


def dagster_yaml() -> Path:
    """The Dagster instance configuration that is put into `$DAGSTER_HOME`."""
    return _data("dagster.yaml")
