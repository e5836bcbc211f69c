"""How the rules read hard sentences, family by family: `python benchmarks/families.py`.

The sentences of `families/*.txt` are invented, by those who wrote the rules and by
people who tried to trick them. A sentence is

- right: its rows are those that it states, with the places and words that are listed;
- certainly untrue: a row says for certain what the sentence does not say;
- left open: it is read otherwise, and nothing untrue is said for certain.

With `--wrong` the sentences of the last two are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd
from stated_rows import difference, names_of, stated_in

from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.report import cut_report

FAMILIES = Path(__file__).parent / "families"
HEADINGS = {"history": "HISTORY", "conclusions": "IMPRESSION"}
"""Headings of the groups that do not stand under findings."""

Outcome = Literal["right", "left open", "certainly untrue"]
OUTCOMES: tuple[Outcome, ...] = ("right", "left open", "certainly untrue")


class Read(NamedTuple):
    """Sentences of a family, and how they were read."""

    family: str
    outcome: Outcome
    sentences: str
    difference: str


def read_families(folder: Path = FAMILIES) -> Iterator[Read]:
    """Read every sentence of the families."""
    structurer = RuleStructurer()
    for path in sorted(folder.glob("*.txt")):
        for stated in stated_in(path):
            heading = HEADINGS.get(stated.group, "FINDINGS")
            text = f"{heading}: {stated.text}"
            (answer,) = structurer.structure([cut_report("1", text)])
            differs = difference(stated, text, answer.mentions)
            untrue = set(names_of(answer.mentions)) - set(stated.names)
            outcome: Outcome = "left open"
            if not differs:
                outcome = "right"
            elif any(name.startswith("d") for name in untrue):
                outcome = "certainly untrue"
            yield Read(path.stem, outcome, stated.text, differs)


def counted(sentences: list[Read]) -> pd.DataFrame:
    """Count the sentences of each family by outcome, the sum in the last row."""
    frame = pd.DataFrame(sentences)
    counts = pd.crosstab(frame["family"], frame["outcome"])
    counts = counts.reindex(columns=[*OUTCOMES], fill_value=0)
    counts.insert(0, "sentences", counts.sum(axis="columns"))
    counts.loc["all"] = counts.sum()
    return counts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wrong", action="store_true", help="print what is not right")
    sentences = list(read_families())
    print(counted(sentences).to_string())
    if parser.parse_args().wrong:
        for read in sentences:
            if read.outcome != "right":
                print(
                    f"{read.family}, {read.outcome}: {read.sentences} {read.difference}"
                )


if __name__ == "__main__":
    main()
