"""Ledgers, their databases and a server, for the tests of judges."""

from __future__ import annotations

import ssl
import uuid
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import postgres_server
import pytest
from loopback import LoopbackServer

from lunguage_assets.judges.ledger import Ledger


@pytest.fixture(scope="module", autouse=True)
def certificates() -> Iterator[None]:
    """None are read: the tests' servers speak http, and reading them is most of what a
    new client costs.
    """
    with mock.patch.object(ssl.SSLContext, "load_verify_locations", return_value=None):
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a PostgreSQL server of the tests' own."""
    if (reason := postgres_server.missing()) is not None:
        pytest.skip(reason)
    with postgres_server.running() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger may be: each test that takes this runs on both databases."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return postgres_server.create_database(
        request.getfixturevalue("postgres"), f"ledger_{uuid.uuid4().hex[:12]}"
    )


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """A server that answers everything, at once, with thoughts that are billed."""
    with LoopbackServer(reasoning_tokens=7) as running:
        yield running


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A new ledger in a file."""
    return Ledger.open(tmp_path / "ledger.sqlite")
