"""The version of the rules is part of what tables are made of: an answer that changes
raises it.

`LUNGUAGE_WRITE_GOLDEN=1 pytest tests/structuring/rules/test_version.py` pins the
answers of a raised version.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import astuple
from pathlib import Path

import pytest

from lunguage_assets.structuring.contract import SectionCode
from lunguage_assets.structuring.rules.structurer import RuleStructurer

FOLDER = Path(__file__).parent
PINNED = FOLDER / "answers.json"
SECTIONS: tuple[SectionCode, ...] = ("find", "impr", "hist")
STRUCTURER = RuleStructurer()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def answers() -> dict[str, str]:
    """Digest of each sentence of statements.txt -> digest of what is read in it, in
    every section.
    """
    lines = (FOLDER / "statements.txt").read_text(encoding="utf-8").splitlines()
    sentences = sorted(
        {
            line.partition("->")[0].strip()
            for line in lines
            if "->" in line and line[0] != "#"
        }
    )
    return {
        digest(sentence): digest(json.dumps(read_in_every_section(sentence)))
        for sentence in sentences
    }


def read_in_every_section(sentence: str) -> list[tuple[object, ...]]:
    """Read a sentence; as values alone, so that a class may be renamed."""
    return [
        astuple(STRUCTURER.read_sentence(sentence, section)) for section in SECTIONS
    ]


def test_an_answer_that_changes_raises_the_version() -> None:
    pinned = (
        json.loads(PINNED.read_text())
        if PINNED.exists()
        else {"identity": "", "answers": {}}
    )
    answers_now = answers()
    if pinned["identity"] == STRUCTURER.identity:
        changed = [
            key
            for key, answer in pinned["answers"].items()
            if answers_now.get(key, answer) != answer
        ]
        assert not changed, (
            "raise VERSION in structuring/rules/lexicon.py, then pin the answers again"
        )
    if os.environ.get("LUNGUAGE_WRITE_GOLDEN"):
        content = {"identity": STRUCTURER.identity, "answers": answers_now}
        PINNED.write_text(json.dumps(content, indent=0, sort_keys=True) + "\n")
        pytest.skip("pinned")
    assert pinned["identity"] == STRUCTURER.identity, (
        "words or version changed: pin the answers again"
    )
