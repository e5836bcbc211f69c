"""Fitting in lockstep is the printed algorithm, one sentence at a time (explicit.md section 5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples, scaled
from tentative_findings import ScriptedJudge, finding, findings_frame, invented_findings, own_vocabulary

from lunguage_assets.draws import coins, mix, smallest, text_hash, text_hashes
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fit_log import FitLog
from lunguage_assets.explicit.fit.fits import STOPS
from lunguage_assets.explicit.fit.fitting import fit_pairs, fit_sentences
from lunguage_assets.explicit.fit.probability import Anchor, calibrate
from lunguage_assets.explicit.fit.reference import EXAMPLES_DRAWN_FROM, Reference, draw_probability
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.judges.protocol import Choice, ComparisonQuestion, Judge
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES, HEDGE_PHRASES

PUBLISHED = ExplicitSettings(ruler="published")
PANEL: tuple[Judge, ...] = (LexiconJudge.bundled("lexicon"), CuesJudge.bundled("cues"))


@pytest.fixture(scope="module")
def stick() -> tuple[pd.DataFrame, pd.DataFrame]:
    vocabulary = hedge_vocabulary(HEDGE_PHRASES.frame(), PUBLISHED)
    return vocabulary, reference_ranking(vocabulary, {}, PUBLISHED)


@pytest.fixture(scope="module")
def reference(stick: tuple[pd.DataFrame, pd.DataFrame]) -> Reference:
    return Reference.of(stick[1], stick[0])


@dataclass
class Step:
    """A line of the log, as the page's algorithm would write it."""

    opponent: str
    draw: float
    answers: str
    mu: float
    sigma: float
    rank: int


@dataclass
class FitOfOne:
    mu: float
    variance: float
    steps: int
    void: int
    answers: int
    invalid: int
    stop: str
    log: list[Step]


def rank_of(mu: float, reference: Reference) -> int:
    return sum(1 for place in reference.mu.tolist() if place > mu)


def fit_one(
    sentence: str, reference: Reference, panel: Sequence[Judge], options: ExplicitSettings
) -> FitOfOne:
    """The page's algorithm for one sentence, written without arrays; only the hashed draws are shared with
    the code under test.
    """
    beta, tau, b = 4.167, 0.083, 25.0 / 6.0
    mu, variance = 25.0, 8.333**2
    counts = [0] * len(reference.mu)
    steps = void = answers = invalid = 0
    history: list[int] = []
    log: list[Step] = []
    seed = mix(text_hash(options.seed, "fit"), text_hashes([sentence]))
    while True:
        best, opponent = -1.0, -1
        for i, (place, spread) in enumerate(
            zip(reference.mu.tolist(), reference.variance.tolist(), strict=True)
        ):
            c2 = 2 * b * b + variance + spread
            draw = math.sqrt(2 * b * b / c2) * math.exp(-((mu - place) ** 2) / (2 * c2))
            if counts[i] < options.opponent_limit and draw > best:
                best, opponent = draw, i
        keys = [mix(seed, steps + void, text_hash(judge.key)) for judge in panel]
        playing = (
            range(len(panel))
            if steps < options.panel_steps
            else [min(range(len(panel)), key=lambda j: int(mix(keys[j], 2)[0]))]
        )
        results, said_by = [], []
        for j in playing:
            theirs = reference.sentences[opponent][
                int(smallest(mix(keys[j], 0), reference.hashes[opponent])[0])
            ]
            second = options.position == "coin" and bool(coins(mix(keys[j], 1))[0])
            shown = (theirs, sentence) if second else (sentence, theirs)
            said = panel[j].compare([ComparisonQuestion(*shown, steps + void)])[0].answer
            won = (said == "sentence_2") == second
            said_by.append(f"{panel[j].key}={'invalid' if said == 'invalid' else 'won' if won else 'lost'}")
            invalid += said == "invalid"
            if said != "invalid":
                results.append(won)
        answers += len(results)
        for won in results:
            v_t, v_o = variance + tau**2, float(reference.variance[opponent]) + tau**2
            c = math.sqrt(2 * beta**2 + v_t + v_o)
            sign = 1 if won else -1
            t = sign * (mu - float(reference.mu[opponent])) / c
            v = math.exp(-t * t / 2) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(-t / math.sqrt(2)))
            mu += sign * v_t / c * v
            variance = v_t * (1 - v_t / c**2 * v * (v + t))
        if results:
            steps += 1
            counts[opponent] += 1
            history.append(rank_of(mu, reference))
        else:
            void += 1
        log.append(
            Step(
                reference.phrases[opponent],
                best,
                " ".join(said_by),
                mu,
                math.sqrt(variance),
                rank_of(mu, reference),
            )
        )
        stop = ""
        if len(history) >= options.patience and len(set(history[-options.patience :])) == 1:
            stop = "stable rank"
        elif steps >= options.step_limit:
            stop = "step limit"
        elif all(count >= options.opponent_limit for count in counts):
            stop = "no opponent left"
        elif void >= 10:
            stop = "no valid answers"
        if stop:
            return FitOfOne(mu, variance, steps, void, answers, invalid, stop, log)


