"""Where a ledger may be, for tests that claim both databases."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import postgres_server
import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a PostgreSQL server of the tests' own."""
    if (reason := postgres_server.missing()) is not None:
        pytest.skip(reason)
    with postgres_server.running() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger may be: each test that takes this runs on both databases."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return postgres_server.create_database(request.getfixturevalue("postgres"), f"ledger_{uuid.uuid4().hex[:12]}")
