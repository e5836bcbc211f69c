"""Surveys for people: phrase pairs for experts, and a form for the anchors' ratings (explicit.md sections 4
and 6).

The files contain masked sentences of the corpus; whoever writes them decides who may read them (`restrict`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from lunguage_assets.data_files import page_template, resource
from lunguage_assets.draws import mix, text_hash, text_hashes
from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.explicit.analysis.experts import EXPERT_COLUMNS
from lunguage_assets.explicit.fit.anchors import RATING_COLUMNS
from lunguage_assets.explicit.hedges.edited_csv import edited_rows
from lunguage_assets.files import replace_text, sheet, write_private

_RATED = ("number", "phrase", "sentence")


@dataclass(frozen=True)
class Question:
    """Two phrases in the order shown, each with its masked example sentences; `number` counts from 1."""

    number: int
    sides: tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]


@dataclass(frozen=True)
class Survey:
    """The questions of a survey.

    `available` counts the pairs that could be asked; `has_report_text` is true for sentences of the corpus,
    false for bundled ones.
    """

    questions: tuple[Question, ...]
    available: int
    has_report_text: bool


@dataclass(frozen=True)
class RatingQuestion:
    """One sentence to rate, of which raters do not see which phrase it stands for; `number` counts from 1."""

    number: int
    phrase: str
    sentence: str


def make_survey(
    vocabulary: pd.DataFrame, ranking: pd.DataFrame, *, pairs: int = 50, examples: int = 5, seed: int = 0
) -> Survey:
    """Choose pairs and sentences; the same inputs and seed always give the same survey.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame with the example sentences.
        ranking: `REFERENCE_RANKING` frame of the same vocabulary.
        pairs: number of pairs; all there are, if fewer.
        examples: sentences per phrase; fewer where a phrase has fewer distinct ones.

    See `spread_pairs` for the choice of pairs. Which phrase comes first, the order of the questions, and the
    sentences are hashed coins and draws; a sentence that is an example of both phrases is taken only where
    there are not enough others.

    Raises:
        MethodError: fewer than two ranked phrases, or a ranking of another vocabulary.
    """
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    if set(ranking["vocabulary_version"]) - set(vocabulary["vocabulary_version"]):
        raise MethodError(
            "the ranking belongs to another version of the hedge vocabulary. Run again with "
            "--rebuild-ranking, then make the survey."
        )
    sentences = {
        p: sorted(set(s))
        for p, s in zip(retained["phrase"].tolist(), retained["example_sentences"].tolist(), strict=True)
    }
    ranked = [phrase for phrase in ranking.sort_values("rank")["phrase"].tolist() if phrase in sentences]
    if len(ranked) < 2:
        remedy = 'Use a larger corpus, or ruler = "published".'
        raise MethodError(f"{len(ranked)} phrases are ranked; a survey needs two at least. {remedy}")
    chosen = spread_pairs(ranked, pairs, seed)
    chosen.sort(key=lambda pair: text_hash(seed, "order of questions", *pair))
    questions = []
    for number, (a, b) in enumerate(chosen, start=1):
        first, second = (b, a) if text_hash(seed, "shown first", a, b) >> 63 else (a, b)
        key = text_hash(seed, "examples", a, b)
        one, two = sentences[first], sentences[second]
        shown = (_drawn(one, key, examples, two), _drawn(two, key, examples, one))
        questions.append(Question(number, ((first, shown[0]), (second, shown[1]))))
    own = bool((retained["ruler"] == "own").any())
    return Survey(tuple(questions), len(ranked) * (len(ranked) - 1) // 2, own)


def spread_pairs(ranked: Sequence[str], pairs: int, seed: int) -> list[tuple[str, str]]:
    """Pairs that are spread over the ranking, each in alphabetical order.

    All pairs are sorted by the distance of their ranks and cut into as many equal strata as pairs are wanted;
    each stratum gives one, so that near and far pairs occur as often as among all pairs. Within a stratum the
    pair whose phrases were used least so far is taken, ties by hash: no phrase is asked about much more often
    than another. From far to near, because far pairs leave the least choice.
    """
    place = {phrase: i for i, phrase in enumerate(ranked)}
    every = [(a, b) for a, b in combinations(sorted(ranked), 2)]
    every.sort(key=lambda pair: (-abs(place[pair[0]] - place[pair[1]]), text_hash(seed, "pair", *pair)))
    wanted = min(pairs, len(every))
    used: Counter[str] = Counter()
    chosen = []
    for stratum in range(wanted):
        candidates = every[stratum * len(every) // wanted : (stratum + 1) * len(every) // wanted]
        pair = min(
            candidates, key=lambda pair: (max(used[pair[0]], used[pair[1]]), used[pair[0]] + used[pair[1]])
        )
        used.update(pair)
        chosen.append(pair)
    return chosen


def _drawn(known: Sequence[str], key: int, count: int, last: Sequence[str] = ()) -> tuple[str, ...]:
    """The sentences with the smallest hashes; those that are in `last` come last."""
    others = set(last)
    shared = np.array([sentence in others for sentence in known], dtype=bool)
    order = np.lexsort((mix(key, text_hashes(known)), shared))
    return tuple(known[i] for i in order[:count].tolist())


def write_survey(survey: Survey, folder: Path, *, experts: int = 6, restrict: bool = False) -> list[Path]:
    """Write the survey's four files and return their paths.

    They are the CSV of pairs (both phrases, one column per example sentence, one empty column per expert),
    the printable form, the CSV that describes the experts, and the instructions.

    Args:
        experts: empty columns for experts in the CSV.
        restrict: the sentences are patients' data: files (and a new folder) are readable by their owner only,
            and the form says so.

    Raises:
        ConfigurationError: the folder has one of these files with other content; nothing is written.
    """
    width = max((len(shown) for question in survey.questions for _, shown in question.sides), default=0)
    header = ["pair", "phrase_1", "phrase_2"]
    header += [f"example_{side}_{number}" for side in (1, 2) for number in range(1, width + 1)]
    columns = [f"expert_{number}" for number in range(1, experts + 1)]
    rows = [[*header, *columns]]
    for question in survey.questions:
        padded = [cell for _, shown in question.sides for cell in (*shown, *[""] * (width - len(shown)))]
        phrases = [phrase for phrase, _ in question.sides]
        rows.append([str(question.number), *phrases, *padded, *[""] * experts])
    described = [list(EXPERT_COLUMNS), *([name, "", "", ""] for name in columns)]
    instructions, page = _page("instructions.txt", "form.html.j2", survey.questions, restrict)
    contents = {
        "responses.csv": sheet(rows),
        "survey.html": page,
        "experts.csv": sheet(described),
        "instructions.txt": instructions,
    }
    return _write_files(folder, contents, restrict=restrict)


def make_rating_survey(
    vocabulary: pd.DataFrame, phrases: Sequence[str], *, examples: int = 10, seed: int = 0
) -> tuple[RatingQuestion, ...]:
    """Choose sentences to rate; the same inputs and seed always give the same form.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame with the example sentences.
        phrases: to be rated, two at least.
        examples: sentences per phrase; fewer where a phrase has fewer distinct ones.

    Raises:
        MethodError: fewer than two phrases, or one without a sentence in the vocabulary.
    """
    if len(set(phrases)) < 2:
        raise MethodError("fewer than two phrases to rate; the scale needs two at least. Name further ones.")
    known = dict(zip(vocabulary["phrase"].tolist(), vocabulary["example_sentences"].tolist(), strict=True))
    asked: list[tuple[str, str]] = []
    for phrase in dict.fromkeys(phrases):
        sentences = sorted(set(known.get(phrase, ())))
        if not sentences:
            raise MethodError(
                f"no sentence with the phrase {phrase!r} is in the vocabulary. Name another with --phrase."
            )
        drawn = _drawn(sentences, text_hash(seed, "to rate", phrase), examples)
        asked += [(phrase, sentence) for sentence in drawn]
    asked.sort(key=lambda one: text_hash(seed, "order of ratings", *one))
    return tuple(RatingQuestion(number, *one) for number, one in enumerate(asked, start=1))


def write_rating_survey(
    questions: Sequence[RatingQuestion], folder: Path, *, raters: int = 2, restrict: bool = False
) -> list[Path]:
    """Write the CSV to fill in, the printable form and the instructions; return their paths.

    Raises:
        ConfigurationError: the folder has one of these files with other content; nothing is written.
    """
    header = [*_RATED, *(f"rater_{number}" for number in range(1, raters + 1))]
    rows = [[str(one.number), one.phrase, one.sentence, *[""] * raters] for one in questions]
    instructions, page = _page("anchor_instructions.txt", "anchor_form.html.j2", questions, restrict)
    contents = {"ratings.csv": sheet([header, *rows]), "ratings.html": page, "instructions.txt": instructions}
    return _write_files(folder, contents, restrict=restrict)


def ratings_from_form(path: Path) -> tuple[str, int, int]:
    """The filled in CSV as the content of `anchor_ratings.csv`, with the numbers of raters and ratings.

    Every column but those of the question is a rater; one without any answer is left out. An empty cell is no
    answer.

    Raises:
        InputError: not a CSV of this form, an answer that is no number from 0 to 100, or no answer at all. No
            sentence is quoted.
    """
    rows = list(edited_rows(path, _RATED, "one value per column"))
    ratings = [
        [rater, row["phrase"], row["sentence"], _rating(path, number, rater, cell)]
        for rater in (rows[0][1] if rows else ())
        if rater not in _RATED
        for number, row in rows
        if (cell := row[rater].strip())
    ]
    if not ratings:
        raise InputError(path.name, "no rating", "at least one", "Fill in a column; nothing was imported.")
    heard = {rater for rater, *_ in ratings}
    return sheet([list(RATING_COLUMNS), *ratings]), len(heard), len(ratings)


def _rating(path: Path, number: int, rater: str, cell: str) -> str:
    try:
        value = float(cell.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 100.0:
        expected, remedy = "a number from 0 to 100, or nothing", "Fix the rating; nothing was imported."
        raise InputError(path.name, "no such number", expected, remedy, row=number, column=rater)
    return f"{value:g}"


def _page(text: str, template: str, questions: Sequence[object], restrict: bool) -> tuple[str, str]:
    """Instructions, and the HTML page that shows them above the questions and needs nothing else."""
    instructions = resource("survey", text).read_text(encoding="utf-8")
    page = page_template("survey", template).render(
        questions=questions, instructions=instructions.strip().split("\n\n"), restrict=restrict
    )
    return instructions, page


def _write_files(folder: Path, contents: Mapping[str, str], *, restrict: bool) -> list[Path]:
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
