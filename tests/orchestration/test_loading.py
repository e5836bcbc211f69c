"""Definitions load without keys, extras, network and heavy libraries, and whatever number of batches is
registered.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.resources import HomeResource

ROOT = Path(__file__).resolve().parents[2]
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY")

HEAVY = (
    "alembic", "anthropic", "boto3", "celery", "dagster._daemon.controller", "google.genai",
    "great_expectations", "jinja2", "krippendorff", "matplotlib", "openai", "PIL", "plotly",
    "psycopg2", "redis", "s3fs", "scipy.optimize", "scipy.stats", "sentence_transformers", "statsmodels",
    "torch", "transformers",
)  # fmt: skip

ALONE = """
import json, socket, sys

def refused(*arguments, **named):
    raise AssertionError("definitions asked the network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refused
extras = sys.argv[1].split(",")

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in extras:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from lunguage_assets.definitions import defs
repository = defs().get_repository_def()
repository.load_all_definitions()
print(json.dumps({"assets": len(repository.asset_graph.get_all_asset_keys()), "loaded": sorted(sys.modules)}))
"""
"""Loads the code location in a process without network and as if the libraries named first were not
installed.
"""


def test_definitions_load_without_keys_extras_network_and_heavy_libraries(tmp_path: Path) -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in KEYS and not name.startswith("LUNGUAGE_")
    }
    command = [
        sys.executable,
        "-c",
        ALONE,
        "openai,anthropic,torch,transformers,sentence_transformers,psycopg2,redis,celery",
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**environment, "LUNGUAGE_HOME": str(tmp_path)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["assets"] > 12
    assert [name for name in HEAVY if name in found["loaded"]] == []
    assert list(tmp_path.iterdir()) == [], "loading writes nothing"


_seen: list[tuple[str, str]] = []
_watching: list[bool] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and (
        event in ("open", "os.listdir", "os.scandir", "sqlite3.connect", "socket.connect")
        or event.startswith("glob.")
    ):
        _seen.append((event, str(arguments[0])))


sys.addaudithook(_watch)  # for good: an audit hook cannot be taken away


@pytest.fixture
def touched() -> Iterator[list[tuple[str, str]]]:
    """What is opened and listed in this process as long as the test runs."""
    _seen.clear()
    _watching.append(True)
    yield _seen
    _watching.clear()


def _home_with(batches: int, root: Path) -> Home:
    home = Home(root)
    for number in range(batches):
        folder = home.batches / f"b{number:04d}"
        folder.mkdir(parents=True)
        (folder / "batch.json").write_text(
            json.dumps({"key": folder.name, "number": number, "sha256": "0" * 64, "files": []})
        )
    home.dagster.mkdir(parents=True)
    (home.root / "corpus.json").write_text('{"name": "many", "data_class": "synthetic"}')
    return home


def test_a_thousand_batches_let_loading_touch_no_more_files_than_none(
    tmp_path: Path, touched: list[tuple[str, str]]
) -> None:
    found = []
    for batches in (0, 1000):
        home = _home_with(batches, tmp_path / str(batches))
        with dg.DagsterInstance.local_temp(str(home.dagster)) as instance:
            instance.add_dynamic_partitions(
                REPORT_BATCH.name, [f"b{number:04d}" for number in range(batches)]
            )
        build_defs(
            HomeResource(root=str(home.root))
        ).get_repository_def().load_all_definitions()  # what is read but once per process has been read now
        touched.clear()
        build_defs(HomeResource(root=str(home.root))).get_repository_def().load_all_definitions()
        found.append([(event, path.replace(str(home.root), "HOME")) for event, path in touched])
    assert ("open", "HOME/corpus.json") in found[0], "the watch sees what is opened"
    assert found[0] == found[1]
