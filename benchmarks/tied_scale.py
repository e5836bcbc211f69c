"""Three scales for a corpus' own phrases, on simulated corpora of known truth: python
benchmarks/tied_scale.py [corpora].

`own`: its ranking through the two published anchors, which it has. `tied`: its ranking without them, through
the published p of the phrases that both rankings have (Theil-Sen's line, phrases further than three robust
deviations from it left out, least squares through the others). `published`: the published ruler with its
bundled sentences. Prints the table of docs/trust.md: root mean square error of p over all corpora and in
the worst one, coverage of the 95% interval over all corpora and in the lowest one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import theilslopes

from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fitting import fit_sentences
from lunguage_assets.explicit.fit.posterior import posterior_of_a_panel
from lunguage_assets.explicit.fit.probability import Z95, Anchor, calibrate, probability
from lunguage_assets.explicit.fit.reference import Reference
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.judges.rules.published import published_ranking, ruler_sentences
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from simulation import ADVERSE, ASSUMED, Noise, SimulatedJudge, true_probability
from tentative_findings import own_vocabulary

PHRASES, TARGETS, EXAMPLES, JUDGES = 24, 200, 30, 2
PUBLISHED = {entry.phrase: entry.mu for entry in published_ranking()}
ANCHORS = [anchor.phrase for anchor in published_anchors()]
EMPTY = hedge_vocabulary(HEDGE_PHRASES.frame(), ExplicitSettings())
RULER = reference_ranking(EMPTY, {}, ExplicitSettings())


@dataclass(frozen=True)
class World:
    """Judges' noise, how many phrases both rankings have, and how far a phrase here means something else.

    `drift` is the deviation of a phrase's place from the published one, of the corpus' and of the bundled
    sentences each; `shift` is common to all phrases of the corpus.
    """

    noise: Noise = ADVERSE
    shared: int = 12
    drift: float = 3.0
    shift: float = 0.0


WORLDS = {
    "judges as TrueSkill assumes": World(ASSUMED),
    "adverse judges": World(),
    "adverse, 20 shared": World(shared=20),
    "adverse, phrases mean the same everywhere": World(drift=0.0),
    "adverse, phrases mean other things (drift 5)": World(drift=5.0),
    "adverse, all words of the corpus stronger by 5": World(shift=5.0),
    "nearly certain judges": World(Noise(1.0, tails=3.0, wording=2.0)),
    "vague judges": World(Noise(8.0, reading=3.0, wording=3.0)),
}


def outcomes(seed: int, world: World) -> dict[str, tuple[float, float]]:
    """Mean square error of p and share of intervals that hold, by scale, on one corpus."""
    random, settings = np.random.default_rng(seed), ExplicitSettings(seed=seed, bootstrap=30)
    names = random.permutation([phrase for phrase in PUBLISHED if phrase not in ANCHORS]).tolist()
    shared = names[: world.shared]
    places = {
        phrase: PUBLISHED[phrase] + world.shift + world.drift * random.standard_normal()
        for phrase in [*shared, *ANCHORS]
    }
    places |= {f"own {i}": random.uniform(9.0, 41.0) for i in range(PHRASES - world.shared)}
    sentences = {name: [f"{name} <finding>, own {i}." for i in range(EXAMPLES)] for name in places}
    bundled = {name: PUBLISHED[name] + world.drift * random.standard_normal() for name in PUBLISHED}
    targets = [f"<finding>, target {i}." for i in range(TARGETS)]
    target_mu = np.clip(random.normal(25.0, 8.3, TARGETS), 3.0, 47.0)
    truth = dict(zip(targets, target_mu.tolist(), strict=True))
    for known, of in ((sentences, places), (ruler_sentences(), bundled)):
        for name, examples in known.items():
            truth |= {one: of[name] + world.noise.wording * random.standard_normal() for one in examples}
    panel = [SimulatedJudge(f"judge-{i}", truth, world.noise, seed) for i in range(JUDGES)]
    p_true = true_probability(target_mu)

    def placed(
        vocabulary: pd.DataFrame, ranking: pd.DataFrame, anchors: Sequence[Anchor]
    ) -> tuple[float, float]:
        reference = Reference.of(ranking, vocabulary)
        fits = fit_sentences(targets, reference, panel, settings)
        centre, mu_sd = posterior_of_a_panel(fits.won, fits.lost, reference)
        p, low, high = probability(fits.mu, mu_sd, calibrate(ranking, anchors), centre)
        return float(((p - p_true) ** 2).mean()), float(((low <= p_true) & (p_true <= high)).mean())

    def ranked(vocabulary: pd.DataFrame) -> pd.DataFrame:
        matches = {judge.key: comparison_matches(vocabulary, judge, settings) for judge in panel}
        return reference_ranking(vocabulary, matches, settings)

    whole = own_vocabulary(sentences)
    without = own_vocabulary({name: known for name, known in sentences.items() if name not in ANCHORS})
    ranking = ranked(without)
    return {
        "own": placed(whole, ranked(whole), published_anchors()),
        "tied": placed(without, ranking, tied(ranking, shared)),
        "published": placed(EMPTY, RULER, published_anchors()),
    }


def tied(ranking: pd.DataFrame, shared: Sequence[str]) -> list[Anchor]:
    """Anchors at the published p of the shared phrases; their scatter about the line is their deviation."""
    line = calibrate(RULER, published_anchors())
    mu = ranking.set_index("phrase")["mu"].loc[list(shared)].to_numpy()
    logit = line.alpha * (np.array([PUBLISHED[phrase] for phrase in shared]) - line.mu_half)
    slope, intercept, *_ = theilslopes(logit, mu)
    away = np.abs(logit - intercept - slope * mu)
    kept = away <= 3.0 * 1.4826 * np.median(away)
    residual = logit[kept] - np.polyval(np.polyfit(mu[kept], logit[kept], 1), mu[kept])
    margin = Z95 * np.sqrt((residual**2).sum() / (kept.sum() - 2))
    return [
        Anchor(phrase, float(expit(at)), float(expit(at - margin)), float(expit(at + margin)))
        for phrase, at, keeps in zip(shared, logit, kept, strict=True)
        if keeps
    ]


def main(corpora: int) -> None:
    print("| world | scale | error | worst corpus | coverage | lowest corpus |\n|---|---|---|---|---|---|")
    for name, world in WORLDS.items():
        done = [outcomes(seed, world) for seed in range(corpora)]
        for scale in done[0]:
            squares, held = np.array([one[scale] for one in done]).T
            print(
                f"| {name} | {scale} | {np.sqrt(squares.mean()):.3f} | {np.sqrt(squares.max()):.3f} | "
                f"{held.mean():.3f} | {held.min():.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
