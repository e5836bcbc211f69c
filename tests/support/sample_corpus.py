"""What the tests read from a written sample, with nothing of the generator in between."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from lunguage_assets.data_files import resource
from lunguage_assets.sample import SampleSummary

Row = dict[str, str]


@dataclass(frozen=True, repr=False)
class Sample:
    """A written sample and what its files hold."""

    folder: Path
    summary: SampleSummary
    rows: list[Row]
    studies: dict[str, list[Row]]
    images: list[Row]
    terms: list[Row]


PUBLISHED_PHRASES = (
    "most likely", "appears to be", "consistent with", "probable", "likely", "more likely", "worrisome for",
    "concerning for", "suggestive of", "suggests", "appears", "probably", "suspected", "suggesting", "appear",
    "may represent", "may be", "and/or", "either", "may", "may reflect", "possible", "may be due to",
    "possibly", "could be due to", "could be", "might", "could", "suggest", "could represent",
    "could reflect", "potentially", "or", "not excluded", "cannot be excluded", "difficult to exclude",
    "versus", "possibility", "differential", "cannot be entirely excluded", "if any", "less likely",
)  # fmt: skip

RARER_PHRASES = (
    "questionable", "presumably", "raises the possibility of", "not entirely ruled out", "favored to be",
    "conceivably", "perhaps", "unlikely", "doubtful", "compatible with", "suspicious for", "equivocal",
    "in keeping with", "cannot be ruled out", "seems", "hard to exclude",
)  # fmt: skip


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def cell(value: str) -> str:
    """The value, or nothing where the cell says that it is absent."""
    return "" if value.lower() in ("", "nan") else value


def tentative(row: Row) -> bool:
    return row["dx_certainty"].lower().startswith("tentative")


def status(row: Row) -> str:
    return row["dx_certainty"][0].lower() + row["dx_status"][0].lower()


def spoken(rows: Iterable[Row]) -> list[Row]:
    """Rows of findings and impression."""
    return [row for row in rows if row["section"] != "hist"]


def by_study(rows: Iterable[Row]) -> dict[str, list[Row]]:
    studies: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        studies[row["study_id"]].append(row)
    return studies


@cache
def mention(finding: str) -> re.Pattern[str]:
    """The finding's words, singular or plural."""
    stem = re.escape(finding.lower())
    endings = {"y": (1, "(?:y|ies)"), "is": (2, "(?:is|es)"), "a": (1, "(?:a|ae)"), "s": (1, "s?")}
    for ending, (cut, pattern) in endings.items():
        if stem.endswith(ending):
            return re.compile(rf"(?<!\w){stem[:-cut]}{pattern}(?!\w)")
    return re.compile(rf"(?<!\w){stem}(?:s|es)?(?!\w)")


_PHRASE = re.compile(
    r"(?<!\w)(?:"
    + "|".join(sorted(map(re.escape, (*PUBLISHED_PHRASES, *RARER_PHRASES)), key=len, reverse=True))
    + r")(?!\w)"
)
_JOINT = re.compile(r"; |, (?:although|though|but|and) ")


def hedges_of(row: Row) -> list[str]:
    """Phrases of the finding's own clause, the longest match at each place; none when the finding is not in
    the sentence.
    """
    clauses = [clause for clause in _JOINT.split(row["sent"].lower()) if mention(row["ent"]).search(clause)]
    return _PHRASE.findall(clauses[0]) if clauses else []


@cache
def diagnoses() -> dict[str, set[str]]:
    """Spellings of the 14 diagnoses, from the pathway dictionary that the package ships."""
    entries = yaml.safe_load(resource("pathways.yaml").read_text(encoding="utf-8"))["diagnoses"]
    return {
        entry["name"]: {spelling for spellings in entry["spellings"].values() for spelling in spellings}
        for entry in entries
    }


def references(value: str) -> list[tuple[str, int | None]]:
    """The flat list `name, idxN, name` as pairs; a bare name has no number."""
    found: list[tuple[str, int | None]] = []
    for part in [part.strip() for part in cell(value).split(",") if part.strip()]:
        number = re.fullmatch(r"idx(\d+)", part)
        if number:
            found[-1] = (found[-1][0], int(number[1]))
        else:
            found.append((part, None))
    return found
