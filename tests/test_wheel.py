"""The wheel, in a clean environment and away from the checkout: everything it needs is inside."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("LUNGUAGE", "DAGSTER", "PYTHON"))
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        folder,
        ROOT,
        cwd=folder,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_carries_every_data_file_and_no_top_level_data_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for folder in ("resources", "expectations"):
        shipped = {
            name.removeprefix(f"lunguage_assets/_data/{folder}/")
            for name in names
            if name.startswith(f"lunguage_assets/_data/{folder}/")
        }
        assert shipped == {
            str(path.relative_to(ROOT / folder)) for path in (ROOT / folder).rglob("*") if path.is_file()
        }
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"lunguage_assets"}


@pytest.mark.slow
def test_an_installed_wheel_runs_from_sample_to_release(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
    run(*pip, "--require-hashes", "-r", ROOT / "requirements.lock", cwd=tmp_path)
    run(*pip, "--no-deps", wheel, cwd=tmp_path)
    command = environment / "bin" / "lunguage"
    run(command, "sample", "--reports", "12", "--out", tmp_path / "delivery", cwd=tmp_path)
    said = run(command, "run", "--data", tmp_path / "delivery", "--batch", "b", cwd=tmp_path)
    assert "checks passed" in said
    assert (
        tmp_path / ".lunguage" / "release" / "panel" / "v1" / "restricted" / "Lunguage_plus_plus.csv"
    ).is_file()
    (tmp_path / "report.txt").write_text("FINDINGS: Possible pneumonia in the left lower lobe.\n")
    read = run(command, "read", "report.txt", cwd=tmp_path)
    assert "pneumonia" in read
    assert "hedged by" in read
    where = run(python, "-c", "import lunguage_assets; print(lunguage_assets.__file__)", cwd=tmp_path)
    assert str(environment) in where
