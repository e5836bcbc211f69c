"""Scores of generated reports against their references (docs/score.md).

Errors are weighed as radiologists weigh them, and doubt counts. Each text is read into
claims (`claims.py`). A finding that both texts claim is a pair: it keeps the part of
its weight that is left by another name, location or description, and by another p.
What only one text claims is omitted or invented, what the other denies is of the wrong
presence. The score of a study is the weight that was kept, as a share of what was kept
and lost: (agreement + kept) / (agreement + kept + lost).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.annotation.annotation import REPORTS_AT_ONCE
from lunguage_assets.annotation.claims import Claim, claims_of, is_within, regions_cover
from lunguage_assets.annotation.given_reports import Origin, given_report, is_missing
from lunguage_assets.annotation.method import bundled_method
from lunguage_assets.annotation.significance import (
    Scale,
    Significance,
    packaged_significance,
)
from lunguage_assets.errors import InputError

RESAMPLES = 1000
KEPT_TEXTS = 50_000
"""Texts whose claims are kept: about 200 MB."""

PARTS = (
    "presence",
    "certainty",
    "omission",
    "invention",
    "name",
    "place",
    "description",
)
MEASURES = ("findings", *PARTS, "labels")
NOTHING_READ = "nothing was read in either text"
"""Why a pair has no score."""


class _TextClaims(NamedTuple):
    """What was read in a text; `is_blank`: nothing stands in it."""

    is_blank: bool
    claims: list[Claim]
    p_by_label: dict[int, float]


class _Pair(NamedTuple):
    """Two claims that may be about one finding, and what is lost between them.

    Pairs sort by what they lose, then by how far apart the two p are. `row` and
    `column` are the places of the claims in the reference and in the other text.
    """

    loss: float
    distance: float
    row: int
    column: int
    loss_by_part: dict[str, float]


@dataclass(frozen=True, repr=False)
class Scores:
    """Scores of n pairs of texts.

    1 says the same, 0 is a text from which nothing was read.

    Args:
        studies: a row per pair, in the given order: `findings`; what it lost, which
            sums to 1 with it: `presence` (one text denies it), `certainty` (another p),
            `omission`, `invention`, `name` (a more general or a near finding), `place`,
            `description` (extent, size, course, kind); `labels`, of the study's labels,
            each counted the same; `reason`, why a pair has no score, else empty.
        corpus: a row per measure: `value`, the mean of the studies that have it, and
            its 95% interval `low` to `high` by a bootstrap over studies, which one
            study alone does not have.
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
    has_score = studies["findings"].notna()
    reasons = np.where(has_score, "", NOTHING_READ)
    return Scores(studies.assign(reason=reasons), _with_intervals(studies))


def rewards(references: Sequence[str], generated: Sequence[str]) -> list[float]:
    """Score the findings of every pair, from 0 to 1; NaN: nothing was read in either.

    Raises:
        InputError: as `score`.
    """
    # `findings` is the first of the `MEASURES`.
    return [measures[0] for measures in _scored(references, generated)]


def _scored(references: Sequence[str], generated: Sequence[str]) -> list[list[float]]:
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
    pairs = zip(
        _read_texts("references", references),
        _read_texts("generated", generated),
        strict=True,
    )
    return [_measures(reference, candidate) for reference, candidate in pairs]


_claims_by_text: dict[str, _TextClaims] = {}
"""Of texts that were read, the oldest first."""


