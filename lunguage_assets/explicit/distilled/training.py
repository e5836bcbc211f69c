"""Trains a distilled model from a panel's answers, into a folder.

docs/distilled.md. Both variants (a head on the encoder as it is, a fine-tuned encoder)
are tried on held-out sentences and phrases. The better one learns from everything, and
what its errors were on what it had not seen becomes its interval.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.explicit.distilled.answers import Answers, Mask
from lunguage_assets.explicit.distilled.encoder import MaskedEncoder, Vectors
from lunguage_assets.explicit.distilled.fine_tuning import fine_tune
from lunguage_assets.explicit.distilled.folds import (
    HeldOutMasks,
    Masks,
    held_out_masks,
)
from lunguage_assets.explicit.distilled.head import (
    SPREADS,
    HeldOutScores,
    fit_head,
    out_of_fold,
    rmse,
)
from lunguage_assets.explicit.distilled.model import ScoreErrors, nearest
from lunguage_assets.explicit.distilled.scorer_files import (
    ENCODER,
    About,
    about_scorer,
    require_whole,
    stored_arrays,
    write_scorer,
)
from lunguage_assets.files import replace_file
from lunguage_assets.hub import named_path
from lunguage_assets.judges.asking.progress import steps_of
from lunguage_assets.tables.explicit import DISTILLED_SCORER

FOLDS = 4
MIN_VARIANCE = 0.25
"""Of a score, in mu squared: no scorer is surer than half a point."""

_VECTORS = "vectors.npz"
_UNFINISHED = "unfinished-"
"""How the folder of a training begins that has not ended."""

VariantName = Literal["frozen", "tuned"]
"""The encoder as it is, or fine-tuned; in tables and files the column `rung`."""
VARIANTS: tuple[VariantName, ...] = ("frozen", "tuned")


@dataclass(frozen=True)
class Training:
    """How a scorer is trained.

    Attributes:
        encoder: name of the model.
        revision: of a model of the hub.
        device: of torch.
        tune: whether the fine-tuned variant is tried, too.
        epochs: of fine-tuning.
        seed: of folds, order and dropout.
    """

    encoder: str
    revision: str = ""
    device: str = "auto"
    tune: bool = False
    epochs: int = 4
    seed: int = 0

    def new_encoder(self) -> MaskedEncoder:
        """Find the encoder; each has a model of its own, which may be fine-tuned."""
        return MaskedEncoder(self.encoder, self.revision, self.device)


class HeldOut(NamedTuple):
    """How a variant scored what it had not seen: sentences, then phrases."""

    sentences: HeldOutScores
    phrases: HeldOutScores

    def errors(self, answers: Answers) -> tuple[float, float]:
        """Compute the root mean squared errors, of sentences and of phrases."""
        return rmse(self.sentences.mu, answers), rmse(self.phrases.mu, answers)

    def total(self, answers: Answers) -> float:
        """Sum the errors, by which variants are chosen."""
        return sum(error for error in self.errors(answers) if np.isfinite(error))


class ModelVariant(NamedTuple):
    """A variant of the model, as it did on what was held out.

    Attributes:
        name: of the variant.
        spread: prior deviation of mu, the ridge that was chosen.
        held_out: its scores.
    """

    name: VariantName
    spread: float
    held_out: HeldOut

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """List what is stored of the variant, in the order of its file."""
        return (np.array(self.spread), *self.held_out.sentences, *self.held_out.phrases)

    @classmethod
    def from_arrays(
        cls, name: VariantName, arrays: Sequence[NDArray[Any]]
    ) -> ModelVariant:
        """Read what `arrays` lists."""
        spread, mu, variance, phrase_mu, phrase_variance = arrays
        held_out = HeldOut(
            sentences=HeldOutScores(mu, variance),
            phrases=HeldOutScores(phrase_mu, phrase_variance),
        )
        return cls(name, float(spread), held_out)


def distil(
    answers: Answers, version: str, scorers: Path, chosen: Training
) -> pd.DataFrame:
    """Train a scorer, and write it into a folder of its own.

    Killed, the same call goes on: vectors, finished folds and epochs are kept until
    then. What another scorer left there is removed at the end.

    Args:
        answers: from which it learns.
        version: of the ranking to which the answers belong.
        scorers: folder below which its own is made, named after its digest.
        chosen: how it is trained.

    Returns:
        A `DISTILLED_SCORER` frame, a row per variant that was tried.
    """
    encoder = chosen.new_encoder()
    made_of = _fingerprint(answers, encoder.identity, chosen)
    finished = _finished_scorer(scorers, made_of)
    if finished is not None:
        variants = list(model_variants(finished).values())
        return _rows(variants, about_scorer(finished), answers, chosen)
    work = scorers / f"{_UNFINISHED}{made_of}"
    # Both are made as private as the sentences.
    for folder in (scorers, work):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    texts = answers.sentences["sentence"].tolist()

    def read_all(encoder: MaskedEncoder) -> Vectors:
        return encoder.encode(texts, steps_of("reading sentences", len(texts)))

    (vectors,) = _stored_or_made(work / _VECTORS, lambda: (read_all(encoder),))
    masks = held_out_masks(answers, FOLDS, chosen.seed)
    variants = _try_variants(vectors, answers, masks, chosen, work)
    best = min(variants, key=lambda variant: variant.held_out.total(answers))
    if best.name == "tuned":
        tuned_encoder = chosen.new_encoder()
        start = fit_head(vectors, answers, best.spread)
        fine_tune(
            tuned_encoder,
            answers,
            start,
            chosen.epochs,
            chosen.seed,
            state=work / "all.pt",
            name="all sentences",
        )
        vectors = read_all(tuned_encoder)
        tuned_encoder.loaded.model.save_pretrained(work / ENCODER)
        tuned_encoder.loaded.tokenizer.save_pretrained(work / ENCODER)
    # The head that is stored has learnt from everything; its errors are of those heads
    # that had not seen the sentences.
    head = fit_head(vectors, answers, best.spread)
    errors = errors_of(vectors, answers, best.held_out.sentences, masks.sentences)
    is_of_hub = named_path(chosen.encoder) is None
    about = {
        "made_of": made_of,
        "encoder": encoder.identity,
        "encoder_name": chosen.encoder,
        "revision": encoder.folder.name if is_of_hub else "",
        "rung": best.name,
        "ranking_version": version,
        "phrases": sorted(set[str]().union(*answers.sentences["phrases"])),
    }
    files = write_scorer(work, about, head, errors)
    folder = _publish(work, scorers / files[:16])
    return _rows(variants, about_scorer(folder), answers, chosen)


def _finished_scorer(scorers: Path, made_of: str) -> Path | None:
    """Find the folder of a scorer of the same input that is whole."""
    for file in sorted(scorers.glob("*/scorer.json")):
        folder = file.parent
        # A damaged one is trained again, and so is one of other answers or options.
        with suppress(ConfigurationError):
            is_unfinished = folder.name.startswith(_UNFINISHED)
            if is_unfinished or about_scorer(folder).made_of != made_of:
                continue
            require_whole(folder)
            scorer_vectors(folder)
            model_variants(folder)
            return folder
    return None


def _publish(work: Path, folder: Path) -> Path:
    """Give a finished scorer its name, and remove what else is there."""
    # A state holds encoder and optimiser, and nothing goes on from it any more.
    for state in work.glob("*.pt"):
        state.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    work.rename(folder)
    for path in folder.parent.iterdir():
        if path != folder:
            shutil.rmtree(path, ignore_errors=True)
    return folder


def model_variants(folder: Path) -> dict[str, ModelVariant]:
    """Read how each variant did on what was held out, by its name.

    Args:
        folder: of a scorer.

    Raises:
        ConfigurationError: a file of it cannot be read.
    """
    variants: dict[str, ModelVariant] = {}
    for name in VARIANTS:
        file = folder / f"{name}.npz"
        if file.exists():
            arrays = list(stored_arrays(file).values())
            variants[name] = ModelVariant.from_arrays(name, arrays)
    return variants


def scorer_vectors(folder: Path) -> Vectors:
    """Read the vectors of the sentences that a scorer learnt from.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    (vectors,) = stored_arrays(folder / _VECTORS).values()
    return vectors


