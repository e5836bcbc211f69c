"""Score of generated reports against their references, in which doubt counts (docs/score.md).

Each text is read into claims: a finding, its place, whether it is said to be there, and p. Claims of the two
texts about one finding at one place, or at a place inside the other's, are a pair. A pair costs how far apart
its two p are, by a proper score between 0 and 1; a claim without a partner costs 1. The score of a study is
1 - (2 x costs of pairs + claims without a partner) / (claims of both texts): Dice's coefficient, to which a
pair that is only half right adds half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import islice, product
from math import log
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.annotation.annotation import REPORTS_AT_ONCE, is_missing, report_of
from lunguage_assets.annotation.method import bundled_method
from lunguage_assets.draws import Floats
from lunguage_assets.errors import InputError
from lunguage_assets.implicit.statements.places import anatomy

LEAST_P = 0.01
"""What the logarithmic score takes for a p of 0, and 1 less it for 1: what is said without doubt may err."""
RESAMPLES = 1000
KEPT_CLAIMS = 500_000
"""Claims of texts that were read which are kept: about 100 MB."""

PARTS = ("presence", "certainty", "omission", "invention")
MEASURES = ("findings", "findings_log", *PARTS, "labels", "labels_log")


class Claim(NamedTuple):
    """What a text says of a finding (its name, or the label that it means) at a place."""

    subject: str | int
    place: tuple[str, ...]
    present: bool
    p: float


class _Read(NamedTuple):
    """A text: the claims of its findings, and of its labels."""

    findings: tuple[Claim, ...]
    labels: tuple[Claim, ...]


@dataclass(frozen=True, repr=False)
class Scores:
    """Scores of n pairs of texts; 1 is the same, 0 nothing in common.

    Args:
        studies: a row per pair, in the given order: `findings` and `labels` by the Brier score,
            `findings_log` and `labels_log` by the logarithmic one; what `findings` lost: `presence` (the
            other polarity), `certainty` (another p), `omission`, `invention`, which sum to 1 with it.
        corpus: a row per measure: `value`, the mean of the studies, and its 95% interval `low` to `high` by
            a bootstrap over studies.
    """

    studies: pd.DataFrame
    corpus: pd.DataFrame

    def __repr__(self) -> str:
        """The corpus' values."""
        return self.corpus.round(3).to_string()


def score(references: Sequence[str], generated: Sequence[str]) -> Scores:
    """The scores of generated reports against their references; a text is read once, whatever its pairs. A
    missing text (None, NaN) is a report that says nothing.

    Raises:
        InputError: not as many of the one as of the other, none, or something that is no text.
    """
    studies = pd.DataFrame(_scored(references, generated), columns=list(MEASURES))
    return Scores(studies, _with_intervals(studies))


def rewards(references: Sequence[str], generated: Sequence[str]) -> list[float]:
    """The score of the findings of every pair, by the Brier score, from 0 to 1. Raises `InputError`, as
    `score`.
    """
    return [row[0] for row in _scored(references, generated)]


def _scored(references: Sequence[str], generated: Sequence[str]) -> list[tuple[float, ...]]:
    for name, texts in (("references", references), ("generated", generated)):
        if isinstance(texts, str | bytes) or not isinstance(texts, Sized):
            found = f"a {type(texts).__name__}"
            raise InputError(name, found, "a list of texts", "Give each report as a text of a list.")
    if len(references) != len(generated) or not len(references):
        found = f"{len(references)} references and {len(generated)} generated reports"
        raise InputError("score", found, "as many of both, at least one", "Give each its reference.")
    first, second = _all_read("references", references), _all_read("generated", generated)
    return [_of_pair(one, other) for one, other in zip(first, second, strict=True)]


_known: dict[bytes, _Read] = {}
"""Texts that were read, by their digest, the oldest first."""


def _all_read(name: str, texts: Sequence[str]) -> list[_Read]:
    """Every text, from what was read before where it was."""
    digests = []
    new = {}
    for row, text in enumerate(texts):
        # As for `annotate`, a missing text is an empty report: a model that wrote nothing omits everything.
        content = "" if is_missing(text) else text
        report = report_of(str(row), content, "", name, ("", ""), row)
        digests.append(hashlib.blake2b(report.text.encode()).digest())
        if digests[-1] not in _known:
            new[digests[-1]] = report
    waiting = iter(new.items())
    read = {one: _known[one] for one in digests if one in _known}
    while part := dict(islice(waiting, REPORTS_AT_ONCE)):
        named = {f"s{number:08d}": report for number, report in enumerate(part.values())}
        found = bundled_method().stated(named)
        read |= zip(part, (_Read(*map(_distinct, found[study])) for study in named), strict=True)
    _known.update(read)
    if new:
        _forget_oldest()
    return [read[one] for one in digests]


