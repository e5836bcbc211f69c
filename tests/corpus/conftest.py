"""Deliveries written from a few invented rows, for the tests of reading them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from delivered_rows import Deliver, Row, as_csv

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import Intake, take_in
from lunguage_assets.settings import CorpusSettings


@pytest.fixture
def deliver(tmp_path: Path) -> Deliver:
    """Take in rows (or the raw text or bytes of the findings file) with optional side
    files; a later call starts from nothing.
    """

    def taken(
        rows: Sequence[Row] | str | bytes,
        *,
        vocabulary: str = "",
        metadata: str = "",
        default_view: str = "",
    ) -> Intake:
        for old in tmp_path.iterdir():
            old.unlink()
        content = rows if isinstance(rows, bytes | str) else as_csv(rows)
        (tmp_path / "Lunguage.csv").write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )
        if vocabulary:
            (tmp_path / "Lunguage_vocab.csv").write_text(vocabulary)
        if metadata:
            (tmp_path / "mimic-cxr-2.0.0-metadata.csv").write_text(metadata)
        settings = CorpusSettings(default_view=default_view)
        return take_in(find_delivery(tmp_path), settings)

    return taken
