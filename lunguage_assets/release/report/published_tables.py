"""What the paper prints about its corpus (`resources/published_tables.toml`), and whether a corpus is that
one.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from lunguage_assets.data_files import read_as, resource


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedCorpus(_Part):
    """By what the published corpus is known."""

    name: str
    rows: int
    studies: int
    patients: int


class Structure(_Part):
    """A line of the published table of pathways."""

    variants: int
    pathways: int
    depth: int
    width: int


class PublishedFit(_Part):
    """A line about the fits; what is not printed is None."""

    mean: float
    sd: float | None = None
    minimum: float
    maximum: float


class PublishedAgreement(_Part):
    """Agreement of the paper's judges with each other, pair by pair by their keys in the judges file, and of
    its six experts with the ranking and with these judges.
    """

    pairs: tuple[tuple[str, str, float], ...]
    fleiss_kappa_phrase: float
    krippendorff_alpha_position: float
    experts_with_ranking: float
    experts_with_judge: dict[str, float]
    experts_fleiss_kappa_phrase: float
    experts_fleiss_kappa_position: float


class PublishedRobustness(_Part):
    """Of the ranking with `comparisons` per pair, not ten: mean changes, and Spearman's correlation."""

    comparisons: int
    mean_abs_mu: float
    mean_abs_rank: float
    spearman: float


class PublishedVocabulary(_Part):
    """Phrases that were retained, and how often the most frequent ones were extracted."""

    phrases: int
    most_frequent: dict[str, int]


class PublishedTables(_Part):
    """The published values.

    Those of `structure` are about the pathways; `figures` and `conflicts` count one corpus and stand beside
    that one only; the others come of the paper's corpus and judges and stand beside any, to compare with.
    """

    corpus: PublishedCorpus
    structure: dict[str, Structure]
    figures: dict[str, float]
    notes: dict[str, str]
    conflicts: dict[str, tuple[int, int, int]]
    fit: dict[str, PublishedFit]
    agreement: PublishedAgreement
    robustness: PublishedRobustness
    vocabulary: PublishedVocabulary

    def describes(self, rows: int, studies: int, patients: int) -> bool:
        """Whether a corpus is the published one: as many delivered rows, studies and patients.

        Neither a corpus' name nor a file's hash would do: a person names the one, and a column more or
        another line end changes the other.
        """
        return (rows, studies, patients) == (self.corpus.rows, self.corpus.studies, self.corpus.patients)


def load_published_tables(path: Path | None = None) -> PublishedTables:
    """The packaged values, or the file at `path`; raises `ConfigurationError` naming the field."""
    return read_as(path or resource("published_tables.toml"), PublishedTables)
