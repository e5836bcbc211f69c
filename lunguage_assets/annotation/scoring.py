"""Scores of generated reports against their references (docs/score.md).

Errors are weighed as radiologists weigh them, and doubt counts. Each text is read into
claims (`claims.py`). A finding that both texts claim is a pair: it keeps the part of
its weight that is left by another name, location or description, and by another p.
What only one text claims is omitted or invented, what the other denies is of the wrong
presence. The score of a study is the weight that was kept, as a share of what was kept
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
from lunguage_assets.annotation.claims import (
    Claim,
    claims_of,
    is_one_region,
    regions_cover,
)
from lunguage_assets.annotation.given_reports import (
    GivenReport,
    Origin,
    given_report,
    is_missing,
)
from lunguage_assets.annotation.method import StatedLabel, bundled_method
from lunguage_assets.annotation.significance import (
    LARGE,
    Shares,
    Significance,
    packaged_significance,
)
from lunguage_assets.errors import InputError
from lunguage_assets.randomness import Floats

LEAST_P = 0.01
"""What the logarithmic score takes for a p of 0, and 1 less it for a p of 1.

What is said without doubt may err.
"""
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


class _TextClaims(NamedTuple):
    """What was read in a text.

    Attributes:
        is_blank: whether nothing stands in it.
        present: the findings that it says are there.
        absent: those that it denies.
        labels: what it says of labels.
    """

    is_blank: bool
    present: tuple[Claim, ...]
    absent: tuple[Claim, ...]
    labels: tuple[StatedLabel, ...]

    @property
    def says_something(self) -> bool:
        return bool(self.present or self.absent)

    @property
    def size(self) -> int:
        """How many claims are kept of the text."""
        return len(self.present) + len(self.absent) + len(self.labels)


class _Pair(NamedTuple):
    """Two claims that may be about one finding, and what is lost between them.

    Pairs sort by what they lose, then by how far apart the two p are.

    Attributes:
        loss: the part of the finding that is lost.
        distance: of the two p.
        row: of the claim among those of the reference.
        column: of the claim among those of the generated report.
        name_loss, place_loss, description_loss: what `loss` is put together of.
    """

    loss: float
    distance: float
    row: int
    column: int
    name_loss: float
    place_loss: float
    description_loss: float


class _Pairing(NamedTuple):
    """Pairs of claims, and the claims of both texts that are left without a partner."""

    pairs: list[_Pair]
    omitted: list[Claim]
    invented: list[Claim]


@dataclass(frozen=True, repr=False)
class Scores:
    """Scores of n pairs of texts.

    1 says the same, 0 is a text from which nothing was read.

    Args:
        studies: a row per pair, in the given order: `findings`, by the Brier score, and
            `findings_log`, by the logarithmic one; what `findings` lost, which sums to
            1 with it: `presence` (one text denies it), `certainty` (another p),
            `omission`, `invention`, `name` (a more general or a near finding), `place`,
            `description` (extent, size, course, kind); `labels` and `labels_log`, of
            the study's labels, each counted the same.
        corpus: a row per measure: `value`, the mean of the studies, and its 95%
            interval `low` to `high` by a bootstrap over studies.
    """

    studies: pd.DataFrame
    corpus: pd.DataFrame

    def __repr__(self) -> str:
        """The corpus' values."""
        return self.corpus.round(3).to_string()


def score(references: Sequence[str], generated: Sequence[str]) -> Scores:
    """Score generated reports against their references.

    A text is read once, whatever its pairs. A missing text (None, NaN) is a report that
    says nothing.

    Raises:
        InputError: not as many of the one as of the other, none, or something that is
            no text.
    """
    studies = pd.DataFrame(_scored(references, generated), columns=list(MEASURES))
    return Scores(studies, _with_intervals(studies))


def rewards(references: Sequence[str], generated: Sequence[str]) -> list[float]:
    """Score the findings of every pair by the Brier score, from 0 to 1.

    Raises:
        InputError: as `score`.
    """
    # `findings` is the first of the `MEASURES`.
    return [measures[0] for measures in _scored(references, generated)]


