"""Report text is for one account: what is made is private, and a folder that others can
read is refused.
"""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from lunguage_assets.cli.main import commands
from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.permissions import open_to_others
from lunguage_assets.workspace.home import Home

PATIENTS = Corpus("ward", "credentialed")


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Path]:
    """A folder that others reach: nothing above it bars the way."""
    folders = (tmp_path, *tmp_path.parents)
    before = {folder: stat.S_IMODE(folder.stat().st_mode) for folder in folders}
    closed = [folder for folder in folders if before[folder] & 0o011 != 0o011]
    for folder in closed:
        folder.chmod(before[folder] | 0o011)
    yield tmp_path
    for folder in closed:
        folder.chmod(before[folder])


@pytest.mark.parametrize(
    ("mode", "is_open"), [(0o700, False), (0o750, True), (0o701, True), (0o720, True)]
)
def test_any_right_of_another_account_opens_a_folder(
    way: Path, mode: int, is_open: bool
) -> None:
    folder = way / "home"
    folder.mkdir()
    folder.chmod(mode)
    assert open_to_others(folder) is is_open


def test_a_closed_folder_above_bars_the_way(way: Path) -> None:
    above = way / "closed"
    (above / "home").mkdir(parents=True)
    (above / "home").chmod(0o777)
    above.chmod(0o700)
    assert not open_to_others(above / "home")
    above.chmod(0o711)
    assert open_to_others(above / "home")


def test_a_home_that_others_read_refuses_reports_of_patients(way: Path) -> None:
    home = Home(way / "home")
    home.root.mkdir()
    home.root.chmod(0o755)
    with pytest.raises(ConfigurationError, match="chmod -R go-rwx"):
        home.claim(PATIENTS)
    assert home.corpus() is None
    home.claim(Corpus("invented", "synthetic"))


def test_definitions_of_a_home_that_was_opened_later_do_not_load(way: Path) -> None:
    home = Home(way / "home")
    home.claim(PATIENTS)
    home.root.chmod(0o755)
    with pytest.raises(ConfigurationError, match="chmod -R go-rwx"):
        build_defs(Configuration(home))
    doctor = CliRunner().invoke(commands, ["doctor", "--home", str(home.root)])
    assert "refusal  other accounts can read" in doctor.output
    assert doctor.exit_code != 0


def test_a_folder_for_the_release_that_others_read_is_refused(way: Path) -> None:
    home = Home(way / "home")
    out = way / "out"
    home.claim(PATIENTS)
    out.mkdir()
    out.chmod(0o755)
    configuration = Configuration(home, release_to=out)
    with pytest.raises(ConfigurationError, match="chmod -R go-rwx"):
        _ = configuration.releases
    out.chmod(0o700)
    assert configuration.releases == out / "release"


STAND_INS = "import sys; from unittest import mock; " + "; ".join(
    f"sys.modules['{slow}'] = mock.MagicMock()"
    for slow in ("dagster", "lunguage_assets.orchestration.build")
)


@pytest.mark.parametrize(
    "start",
    [
        f"{STAND_INS}; sys.modules['dagster'].definitions = lambda load: load; "
        "from lunguage_assets.definitions import defs; defs()",
        "import sys; sys.argv = ['lunguage', '--version']; from lunguage_assets.cli.main import main; main()",
    ],
)
def test_what_a_process_makes_is_its_own_whatever_the_umask(
    tmp_path: Path, start: str
) -> None:
    # The command does not come back: what it registers runs at its end.
    at_exit = "atexit.register(lambda: open('made', 'w').close())"
    script = f"import atexit, os; os.umask(0); {at_exit}; {start}"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o600
