"""A small model learns what a panel made of sentences, is tested, stored and opened."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import tiny_encoder
from model_libraries import needs_models
from simulation import Noise, simulated_corpus
from stored_tables import plain_row
from tentative_findings import finding, findings_frame

from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.explicit.distilled import judge, learning
from lunguage_assets.explicit.distilled.judge import (
    DistilledJudge,
    distilled_encoder,
    scorer_file,
)
from lunguage_assets.explicit.distilled.learning import (
    distil,
    held_out_scores,
    panel_scores,
    shortcomings,
)
from lunguage_assets.explicit.fitted_findings import fit_pairs
from lunguage_assets.explicit.ranking import comparison_matches, reference_ranking
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES

SETTINGS = ExplicitSettings(repetitions=2, bootstrap=10, orders=2)


class World:
    """A simulated panel's fits of the sentences of a simulated corpus."""

    def __init__(self, sentences: int = 120) -> None:
        corpus = simulated_corpus(3, phrases=8, examples=10, targets=sentences)
        self.truth = corpus.truth
        panel = corpus.panel(2, Noise(reading=2.0))
        self.vocabulary = corpus.vocabulary
        matches = {
            judge.key: comparison_matches(self.vocabulary, judge, SETTINGS)
            for judge in panel
        }
        self.ranking = reference_ranking(self.vocabulary, matches, SETTINGS)
        rows = [
            finding(i, sent=f"of sentence {i // 2}", masked_sentence=target)
            for i, target in enumerate(corpus.targets)
        ]
        self.findings = findings_frame(rows)
        self.hedges = HEDGE_PHRASES.frame(
            [hedge(row, [f"target {str(i)[0]}"]) for i, row in enumerate(rows)]
        )
        self.anchors = corpus.anchors
        self.settings = SETTINGS
        made_of = (self.findings, self.hedges, self.vocabulary, self.ranking)
        self.tables = fit_pairs(*made_of, panel, corpus.anchors, SETTINGS)

    def panel_scores(self) -> pd.DataFrame:
        """The panel's scores of all sentences."""
        return panel_scores(self.findings, self.tables.probabilities, self.ranking)


def hedge(row: dict[str, object], phrases: list[str]) -> dict[str, object]:
    same = ("finding_id", "study_id", "ent", "sent", "masked_sentence")
    values = {name: row[name] for name in same}
    return plain_row(HEDGE_PHRASES, **values, phrases=phrases, answer_state="valid")


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> SentenceEmbedder:
    folder = tiny_encoder.save(tmp_path_factory.mktemp("encoder") / "tiny")
    return distilled_encoder(str(folder))


@pytest.fixture
def model(world: World, encoder: SentenceEmbedder, tmp_path: Path) -> Path:
    """The file of a model that learnt from the panel."""
    distil(world.panel_scores(), encoder, tmp_path / "model")
    return scorer_file(tmp_path / "model")


def test_too_few_sentences_or_fits_of_another_ranking_are_refused(world: World) -> None:
    with (
        mock.patch.object(learning, "MIN_SENTENCES", 121),
        pytest.raises(MethodError, match="found 120 sentences"),
    ):
        world.panel_scores()
    others = world.tables.probabilities.assign(ranking_version="other")
    with pytest.raises(MethodError, match="another ranking"):
        panel_scores(world.findings, others, world.ranking)


def known_directions(scores: pd.DataFrame, world: World) -> np.ndarray:
    """Vectors of which one number is the true certainty."""
    vectors = np.random.default_rng(0).normal(size=(len(scores), 12))
    vectors[:, 0] = scores["masked_sentence"].map(world.truth) / 8.0
    return vectors.astype(np.float32)


