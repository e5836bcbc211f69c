"""Scores of generated reports against their references (docs/score.md).

Errors are weighed as radiologists weigh them, and doubt counts. Each text is read into
claims (`claims.py`). A finding that both texts claim is a pair: it keeps the part of
its weight that is left by another name, location or description, and by another p.
What only one text claims is omitted or invented, what the other denies is of the wrong
presence. The score of a study is the weight that was kept, as a share of what was kept
and lost: (agreement + kept) / (agreement + kept + lost).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import nan

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from lunguage_assets.annotation.claims import Claim, claims_of, is_within
from lunguage_assets.annotation.given_reports import GivenReport, reports_of_frame
from lunguage_assets.annotation.method import bundled_method
from lunguage_assets.annotation.significance import packaged_significance, steps_up
from lunguage_assets.errors import InputError
from lunguage_assets.implicit.statements.locations import anatomy

PARTS = (
    "presence",
    "certainty",
    "omission",
    "invention",
    "name",
    "place",
    "description",
)
NOTHING_READ = "nothing was read in either text"
MEASURES = ("findings", *PARTS)


@dataclass(frozen=True, repr=False)
class Scores:
    """Scores of n pairs of texts.

    1 says the same, 0 is a text from which nothing was read.

    Args:
        studies: a row per pair, in the given order: `findings`; what it lost, which
            sums to 1 with it: `presence` (one text denies it), `certainty` (another p),
            `omission`, `invention`, `name` (a more general or a near finding), `place`,
            `description` (extent, size, course, kind); `reason`, why a pair has no
            score, else empty.
    """

    studies: pd.DataFrame

    def __repr__(self) -> str:
        """The corpus' values."""
        return self.corpus.round(3).to_string()

    @cached_property
    def corpus(self) -> pd.DataFrame:
        """A row per measure.

        `value` is the mean of the studies that have it, `low` to `high` its 95%
        interval by a bootstrap over studies, which one study alone does not have.
        """
        studies = self.studies[list(MEASURES)]
        corpus = studies.mean().to_frame("value").rename_axis("measure")
        corpus[["low", "high"]] = nan
        scored = studies.dropna().to_numpy()
        # Of one study alone nothing varies.
        if len(scored) > 1:
            resampled = bootstrap(
                (scored,),
                np.mean,
                n_resamples=1000,
                method="percentile",
                batch=10,
                # The same texts have the same intervals in every run.
                random_state=0,
            )
            corpus["low"], corpus["high"] = resampled.confidence_interval
        return corpus


def score(references: Sequence[str], generated: Sequence[str]) -> Scores:
    """Score generated reports against their references.

    A text is read once, whatever its pairs. A missing text (None, NaN) is a report that
    says nothing.

    Raises:
        InputError: not as many of the one as of the other, none, or something that is
            no text.
    """
    # A missing text is an empty report: a model that wrote nothing omits everything.
    return score_reports(
        _reports(references, "references"), _reports(generated, "generated")
    )


def score_reports(
    references: Sequence[GivenReport],
    generated: Sequence[GivenReport],
    *,
    source: str = "score",
) -> Scores:
    """Score generated reports against their references, when their texts are checked.

    Args:
        references: of people.
        generated: as many, in the same order.
        source: the file that they are of, for messages.

    Raises:
        InputError: not as many of the one as of the other, or none.
    """
    if len(references) != len(generated) or not generated:
        raise InputError(
            source,
            f"{len(references)} references and {len(generated)} generated reports",
            "as many of both, at least one",
            "Give each its reference.",
        )
    # Training gives a reference once for each report of it.
    distinct = {report.text: report for report in (*references, *generated)}
    stated_reports = bundled_method().stated([*distinct.values()])
    claims = dict(zip(distinct, map(claims_of, stated_reports), strict=True))
    measures = [
        _measures(reference.text, claims[reference.text], claims[candidate.text])
        for reference, candidate in zip(references, generated, strict=True)
    ]
    studies = pd.DataFrame(measures, columns=list(MEASURES))
    studies["reason"] = np.where(studies["findings"].isna(), NOTHING_READ, "")
    return Scores(studies)


def rewards(references: Sequence[str], generated: Sequence[str]) -> list[float]:
    """Score the findings of every pair, from 0 to 1; NaN: nothing was read in either.

    Raises:
        InputError: as `score`.
    """
    return list(score(references, generated).studies["findings"])


def _reports(texts: Sequence[str], name: str) -> list[GivenReport]:
    """Check the texts of a list; of one text alone every letter would be a report."""
    if isinstance(texts, pd.Series):
        # Its index may repeat an id.
        texts = texts.tolist()
    return reports_of_frame(texts, name, "study_id", "")


