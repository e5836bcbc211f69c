"""The answers that a panel has given about sentences, as training data: its comparisons, and the plays of its
fits. Every answer is a probit: of two sentences in a comparison, of a sentence against a phrase at its place
in the ranking (explicit.md sections 3 and 5), so that what is learnt is in units of mu.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import log_ndtr

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.posterior import panel_posterior
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.pairs import (
    sentence_key,
    tentative_rows,
)
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.trueskill import DIFFERENCE_SD
from lunguage_assets.randomness import Floats, Integers, mix, text_hashes

FEWEST = 50
"""Fitted sentences below which nothing is learnt."""

_INV_SQRT_2PI = 0.3989422804014327


@dataclass(frozen=True, eq=False)
class Answers:
    """Valid answers about distinct masked sentences; arrays have one entry per answer.

    `one`: number of the sentence; `other`: the one it was compared with, or -1: a reference phrase,
    `opponent` in the ranking, at `mu`; `noise`: deviation of the difference; `won`: the sentence is the
    more certain; `judge`: number in `judges`; `step` of a fit, or the number of the comparison;
    `count`: times that it was given.

    `sentences` has a line per sentence, by `sentence_key`: `sentence`, its `phrases`, `group` (sentences that
    are held out together), `pair` (masked sentences of one sentence share it), and `mu`, `mu_centre`, `mu_sd`
    where the panel has fitted it, else NaN.
    """

    sentences: pd.DataFrame
    judges: tuple[str, ...]
    one: Integers
    other: Integers
    opponent: Integers
    mu: Floats
    noise: Floats
    won: NDArray[np.bool_]
    judge: Integers
    step: Integers
    count: Floats

    @property
    def size(self) -> int:
        return len(self.one)

    @cached_property
    def is_fitted(self) -> NDArray[np.bool_]:
        """Sentences that the panel has fitted: of them its place is known."""
        found: NDArray[np.bool_] = self.sentences["mu_centre"].notna().to_numpy()
        return found

    def only(self, kept: NDArray[Any]) -> Answers:
        """Some of the answers, about the same sentences."""
        names = (
            "one",
            "other",
            "opponent",
            "mu",
            "noise",
            "won",
            "judge",
            "step",
            "count",
        )
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    def merged(self) -> Answers:
        """Equal answers of several judges, or steps, as one that counts as often: its loss is the same."""
        same = np.stack([self.one, self.other, self.opponent, self.won])
        _, first, which = np.unique(
            same, axis=1, return_index=True, return_inverse=True
        )
        count = np.bincount(np.ravel(which), self.count).astype(np.float64)
        return replace(self.only(first), count=count)

    def without(self, held_out: NDArray[np.bool_]) -> Answers:
        """The answers in which none of these sentences takes part; shape (sentences,)."""
        touched = held_out[self.one] | (held_out[self.other] & (self.other >= 0))
        return self.only(~touched)

    def ahead(self, scores: Floats) -> Floats:
        """How far each sentence is ahead of its opponent, in deviations."""
        other = np.where(self.other >= 0, scores[self.other], self.mu)
        return np.asarray((scores[self.one] - other) / self.noise)

    def loss(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Minus the log likelihood of the answers under scores of all sentences, its gradient by the scores,
        and the (positive) second derivatives by each answer's difference.
        """
        sign = np.where(self.won, 1.0, -1.0)
        ahead = sign * self.ahead(scores)
        log_p = log_ndtr(ahead)
        ratio = _INV_SQRT_2PI * np.exp(-0.5 * ahead**2 - log_p)
        slope = -sign * ratio / self.noise * self.count
        gradient: Floats = np.bincount(self.one, slope, len(scores)).astype(np.float64)
        both = self.other >= 0
        gradient -= np.bincount(self.other[both], slope[both], len(scores))
        return (
            -float(log_p @ self.count),
            gradient,
            ratio * (ratio + ahead) / self.noise**2 * self.count,
        )

    def halves(self, reference: ReferenceScale) -> tuple[Floats, Floats]:
        """mu of each sentence by one half of the answers of its fit and by the other, NaN without a fit:
        every second answer of a judge, so that both halves have all judges.
        """
        fits = self.only(self.other < 0)
        order = np.lexsort((fits.step, fits.judge, fits.one))
        turn = (
            pd.Series(fits.judge[order])
            .groupby([fits.one[order], fits.judge[order]])
            .cumcount()
        )
        second = np.zeros(fits.size, dtype=bool)
        second[order] = (turn + fits.judge[order]) % 2 == 1
        first, other = (
            fits.only(second == half).posterior(reference)[0] for half in (False, True)
        )
        return np.where(self.is_fitted, first, np.nan), np.where(
            self.is_fitted, other, np.nan
        )

    def posterior(self, reference: ReferenceScale) -> tuple[Floats, Floats]:
        """Place of each sentence given its answers against phrases, and its deviation, as fits have them."""
        shape = len(self.sentences), len(self.judges), len(reference.mu)
        fits, counts = self.other < 0, []
        for won in (True, False):
            mine = fits & (self.won == won)
            found = np.zeros(shape, dtype=np.int16)
            np.add.at(found, (self.one[mine], self.judge[mine], self.opponent[mine]), 1)
            counts.append(found)
        return panel_posterior(counts[0], counts[1], reference)


