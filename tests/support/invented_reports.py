"""Small invented reports for the tests of the implicit half, and one call that takes
them through all of its stages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
from stored_tables import plain_row

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.expansion.expand import Expansion, expand
from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.implicit.merging.merge_constraints import Blacklist, load_blacklist
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    load_dictionary,
)
from lunguage_assets.implicit.policy import POLICIES
from lunguage_assets.implicit.resolution.guarantees import account
from lunguage_assets.implicit.resolution.resolve import Resolution, resolve
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import (
    ATTRIBUTES,
    FINDINGS,
    FITTED_PROBABILITIES,
    REJECTED,
    REPORTS,
    SET_ASIDE,
    TERMS,
)

STUDY = "s00000001"


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary:
    return Vocabulary(TERMS.frame())


@lru_cache(maxsize=1)
def dictionary() -> PathwayDictionary:
    return load_dictionary(None, vocabulary())


@lru_cache(maxsize=1)
def labels() -> LabelList:
    return load_label_list()


@cache
def blacklist(mode: str = "method") -> Blacklist:
    return load_blacklist(policy=POLICIES[mode])


@dataclass
class StatedFinding:
    """One finding of an invented report; `p` only for tentative ones (None: never
    fitted).
    """

    ent: str
    status: str = "dp"
    location: str = ""
    p: float | None = 0.6
    section: str = "find"
    view: str = "pa, lateral"
    study: str = STUDY
    evidence: Sequence[int | str] = ()
    associate: Sequence[int | str] = ()
    attributes: dict[str, str] = field(default_factory=dict)
    sent_idx: int | None = None
    row: int | None = None
    sent: str = "invented"
    phrases: Sequence[str] = ()
    cues: str = ""


def stated(ent: str, status: str = "dp", **options: Any) -> StatedFinding:
    """A finding; options that are attributes of a finding are taken as such."""
    attributes = {
        name: options.pop(name) for name in list(options) if name in ATTRIBUTES
    }
    return StatedFinding(ent, status, attributes=attributes, **options)


def identity(row: int, study: str = STUDY) -> str:
    return f"{study}:{row}"


def frames(
    rows: Iterable[StatedFinding],
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """FINDINGS, FITTED_PROBABILITIES and REPORTS; a row's number is its position unless
    given, references are row numbers or tokens.
    """
    findings: list[dict[str, Any]] = []
    fitted: list[dict[str, Any]] = []
    delivered = Counter[str]()
    views = {}
    for position, row in enumerate(rows):
        number = position if row.row is None else row.row
        finding_id = identity(number, row.study)
        past = row.section == "hist" or bool(row.attributes.get("past_hx"))
        values = {
            "finding_id": finding_id, "subject_id": "p00000001", "study_id": row.study, "section": row.section,
            "sent_idx": number if row.sent_idx is None else row.sent_idx, "sent": row.sent,
            "ent_idx": number, "ent": row.ent, "name": vocabulary().finding(row.ent), "status": row.status,
            "location": row.location, "location_parts": list(vocabulary().location_parts(row.location)),
            "evidence": _tokens(row.evidence, row.study), "associate": _tokens(row.associate, row.study),
            "currency": "past dx" if past else "current dx", "view_information": row.view, "cues": row.cues,
            "row": number, "mask_state": "not needed",
        }  # fmt: skip
        findings.append(plain_row(FINDINGS, **values | row.attributes))
        delivered[row.study] += 1
        views[row.study] = row.view
        if row.status[0] == "t" and row.p is not None:
            fitted.append(_fitted(finding_id, row.study, row.p, row.phrases))
    reports = [
        {
            "study_id": study, "subject_id": "p00000001", "source_id": study, "sequence": 1, "report": "",
            "view_information": views[study], "view_source": "metadata", "rows_delivered": count,
            "rows_rejected": 0,
        }
        for study, count in delivered.items()
    ]  # fmt: skip
    fits = FITTED_PROBABILITIES.frame(fitted)
    return FINDINGS.frame(findings), fits, REPORTS.frame(reports)


def _tokens(references: Sequence[int | str], study: str) -> list[str]:
    return [
        identity(token, study) if isinstance(token, int) else token
        for token in references
    ]


def _fitted(
    finding_id: str, study: str, p: float, phrases: Sequence[str]
) -> dict[str, Any]:
    values = {
        "finding_id": finding_id, "study_id": study, "phrases": list(phrases), "sentence_key": "0b",
        "mu": 25.0, "sigma": 1.0, "rank": 1, "mu_sd": 1.0, "steps": 20, "answers": 20, "stop": "stable rank",
        "invalid_answers": 0, "p": p, "p_low": p / 2, "p_high": (1 + p) / 2, "p_source": "fitted",
        "ranking_version": "v1",
    }  # fmt: skip
    return plain_row(FITTED_PROBABILITIES, **values)


class AlikeEmbedder:
    """Takes everything for the same: the worst that an encoder can do."""

    identity = "alike"

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, phrases: Sequence[str]) -> np.ndarray:
        self.encoded += phrases
        return np.ones((len(phrases), 1), dtype=np.float32)


class TableEmbedder(LexicalEmbedder):
    """Cosines as listed by pairs of phrases, 0 otherwise."""

    identity = "table"

    def __init__(self, listed: dict[tuple[str, str], float]) -> None:
        self._listed = {frozenset(pair): cosine for pair, cosine in listed.items()}

    def cosines(self, phrases: Sequence[str]) -> np.ndarray:
        return np.array(
            [
                [self._listed.get(frozenset((a, b)), float(a == b)) for b in phrases]
                for a in phrases
            ]
        )


class AnyCosines(LexicalEmbedder):
    """Cosines that mean nothing, many alike and many at the threshold."""

    def __init__(self, salt: int) -> None:
        self.identity = f"any-{salt}"

    def cosine(self, phrase_1: str, phrase_2: str) -> float:
        if phrase_1 == phrase_2:
            return 1.0
        pair = [self.identity, *sorted((phrase_1, phrase_2))]
        number = blake2b(repr(pair).encode(), digest_size=1).digest()[0]
        return (0.0, 0.9, 0.9, 0.95, 0.9999999, 1.0, 1.0000002)[number % 7]

    def cosines(self, phrases: Sequence[str]) -> np.ndarray:
        return np.array([[self.cosine(a, b) for b in phrases] for a in phrases])


@dataclass
class Outcome:
    """All tables of one run; rows are resolved and accounts made when a test looks at
    them.
    """

    reports: pd.DataFrame
    fitted: pd.DataFrame
    deduplicated: pd.DataFrame
    expansion: Expansion
    resolved: Callable[[], Resolution]

    @cached_property
    def resolution(self) -> Resolution:
        return self.resolved()

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """What the accounts are made of."""
        return {
            "reports": self.reports,
            "rejected": REJECTED.frame(),
            "fitted_probabilities": self.fitted,
            "deduplicated_findings": self.deduplicated,
            "pathway_matches": self.expansion.matches,
            "expansions": self.expansion.expansions,
            "lunguage_plus_plus": self.resolution.rows,
            "resolution_log": self.resolution.log,
            "conflicts": self.resolution.conflicts,
        }

    @cached_property
    def accounting(self) -> pd.DataFrame:
        return account(self.tables)

    @property
    def stored(self) -> dict[str, pd.DataFrame]:
        """What a run stores."""
        beside = {"accounting": self.accounting, "set_aside": SET_ASIDE.frame()}
        return self.tables | beside

    @property
    def rows(self) -> pd.DataFrame:
        return self.resolution.rows

    def row(self, finding_id: str) -> dict[str, Any]:
        """The resolved row of that id."""
        return record(self.rows, finding_id)

    def match(self, finding_id: str) -> dict[str, Any]:
        return record(self.expansion.matches, finding_id)

    def child(self, finding_id: str) -> dict[str, Any]:
        return record(self.expansion.expansions, finding_id)

    def ids(self) -> set[str]:
        return set(self.rows["finding_id"])

    def names(self) -> list[str]:
        """Names of the resolved rows, in order."""
        return self.rows["name"].tolist()


def record(frame: pd.DataFrame, finding_id: str) -> dict[str, Any]:
    rows = frame[frame["finding_id"] == finding_id].to_dict("records")
    assert len(rows) == 1, f"{len(rows)} rows have id {finding_id}"
    return rows[0]


def deduplicated(
    rows: Iterable[StatedFinding],
    *,
    embedder: Any = None,
    history: str = "exclude",
    listed: Blacklist | None = None,
    threshold: float = 0.9,
) -> pd.DataFrame:
    findings, fitted, _ = frames(rows)
    settings = ImplicitSettings(history=history, merge_threshold=threshold)
    compared_by = embedder or LexicalEmbedder(vocabulary()), listed or blacklist()
    return deduplicate(findings, fitted, *compared_by, settings, labels())


def run(
    rows: Iterable[StatedFinding],
    *,
    mode: str = "method",
    embedder: Any = None,
    history: str = "exclude",
    shuffle: int | None = None,
    listed: Blacklist | None = None,
    pathways: PathwayDictionary | None = None,
) -> Outcome:
    """Deduplicate, expand, resolve and account; the later stages are told of the mode
    by the rows alone. `shuffle` seeds a random order of the input rows of every stage.
    """
    findings, fitted, reports = frames(list(rows))
    settings = ImplicitSettings(history=history, mode=mode)
    compared_by = embedder or LexicalEmbedder(vocabulary()), listed or blacklist(mode)
    shuffled = mixed(findings, shuffle), mixed(fitted, shuffle)
    merged = deduplicate(*shuffled, *compared_by, settings, labels())
    labels_used = load_label_list(pathways) if pathways else labels()
    expansion = expand(mixed(merged, shuffle), labels_used)
    expanded = Expansion(
        mixed(expansion.matches, shuffle), mixed(expansion.expansions, shuffle)
    )

    def resolved() -> Resolution:
        return resolve(mixed(merged, shuffle), *expanded, labels_used, "v1")

    return Outcome(reports, fitted, merged, expansion, resolved)


def mixed(frame: pd.DataFrame, seed: int | None) -> pd.DataFrame:
    if seed is None:
        return frame
    return frame.sample(frac=1.0, random_state=seed, ignore_index=True)