def errors_of(
    vectors: Vectors, answers: Answers, held_out: HeldOutScores, masks: Masks
) -> ScoreErrors:
    """Measure how far the scorer errs, and how far sentences lie from each other.

    Args:
        vectors: of all sentences, shape (sentences, 2 d).
        answers: whose sentences they are.
        held_out: scores of the sentences when they were held out.
        masks: the sentences of each fold.
    """
    frame = answers.sentences
    mu = held_out.mu
    is_known = answers.is_fitted & ~np.isnan(mu)
    cuts = np.quantile(mu[is_known], [1.0 / 3.0, 2.0 / 3.0])
    squared_error = (mu - frame["mu_centre"].to_numpy()) ** 2
    # The panel's own variance is not the scorer's error.
    excess = squared_error - frame["mu_sd"].to_numpy() ** 2
    third = np.searchsorted(cuts, mu)
    variances = []
    # A third in which the panel has fitted nothing has the error of all.
    for number in range(3):
        of_third = excess[is_known & (third == number)]
        if not len(of_third):
            of_third = excess[is_known]
        variances.append(max(float(of_third.mean()), MIN_VARIANCE))
    # As small as they are stored: later sentences are compared with these. Neighbours
    # are looked for in other folds, because a sentence is nearest to itself.
    stored_vectors = vectors.astype(np.float16)
    distances = [
        nearest(vectors[mask], stored_vectors[~mask]) for mask in masks if (~mask).any()
    ]
    return ScoreErrors(
        cuts=cuts,
        variance=np.array(variances),
        usual=float(np.nanmean(held_out.variance)),
        known=stored_vectors,
        farthest=float(np.quantile(np.concatenate(distances), 0.99)),
    )


