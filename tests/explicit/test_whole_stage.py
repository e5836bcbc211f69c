"""The whole explicit stage on the synthetic corpus: what a person would expect of it without knowing the
figures.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from lunguage_assets.corpus.delivery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.opening import make_judge
from lunguage_assets.judges.rules.published import published_ranking
from lunguage_assets.sample import write_sample
from lunguage_assets.settings import CorpusSettings, ExplicitSettings


class Run(NamedTuple):
    findings: pd.DataFrame
    vocabulary: pd.DataFrame
    ranking: pd.DataFrame
    fitted: pd.DataFrame


def run(folder: Path, reports: int) -> Run:
    settings, configuration = ExplicitSettings(bootstrap=0), load_judges()
    write_sample(folder, reports)
    findings = take_in(find_delivery(folder), CorpusSettings()).findings
    panel = [make_judge(key, configuration) for key in configuration.panel_members]
    hedges = hedge_phrases(findings, make_judge(configuration.extractor, configuration))
    vocabulary = hedge_vocabulary(hedges, settings)
    matches = {judge.key: comparison_matches(vocabulary, judge, settings) for judge in panel}
    ranking = reference_ranking(vocabulary, matches, settings)
    fits = fit_pairs(findings, hedges, vocabulary, ranking, panel, published_anchors(), settings)
    return Run(findings, vocabulary, ranking, fits.probabilities)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("sample"), 600)


def test_the_ranking_follows_sense_from_top_to_bottom(sample: Run) -> None:
    order = sample.ranking["phrase"].tolist()
    assert order[0] == "most likely"
    assert {"consistent with", "likely", "probable"} <= set(order[:6])
    assert {"less likely", "if any", "cannot be entirely excluded"} <= set(order[-8:])
    published = pd.Series({entry.phrase: entry.mu for entry in published_ranking()})
    own = sample.ranking.set_index("phrase")["mu"].reindex(published.index)
    assert own.corr(published, method="spearman") > 0.9


def test_every_current_tentative_finding_has_a_probability_with_an_interval(sample: Run) -> None:
    tentative = sample.findings["status"].isin(["tp", "tn"]) & sample.findings["section"].ne("hist")
    assert set(sample.fitted["finding_id"]) == set(sample.findings.loc[tentative, "finding_id"])
    assert (sample.fitted["p_low"] < sample.fitted["p"]).all()
    assert (sample.fitted["p"] < sample.fitted["p_high"]).all()
    located = sample.findings.loc[tentative & sample.findings["mask_state"].eq("masked"), "finding_id"]
    assert set(sample.fitted.loc[sample.fitted["p_source"].eq("fitted"), "finding_id"]) == set(located)


def test_likely_is_more_probable_than_possible_and_possible_than_less_likely(sample: Run) -> None:
    alone = sample.fitted[sample.fitted["phrases"].map(len) == 1]
    mean = alone["p"].groupby(alone["phrases"].str[0]).mean()
    order = ["most likely", "likely", "may represent", "possible", "cannot be excluded", "less likely"]
    assert mean[order].is_monotonic_decreasing
