"""Score of generated reports against their references, weighed as radiologists weigh errors,
in which doubt counts (docs/score.md).

Each text is read into claims (`claims.py`). A finding that both texts claim is a pair: it
keeps the part of its weight that is left by another name, place or description, and by
another p. What only one text claims is omitted or invented, what the other denies is of the
wrong presence. The score of a study is the weight that was kept, as a share of what was kept
and lost: (agreement + kept) / (agreement + kept + lost).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import islice
from math import log, log2
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.annotation.annotation import REPORTS_AT_ONCE
from lunguage_assets.annotation.claims import Claim, claims_of, regions_cover
from lunguage_assets.annotation.given_reports import (
    GivenReport,
    Origin,
    given_report,
    is_missing,
)
from lunguage_assets.annotation.method import StatedLabel, bundled_method
from lunguage_assets.annotation.significance import (
    LARGE,
    Significance,
    packaged_significance,
)
from lunguage_assets.errors import InputError
from lunguage_assets.randomness import Floats

LEAST_P = 0.01
"""What the logarithmic score takes for a p of 0, and 1 less it for 1: what is said without doubt may err."""
RESAMPLES = 1000
KEPT_CLAIMS = 500_000
"""Claims of texts that were read which are kept: about 200 MB."""

PARTS = (
    "presence",
    "certainty",
    "omission",
    "invention",
    "name",
    "place",
    "description",
)
MEASURES = ("findings", "findings_log", *PARTS, "labels", "labels_log")


class _Read(NamedTuple):
    """A text: whether anything stands in it, the findings that it says are there and those that it denies,
    and its labels.
    """

    is_blank: bool
    present: tuple[Claim, ...]
    absent: tuple[Claim, ...]
    labels: tuple[StatedLabel, ...]

    @property
    def says_something(self) -> bool:
        return bool(self.present or self.absent)


class _PairShares(NamedTuple):
    """What part of a finding is lost between two claims, and by what."""

    total: float
    name: float
    place: float
    description: float


@dataclass(frozen=True, repr=False)
class Scores:
    """Scores of n pairs of texts; 1 says the same, 0 is a text from which nothing was read.

    Args:
        studies: a row per pair, in the given order: `findings`, by the Brier score, and
            `findings_log`, by the logarithmic one; what `findings` lost, which sums to 1
            with it: `presence` (one text denies it), `certainty` (another p), `omission`,
            `invention`, `name` (a more general or a near finding), `place`, `description`
            (extent, size, course, kind); `labels` and `labels_log`, of the study's labels,
            each counted the same.
        corpus: a row per measure: `value`, the mean of the studies, and its 95% interval `low` to `high` by
            a bootstrap over studies.
    """

    studies: pd.DataFrame
    corpus: pd.DataFrame

    def __repr__(self) -> str:
        """The corpus' values."""
        return self.corpus.round(3).to_string()


def score(references: Sequence[str], generated: Sequence[str]) -> Scores:
    """Score generated reports against their references.

    A text is read once, whatever its pairs. A missing text (None, NaN) is a report that says nothing.

    Raises:
        InputError: not as many of the one as of the other, none, or something that is no text.
    """
    studies = pd.DataFrame(_scored(references, generated), columns=list(MEASURES))
    return Scores(studies, _with_intervals(studies))


def rewards(references: Sequence[str], generated: Sequence[str]) -> list[float]:
    """Score the findings of every pair by the Brier score, from 0 to 1. Raises `InputError`, as `score`."""
    return [row[0] for row in _scored(references, generated)]


def _scored(
    references: Sequence[str], generated: Sequence[str]
) -> list[tuple[float, ...]]:
    for name, texts in (("references", references), ("generated", generated)):
        if isinstance(texts, str | bytes) or not isinstance(texts, Sized):
            found = f"a {type(texts).__name__}"
            raise InputError(
                name, found, "a list of texts", "Give each report as a text of a list."
            )
    if len(references) != len(generated) or not len(references):
        found = f"{len(references)} references and {len(generated)} generated reports"
        raise InputError(
            "score", found, "as many of both, at least one", "Give each its reference."
        )
    reference_reads = _all_read("references", references)
    generated_reads = _all_read("generated", generated)
    significance = packaged_significance()
    return [
        (
            *_finding_measures(reference, other, significance),
            *_label_measures(reference.labels, other.labels),
        )
        for reference, other in zip(reference_reads, generated_reads, strict=True)
    ]


