"""Releases that several tests read; none changes them."""

from __future__ import annotations

import pytest
from small_release import Made, make


@pytest.fixture(scope="session")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two batches of invented reports; some studies of the second were in the first."""
    return make(tmp_path_factory.mktemp("invented"), {"first": (12, 3), "second": (6, 4)})


@pytest.fixture(scope="session")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """As `invented`, but undeclared, so that the reports count as patients', with a word planted into all of
    them.
    """
    return make(tmp_path_factory.mktemp("patients"), {"first": (12, 3), "second": (6, 4)}, credentialed=True)
