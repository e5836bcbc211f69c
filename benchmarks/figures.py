"""Renders docs/figures/*.png from the synthetic sample with the offline judges: python benchmarks/figures.py
[reports] [folder].

The pictures show what the platform draws, not results: the sample is invented, and its judges are rules.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from lunguage_assets.corpus.delivery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.explicit.analysis.agreement import judge_agreement
from lunguage_assets.explicit.analysis.rank_correlation import ranking_correlations
from lunguage_assets.explicit.analysis.trust.robustness import ranking_robustness
from lunguage_assets.explicit.analysis.trust.validation import fit_validation
from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.fit.probability import calibrate
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.opening import make_judge
from lunguage_assets.pictures import plots
from lunguage_assets.pictures.heat_maps import agreement_heat_map, correlation_heat_map
from lunguage_assets.sample import write_sample
from lunguage_assets.settings import CorpusSettings, ExplicitSettings


def pictures(reports: int) -> dict[str, Callable[[], bytes]]:
    """Every figure by name, from one run of the explicit stage."""
    settings, configuration, anchors = ExplicitSettings(), load_judges(), published_anchors()
    panel = [make_judge(key, configuration) for key in configuration.panel_members]
    with tempfile.TemporaryDirectory() as folder:
        write_sample(Path(folder), reports)
        findings = take_in(find_delivery(Path(folder)), CorpusSettings()).findings
    hedges = hedge_phrases(findings, make_judge(configuration.extractor, configuration))
    vocabulary = hedge_vocabulary(hedges, settings)
    matches = {judge.key: comparison_matches(vocabulary, judge, settings) for judge in panel}
    ranking = reference_ranking(vocabulary, matches, settings)
    fitted = fit_pairs(findings, hedges, vocabulary, ranking, panel, anchors, settings).probabilities
    placed = fitted[fitted["mu"].notna()].sort_values(["mu", "finding_id"])
    points, mu = placed.iloc[plots.thinned(len(placed))], placed["mu"].to_numpy()
    validation = fit_validation(ranking, matches, settings)
    return {
        "vocabulary": lambda: plots.vocabulary_histogram(vocabulary),
        "ranking": lambda: plots.ranking_plot(ranking),
        "robustness": lambda: plots.robustness_plot(ranking_robustness(ranking, matches, settings)),
        "agreement": lambda: agreement_heat_map(judge_agreement(matches, {}, settings)),
        "correlations": lambda: correlation_heat_map(
            ranking_correlations(matches, {"panel": ranking}, settings)
        ),
        "probabilities": lambda: plots.probability_bars(plots.probability_heights(fitted["p"])),
        "calibration": lambda: plots.calibration_plot(points, mu, calibrate(ranking, anchors), anchors),
        "validation_curves": lambda: plots.validation_curves(
            validation, settings.opponent_limit, settings.panel_steps
        ),
        "validation_spread": lambda: plots.validation_spread(
            validation, settings.opponent_limit, settings.panel_steps
        ),
    }


def main(reports: int = 800, folder: Path = Path("docs/figures")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures(reports).items():
        (folder / f"{name}.png").write_bytes(draw())
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(*(convert(value) for convert, value in zip((int, Path), sys.argv[1:], strict=False)))
