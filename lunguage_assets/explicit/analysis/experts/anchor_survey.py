"""A form for the anchors' ratings: sentences with a phrase, a probability from every rater (explicit.md
sections 4 and 6).

Raters see the sentence, not which phrase it stands for; the files contain masked sentences of the corpus.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from lunguage_assets.data_files import page_template, resource
from lunguage_assets.draws import mix, text_hash, text_hashes
from lunguage_assets.errors import InputError, MethodError
from lunguage_assets.explicit.analysis.experts.survey import write_survey_files
from lunguage_assets.explicit.fit.readers import RATING_COLUMNS
from lunguage_assets.explicit.hedges.edited_csv import edited_rows
from lunguage_assets.files import sheet

_QUESTION_COLUMNS = ("number", "phrase", "sentence")


@dataclass(frozen=True)
class RatingQuestion:
    """One sentence to rate; `number` counts from 1."""

    number: int
    phrase: str
    sentence: str


@dataclass(frozen=True)
class RatingSurvey:
    """The sentences in the order shown; `has_report_text` is true for sentences of the corpus."""

    questions: tuple[RatingQuestion, ...]
    has_report_text: bool


def make_rating_survey(
    vocabulary: pd.DataFrame, phrases: Sequence[str], *, examples: int = 10, seed: int = 0
) -> RatingSurvey:
    """Choose sentences; the same inputs and seed always give the same form.

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
        order = np.argsort(mix(text_hash(seed, "to rate", phrase), text_hashes(sentences)), kind="stable")
        asked += [(phrase, sentences[i]) for i in order[:examples].tolist()]
    asked.sort(key=lambda one: text_hash(seed, "order of ratings", *one))
    questions = tuple(RatingQuestion(number, *one) for number, one in enumerate(asked, start=1))
    return RatingSurvey(questions, bool((vocabulary["ruler"] == "own").any()))


def write_rating_survey(
    survey: RatingSurvey, folder: Path, *, raters: int = 2, restrict: bool = False
) -> list[Path]:
    """Write the CSV to fill in, the printable form and the instructions; return their paths.

    Raises:
        ConfigurationError: the folder has one of these files with other content; nothing is written.
    """
    instructions = resource("survey", "anchor_instructions.txt").read_text(encoding="utf-8")
    header = [*_QUESTION_COLUMNS, *(f"rater_{number}" for number in range(1, raters + 1))]
    rows = [[str(one.number), one.phrase, one.sentence, *[""] * raters] for one in survey.questions]
    page = page_template("survey", "anchor_form.html.j2").render(
        questions=survey.questions, instructions=instructions.strip().split("\n\n"), restrict=restrict
    )
    contents = {
        "ratings.csv": sheet([header, *rows]),
        "ratings.html": page,
        "instructions.txt": instructions,
    }
    return write_survey_files(folder, contents, restrict=restrict)


def ratings_from_form(path: Path) -> tuple[str, int, int]:
    """The filled in CSV as the content of `anchor_ratings.csv`, with the numbers of raters and ratings.

    Every column but those of the question is a rater; one without any answer is left out. An empty cell is no
    answer.

    Raises:
        InputError: not a CSV of this form, an answer that is no number from 0 to 100, or no answer at all. No
            sentence is quoted.
    """
    rows = list(edited_rows(path, _QUESTION_COLUMNS, "one value per column"))
    ratings = [
        [rater, row["phrase"], row["sentence"], _answer(path, number, rater, cell)]
        for rater in (rows[0][1] if rows else ())
        if rater not in _QUESTION_COLUMNS
        for number, row in rows
        if (cell := row[rater].strip())
    ]
    if not ratings:
        raise InputError(path.name, "no rating", "at least one", "Fill in a column; nothing was imported.")
    heard = {rater for rater, *_ in ratings}
    return sheet([list(RATING_COLUMNS), *ratings]), len(heard), len(ratings)


def _answer(path: Path, number: int, rater: str, cell: str) -> str:
    try:
        value = float(cell.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 100.0:
        expected, remedy = "a number from 0 to 100, or nothing", "Fix the rating; nothing was imported."
        raise InputError(path.name, "no such number", expected, remedy, row=number, column=rater)
    return f"{value:g}"