def _forget_oldest() -> None:
    """Forget the texts that were read first, until few enough claims are kept."""
    kept_claims = sum(len(one.findings) + len(one.labels) for one in _known.values())
    for oldest in list(_known):
        if kept_claims <= KEPT_CLAIMS:
            break
        forgotten = _known.pop(oldest)
        kept_claims -= len(forgotten.findings) + len(forgotten.labels)


def _distinct(claims: Iterable[tuple[str | int, tuple[str, ...], bool, float]]) -> tuple[Claim, ...]:
    """Each claim once: what repeats a surer one, at the same place or one inside the other's, goes."""
    kept: list[Claim] = []
    for claim in sorted(map(Claim._make, claims), key=lambda one: -abs(one.p - 0.5)):
        if not any(one[:3:2] == claim[:3:2] and _meet(one, claim) for one in kept):
            kept.append(claim)
    return tuple(kept)


def _meet(one: Claim, other: Claim) -> bool:
    """Whether two claims are about one finding at one place; a denial is about all of its place."""
    covers = anatomy().covers
    if one.subject != other.subject:
        return False
    if one.present == other.present:
        return bool(covers(one.place, other.place) or covers(other.place, one.place))
    denial, presence = (other, one) if one.present else (one, other)
    return bool(covers(denial.place, presence.place))


def _pairs(reference: Sequence[Claim], generated: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """The best pairs, each claim in one at most: of one polarity, of one place, with the nearest p."""
    met = [(a, b) for a, b in product(range(len(reference)), range(len(generated)))
           if _meet(reference[a], generated[b])]  # fmt: skip

    def distance(pair: tuple[int, int]) -> tuple[bool, bool, float]:
        one, other = reference[pair[0]], generated[pair[1]]
        return one.present != other.present, one.place != other.place, abs(one.p - other.p)

    left, right = set[int](), set[int]()
    for a, b in sorted(met, key=distance):
        if a not in left and b not in right:
            left.add(a)
            right.add(b)
            yield reference[a], generated[b]


def _of_pair(reference: _Read, generated: _Read) -> tuple[float, ...]:
    """The measures of one pair of texts, in the order of `MEASURES`."""
    brier, log, *parts = _dice(reference.findings, generated.findings)
    return brier, log, *parts, *_dice(reference.labels, generated.labels)[:2]


def _dice(reference: Sequence[Claim], generated: Sequence[Claim]) -> tuple[float, ...]:
    """The score by Brier and by logarithm, and what the first lost, by `PARTS`. Two empty lists are alike."""
    presence = certainty = diverged = 0.0
    pairs = list(_pairs(reference, generated))
    for one, other in pairs:
        cost = (one.p - other.p) ** 2
        presence += cost * (one.present != other.present)
        certainty += cost * (one.present == other.present)
        diverged += divergence(one.p, other.p)
    omitted, invented = len(reference) - len(pairs), len(generated) - len(pairs)
    size = max(len(reference) + len(generated), 1)
    parts = [part / size for part in (2 * presence, 2 * certainty, omitted, invented)]
    return 1.0 - sum(parts), 1.0 - (2 * diverged + omitted + invented) / size, *parts


def divergence(p: float, q: float) -> float:
    """What the logarithmic score of q loses to that of p when p is true (Kullback-Leibler), as a share of the
    most that it can: 0 when the two are the same, 1 between the two certainties.
    """
    if p == q:
        return 0.0
    a, b = (min(max(one, LEAST_P), 1.0 - LEAST_P) for one in (p, q))
    most = (1.0 - 2.0 * LEAST_P) * log((1.0 - LEAST_P) / LEAST_P)
    return (a * log(a / b) + (1.0 - a) * log((1.0 - a) / (1.0 - b))) / most


def _with_intervals(studies: pd.DataFrame) -> pd.DataFrame:
    """Means of the studies with 95% percentile intervals of resampled studies."""
    values, draw, size = studies.to_numpy(), np.random.default_rng(0), len(studies)
    shares = np.full(size, 1.0 / size)
    means: Floats = np.array([draw.multinomial(size, shares) @ values / size for _ in range(RESAMPLES)])
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    found = {"value": values.mean(axis=0), "low": low, "high": high}
    return pd.DataFrame(found, index=pd.Index(studies.columns, name="measure"))
