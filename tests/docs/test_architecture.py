"""The architecture page and its pictures show the rooms and tables that there are."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from lunguage_assets.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lunguage_assets"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def words_of(picture: str) -> str:
    """Every text of a picture of the page."""
    svg = (ROOT / "docs" / picture).read_text(encoding="utf-8")
    return " ".join(re.findall(r">([^<>]+)</text>", svg))


ROOMS = words_of("architecture.svg")
ASSETS = words_of("assets.svg")


def test_the_picture_of_assets_shows_every_table() -> None:
    assert [name for name in TABLES if not re.search(rf"\b{name}\b", ASSETS)] == []


@pytest.fixture(scope="module")
def ladder() -> ModuleType:
    """`docs/pictures/architecture.py`, which draws the rooms and their imports."""
    path = ROOT / "docs" / "pictures" / "architecture.py"
    spec = importlib.util.spec_from_file_location("architecture", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_of_rooms_is_what_the_script_draws(ladder: ModuleType) -> None:
    assert ladder.PICTURE.read_text(encoding="utf-8") == ladder.picture(), (
        "run: python docs/pictures/architecture.py"
    )


def test_the_page_names_every_module_at_the_root_that_others_build_on() -> None:
    modules = {file.name for file in PACKAGE.glob("*.py")} - {
        "__init__.py",
        "__main__.py",
    }
    assert {name for name in modules if f"`{name}`" not in PAGE} == set()