def _scored(
    references: Sequence[str], generated: Sequence[str]
) -> list[tuple[float, ...]]:
    """Compute the `MEASURES` of every pair of texts."""
    for name, texts in (("references", references), ("generated", generated)):
        if isinstance(texts, str | bytes) or not isinstance(texts, Sized):
            raise InputError(
                name,
                f"a {type(texts).__name__}",
                "a list of texts",
                "Give each report as a text of a list.",
            )
    if len(references) != len(generated) or not len(references):
        raise InputError(
            "score",
            f"{len(references)} references and {len(generated)} generated reports",
            "as many of both, at least one",
            "Give each its reference.",
        )
    significance = packaged_significance()
    pairs_of_texts = zip(
        _read_texts("references", references),
        _read_texts("generated", generated),
        strict=True,
    )
    return [
        (
            *_finding_measures(reference, candidate, significance),
            *_label_measures(reference.labels, candidate.labels),
        )
        for reference, candidate in pairs_of_texts
    ]


_claims_by_digest: dict[bytes, _TextClaims] = {}
"""Of texts that were read, the oldest first."""


def _read_texts(name: str, texts: Sequence[str]) -> list[_TextClaims]:
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
        if digest not in _claims_by_digest:
            unread[digest] = report
    # Looked up first: texts of this call may be forgotten when the new ones are kept.
    claims_by_digest = {
        digest: _claims_by_digest[digest] for digest in digests if digest not in unread
    }
    waiting = iter(unread.items())
    while batch := dict(islice(waiting, REPORTS_AT_ONCE)):
        claims_by_digest |= _read_batch(batch)
    if unread:
        _keep({digest: claims_by_digest[digest] for digest in unread})
    return [claims_by_digest[digest] for digest in digests]


def _read_batch(reports: Mapping[bytes, GivenReport]) -> dict[bytes, _TextClaims]:
    """Read the claims and labels of texts, by their digest."""
    # The method knows studies by ids of this form alone.
    digest_by_study = {
        f"s{number:08d}": digest for number, digest in enumerate(reports)
    }
    report_by_study = {
        study: reports[digest] for study, digest in digest_by_study.items()
    }
    stated_by_study = bundled_method().stated(report_by_study)
    significance = packaged_significance()
    claims_by_digest = {}
    for study, digest in digest_by_study.items():
        stated = stated_by_study[study]
        claims = claims_of(stated.findings, significance)
        claims_by_digest[digest] = _TextClaims(
            is_blank=not reports[digest].text.strip(),
            present=tuple(claim for claim in claims if claim.present),
            absent=tuple(claim for claim in claims if not claim.present),
            labels=tuple(stated.labels),
        )
    return claims_by_digest


def _keep(newly_read: Mapping[bytes, _TextClaims]) -> None:
    """Keep what was read, and forget the oldest texts where that is too much."""
    # Training asks for the same references again and again, and new texts beside them.
    _claims_by_digest.update(newly_read)
    kept_claims = sum(claims.size for claims in _claims_by_digest.values())
    for oldest in list(_claims_by_digest):
        if kept_claims <= KEPT_CLAIMS:
            break
        kept_claims -= _claims_by_digest.pop(oldest).size