_known: dict[bytes, _Read] = {}
"""Texts that were read, by their digest, the oldest first."""


def _all_read(name: str, texts: Sequence[str]) -> list[_Read]:
    """Read every text; what was read before is not read again.

    Args:
        name: of the texts, for messages.
        texts: a missing one is an empty report, as for `annotate`: a model that wrote
            nothing omits everything.
    """
    digests = []
    unread: dict[bytes, GivenReport] = {}
    for row, text in enumerate(texts):
        content = "" if is_missing(text) else text
        report = given_report(str(row), content, "", Origin(name, row=row))
        digest = hashlib.blake2b(report.text.encode()).digest()
        digests.append(digest)
        if digest not in _known:
            unread[digest] = report
    # Looked up first: what is known may be forgotten when the new texts are kept.
    answers = {digest: _known[digest] for digest in digests if digest in _known}
    newly_read: dict[bytes, _Read] = {}
    waiting = iter(unread.items())
    while part := dict(islice(waiting, REPORTS_AT_ONCE)):
        newly_read.update(_read_part(part))
    _known.update(newly_read)
    if newly_read:
        _forget_oldest()
    answers |= newly_read
    return [answers[digest] for digest in digests]


def _read_part(reports: Mapping[bytes, GivenReport]) -> dict[bytes, _Read]:
    """Read the claims and labels of texts, by their digest."""
    digest_by_study = {
        f"s{number:08d}": digest for number, digest in enumerate(reports)
    }
    stated = bundled_method().stated(
        {study: reports[digest] for study, digest in digest_by_study.items()}
    )
    significance = packaged_significance()
    read = {}
    for study, digest in digest_by_study.items():
        claims = claims_of(stated[study].findings, significance)
        read[digest] = _Read(
            is_blank=not reports[digest].text.strip(),
            present=tuple(claim for claim in claims if claim.present),
            absent=tuple(claim for claim in claims if not claim.present),
            labels=tuple(stated[study].labels),
        )
    return read


def _forget_oldest() -> None:
    """Forget the texts that were read first, until few enough claims are kept."""
    kept_claims = sum(map(_size, _known.values()))
    for oldest in list(_known):
        if kept_claims <= KEPT_CLAIMS:
            break
        forgotten = _known.pop(oldest)
        kept_claims -= _size(forgotten)


def _size(read: _Read) -> int:
    return len(read.present) + len(read.absent) + len(read.labels)


class _Tally:
    """What a pair of texts kept and lost, by the part that lost it."""

    def __init__(self) -> None:
        self.kept = 0.0
        self.kept_log = 0.0
        self.certainty_log = 0.0
        self.lost = dict.fromkeys(PARTS, 0.0)

    def measures(self, agreement: float) -> tuple[float, ...]:
        """`findings`, `findings_log` and the parts, as shares of what was kept and lost together."""
        lost = sum(self.lost.values())
        whole = agreement + self.kept + lost
        lost_log = lost - self.lost["certainty"] + self.certainty_log
        kept_log = agreement + self.kept_log
        parts = [self.lost[part] / whole for part in PARTS]
        # `findings` is what the parts leave of 1, so that rounding never makes them disagree.
        return 1.0 - sum(parts), kept_log / (kept_log + lost_log), *parts


def _finding_measures(
    reference: _Read, generated: _Read, significance: Significance
) -> tuple[float, ...]:
    """The measures of the findings of one pair of texts."""
    tally = _Tally()
    pairs = _pairs(reference.present, generated.present, significance)
    for one, other, shares in pairs:
        _add_pair(tally, one, other, shares, significance)
    paired_references = {id(one) for one, _, _ in pairs}
    paired_generated = {id(other) for _, other, _ in pairs}
    for claim in reference.present:
        if id(claim) not in paired_references:
            _add_alone(tally, "omission", claim, generated, significance)
    for claim in generated.present:
        if id(claim) not in paired_generated:
            _add_alone(tally, "invention", claim, reference, significance)
    _add_denials(tally, reference.absent, generated.absent, significance)
    if not reference.says_something and not generated.says_something:
        return 1.0, 1.0, *([0.0] * len(PARTS))
    # A text that says nothing agrees with nothing, not even with a normal film. Words of a reference that
    # cannot be read are taken for normal ones.
    is_agreeing = generated.says_something and not reference.is_blank
    if is_agreeing:
        return tally.measures(significance.agreement)
    if not tally.kept and not sum(tally.lost.values()):
        tally.lost["omission" if reference.says_something else "invention"] = 1.0
    return tally.measures(0.0)


