"""Surveys that people fill in: phrase pairs for experts, sentences for raters.

Sections 4 and 6 of docs/method/explicit.md. All that is drawn follows from the seed.
The answers are read by `experts.py` and, for the anchors, by `fit/anchors.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.explicit.analysis.experts import DESCRIPTION_COLUMNS, PhrasePair
from lunguage_assets.explicit.fit.anchors import RATING_COLUMNS
from lunguage_assets.files import replace_text, write_private
from lunguage_assets.packaged_data import page_template, resource
from lunguage_assets.randomness import mix, text_hash, text_hashes
from lunguage_assets.spreadsheets import sheet

EXPERT_COLUMNS = (*DESCRIPTION_COLUMNS, "years_of_experience")


class Side(NamedTuple):
    """A phrase with its masked example sentences."""

    phrase: str
    sentences: tuple[str, ...]


class PairQuestion(NamedTuple):
    """Which of two phrases is the more certain?

    Attributes:
        number: of the question, from 1.
        sides: the phrases in the order shown.
    """

    number: int
    sides: tuple[Side, Side]


def make_survey(
    vocabulary: pd.DataFrame,
    ranking: pd.DataFrame,
    *,
    pairs: int = 50,
    examples: int = 5,
    seed: int = 0,
) -> list[PairQuestion]:
    """Choose phrase pairs, and example sentences for each phrase.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        ranking: the `REFERENCE_RANKING` frame of it.
        pairs: the most that are chosen (`spread_pairs`).
        examples: sentences for each phrase, at most.
        seed: of all draws.

    Raises:
        MethodError: fewer than two ranked phrases, or a ranking of another vocabulary.
    """
    if set(ranking["vocabulary_version"]) - set(vocabulary["vocabulary_version"]):
        raise MethodError(
            "the ranking belongs to another version of the hedge vocabulary. Run again "
            "with --rebuild-ranking, then make the survey."
        )
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    sentences = retained.set_index("phrase")["example_sentences"].to_dict()
    by_rank = ranking.sort_values("rank")["phrase"]
    ranked = [phrase for phrase in by_rank if phrase in sentences]
    if len(ranked) < 2:
        raise MethodError(
            f"{len(ranked)} phrases are ranked; a survey needs two at least. Use a "
            'larger corpus, or reference_scale = "published".'
        )
    # Otherwise the questions would become harder from first to last.
    chosen = spread_pairs(ranked, pairs, seed)
    chosen.sort(key=lambda pair: text_hash(seed, "order of questions", *pair))
    questions = []
    for number, (a, b) in enumerate(chosen, start=1):
        # Pairs are in alphabetical order, which must not decide what is shown first.
        is_b_first = text_hash(seed, "shown first", a, b) >> 63
        first, second = (b, a) if is_b_first else (a, b)
        key = text_hash(seed, "examples", a, b)
        sides = (
            Side(first, _draw(sentences[first], key, examples)),
            Side(second, _draw(sentences[second], key, examples)),
        )
        questions.append(PairQuestion(number, sides))
    return questions


def spread_pairs(ranked: Sequence[str], pairs: int, seed: int) -> list[PhrasePair]:
    """Choose pairs that are spread over the ranking.

    All pairs are sorted by the distance of their ranks and cut into as many strata as
    pairs are wanted. Each gives the pair whose phrases were used least so far, ties by
    hash.

    Args:
        ranked: phrases in ranking order.
        pairs: how many are wanted.
        seed: of the ties.
    """
    rank = {phrase: number for number, phrase in enumerate(ranked)}

    def order(pair: PhrasePair) -> tuple[int, int]:
        distance = abs(rank[pair[0]] - rank[pair[1]])
        return -distance, text_hash(seed, "pair", *pair)

    def uses(pair: PhrasePair) -> list[int]:
        return sorted((uses_by_phrase[phrase] for phrase in pair), reverse=True)

    all_pairs = sorted(combinations(sorted(ranked), 2), key=order)
    strata = min(pairs, len(all_pairs))
    uses_by_phrase: Counter[str] = Counter()
    chosen = []
    for stratum in range(strata):
        start = stratum * len(all_pairs) // strata
        end = (stratum + 1) * len(all_pairs) // strata
        least_used = min(all_pairs[start:end], key=uses)
        uses_by_phrase.update(least_used)
        chosen.append(least_used)
    return chosen


def rating_rows(
    vocabulary: pd.DataFrame,
    phrases: Sequence[str],
    *,
    examples: int = 10,
    raters: int = 2,
    seed: int = 0,
) -> list[list[str]]:
    """Make the rows of `anchor_ratings.csv` to fill in, with the header.

    Every rater gets the same sentences in one random order.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        phrases: to be rated.
        examples: sentences for each phrase, at most.
        raters: how many rate.
        seed: of all draws.

    Raises:
        MethodError: fewer than two phrases, or one without a sentence.
    """
    if len(set(phrases)) < 2:
        raise MethodError(
            "fewer than two phrases to rate; the scale needs two at least. Name "
            "further ones."
        )
    sentences_by_phrase = vocabulary.set_index("phrase")["example_sentences"].to_dict()
    questions: list[tuple[str, str]] = []
    for phrase in dict.fromkeys(phrases):
        key = text_hash(seed, "to rate", phrase)
        drawn = _draw(sentences_by_phrase.get(phrase, ()), key, examples)
        if not drawn:
            raise MethodError(
                f"no sentence with the phrase {phrase!r} is in the vocabulary. Name "
                "another with --phrase."
            )
        questions += [(phrase, sentence) for sentence in drawn]
    # Mixed, so that nobody rates ten sentences of one phrase in a row.
    questions.sort(key=lambda question: text_hash(seed, "order of ratings", *question))
    rows = [list(RATING_COLUMNS)]
    for rater in range(1, raters + 1):
        rows += [[f"rater_{rater}", *question, ""] for question in questions]
    return rows


def _draw(sentences: Sequence[str], key: int, count: int) -> tuple[str, ...]:
    """Draw distinct sentences: those with the smallest hashes."""
    distinct = sorted(set(sentences))
    by_hash = np.argsort(mix(key, text_hashes(distinct)), kind="stable")
    return tuple(distinct[i] for i in by_hash[:count].tolist())


def write_survey(
    questions: Sequence[PairQuestion],
    folder: Path,
    *,
    experts: int = 6,
    restrict: bool = False,
) -> list[Path]:
    """Write a survey of phrase pairs.

    It is a CSV of pairs to fill in (phrases, a column per example sentence, an empty
    column per expert), a printable form, a CSV that describes the experts, and
    instructions.

    Args:
        questions: as `make_survey` returns them.
        folder: in which the files are written.
        experts: how many answer.
        restrict: whether the sentences are patients' data: files (and a new folder) are
            then readable by their owner only, and the form says so.

    Returns:
        Paths of the files.

    Raises:
        ConfigurationError: the folder has one of these files with other content.
    """
    names = [f"expert_{number}" for number in range(1, experts + 1)]
    description_rows = [list(EXPERT_COLUMNS)]
    description_rows += [[name, "", "", ""] for name in names]
    instructions = resource("survey", "instructions.txt").read_text(encoding="utf-8")
    page = page_template("survey", "form.html.j2").render(
        questions=questions,
        instructions=instructions.strip().split("\n\n"),
        restrict=restrict,
    )
    contents = {
        "responses.csv": sheet(_response_rows(questions, names)),
        "survey.html": page,
        "experts.csv": sheet(description_rows),
        "instructions.txt": instructions,
    }
    return _write_files(folder, contents, restrict=restrict)


def _response_rows(
    questions: Sequence[PairQuestion], experts: Sequence[str]
) -> list[list[str]]:
    """Make the rows of the CSV to fill in, with the header."""
    sentences = [
        len(side.sentences) for question in questions for side in question.sides
    ]
    width = max(sentences, default=0)
    header = ["pair", "phrase_1", "phrase_2"]
    for side_number in (1, 2):
        header += [f"example_{side_number}_{number}" for number in range(1, width + 1)]
    rows = [[*header, *experts]]
    for question in questions:
        row = [str(question.number), *(side.phrase for side in question.sides)]
        for side in question.sides:
            missing_sentences = width - len(side.sentences)
            row += side.sentences
            row += [""] * missing_sentences
        unanswered = [""] * len(experts)
        rows.append([*row, *unanswered])
    return rows


def write_rating_survey(
    rows: Sequence[Sequence[str]], folder: Path, *, restrict: bool = False
) -> list[Path]:
    """Write the CSV of ratings to fill in, and the instructions.

    Args:
        rows: as `rating_rows` returns them.
        folder: in which the files are written.
        restrict: as of `write_survey`, whose result and errors are the same.
    """
    template = resource("survey", "anchor_instructions.txt")
    instructions = template.read_text(encoding="utf-8")
    contents = {"anchor_ratings.csv": sheet(rows), "instructions.txt": instructions}
    return _write_files(folder, contents, restrict=restrict)


def _write_files(
    folder: Path, contents: Mapping[str, str], *, restrict: bool
) -> list[Path]:
    # All are looked at before one is written: answers that experts have filled in must
    # not be lost, and a survey of which half is another one would be worse.
    for name, content in contents.items():
        path = folder / name
        if path.exists() and path.read_bytes() != content.encode("utf-8"):
            raise ConfigurationError(
                f"{path} exists with other content, perhaps filled in. Name another "
                "folder with --out, or move the file."
            )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700 if restrict else 0o777)
    for name, content in contents.items():
        if restrict:
            write_private(folder / name, content.encode("utf-8"))
        else:
            replace_text(folder / name, content)
    return [folder / name for name in contents]