def moody(rate: float) -> Callable[[ComparisonQuestion], Choice]:
    """A judge with an opinion of its own on every sentence pair, invalid for a share of them."""

    def choose(question: ComparisonQuestion) -> Choice:
        value = text_hash("mood", question.sentence_1, question.sentence_2, question.replicate)
        if value % 1000 < rate * 1000:
            return "invalid"
        return "sentence_1" if value & (1 << 40) else "sentence_2"

    return choose


@pytest.mark.parametrize("options", [
    PUBLISHED,
    ExplicitSettings(seed=3, position="fixed", opponent_limit=2, panel_steps=0, patience=4, step_limit=12),
    ExplicitSettings(seed=9, opponent_limit=1, panel_steps=100, patience=30, step_limit=100),
])  # fmt: skip
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.7])
def test_lockstep_fits_equal_fits_of_one_sentence_at_a_time(
    reference: Reference, options: ExplicitSettings, rate: float
) -> None:
    panel = (
        [ScriptedJudge(moody(rate), key="moody"), *PANEL]
        if rate < 0.7
        else [ScriptedJudge(moody(rate), key="moody")]
    )
    sentences = sorted(set(invented_findings(40)["masked_sentence"]))[: max(6, scaled(25))]
    log = FitLog([judge.key for judge in panel], reference.phrases)
    fits = fit_sentences(sentences, reference, panel, options, log)
    logged = log.table(sentences).to_pandas().groupby("sentence_key", sort=False)
    for i, sentence in enumerate(sentences):
        expected = fit_one(sentence, reference, panel, options)
        assert (STOPS[fits.stop[i]], fits.steps[i], fits.void[i]) == (
            expected.stop,
            expected.steps,
            expected.void,
        )
        assert (fits.answers[i], fits.invalid[i], fits.rank[i]) == (
            expected.answers,
            expected.invalid,
            rank_of(expected.mu, reference),
        )
        assert fits.mu[i] == pytest.approx(expected.mu, abs=1e-9)
        assert fits.variance[i] == pytest.approx(expected.variance, abs=1e-9)
        rows = logged.get_group(sentence)
        assert rows["step"].tolist() == list(range(len(expected.log)))
        assert rows["opponent"].tolist() == [step.opponent for step in expected.log]
        assert rows["answers"].tolist() == [step.answers for step in expected.log]
        assert rows["rank"].tolist() == [step.rank for step in expected.log]
        for column, values in (("draw_probability", "draw"), ("mu", "mu"), ("sigma", "sigma")):
            assert rows[column].to_numpy() == pytest.approx(
                [getattr(step, values) for step in expected.log], abs=1e-9
            )


def fitted(
    rows: list[dict[str, object]], stick: tuple[pd.DataFrame, pd.DataFrame], panel: Sequence[Judge] = PANEL
) -> pd.DataFrame:
    findings = findings_frame(rows)
    hedges = hedge_phrases(findings, PANEL[0])
    frame = fit_pairs(findings, hedges, *stick, panel, published_anchors(), PUBLISHED).probabilities
    FITTED_PROBABILITIES.to_arrow(frame)
    return frame


ROWS = [finding(i, ent="edema", sent=f"{word} edema {place}.") for i, (word, place) in enumerate(
    (word, place)
    for word in ("Possible", "Likely", "There may be", "Suspected")
    for place in ("today", "again", "at the bases")
)]  # fmt: skip


