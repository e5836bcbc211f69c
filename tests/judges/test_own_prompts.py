"""Prompts of one's own, in a folder as docs/method.md section 11 says, are what judges
are asked with.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import lunguage
from loopback import LoopbackServer

from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.sample import write_sample

SETTINGS = """
as_published = true
[explicit]
reference_scale = "published"
patience = 3
panel_steps = 2
[implicit]
encoder = "lexical"
"""
JUDGES = """
preset = "loopback"
[judges.one]
provider = "openai-compatible"
model = "tester"
base_url = "{url}"
params = {{ max_tokens = 100, temperature = 1.0 }}
price = {{ input = 0.0, output = 0.0, as_of = 2026-11-01 }}
[panels.alone]
members = ["one"]
[presets.loopback]
panel = "alone"
extractor = "one"
"""
PROMPTS = {
    "comparison/system.txt": "You weigh two sentences of a zebra keeper.",
    "comparison/user.txt": "Which is surer?\nsentence_1: $sentence_1\nsentence_2: $sentence_2",
    "extraction/system.txt": "You underline doubts of a zebra keeper.",
    "extraction/user.txt": "It costs $$1.\nfinding: $finding\nsentence: $sentence",
}


def own_prompts(folder: Path) -> Path:
    for name, text in PROMPTS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.lengthy
def test_prompts_of_ones_own_are_asked_and_named_in_the_provenance(
    tmp_path: Path,
) -> None:
    prompts = own_prompts(tmp_path / "prompts")
    write_sample(tmp_path / "delivery", reports=4, seed=3)
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.toml").write_text(SETTINGS)
    with LoopbackServer() as server:
        (home / "judges.toml").write_text(JUDGES.format(url=server.openai_url))
        done = lunguage(
            home,
            *("run", "--data", tmp_path / "delivery"),
            LUNGUAGE_JUDGES=str(home / "judges.toml"),
            LUNGUAGE_PROMPTS=str(prompts),
        )
        assert done.returncode == 0, done.stderr
        systems = {call.system for call in server.calls}
        costs = {
            call.user.splitlines()[0]
            for call in server.calls
            if "underline" in call.system
        }
    assert systems == {
        PROMPTS["comparison/system.txt"],
        PROMPTS["extraction/system.txt"],
    }
    assert costs == {"It costs $1."}
    assert f"the prompts of {prompts}" in done.stdout
    provenance = json.loads(
        (home / "release/panel/v1/open/provenance.json").read_text()
    )
    assert (
        provenance["prompts"] == load_prompts(prompts).version != load_prompts().version
    )
