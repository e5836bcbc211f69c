"""What hard sentences state, family by family (families/*.txt)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lunguage_assets.structuring.text.report import cut_report
from tests.structuring.rules.test_statements import STRUCTURER, check_rows

FAMILIES = Path(__file__).parent / "families"
"""Files in the notation of statements.txt: "[group]", then "sentences -> rows"."""


def _cases() -> Iterator[object]:
    """Yield every line of every family, named by its file and group."""
    for path in sorted(FAMILIES.glob("*.txt")):
        group = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            sentences, arrow, rows = line.partition("->")
            if line.startswith("["):
                group = line.strip("[]")
            elif arrow and not line.startswith("#"):
                name = f"{path.stem}: {group}: {sentences.strip()}"
                yield pytest.param(sentences.strip(), rows.strip(), id=name)


@pytest.mark.parametrize(("sentences", "expected"), _cases())
def test_hard_sentences_state_their_rows(sentences, expected):
    text = f"FINDINGS: {sentences}"
    (answer,) = STRUCTURER.structure([cut_report("1", text)])
    check_rows(text, answer.mentions, expected)