@pytest.fixture(scope="module")
def whole(stick: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    """All of `ROWS` fitted together."""
    return fitted(ROWS, stick).set_index("finding_id")


@given(st.permutations(range(12)), st.integers(1, 12))
@examples(15)
def test_a_fit_does_not_depend_on_batch_composition_or_order(
    stick: tuple[pd.DataFrame, pd.DataFrame], whole: pd.DataFrame, order: list[int], size: int
) -> None:
    part = fitted([ROWS[i] for i in order[:size]], stick).set_index("finding_id")
    pd.testing.assert_frame_equal(part.sort_index(), whole.loc[part.index].sort_index())


def test_identical_masked_sentences_are_fitted_once(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    rows = [
        finding(i, ent=ent, sent=f"Possible {ent}.")
        for i, ent in enumerate(["edema", "pneumonia", "edema", "mass"])
    ]
    judge = ScriptedJudge(lambda question: PANEL[0].compare([question])[0].answer)
    frame = fitted(rows, stick, [judge])
    assert frame["sentence_key"].nunique() == 1
    assert frame["mu"].nunique() == 1
    assert len(judge.compared) == frame["answers"].iloc[0]


def test_a_judge_is_called_once_per_round(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    rows = [finding(i, sent=f"Possible pneumonia, film {i}.") for i in range(30)]
    judge = ScriptedJudge(lambda question: PANEL[1].compare([question])[0].answer)
    frame = fitted(rows, stick, [judge])
    assert judge.calls == frame["steps"].max()


def test_an_unmaskable_pair_takes_the_mean_place_of_its_phrases(
    stick: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    rows = [finding(0, sent="Possible opacity or collapse.", masked_sentence=None, mask_state="not located")]
    frame = fitted(rows, stick)
    expected = 1.0 / (1.0 + math.exp(-0.08899 * ((22.9237 + 20.0270) / 2 - 24.89)))
    assert frame["stop"].tolist() == ["not located"]
    assert frame["p_source"].tolist() == ["phrase"]
    assert frame["p"].iloc[0] == pytest.approx(expected, abs=1e-3)
    assert frame["p_low"].iloc[0] < frame["p"].iloc[0] < frame["p_high"].iloc[0]
    assert frame["mu"].isna().all()
    assert frame["sentence_key"].tolist() == [""]


def test_an_unmaskable_pair_is_never_shown_to_a_judge(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    judge = ScriptedJudge()
    fitted(
        [finding(0, sent="Possible opacity.", masked_sentence=None, mask_state="not located")], stick, [judge]
    )
    assert judge.compared == []


def test_a_pair_without_place_and_phrase_has_no_information(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    frame = fitted([finding(0, sent="Opacity.", masked_sentence=None, mask_state="not located")], stick)
    assert frame[["p", "p_low", "p_high"]].iloc[0].tolist() == [0.5, 0.0, 1.0]
    assert frame["p_source"].tolist() == ["none"]


def test_ten_steps_without_a_valid_answer_leave_the_pair_unfitted(
    stick: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    frame = fitted([finding(0)], stick, [ScriptedJudge(lambda question: "invalid")])
    row = frame.iloc[0]
    assert (row["stop"], row["steps"], row["answers"], row["invalid_answers"], row["p_source"]) == (
        "no valid answers",
        10,
        0,
        10,
        "phrase",
    )
    assert frame["mu"].isna().all()


def test_more_certain_hedges_get_higher_probabilities(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    hedges = [
        "Most likely # at the left base.",
        "Probable #.",
        "Opacity may represent #.",
        "# cannot be excluded.",
        "Minimal #, if any.",
    ]
    frame = fitted([finding(i, sent=text.replace("#", "pneumonia")) for i, text in enumerate(hedges)], stick)
    assert frame["p"].tolist() == sorted(frame["p"], reverse=True)
    assert (frame["p_low"] < frame["p"]).all()
    assert (frame["p"] < frame["p_high"]).all()


def test_hedges_of_another_batch_are_refused(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    findings, other = findings_frame([finding(0)]), findings_frame([finding(1, study_id="s59999999")])
    with pytest.raises(MethodError, match="not the same"):
        fit_pairs(findings, hedge_phrases(other, PANEL[0]), *stick, PANEL, published_anchors(), PUBLISHED)


def test_the_first_phrase_in_ranking_order_wins_an_equal_draw_probability() -> None:
    place, known = (
        np.array([30.0, 20.0]),
        tuple(text_hashes([text]) for text in ("A <finding>.", "B <finding>.")),
    )
    reference = Reference(place, np.ones(2), (("A <finding>.",), ("B <finding>.",)), known)
    judge = ScriptedJudge(lambda question: "invalid")
    fit_sentences(["Possible <finding>."], reference, [judge], ExplicitSettings(position="fixed"))
    assert {question.sentence_2 for question in judge.compared} == {"A <finding>."}


def test_where_the_published_ruler_took_the_place_of_an_own_ranking_opponents_are_the_bundled_sentences(
    stick: tuple[pd.DataFrame, pd.DataFrame], reference: Reference
) -> None:
    assert Reference.of(stick[1], own_vocabulary({"likely": ["likely <finding>."]})).sentences == (
        reference.sentences
    )


def test_unusable_anchors_are_found_before_any_judge_is_asked(
    stick: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    findings, judge = findings_frame([finding(0)]), ScriptedJudge()
    with pytest.raises(MethodError, match="no anchor phrase 'surely'"):
        fit_pairs(
            findings,
            hedge_phrases(findings, PANEL[0]),
            *stick,
            [judge],
            [Anchor("surely", 0.9, 0.8, 0.95)],
            PUBLISHED,
        )
    assert judge.calls == 0


def test_the_draw_probability_takes_b_unrounded() -> None:
    expected = math.sqrt(2 * (25 / 6) ** 2 / (2 * (25 / 6) ** 2 + 3.0)) * math.exp(
        -(4.0**2) / (2 * (2 * (25 / 6) ** 2 + 3.0))
    )
    assert draw_probability(24.0, 2.0, 20.0, 1.0) == pytest.approx(expected, abs=1e-12)
    rounded = math.sqrt(2 * 4.167**2 / (2 * 4.167**2 + 3.0)) * math.exp(
        -(4.0**2) / (2 * (2 * 4.167**2 + 3.0))
    )
    assert abs(draw_probability(24.0, 2.0, 20.0, 1.0) - rounded) > 1e-6


def test_a_phrase_without_any_valid_match_is_no_opponent(stick: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    own = stick[1].assign(ruler="own", n_matches=100)
    silent = own.loc[own["rank"] == 20, "phrase"].item()
    own.loc[own["phrase"] == silent, ["n_matches", "mu", "sigma"]] = [0, 25.0, 8.333]
    found = Reference.of(own, stick[0])
    assert silent not in found.phrases
    assert len(found.phrases) == len(own) - 1


def test_the_place_stays_the_filters_whatever_the_interval_is_made_from(
    stick: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    frame = fitted([finding(i, sent=f"Possible pneumonia, film {i}.") for i in range(20)], stick)
    line = calibrate(stick[1], published_anchors())
    assert frame["p"].to_numpy() == pytest.approx(
        1 / (1 + np.exp(-line.alpha * (frame["mu"].to_numpy() - line.mu_half))), abs=1e-12
    )
    assert (frame["mu"] != frame["mu_centre"]).any()
    assert (frame["mu"] - frame["mu_centre"]).abs().max() < 2.0


def test_a_vocabulary_of_two_phrases_ranks_and_fits() -> None:
    options = ExplicitSettings(ruler_minimum=2, bootstrap=10)
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


def test_opponents_are_drawn_from_a_stable_part_of_very_many_examples(
    stick: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    def drawn_from(size: int) -> set[str]:
        vocabulary = stick[0].copy()
        vocabulary.at[0, "example_sentences"] = [f"Example {i} of <finding>." for i in range(size)]
        row = stick[1]["phrase"].tolist().index(vocabulary["phrase"].iloc[0])
        return set(Reference.of(stick[1], vocabulary).sentences[row])

    assert len(drawn_from(373)) == 373
    assert len(drawn_from(600)) == len(drawn_from(601)) == EXAMPLES_DRAWN_FROM
    assert len(drawn_from(600) - drawn_from(601)) <= 1