class _Tally:
    """What a pair of texts kept and lost, by the part that lost it."""

    def __init__(self, significance: Significance) -> None:
        self._significance = significance
        self.kept = 0.0
        self.kept_log = 0.0
        self.certainty_log = 0.0
        self.lost = dict.fromkeys(PARTS, 0.0)

    def add_pair(self, pair: _Pair, reference: Claim, generated: Claim) -> None:
        """Add what a pair kept and lost.

        What its name, location and description lose is that part of what it would lose
        to leave the finding out and to invent another. What is kept of it loses by the
        distance of the two p.

        Args:
            pair: what is lost between the two claims.
            reference: the claim of the reference.
            generated: that of the generated report.
        """
        weight = (reference.weight + generated.weight) / 2.0
        unpaired = 2.0 * self._significance.unsaid * weight * reference.p
        self.lost["name"] += unpaired * pair.name_loss
        self.lost["place"] += unpaired * pair.place_loss
        self.lost["description"] += unpaired * pair.description_loss
        # Both scores of doubt are proper: no p is better than the reference's own.
        paired = weight * (1.0 - pair.loss)
        distance = (reference.p - generated.p) ** 2
        self.lost["certainty"] += paired * distance
        self.kept += paired * (1.0 - distance)
        distance_log = divergence(reference.p, generated.p)
        self.certainty_log += paired * distance_log
        self.kept_log += paired * (1.0 - distance_log)

    def add_unpaired(self, part: str, claim: Claim, opposite: _TextClaims) -> None:
        """Add what is lost by a claim without a partner.

        Args:
            part: that loses it: "omission" or "invention".
            claim: of one text.
            opposite: the other text.
        """
        denial = _denial_of(claim, opposite.absent, self._significance)
        if denial is not None:
            # Denied is worse than left out: it may cost all of the weight, and not the
            # share `unsaid` of it.
            contradicted = abs(claim.p - denial.p)
            self.lost["presence"] += claim.weight * contradicted
            return
        # What comes nearest to it in the other text says the most of it.
        shares = [
            _uncovered_share(claim, candidate, self._significance)
            for candidate in opposite.present
        ]
        share = min(shares, default=1.0)
        # To leave out a doubtful finding loses less than to leave out a sure one.
        most = self._significance.unsaid * claim.weight * claim.p
        self.lost[part] += most * share

    def add_denials(
        self, reference: Sequence[Claim], generated: Sequence[Claim]
    ) -> None:
        """Add what is lost between two denials of which one is less sure.

        Normal statements weigh nothing else.
        """
        generated_by_subject: dict[tuple[str, str], Claim] = {}
        for denial in generated:
            subject = (denial.concept, denial.side)
            generated_by_subject.setdefault(subject, denial)
        for denial in reference:
            candidate = generated_by_subject.get((denial.concept, denial.side))
            if candidate is None:
                continue
            weight = (denial.weight + candidate.weight) / 2.0
            distance = (denial.p - candidate.p) ** 2
            self.lost["certainty"] += weight * distance
            self.certainty_log += weight * divergence(denial.p, candidate.p)

    def measures(self, agreement: float) -> tuple[float, ...]:
        """Compute `findings`, `findings_log` and the parts.

        All are shares of what was kept and lost together. `agreement` counts as kept.
        """
        lost = sum(self.lost.values())
        total = agreement + self.kept + lost
        parts = [self.lost[part] / total for part in PARTS]
        # `findings` is what the parts leave of 1: rounding never makes them disagree.
        findings = 1.0 - sum(parts)
        # The logarithmic score differs in what another p costs, and in nothing else.
        lost_log = lost - self.lost["certainty"] + self.certainty_log
        kept_log = agreement + self.kept_log
        findings_log = kept_log / (kept_log + lost_log)
        return findings, findings_log, *parts


def _finding_measures(
    reference: _TextClaims, generated: _TextClaims, significance: Significance
) -> tuple[float, ...]:
    """Compute the measures of the findings of one pair of texts."""
    if not reference.says_something and not generated.says_something:
        return 1.0, 1.0, *([0.0] * len(PARTS))
    tally = _Tally(significance)
    pairing = _paired(reference.present, generated.present, significance)
    for pair in pairing.pairs:
        claim = reference.present[pair.row]
        tally.add_pair(pair, claim, generated.present[pair.column])
    for claim in pairing.omitted:
        tally.add_unpaired("omission", claim, generated)
    for claim in pairing.invented:
        tally.add_unpaired("invention", claim, reference)
    tally.add_denials(reference.absent, generated.absent)
    # A text that says nothing agrees with nothing, not even with a normal film. Words
    # of a reference that cannot be read are taken for normal ones.
    if generated.says_something and not reference.is_blank:
        return tally.measures(significance.agreement)
    # "The lungs are clear" beside an empty text: nothing weighs anything, so that there
    # would be nothing to take a share of.
    if not tally.kept and not sum(tally.lost.values()):
        part = "omission" if reference.says_something else "invention"
        tally.lost[part] = 1.0
    return tally.measures(0.0)


