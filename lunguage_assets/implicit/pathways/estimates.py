"""Estimates of implied findings beside their bounds: the pathways of a study as a noisy-OR network
(implicit.md section 4). Off by default, and never in mode `paper`.

A node is a diagnosis or a sign at a place, and true when it is as its pathway implies it. It is true without
any cause with its leak, and each diagnosis that implies it makes it true with a strength of its own. What is
stated without doubt is known; a hedge is a likelihood: its p is a posterior, which is divided by its prior
odds. Marginals are exact: every state of the uncertain causes is enumerated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.implicit.pathways.audit import (
    Counts,
    EdgeKey,
    Mention,
    edge_counts,
)
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.rows import PAPER, by_study, read_rows, rounded, values_of
from lunguage_assets.implicit.statements.against import Statements
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.randomness import Floats

EXPERTS = (9.0, 1.0)
"""Beta prior of P(sign | diagnosis) for the experts' "above 0.8": mean 0.9, above 0.8 with 0.87."""
CHANCE = (1.0, 9.0)
"""Beta prior of a leak and a base rate: mean 0.1, worth ten studies, as that of the experts."""
MOST_CAUSES = 16
"""Uncertain causes of a study of which every state is enumerated; with more nothing is estimated."""

Sign = tuple[str, bool]
"""Canonical name of a sub-finding, and whether the pathway implies that it is present."""

ALONE, ANYWHERE = "alone", "anywhere"
_LOG = {"already stated": True, "spoken against": False}

SignCounts = Counter[tuple[str, str, Mention]]
"""Studies by name, by `ALONE` (no stated diagnosis implies it) or `ANYWHERE`, and by what is said of it."""


def sign_counts(
    rows: pd.DataFrame, dictionary: PathwayDictionary, listed: LabelList
) -> SignCounts:
    """What stated rows of whole LUNGUAGE_PLUS_PLUS studies say of each sub-finding, with and without a
    diagnosis that implies it; counts may be added up.
    """
    implied_by: dict[str, set[str]] = {}
    for diagnosis in dictionary.diagnoses:
        for pathway in dictionary.pathways_of(diagnosis):
            for edge in pathway.edges:
                implied_by.setdefault(edge.name, set()).add(diagnosis)
    found: SignCounts = Counter()
    stated = rows[
        (rows["source"] == "original") & (rows["currency"] == "current dx")
    ].drop(columns="mode")
    for study in by_study(read_rows(stated)):
        statements, said, diagnoses = (
            Statements(listed, ()),
            dict[str, set[bool]](),
            set[str](),
        )
        for row in study:
            for one in statements.of(row):
                name = (
                    one.subject
                    if isinstance(one.subject, str)
                    else listed.names[one.subject]
                )
                said.setdefault(name, set()).add(one.present)
            diagnoses |= {listed.read(row).diagnosis} if row.positive else set()
        for name in implied_by.keys() & said.keys():
            mention: Mention = (
                "both"
                if len(said[name]) == 2
                else "present"
                if True in said[name]
                else "absent"
            )
            found[name, ANYWHERE, mention] += 1
            if not diagnoses & implied_by[name]:
                found[name, ALONE, mention] += 1
    return found


