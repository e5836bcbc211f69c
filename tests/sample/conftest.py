from __future__ import annotations

import pytest
from sample_corpus import Sample, by_study, read

from lunguage_assets.sample import write_sample


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The default sample: 800 reports, seed 0."""
    folder = tmp_path_factory.mktemp("synthetic") / "sample"
    summary = write_sample(folder)
    rows = read(folder / "Lunguage.csv")
    return Sample(
        folder,
        summary,
        rows,
        by_study(rows),
        read(folder / "mimic-cxr-2.0.0-metadata.csv"),
        read(folder / "Lunguage_vocab.csv"),
    )
