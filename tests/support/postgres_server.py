"""A PostgreSQL server of its own for a test session, on a socket in a temporary folder;
gone afterwards.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


def missing() -> str | None:
    """Why no server can be started or spoken to here, or None."""
    if not any(find_spec(module) for module in ("psycopg", "psycopg2")):
        return "PostgreSQL tests need a driver (psycopg or psycopg2), and none is installed"
    if _program("initdb") is None:
        return "PostgreSQL tests need initdb and pg_ctl, and they were not found"
    if os.geteuid() == 0 and "postgres" not in [
        user.pw_name for user in pwd.getpwall()
    ]:
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


@contextmanager
def running() -> Iterator[str]:
    """A URL of the server, to be completed by a database name: URL.format('name')."""
    folder = Path(tempfile.mkdtemp(prefix="lunguage-pg-", dir="/tmp"))
    try:
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = f"{folder}/data"
        _run(f"initdb -D {data} -A trust -U postgres -E UTF8 --no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=50"
        _run(f"pg_ctl -D {data} -l {folder}/log -w -o {shlex.quote(options)} start")
        try:
            yield f"postgresql://postgres@/{{}}?host={folder}"
        finally:
            _run(f"pg_ctl -D {data} -m immediate -w stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def create_database(url: str, name: str) -> str:
    _run(f"createdb -h {url.partition('host=')[2]} -U postgres {name}")
    return url.format(name)


def _program(name: str) -> Path | None:
    """Where one of PostgreSQL's programs is."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if pg_ctl := shutil.which("pg_ctl"):
        folders.insert(0, Path(pg_ctl).resolve().parent)
    return next((folder / name for folder in folders if (folder / name).exists()), None)


def _run(command: str) -> None:
    name, _, arguments = command.partition(" ")
    command = f"{_program(name)} {arguments}"
    if os.geteuid() == 0:
        command = f"su postgres -c {shlex.quote(command)}"
    subprocess.run(
        shlex.split(command),
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/tmp",
        timeout=60,
    )
