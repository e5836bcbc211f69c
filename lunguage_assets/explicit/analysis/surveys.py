"""Surveys for people: phrase pairs for experts, and a form for the anchors' ratings (explicit.md sections 4
and 6).

The files contain masked sentences of the corpus; whoever writes them decides who may read them (`restrict`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.data_files import page_template, resource
from lunguage_assets.draws import mix, text_hash, text_hashes
from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.explicit.analysis.experts import EXPERT_COLUMNS
from lunguage_assets.explicit.fit.anchors import RATING_COLUMNS
from lunguage_assets.files import replace_text, sheet, write_private


class PairQuestion(NamedTuple):
    """Two phrases in the order shown, each with its masked example sentences; `number` counts from 1."""

    number: int
    sides: tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]


def make_survey(
    vocabulary: pd.DataFrame, ranking: pd.DataFrame, *, pairs: int = 50, examples: int = 5, seed: int = 0
) -> list[PairQuestion]:
    """Choose pairs (`spread_pairs`) and sentences per phrase; the same inputs and seed always give the same
    survey.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame with the example sentences.
        ranking: `REFERENCE_RANKING` frame of the same vocabulary.
        pairs, examples: the most of them.
        seed: all that is drawn is hashed from it.

    Raises:
        MethodError: fewer than two ranked phrases, or a ranking of another vocabulary.
    """
    if set(ranking["vocabulary_version"]) - set(vocabulary["vocabulary_version"]):
        raise MethodError(
            "the ranking belongs to another version of the hedge vocabulary. Run again with "
            "--rebuild-ranking, then make the survey."
        )
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    sentences = retained.set_index("phrase")["example_sentences"].to_dict()
    ranked = [phrase for phrase in ranking.sort_values("rank")["phrase"] if phrase in sentences]
    if len(ranked) < 2:
        remedy = 'Use a larger corpus, or ruler = "published".'
        raise MethodError(f"{len(ranked)} phrases are ranked; a survey needs two at least. {remedy}")
    chosen = spread_pairs(ranked, pairs, seed)
    chosen.sort(key=lambda pair: text_hash(seed, "order of questions", *pair))
    questions = []
    for number, (a, b) in enumerate(chosen, start=1):
        first, second = (b, a) if text_hash(seed, "shown first", a, b) >> 63 else (a, b)
        key = text_hash(seed, "examples", a, b)
        shown = [(phrase, _drawn(sentences[phrase], key, examples)) for phrase in (first, second)]
        questions.append(PairQuestion(number, (shown[0], shown[1])))
    return questions


def spread_pairs(ranked: Sequence[str], pairs: int, seed: int) -> list[tuple[str, str]]:
    """Pairs that are spread over the ranking, each in alphabetical order.

    All pairs are sorted by the distance of their ranks, from far to near, and cut into as many equal strata
    as pairs are wanted. Each stratum gives the one whose phrases were used least so far, ties by hash.
    """
    place = {phrase: i for i, phrase in enumerate(ranked)}
    every = list(combinations(sorted(ranked), 2))
    every.sort(key=lambda pair: (-abs(place[pair[0]] - place[pair[1]]), text_hash(seed, "pair", *pair)))
    wanted = min(pairs, len(every))
    used: Counter[str] = Counter()
    chosen = []
    for stratum in range(wanted):
        candidates = every[stratum * len(every) // wanted : (stratum + 1) * len(every) // wanted]
        pair = min(candidates, key=lambda pair: sorted((used[phrase] for phrase in pair), reverse=True))
        used.update(pair)
        chosen.append(pair)
    return chosen


def rating_rows(
    vocabulary: pd.DataFrame, phrases: Sequence[str], *, examples: int = 10, raters: int = 2, seed: int = 0
) -> list[list[str]]:
    """Rows of `anchor_ratings.csv` to fill in, with the header: every rater gets the same sentences,
    `examples` per phrase at most, in one order; the same inputs and seed always give the same rows.

    Raises:
        MethodError: fewer than two phrases, or one without a sentence in the `HEDGE_VOCABULARY` frame.
    """
    if len(set(phrases)) < 2:
        raise MethodError("fewer than two phrases to rate; the scale needs two at least. Name further ones.")
    known = vocabulary.set_index("phrase")["example_sentences"].to_dict()
    asked: list[tuple[str, str]] = []
    for phrase in dict.fromkeys(phrases):
        drawn = _drawn(known.get(phrase, ()), text_hash(seed, "to rate", phrase), examples)
        if not drawn:
            raise MethodError(
                f"no sentence with the phrase {phrase!r} is in the vocabulary. Name another with --phrase."
            )
        asked += [(phrase, sentence) for sentence in drawn]
    asked.sort(key=lambda one: text_hash(seed, "order of ratings", *one))
    rows = [[f"rater_{number}", *one, ""] for number in range(1, raters + 1) for one in asked]
    return [[*RATING_COLUMNS], *rows]


def _drawn(sentences: Sequence[str], key: int, count: int) -> tuple[str, ...]:
    """The distinct sentences with the smallest hashes."""
    known = sorted(set(sentences))
    order = np.argsort(mix(key, text_hashes(known)), kind="stable")
    return tuple(known[i] for i in order[:count].tolist())


def write_survey(
    questions: Sequence[PairQuestion], folder: Path, *, experts: int = 6, restrict: bool = False
) -> list[Path]:
    """Write the CSV of pairs (phrases, a column per example sentence, an empty column per expert), the
    printable form, the CSV that describes the experts, and the instructions; return their paths.

    Args:
        experts: empty columns for experts in the CSV.
        restrict: the sentences are patients' data: files (and a new folder) are readable by their owner only,
            and the form says so.

    Raises:
        ConfigurationError: the folder has one of these files with other content; nothing is written.
    """
    names, width = [f"expert_{number}" for number in range(1, experts + 1)], 0
    for question in questions:
        width = max(width, *(len(shown) for _, shown in question.sides))
    examples = [f"example_{side}_{number}" for side in (1, 2) for number in range(1, width + 1)]
    rows = [["pair", "phrase_1", "phrase_2", *examples, *names]]
    for question in questions:
        row = [str(question.number), *(phrase for phrase, _ in question.sides)]
        for _, shown in question.sides:
            row += [*shown, *[""] * (width - len(shown))]
        rows.append([*row, *[""] * experts])
    described = [list(EXPERT_COLUMNS), *([name, "", "", ""] for name in names)]
    instructions = resource("survey", "instructions.txt").read_text(encoding="utf-8")
    page = page_template("survey", "form.html.j2").render(
        questions=questions, instructions=instructions.strip().split("\n\n"), restrict=restrict
    )
    contents = {
        "responses.csv": sheet(rows),
        "survey.html": page,
        "experts.csv": sheet(described),
        "instructions.txt": instructions,
    }
    return _write_files(folder, contents, restrict)


def write_rating_survey(rows: Sequence[Sequence[str]], folder: Path, *, restrict: bool = False) -> list[Path]:
    """Write the CSV to fill in and the instructions; return their paths. Arguments and errors as
    `write_survey`.
    """
    instructions = resource("survey", "anchor_instructions.txt").read_text(encoding="utf-8")
    contents = {"anchor_ratings.csv": sheet(rows), "instructions.txt": instructions}
    return _write_files(folder, contents, restrict)


def _write_files(folder: Path, contents: Mapping[str, str], restrict: bool) -> list[Path]:
    for name, content in contents.items():
        path = folder / name
        if path.exists() and path.read_bytes() != content.encode("utf-8"):
            raise ConfigurationError(
                f"{path} exists with other content, perhaps filled in. Name another folder with --out, or "
                "move the file."
            )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700 if restrict else 0o777)
    for name, content in contents.items():
        if restrict:
            write_private(folder / name, content.encode("utf-8"))
        else:
            replace_text(folder / name, content)
    return [folder / name for name in contents]
