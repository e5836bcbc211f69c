"""The economy fit takes all answers together, in few rounds, and ends at the width that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy.integrate import quad
from scipy.stats import norm
from simulation import ASSUMED, SimulatedCorpus, simulated_corpus
from tentative_findings import ScriptedJudge, finding, findings_frame, invented_findings, own_vocabulary

from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.economy import choose_round, fit_economically
from lunguage_assets.explicit.fit.fit_log import FitLog
from lunguage_assets.explicit.fit.fits import STOPS, Fits
from lunguage_assets.explicit.fit.fitting import fit_pairs, fit_sentences
from lunguage_assets.explicit.fit.posterior import posterior, posterior_of_a_panel
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.explicit.fit.reference import Reference
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES, HEDGE_PHRASES

ECONOMY = ExplicitSettings(ruler="published", fit="economy")
PANEL: tuple[Judge, ...] = (LexiconJudge.bundled("lexicon"), CuesJudge.bundled("cues"))


@pytest.fixture(scope="module")
def stick() -> tuple[pd.DataFrame, pd.DataFrame]:
    vocabulary = hedge_vocabulary(HEDGE_PHRASES.frame(), ECONOMY)
    return vocabulary, reference_ranking(vocabulary, {}, ECONOMY)


@pytest.fixture(scope="module")
def reference(stick: tuple[pd.DataFrame, pd.DataFrame]) -> Reference:
    return Reference.of(stick[1], stick[0])


@pytest.fixture(scope="module")
def simulated() -> tuple[SimulatedCorpus, Reference]:
    corpus = simulated_corpus(0, phrases=30, targets=150)
    ranking = corpus.ranking(corpus.panel(4, ASSUMED), ExplicitSettings(bootstrap=0, repetitions=4))
    return corpus, Reference.of(ranking, corpus.vocabulary)


def no_answers(sentences: int, judges: int, reference: Reference) -> tuple[np.ndarray, np.ndarray]:
    shape = (sentences, judges, len(reference.mu))
    return np.zeros(shape, dtype=np.int16), np.zeros(shape, dtype=np.int16)


def integrated(won: np.ndarray, lost: np.ndarray, reference: Reference) -> tuple[float, float]:
    """Mean and deviation of a place by adaptive quadrature of prior times likelihood."""
    noise = np.sqrt(2 * 4.167**2 + reference.variance)

    def density(x: float) -> float:
        z = (x - reference.mu) / noise
        return float(
            np.exp(norm.logpdf(x, 25.0, 8.333) + won @ norm.logcdf(z) + lost @ norm.logcdf(-z) + 20.0)
        )

    total, first, second = (
        quad(lambda x, k=k: x**k * density(x), -40, 90, limit=400, points=[0, 10, 20, 30, 40])[0]
        for k in range(3)
    )
    return first / total, float(np.sqrt(second / total - (first / total) ** 2))


@given(st.lists(st.tuples(st.integers(0, 41), st.booleans()), max_size=60))
@examples(12)
def test_the_posterior_is_prior_times_likelihood(
    reference: Reference, answers: list[tuple[int, bool]]
) -> None:
    won, lost = no_answers(1, 1, reference)
    for phrase, is_won in answers:
        (won if is_won else lost)[0, 0, phrase] += 1
    mean, sd = posterior(won, lost, reference)
    expected = integrated(won[0, 0], lost[0, 0], reference)
    assert (mean[0], sd[0]) == (pytest.approx(expected[0], abs=1e-4), pytest.approx(expected[1], abs=1e-4))


def test_without_an_answer_a_place_is_the_prior(reference: Reference) -> None:
    for judges in (1, 4):
        for estimate in (posterior, posterior_of_a_panel):
            mean, sd = estimate(*no_answers(2, judges, reference), reference)
            assert mean == pytest.approx(25.0, abs=1e-6)
            assert sd == pytest.approx(8.333, abs=1e-4)


def test_a_panels_posterior_agrees_with_simulated_readings(reference: Reference) -> None:
    """The same model by brute force: places, deviations and readings are drawn, and weighted by how well they
    explain the answers.
    """
    rng, draws = np.random.default_rng(3), 200_000
    won, lost = no_answers(1, 2, reference)
    won[0, 0, 18:24] = 1
    lost[0, 1, 18:24] = 1
    lost[0, 0, 10] = won[0, 1, 30] = 1
    place = rng.normal(25.0, 8.333, draws)
    deviation = 2.5 * rng.choice([0.5, 1.0, 1.5, 2.0], draws, p=[0.35, 0.5, 0.12, 0.03])
    weight = np.zeros(draws)
    for judge in range(2):
        reading = place + deviation * rng.standard_normal(draws)
        for counts, sign in ((won[0, judge], 1), (lost[0, judge], -1)):
            for phrase in np.flatnonzero(counts):
                weight += norm.logcdf(
                    sign
                    * (reading - reference.mu[phrase])
                    / np.sqrt(2 * 4.167**2 - 2.5**2 + reference.variance[phrase])
                )
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    mean, sd = posterior_of_a_panel(won, lost, replace(reference, reading_sd=2.5))
    expected = float(weight @ place)
    assert mean[0] == pytest.approx(expected, abs=0.05)
    assert sd[0] == pytest.approx(float(np.sqrt(weight @ (place - expected) ** 2)), rel=0.03)


def test_judges_that_disagree_leave_a_place_less_certain(reference: Reference) -> None:
    agreed, opposed = no_answers(1, 2, reference), no_answers(1, 2, reference)
    agreed[0][0, :, 15:23] = agreed[1][0, :, 15:23] = 2
    opposed[0][0, 0, 15:23] = opposed[1][0, 1, 15:23] = (
        4  # the same answers in all, but one judge always reads higher
    )
    assert np.stack(posterior(*opposed, reference)) == pytest.approx(
        np.stack(posterior(*agreed, reference)), abs=1e-9
    )
    assert posterior_of_a_panel(*opposed, reference)[1] > 1.3 * posterior_of_a_panel(*agreed, reference)[1]
    assert posterior_of_a_panel(*agreed, reference)[1] > posterior(*agreed, reference)[1]


def test_the_posterior_of_a_sentence_does_not_depend_on_the_others(reference: Reference) -> None:
    rng = np.random.default_rng(0)
    won, lost = (rng.poisson(0.2, (700, 3, len(reference.mu))).astype(np.int16) for _ in range(2))
    for estimate in (posterior, posterior_of_a_panel):
        together = np.stack(estimate(won, lost, reference))
        some = np.array([3, 511, 512, 699])
        assert (np.stack(estimate(won[some], lost[some], reference)) == together[:, some]).all()
        assert np.stack(estimate(won[:, ::-1], lost[:, ::-1], reference)) == pytest.approx(together, abs=1e-9)


def test_a_round_plays_distinct_phrases_spread_over_what_is_possible(reference: Reference) -> None:
    fits = Fits.start(1, len(reference.mu), 4)
    opponents = choose_round(np.array([0]), fits, reference, 4, ECONOMY).opponent
    wanted = norm.ppf([1 / 6, 1 / 2, 5 / 6], 25.0, 8.333)
    assert opponents.tolist() == [int(np.argmin(np.abs(reference.mu - place))) for place in wanted]
    fits.variance[0] = 0.01
    narrow = choose_round(
        np.array([0]), fits, reference, 1, ECONOMY.model_copy(update={"economy_sd": 0.01})
    ).opponent
    assert len(set(narrow.tolist())) == len(narrow) == 10


def test_a_phrase_played_as_often_as_allowed_is_not_chosen_again(reference: Reference) -> None:
    fits = Fits.start(1, len(reference.mu), 1)
    fits.counts[0, 5:] = ECONOMY.opponent_limit
    assert set(choose_round(np.array([0]), fits, reference, 1, ECONOMY).opponent.tolist()) == set(range(5))


def test_no_more_is_asked_than_is_expected_to_be_needed(reference: Reference) -> None:
    fits = Fits.start(2, len(reference.mu), 4)
    fits.variance[:] = 1.6**2, 5.0**2
    play = choose_round(np.array([0, 1]), fits, reference, 4, ECONOMY)
    assert np.bincount(play.sentence).tolist() == [1, 3]


def test_a_judge_is_called_once_per_round(
    stick: tuple[pd.DataFrame, pd.DataFrame], reference: Reference
) -> None:
    judge = ScriptedJudge(lambda question: PANEL[1].compare([question])[0].answer)
    sentences = sorted(set(invented_findings(60)["masked_sentence"]))
    log = FitLog([judge.key], reference.phrases)
    fit_economically(sentences, reference, [judge], ECONOMY, log)
    assert judge.calls == log.table(sentences).column("round").to_numpy().max() + 1 <= ECONOMY.economy_rounds


def ended(reference: Reference, judge: Judge, **options: object) -> tuple[str, Fits]:
    fits = fit_economically(["Possible <finding>."], reference, [judge], ECONOMY.model_copy(update=options))
    return STOPS[fits.stop[0]], fits


def test_a_fit_ends_at_the_width_that_was_asked_for(reference: Reference) -> None:
    for width in (1.25, 2.0, 4.0):
        stop, fits = ended(reference, PANEL[0], economy_sd=width, economy_rounds=20)
        assert stop == "narrow posterior"
        assert fits.variance[0] <= width**2
    assert (
        ended(reference, PANEL[0], economy_sd=4.0)[1].answers
        < ended(reference, PANEL[0], economy_sd=1.25, economy_rounds=20)[1].answers
    )


def test_a_fit_ends_after_the_last_round_at_the_step_limit_or_without_an_opponent(
    reference: Reference,
) -> None:
    assert ended(reference, PANEL[0], economy_rounds=1)[0] == "round limit"
    stop, fits = ended(reference, PANEL[0], economy_sd=0.1, economy_rounds=50, step_limit=25)
    assert (stop, fits.steps[0]) == ("step limit", 25)
    first = (values[:1] for values in (reference.mu, reference.variance, reference.sentences))
    one = Reference(*first, reference.hashes[:1], reference.phrases[:1])
    stop, fits = ended(one, PANEL[0], economy_rounds=20)
    assert (stop, fits.counts.tolist()) == ("no opponent left", [[5]])


@pytest.mark.parametrize("rounds", [1, 20])
def test_a_fit_without_a_valid_answer_is_given_up(reference: Reference, rounds: int) -> None:
    stop, fits = ended(reference, ScriptedJudge(lambda question: "invalid"), economy_rounds=rounds)
    assert stop == "no valid answers"
    assert (fits.answers[0], fits.void[0]) == (0, 10)


def fitted(
    findings: pd.DataFrame, stick: tuple[pd.DataFrame, pd.DataFrame], panel: Sequence[Judge] = PANEL
) -> pd.DataFrame:
    frame = fit_pairs(
        findings, hedge_phrases(findings, PANEL[0]), *stick, panel, published_anchors(), ECONOMY
    ).probabilities
    FITTED_PROBABILITIES.to_arrow(frame)
    return frame


def test_the_table_says_which_fit_it_is(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    frame = fitted(
        findings_frame(
            [finding(0), finding(1, sent="Opacity.", masked_sentence=None, mask_state="not located")]
        ),
        stick,
    )
    assert frame["fit"].tolist() == ["economy", "economy"]
    assert frame["p_source"].tolist() == ["fitted", "none"]
    assert ExplicitSettings().fit == "paper"


def test_an_economy_fit_does_not_depend_on_batch_composition(
    stick: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    findings = invented_findings(25)
    whole = fitted(findings, stick).set_index("finding_id")
    part = fitted(findings.iloc[[20, 3, 11]], stick).set_index("finding_id")
    pd.testing.assert_frame_equal(part.sort_index(), whole.loc[part.index].sort_index(), check_exact=True)


def test_the_order_of_the_panel_does_not_change_a_place(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    findings = invented_findings(15)
    one, other = fitted(findings, stick), fitted(findings, stick, PANEL[::-1])
    assert one["mu"].to_numpy() == pytest.approx(other["mu"].to_numpy(), abs=1e-9)


def test_it_is_nearly_as_exact_as_the_papers_fit_with_fewer_calls_and_rounds(
    simulated: tuple[SimulatedCorpus, Reference],
) -> None:
    corpus, reference = simulated

    def run(fit: str) -> tuple[float, int, int]:
        panel = corpus.panel(4, ASSUMED)
        log = FitLog([judge.key for judge in panel], reference.phrases)
        options = ExplicitSettings(economy_sd=1.25)
        fits = (fit_economically if fit == "economy" else fit_sentences)(
            corpus.targets, reference, panel, options, log
        )
        rounds = int(log.table(corpus.targets).column("round").to_numpy().max()) + 1
        slope, level = np.polyfit(fits.mu, corpus.target_mu, 1)
        return (
            float((slope * fits.mu + level - corpus.target_mu).std()),
            sum(judge.asked for judge in panel),
            rounds,
        )

    (error, calls, rounds), (paper_error, paper_calls, paper_rounds) = run("economy"), run("paper")
    assert error < 1.2 * paper_error
    assert calls < 0.92 * paper_calls
    assert rounds <= 6 < 50 < paper_rounds


@pytest.mark.parametrize("fit", ["paper", "economy"])
def test_a_vocabulary_of_two_phrases_ranks_and_fits(fit: str) -> None:
    options = ExplicitSettings(ruler_minimum=2, bootstrap=10, fit="economy" if fit == "economy" else "paper")
    vocabulary = own_vocabulary(
        {phrase: [f"{phrase} <finding> {i}." for i in range(10)] for phrase in ("likely", "if any")}
    )
    ranking = reference_ranking(
        vocabulary, {judge.key: comparison_matches(vocabulary, judge, options) for judge in PANEL}, options
    )
    findings = findings_frame(
        [finding(i, sent=f"{word} pneumonia.") for i, word in enumerate(("Likely", "Possible"))]
    )
    anchors = [Anchor("if any", 0.2, 0.18, 0.22), Anchor("likely", 0.8, 0.78, 0.82)]
    frame = fit_pairs(
        findings, hedge_phrases(findings, PANEL[0]), vocabulary, ranking, PANEL, anchors, options
    ).probabilities
    FITTED_PROBABILITIES.to_arrow(frame)
    assert set(frame["stop"]) <= {"stable rank", "no opponent left"}
    assert frame["p"].iloc[0] > frame["p"].iloc[1]
    assert (frame["p_high"] - frame["p_low"]).min() > 0.05