@needs_models
def test_what_can_be_learnt_is_found_again_on_what_was_held_out(world: World) -> None:
    scores = world.panel_scores()
    vectors = known_directions(scores, world)
    held_out = held_out_scores(vectors, scores, scores["sent"])
    error = held_out["mu"] - scores["mu"]
    assert error.std() < 0.6 * scores["mu"].std()
    assert (error.abs() <= 1.96 * held_out["sd"]).mean() > 0.9


@needs_models
def test_no_sentence_is_scored_by_a_model_that_has_seen_its_group(world: World) -> None:
    """The panel's mu of one group is moved: its own scores stay, others follow."""
    scores = world.panel_scores()
    vectors = known_directions(scores, world)
    phrases = scores["phrases"].explode()
    before = held_out_scores(vectors, scores, phrases)["mu"]
    is_moved = phrases == "target 3"
    moved = scores.assign(mu=scores["mu"] + 50.0 * is_moved)
    after = held_out_scores(vectors, moved, phrases)["mu"]
    assert np.allclose(before[is_moved], after[is_moved])
    assert not np.allclose(before[~is_moved], after[~is_moved])


def evaluated(rmse: float, coverage: float | None, n: int) -> pd.DataFrame:
    tests = {"panel": (9, 2.0, None), "held-out phrases": (n, rmse, coverage)}
    frame = pd.DataFrame(tests.values(), tests, ["n", "rmse", "coverage"])
    return frame.rename_axis("test").reset_index()


@pytest.mark.parametrize(
    ("rmse", "coverage", "n", "problem"),
    [
        (3.0, 0.93, 9, ""),
        (3.01, 0.93, 9, "error of mu on held-out phrases is 3.01, more than 3.00"),
        (3.0, 0.92, 9, "92% of its intervals hold"),
        (3.0, None, 0, "no phrase could be held out"),
    ],
)
def test_the_gate_asks_for_errors_and_intervals_on_held_out_phrases(
    rmse: float, coverage: float | None, n: int, problem: str
) -> None:
    found = "; ".join(shortcomings(evaluated(rmse, coverage, n)))
    assert problem in found
    assert bool(found) == bool(problem)


@needs_models
def test_the_same_answers_give_the_same_file_which_is_private_and_the_only_one(
    world: World, encoder: SentenceEmbedder, model: Path
) -> None:
    content = model.read_bytes()
    rows = distil(world.panel_scores(), encoder, model.parent)
    assert set(rows["files"]) == {model.stem}
    assert model.read_bytes() == content
    distil(world.panel_scores().head(60), encoder, model.parent)
    assert [file.suffix for file in model.parent.iterdir()] == [".safetensors"]
    assert model.parent.stat().st_mode & 0o077 == 0


@needs_models
def test_another_encoder_is_refused(model: Path) -> None:
    folder = tiny_encoder.save(model.parent / "encoder" / "tiny", seed=1)
    other = distilled_encoder(str(folder))
    with (
        mock.patch.object(judge, "distilled_encoder", return_value=other),
        pytest.raises(ConfigurationError, match="trained with encoder"),
    ):
        DistilledJudge("student", model.parent)


@needs_models
def test_sentences_unlike_what_was_learnt_have_no_score_and_p_of_their_phrases(
    world: World, model: Path
) -> None:
    student = DistilledJudge("student", model.parent)
    sentence = world.findings["masked_sentence"].iloc[0]
    known, new = student.scores([sentence, "<finding>, I wonder."])
    assert np.isfinite(known)
    assert np.isnan(new)
    findings = world.findings.assign(masked_sentence="<finding>, I wonder.")
    hedges = world.hedges.assign(phrases=[["phrase 003"]] * len(findings))
    made_of = (findings, hedges, world.vocabulary, world.ranking)
    tables = fit_pairs(*made_of, [student], world.anchors, world.settings)
    fits = tables.probabilities
    assert set(fits["stop"]) == {"no valid answers"}
    assert set(fits["p_source"]) == {"phrase"}
    student._largest_sd = 0.0
    assert np.isnan(student._scores([sentence])).all()
