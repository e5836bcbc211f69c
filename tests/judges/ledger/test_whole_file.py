"""A ledger's file is whole by itself after a command: whoever copies it has every answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
import atexit, os, sys
atexit.register(os._exit, 0)  # as the command ends (cli.main.process)
from sqlalchemy import text
from lunguage_assets.judges.ledger.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
ledger.transaction(lambda connection: connection.execute(text("CREATE TABLE kept (number INTEGER)")))
"""


def test_nothing_is_left_in_a_log_beside_the_file_when_a_command_ends(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    subprocess.run([sys.executable, "-c", CODE, str(place)], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]
    assert b"CREATE TABLE kept" in place.read_bytes()