def _read_texts(name: str, texts: Sequence[str]) -> list[_TextClaims]:
    """Read every text; what was read before is not read again.

    Args:
        name: of the texts, for messages.
        texts: a missing one is an empty report, as for `annotate`: a model that wrote
            nothing omits everything.
    """
    reports = [
        given_report(
            str(row), "" if is_missing(text) else text, "", Origin(name, row=row)
        )
        for row, text in enumerate(texts)
    ]
    # Training asks for the same references again and again, and new texts beside them.
    while len(_claims_by_text) > KEPT_TEXTS:
        del _claims_by_text[next(iter(_claims_by_text))]
    unread = {
        report.text: report for report in reports if report.text not in _claims_by_text
    }
    significance = packaged_significance()
    waiting = [*unread.values()]
    for start in range(0, len(waiting), REPORTS_AT_ONCE):
        batch = waiting[start : start + REPORTS_AT_ONCE]
        # The method knows studies by ids of this form alone.
        by_study = {f"s{number:08d}": report for number, report in enumerate(batch)}
        for study, stated in bundled_method().stated(by_study).items():
            text = by_study[study].text
            _claims_by_text[text] = _TextClaims(
                is_blank=not text.strip(),
                claims=claims_of(stated.findings, significance),
                p_by_label={label.label: label.p for label in stated.labels},
            )
    return [_claims_by_text[report.text] for report in reports]


def _measures(reference: _TextClaims, generated: _TextClaims) -> list[float]:
    """Compute the `MEASURES` of one pair of texts."""
    if not reference.claims and not generated.claims:
        return [nan] * len(MEASURES)
    significance = packaged_significance()
    lost = dict.fromkeys(PARTS, 0.0)
    kept = 0.0
    # A text that says nothing agrees with nothing, not even with a normal film. Words
    # of a reference that cannot be read are taken for normal ones.
    if not generated.claims:
        lost["omission"] = 1.0
    elif reference.is_blank:
        lost["invention"] = 1.0
    else:
        kept = significance.content.agreement
        kept += _compare(reference, generated, lost, significance)
    total = kept + sum(lost.values())
    parts = [lost[part] / total for part in PARTS]
    labels = _label_score(reference.p_by_label, generated.p_by_label)
    # `findings` is what the parts leave of 1: rounding never makes them disagree.
    return [1.0 - sum(parts), *parts, labels]


def _compare(
    reference: _TextClaims,
    generated: _TextClaims,
    lost: dict[str, float],
    significance: Significance,
) -> float:
    """Add what is lost between two texts to `lost`, and return what is kept.

    Args:
        reference: what was read in the reference.
        generated: what was read in the generated report.
        lost: the weight that is lost, by part.
        significance: how much findings matter.
    """
    unsaid = significance.content.unsaid
    omitted = {
        row: claim for row, claim in enumerate(reference.claims) if claim.present
    }
    invented = {
        column: claim for column, claim in enumerate(generated.claims) if claim.present
    }
    kept = 0.0
    # Greedy, the best pair first; each claim is in one pair at most.
    for pair in _possible_pairs(omitted, invented, significance):
        if pair.row not in omitted or pair.column not in invented:
            continue
        claim = omitted.pop(pair.row)
        candidate = invented.pop(pair.column)
        weight = (claim.weight + candidate.weight) / 2.0
        # What is said otherwise loses that part of what it would lose to leave the
        # finding out and to invent another.
        for part, share in pair.loss_by_part.items():
            lost[part] += 2.0 * unsaid * weight * claim.p * share
        # A proper score of doubt: no p is better than the reference's own.
        paired = weight * (1.0 - pair.loss)
        lost["certainty"] += paired * pair.distance**2
        kept += paired * (1.0 - pair.distance**2)
    for part, claims, opposite in (
        ("omission", omitted, generated.claims),
        ("invention", invented, reference.claims),
    ):
        for claim in claims.values():
            denials = [
                other.p for other in opposite if _denies(other, claim, significance)
            ]
            if denials:
                # Wrong presence is an omission and an invention at once.
                contradicted = abs(claim.p - min(denials))
                denied = significance.content.denied
                lost["presence"] += denied * claim.weight * contradicted
            elif not any(_says(other, claim, significance) for other in opposite):
                # To leave out a doubtful finding loses less than to leave out a sure
                # one.
                lost[part] += unsaid * claim.weight * claim.p
    return kept


