"""Judges files whose language models are asked at a server of this machine."""

from __future__ import annotations

from collections.abc import Sequence

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