def _paired(
    reference: Sequence[Claim], generated: Sequence[Claim], significance: Significance
) -> _Pairing:
    """Pair claims about one finding, each claim once at most.

    Pairs that lose least are made first.
    """
    possible: list[_Pair] = []
    for row, claim in enumerate(reference):
        for column, candidate in enumerate(generated):
            name_share = significance.name_share(claim.concept, candidate.concept)
            if name_share == 1.0:
                continue
            # First by its name, of what is left by its location, and of that by its
            # description.
            after_name = 1.0 - name_share
            place_share = _place_share(claim, candidate, significance)
            after_place = after_name * (1.0 - place_share)
            description_share = _description_share(claim, candidate, significance)
            kept = after_place * (1.0 - description_share)
            pair = _Pair(
                loss=1.0 - kept,
                distance=abs(claim.p - candidate.p),
                row=row,
                column=column,
                name_loss=name_share,
                place_loss=after_name - after_place,
                description_loss=after_place - kept,
            )
            possible.append(pair)
    omitted = dict(enumerate(reference))
    invented = dict(enumerate(generated))
    pairs = []
    # Greedy, the best pair first: `_Pair` sorts by what is lost.
    for pair in sorted(possible):
        if pair.row in omitted and pair.column in invented:
            del omitted[pair.row]
            del invented[pair.column]
            pairs.append(pair)
    return _Pairing(pairs, [*omitted.values()], [*invented.values()])


def _place_share(claim: Claim, candidate: Claim, significance: Significance) -> float:
    """Compute what part of a finding is lost by its location."""
    shares = significance.shares
    # Free air has one place: it cannot be named wrongly.
    for concept in (claim.concept, candidate.concept):
        if significance.finding(concept).placeless:
            return 0.0
    kept = 1.0
    # No side misleads less than the wrong one (docs/score.md, "How it counts").
    if claim.side != candidate.side:
        is_side_unsaid = not claim.side or not candidate.side
        side_share = shares.side_unsaid if is_side_unsaid else shares.other_side
        kept *= 1.0 - side_share
    if claim.regions != candidate.regions:
        if not is_one_region(claim.regions, candidate.regions):
            kept *= 1.0 - shares.other_region
        elif claim.regions and candidate.regions:
            kept *= 1.0 - shares.region_wider
        else:
            kept *= 1.0 - shares.region_unsaid
    if claim.details != candidate.details:
        kept *= 1.0 - shares.detail
    return 1.0 - kept


def _description_share(
    claim: Claim, candidate: Claim, significance: Significance
) -> float:
    """Compute what part of a finding is lost by extent, size, course and kind."""
    kept = 1.0 - _extent_share(claim.extent, candidate.extent, significance.shares)
    kept *= 1.0 - _size_share(claim, candidate, significance)
    kept *= 1.0 - significance.course_share(claim.courses, candidate.courses)
    kept *= 1.0 - significance.mark_share(claim.marks, candidate.marks)
    return 1.0 - kept


def _extent_share(
    extent: float | None, candidate_extent: float | None, shares: Shares
) -> float:
    if extent == candidate_extent:
        return 0.0
    if extent is not None and candidate_extent is not None:
        return min(
            shares.extent_step * abs(extent - candidate_extent), shares.extent_most
        )
    # "Effusion" for "massive effusion" keeps from the reader what matters of it.
    is_large = (extent or candidate_extent or 0.0) >= LARGE
    return shares.extent_unsaid_large if is_large else shares.extent_unsaid


def _size_share(claim: Claim, candidate: Claim, significance: Significance) -> float:
    """Compute what part of a finding is lost by its measured size.

    The logarithm counts, as 6 and 12 mm differ as much as 3 and 6 cm do.
    """
    shares = significance.shares
    size_mm = claim.size_mm
    candidate_size_mm = candidate.size_mm
    if size_mm == candidate_size_mm:
        return 0.0
    is_absurd = significance.is_absurd(claim.concept, size_mm)
    # An absurd size beside a possible one is a mistake, whether or not the other report
    # measures.
    if is_absurd != significance.is_absurd(candidate.concept, candidate_size_mm):
        return shares.size_absurd
    if not size_mm or not candidate_size_mm:
        return shares.size_unsaid
    smaller, larger = sorted((size_mm, candidate_size_mm))
    share = shares.size_doubled * log2(larger / smaller)
    # A nodule of 7 mm is followed up, and one of 5 mm is not (Fleischner Society).
    if any(smaller < threshold <= larger for threshold in significance.thresholds_mm):
        share += shares.size_threshold
    return min(share, shares.size_most)


