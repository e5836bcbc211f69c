"""Tentative pairs: which findings need a probability, and the table of those probabilities whether fitted or not (explicit.md sections 0, 5).

How a sentence is fitted is in `fitting.py`, how a place becomes a probability in `probability.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.draws import digest
from lunguage_assets.explicit.probability import Calibration, probability
from lunguage_assets.tables import FITTED_PROBABILITIES

if TYPE_CHECKING:
    from lunguage_assets.explicit.fitting import Fits

EXPLICIT_SECTIONS = ("find", "impr")
"""History rows take no part in the explicit stage."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A tentative finding with its sentence; `masked_sentence` is None when the finding was not located."""

    finding_id: str
    study_id: str
    masked_sentence: str | None
    same_name: bool
    phrases: tuple[str, ...]


def tentative_rows(findings: pd.DataFrame) -> pd.DataFrame:
    """The rows of tentative pairs, sorted by study and row whatever the order of `findings`."""
    tentative = findings["status"].isin(["tp", "tn"]) & findings["section"].isin(EXPLICIT_SECTIONS)
    return findings[tentative.to_numpy(dtype=bool)].sort_values(["study_id", "row", "finding_id"], kind="stable")


def collect_pairs(findings: pd.DataFrame, hedges: pd.DataFrame) -> list[Pair]:
    """All tentative pairs with their extracted phrases.

    Raises:
        MethodError: the two tables are not about the same pairs.
    """
    rows = tentative_rows(findings)
    phrases = dict(zip(hedges["finding_id"].tolist(), hedges["phrases"].tolist(), strict=True))
    ids = rows["finding_id"].tolist()
    if set(ids) != set(phrases):
        raise MethodError(
            f"hedge_phrases is about {len(phrases)} pairs, findings has {len(ids)}, and they are not the same ones. Materialise hedge_phrases again."
        )
    columns = [rows[name].tolist() for name in ("study_id", "masked_sentence", "mask_state", "same_name_in_sentence")]
    return [
        Pair(finding_id, study, sentence if state == "masked" else None, bool(same_name), tuple(phrases[finding_id]))
        for finding_id, study, sentence, state, same_name in zip(ids, *columns, strict=True)
    ]


def fitted_frame(
    pairs: Sequence[Pair], number: Mapping[str, int], fits: Fits, stops: Sequence[str], ranking: pd.DataFrame, calibration: Calibration
) -> pd.DataFrame:
    """The `FITTED_PROBABILITIES` frame of all pairs; `number` is a sentence's place in `fits`."""
    p, low, high = (values.tolist() for values in probability(fits.mu, np.sqrt(fits.variance), calibration))
    by_phrase = _PhraseProbability(ranking, calibration)
    ruler, version = str(ranking["ruler"].iloc[0]), str(ranking["ranking_version"].iloc[0])
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        i = None if pair.masked_sentence is None else number[pair.masked_sentence]
        stop = "not located" if i is None else stops[int(fits.stop[i])]
        fitted = i is not None and stop != "no valid answers"
        row: dict[str, Any] = {
            "finding_id": pair.finding_id,
            "study_id": pair.study_id,
            "phrases": list(pair.phrases),
            "sentence_key": "" if pair.masked_sentence is None else digest(pair.masked_sentence)[:24],
            "same_name_in_sentence": pair.same_name,
            "mu": None,
            "sigma": None,
            "rank": None,
            "steps": 0 if i is None else int(fits.steps[i] + fits.void[i]),
            "answers": 0 if i is None else int(fits.answers[i]),
            "invalid_answers": 0 if i is None else int(fits.invalid[i]),
            "stop": stop,
            "ruler": ruler,
            "ranking_version": version,
        }
        if i is not None and fitted:
            row |= {"mu": float(fits.mu[i]), "sigma": float(fits.variance[i]) ** 0.5, "rank": int(fits.rank[i])}
            row |= {"p": p[i], "p_low": low[i], "p_high": high[i], "p_source": "fitted"}
        else:
            row |= by_phrase.of(pair.phrases)
        rows.append(row)
    return FITTED_PROBABILITIES.frame(rows)


class _PhraseProbability:
    """Probability of a pair that no judge could place: from the mean mu of its ranked phrases, else no information (section 5).

    One sentence strays from its phrase's mean; TrueSkill's own model of that is a normal of deviation beta, taken here as the
    standard error of the place.
    """

    def __init__(self, ranking: pd.DataFrame, calibration: Calibration) -> None:
        self._mu = dict(zip(ranking["phrase"].tolist(), ranking["mu"].tolist(), strict=True))
        self._calibration = calibration

    def of(self, phrases: Sequence[str]) -> dict[str, Any]:
        known = [self._mu[phrase] for phrase in phrases if phrase in self._mu]
        if not known:
            return {"p": 0.5, "p_low": 0.0, "p_high": 1.0, "p_source": "none"}
        p, low, high = probability(sum(known) / len(known), trueskill.BETA, self._calibration)
        return {"p": float(p), "p_low": float(low), "p_high": float(high), "p_source": "phrase"}
