"""Judges files: of models that are asked at a server of this machine, and the packaged
one with a judge more.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lunguage_assets.packaged_data import resource

PRESET = """
preset = "asked"
[judges.lexicon]
provider = "lexicon"
[panels.asked]
members = {members}
[presets.asked]
panel = "asked"
extractor = "{extractor}"
"""
JUDGE = """
[judges.{key}]
provider = "openai-compatible"
model = "tester-{key}"
base_url = "{url}"
params = {{ max_tokens = 100 }}
price = {{ input = 1.0, output = 2.0, as_of = 2026-11-01 }}
{more}
"""


def judges_file(
    url: str, members: Sequence[str], more: str, extractor: str = "lexicon"
) -> str:
    """A panel of members that are models with some more lines each."""
    tables = [JUDGE.format(key=key, url=url, more=more) for key in members]
    return PRESET.format(members=[*members], extractor=extractor) + "".join(tables)


def write_with_judge(
    file: Path, key: str, lines: str, *, in_panel: bool = False
) -> Path:
    """The packaged file with one judge more, in the offline panel or a candidate."""
    members = 'members = ["lexicon", "cues"'
    preset = '[presets.offline]\npanel = "offline"\n'
    text = resource("judges.toml").read_text()
    if in_panel:
        text = text.replace(f"{members}]", f'{members}, "{key}"]')
    else:
        text = text.replace(preset, f'{preset}candidates = ["{key}"]\n')
    file.write_text(f"{text}\n[judges.{key}]\n{lines}\n")
    return file