def _pairs(
    reference: Sequence[Claim], generated: Sequence[Claim], significance: Significance
) -> list[tuple[Claim, Claim, _PairShares]]:
    """Pairs of claims about one finding, each claim in one at most, those that lose least first."""
    possible = []
    for a, one in enumerate(reference):
        for b, other in enumerate(generated):
            name_share = significance.name_share(one.concept, other.concept)
            if name_share < 1.0:
                shares = _pair_shares(one, other, name_share, significance)
                possible.append((shares.total, abs(one.p - other.p), a, b, shares))
    possible.sort()
    used_references = set[int]()
    used_generated = set[int]()
    pairs = []
    for _, _, a, b, shares in possible:
        if a not in used_references and b not in used_generated:
            used_references.add(a)
            used_generated.add(b)
            pairs.append((reference[a], generated[b], shares))
    return pairs


def _pair_shares(
    one: Claim, other: Claim, name_share: float, significance: Significance
) -> _PairShares:
    """What part of a finding is lost between two claims: by its name, of the rest by its place, of the rest
    by its description.
    """
    after_name = 1.0 - name_share
    after_place = after_name * (1.0 - _place_share(one, other, significance))
    kept = after_place * (1.0 - _description_share(one, other, significance))
    return _PairShares(
        1.0 - kept, name_share, after_name - after_place, after_place - kept
    )


def _place_share(one: Claim, other: Claim, significance: Significance) -> float:
    """What part of a finding is lost by its place."""
    shares = significance.shares
    if significance.is_placeless(one.concept) or significance.is_placeless(
        other.concept
    ):
        return 0.0
    kept = 1.0
    if one.side != other.side:
        kept *= 1.0 - (
            shares.other_side if one.side and other.side else shares.side_unsaid
        )
    if one.regions != other.regions:
        if regions_cover(one.regions, other.regions) or regions_cover(
            other.regions, one.regions
        ):
            is_said = one.regions and other.regions
            kept *= 1.0 - (shares.region_wider if is_said else shares.region_unsaid)
        else:
            kept *= 1.0 - shares.other_region
    if one.details != other.details:
        kept *= 1.0 - shares.detail
    return 1.0 - kept


def _description_share(one: Claim, other: Claim, significance: Significance) -> float:
    """What part of a finding is lost by how much there is of it, its size, its course and its kind."""
    kept = 1.0 - _extent_share(one.extent, other.extent, significance)
    kept *= 1.0 - _size_share(one, other, significance)
    kept *= 1.0 - significance.course_share(one.courses, other.courses)
    kept *= 1.0 - significance.mark_share(one.marks, other.marks)
    return 1.0 - kept


def _extent_share(
    one: float | None, other: float | None, significance: Significance
) -> float:
    shares = significance.shares
    if one == other:
        return 0.0
    if one is None or other is None:
        said = one if one is not None else other
        is_large = said is not None and said >= LARGE
        return shares.extent_unsaid_large if is_large else shares.extent_unsaid
    return min(shares.extent_step * abs(one - other), shares.extent_most)


def _size_share(one: Claim, other: Claim, significance: Significance) -> float:
    """What part of a finding is lost by its measured size: by its logarithm, as 6 and 12 mm differ as much as
    3 and 6 cm do.
    """
    shares = significance.shares
    if one.size_mm == other.size_mm:
        return 0.0
    is_absurd = _is_absurd(one, significance)
    # An absurd size beside a possible one is a mistake, whether or not the other report measures.
    if is_absurd != _is_absurd(other, significance):
        return shares.size_absurd
    if not one.size_mm or not other.size_mm:
        return shares.size_unsaid
    smaller, larger = sorted((one.size_mm, other.size_mm))
    share = shares.size_doubled * log2(larger / smaller)
    if any(smaller < threshold <= larger for threshold in significance.thresholds_mm):
        share += shares.size_threshold
    return min(share, shares.size_most)


def _is_absurd(claim: Claim, significance: Significance) -> bool:
    return claim.size_mm is not None and significance.is_absurd(
        claim.concept, claim.size_mm
    )


