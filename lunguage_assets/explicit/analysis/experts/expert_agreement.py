"""Agreement of experts with the ranking, with judges' majority votes, and with each other.

The method is in explicit.md section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.draws import coins, mix, text_hash, text_hashes
from lunguage_assets.explicit.analysis.experts.expert_views import OCCUPATION
from lunguage_assets.explicit.analysis.experts.experts import MISSING, Experts, Responses
from lunguage_assets.explicit.analysis.reliability import (
    NOT_DEFINED,
    MeasuredValue,
    agreement_frame,
    agreement_row,
    coefficient_rows,
    independent,
    interval,
    mean_defined,
    pairwise_agreement,
    ratio,
)
from lunguage_assets.explicit.analysis.trust.diagnostics import pair_votes, wilson
from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

NOT_RANKED, SAME_PLACE = "phrase not ranked", "same place in the ranking"
NOT_COMPARED = "no valid comparison by that judge"
MISSING_ANSWER, SILENT = "missing answer", "column without any answer"
"""Why a case is left out."""


@dataclass(frozen=True)
class _Reference:
    """What experts are compared with.

    `choice` is its choice for each pair (0, 1, negative: none), `reasons` says why there is none.
    """

    measure: str
    name: str
    choice: Integers
    reasons: NDArray[Any]


def expert_agreement(
    responses: Responses,
    experts: Experts,
    ranker: str,
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
) -> pd.DataFrame:
    """Every agreement of the study as one row, an `EXPERT_AGREEMENT` frame.

    Args:
        responses, experts: as `load_responses` and `load_experts` return them.
        ranker, ranking: whose ranking, and its `REFERENCE_RANKING` frame; the phrase with the higher mu is
        the ranking's choice.
        matches: `COMPARISON_MATCHES` frame per judge; the phrase with more valid wins is the judge's choice,
            a seeded coin breaks ties.
        settings: seed and number of bootstrap resamples.

    One expert's interval is Wilson's over pairs. The interval of an average resamples experts and pairs,
    independently of each other; those of the experts' agreement resample pairs. Kappa, without an interval,
    takes the pairs that every expert of the group answered. In the coding `position` first and second are
    phrase_1 and phrase_2 of the responses, the order in which the survey showed them.
    """
    references = [_ranking_choice(responses, ranker, ranking)]
    references += [
        _majority_choice(responses, judge, matches[judge], settings.seed) for judge in sorted(matches)
    ]
    groups = _groups(responses, experts)
    rows = list(_not_compared(responses))
    for reference in references:
        rows += _individual_rows(responses, reference)
        rows += [
            _average_row(responses, reference, group, members, settings)
            for group, members in groups.items()
            if group == "all" or len(members)
        ]
    for group, members in groups.items():
        if group == "all" or len(members) > 1:
            rows += _among_experts(responses, group, members, settings)
    rows = [{**row, "experts": len(groups[row["group"]])} for row in rows]
    return agreement_frame(EXPERT_AGREEMENT, rows)


def _groups(responses: Responses, experts: Experts) -> dict[str, Integers]:
    """Places of the experts of every group: all, by role, by occupation."""
    members: dict[str, list[int]] = {"all": [], "writer": [], "reader": []}
    for place, name in enumerate(responses.experts):
        occupation = experts.occupation(name)
        of = ["all", experts.role(name), f"{OCCUPATION}{occupation}" if occupation else ""]
        for group in filter(None, of):
            members.setdefault(group, []).append(place)
    return {group: np.array(places, dtype=np.int64) for group, places in members.items()}


def _ranking_choice(responses: Responses, ranker: str, ranking: pd.DataFrame) -> _Reference:
    place = dict(zip(ranking["phrase"].tolist(), ranking["mu"].tolist(), strict=True))
    first, second = (
        np.array([place.get(phrase, np.nan) for phrase in side])
        for side in (responses.phrase_1, responses.phrase_2)
    )
    known = np.isfinite(first) & np.isfinite(second)
    choice = np.where(known & (first != second), (second > first).astype(np.int64), -1)
    return _Reference("with ranking", ranker, choice, np.where(known, SAME_PLACE, NOT_RANKED))


def _majority_choice(responses: Responses, judge: str, frame: pd.DataFrame, seed: int) -> _Reference:
    votes = pair_votes(frame)
    hashes = [text_hashes(votes[name]) for name in ("phrase_a", "phrase_b")]
    tie = coins(mix(text_hash(seed, "majority", judge), *hashes))
    b_wins = np.where(votes["for_a"] == votes["for_b"], tie, votes["for_b"] > votes["for_a"])
    winners = votes["phrase_b"].where(b_wins, votes["phrase_a"])
    decided = (votes["for_a"] + votes["for_b"] > 0).to_numpy(dtype=bool)
    winner = {
        frozenset(pair): phrase
        for *pair, phrase in zip(
            *(column[decided].tolist() for column in (votes["phrase_a"], votes["phrase_b"], winners)),
            strict=True,
        )
    }
    said = [winner.get(frozenset(pair)) for pair in zip(responses.phrase_1, responses.phrase_2, strict=True)]
    choice = [
        -1 if phrase is None else int(phrase == second)
        for phrase, second in zip(said, responses.phrase_2, strict=True)
    ]
    return _Reference(
        "with judge", judge, np.array(choice, dtype=np.int64), np.full(len(choice), NOT_COMPARED)
    )


def _individual_rows(responses: Responses, reference: _Reference) -> Iterator[dict[str, Any]]:
    for number, expert in enumerate(responses.experts):
        chosen = responses.chosen[:, number]
        both = (chosen >= 0) & (reference.choice >= 0)
        estimate = wilson(int((chosen == reference.choice)[both].sum()), int(both.sum()))
        left_out = _reasons(chosen[:, None], reference)
        names = {"first": expert, "second": reference.name}
        yield agreement_row(reference.measure, estimate, **names, left_out=left_out, group="all")


def _reasons(chosen: Integers, reference: _Reference | None = None) -> dict[str, int]:
    """Cases without a comparison, by reason; `chosen` has shape (pairs, experts)."""
    counted = {MISSING_ANSWER: int((chosen == MISSING).sum())}
    if reference is not None:
        answered = (chosen >= 0).sum(axis=1)
        for reason in sorted(set(reference.reasons.tolist())):
            counted[reason] = int(answered[(reference.choice < 0) & (reference.reasons == reason)].sum())
    return counted


def _average_row(
    responses: Responses, reference: _Reference, group: str, members: Integers, settings: ExplicitSettings
) -> dict[str, Any]:
    """Mean over experts of their agreement with the reference; `n` is the number of answers behind it."""
    chosen = responses.chosen[:, members]
    both = ((chosen >= 0) & (reference.choice >= 0)[:, None]).astype(np.float64)
    equal = both * (chosen == reference.choice[:, None])
    value = float(mean_defined(ratio(equal.sum(axis=0), both.sum(axis=0))))
    known = value if np.isfinite(value) else None
    limits = (None, None) if known is None else interval(known, _resampled_average(equal, both, settings))
    estimate = MeasuredValue(known, *limits, int(both.sum()))
    left_out = _reasons(chosen, reference)
    return agreement_row(reference.measure, estimate, second=reference.name, left_out=left_out, group=group)


def _resampled_average(equal: Floats, both: Floats, settings: ExplicitSettings) -> Floats:
    """Mean over experts in each resample of experts and pairs, shape (resamples,).

    `equal` and `both` have shape (pairs, experts).
    """
    n_pairs, n_experts = equal.shape
    totals = independent(n_pairs, settings.seed, settings.bootstrap).totals(
        np.concatenate([equal, both], axis=1)
    )
    by_expert = ratio(totals[:, :n_experts], totals[:, n_experts:])
    drawn = independent(n_experts, text_hash(settings.seed, "experts"), settings.bootstrap).totals(
        np.eye(n_experts)
    )
    return ratio(np.nansum(by_expert * drawn, axis=1), (np.isfinite(by_expert) * drawn).sum(axis=1))


def _among_experts(
    responses: Responses, group: str, members: Integers, settings: ExplicitSettings
) -> Iterator[dict[str, Any]]:
    """Agreement of the experts of a group with each other.

    Single pairs of experts are listed once, for the group of all.
    """
    position = responses.chosen[:, members]
    resampling = independent(len(position), settings.seed, settings.bootstrap)
    table = pairwise_agreement(position, resampling)
    if group == "all":
        for number, (a, b) in enumerate(combinations(members.tolist(), 2)):
            unanswered = {"no answer of both": len(position) - int(table.n[number])}
            first, second = sorted((responses.experts[a], responses.experts[b]))
            names = {"first": first, "second": second}
            yield agreement_row(
                "with expert", table.of_pair(number), **names, left_out=unanswered, group=group
            )
    mean = table.mean()
    apart = {"two experts without a common answer": len(table.pairs) - mean.n}
    yield agreement_row("with expert", mean, left_out=apart, group=group)
    numbers = pd.Index(sorted({*responses.phrase_1, *responses.phrase_2}))
    sides = (responses.phrase_1, responses.phrase_2)
    shown = np.stack([numbers.get_indexer(pd.Index(side)) for side in sides], axis=1)
    incomplete, unpaired = "pair not answered by every expert", "pair with fewer than two answers"
    yield from coefficient_rows(position, shown, incomplete, unpaired, group=group)


def _not_compared(responses: Responses) -> Iterator[dict[str, Any]]:
    """Columns of the responses without any answer."""
    silent = {SILENT: len(responses)}
    for expert in responses.silent:
        yield agreement_row("not compared", NOT_DEFINED, first=expert, left_out=silent, group="all")
