"""Releases of invented reports, file by file, as they were frozen: a change of any cell shows in review.

`LUNGUAGE_WRITE_GOLDEN=1 CI=true pytest tests/release/test_golden.py` freezes them again. A commit that does
so says why.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from commands import lunguage
from finished_homes import QUICK_STICK

from lunguage_assets.sample import write_raw_sample, write_sample

GOLDEN = Path(__file__).with_name("golden")
REPORTS = 150
SETTINGS = {"structured": QUICK_STICK, "raw": "", "paper": '[implicit]\nmode = "paper"\n'}


def release_of(kind: str, folder: Path) -> dict[str, str]:
    """SHA-256 of every CSV file of a release, by its path in it."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text(SETTINGS[kind])
    if kind == "structured":
        write_sample(folder / "delivery", REPORTS, seed=11)
    else:
        write_raw_sample(folder / "delivery", folder / "truth", REPORTS, seed=11)
    done = lunguage(home, "run", "--data", folder / "delivery", "--batch", "golden")
    assert done.returncode == 0, done.stderr
    (version,) = (home / "release" / "panel").glob("v*")
    files = sorted(path for path in version.rglob("*.csv") if path.is_file())
    return {
        path.relative_to(version).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


@pytest.mark.lengthy
@pytest.mark.parametrize("kind", SETTINGS)
def test_a_release_is_byte_for_byte_the_frozen_one(kind: str, tmp_path: Path) -> None:
    found = release_of(kind, tmp_path)
    golden = GOLDEN / f"{kind}.sha256"
    if os.environ.get("LUNGUAGE_WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text("".join(f"{digest}  {path}\n" for path, digest in found.items()))
    frozen = dict(reversed(line.split("  ")) for line in golden.read_text().splitlines())
    assert found == frozen
