"""What is learnt from answers: every one once, the likeliest scores, the same bytes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from distilled_world import DIMENSIONS, World

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.distilled import collecting
from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.explicit.distilled.collecting import panel_answers
from lunguage_assets.explicit.distilled.folds import (
    folds,
    patient_groups,
    phrase_folds,
)
from lunguage_assets.explicit.distilled.head import (
    fit_head,
    out_of_fold,
    rmse,
)
from lunguage_assets.explicit.distilled.model import nearest
from lunguage_assets.explicit.pairs import sentence_key


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def answers(world: World) -> Answers:
    return world.answers()


def test_every_valid_answer_counts_once_however_often_its_sentence_was_delivered(
    world: World, answers: Answers
) -> None:
    questions = sum(judge.asked for judge in world.panel)
    equal_pairs = sum(
        (matches["sentence_a"] == matches["sentence_b"]).sum()
        for matches in world.matches.values()
    )
    assert answers.size == world.answers(times=2).size == questions - equal_pairs
    assert int((answers.other_sentence < 0).sum()) == int(
        world.tables.probabilities["answers"].sum()
    )


def test_a_fits_answers_give_back_the_place_that_the_fit_states(
    world: World, answers: Answers
) -> None:
    centre, sd = answers.posterior(world.reference)
    is_fitted = answers.is_fitted
    assert np.allclose(
        centre[is_fitted], answers.sentences["mu_centre"].to_numpy()[is_fitted]
    )
    assert np.allclose(sd[is_fitted], answers.sentences["mu_sd"].to_numpy()[is_fitted])


def test_the_gradient_of_the_likelihood_is_that_of_its_differences(
    answers: Answers,
) -> None:
    scores = np.random.default_rng(4).normal(25.0, 8.0, len(answers.sentences))
    _, gradient, _ = answers.loss(scores)
    for number in (0, 7, int(answers.other_sentence.max())):
        step = np.zeros(len(scores))
        step[number] = 1e-4
        rise = answers.loss(scores + step)[0] - answers.loss(scores - step)[0]
        assert gradient[number] == pytest.approx(rise / 2e-4, rel=1e-4, abs=1e-6)


def test_equal_answers_that_are_merged_have_the_same_likelihood(
    answers: Answers,
) -> None:
    scores = np.random.default_rng(5).normal(25.0, 8.0, len(answers.sentences))
    merged = answers.merged()
    assert merged.size < answers.size == merged.count.sum()
    (loss, slopes, _), (merged_loss, merged_slopes, _) = (
        answers.loss(scores),
        merged.loss(scores),
    )
    assert loss == pytest.approx(merged_loss)
    assert np.allclose(slopes, merged_slopes)


def test_a_scorer_that_is_known_is_found_again_in_units_of_mu(
    world: World, answers: Answers
) -> None:
    vectors = world.vectors(answers)
    fold = folds(
        answers.sentences["group"].to_numpy(), list(answers.sentences.index), 4, 0
    )
    mu, variance = out_of_fold(
        vectors, answers, [fold == number for number in range(4)], 24.0
    )
    truth = np.array(
        [world.corpus.truth[sentence] for sentence in answers.sentences["sentence"]]
    )
    is_fitted = answers.is_fitted
    panel = answers.sentences["mu_centre"].to_numpy()
    slope, intercept = np.polyfit(panel[is_fitted], mu[is_fitted], 1)
    assert slope == pytest.approx(1.0, abs=0.12)
    assert slope * 25.0 + intercept == pytest.approx(25.0, abs=1.0)
    assert np.corrcoef(truth[is_fitted], mu[is_fitted])[0, 1] > 0.97
    assert rmse(mu, answers) < 2.5 < rmse(np.full(len(mu), 25.0), answers)
    assert (variance[is_fitted] > 0).all()


def test_the_same_answers_give_the_same_bytes_in_any_order(
    world: World, answers: Answers
) -> None:
    vectors = world.vectors(answers)
    first, again = (fit_head(vectors, answers, 6.0) for _ in range(2))
    assert first.weights.tobytes() == again.weights.tobytes()
    assert first.covariance.tobytes() == again.covariance.tobytes()
    turned = fit_head(vectors, answers.subset(np.arange(answers.size)[::-1]), 6.0)
    assert np.allclose(first.mu(vectors), turned.mu(vectors), atol=1e-2)


def test_the_covariance_is_the_inverse_of_the_curvature(
    world: World, answers: Answers
) -> None:
    vectors = world.vectors(answers)
    head = fit_head(vectors, answers, 6.0)
    inputs = head.inputs(vectors)
    weights = head.weights

    def slopes(weights: np.ndarray) -> np.ndarray:
        return (
            inputs.T @ answers.loss(inputs @ weights + head.intercept)[1]
            + weights / 36.0
        )

    step = np.zeros(DIMENSIONS)
    step[3] = 1e-4
    curvature = (slopes(weights + step) - slopes(weights - step)) / 2e-4
    assert np.allclose(
        np.linalg.inv(head.covariance)[3], curvature, rtol=1e-3, atol=1e-2
    )


def test_sentences_of_one_patient_are_held_out_together_and_shared_ones_alone() -> None:
    rows = pd.DataFrame(
        [("a", "p1"), ("b", "p1"), ("c", "p2"), ("d", "p1"), ("d", "p2"), ("e", "")],
        columns=["key", "subject_id"],
    ).assign(study_id="s9")
    group = patient_groups(pd.Index(list("abcde")), rows)
    assert group[0] == group[1]
    assert len({group[0], group[2], group[3], group[4]}) == 4
    fold = folds(group, list("abcde"), 2, 0)
    assert fold[0] == fold[1]


def test_a_phrase_is_held_out_with_all_its_sentences_and_their_answers(
    answers: Answers,
) -> None:
    phrases_of_sentences = answers.sentences["phrases"].tolist()
    masks = phrase_folds(phrases_of_sentences, 3, 0)
    for mask in masks:
        held_out = {
            phrase
            for phrases, out in zip(phrases_of_sentences, mask, strict=True)
            if out
            for phrase in phrases
        }
        inside = [not held_out.isdisjoint(phrases) for phrases in phrases_of_sentences]
        assert inside == mask.tolist()
        kept = answers.excluding(mask)
        assert not mask[kept.sentence].any()
        assert not mask[kept.other_sentence[kept.other_sentence >= 0]].any()
    assert len(masks) == 3


def test_halves_share_the_answers_and_hold_all_judges(
    world: World, answers: Answers
) -> None:
    first, second = answers.halves(world.reference)
    is_fitted = answers.is_fitted
    assert np.isnan(first[~is_fitted]).all()
    assert np.corrcoef(first[is_fitted], second[is_fitted])[0, 1] > 0.8
    between = np.sqrt(np.mean((first - second)[is_fitted] ** 2))
    assert between > 0.5


def test_fits_of_another_ranking_or_too_few_are_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_ranking = world.ranking.assign(ranking_version="f00")
    tables = world.findings, world.tables.probabilities, world.tables.log, world.matches
    with pytest.raises(MethodError, match="another ranking"):
        panel_answers(*tables, other_ranking)
    monkeypatch.setattr(collecting, "MIN_SENTENCES", 10_000)
    with pytest.raises(MethodError, match="expected 10000 or more"):
        panel_answers(*tables, world.ranking)


def test_a_judge_that_is_not_a_member_teaches_nothing(
    world: World, answers: Answers
) -> None:
    only = {world.panel[0].key: world.matches[world.panel[0].key]}
    tables = world.findings, world.tables.probabilities, world.tables.log
    mine = panel_answers(*tables, only, world.ranking)
    assert mine.size == int((answers.judge == 0).sum())


def test_a_far_sentence_is_known_by_its_nearest_neighbour() -> None:
    known_vectors = np.eye(3, dtype=np.float16)
    distances = nearest(
        np.array([[1, 0, 0], [-1, 0, 0]], dtype=np.float32), known_vectors
    )
    assert distances == pytest.approx([0.0, np.sqrt(2.0)])


def test_answers_hold_sentences_by_their_key(answers: Answers) -> None:
    assert [
        sentence_key(sentence) for sentence in answers.sentences["sentence"]
    ] == answers.sentences.index.tolist()
    assert answers.judges == ("judge-0", "judge-1")
