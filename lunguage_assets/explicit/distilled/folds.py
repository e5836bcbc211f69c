"""What is held out together, when a distilled model is tested on what it had not seen.

docs/distilled.md: sentences of one patient, and all sentences with a phrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lunguage_assets.explicit.distilled.answers import Answers, Mask
from lunguage_assets.randomness import Integers, mix, text_hashes

Masks = list[Mask]
"""For each fold, whether each sentence is held out in it, shape (sentences,)."""


class HeldOutMasks(NamedTuple):
    """Folds of whole groups of sentences, and folds of phrases."""

    sentences: Masks
    phrases: Masks


def held_out_masks(answers: Answers, number: int, seed: int) -> HeldOutMasks:
    """Divide the sentences into folds, by group and by phrase.

    Args:
        answers: whose sentences are divided.
        number: of folds.
        seed: of the ties.
    """
    frame = answers.sentences
    fold = folds(frame["group"].to_numpy(), list(frame.index), number, seed)
    by_sentence = [fold == held_out for held_out in range(number)]
    by_phrase = phrase_folds(frame["phrases"].tolist(), number, seed)
    return HeldOutMasks(by_sentence, by_phrase)


def patient_groups(keys: pd.Index, rows: pd.DataFrame) -> Integers:
    """Number the groups of sentences that are held out together.

    They are the sentences of one patient, or of one study where the patient is not
    known. A sentence that several patients share says nothing of one of them, and is a
    group of its own.

    Args:
        keys: of the sentences.
        rows: `key`, `subject_id` and `study_id` of every finding.

    Returns:
        Number of the group of each sentence, shape (sentences,).
    """
    patient = rows["subject_id"].where(rows["subject_id"] != "", rows["study_id"])
    is_shared = patient.groupby(rows["key"]).transform("nunique") > 1
    of_one_patient = pd.DataFrame({"key": rows["key"], "patient": patient})[~is_shared]
    numbers, _ = pd.factorize(of_one_patient["patient"], sort=True)
    sentences = keys.get_indexer(pd.Index(of_one_patient["key"]))
    # A graph of sentences and patients: what hangs together is a group.
    size = len(keys) + int(numbers.max(initial=-1)) + 1
    edges = (sentences, len(keys) + numbers)
    links = coo_array((np.ones(len(sentences)), edges), shape=(size, size))
    _, component = connected_components(links, directed=False)
    groups: Integers = component[: len(keys)].astype(np.int64)
    return groups


def folds(
    group: NDArray[np.int64], names: Sequence[str], number: int, seed: int
) -> Integers:
    """Divide rows into folds of about the same size, group by group.

    The largest group comes first, and goes into the fold with the fewest rows.

    Args:
        group: number of the group of each row, shape (rows,).
        names: of the rows; equal sizes are ordered by a hash of them.
        number: of folds.
        seed: of the hash.

    Returns:
        Number of the fold in which each row is held out.
    """
    hashes = mix(seed, text_hashes(names)).astype(np.float64)
    rows = pd.DataFrame({"group": group, "hash": hashes})
    sizes = rows.groupby("group").agg(size=("group", "size"), hash=("hash", "min"))
    sizes = sizes.sort_values(["size", "hash"], ascending=[False, True])
    filled = np.zeros(number, dtype=np.int64)
    fold_by_group: dict[Any, int] = {}
    for group_number, size in sizes["size"].to_dict().items():
        emptiest = int(filled.argmin())
        fold_by_group[group_number] = emptiest
        filled[emptiest] += size
    return np.array([fold_by_group[int(row)] for row in group], dtype=np.int64)


def phrase_folds(
    phrases_of_sentences: Sequence[tuple[str, ...]], number: int, seed: int
) -> Masks:
    """Divide phrases into folds, each with all sentences that hold one of its phrases.

    Args:
        phrases_of_sentences: the phrases of each sentence.
        number: of folds; those without a sentence are left out.
        seed: of the ties.
    """
    mentions = pd.Series(chain.from_iterable(phrases_of_sentences), dtype="object")
    phrase_of_mention, _ = pd.factorize(mentions, sort=True)
    fold = folds(phrase_of_mention.astype(np.int64), mentions.tolist(), number, seed)
    masks = []
    # A sentence with phrases of two folds is held out in both: no answer about a
    # held-out phrase may be learnt from.
    for held_out in range(number):
        held_out_phrases = set(mentions[fold == held_out])
        holds_phrase = [
            not held_out_phrases.isdisjoint(phrases) for phrases in phrases_of_sentences
        ]
        mask = np.array(holds_phrase, dtype=bool)
        if mask.any():
            masks.append(mask)
    return masks
