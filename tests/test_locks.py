"""The locks of all extras fit together, and can be installed from any index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))


def locked(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pinned = re.compile(r"([a-z0-9._-]+)(?:\[.*\])?==(\S+)( ;.*)?")
    matches = filter(None, map(pinned.match, lines))
    return {match[1]: match[2] for match in matches if match[3] is None}


@pytest.mark.parametrize("lock", LOCKS)
def test_all_lock_files_name_one_version_of_a_package(lock: str) -> None:
    this = locked(lock)
    dev = locked("requirements-dev.lock")
    shared = this.keys() & dev.keys()
    assert len(shared) > 50
    assert {name: this[name] for name in shared} == {name: dev[name] for name in shared}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_is_hashed_and_names_no_index(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    blocks = re.split(r"\n(?=[a-z0-9])", text)
    pinned = [block for block in blocks if "==" in block.splitlines()[0]]
    assert len(pinned) > 90
    assert [block for block in pinned if "--hash=sha256:" not in block] == []
