"""How often the 95% interval of p holds the truth, on simulated corpora: python
benchmarks/interval_coverage.py [corpora] [phrases].

Every corpus is taken through the whole pipeline: matches by simulated judges, TrueSkill
ranking, bootstrap, fit, calibration by anchors whose ratings err, interval. Prints the
table of docs/trust.md. `width` is the mean width of the interval, `error` the root mean
square error of p, `agreement` how often two judges agree about a match (0.87
published).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit.fit import Fits, phrase_examples
from lunguage_assets.explicit.intervals import panel_posterior
from lunguage_assets.explicit.probability import calibrate, probability
from lunguage_assets.explicit.ranking import comparison_matches, reference_ranking
from lunguage_assets.settings import ExplicitSettings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from simulation import ADVERSE, ASSUMED, Noise, simulated_corpus

TARGETS = 300
NOISES = {
    "as TrueSkill assumes": ASSUMED,
    "adverse": ADVERSE,
    "adverse, judges read each sentence their own way": Noise(
        1.5, tails=3.0, lapse=0.05, position=1.0, reading=5.0, wording=3.0
    ),
    "as TrueSkill assumes, judges read each sentence their own way": Noise(reading=5.0),
    "nearly certain judges, phrases of one sentence": Noise(1.0, tails=3.0),
}


@dataclass(frozen=True)
class Outcome:
    """One corpus: whether each interval held, shape (targets,); widths and errors;
    agreement of the judges (nan for one).
    """

    held: NDArray[np.bool_]
    width: float
    error: float
    agreement: float


def outcome(seed: int, noise: Noise, judges: int, phrases: int) -> Outcome:
    settings = ExplicitSettings(seed=seed, bootstrap=100)
    corpus = simulated_corpus(seed, phrases=phrases, targets=TARGETS, noise=noise)
    panel = corpus.panel(judges, noise, seed)
    matches = {
        judge.key: comparison_matches(corpus.vocabulary, judge, settings)
        for judge in panel
    }
    ranking = reference_ranking(corpus.vocabulary, matches, settings)
    examples = phrase_examples(ranking, corpus.vocabulary)
    fits = Fits(corpus.targets, ranking, examples, panel, settings)
    fits.run()
    centre, mu_sd = panel_posterior(fits.answers, ranking)
    p, low, high = probability(
        fits.mu, mu_sd, calibrate(ranking, corpus.anchors), centre
    )
    held = (low <= corpus.target_p) & (corpus.target_p <= high)
    return Outcome(
        held,
        float((high - low).mean()),
        float(np.sqrt(((p - corpus.target_p) ** 2).mean())),
        agreement(matches),
    )


def agreement(matches: dict[str, pd.DataFrame]) -> float:
    """Mean over pairs of judges of the share of matches in which they name the same
    phrase.
    """
    winners = [frame["winner"].tolist() for frame in matches.values()]
    shares = [
        np.mean([rank_1 == rank_2 for rank_1, rank_2 in zip(a, b, strict=True)])
        for a, b in combinations(winners, 2)
    ]
    return float(np.mean(shares)) if shares else float("nan")


def main(corpora: int, phrases: int) -> None:
    print("| noise | judges | coverage | lowest corpus | width | error | agreement |")
    print("|---|---|---|---|---|---|---|")
    for name, noise in NOISES.items():
        for judges in (4, 2, 1):
            done = [outcome(seed, noise, judges, phrases) for seed in range(corpora)]
            shares_held = [float(result.held.mean()) for result in done]
            width = np.mean([result.width for result in done])
            error = np.mean([result.error for result in done])
            agreed = np.mean([result.agreement for result in done])
            agreement_shown = "-" if np.isnan(agreed) else f"{agreed:.2f}"
            print(
                f"| {name} | {judges} | {np.mean(shares_held):.3f} | "
                f"{min(shares_held):.3f} | {width:.3f} | {error:.3f} | {agreement_shown} |",
                flush=True,
            )


if __name__ == "__main__":
    numbers = [int(value) for value in sys.argv[1:]]
    main(*(numbers + [12, 24][len(numbers) :]))
