"""Definitions load without keys, extras, network and heavy libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY")

HEAVY = (
    "alembic", "anthropic", "boto3", "celery", "dagster._daemon.controller", "google.genai",
    "great_expectations", "jinja2", "matplotlib", "openai", "PIL", "plotly",
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