def panel_answers(
    findings: pd.DataFrame,
    fitted: pd.DataFrame,
    log: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    ranking: pd.DataFrame,
) -> Answers:
    """The answers of a panel, every one once.

    Args:
        findings, fitted, log: `FINDINGS`, `FITTED_PROBABILITIES` and `FIT_LOG` of all batches that it fitted.
        matches: `COMPARISON_MATCHES` of its judges.
        ranking: the `REFERENCE_RANKING` that the fits are of.

    Raises:
        MethodError: too few fitted sentences, or fits of another ranking.
    """
    if set(fitted["ranking_version"]) - set(ranking["ranking_version"]):
        raise MethodError(
            "fits belong to another ranking. `lunguage run` fits again; then distill."
        )
    rows = tentative_rows(findings)
    rows = rows[rows["mask_state"] == "masked"]
    rows = rows.assign(key=rows["masked_sentence"].map(sentence_key))
    judges = tuple(matches)
    plays, compared = _plays(log, judges, ranking), _comparisons(matches, judges)
    shown = pd.concat(
        [rows["masked_sentence"], compared["sentence_a"], compared["sentence_b"]]
    )
    texts = {sentence_key(one): one for one in shown.unique()}
    plays = plays[plays["sentence_key"].isin(texts)]
    sentences = _sentences(texts, rows, fitted)
    if (found := int(sentences["mu_centre"].notna().sum())) < FEWEST or plays.empty:
        raise MethodError(
            f"found {found} sentences that the panel has fitted, with {len(plays)} answers in fit_log; "
            f"expected {FEWEST} or more, of 2,000 that docs/distilled.md advises. Let the panel fit more "
            "reports (`lunguage run --fit panel`), with fit_log = true under [explicit] in settings.toml."
        )
    at = sentences.index.get_indexer
    opponent = pd.Index(ranking["phrase"]).get_indexer(pd.Index(plays["opponent"]))
    place, sigma = (
        ranking[name].to_numpy(dtype=np.float64)[opponent] for name in ("mu", "sigma")
    )
    first, second = (
        at(pd.Index(compared[f"sentence_{side}"].map(sentence_key))) for side in "ab"
    )
    number = {judge: i for i, judge in enumerate(judges)}
    matched = len(compared)
    return Answers(
        sentences=sentences,
        judges=judges,
        one=np.concatenate([at(pd.Index(plays["sentence_key"])), first]).astype(
            np.int64
        ),
        other=np.concatenate([np.full(len(plays), -1), second]).astype(np.int64),
        opponent=np.concatenate([opponent, np.full(matched, -1)]).astype(np.int64),
        mu=np.concatenate([place, np.zeros(matched)]),
        noise=np.concatenate(
            [
                np.sqrt(2.0 * trueskill.BETA**2 + sigma**2),
                np.full(matched, DIFFERENCE_SD),
            ]
        ),
        won=np.concatenate(
            [plays["answer"] == "won", compared["winner"] == compared["phrase_a"]]
        ),
        judge=np.concatenate(
            [plays["judge"].map(number), compared["judge"].map(number)]
        ).astype(np.int64),
        step=np.concatenate([plays["step"], compared["repetition"]]).astype(np.int64),
        count=np.ones(len(plays) + matched),
    )


def _plays(
    log: pd.DataFrame, judges: Sequence[str], ranking: pd.DataFrame
) -> pd.DataFrame:
    """A line per valid answer in the log; that of a sentence of several batches once."""
    log = log.drop_duplicates(["sentence_key", "step"]).sort_values(
        ["sentence_key", "step"]
    )
    each = log.assign(answer=log["answers"].str.split(" ")).explode("answer")
    each[["judge", "answer"]] = (
        each["answer"].str.rsplit("=", n=1, expand=True).reindex(columns=[0, 1])
    )
    known = each["judge"].isin(judges) & each["opponent"].isin(ranking["phrase"])
    return each[known & each["answer"].isin(["won", "lost"])].reset_index(drop=True)


