"""A distilled model in its folder, with a tiny random encoder: both variants, kills,
what it will not score.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import tiny_encoder
from distilled_world import SETTINGS, World

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.explicit.distilled import fine_tuning, training
from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.explicit.distilled.evaluation import evaluate, shortcomings
from lunguage_assets.explicit.distilled.scorer import DistilledScorer
from lunguage_assets.explicit.distilled.scoring import (
    OUT_OF_DISTRIBUTION,
    chosen_studies,
    score_sentences,
)
from lunguage_assets.explicit.distilled.training import (
    Training,
    distil,
)
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.fit.probability import calibrate, ranked_phrases
from lunguage_assets.judges.asking.progress import Learning, Report, listening

pytestmark = pytest.mark.skipif(
    bool(tiny_encoder.missing()), reason=str(tiny_encoder.missing())
)
WORDS = tiny_encoder.WORDS


@pytest.fixture(scope="module")
def world() -> World:
    """Sentences of words that the encoder knows: the more of them, the more certain."""
    words = [
        f"{' '.join(WORDS[i % 7 :][: 1 + i % 9])} {WORDS[i // 9 % 18]} {i}"
        for i in range(120)
    ]
    return World(
        worded=[
            (f"<finding> {word}.", 8.0 + 4.0 * (i % 9)) for i, word in enumerate(words)
        ]
    )


@pytest.fixture(scope="module")
def answers(world: World) -> Answers:
    return world.answers()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_encoder.save(tmp_path_factory.mktemp("model") / "tiny"))


@pytest.fixture(scope="module")
def frozen(
    answers: Answers, encoder: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    encoder_folder = tmp_path_factory.mktemp("frozen")
    distil(answers, "abc", encoder_folder, Training(encoder))
    (folder,) = encoder_folder.iterdir()
    return folder


@pytest.fixture(autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def bytes_of(folder: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.glob("*.npz")
    }


def test_the_frozen_variant_has_the_same_bytes_every_time(
    answers: Answers, encoder: str, frozen: Path, tmp_path: Path
) -> None:
    rows = distil(answers, "abc", tmp_path, Training(encoder))
    (again,) = tmp_path.iterdir()
    assert again.name == frozen.name == rows["files"].iloc[0][:16]
    assert bytes_of(again) == bytes_of(frozen)
    assert rows["is_used"].tolist() == [True]


def test_the_same_training_again_trains_nothing(
    answers: Answers, encoder: str, frozen: Path
) -> None:
    with mock.patch.object(training, "fit_head", side_effect=AssertionError):
        rows = distil(answers, "abc", frozen.parent, Training(encoder))
    assert rows["files"].iloc[0][:16] == frozen.name


def test_every_part_of_the_training_says_how_far_it_is(
    answers: Answers, encoder: str, tmp_path: Path
) -> None:
    heard: list[Report] = []
    with listening(heard.append), mock.patch.object(training, "FOLDS", 2):
        distil(answers, "abc", tmp_path, Training(encoder, tune=True, epochs=1))
    last = {report.work: report for report in heard if isinstance(report, Learning)}
    assert [task for task in last if not task.startswith("fine-tuning")] == [
        "reading sentences",
        "trying heads on what was held out",
    ]
    assert any(task.startswith("fine-tuning, phrases 2/2, epoch 1/1") for task in last)
    assert all(report.done == report.total > 0 for report in last.values())


@pytest.mark.parametrize("damaged", ["scorer.npz", "frozen.npz", "vectors.npz"])
def test_a_scorer_that_was_damaged_is_trained_again_to_the_same_bytes(
    answers: Answers, encoder: str, frozen: Path, tmp_path: Path, damaged: str
) -> None:
    folder = tmp_path / frozen.name
    shutil.copytree(frozen, folder)
    (folder / damaged).write_bytes(b"no archive")
    distil(answers, "abc", tmp_path, Training(encoder))
    assert bytes_of(folder) == bytes_of(frozen)


def test_a_sentence_has_its_score_whatever_company_it_is_read_in(
    world: World, frozen: Path
) -> None:
    scorer = DistilledScorer(frozen)
    sentences = world.findings["masked_sentence"].tolist()
    together = scorer.read(sentences)
    alone = scorer.read(sentences[5:6])
    assert together.mu[5] == pytest.approx(alone.mu[0], abs=2e-4)
    assert (together.mu_sd > 0.4).all()
    repeated = scorer.read([*sentences, *sentences])
    assert (repeated.mu == np.tile(together.mu, 2)).all()


def killed_after(epochs: int) -> object:
    """A loop that is killed once so many epochs are written."""
    replace_file = fine_tuning.replace_file
    epochs_left = [epochs]

    def write(path: Path, content: object) -> None:
        replace_file(path, content)  # type: ignore[arg-type]
        epochs_left[0] -= 1
        if not epochs_left[0]:
            raise KeyboardInterrupt

    return mock.patch.object(fine_tuning, "replace_file", write)


def tuned_scores(scorers: Path) -> np.ndarray:
    """What the fine-tuned variant scored, of sentences and phrases that were held
    out.
    """
    (folder,) = scorers.iterdir()
    held_out = training.model_variants(folder)["tuned"].held_out
    return np.stack([held_out.sentences.mu, held_out.phrases.mu])


def test_fine_tuning_that_was_killed_goes_on_to_the_same_weights(
    answers: Answers, encoder: str, tmp_path: Path
) -> None:
    chosen = Training(encoder, tune=True, epochs=2)
    with mock.patch.object(training, "FOLDS", 2):
        undisturbed = distil(answers, "abc", tmp_path / "whole", chosen)
        for epochs in (1, 2, 3):
            with killed_after(epochs), pytest.raises(KeyboardInterrupt):
                distil(answers, "abc", tmp_path / "killed", chosen)
        went_on = distil(answers, "abc", tmp_path / "killed", chosen)
    assert undisturbed["rung"].tolist() == ["frozen", "tuned"]
    for column in ("rmse_sentences", "rmse_phrases"):
        assert went_on[column].tolist() == pytest.approx(
            undisturbed[column].tolist(), abs=0.02
        )
    # A loop that went on with another seed would draw another order of sentences.
    np.testing.assert_allclose(
        tuned_scores(tmp_path / "killed"), tuned_scores(tmp_path / "whole"), atol=1e-3
    )
    assert [file.name for file in (tmp_path / "killed").iterdir()] == [
        went_on["files"].iloc[0][:16]
    ]
    assert not list((tmp_path / "killed").rglob("*.pt"))


def test_a_tuned_encoder_is_read_from_the_scorers_own_folder(
    world: World, answers: Answers, encoder: str, tmp_path: Path
) -> None:
    better = mock.patch.object(
        training.HeldOut,
        "errors",
        lambda scorer, answers: (np.nanmean(scorer.sentences.variance), 0.0),
    )
    with mock.patch.object(training, "FOLDS", 2), better:
        rows = distil(answers, "abc", tmp_path, Training(encoder, tune=True, epochs=1))
    (folder,) = tmp_path.iterdir()
    used = rows.loc[rows["is_used"], "rung"].iloc[0]
    assert (folder / "encoder" / "model.safetensors").exists() == (used == "tuned")
    assert np.isfinite(
        DistilledScorer(folder).read(world.findings["masked_sentence"].tolist()).mu
    ).all()


def test_another_encoder_under_the_same_name_is_refused(
    frozen: Path, tmp_path: Path
) -> None:
    for file in frozen.glob("scorer.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    about = json.loads((tmp_path / "scorer.json").read_text())
    about["encoder"] = "tiny@sha256:0000000000000000"
    del about["beside"]  # as one of version 0.1, which says nothing of it
    (tmp_path / "scorer.json").write_text(json.dumps(about))
    with pytest.raises(
        ConfigurationError, match="was trained with encoder tiny@sha256:0000"
    ):
        DistilledScorer(tmp_path)


def test_what_is_out_of_distribution_takes_its_phrases_p_or_is_asked(
    world: World, frozen: Path
) -> None:
    scorer = DistilledScorer(frozen)
    phrases = world.hedges["phrases"].tolist()
    hedges = world.hedges.assign(
        phrases=[["phrase 003"], *phrases[1:]]
    )  # ranked, and never learnt from
    made_of = world.findings, hedges, world.ranking, scorer
    scored = score_sentences(*made_of, ask_panel=False)
    left_out = score_sentences(*made_of, ask_panel=True)
    unlike = scored.index[scored["stop"] == OUT_OF_DISTRIBUTION]
    assert 1 <= len(unlike) < 30
    assert set(scored.index) - set(left_out.index) == set(unlike)
    inputs = (world.findings, hedges, world.corpus.vocabulary, world.ranking)
    options = (world.corpus.anchors, SETTINGS)
    frame = fit_pairs(*inputs, world.panel, *options, scored=scored)
    assert frame.log.empty
    rows = frame.probabilities.set_index("finding_id")
    assert rows["steps"].eq(0).all()
    first = rows.loc[world.findings["finding_id"].iloc[0]]
    assert (first["stop"], first["p_source"], first["answers"]) == (
        OUT_OF_DISTRIBUTION,
        "phrase",
        0,
    )
    scored_rows = rows[rows["stop"] == "scored"]
    assert (scored_rows["p_low"] < scored_rows["p"]).all()
    assert (scored_rows["p"] < scored_rows["p_high"]).all()
    fitted_rows = fit_pairs(*inputs, world.panel, *options, scored=left_out)
    assert set(fitted_rows.log["sentence_key"]) == set(unlike)
    assert set(fitted_rows.probabilities["stop"]) > {"scored"}


def test_the_evaluation_holds_the_model_against_phrases_halves_and_judges(
    world: World, answers: Answers, encoder: str, frozen: Path
) -> None:
    rows = distil(answers, "abc", frozen.parent, Training(encoder))
    line = calibrate(ranked_phrases(world.ranking), world.corpus.anchors)
    evaluation = evaluate(answers, rows, frozen, world.reference, line).set_index(
        ["test", "scorer", "against"]
    )
    sentences = evaluation.xs("held-out sentences").droplevel("against")
    assert sentences["rmse"]["frozen"] < sentences["rmse"]["mean"]
    assert sentences["spearman"]["frozen"] > 0.5
    assert sentences["worth"]["frozen"] > sentences["worth"]["mean"]
    assert (
        evaluation["worth"].max()
        <= (answers.other_sentence < 0).sum() / answers.is_fitted.sum()
    )
    assert 0.85 < sentences["coverage"]["frozen"] <= 1.0
    between = evaluation.loc[("panel halves", "half the answers", "panel")]
    assert 0.0 < between["rmse"] < sentences["rmse"]["mean"]
    judges = evaluation.xs("judges").xs("frozen")
    assert judges.index.tolist() == list(answers.judges)
    assert judges["agreement"].between(0.5, 1.0).all()
    assert evaluation.xs("judge left out")["among_judges"].between(0.5, 1.0).all()


def test_what_falls_short_is_said_and_what_does_not_is_not(
    world: World, answers: Answers, encoder: str, frozen: Path
) -> None:
    rows = distil(answers, "abc", frozen.parent, Training(encoder))
    line = calibrate(ranked_phrases(world.ranking), world.corpus.anchors)
    frame = evaluate(answers, rows, frozen, world.reference, line)
    tested = frame["is_used"] & (frame["test"] == "held-out phrases")
    between = float(frame.loc[frame["test"] == "panel halves", "rmse"].iloc[0])
    for rmse, coverage, expected in (
        (1.4, 0.94, 0),
        (1.6, 0.94, 1),
        (1.4, 0.92, 1),
        (1.6, 0.92, 2),
    ):
        frame.loc[tested, "rmse"] = rmse * between
        frame.loc[tested, "coverage"] = coverage
        assert len(shortcomings(frame)) == expected


def test_studies_are_chosen_phrase_by_phrase_the_rarest_first() -> None:
    rows = [
        ("s1", "a", ["likely"]),
        ("s2", "b", ["likely"]),
        ("s3", "c", ["likely", "rare"]),
        ("s4", "d", []),
    ]
    findings = pd.DataFrame(rows, columns=["study_id", "sent", "phrases"])
    assert chosen_studies(findings, 1) == ["s3"]
    assert chosen_studies(findings, 2) == ["s1", "s3"]
    assert chosen_studies(findings) == ["s1", "s2", "s3"]
