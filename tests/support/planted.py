"""A sentence planted in an invented corpus that counts as patients', a server that
quotes it back, and a search for it; for tests only.

The planted words stand in the sentences of tentative findings, in whole reports and in
prompts. They may be in tables, batches, the review queue, the release and the ledger's
answers: that is where report text belongs. Names of findings, hedging phrases and study
numbers are no report text: runs, metadata and checks show them, so that a person can
act.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import itertools
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from loopback import Arrival, Call, LoopbackServer, Outcome, judge_like
from loopback_wire import body_of, read_call

from lunguage_assets.sample import write_sample

WORD = "Zanzibarquartz"
"""One word, so that no wrapping of lines hides it."""
PLANTED = f"near the {WORD} l\u00e4ntern\u2019s rim"
BELONGS = ("tables", "batches", "review", "release", "ledger.sqlite")
"""What in a home may hold report text."""

JUDGES = """
preset = "p"
[judges.one]
provider = "openai-compatible"
model = "tester-1"
base_url = "{url}/v1"
params = {{ max_tokens = 100 }}
allowed_data = ["credentialed"]
{limits}
[judges.two]
provider = "anthropic"
model = "tester-2"
base_url = "{url}"
params = {{ max_tokens = 100 }}
mode = "enum"
{attested}
{limits}
[judges.three]
provider = "gemini"
model = "tester-3"
base_url = "{url}"
params = {{ max_output_tokens = 100 }}
{attested}
{limits}
[panels.all]
members = ["one", "two", "three"]
[presets.p]
panel = "all"
extractor = "{extractor}"
"""
ATTESTED = (
    'allowed_data = ["credentialed"]\nzero_retention_attested_on = '
    '2026-01-01\nzero_retention_attested_by = "A test"'
)
LIMITS = (
    "limits = { in_flight = 16, timeout_s = 5, backoff_s = 0.001, "
    "failures_per_request = 12 }\nlet_in = 'it cannot answer one prompt in five'"
)
KEYS = {"ANTHROPIC_API_KEY": "k-a", "GEMINI_API_KEY": "k-g"}
_CODED = (
    "dx_status",
    "dx_certainty",
    "section",
    "sent_idx",
    "ent_idx",
    "study_id",
    "subject_id",
    "cat",
    "associate",
    "evidence",
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


def write_judges(
    folder: Path, url: str, behaviour: str, extractor: str = "one"
) -> Path:
    """A judges file whose models are asked at this address, in this manner."""
    file = folder / f"judges-{behaviour}-{extractor}.toml"
    file.write_text(
        JUDGES.format(
            url=f"{url}/{behaviour}",
            attested=ATTESTED,
            limits=LIMITS,
            extractor=extractor,
        )
    )
    return file


def write_corpus(folder: Path, reports: int) -> int:
    """An invented corpus that declares nothing, so that it counts as credentialed; the
    number of tentative rows with the planted words.
    """
    write_sample(folder, reports=reports, seed=3)
    (folder / "corpus.toml").unlink()
    rows = read_rows(folder)
    planted = {
        row["sent"]
        for row in rows
        if row["dx_certainty"].lower() == "tentative" and row["sent"].endswith(".")
    }
    spoiled = [
        dict(rows[0], **{column: f"Perhaps a nodule {PLANTED}."}) for column in _CODED
    ]
    for row in [*rows]:
        for sentence in planted:
            row["report"] = row["report"].replace(sentence, with_words(sentence))
        row["sent"] = with_words(row["sent"]) if row["sent"] in planted else row["sent"]
    write_rows(folder, rows + spoiled)
    return sum(
        WORD in row["sent"] and row["dx_certainty"].lower() == "tentative"
        for row in rows
    )


def with_words(sentence: str) -> str:
    return f"{sentence[:-1]} {PLANTED}."


def read_rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "Lunguage.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write_rows(
    folder: Path, rows: list[dict[str, str]], *, header: bool = True
) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    if header:
        writer.writeheader()
    writer.writerows(rows)
    (folder / "Lunguage.csv").write_text(text.getvalue(), encoding="utf-8")


def write_home(folder: Path) -> Path:
    """A home whose Dagster instance logs everything that Python logs, at level
    DEBUG.
    """
    (folder / "dagster").mkdir(parents=True)
    (folder / "dagster" / "dagster.yaml").write_text(TALKATIVE)
    (folder / "settings.toml").write_text(SETTINGS)
    return folder


# --- a server that quotes

_SCHEDULE = ("429", "500", "529", "text", "refusal", "nonsense", "shape")


def quoting(
    server: LoopbackServer, behaviours: Mapping[str, Callable[[str, int], str]]
) -> None:
    """Make the server quote prompts back; it behaves by the first part of the path.

    A behaviour names, from a prompt and how often it came, the way in which it is
    quoted; "" is a proper answer.
    """
    seen: Counter[tuple[str, str]] = Counter()

    async def handle(arrival: Arrival) -> Outcome:
        _, behaviour, path = arrival.path.split("/", 2)
        model_call = read_call(f"/{path}", arrival.data)
        assert model_call is not None, arrival.path
        call = Call(
            number=len(server.calls),
            path=arrival.path,
            headers=arrival.headers,
            **model_call,
        )
        server.calls.append(call)
        seen[behaviour, call.prompt] += 1
        return _quoted(
            call, behaviours[behaviour](call.user, seen[behaviour, call.prompt])
        )

    server.route("POST", r".*(completions|messages|generateContent).*", handle)


def _quoted(call: Call, way: str) -> Outcome:
    if way.isdigit():
        error = {
            "code": int(way),
            "message": call.user,
            "status": call.user,
            "type": call.user,
            "param": call.user,
        }
        return Outcome(
            int(way),
            json.dumps({"type": "error", "error": error, "detail": call.user}).encode(),
        )
    if way == "text":
        return Outcome(200, call.user.encode())
    if way == "shape":
        return Outcome(
            200,
            json.dumps(
                [{"choices": call.user, "content": call.user, "candidates": call.user}]
            ).encode(),
        )
    if way == "name":
        return Outcome(
            200, body_of(call, "wrong_model", judge_like(call), 0, call.user)
        )
    if way == "nonsense":
        return Outcome(200, body_of(call, "answer", call.user, 0, ""))
    if way == "refusal":
        return Outcome(200, body_of(call, "refusal", call.user, 0, ""))
    return Outcome(200, body_of(call, "answer", judge_like(call), 0, ""))


def troubled() -> Callable[[str, int], str]:
    """Every other call is quoted back, in all ways in turn, up to the third call of a
    prompt; of one prompt in five all calls are.
    """
    turn = itertools.cycle(way for quoted in _SCHEDULE for way in (quoted, ""))

    def behave(prompt: str, occurrence: int) -> str:
        if hashlib.sha256(prompt.encode()).digest()[0] % 5 == 0:
            return "nonsense"
        return next(turn) if occurrence < 4 else ""

    return behave


# --- the search


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


def traces(home: Path, *outputs: bytes) -> list[str]:
    """Where the planted word is though it does not belong there: files of the home (not
    `BELONGS`), the ledger's other columns, what was shown.
    """
    leaks = [f"shown {number}" for number, text in enumerate(outputs) if _has(text)]
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        relative = path.relative_to(home)
        if relative.parts[0] in BELONGS or relative.name.startswith("ledger"):
            continue
        data = path.read_bytes()
        if _has(data):
            leaks.append(str(relative))
        if data.startswith(b"SQLite format 3"):
            leaks += [f"{relative}: {where}" for where in _in_database(path, set())]
    for ledger in home.glob("ledger*.sqlite"):
        leaks += [
            f"{ledger.name}: {where}" for where in _in_database(ledger, {"answer"})
        ]
    return leaks


def _has(data: bytes) -> bool:
    return any(form in data for form in forms())


def _in_database(path: Path, apart: set[str]) -> Iterator[str]:
    """Tables and columns; a value that is spread over several pages of the file is
    whole here.
    """
    with contextlib.closing(
        sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    ) as connection:
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            cursor = connection.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            hit = {
                name
                for row in cursor
                for name, value in zip(names, row, strict=True)
                if value is not None and name not in apart and _has(_bytes(value))
            }
            yield from (f"{table}.{name}" for name in sorted(hit))


def _bytes(value: Any) -> bytes:
    return (
        value
        if isinstance(value, bytes)
        else str(value).encode("utf-8", "surrogatepass")
    )
