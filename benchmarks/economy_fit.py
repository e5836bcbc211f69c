"""The paper's fit and the economy fit side by side on simulated judges: python benchmarks/economy_fit.py
[corpora] [targets].

Both place the same sentences in the same ranking, asked of the same judges. mu is compared on the true scale:
the place, taken through the line of anchors without error, against the truth; rank against the number of
phrases truly above; both as root mean square errors. Dollars are those of preset models-2025 (its prices of
November 2025; one judge: the dearest) at PROMPT_TOKENS and ANSWER_TOKENS a call. Prints the table of
docs/trust.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.explicit.fit.economy import fit_economically
from lunguage_assets.explicit.fit.fit_log import FitLog
from lunguage_assets.explicit.fit.fitting import fit_sentences
from lunguage_assets.explicit.fit.posterior import posterior_of_a_panel
from lunguage_assets.explicit.fit.probability import Anchor, calibrate, probability
from lunguage_assets.explicit.fit.reference import Reference
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.settings import ExplicitSettings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from simulation import (
    ADVERSE,
    ASSUMED,
    TRUE_ALPHA,
    SimulatedCorpus,
    SimulatedJudge,
    simulated_corpus,
    true_probability,
)

PROMPT_TOKENS, ANSWER_TOKENS = 500, 5
NOISES = {"as TrueSkill assumes": ASSUMED, "adverse": ADVERSE}
FITS: dict[str, dict[str, Any]] = {
    "paper": {},
    "economy, sd 1.5": {"fit": "economy"},
    "economy, sd 1.25": {"fit": "economy", "economy_sd": 1.25},
    "economy, sd 2": {"fit": "economy", "economy_sd": 2.0},
}  # fmt: skip


@dataclass(frozen=True)
class Result:
    """Errors against the truth and what they cost, means over the targets of a corpus."""

    mu: float
    rank: float
    p: float
    width: float
    coverage: float
    answers: float
    rounds: float
    most_rounds: float
    dollars: float
    seconds: float


def prices(judges: int) -> list[float]:
    """Dollars per call of each judge of the paper's panel, or of its dearest one."""
    configuration = load_judges()
    members = configuration.panels[configuration.presets["models-2025"].panel].members
    listed = [configuration.judges[member].price for member in members]
    per_call = [(PROMPT_TOKENS * price.input + ANSWER_TOKENS * price.output) / 1e6 for price in listed]
    return per_call if judges == len(per_call) else sorted(per_call)[-judges:]


def certain_anchors(corpus: SimulatedCorpus) -> Sequence[Anchor]:
    """The corpus' anchors as if rated without error, so that errors are those of the fit and its ranking."""
    known = dict(
        zip(corpus.vocabulary["phrase"].tolist(), true_probability(corpus.phrase_mu).tolist(), strict=True)
    )
    return [Anchor(anchor.phrase, *([known[anchor.phrase]] * 3)) for anchor in corpus.anchors]


def compare(seed: int, noise_name: str, judges: int, targets: int) -> dict[str, Result]:
    """Every fit on one corpus."""
    noise, base = NOISES[noise_name], ExplicitSettings(seed=seed, bootstrap=50)
    corpus = simulated_corpus(seed, targets=targets, noise=noise)
    panel = corpus.panel(judges, noise, seed)
    ranking = corpus.ranking(panel, base)
    reference, calibration = (
        Reference.of(ranking, corpus.vocabulary),
        calibrate(ranking, certain_anchors(corpus)),
    )
    true_rank = (corpus.phrase_mu > corpus.target_mu[:, None]).sum(axis=1)
    results = {}
    for name, options in FITS.items():
        settings = base.model_copy(update=options)
        log = FitLog([judge.key for judge in panel], reference.phrases)
        before, start = _asked(panel), time.perf_counter()
        fits = (fit_economically if settings.fit == "economy" else fit_sentences)(
            corpus.targets, reference, panel, settings, log
        )
        seconds = time.perf_counter() - start
        centre, mu_sd = posterior_of_a_panel(fits.won, fits.lost, reference)
        p, low, high = probability(fits.mu, mu_sd, calibration, centre)
        true_scale = (np.log(p / (1.0 - p)) - np.log(corpus.target_p / (1.0 - corpus.target_p))) / TRUE_ALPHA
        rounds = (
            log.table([f"{i:06d}" for i in range(targets)]).to_pandas().groupby("sentence_key")["round"].max()
            + 1
        )
        results[name] = Result(
            mu=_rms(true_scale), rank=_rms(fits.rank - true_rank), p=_rms(p - corpus.target_p),
            width=float((high - low).mean()),
            coverage=float(((low <= corpus.target_p) & (corpus.target_p <= high)).mean()),
            answers=float(fits.answers.mean()), rounds=float(rounds.mean()), most_rounds=float(rounds.max()),
            dollars=float((_asked(panel) - before) @ np.array(prices(judges))) / targets, seconds=seconds,
        )  # fmt: skip
    return results


def _rms(errors: NDArray[np.float64] | NDArray[np.int64]) -> float:
    return float(np.sqrt(np.mean(np.asarray(errors, dtype=np.float64) ** 2)))


def _asked(panel: Sequence[SimulatedJudge]) -> NDArray[np.int64]:
    return np.array([judge.asked for judge in panel])


def main(corpora: int, targets: int) -> None:
    print(
        "| noise | judges | fit | error of mu | of rank | of p | width | "
        "coverage | calls | rounds | most | $ per 1,000 | s per 1,000 |"
    )
    print("|---" * 13 + "|")
    for noise in NOISES:
        for judges in (4, 1):
            done = [compare(seed, noise, judges, targets) for seed in range(corpora)]
            for fit in FITS:
                mean = {
                    field.name: float(np.mean([getattr(one[fit], field.name) for one in done]))
                    for field in fields(Result)
                }
                print(
                    f"| {noise} | {judges} | {fit} | {mean['mu']:.2f} | {mean['rank']:.2f} | {mean['p']:.3f} "
                    f"| {mean['width']:.3f} | {mean['coverage']:.3f} | {mean['answers']:.1f} | "
                    f"{mean['rounds']:.1f} | {mean['most_rounds']:.0f} | {1000.0 * mean['dollars']:.2f} | "
                    f"{1000.0 * mean['seconds'] / targets:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    numbers = [int(value) for value in sys.argv[1:]]
    main(*(numbers + [5, 500][len(numbers) :]))