def _try_variants(
    vectors: Vectors,
    answers: Answers,
    masks: HeldOutMasks,
    chosen: Training,
    work: Path,
) -> list[ModelVariant]:
    """Try the variants on what is held out; a finished one is read from `work`."""
    stored_frozen = _stored_or_made(
        work / "frozen.npz", lambda: _frozen(vectors, answers, masks).arrays()
    )
    frozen = ModelVariant.from_arrays("frozen", stored_frozen)
    if not chosen.tune:
        return [frozen]
    spread = frozen.spread
    stored_tuned = _stored_or_made(
        work / "tuned.npz",
        lambda: _tuned(vectors, answers, masks, spread, chosen, work).arrays(),
    )
    return [frozen, ModelVariant.from_arrays("tuned", stored_tuned)]


def _frozen(vectors: Vectors, answers: Answers, masks: HeldOutMasks) -> ModelVariant:
    """Fit heads on the encoder as it is, and take the ridge of the smallest errors."""
    heads = (len(masks.sentences) + len(masks.phrases)) * len(SPREADS)
    step = steps_of("trying heads on what was held out", heads)
    variants = []
    for spread in SPREADS:
        held_out = HeldOut(
            sentences=out_of_fold(vectors, answers, masks.sentences, spread, step),
            phrases=out_of_fold(vectors, answers, masks.phrases, spread, step),
        )
        variants.append(ModelVariant("frozen", spread, held_out))
    return min(variants, key=lambda variant: variant.held_out.total(answers))