def _measures(
    reference_text: str, reference: Sequence[Claim], generated: Sequence[Claim]
) -> list[float]:
    """Compute the `MEASURES` of one pair of texts by their claims."""
    if not reference and not generated:
        return [nan] * len(MEASURES)
    lost = dict.fromkeys(PARTS, 0.0)
    kept = 0.0
    # A text that says nothing agrees with nothing, not even with a normal film. Words
    # of a reference that cannot be read are taken for normal ones.
    if not generated:
        lost["omission"] = 1.0
    elif not reference_text:
        lost["invention"] = 1.0
    else:
        kept = packaged_significance().agreement + _compare(reference, generated, lost)
    total = kept + sum(lost.values())
    parts = [lost[part] / total for part in PARTS]
    # `findings` is what the parts leave of 1: rounding never makes them disagree.
    return [1.0 - sum(parts), *parts]


def _compare(
    reference: Sequence[Claim],
    generated: Sequence[Claim],
    lost: dict[str, float],
) -> float:
    """Add what is lost between two texts to `lost`, and return what is kept.

    Args:
        reference: what was read in the reference.
        generated: what was read in the generated report.
        lost: the weight that is lost, by part.
    """
    unsaid = packaged_significance().unsaid
    omitted = [claim for claim in reference if claim.present]
    invented = [claim for claim in generated if claim.present]
    kept = 0.0
    # Greedy, the nearest pair first; each claim is in one pair at most.
    for claim, candidate in sorted(product(omitted, invented), key=_distance):
        if claim not in omitted or candidate not in invented:
            continue
        shares = _lost_shares(claim, candidate)
        # Names that have nothing in common are of two findings.
        if shares["name"] == 1.0:
            continue
        omitted.remove(claim)
        invented.remove(candidate)
        weight = (claim.weight + candidate.weight) / 2.0
        # What is said otherwise loses that part of what it would lose to leave the
        # finding out and to invent another.
        for part, share in shares.items():
            lost[part] += 2.0 * unsaid * weight * claim.p * share
        # A proper score of doubt: no p is better than the reference's own.
        loss, doubt = _distance((claim, candidate))
        paired = weight * (1.0 - loss)
        lost["certainty"] += paired * doubt**2
        kept += paired * (1.0 - doubt**2)
    _lose(omitted, "omission", generated, lost)
    _lose(invented, "invention", reference, lost)
    return kept


def _distance(pair: tuple[Claim, Claim]) -> tuple[float, float]:
    """Measure how far apart two claims are: what is lost, and between the two p."""
    claim, candidate = pair
    return sum(_lost_shares(*pair).values()), abs(claim.p - candidate.p)


def _lose(
    claims: Sequence[Claim],
    part: str,
    opposite: Sequence[Claim],
    lost: dict[str, float],
) -> None:
    """Add what is lost by claims without partner.

    Args:
        claims: of one of the texts.
        part: in which it is lost where the other text does not deny it.
        opposite: the claims of the other text.
        lost: the weight that is lost, by part.
    """
    significance = packaged_significance()
    for claim in claims:
        # "No effusion" denies one on the left, "no left effusion" none elsewhere.
        denials = [
            denial.p
            for denial in opposite
            if not denial.present
            and denial.concept in steps_up(claim.concept)
            and is_within(claim, denial)
        ]
        if denials:
            # Wrong presence is an omission and an invention at once.
            contradicted = abs(claim.p - min(denials))
            lost["presence"] += significance.denied * claim.weight * contradicted
        # To leave out a doubtful finding loses less than to leave out a sure one.
        elif not any(_says(candidate, claim) for candidate in opposite):
            lost[part] += significance.unsaid * claim.weight * claim.p


def _says(candidate: Claim, claim: Claim) -> bool:
    """Whether a claim says another one, too, be it of a more exact name.

    A consolidation says that there is an opacity, and an effusion without a side may be
    the left one.
    """
    is_named = candidate.present and claim.concept in steps_up(candidate.concept)
    return is_named and (is_within(claim, candidate) or is_within(candidate, claim))


def _lost_shares(claim: Claim, candidate: Claim) -> dict[str, float]:
    """Compute what part of a finding is lost when it is claimed otherwise.

    First by its name (1: nothing in common), of what is left by its location, and of
    that by its description.
    """
    significance = packaged_significance()
    name = significance.name_share(claim.concept, candidate.concept)
    shares = significance.shares
    place_loss = 0.0
    if claim.details != candidate.details:
        place_loss = shares["detail"]
    if claim.regions != candidate.regions:
        covers = anatomy().covers
        is_same = covers(claim.regions, candidate.regions)
        is_same = is_same or covers(candidate.regions, claim.regions)
        region = "region_unsaid" if is_same else "other_region"
        place_loss = max(place_loss, shares[region])
    # No side misleads less than the wrong one (docs/score.md, "How it counts").
    if claim.side != candidate.side:
        side = "other_side" if claim.side and candidate.side else "side_unsaid"
        place_loss = max(place_loss, shares[side])
    place_loss *= 1.0 - name
    descriptions = [
        scale.share(getattr(claim, aspect), getattr(candidate, aspect))
        for aspect, scale in significance.scales.items()
    ]
    description = (1.0 - name - place_loss) * max(descriptions)
    return {"name": name, "place": place_loss, "description": description}
