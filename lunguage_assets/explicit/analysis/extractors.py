"""Agreement between judges that extracted hedging phrases from the same batches (explicit.md section 1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.explicit.analysis.agreement_rows import agreement_row
from lunguage_assets.explicit.analysis.reliability import Resampling, shares
from lunguage_assets.settings import ExplicitSettings

_MEASURES = ("extraction: same phrases", "extraction: jaccard", "extraction: f1")


def extractor_rows(
    hedges: Mapping[tuple[str, str], pd.DataFrame], settings: ExplicitSettings
) -> Iterator[dict[str, Any]]:
    """Rows of `JUDGE_AGREEMENT` for every two judges that share a batch.

    Args:
        hedges: `HEDGE_PHRASES` frame per (judge, batch).
        settings: seed and number of resamples; intervals come from a bootstrap of studies.

    Compared are the phrases that the filters left, over all pairs that both could read and nobody corrected
    (a correction is the same for every extractor). `same phrases` is the share of equal sets; `jaccard` the
    mean overlap, 1 where both found nothing; `f1` counts phrases over all pairs (2 x common / sum of both)
    and is null when nobody found any.
    """
    for first, second in combinations(sorted({judge for judge, _ in hedges}), 2):
        batches = sorted(batch for judge, batch in hedges if judge == first and (second, batch) in hedges)
        if batches:
            yield from _pair_rows(
                first, second, [(hedges[first, batch], hedges[second, batch]) for batch in batches], settings
            )


def _pair_rows(
    first: str, second: str, frames: list[tuple[pd.DataFrame, pd.DataFrame]], settings: ExplicitSettings
) -> Iterator[dict[str, Any]]:
    left_out = {"corrected by a person": 0, "invalid answer": 0, "pair that one of them lacks": 0}
    overlaps: list[tuple[float, float, float, float]] = []
    studies: list[str] = []
    for one, other in frames:
        answers, others = _answers(one), _answers(other)
        left_out["pair that one of them lacks"] += len(answers.keys() ^ others.keys())
        for finding_id in sorted(answers.keys() & others.keys()):
            study, phrases, obstacle = answers[finding_id]
            _, further, second_obstacle = others[finding_id]
            if obstacle or second_obstacle:
                left_out[min(filter(None, (obstacle, second_obstacle)))] += 1
                continue
            union, common = len(phrases | further), len(phrases & further)
            jaccard = common / union if union else 1.0
            overlaps.append((float(phrases == further), jaccard, 2.0 * common, len(phrases) + len(further)))
            studies.append(study)
    hits = np.array(overlaps).reshape(-1, 4)
    cases = np.stack([np.ones(len(hits)), np.ones(len(hits)), hits[:, 3]], axis=1)
    cluster = pd.factorize(np.array(studies, dtype=object), sort=True)[0].astype(np.int64)
    estimates = shares(hits[:, :3], cases, Resampling(cluster, settings.seed, settings.bootstrap))
    for measure, estimate in zip(_MEASURES, estimates, strict=True):
        silent = {"no phrase in either": len(hits) - estimate.n} if measure.endswith("f1") else {}
        yield agreement_row(measure, estimate, first=first, second=second, left_out={**left_out, **silent})


def _answers(frame: pd.DataFrame) -> dict[str, tuple[str, frozenset[str], str]]:
    """Study, phrases, and the obstacle to a comparison (empty: none), by finding id."""
    obstacle = np.where(frame["answer_state"] == "valid", "", "invalid answer")
    obstacle = np.where(frame["corrected"], "corrected by a person", obstacle)
    columns = [frame[name].tolist() for name in ("finding_id", "study_id", "phrases")]
    return {
        finding_id: (study, frozenset(phrases), why)
        for finding_id, study, phrases, why in zip(*columns, obstacle.tolist(), strict=True)
    }
