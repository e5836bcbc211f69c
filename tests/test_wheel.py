"""The wheel, away from the checkout: every file that it needs is inside."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from platform_support import without_expectations

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[1]


COMMANDS = """
import lunguage_assets
from lunguage_assets.cli.main import commands
from lunguage_assets.packaged_data import expectation
for words in ("sample --reports 12 --out delivery", "run --data delivery --batch b", "read report.txt"):
    commands(words.split(), standalone_mode=False)
print(lunguage_assets.__file__, sorted(path.name for path in expectation().glob("*")))
"""
"""One process, whose suites are empty: Great Expectations costs seconds of imports."""


def without_ours() -> dict[str, str]:
    ours = ("LUNGUAGE", "DAGSTER", "PYTHON")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir")
    command = [sys.executable, "-m", "pip", "wheel", *options, folder, ROOT]
    subprocess.run(command, env=without_ours(), check=True)
    (file,) = folder.glob("*.whl")
    return file


def test_the_wheel_carries_every_data_file_and_no_top_level_data_package(
    wheel: Path,
) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for folder in ("resources", "expectations"):
        inside = f"lunguage_assets/_data/{folder}/"
        shipped = {name for name in names if name.startswith(inside)}
        files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        expected = {f"{inside}{path.relative_to(ROOT / folder)}" for path in files}
        assert shipped == expected
    packages = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert packages == {"lunguage_assets"}


def test_an_installed_wheel_runs_from_sample_to_release(
    wheel: Path, tmp_path: Path
) -> None:
    """Beside the libraries of this environment, which `make` installs from the lock
    file.
    """
    zipfile.ZipFile(wheel).extractall(installed := tmp_path / "installed")
    home = without_expectations(tmp_path / ".lunguage")
    (tmp_path / "report.txt").write_text(
        "FINDINGS: Possible pneumonia in the left lower lobe.\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        cwd=tmp_path,
        env=without_ours() | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "checks passed" in process
    assert "hedged by" in process
    assert str(installed) in process
    suites = sorted(path.name for path in (home / "expectations").iterdir())
    assert str(suites) in process
    assert (home / "release/panel/v1/restricted/Lunguage_plus_plus.csv").is_file()
