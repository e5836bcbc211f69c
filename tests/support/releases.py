"""Releases that several tests read; none changes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_release import Made, make

from lunguage_assets.release import write


@pytest.fixture(scope="session")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("invented"))


@pytest.fixture(scope="session")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """As `invented`, but undeclared, so that the reports count as patients'."""
    return make(tmp_path_factory.mktemp("patients"), credentialed=True)


@pytest.fixture(scope="session")
def version(invented: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of both batches, with its report."""
    return invented.write(tmp_path_factory.mktemp("release") / "panel").folder


@pytest.fixture(scope="session")
def of_patients(patients: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of patients' reports with its report."""
    return patients.write(tmp_path_factory.mktemp("release") / "panel").folder


@pytest.fixture
def unreported(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figures, for tests that do not look at them."""
    monkeypatch.setattr(write, "report_figures", lambda _: {})