@dataclass(frozen=True)
class Estimator:
    """What the network is made of; probabilities of what the pathway implies, be it presence or absence.

    Args:
        edges: of every edge its sign, and P(sign | this diagnosis alone).
        leaks: P(sign | mentioned, no diagnosis that implies it).
        priors: P(sign | mentioned).
    """

    edges: Mapping[EdgeKey, tuple[Sign, float]]
    leaks: Mapping[Sign, float]
    priors: Mapping[Sign, float]

    def estimates(self, rows: pd.DataFrame, log: pd.DataFrame) -> pd.Series:
        """P(present) of the implied rows of whole LUNGUAGE_PLUS_PLUS studies with their RESOLUTION_LOG; NaN
        of stated rows, in mode `paper`, and of a study with too many causes.
        """
        links: dict[str, list[tuple[str, str, str]]] = {}
        for study, *link in values_of(
            log, "study_id", "event", "finding_id", "survivor_id"
        ):
            if link[0] in _LOG and link[2] is not None:
                links.setdefault(study, []).append((link[0], link[1], link[2]))
        found: dict[str, float] = {}
        for study, own in rows[rows["mode"] != PAPER].groupby("study_id", sort=False):
            if (own["source"] == "expansion").any():
                found |= self._of_study(own, links.get(str(study), ()))
        return rows["finding_id"].map(found).astype("float64")

    def with_labels(
        self, labels: pd.DataFrame, rows: pd.DataFrame, log: pd.DataFrame
    ) -> pd.DataFrame:
        """LABELS with `p_estimate`: of an implied label that of the row that decided."""
        estimates = self.estimates(rows, log).where(rows["status"].str.endswith("p"))
        known = dict(zip(rows["finding_id"], estimates, strict=True))
        found = labels["finding_id"].map(known).astype("float64")
        return labels.assign(p_estimate=found.where(labels["source"] == "implied"))

    def _of_study(
        self, rows: pd.DataFrame, links: Iterable[tuple[str, str, str]]
    ) -> dict[str, float]:
        names = ("finding_id", "source", "support", "prob", "pathway_id", "merged_ids")
        told = {own: values for own, *values in values_of(rows, *names)}
        net = _Network(self)
        for own, (source, _, prob, _, merged) in told.items():
            if source == "original":
                net.known(own, prob)
            for one in (own, *merged) if source == "expansion" else ():
                net.implied(own, self._edge(one, told))
        for event, child, survivor in links:
            if survivor in told:
                agrees, support = _LOG[event], told[survivor][1]
                node = survivor if agrees else f"not {survivor}"
                net.known(node, support if agrees else 1.0 - support)
                net.implied(node, self._edge(child, told))
        believed = net.marginals()
        return {
            own: rounded(p if net.signs[own][1] else 1.0 - p)
            for own, p in believed.items()
            if own in net.signs and told.get(own, [""])[0] == "expansion"
        }

    def _edge(
        self, child: str, told: Mapping[str, Sequence[object]]
    ) -> tuple[str, EdgeKey] | None:
        """The living diagnosis and the edge that imply a row, by the row's id; None without them."""
        parent, _, edge = child.rpartition("/")
        if parent not in told:
            return None
        key = str(told[parent][3]), int(edge)
        return (parent, key) if key in self.edges else None


class _Network:
    """Nodes by id, with what is known of them and what implies them."""

    def __init__(self, of: Estimator) -> None:
        self._of, self.signs = of, dict[str, Sign]()
        self._believed: dict[str, float | None] = {}
        self._causes: dict[str, dict[str, float]] = {}

    def known(self, node: str, p: float) -> None:
        self._believed[node] = p

    def implied(self, node: str, by: tuple[str, EdgeKey] | None) -> None:
        self._believed.setdefault(node, None)
        if by is not None:
            cause, (sign, share) = by[0], self._of.edges[by[1]]
            self.signs.setdefault(node, sign)
            leak = self._of.leaks[self.signs[node]]
            alone = max(
                0.0, (share - leak) / (1.0 - leak)
            )  # so that leak and cause together have the share
            own = self._causes.setdefault(node, {})
            own[cause] = max(alone, own.get(cause, 0.0))

    def marginals(self) -> dict[str, float]:
        """P(node) of every node; nothing for a study with too many causes."""
        nodes = list(self._believed)
        place = {node: number for number, node in enumerate(nodes)}
        leaks, strengths = np.zeros(len(nodes)), np.zeros((len(nodes), len(nodes)))
        weights = np.ones((len(nodes), 2))
        for node, p in self._believed.items():
            at, sign = place[node], self.signs.get(node)
            if sign is None:
                leaks[at] = 0.5 if p is None else p
                continue
            leaks[at] = self._of.leaks[sign]
            for cause, strength in self._causes[node].items():
                strengths[place[cause], at] = strength
            if p is not None:
                prior = self._of.priors[sign]
                weights[at] = (1.0 - p) / (1.0 - prior), p / prior
        found = marginals(leaks, strengths, weights)
        return {} if found is None else dict(zip(nodes, found.tolist(), strict=True))


