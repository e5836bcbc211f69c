"""The differences between mode `paper` and the method, row by row, with their cause (implicit.md section 6).

The departures meet: a row that one of them keeps may be the parent, the stand-in or the neighbour of another.
Such a row is counted under `follows from another row`, never under a departure that did not touch it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.encoders import Embedder
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.merging.beliefs import ALTERNATIVE
from lunguage_assets.implicit.merging.blacklist import Blacklist
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.rows import PAPER, values_of
from lunguage_assets.implicit.statements.qualifiers import QUALIFIER
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import ATTRIBUTES
from lunguage_assets.tables.paper import MODE_DIFFERENCES

_BELIEF = ("prob", "p_low", "p_high")
_CONTENT = ("parent_id", "evidence", "associate", "merged_ids", *ATTRIBUTES)
_GONE = ("merged", "removed", "discarded", "already stated", "spoken against")
_NOT_GENERATED = {"stated against": "spoken against", "already stated": "already stated"}


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
            difference, cause = "probability", _belief(one, other)
        elif any(one[name] != other[name] for name in _CONTENT):
            difference, cause = "content", _content(own, of_method, of_paper)
        else:
            continue
        found.append(
            {name: row[name] for name in ("study_id", "name", "status", "source")}
            | {"finding_id": own, "difference": difference, "cause": cause}
            | {"prob_method": one["prob"] if one else None, "prob_paper": other["prob"] if other else None}
        )
    return MODE_DIFFERENCES.frame(found)


def causes(differences: pd.DataFrame) -> pd.DataFrame:
    """MODE_DIFFERENCES counted by difference and cause.

    Columns: `difference`, `cause`, `rows`, `studies`; one row per combination that occurs.
    """
    grouped = differences.groupby(["difference", "cause"], sort=True)["study_id"].agg(["size", "nunique"])
    return grouped.rename(columns={"size": "rows", "nunique": "studies"}).reset_index()


def _belief(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Why a row of both modes has two probabilities or intervals."""
    if one["p_source"] == ALTERNATIVE:
        return "alternatives"
    if one["p_source"] == QUALIFIER:
        return "restricted denial"
    if one["source"] == "original" or one["parent_id"] != other["parent_id"]:
        return "follows from another row"
    if one["status"][1] == "n":
        return "denied sign"
    return "bounds of an edge" if one["prob"] == other["prob"] else "follows from another row"


class _Mode:
    """The rows of a mode by id, their groups before merging, and the fate of lost rows."""

    def __init__(self, result: ModeResult) -> None:
        names = ["finding_id", "study_id", "name", "status", "source", "match_reason", "p_source"]
        names += ["location_parts", *_BELIEF, *_CONTENT]
        self.rows: dict[str, Mapping[str, Any]] = {
            line[0]: dict(zip(names, line, strict=True)) for line in values_of(result.rows, *names)
        }
        merged = values_of(result.deduplicated, "finding_id", "merged_into")
        self._survivor = {own: survivor or own for own, survivor in merged}
        self._groups: dict[str, set[str]] = {}
        for own, survivor in self._survivor.items():
            self._groups.setdefault(survivor, set()).add(own)
        gone = result.log[result.log["event"].isin(_GONE)]
        fates = values_of(gone, "finding_id", "stage", "rule", "survivor_id", "location_parts")
        self.fate = {own: fate for own, *fate in fates}
        self.kept_apart = set(result.log.loc[result.log["event"] == "cell kept apart", "survivor_id"])

    def group(self, own: str) -> set[str]:
        """The rows that were merged with this one; empty for a generated row."""
        return self._groups.get(self._survivor.get(own, own), set())


def _absence(own: str, absent: _Mode, present: _Mode) -> str:
    """Why a row is missing from one mode and not from the other."""
    stage, rule, survivor, place = absent.fate.get(own, ("", "", "", ()))
    if stage == "deduplicate":
        return "highest p" if absent.group(own) == present.group(own) else "blacklist"
    if rule in _NOT_GENERATED:
        return _NOT_GENERATED[rule]
    standing = absent.rows.get(survivor)
    if standing is not None and standing["location_parts"] != place:
        return "same place"
    if rule.startswith(("rule 1", "rule 2")) and own in present.rows:
        return "same place"
    if rule.startswith("rule 3"):
        return "highest p"
    parent = absent.rows.get(own.rpartition("/")[0])
    if parent is not None and parent["match_reason"] == "resolved":
        return "resolved"
    left_out = parent is not None and own not in absent.fate
    return "condition of the pathway" if left_out else "follows from another row"


def _content(own: str, method: _Mode, paper: _Mode) -> str:
    """Why a row of both modes differs: other rows were merged into it, or a row around it changed."""
    if method.group(own) != paper.group(own):
        return "blacklist"
    if own in method.kept_apart:
        return "attributes kept apart"
    moved = method.rows[own]["location_parts"] != paper.rows[own]["location_parts"]
    return "condition of the pathway" if moved else "follows from another row"
