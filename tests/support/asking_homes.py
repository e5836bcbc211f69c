"""A finished home whose language models are still to compare its phrases."""

from __future__ import annotations

import shutil
from pathlib import Path

from finished_homes import Finished
from stored_tables import store_table

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.resources import anchor_set
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path, read_table

MODELS = ("one", "two", "three")
JUDGE = """
[judges.{key}]
provider = "openai-compatible"
model = "{key}-model"
base_url = "{url}"
params = {{ max_tokens = 100 }}
limits = {{ in_flight = 4, failures_per_request = 1 }}
price = {{ input = 1.0, output = 2.0, as_of = 2026-11-01 }}
"""
PRESET = """
preset = "asked"
[judges.lexicon]
provider = "lexicon"
[panels.three]
members = ["one", "two", "three"]
[presets.asked]
panel = "three"
extractor = "lexicon"
"""


def home_of(folder: Path, finished: Finished, urls: dict[str, str]) -> Path:
    """A finished home with three models, and a vocabulary of which a test can compare
    all pairs.
    """
    shutil.copytree(finished.home, folder)
    judges = "".join(JUDGE.format(key=key, url=urls[key]) for key in MODELS)
    (folder / "judges.toml").write_text(PRESET + judges)
    configuration = Configuration(Home(folder))
    table = TABLES["hedge_vocabulary"]
    path = partition_path(configuration.home.tables, "hedge_vocabulary", "lexicon")
    frame = read_table(table, path)
    kept_phrases = set(frame.loc[frame["retained"], "phrase"][:6]) | {
        a.phrase for a in anchor_set(configuration).anchors
    }
    frame["retained"] &= frame["phrase"].isin(kept_phrases)
    store_table(table, frame, path)
    return folder
