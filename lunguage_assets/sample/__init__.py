"""A synthetic corpus in the published file formats or as raw reports, the same for the same seed.

Its radiology reports are invented, any number of them.

`knowledge` reads resources/synthetic, `planning` decides what every study says, `prose` writes the sentences,
`raw` varies them and lays them out as raw reports, `published` writes the published files. For demonstrations
and tests; nothing in it comes from a real report.
"""

from __future__ import annotations

from lunguage_assets.sample.published.files import SampleSummary, synthetic_studies, write_sample
from lunguage_assets.sample.raw_delivery import write_raw_sample

__all__ = ["SampleSummary", "synthetic_studies", "write_raw_sample", "write_sample"]
