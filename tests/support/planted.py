"""Words planted in invented reports that count as patients', a command of which
everything that it shows is kept, and a search for the words.

They may be in tables, batches, the review queue, the release and the ledger's answers:
that is where report text belongs. Names of findings, hedging phrases and study numbers
are no report text: runs, metadata and checks show them, so that a person can act.
"""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
from commands import lunguage

WORD = "Zanzibarquartz"
"""One word, so that no wrapping of lines hides it."""
PLANTED = f"near the {WORD} l\u00e4ntern\u2019s rim"
BELONGS = ("tables", "batches", "review", "release", "ledger.sqlite")
"""What in a home may hold report text."""

LIMITS = (
    "limits = { in_flight = 16, timeout_s = 5, backoff_s = 0.001, "
    "failures_per_request = 12 }\nlet_in = 'it cannot answer one prompt in five'"
)
SETTINGS = (
    "[explicit]\nreference_scale = 'published'\npatience = 2\npanel_steps = 1\n"
    "step_limit = 4\nbootstrap = 5\n"
)
TALKATIVE = """
telemetry:
  enabled: false
run_coordinator:
  module: dagster.core.run_coordinator
  class: DefaultRunCoordinator
python_logs:
  managed_python_loggers: [openai, anthropic, httpx2, httpcore2, google_genai, google.auth, asyncio,
    lunguage_assets]
  python_log_level: DEBUG
"""
_CODED = (
    "dx_status", "dx_certainty", "section", "sent_idx", "ent_idx", "study_id", "subject_id", "cat",
    "associate", "evidence",
)  # fmt: skip


def plant(delivery: Path) -> None:
    """Make an invented delivery undeclared, so that it counts as patients', with the
    words in every sentence, every report, and in rows that are rejected.
    """
    (delivery / "corpus.toml").unlink()
    file = delivery / "Lunguage.csv"
    rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    rows = rows.rename(columns={"Unnamed: 0": ""})
    for sentence in rows["sent"].unique():
        spoken = f"{sentence.removesuffix('.')} {PLANTED}."
        rows["sent"] = rows["sent"].replace(sentence, spoken)
        rows["report"] = rows["report"].str.replace(sentence, spoken, regex=False)
    wrong = [{**rows.iloc[0], column: f"A nodule {PLANTED}."} for column in _CODED]
    pd.concat([rows, pd.DataFrame(wrong)]).to_csv(file, index=False)


def write_home(folder: Path) -> Path:
    """A home whose Dagster instance logs everything that Python logs, at level
    DEBUG.
    """
    (folder / "dagster").mkdir(parents=True)
    (folder / "dagster" / "dagster.yaml").write_text(TALKATIVE)
    (folder / "settings.toml").write_text(SETTINGS)
    return folder


def burst(*_: Any, **__: Any) -> Any:
    """An unexpected error as libraries raise them: it quotes the value it stumbled
    over, in its message, cause and context.
    """
    quoted = f"There may be a nodule {PLANTED}."
    try:
        raise KeyError(quoted)
    except KeyError as error:
        raise ValueError(f"cannot convert {quoted!r}", {"sentence": quoted}) from error


def shown_by(
    home: Path, *arguments: str | Path, crash: str = "", **variables: str
) -> tuple[int, bytes]:
    """The status of a command, and all that it shows and that Python logs meanwhile, at
    any level; `crash` is a function that bursts.
    """
    file = home.parent / "shown"
    bursting = mock.patch(crash, burst) if crash else contextlib.nullcontext()
    rights = os.umask(0)
    os.umask(rights)  # a command sets its own
    with _kept_in(file), bursting:
        done = lunguage(home, *arguments, **variables)
    os.umask(rights)
    return done.returncode, f"{done.stdout}{done.stderr}".encode() + file.read_bytes()


@contextlib.contextmanager
def _kept_in(file: Path) -> Iterator[None]:
    """Let what is logged, and written to the descriptors of output, go into a file."""
    root = logging.getLogger()
    level = root.level
    outputs = [os.dup(1), os.dup(2)]
    with file.open("w", encoding="utf-8", buffering=1) as stream:
        handler = logging.StreamHandler(stream)
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        for number in (1, 2):
            os.dup2(stream.fileno(), number)
        try:
            with redirect_stdout(stream), redirect_stderr(stream):
                yield
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
            for number, descriptor in enumerate(outputs, start=1):
                os.dup2(descriptor, number)
                os.close(descriptor)


def forms(word: str = WORD) -> list[bytes]:
    """The word as bytes in the encodings in which software writes text: plain (also in
    JSON, pickles and URLs), UTF-16, base64 at any place.
    """
    plain = [variant.encode() for variant in (word, word.lower(), word.upper())]
    wide = [
        variant.decode().encode(encoding)
        for variant in plain
        for encoding in ("utf-16-le", "utf-16-be")
    ]
    inside = [
        base64.b64encode(b"\x00" * shift + variant)[4 if shift else 0 : -4]
        for variant in plain
        for shift in range(3)
    ]
    return plain + wide + inside


def has_words(data: bytes) -> bool:
    return any(form in data for form in forms())


def traces(home: Path) -> list[str]:
    """Where the planted word is though it does not belong there: files of the home (not
    `BELONGS`), and the ledger's other columns.
    """
    leaks = []
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        relative = path.relative_to(home)
        is_ledger = relative.name.startswith("ledger")
        if is_ledger and path.suffix == ".sqlite":
            leaks += _leaking_columns(path, apart={"answer"})
        if is_ledger or relative.parts[0] in BELONGS:
            continue
        data = path.read_bytes()
        if has_words(data):
            leaks.append(str(relative))
        if data.startswith(b"SQLite format 3"):
            leaks += _leaking_columns(path, apart=set())
    return leaks


def _leaking_columns(path: Path, apart: set[str]) -> set[str]:
    """Tables and columns; a value that is spread over several pages of the file is
    whole here.
    """
    leaks = set()
    url = f"file:{path}?mode=ro"
    with contextlib.closing(sqlite3.connect(url, uri=True)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        for (table,) in connection.execute(query).fetchall():
            cursor = connection.execute(f'SELECT * FROM "{table}"')
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                for column, value in zip(columns, row, strict=True):
                    data = value if isinstance(value, bytes) else str(value).encode()
                    if column not in apart and has_words(data):
                        leaks.add(f"{path.name}: {table}.{column}")
    return leaks
