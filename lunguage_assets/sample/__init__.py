"""A synthetic corpus in the published file formats, the same for the same seed.

Its radiology reports are invented, any number of them.

`knowledge` reads resources/synthetic, `planning` decides what every study says, `composition` and its parts
write the prose, `files` writes the corpus. For demonstrations and tests; nothing in it comes from a real
report.
"""

from __future__ import annotations

from lunguage_assets.sample.published.files import SampleSummary, synthetic_studies, write_sample

__all__ = ["SampleSummary", "synthetic_studies", "write_sample"]
