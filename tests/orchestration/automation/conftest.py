"""A home in use, acted out."""

from __future__ import annotations

import pytest
from acted_out import Acted, in_use


@pytest.fixture
def acted() -> Acted:
    """A home with one finished batch of ranker `panel`; `cues` and `lexicon` were never ranked."""
    return in_use(Acted())