def _tuned(
    vectors: Vectors,
    answers: Answers,
    masks: HeldOutMasks,
    spread: float,
    chosen: Training,
    work: Path,
) -> ModelVariant:
    """Fine-tune an encoder for each fold; finished folds are kept in `work`."""

    def score_fold(mask: Mask, name: str, state: Path) -> HeldOutScores:
        """Score the sentences of `mask` by an encoder that has not seen them.

        After a kill it goes on from `state`.
        """
        seen = answers.excluding(mask)
        encoder = chosen.new_encoder()
        start = fit_head(vectors, seen, spread)
        fine_tune(encoder, seen, start, chosen.epochs, chosen.seed, state, name)
        tuned_vectors = encoder.encode(answers.sentences["sentence"].tolist())
        head = fit_head(tuned_vectors, seen, spread)
        state.unlink(missing_ok=True)
        held_out = tuned_vectors[mask]
        return HeldOutScores(head.mu(held_out), head.variance(held_out))

    scores = []
    for test, (held_out, folds) in enumerate(zip(masks._fields, masks, strict=True)):
        mu = np.full(len(vectors), np.nan)
        variance = np.full(len(vectors), np.nan)
        for number, mask in enumerate(folds):
            name = f"{held_out} {number + 1}/{len(folds)}"
            state = work / f"{test}-{number}.pt"
            mu[mask], variance[mask] = _stored_or_made(
                work / f"fold-{test}-{number}.npz",
                partial(score_fold, mask, name, state),
            )
        scores.append(HeldOutScores(mu, variance))
    return ModelVariant("tuned", spread, HeldOut(*scores))


def _rows(
    variants: Sequence[ModelVariant], about: About, answers: Answers, chosen: Training
) -> pd.DataFrame:
    """Make the `DISTILLED_SCORER` frame."""
    of_all_rows = {
        "encoder": about.encoder,
        "files": about.files,
        "seed": chosen.seed,
        "sentences": int(answers.is_fitted.sum()),
        "answers": int((~answers.is_of_pair).sum()),
        "comparisons": int(answers.is_of_pair.sum()),
        "ranking_version": about.ranking_version,
    }
    rows = []
    for variant in variants:
        # The error of phrases is infinite where none could be held out.
        of_sentences, of_phrases = variant.held_out.errors(answers)
        row = {
            "rung": variant.name,
            "is_used": variant.name == about.rung,
            "spread": variant.spread,
            "rmse_sentences": of_sentences,
            "rmse_phrases": of_phrases if np.isfinite(of_phrases) else None,
        }
        rows.append({**row, **of_all_rows})
    return DISTILLED_SCORER.frame(rows)


def _fingerprint(answers: Answers, encoder: str, chosen: Training) -> str:
    """Hash everything that the result follows from.

    Unfinished work of other input is not gone on with, and a scorer says what it was
    made of: the order of the parts is part of every stored fingerprint.
    """
    frame = answers.sentences
    settings = repr((encoder, asdict(chosen), answers.judges))
    state = hashlib.sha256(settings.encode())
    state.update("\n".join(frame["sentence"]).encode("utf-8", "surrogatepass"))
    phrases_and_groups = frame[["phrases", "group"]].to_numpy().tolist()
    state.update(repr(phrases_and_groups).encode())
    state.update(frame[["mu_centre", "mu_sd"]].to_numpy().tobytes())
    for array in (
        answers.sentence,
        answers.other_sentence,
        answers.phrase_mu,
        answers.noise,
        answers.won,
        answers.judge,
    ):
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


def _stored_or_made(
    path: Path, make: Callable[[], Sequence[NDArray[Any]]]
) -> tuple[NDArray[Any], ...]:
    """Read arrays from a file, or make and write them; a damaged file is made again."""
    if path.exists():
        with suppress(ConfigurationError):
            return tuple(stored_arrays(path).values())
    arrays: dict[str, Any] = {
        f"array_{number}": array for number, array in enumerate(make())
    }
    replace_file(path, lambda stream: np.savez(stream, **arrays))
    return tuple(stored_arrays(path).values())
