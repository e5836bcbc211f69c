"""The differences between mode `paper` and the method, row by row, with their cause (implicit.md section 6).

The three departures meet: a row that one of them keeps may be the parent, the stand-in or the neighbour of
another. Such a row is counted under `follows from another row`, never under a departure that did not touch
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.encoders import Embedder
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.merging.blacklist import Blacklist
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.rows import PAPER, column_values
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import ATTRIBUTES
from lunguage_assets.tables.paper import MODE_DIFFERENCES

_BELIEF = ("prob", "p_low", "p_high")
_CONTENT = ("parent_id", "evidence", "associate", "merged_ids", *ATTRIBUTES)
_GONE = ("merged", "removed", "discarded")


@dataclass(frozen=True)
class ModeResult:
    """The result of one mode: DEDUPLICATED_FINDINGS, LUNGUAGE_PLUS_PLUS and RESOLUTION_LOG."""

    deduplicated: pd.DataFrame
    rows: pd.DataFrame
    log: pd.DataFrame


def both_modes(
    findings: pd.DataFrame,
    probabilities: pd.DataFrame,
    embedder: Embedder,
    blacklist: Blacklist,
    settings: ImplicitSettings,
    dictionary: PathwayDictionary,
    vocabulary: Vocabulary,
) -> tuple[ModeResult, ModeResult]:
    """Run the implicit half in mode `method` and in mode `paper`; nothing is stored.

    The input is FINDINGS and FITTED_PROBABILITIES.
    """

    def result(mode: str) -> ModeResult:
        merged = deduplicate(
            findings, probabilities, embedder, blacklist, settings.model_copy(update={"mode": mode})
        )
        resolved = resolve(merged, expand(merged, dictionary, vocabulary), dictionary)
        return ModeResult(merged, resolved.rows, resolved.log)

    return result("method"), result(PAPER)


def compare_modes(method: ModeResult, paper: ModeResult) -> pd.DataFrame:
    """MODE_DIFFERENCES of the same findings, sorted by finding id.

    A row that is the same in both modes is not listed.

    `idx` is left out of the comparison: one row less moves the numbers of all that follow.
    """
    of_method, of_paper = _Mode(method), _Mode(paper)
    found = []
    for own in sorted({*of_method.rows, *of_paper.rows}):
        one, other = of_method.rows.get(own), of_paper.rows.get(own)
        row = one or other
        assert row is not None
        if one is None:
            difference, cause = "only in paper", _absence(own, of_method, of_paper)
        elif other is None:
            difference, cause = "only in method", _absence(own, of_paper, of_method)
        elif any(one[name] != other[name] for name in _BELIEF):
            is_denied_sign = row["source"] == "expansion" and row["status"][1] == "n"
            difference, cause = "probability", "denied sign" if is_denied_sign else "follows from another row"
        elif any(one[name] != other[name] for name in _CONTENT):
            difference, cause = "content", _content(own, of_method, of_paper)
        else:
            continue
        found.append(
            {
                "study_id": row["study_id"],
                "finding_id": own,
                "name": row["name"],
                "status": row["status"],
                "source": row["source"],
            }
            | {"difference": difference, "cause": cause}
            | {"prob_method": one["prob"] if one else None, "prob_paper": other["prob"] if other else None}
        )
    return MODE_DIFFERENCES.frame(found)


def causes(differences: pd.DataFrame) -> pd.DataFrame:
    """MODE_DIFFERENCES counted by difference and cause.

    Columns: `difference`, `cause`, `rows`, `studies`; one row per combination that occurs.
    """
    grouped = differences.groupby(["difference", "cause"], sort=True)["study_id"].agg(["size", "nunique"])
    return grouped.rename(columns={"size": "rows", "nunique": "studies"}).reset_index()


class _Mode:
    """The rows of a mode by id, their groups before merging, and the fate of lost rows."""

    def __init__(self, result: ModeResult) -> None:
        names = ("finding_id", "study_id", "name", "status", "source", *_BELIEF, *_CONTENT)
        lines = zip(*(column_values(result.rows, name) for name in names), strict=True)
        self.rows: dict[str, Mapping[str, Any]] = {
            line[0]: dict(zip(names, line, strict=True)) for line in lines
        }
        survivors = column_values(result.deduplicated, "merged_into")
        ids = column_values(result.deduplicated, "finding_id")
        self._survivor = {own: survivor or own for own, survivor in zip(ids, survivors, strict=True)}
        self._groups: dict[str, set[str]] = {}
        for own, survivor in self._survivor.items():
            self._groups.setdefault(survivor, set()).add(own)
        log = result.log[result.log["event"].isin(_GONE)]
        columns = (column_values(log, name) for name in ("finding_id", "stage", "rule"))
        self.fate = {own: (stage, rule) for own, stage, rule in zip(*columns, strict=True)}

    def group(self, own: str) -> set[str]:
        """The rows that were merged with this one; empty for a generated row."""
        return self._groups.get(self._survivor.get(own, own), set())


def _absence(own: str, absent: _Mode, present: _Mode) -> str:
    """Why a row is missing from one mode and not from the other."""
    stage, rule = absent.fate.get(own, ("", ""))
    if stage == "deduplicate":
        return "highest p" if absent.group(own) == present.group(own) else "blacklist"
    return "highest p" if rule.startswith("rule 3") else "follows from another row"


def _content(own: str, method: _Mode, paper: _Mode) -> str:
    """Why a row of both modes differs: other rows were merged into it, or a row around it changed."""
    return "blacklist" if method.group(own) != paper.group(own) else "follows from another row"
