"""The wheel, away from the checkout: every file that it needs is inside."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    others = ("LUNGUAGE", "DAGSTER", "PYTHON")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(others)}
    call = [sys.executable, "-m", *map(str, command)]
    done = subprocess.run(
        call, cwd=cwd, env={**kept, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = ("pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    run(*built, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_carries_every_data_file_and_no_top_level_data_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for folder in ("resources", "expectations"):
        inside = f"lunguage_assets/_data/{folder}/"
        shipped = {name.removeprefix(inside) for name in names if name.startswith(inside)}
        files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        assert shipped == {str(path.relative_to(ROOT / folder)) for path in files}
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"lunguage_assets"}


def test_an_installed_wheel_runs_from_sample_to_release(wheel: Path, tmp_path: Path) -> None:
    """Beside the libraries of this environment, which `make` installs from the lock file."""
    installed = tmp_path / "installed"
    run("pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", installed, wheel, cwd=tmp_path)

    def lunguage(*arguments: str) -> str:
        return run("lunguage_assets.cli.main", *arguments, cwd=tmp_path, PYTHONPATH=str(installed))

    lunguage("sample", "--reports", "12", "--out", "delivery")
    assert "checks passed" in lunguage("run", "--data", "delivery", "--batch", "b")
    released = tmp_path / ".lunguage" / "release" / "panel" / "v1" / "restricted"
    assert (released / "Lunguage_plus_plus.csv").is_file()
    (tmp_path / "report.txt").write_text("FINDINGS: Possible pneumonia in the left lower lobe.\n")
    assert "hedged by" in lunguage("read", "report.txt")
    where = run("inspect", "--details", "lunguage_assets", cwd=tmp_path, PYTHONPATH=str(installed))
    assert str(installed) in where
