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
from itertools import product
from math import nan
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from lunguage_assets.annotation.claims import Claim, claims_of
from lunguage_assets.annotation.given_reports import GivenReport, reports_of_frame
from lunguage_assets.annotation.method import bundled_method
from lunguage_assets.annotation.significance import general_names, packaged_significance
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
NOTHING_READ = "nothing was read in the reference"
MEASURES = ("findings", *PARTS)


class Scores(NamedTuple):
    """Scores of n pairs of texts.

    1 says the same, 0 is a text from which nothing was read.

    Attributes:
        studies: a row per pair, in the given order: `findings`; what it lost, which
            sums to 1 with it: `presence` (one text denies it), `certainty` (another p),
            `omission`, `invention`, `name` (a more general or a near finding), `place`,
            `description` (extent, size, course); `reason`, why a pair has no score,
            else empty.
        corpus: a row per measure: `value`, the mean of the studies that have it, and
            `low` to `high`, its 95% interval by a bootstrap over studies, which one
            study alone does not have.
    """

    studies: pd.DataFrame
    corpus: pd.DataFrame


def score(references: Sequence[str], generated: Sequence[str]) -> Scores:
    """Score generated reports against their references.

    A text is read once, whatever its pairs. A missing text (None, NaN) is a report that
    says nothing.

    Raises:
        InputError: not as many of the one as of the other, none, or something that is
            no text.
    """
    return score_reports(
        _reports(references, "references"), _reports(generated, "generated")
    )


def rewards(references: Sequence[str], generated: Sequence[str]) -> list[float]:
    """Score the findings of every pair, from 0 to 1; NaN: there is no score.

    Raises:
        InputError: as `score`.
    """
    return list(score(references, generated).studies["findings"])


def _reports(texts: Sequence[str], name: str) -> list[GivenReport]:
    """Check texts; a missing one is a report of a model that wrote nothing."""
    # The index of a series may repeat an id.
    series = pd.Series(texts, dtype=object).reset_index(drop=True)
    return reports_of_frame(series, name, "study_id", "")


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
    weights = pd.DataFrame(
        [
            _weights(claims[reference.text], claims[candidate.text])
            for reference, candidate in zip(references, generated, strict=True)
        ],
        columns=list(MEASURES),
    )
    studies = weights.div(weights.sum(axis=1), axis=0)
    studies["reason"] = np.where(studies["findings"].isna(), NOTHING_READ, "")
    return Scores(studies, _corpus(studies[list(MEASURES)]))


def _corpus(studies: pd.DataFrame) -> pd.DataFrame:
    """Compute the means of the measures with their intervals."""
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


def _weights(
    reference: Sequence[Claim], generated: Sequence[Claim]
) -> dict[str, float]:
    """Weigh what a generated report keeps (`findings`) and loses of its reference."""
    significance = packaged_significance()
    weights = dict.fromkeys(MEASURES, 0.0)
    if not reference:
        return weights
    # A text that says nothing agrees with nothing, not even with a normal film.
    if not generated:
        return weights | {"omission": 1.0}
    weights["findings"] = significance.agreement
    omitted = [claim for claim in reference if claim.present]
    invented = [claim for claim in generated if claim.present]
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
            weights[part] += 2.0 * significance.unsaid * weight * claim.p * share
        # A proper score of doubt: no p is better than the reference's own.
        loss, doubt = _distance((claim, candidate))
        paired = weight * (1.0 - loss)
        weights["certainty"] += paired * doubt**2
        weights["findings"] += paired * (1.0 - doubt**2)
    _add_unpaired(omitted, "omission", generated, weights)
    _add_unpaired(invented, "invention", reference, weights)
    return weights


def _add_unpaired(
    claims: Sequence[Claim],
    part: str,
    opposite: Sequence[Claim],
    weights: dict[str, float],
) -> None:
    """Add what is lost by claims without partner.

    Args:
        claims: of one of the texts.
        part: in which it is lost where the other text does not deny it.
        opposite: the claims of the other text.
        weights: by measure.
    """
    significance = packaged_significance()
    for claim in claims:
        # "No effusion" denies one on the left, "no left effusion" none elsewhere.
        denials = [
            denial.p
            for denial in opposite
            if not denial.present
            and denial.concept in general_names(claim.concept)
            and claim.is_within(denial)
        ]
        if denials:
            # Wrong presence is an omission and an invention at once.
            contradicted = abs(claim.p - min(denials))
            weights["presence"] += significance.denied * claim.weight * contradicted
        # To leave out a doubtful finding loses less than to leave out a sure one.
        elif not any(_says(candidate, claim) for candidate in opposite):
            weights[part] += significance.unsaid * claim.weight * claim.p


def _says(candidate: Claim, claim: Claim) -> bool:
    """Whether a claim says another one, too, be it of a more exact name.

    A consolidation says that there is an opacity, and an effusion without a side may be
    the left one.
    """
    is_named = candidate.present and claim.concept in general_names(candidate.concept)
    return is_named and (claim.is_within(candidate) or candidate.is_within(claim))


def _distance(pair: tuple[Claim, Claim]) -> tuple[float, float]:
    """Measure how far apart two claims are: what is lost, and between the two p."""
    claim, candidate = pair
    return sum(_lost_shares(*pair).values()), abs(claim.p - candidate.p)


def _lost_shares(claim: Claim, candidate: Claim) -> dict[str, float]:
    """Compute what part of a finding is lost when it is claimed otherwise.

    First by its name (1: nothing in common), of what is left by its location, and of
    that by its description.
    """
    significance = packaged_significance()
    shares = significance.shares
    name = significance.name_share(claim.concept, candidate.concept)
    place_loss = 0.0
    covers = anatomy().covers
    for where, elsewhere in (
        (claim.side, candidate.side),
        (claim.regions, candidate.regions),
    ):
        if where != elsewhere:
            # No side misleads less than the wrong one.
            is_wider = covers(where, elsewhere) or covers(elsewhere, where)
            place_loss += shares["wider" if is_wider else "elsewhere"]
    place_loss *= 1.0 - name
    differences = [0.0]
    for aspect, step in significance.steps.items():
        values = [getattr(claim, aspect), getattr(candidate, aspect)]
        if None not in values:
            distance = step * abs(values[0] - values[1])
            differences.append(min(distance, shares["most"]))
        # "Unchanged" says no more of a course than a report that says nothing.
        elif any(values):
            differences.append(shares["unsaid"])
    return {
        "name": name,
        "place": place_loss,
        "description": (1.0 - name - place_loss) * max(differences),
    }