def _add_pair(
    tally: _Tally,
    one: Claim,
    other: Claim,
    shares: _PairShares,
    significance: Significance,
) -> None:
    """Add what a pair kept and lost.

    What its name, place and description lose is that part of what it would lose to leave the finding out and
    to invent another. What is kept of it loses by the distance of the two p.
    """
    weight = (one.weight + other.weight) / 2.0
    alone = 2.0 * significance.unsaid * weight * one.p
    tally.lost["name"] += alone * shares.name
    tally.lost["place"] += alone * shares.place
    tally.lost["description"] += alone * shares.description
    kept = weight * (1.0 - shares.total)
    distance = (one.p - other.p) ** 2
    distance_log = divergence(one.p, other.p)
    tally.lost["certainty"] += kept * distance
    tally.certainty_log += kept * distance_log
    tally.kept += kept * (1.0 - distance)
    tally.kept_log += kept * (1.0 - distance_log)


def _add_alone(
    tally: _Tally,
    part: str,
    claim: Claim,
    other_text: _Read,
    significance: Significance,
) -> None:
    """Add what is lost by a claim without a partner in the other text."""
    denial = _denial_of(claim, other_text.absent, significance)
    if denial is not None:
        tally.lost["presence"] += claim.weight * abs(claim.p - denial.p)
        return
    share = min(
        (_covered_share(claim, other, significance) for other in other_text.present),
        default=1.0,
    )
    tally.lost[part] += significance.unsaid * claim.weight * claim.p * share


def _denial_of(
    claim: Claim, denials: Sequence[Claim], significance: Significance
) -> Claim | None:
    """The surest denial of a finding, or of a more general one, at a place that contains its own."""
    speaking = [
        denial
        for denial in denials
        if significance.is_kind_of(claim.concept, denial.concept)
        and denial.side in ("", claim.side)
        and regions_cover(denial.regions, claim.regions)
        and denial.details <= claim.details
    ]
    return min(speaking, key=lambda denial: denial.p, default=None)


def _covered_share(claim: Claim, other: Claim, significance: Significance) -> float:
    """What part of a claim is not said by another one, which may have a partner already.

    A consolidation says that there is an opacity; an effusion without a side may be the left one.
    """
    if significance.is_kind_of(other.concept, claim.concept):
        name_share = 0.0
    else:
        name_share = significance.name_share(claim.concept, other.concept)
    is_kin = name_share < significance.shares.sibling
    is_other_side = bool(claim.side and other.side and claim.side != other.side)
    is_same_region = regions_cover(claim.regions, other.regions) or regions_cover(
        other.regions, claim.regions
    )
    if not is_kin or is_other_side or not is_same_region:
        return 1.0
    return 1.0 - (1.0 - name_share) * (1.0 - _place_share(claim, other, significance))


def _add_denials(
    tally: _Tally,
    reference: Sequence[Claim],
    generated: Sequence[Claim],
    significance: Significance,
) -> None:
    """Add what is lost between two denials of which one is less sure.

    Normal statements weigh nothing else.
    """
    for one in reference:
        for other in generated:
            if one.concept == other.concept and one.side == other.side:
                weight = (one.weight + other.weight) / 2.0
                tally.lost["certainty"] += weight * (one.p - other.p) ** 2
                tally.certainty_log += weight * divergence(one.p, other.p)
                break


def _label_measures(
    reference: Sequence[StatedLabel], generated: Sequence[StatedLabel]
) -> tuple[float, float]:
    """The score of the labels, by Brier and by logarithm: Dice's coefficient, to which a label that is only
    half right adds half. Two texts without labels are alike.
    """
    generated_by_label = {claim.label: claim for claim in generated}
    pairs = [
        (claim.p, generated_by_label[claim.label].p)
        for claim in reference
        if claim.label in generated_by_label
    ]
    alone = len(reference) + len(generated) - 2 * len(pairs)
    size = max(len(reference) + len(generated), 1)
    brier = sum((p - q) ** 2 for p, q in pairs)
    diverged = sum(divergence(p, q) for p, q in pairs)
    return 1.0 - (2.0 * brier + alone) / size, 1.0 - (2.0 * diverged + alone) / size


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
    means: Floats = np.array(
        [draw.multinomial(size, shares) @ values / size for _ in range(RESAMPLES)]
    )
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    found = {"value": values.mean(axis=0), "low": low, "high": high}
    return pd.DataFrame(found, index=pd.Index(studies.columns, name="measure"))
