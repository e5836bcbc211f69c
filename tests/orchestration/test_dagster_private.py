"""What the package needs of Dagster's private modules is there, in one file, each with its reason."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lunguage_assets.orchestration import dagster_private

FILE = Path(dagster_private.__file__)
PACKAGE = FILE.parents[1]


def private_imports(file: Path) -> Iterator[ast.ImportFrom]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dagster._"):
            yield node


def reason(node: ast.ImportFrom) -> str:
    """The comment above an import, or above the block that it is part of."""
    lines = FILE.read_text(encoding="utf-8").splitlines()[: node.lineno - 1]
    while lines and lines[-1].strip().startswith("from dagster._"):
        lines.pop()
    return lines[-1].strip().removeprefix("#").strip() if lines[-1].strip().startswith("#") else ""


IMPORTS = [
    pytest.param(node, name.name, id=name.name) for node in private_imports(FILE) for name in node.names
]


@pytest.mark.parametrize(("node", "name"), IMPORTS)
def test_dagster_still_has_it_where_it_was(node: ast.ImportFrom, name: str) -> None:
    needed_for = reason(node)
    assert needed_for, f"line {node.lineno} of {FILE.name} gives no reason"
    try:
        found = hasattr(importlib.import_module(str(node.module)), name)
    except ImportError:
        found = False
    assert found, f"Dagster has moved {node.module}.{name}. It was needed for this: {needed_for}"


def test_no_other_module_imports_what_is_private() -> None:
    others = {
        str(file.relative_to(PACKAGE)): [node.module for node in private_imports(file)]
        for file in PACKAGE.rglob("*.py")
        if file != FILE
    }
    assert {file: modules for file, modules in others.items() if modules} == {}
