"""A delivery: a user's folder of files, findings or raw reports.

Here is what is done with all of its files together: their hash, their division into
batches, whether they are whole. Not here: finding them (`discovery.py`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pandas as pd

from lunguage_assets.corpus.columns import first_said, mapped
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.records import read_records
from lunguage_assets.corpus.side_files import read_metadata
from lunguage_assets.corpus.texts.raw import patient_of, study_of
from lunguage_assets.corpus.texts.sources import TextSource, raw_reports

VOCABULARY = "Lunguage_vocab.csv"
METADATA = "mimic-cxr-2.0.0-metadata.csv"
PACKED = "raw_reports.parquet"
"""Raw reports of any layout, as a home stores them."""
DeliveryKind = Literal["findings", "text"]
"""What a delivery holds: findings in the Lunguage structure, or raw reports."""


@dataclass(frozen=True)
class Delivery:
    """The files of a delivery: findings or raw reports, never both, as `source`.

    The others are optional. `loaded_reports` are those of a part of the raw reports,
    already read.
    """

    folder: Path
    source: TextSource
    vocabulary: Path | None
    metadata: Path | None
    declared: Corpus
    loaded_reports: pd.DataFrame | None = field(default=None, repr=False, compare=False)

    @property
    def kind(self) -> DeliveryKind:
        """What the delivery holds."""
        return "findings" if self.source.layout.reads == "findings" else "text"

    @property
    def tables(self) -> list[Path]:
        """The files that exist, without what is read into raw reports."""
        files = [self.vocabulary]
        if self.kind == "findings":
            files += [*self.source.paths, self.metadata]
        return list(filter(None, files))

    def raw_reports(self) -> pd.DataFrame:
        """Read the raw reports (`texts.raw.COLUMNS`) in their order.

        Image metadata say which views a study has, when it was taken, and whose it is
        where the reports do not.
        """
        if self.loaded_reports is not None:
            return self.loaded_reports
        reports = raw_reports(self.source)
        # What a home stores has what the metadata said.
        if self.metadata is None:
            return reports
        studies = mapped(reports["study"], study_of)
        metadata = read_metadata(self.metadata, studies, IntakeLog())
        metadata["patient"] = first_said(reports["patient"], metadata["patient"])
        for name in metadata:
            reports[name] = first_said(metadata[name], reports[name])
        return reports


def content_hash(delivery: Delivery) -> str:
    """Hash the delivered files (sha256), and names of those beside the findings.

    Of raw reports what is read from them is hashed: how they are packed does not count.
    """
    digest = hashlib.sha256()
    if delivery.kind == "text":
        reports = delivery.raw_reports()
        # The same text, packed or not, is the same delivery.
        reports = reports.assign(file=reports["file"].str.removesuffix(".gz"))
        for values in reports.itertuples(index=False, name=None):
            # How Python writes them keeps one value apart from the next.
            digest.update(repr(values).encode())
    for path in delivery.tables:
        # The same findings under another name are the same batch.
        name = "" if path in delivery.source.paths else path.name
        # As hashes all files are of one length: none is taken for a part of another.
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{name}\0{content}".encode())
    return digest.hexdigest()


def in_parts(delivery: Delivery, most: float) -> list[Delivery]:
    """Divide the raw reports of a delivery; all reports of a patient are in one part.

    Args:
        delivery: of any kind; findings are one part.
        most: raw reports of a part, or a few more.

    Returns:
        Deliveries with `loaded_reports`.

    Raises:
        InputError: they cannot be read.
    """
    # A file that cannot be used at all is refused before it is registered.
    for path in delivery.tables:
        read_records(path, (), may_be_empty=True)
    if delivery.kind == "findings":
        return [delivery]
    reports = delivery.raw_reports()
    # Without a patient the study stands for one.
    patients = first_said(mapped(reports["patient"], patient_of), reports["study"])
    # In the order of the first reports, which part is full depends on it alone.
    sizes = patients.value_counts(sort=False)
    part_by_patient = (sizes.cumsum() - sizes) // most
    return [
        replace(delivery, loaded_reports=of_part.reset_index(drop=True))
        for _, of_part in reports.groupby(patients.map(part_by_patient))
    ]