def _comparisons(
    matches: Mapping[str, pd.DataFrame], judges: Sequence[str]
) -> pd.DataFrame:
    """A line per valid comparison of two different sentences."""
    every = pd.concat([matches[judge].assign(judge=judge) for judge in judges])
    different = every["sentence_a"] != every["sentence_b"]
    return every[different & every["winner"].notna()].reset_index(drop=True)


def _sentences(
    texts: Mapping[str, str], rows: pd.DataFrame, fitted: pd.DataFrame
) -> pd.DataFrame:
    """The lines of `Answers.sentences`, sorted by key."""
    frame = pd.DataFrame({"sentence": texts}).sort_index()
    fitted = fitted[fitted["sentence_key"] != ""]
    said = (
        fitted.explode("phrases")
        .dropna(subset=["phrases"])
        .groupby("sentence_key")["phrases"]
    )
    phrases = {str(key): tuple(sorted(set(those))) for key, those in said}
    frame["phrases"] = [phrases.get(key, ()) for key in frame.index]
    placed = (
        fitted[fitted["mu"].notna()]
        .drop_duplicates("sentence_key")
        .set_index("sentence_key")
    )
    frame[["mu", "mu_centre", "mu_sd"]] = placed[["mu", "mu_centre", "mu_sd"]].reindex(
        frame.index
    )
    frame["group"] = groups(frame.index, rows)
    place = rows["study_id"] + "\x1f" + rows["sent"]
    frame["pair"] = place.groupby(rows["key"]).min().reindex(frame.index).fillna("")
    return frame


def groups(keys: pd.Index, rows: pd.DataFrame) -> Integers:
    """Number of the group of each sentence: sentences of one patient, or of one study where the patient is
    not known, are held out together. A sentence that several patients share says nothing of one of them and
    is a group of its own.
    """
    patient = rows["subject_id"].where(rows["subject_id"] != "", rows["study_id"])
    shared = patient.groupby(rows["key"]).transform("nunique") > 1
    alone = pd.DataFrame({"key": rows["key"], "patient": patient})[~shared]
    numbers, _ = pd.factorize(alone["patient"], sort=True)
    at = keys.get_indexer(pd.Index(alone["key"]))
    size = len(keys) + int(numbers.max(initial=-1)) + 1
    links = coo_array((np.ones(len(at)), (at, len(keys) + numbers)), shape=(size, size))
    found: Integers = connected_components(links, directed=False)[1][
        : len(keys)
    ].astype(np.int64)
    return found


def folds(
    group: NDArray[np.int64], names: Sequence[str], number: int, seed: int
) -> Integers:
    """The fold, of so many, in which each line is held out: whole groups, the largest first into the fold
    with the fewest lines, ties by a hash of `names` (of the lines).
    """
    lines = pd.DataFrame(
        {"group": group, "hash": mix(seed, text_hashes(names)).astype(np.float64)}
    )
    sizes = lines.groupby("group").agg(size=("group", "size"), hash=("hash", "min"))
    filled = np.zeros(number, dtype=np.int64)
    fold_of = dict[int, int]()
    for of, size in sizes.sort_values(["size", "hash"], ascending=[False, True])[
        "size"
    ].items():
        fold_of[int(str(of))] = int(filled.argmin())
        filled[fold_of[int(str(of))]] += size
    return np.array([fold_of[int(one)] for one in group], dtype=np.int64)


def phrase_folds(
    said: Sequence[tuple[str, ...]], number: int, seed: int
) -> list[NDArray[np.bool_]]:
    """For each fold the sentences that hold one of its phrases: a phrase is held out with all of them."""
    every = [phrase for phrases in said for phrase in phrases]
    numbers, names = pd.factorize(pd.Series(every, dtype="object"), sort=True)
    by_line = folds(numbers.astype(np.int64), names[numbers].tolist(), number, seed)
    held = [
        {one for one, of in zip(every, by_line.tolist(), strict=True) if of == k}
        for k in range(number)
    ]
    masks = [
        np.array([not mine.isdisjoint(phrases) for phrases in said], dtype=bool)
        for mine in held
    ]
    return [mask for mask in masks if mask.any()]