def _denial_of(
    claim: Claim, denials: Sequence[Claim], significance: Significance
) -> Claim | None:
    """Find the surest denial of a finding, or of a more general one.

    It is at a location that contains the finding's own: "no effusion" denies one on the
    left, "no left effusion" none on the right.
    """
    denials_of_claim = [
        denial
        for denial in denials
        if significance.is_kind_of(claim.concept, denial.concept)
        and denial.side in ("", claim.side)
        and regions_cover(denial.regions, claim.regions)
        and denial.details <= claim.details
    ]
    return min(denials_of_claim, key=lambda denial: denial.p, default=None)


def _uncovered_share(
    claim: Claim, candidate: Claim, significance: Significance
) -> float:
    """Compute what part of a claim another one leaves unsaid.

    The other one may have a partner already: a consolidation says that there is an
    opacity, and an effusion without a side may be the left one.
    """
    name_share = significance.name_share(claim.concept, candidate.concept)
    # The more exact name says the general one too, and not the other way round.
    if significance.is_kind_of(candidate.concept, claim.concept):
        name_share = 0.0
    # A mass says nothing of a consolidation, although both are opacities.
    is_kin = name_share < significance.shares.sibling
    is_same_side = not claim.side or candidate.side in ("", claim.side)
    is_same_region = is_one_region(claim.regions, candidate.regions)
    if not is_kin or not is_same_side or not is_same_region:
        return 1.0
    place_share = _place_share(claim, candidate, significance)
    return 1.0 - (1.0 - name_share) * (1.0 - place_share)


def _label_measures(
    reference: Sequence[StatedLabel], generated: Sequence[StatedLabel]
) -> tuple[float, float]:
    """Score the labels, by Brier and by logarithm.

    It is Dice's coefficient, to which a label that is only half right adds half. Two
    texts without labels are alike.
    """
    q_by_label = {claim.label: claim.p for claim in generated}
    pairs = [
        (claim.p, q_by_label[claim.label])
        for claim in reference
        if claim.label in q_by_label
    ]
    labels = len(reference) + len(generated)
    unpaired = labels - 2 * len(pairs)
    # A pair is a label of either text, so that its loss counts twice.
    lost = 2.0 * sum((p - q) ** 2 for p, q in pairs)
    lost_log = 2.0 * sum(divergence(p, q) for p, q in pairs)
    brier_score = 1.0 - (lost + unpaired) / max(labels, 1)
    log_score = 1.0 - (lost_log + unpaired) / max(labels, 1)
    return brier_score, log_score


def divergence(p: float, q: float) -> float:
    """Compute what the logarithmic score of q loses to that of p when p is true.

    This is the Kullback-Leibler divergence, as a share of the most that it can be: 0
    when the two are the same, 1 between the two certainties.
    """
    if p == q:
        return 0.0
    # A p of 0 that is wrong would cost infinitely much.
    most_p = 1.0 - LEAST_P
    true_p = min(max(p, LEAST_P), most_p)
    stated_p = min(max(q, LEAST_P), most_p)
    # The divergence of `LEAST_P` from its opposite.
    most = (1.0 - 2.0 * LEAST_P) * log(most_p / LEAST_P)
    of_presence = true_p * log(true_p / stated_p)
    of_absence = (1.0 - true_p) * log((1.0 - true_p) / (1.0 - stated_p))
    return (of_presence + of_absence) / most


def _with_intervals(studies: pd.DataFrame) -> pd.DataFrame:
    """Compute means of the studies with 95% intervals of resampled studies."""
    values = studies.to_numpy()
    # The same texts have the same intervals in every run.
    generator = np.random.default_rng(0)
    size = len(studies)
    shares = np.full(size, 1.0 / size)
    means: list[Floats] = []
    for _ in range(RESAMPLES):
        # How often each study is drawn stands for the studies themselves.
        times_drawn = generator.multinomial(size, shares)
        means.append(times_drawn @ values / size)
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    columns = {"value": values.mean(axis=0), "low": low, "high": high}
    return pd.DataFrame(columns, index=pd.Index(studies.columns, name="measure"))