def marginals(leaks: Floats, strengths: Floats, weights: Floats) -> Floats | None:
    """P(node is true) of every node of a noisy-OR network, exactly; None with more than `MOST_CAUSES`
    uncertain causes.

    Args:
        leaks: (n,): P(true) without a cause.
        strengths: (n, n): how strongly the row's node causes the column's; without cycles.
        weights: (n, 2): likelihood of what is known, of false and of true; 1, 1 of nothing.
    """
    is_cause = strengths.any(axis=1)
    fixed = (weights == 0.0).any(axis=1) | (
        ~strengths.any(axis=0) & np.isin(leaks, (0.0, 1.0))
    )
    open_ = np.flatnonzero(is_cause & ~fixed)
    if len(open_) > MOST_CAUSES:
        return None
    states: NDArray[np.float64] = np.zeros((2 ** len(open_), len(leaks)))
    states[:, open_] = (np.arange(len(states))[:, None] >> np.arange(len(open_))) & 1
    states[:, fixed] = np.where(
        weights[fixed, 0] == 0.0,
        1.0,
        np.where(weights[fixed, 1] == 0.0, 0.0, leaks[fixed]),
    )
    with np.errstate(divide="ignore"):
        true = 1.0 - (1.0 - leaks) * np.exp(
            states[:, is_cause] @ np.log1p(-strengths[is_cause])
        )
    terms = np.stack([(1.0 - true) * weights[:, 0], true * weights[:, 1]])
    either = terms.sum(axis=0)
    chosen = np.where(states == 1.0, terms[1], terms[0])
    joint = np.where(is_cause, chosen, either).prod(axis=1)
    share = np.divide(terms[1], either, out=np.zeros_like(either), where=either > 0.0)
    of_state = np.where(is_cause, states, share)
    return np.asarray(joint @ of_state / joint.sum()) if joint.sum() > 0.0 else None


def estimator(
    edges: Counts, signs: SignCounts, dictionary: PathwayDictionary
) -> Estimator:
    """Means of the Beta posteriors of all counts: `EXPERTS` for edges, `CHANCE` for leaks and priors."""
    shares: dict[EdgeKey, tuple[Sign, float]] = {}
    rates: dict[str, dict[Sign, float]] = {ALONE: {}, ANYWHERE: {}}
    for key, sign in _signs(dictionary):
        expected: tuple[Mention, Mention] = (
            ("present", "absent") if sign[1] else ("absent", "present")
        )
        shares[key] = sign, _mean(EXPERTS, *(edges[key, one] for one in expected))
        for where, known in rates.items():
            known[sign] = _mean(
                CHANCE, *(signs[sign[0], where, one] for one in expected)
            )
    return Estimator(shares, rates[ALONE], rates[ANYWHERE])


def counted_estimator(
    parts: Iterable[pd.DataFrame], dictionary: PathwayDictionary
) -> Estimator:
    """The estimator of LUNGUAGE_PLUS_PLUS, of which every part has whole studies."""
    edges, signs, listed = (
        Counts(),
        SignCounts(),
        load_label_list(dictionary=dictionary),
    )
    for rows in parts:
        edges.update(edge_counts(rows, dictionary, listed))
        signs.update(sign_counts(rows, dictionary, listed))
    return estimator(edges, signs, dictionary)


def _signs(dictionary: PathwayDictionary) -> Iterator[tuple[EdgeKey, Sign]]:
    for diagnosis in dictionary.diagnoses:
        for pathway in dictionary.pathways_of(diagnosis):
            for number, edge in enumerate(pathway.edges):
                yield (pathway.id, number), (edge.name, edge.status == "dp")


def _mean(prior: tuple[float, float], hits: int, misses: int) -> float:
    return (prior[0] + hits) / (sum(prior) + hits + misses)
