"""Tentative pairs and the table of their probabilities (explicit.md sections 0 and 5).

How a sentence is fitted is in `fitting.py` and `economy.py`, how a place becomes a probability in
`probability.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.draws import digest
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.fits import STOPS, Places
from lunguage_assets.explicit.fit.probability import Calibration, probability
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.tables import FITTED_PROBABILITIES

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
    return findings[tentative.to_numpy(dtype=bool)].sort_values(
        ["study_id", "row", "finding_id"], kind="stable"
    )


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
            f"hedge_phrases is about {len(phrases)} pairs, findings has {len(ids)}, and they are not the "
            "same ones. Materialise hedge_phrases again."
        )
    columns = [
        rows[name].tolist() for name in ("study_id", "masked_sentence", "mask_state", "same_name_in_sentence")
    ]
    return [
        Pair(
            finding_id,
            study,
            sentence if state == "masked" else None,
            bool(same_name),
            tuple(phrases[finding_id]),
        )
        for finding_id, study, sentence, state, same_name in zip(ids, *columns, strict=True)
    ]


def sentence_key(masked_sentence: str) -> str:
    """Identity of a masked sentence: identical ones are fitted once, and the log is kept by it."""
    return digest(masked_sentence)[:24]


def fitted_frame(
    pairs: Sequence[Pair],
    number: Mapping[str, int],
    places: Places,
    fit: str,
    ranking: pd.DataFrame,
    calibration: Calibration,
) -> pd.DataFrame:
    """The `FITTED_PROBABILITIES` frame of all pairs.

    `number` is a sentence's place in `places`, by its key.
    """
    keys = ["" if pair.masked_sentence is None else sentence_key(pair.masked_sentence) for pair in pairs]
    row = np.array([number[key] if key else -1 for key in keys], dtype=np.int64)
    stop = [STOPS[places.stop[i]] if i >= 0 else "not located" for i in row.tolist()]
    fitted = np.array([reason not in ("not located", "no valid answers") for reason in stop], dtype=bool)
    place = {
        name: np.where(row >= 0, values[row] if len(values) else 0, 0)
        for name, values in vars(places).items()
    }
    p, low, high = probability(place["mu"], place["mu_sd"], calibration, place["mu_centre"])
    source = np.full(len(pairs), "fitted", dtype=object)
    mu_of = dict(zip(ranking["phrase"].tolist(), ranking["mu"].tolist(), strict=True))
    for i in np.flatnonzero(~fitted).tolist():
        p[i], low[i], high[i], source[i] = _from_phrases(pairs[i].phrases, mu_of, calibration)
    columns: dict[str, Sequence[Any]] = {
        "finding_id": [pair.finding_id for pair in pairs],
        "study_id": [pair.study_id for pair in pairs],
        "phrases": [list(pair.phrases) for pair in pairs],
        "sentence_key": keys,
        "same_name_in_sentence": [pair.same_name for pair in pairs],
        **{name: _where(fitted, place[name]) for name in ("mu", "sigma", "rank", "mu_centre", "mu_sd")},
        **{name: place[name].tolist() for name in ("steps", "answers", "invalid_answers")},
        "stop": stop,
        "fit": [fit] * len(pairs),
        "p": p.tolist(),
        "p_low": low.tolist(),
        "p_high": high.tolist(),
        "p_source": source.tolist(),
        "ruler": [str(ranking["ruler"].iloc[0])] * len(pairs),
        "ranking_version": [str(ranking["ranking_version"].iloc[0])] * len(pairs),
    }
    return FITTED_PROBABILITIES.frame(columns)


def _where(known: NDArray[np.bool_], values: NDArray[Any]) -> list[Any]:
    """Values, null where not known."""
    return [
        value if is_known else None for value, is_known in zip(values.tolist(), known.tolist(), strict=True)
    ]


def _from_phrases(
    phrases: Sequence[str], mu_of: Mapping[str, float], calibration: Calibration
) -> tuple[float, float, float, str]:
    """p, p_low, p_high and p_source of a pair without a fit: from the mean mu of its ranked phrases, else
    unknown (section 5).

    One sentence strays from its phrase's mean; TrueSkill's own model of that is a normal of deviation beta,
    taken here as the standard error of the place.
    """
    known = [mu_of[phrase] for phrase in phrases if phrase in mu_of]
    if not known:
        return 0.5, 0.0, 1.0, "none"
    p, low, high = probability(sum(known) / len(known), trueskill.BETA, calibration)
    return float(p), float(low), float(high), "phrase"
