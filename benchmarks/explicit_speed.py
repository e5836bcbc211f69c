"""How long the explicit stage takes on the synthetic corpus with the offline judges: python
benchmarks/explicit_speed.py [reports] [pairs].

Prints one line per stage. The fit is timed on exactly `pairs` distinct masked sentences (2,066 = the
published corpus), the rest on a sample of `reports` reports.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from lunguage_assets.corpus.delivery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fitting import fit_pairs, fit_sentences
from lunguage_assets.explicit.fit.reference import Reference
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import collect_answers, random_orders, reference_ranking
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.opening import make_judge
from lunguage_assets.sample import write_sample
from lunguage_assets.settings import CorpusSettings, ExplicitSettings

T = TypeVar("T")


def timed(what: str, work: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = work()
    print(f"{what:<64}{time.perf_counter() - start:8.2f} s")
    return result


def main(reports: int, pairs: int) -> None:
    settings, configuration = ExplicitSettings(fit_log=False), load_judges()
    panel = [make_judge(key, configuration) for key in configuration.panel_members]
    with tempfile.TemporaryDirectory() as folder:
        write_sample(Path(folder), reports)
        findings = take_in(find_delivery(Path(folder)), CorpusSettings()).findings
    hedges = timed(
        f"hedging phrases, {reports} reports",
        lambda: hedge_phrases(findings, make_judge(configuration.extractor, configuration)),
    )
    vocabulary = timed("vocabulary", lambda: hedge_vocabulary(hedges, settings))
    matches = {
        judge.key: timed(
            f"comparison matches, {judge.key}",
            lambda judge=judge: comparison_matches(vocabulary, judge, settings),
        )
        for judge in panel
    }
    answers = collect_answers(sorted(vocabulary.loc[vocabulary["retained"], "phrase"]), matches)
    orders = random_orders(answers, settings)
    timed(
        f"TrueSkill, {len(answers)} matches x {settings.orders} orders",
        lambda: trueskill.play(answers.winner, answers.loser, len(answers.phrases), orders),
    )
    doubled = np.concatenate([orders, orders], axis=1)
    timed(
        f"TrueSkill, {doubled.shape[1]} matches x {settings.orders} orders",
        lambda: trueskill.play(answers.winner, answers.loser, len(answers.phrases), doubled),
    )
    ranking = timed(
        f"ranking of {len(answers.phrases)} phrases, {settings.bootstrap} resamples",
        lambda: reference_ranking(vocabulary, matches, settings),
    )
    fitted = timed(
        f"fitted probabilities, {len(hedges)} pairs",
        lambda: fit_pairs(findings, hedges, vocabulary, ranking, panel, published_anchors(), settings),
    )
    frame = fitted.probabilities
    known = (
        frame.merge(hedges[["finding_id", "masked_sentence"]], on="finding_id")["masked_sentence"]
        .dropna()
        .tolist()
    )
    distinct = [f"{known[i % len(known)][:-1]}, film {i}." for i in range(pairs)]
    fits = timed(
        f"fits alone, {pairs} distinct sentences",
        lambda: fit_sentences(distinct, Reference.of(ranking, vocabulary), panel, settings),
    )
    print(f"steps on average {fits.steps.mean():.2f}, p on average {frame['p'].mean():.3f}")


if __name__ == "__main__":
    numbers = [int(value) for value in sys.argv[1:]]
    main(*(numbers + [800, 2066][len(numbers) :]))
