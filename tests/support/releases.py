"""Releases that several tests read; none changes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_release import Made, make, write_release

from lunguage_assets.release import write


@pytest.fixture(scope="session")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two batches of invented reports; some studies of the second were in the first."""
    return make(
        tmp_path_factory.mktemp("invented"), {"first": (12, 3), "second": (6, 4)}
    )


@pytest.fixture(scope="session")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """As `invented`, but undeclared, so that the reports count as patients', with a
    word planted into all of them.
    """
    return make(
        tmp_path_factory.mktemp("patients"),
        {"first": (12, 3), "second": (6, 4)},
        credentialed=True,
    )


@pytest.fixture(scope="session")
def version(invented: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of both batches, with its report."""
    return write_release(invented, tmp_path_factory.mktemp("release") / "panel")


@pytest.fixture(scope="session")
def of_patients(patients: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of patients' reports with its report and analyses."""
    return write_release(patients, tmp_path_factory.mktemp("release") / "panel")


@pytest.fixture
def unreported(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figures, for tests that do not look at them."""
    monkeypatch.setattr(write, "report_figures", lambda _: {})