def _possible_pairs(
    reference: Mapping[int, Claim],
    generated: Mapping[int, Claim],
    significance: Significance,
) -> list[_Pair]:
    """List the pairs of claims that may be about one finding, the best first."""
    pairs = []
    for row, claim in reference.items():
        for column, candidate in generated.items():
            name_share = significance.name_share(claim.concept, candidate.concept)
            if name_share == 1.0:
                continue
            # First by its name, of what is left by its location, and of that by its
            # description.
            after_name = 1.0 - name_share
            place_loss = after_name * _place_share(claim, candidate, significance)
            after_place = after_name - place_loss
            loss_by_part = {
                "name": name_share,
                "place": place_loss,
                "description": after_place
                * _description_share(claim, candidate, significance),
            }
            distance = abs(claim.p - candidate.p)
            loss = sum(loss_by_part.values())
            pairs.append(_Pair(loss, distance, row, column, loss_by_part))
    return sorted(pairs)


def _place_share(claim: Claim, candidate: Claim, significance: Significance) -> float:
    """Compute what part of a finding is lost by another side, or another region."""
    shares = significance.content.shares
    side = 0.0
    # No side misleads less than the wrong one (docs/score.md, "How it counts").
    if claim.side != candidate.side:
        is_said = claim.side and candidate.side
        side = shares["other_side" if is_said else "side_unsaid"]
    region = 0.0
    if claim.regions != candidate.regions:
        is_wider = regions_cover(claim.regions, candidate.regions)
        is_narrower = regions_cover(candidate.regions, claim.regions)
        is_same = is_wider or is_narrower
        region = shares["region_unsaid" if is_same else "other_region"]
    detail = shares["detail"] if claim.details != candidate.details else 0.0
    return max(side, region, detail)


def _description_share(
    claim: Claim, candidate: Claim, significance: Significance
) -> float:
    """Compute what part is lost by another extent, size or course."""
    scales = significance.content.scales
    return max(
        _share_on(scales["extent"], claim.extent, candidate.extent),
        _share_on(scales["size"], claim.size, candidate.size),
        _share_on(scales["course"], claim.course, candidate.course),
    )


def _share_on(scale: Scale, value: float | None, other: float | None) -> float:
    if value == other:
        return 0.0
    if value is None or other is None:
        # "Unchanged" says no more of a course than a report that says nothing of it.
        return scale.unsaid if value or other else 0.0
    return min(scale.step * abs(value - other), scale.most)


def _denies(denial: Claim, claim: Claim, significance: Significance) -> bool:
    """Tell whether a finding, or a more general one, is denied where it is claimed.

    "No effusion" denies one on the left, "no left effusion" none on the right.
    """
    is_kind = denial.concept in significance.above(claim.concept)
    return is_kind and not denial.present and is_within(claim, denial)


def _says(other: Claim, claim: Claim, significance: Significance) -> bool:
    """Tell whether another claim says this one too, by a more exact name.

    It may have a partner already: a consolidation says that there is an opacity, and an
    effusion without a side may be the left one.
    """
    is_kind = claim.concept in significance.above(other.concept)
    is_there = is_within(claim, other) or is_within(other, claim)
    return is_kind and other.present and is_there


def _label_score(reference: dict[int, float], generated: dict[int, float]) -> float:
    """Score the labels; two texts without labels are alike.

    It is Dice's coefficient, to which a label that is only half right adds half.
    """
    labels = len(reference) + len(generated)
    if not labels:
        return 1.0
    # A pair is a label of either text, so that it counts twice.
    right = sum(
        2.0 * (1.0 - (p - generated[label]) ** 2)
        for label, p in reference.items()
        if label in generated
    )
    return right / labels


def _with_intervals(studies: pd.DataFrame) -> pd.DataFrame:
    """Compute means of the studies with 95% intervals of resampled studies."""
    corpus = studies.mean().to_frame("value").rename_axis("measure")
    scored = studies.dropna().to_numpy()
    size = len(scored)
    corpus[["low", "high"]] = nan
    # Of one study alone nothing varies.
    if size > 1:
        # The same texts have the same intervals in every run.
        generator = np.random.default_rng(0)
        means = [
            scored[generator.integers(size, size=size)].mean(axis=0)
            for _ in range(RESAMPLES)
        ]
        corpus["low"], corpus["high"] = np.quantile(means, (0.025, 0.975), axis=0)
    return corpus
