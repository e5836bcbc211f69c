"""The log of a fit says why a sentence stands where it stands, and nothing of what the sentence says
(explicit.md section 5).
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pytest
from tentative_findings import finding, findings_frame, invented_findings

from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fitting import FitTables, fit_pairs
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES
from lunguage_assets.tables.explicit import FIT_LOG

PUBLISHED = ExplicitSettings(ruler="published")
PANEL: tuple[Judge, ...] = (LexiconJudge.bundled("lexicon"), CuesJudge.bundled("cues"))


@pytest.fixture(scope="module")
def stick() -> tuple[pd.DataFrame, pd.DataFrame]:
    vocabulary = hedge_vocabulary(HEDGE_PHRASES.frame(), PUBLISHED)
    return vocabulary, reference_ranking(vocabulary, {}, PUBLISHED)


def fit(
    findings: pd.DataFrame,
    stick: tuple[pd.DataFrame, pd.DataFrame],
    settings: ExplicitSettings = PUBLISHED,
    panel: Sequence[Judge] = PANEL,
) -> FitTables:
    return fit_pairs(
        findings, hedge_phrases(findings, PANEL[0]), *stick, panel, published_anchors(), settings
    )


def test_the_log_ends_where_the_fit_ends(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    tables = fit(invented_findings(30), stick)
    FIT_LOG.to_arrow(tables.log)
    last = tables.log.groupby("sentence_key").last()
    fitted = tables.probabilities.drop_duplicates("sentence_key").set_index("sentence_key")
    assert set(last.index) == set(fitted.index)
    last = last.loc[fitted.index]
    for column in ("mu", "sigma", "rank"):
        assert (last[column].to_numpy() == fitted[column].to_numpy(dtype=float)).all()
    assert (last["step"] + 1 == fitted["steps"]).all()
    valid = tables.log["answers"].str.count("=won") + tables.log["answers"].str.count("=lost")
    assert (valid.groupby(tables.log["sentence_key"]).sum().loc[fitted.index] == fitted["answers"]).all()


def test_every_place_can_be_computed_again_from_the_log_alone(
    stick: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    log = fit(invented_findings(20), stick).log
    ranking = stick[1].set_index("phrase")
    for _, rows in log.groupby("sentence_key"):
        mu, variance = trueskill.MU, trueskill.SIGMA**2
        for step in rows.itertuples():
            for answer in step.answers.split():
                opponent = ranking.loc[step.opponent]
                mu, variance = trueskill.update(
                    mu, variance, opponent["mu"], opponent["sigma"] ** 2, answer.endswith("=won")
                )
            assert (mu, variance**0.5) == (
                pytest.approx(step.mu, abs=1e-9),
                pytest.approx(step.sigma, abs=1e-9),
            )
            assert (ranking["mu"] > mu).sum() == step.rank


def test_identical_sentences_are_logged_once_and_unmaskable_ones_not_at_all(
    stick: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    rows = [
        finding(0, ent="edema"),
        finding(1, ent="mass"),
        finding(2, sent="Possible opacity.", masked_sentence=None, mask_state="not located"),
    ]
    tables = fit(findings_frame(rows), stick)
    assert set(tables.log["sentence_key"]) == set(tables.probabilities["sentence_key"]) - {""}
    assert not tables.log.duplicated(["sentence_key", "step"]).any()


def test_no_sentence_is_in_the_log(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    marker = "Possible edema, marker quokka."
    log = fit(findings_frame([finding(0, ent="edema", sent=marker)]), stick).log
    assert len(log) > 0
    assert not any("quokka" in str(value) for value in log.to_numpy().ravel())


def test_the_log_can_be_switched_off_and_changes_nothing(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    findings = invented_findings(10)
    off = fit(findings, stick, PUBLISHED.model_copy(update={"fit_log": False}))
    assert len(off.log) == 0
    FIT_LOG.to_arrow(off.log)
    pd.testing.assert_frame_equal(off.probabilities, fit(findings, stick).probabilities, check_exact=True)


def test_a_batch_without_tentative_pairs_has_an_empty_log(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    tables = fit(findings_frame([finding(0, status="dp")]), stick)
    assert (len(tables.log), len(tables.probabilities)) == (0, 0)
    FIT_LOG.to_arrow(tables.log)


@pytest.mark.parametrize("at_once", [1, 7])
def test_fitting_in_chunks_changes_nothing(stick: tuple[pd.DataFrame, pd.DataFrame], at_once: int) -> None:
    findings = invented_findings(9)
    hedges = hedge_phrases(findings, PANEL[0])
    arguments = (findings, hedges, *stick, PANEL, published_anchors(), PUBLISHED)
    whole, parts = fit_pairs(*arguments), fit_pairs(*arguments, at_once=at_once)
    assert whole.log["sentence_key"].nunique() > at_once
    pd.testing.assert_frame_equal(parts.probabilities, whole.probabilities, check_exact=True)
    pd.testing.assert_frame_equal(parts.log, whole.log, check_exact=True)
