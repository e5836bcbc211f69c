"""Releases of invented reports, file by file, as they were frozen: a change of any cell
shows in review.

`LUNGUAGE_WRITE_GOLDEN=1 CI=true pytest tests/release/test_golden.py` freezes them
again. A commit that does so says why.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from commands import lunguage
from finished_homes import QUICK_STICK
from platform_support import contents, without_expectations

from lunguage_assets.sample.files import write_raw_sample, write_sample

GOLDEN = Path(__file__).with_name("golden")
REPORTS = 150
SETTINGS = {
    "structured": QUICK_STICK,
    "raw": "",
    "paper": '[implicit]\nmode = "paper"\n',
}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A home for each kind; the reports of `paper` are those of `raw`, read and fitted
    there.
    """
    folder = tmp_path_factory.mktemp("golden")
    write_sample(folder / "structured-delivery", REPORTS, seed=11)
    write_raw_sample(folder / "raw-delivery", folder / "truth", REPORTS, seed=11)
    homes = {kind: folder / kind for kind in SETTINGS}
    for kind in ("structured", "raw"):
        without_expectations(homes[kind])
        delivery = folder / f"{kind}-delivery"
        released(homes[kind], kind, "--data", delivery, "--batch", "golden")
    shutil.copytree(homes["raw"], homes["paper"])
    shutil.rmtree(homes["paper"] / "release")
    released(homes["paper"], "paper")
    return homes


def released(home: Path, kind: str, *options: str | Path) -> None:
    (home / "settings.toml").write_text(SETTINGS[kind])
    done = lunguage(home, "run", *options)
    assert done.returncode == 0, done.stderr


def digests(home: Path) -> dict[str, str]:
    """SHA-256 of every CSV file of a release, by its path in it."""
    (version,) = (home / "release" / "panel").glob("v*")
    return {
        name: hashlib.sha256(content).hexdigest()
        for name, content in contents(version).items()
        if name.endswith(".csv")
    }


@pytest.mark.lengthy
@pytest.mark.parametrize("kind", SETTINGS)
def test_a_release_is_byte_for_byte_the_frozen_one(
    kind: str, homes: dict[str, Path]
) -> None:
    digest_by_path = digests(homes[kind])
    golden = GOLDEN / f"{kind}.sha256"
    if os.environ.get("LUNGUAGE_WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(
            "".join(f"{digest}  {path}\n" for path, digest in digest_by_path.items())
        )
    frozen = dict(
        reversed(line.split("  ")) for line in golden.read_text().splitlines()
    )
    assert digest_by_path == frozen
