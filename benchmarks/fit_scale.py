"""How long fits take and how much memory they need as pairs grow: python benchmarks/fit_scale.py [pairs ...]
[--economy] [--no-log].

Four simulated judges answer at once, so that what is measured is the fit and not a service. Each number of
pairs runs in a process of its own, because memory once taken is not given back. The memory of the pairs' own
tables, held before the fit begins, is stated apart.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FINDINGS, HEDGE_PHRASES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from simulation import ASSUMED, SimulatedJudge, simulated_corpus

JUDGES = 4
DEFAULT_SIZES = (2_066, 20_000, 200_000)


def peak_mb() -> float:
    """Most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def pair_tables(size: int) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, float]]:
    """FINDINGS and HEDGE_PHRASES of that many pairs, each with a sentence of its own, and the sentences' true
    certainties.
    """
    ids = [f"s{50_000_000 + i // 4}:{i % 4}" for i in range(size)]
    masked = [f"<finding>, film {i}." for i in range(size)]
    fixed = {
        "section": "find",
        "ent": "edema",
        "name": "edema",
        "cat": "PF",
        "status": "tp",
        "currency": "current dx",
        "mask_state": "masked",
    }
    findings: dict[str, list[object]] = {}
    for column in FINDINGS.columns:
        empty: object = {"string": "", "int": 0, "float": 0.0, "bool": False, "strings": []}[column.type]
        findings[column.name] = [fixed.get(column.name, empty)] * size
    findings |= {
        "finding_id": list(ids),
        "study_id": [key.split(":")[0] for key in ids],
        "row": list(range(size)),
    }
    findings |= {"sent": list(masked), "masked_sentence": list(masked)}
    hedges: dict[str, list[object]] = {
        "finding_id": list(ids), "study_id": [key.split(":")[0] for key in ids], "ent": ["edema"] * size,
        "sent": list(masked), "masked_sentence": list(masked), "phrases": [[]] * size, "dropped": [[]] * size,
        "answer_state": ["valid"] * size, "corrected": [False] * size, "needs_review": [False] * size,
        "review_reason": [""] * size,
    }  # fmt: skip
    certainty = np.clip(np.random.default_rng(1).normal(25.0, 8.333, size), 0.0, 50.0).tolist()
    return FINDINGS.frame(findings), HEDGE_PHRASES.frame(hedges), dict(zip(masked, certainty, strict=True))


def measure(size: int, fit: str, log: bool) -> None:
    settings = ExplicitSettings(bootstrap=0, fit="economy" if fit == "economy" else "paper", fit_log=log)
    corpus = simulated_corpus(0, targets=0)
    findings, hedges, truth = pair_tables(size)
    panel = [SimulatedJudge(f"judge-{i}", {**corpus.truth, **truth}, ASSUMED) for i in range(JUDGES)]
    ranking = reference_ranking(
        corpus.vocabulary,
        {judge.key: comparison_matches(corpus.vocabulary, judge, settings) for judge in panel},
        settings,
    )
    before, start, asked = peak_mb(), time.perf_counter(), sum(judge.asked for judge in panel)
    arguments = (findings, hedges, corpus.vocabulary, ranking, panel, corpus.anchors, settings)
    tables = fit_pairs(*arguments)
    frame, rows = tables.probabilities, len(tables.log)
    seconds, answers = time.perf_counter() - start, sum(judge.asked for judge in panel) - asked
    print(
        f"{fit:<8} {size:>8} pairs {seconds:8.1f} s {1e6 * seconds / answers:6.1f} us/answer "
        f"{frame['steps'].mean():6.1f} steps {answers / size:5.1f} answers {rows:>9} log rows {before:7.0f} "
        f"MB before {peak_mb():7.0f} MB peak",
        flush=True,
    )


def main(arguments: list[str]) -> None:
    sizes = [int(value) for value in arguments if value.isdigit()] or list(DEFAULT_SIZES)
    fit, log = "economy" if "--economy" in arguments else "paper", "--no-log" not in arguments
    if "--here" in arguments:
        measure(sizes[0], fit, log)
        return
    options = [option for option in arguments if option.startswith("--")]
    for size in sizes:
        subprocess.run([sys.executable, __file__, str(size), "--here", *options], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
