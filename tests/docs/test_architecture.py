"""The architecture page and its picture show the packages and tables that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lunguage_assets.lineage.recipes import RECIPES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lunguage_assets"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PICTURE = " ".join(
    re.findall(
        r">([^<>]+)</text>", (ROOT / "docs" / "architecture.svg").read_text("utf-8")
    )
)
FOLDERS = sorted(
    init.parent for init in PACKAGE.rglob("__init__.py") if init.parent != PACKAGE
)


@pytest.mark.parametrize(
    "table", sorted(table for recipe in RECIPES.values() for table in recipe.tables)
)
def test_the_picture_shows_every_table(table: str) -> None:
    assert re.search(rf"\b{table}\b", PICTURE)


@pytest.mark.parametrize(
    "folder",
    [folder for folder in FOLDERS if folder.parent == PACKAGE],
    ids=lambda folder: folder.name,
)
def test_page_and_picture_name_every_package(folder: Path) -> None:
    assert f"`{folder.name}`" in PAGE
    assert re.search(rf"\b{folder.name}\b", PICTURE)


def test_the_page_names_every_module_at_the_root_that_others_build_on() -> None:
    modules = {file.name for file in PACKAGE.glob("*.py")} - {
        "__init__.py",
        "__main__.py",
    }
    assert {name for name in modules if f"`{name}`" not in PAGE} == set()


def test_the_page_names_every_module_of_the_engine_of_assertions() -> None:
    modules = {file.name for file in (PACKAGE / "assertion").rglob("*.py")} - {
        "__init__.py"
    }
    assert {name for name in modules if f"`{name}`" not in PAGE} == set()
