"""From a panel's answers to a scorer in a folder: both rungs are tried on held-out sentences and phrases, the
better one learns from everything, and what its errors were on what it had not seen becomes its interval.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.explicit.distilled.answers import Answers, folds, phrase_folds
from lunguage_assets.explicit.distilled.head import (
    SPREADS,
    error,
    fit_head,
    out_of_fold,
)
from lunguage_assets.explicit.distilled.tuned import fine_tune
from lunguage_assets.files import replace_file
from lunguage_assets.hub import named_path
from lunguage_assets.judges.asking.progress import steps_of
from lunguage_assets.judges.distilled import (
    About,
    Errors,
    MaskedEncoder,
    Vectors,
    about_scorer,
    nearest,
    require_whole,
    stored_arrays,
    write_scorer,
)
from lunguage_assets.randomness import Floats
from lunguage_assets.tables.explicit import DISTILLED_SCORER

FOLDS = 4
LEAST_VARIANCE = 0.25
"""Of a score, in mu squared: no scorer is surer than half a point."""

_VECTORS = "vectors.npz"

Masks = list[NDArray[np.bool_]]


@dataclass(frozen=True)
class Training:
    """How a scorer is trained. `encoder` and `revision` name a model; `tune`: the fine-tuned rung is tried
    too; `epochs` of it; `seed` of folds, order and dropout.
    """

    encoder: str
    revision: str = ""
    device: str = "auto"
    tune: bool = False
    epochs: int = 4
    seed: int = 0


class HeldOut(NamedTuple):
    """Scores of sentences, and the head's variance, by a model that had not seen them; NaN: in no fold.

    `sentences`, `sentences_variance`: whole groups were held out; `phrases`, `phrases_variance`: phrases.
    """

    sentences: Floats
    sentences_variance: Floats
    phrases: Floats
    phrases_variance: Floats

    def errors(self, answers: Answers) -> tuple[float, float]:
        """Root mean squared errors, of sentences and of phrases."""
        return error(self.sentences, answers), error(self.phrases, answers)

    def total(self, answers: Answers) -> float:
        """Their sum, by which models are chosen; without phrases that of sentences alone."""
        return sum(one for one in self.errors(answers) if np.isfinite(one))


class Rung(NamedTuple):
    """A rung, as it did on what was held out."""

    name: str
    spread: float
    held_out: HeldOut


def held_out_masks(answers: Answers, seed: int) -> tuple[Masks, Masks]:
    """The sentences of each fold, by group and by phrase."""
    frame = answers.sentences
    fold = folds(frame["group"].to_numpy(), list(frame.index), FOLDS, seed)
    return [fold == one for one in range(FOLDS)], phrase_folds(
        frame["phrases"].tolist(), FOLDS, seed
    )


def distil(
    answers: Answers, version: str, place: Path, chosen: Training
) -> pd.DataFrame:
    """Train, and write the scorer into a folder of its own below `place`; the `DISTILLED_SCORER` rows of the
    rungs that were tried. What another scorer left there is removed at the end.

    Killed, the same call goes on: vectors, finished folds and epochs are kept in `place` until then.
    `version` is that of the ranking.
    """
    encoder = MaskedEncoder(chosen.encoder, chosen.revision, chosen.device)
    made_of = _fingerprint(answers, encoder.identity, chosen)
    for file in place.glob("[!u]*/scorer.json"):
        with suppress(ConfigurationError):  # a damaged one is trained again
            if (done := about_scorer(file.parent)).made_of == made_of:
                require_whole(file.parent)
                scorer_vectors(file.parent)
                return _rows(
                    list(rungs_of(file.parent).values()), done, answers, chosen
                )
    work = place / f"unfinished-{made_of}"
    for folder in (place, work):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    texts = answers.sentences["sentence"].tolist()
    (vectors,) = _kept(work / _VECTORS, lambda: (_read(encoder, texts),))
    masks = held_out_masks(answers, chosen.seed)
    frozen = _kept_rung(work, "frozen", lambda: _frozen(vectors, answers, masks))
    rungs = [frozen]
    if chosen.tune:
        learn = partial(_tuned, vectors, answers, masks, frozen.spread, chosen, work)
        rungs.append(_kept_rung(work, "tuned", learn))
    best = min(rungs, key=lambda rung: rung.held_out.total(answers))
    if best.name == "tuned":
        own = MaskedEncoder(chosen.encoder, chosen.revision, chosen.device)
        start = fit_head(vectors, answers, best.spread)
        fine_tune(
            own,
            answers,
            start,
            chosen.epochs,
            chosen.seed,
            work / "all.pt",
            "all sentences",
        )
        vectors = _read(own, texts)
        for part in own.loaded[:2]:
            part.save_pretrained(work / "encoder")
    head = fit_head(vectors, answers, best.spread)
    commit = encoder.folder.name if named_path(chosen.encoder) is None else ""
    about = {
        "made_of": made_of,
        "encoder": encoder.identity,
        "encoder_name": chosen.encoder,
        "revision": commit,
        "rung": best.name,
        "ranking_version": version,
        "phrases": sorted(
            {one for said in answers.sentences["phrases"] for one in said}
        ),
    }
    files = write_scorer(
        work, about, head, errors_of(vectors, answers, best.held_out, masks[0])
    )
    for path in work.glob("*.pt"):
        path.unlink()
    folder = place / files[:16]
    shutil.rmtree(folder, ignore_errors=True)
    work.rename(folder)
    for path in place.iterdir():
        if path != folder:
            shutil.rmtree(path, ignore_errors=True)
    return _rows(rungs, about_scorer(folder), answers, chosen)


def rungs_of(folder: Path) -> dict[str, Rung]:
    """What each rung did on what was held out, by its name, from the folder of a scorer. Raises
    `ConfigurationError`: a file of it cannot be read.
    """
    return {
        name: _rung(name, tuple(stored_arrays(folder / f"{name}.npz").values()))
        for name in ("frozen", "tuned")
        if (folder / f"{name}.npz").exists()
    }


def scorer_vectors(folder: Path) -> Vectors:
    """The vectors of the sentences that a scorer learnt from, from its folder; raises as `rungs_of`."""
    (vectors,) = stored_arrays(folder / _VECTORS).values()
    return vectors


def errors_of(
    vectors: Vectors, answers: Answers, held_out: HeldOut, masks: Masks
) -> Errors:
    """How far the scorer errs: squared errors on held-out sentences less the panel's own variance, by thirds
    of the score; and how far sentences of other groups lie from each other.
    """
    frame, mu = answers.sentences, held_out.sentences
    known = answers.is_fitted & ~np.isnan(mu)
    cuts = np.quantile(mu[known], [1.0 / 3.0, 2.0 / 3.0])
    excess = (mu - frame["mu_centre"].to_numpy()) ** 2 - frame["mu_sd"].to_numpy() ** 2
    third = np.searchsorted(cuts, mu)
    parts = [excess[known & (third == one)] for one in range(3)]
    variance = [
        max(float((part if len(part) else excess[known]).mean()), LEAST_VARIANCE)
        for part in parts
    ]
    usual = float(np.nanmean(held_out.sentences_variance))
    stored = vectors.astype(np.float16)
    apart = np.concatenate(
        [nearest(vectors[mask], stored[~mask]) for mask in masks if (~mask).any()]
    )
    return Errors(
        cuts, np.array(variance), usual, stored, float(np.quantile(apart, 0.99))
    )


def _read(encoder: MaskedEncoder, sentences: list[str]) -> Vectors:
    return encoder.encode(sentences, steps_of("reading sentences", len(sentences)))


def _frozen(vectors: Vectors, answers: Answers, masks: tuple[Masks, Masks]) -> Rung:
    """The head on the encoder as it is, with the ridge of the smallest errors."""
    tried, folds = [], sum(map(len, masks))
    step = steps_of("trying heads on what was held out", folds * len(SPREADS))
    for spread in SPREADS:
        both = (out_of_fold(vectors, answers, mine, spread, step) for mine in masks)
        tried.append(
            Rung("frozen", spread, HeldOut(*(one for pair in both for one in pair)))
        )
    return min(tried, key=lambda rung: rung.held_out.total(answers))


def _tuned(
    vectors: Vectors,
    answers: Answers,
    masks: tuple[Masks, Masks],
    spread: float,
    chosen: Training,
    work: Path,
) -> Rung:
    """The fine-tuned encoder of each fold, with a head on what it says; finished folds are kept."""
    found = np.full((4, len(vectors)), np.nan)
    for kind, folded in enumerate(masks):
        for number, mask in enumerate(folded):
            what = f"{('sentences', 'phrases')[kind]} {number + 1}/{len(folded)}"

            def learn(
                mask: NDArray[np.bool_] = mask,
                what: str = what,
                state: Path = work / f"{kind}-{number}.pt",
            ) -> tuple[Floats, Floats]:
                seen, own = (
                    answers.without(mask),
                    MaskedEncoder(chosen.encoder, chosen.revision, chosen.device),
                )
                fine_tune(
                    own,
                    seen,
                    fit_head(vectors, seen, spread),
                    chosen.epochs,
                    chosen.seed,
                    state,
                    what,
                )
                read = own.encode(answers.sentences["sentence"].tolist())
                head = fit_head(read, seen, spread)
                state.unlink(missing_ok=True)
                return head.mu(read[mask]), head.variance(read[mask])

            part = _kept(work / f"fold-{kind}-{number}.npz", learn)
            found[2 * kind][mask], found[2 * kind + 1][mask] = part
    return Rung("tuned", spread, HeldOut(*found))


def _rows(
    rungs: list[Rung], about: About, answers: Answers, chosen: Training
) -> pd.DataFrame:
    shared = {
        "encoder": about.encoder,
        "files": about.files,
        "seed": chosen.seed,
        "sentences": int(answers.is_fitted.sum()),
        "answers": int((answers.other < 0).sum()),
        "comparisons": int((answers.other >= 0).sum()),
        "ranking_version": about.ranking_version,
    }
    rows = []
    for rung in rungs:
        sentences, phrases = rung.held_out.errors(answers)
        of = {
            "rung": rung.name,
            "is_used": rung.name == about.rung,
            "spread": rung.spread,
        }
        held_out = {
            "rmse_sentences": sentences,
            "rmse_phrases": phrases if np.isfinite(phrases) else None,
        }
        rows.append({**of, **held_out, **shared})
    return DISTILLED_SCORER.frame(rows)


def _fingerprint(answers: Answers, encoder: str, chosen: Training) -> str:
    """Of everything that the result follows from: unfinished work of other input is not gone on with."""
    whole = hashlib.sha256(repr((encoder, asdict(chosen), answers.judges)).encode())
    whole.update(
        "\n".join(answers.sentences["sentence"]).encode("utf-8", "surrogatepass")
    )
    whole.update(
        repr(answers.sentences[["phrases", "group"]].to_numpy().tolist()).encode()
    )
    whole.update(answers.sentences[["mu_centre", "mu_sd"]].to_numpy().tobytes())
    for name in ("one", "other", "mu", "noise", "won", "judge"):
        whole.update(np.ascontiguousarray(getattr(answers, name)).tobytes())
    return whole.hexdigest()[:16]


def _keep(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    replace_file(path, lambda stream: np.savez(stream, **arrays))  # type: ignore[arg-type]


def _kept(
    path: Path, make: Callable[[], tuple[NDArray[Any], ...]]
) -> tuple[NDArray[Any], ...]:
    """Arrays from a file, or made and written there; a damaged file is made again."""
    if path.exists():
        with suppress(ConfigurationError):
            return tuple(stored_arrays(path).values())
    _keep(path, {f"array_{number}": one for number, one in enumerate(make())})
    return tuple(stored_arrays(path).values())


def _kept_rung(work: Path, name: str, make: Callable[[], Rung]) -> Rung:
    def arrays() -> tuple[NDArray[Any], ...]:
        rung = make()
        return np.array(rung.spread), *rung.held_out

    return _rung(name, _kept(work / f"{name}.npz", arrays))


def _rung(name: str, arrays: tuple[NDArray[Any], ...]) -> Rung:
    spread, *found = arrays
    return Rung(name, float(spread), HeldOut(*found))
