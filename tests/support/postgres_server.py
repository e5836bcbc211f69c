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
    if _folder() is None:
        return "PostgreSQL tests need initdb and pg_ctl, and they were not found"
    if os.geteuid() == 0 and not _has_user("postgres"):
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
        _run(
            "initdb",
            "-D",
            str(folder / "data"),
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--no-sync",
        )
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=50"
        _run(
            "pg_ctl",
            "-D",
            str(folder / "data"),
            "-l",
            str(folder / "log"),
            "-w",
            "-o",
            options,
            "start",
        )
        try:
            yield f"postgresql://postgres@/{{}}?host={folder}"
        finally:
            _run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def create_database(url: str, name: str) -> str:
    _run("createdb", "-h", url.partition("host=")[2], "-U", "postgres", name)
    return url.format(name)


def _folder() -> Path | None:
    candidates = (
        [Path(pg_ctl).resolve().parent] if (pg_ctl := shutil.which("pg_ctl")) else []
    )
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next(
        (
            folder
            for folder in candidates
            if (folder / "initdb").exists() and (folder / "pg_ctl").exists()
        ),
        None,
    )


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def program(name: str) -> Path:
    """Where one of PostgreSQL's programs is."""
    folder = _folder()
    assert folder is not None
    return folder / name


def _run(name: str, *arguments: str) -> None:
    command = [str(program(name)), *arguments]
    if os.geteuid() == 0:
        command = ["su", "postgres", "-c", shlex.join(command)]
    subprocess.run(
        command,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/tmp",
        timeout=60,
    )
