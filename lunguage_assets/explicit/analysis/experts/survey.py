"""A survey for human experts: phrase pairs, example sentences, files to fill in (explicit.md section 4).

The files contain masked sentences of the corpus; whoever writes them decides who may read them (`restrict`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from lunguage_assets.data_files import page_template, resource
from lunguage_assets.draws import mix, text_hash, text_hashes
from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.explicit.analysis.experts.experts import EXPERT_COLUMNS
from lunguage_assets.files import replace_text, sheet, write_private


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
        drawn = [
            _examples(p, other, sentences, examples, text_hash(seed, "examples", a, b))
            for p, other in ((first, second), (second, first))
        ]
        questions.append(Question(number, ((first, drawn[0]), (second, drawn[1]))))
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


def _examples(
    phrase: str, other: str, sentences: Mapping[str, Sequence[str]], count: int, key: int
) -> tuple[str, ...]:
    """The example sentences of a phrase with the smallest hashes.

    Sentences that also show the other phrase come last.
    """
    known = sentences[phrase]
    if not known:
        return ()
    shared = np.isin(np.array(known, dtype=object), np.array(sentences[other], dtype=object))
    order = np.lexsort((mix(key, text_hashes(known)), shared))
    return tuple(known[i] for i in order[:count].tolist())


def write_survey(survey: Survey, folder: Path, *, experts: int = 6, restrict: bool = False) -> list[Path]:
    """Write the survey's four files and return their paths.

    They are the CSV of pairs, the printable form, the CSV that describes the experts, and the instructions.

    Args:
        experts: empty columns for experts in the CSV.
        restrict: the sentences are patients' data: files (and a new folder) are readable by their owner only,
            and the form says so.

    Raises:
        ConfigurationError: the folder has one of these files with other content; nothing is written.
    """
    rows = [list(EXPERT_COLUMNS), *([f"expert_{number}", "", "", ""] for number in range(1, experts + 1))]
    contents = {
        "responses.csv": sheet(response_rows(survey, experts)),
        "survey.html": form(survey, restrict=restrict),
        "experts.csv": sheet(rows),
        "instructions.txt": resource("survey", "instructions.txt").read_text(encoding="utf-8"),
    }
    return write_survey_files(folder, contents, restrict=restrict)


def write_survey_files(folder: Path, contents: Mapping[str, str], *, restrict: bool) -> list[Path]:
    """Write files by name, readable by their owner only where they are restricted; return their paths.

    Raises:
        ConfigurationError: the folder has one of these files with other content; nothing is written.
    """
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


def response_rows(survey: Survey, experts: int) -> list[list[str]]:
    """Header and rows of the CSV to fill in.

    Columns: pair, both phrases, one per example sentence, one empty column per expert.
    """
    width = max((len(examples) for question in survey.questions for _, examples in question.sides), default=0)
    header = ["pair", "phrase_1", "phrase_2"]
    header += [f"example_{side}_{number}" for side in (1, 2) for number in range(1, width + 1)]
    header += [f"expert_{number}" for number in range(1, experts + 1)]
    rows = [header]
    for question in survey.questions:
        padded = [cell for _, shown in question.sides for cell in (*shown, *[""] * (width - len(shown)))]
        phrases = [phrase for phrase, _ in question.sides]
        rows.append([str(question.number), *phrases, *padded, *[""] * experts])
    return rows


def form(survey: Survey, *, restrict: bool = False) -> str:
    """The survey as one HTML page that needs nothing else: to fill in on screen, or to print."""
    template = page_template("survey", "form.html.j2")
    paragraphs = resource("survey", "instructions.txt").read_text(encoding="utf-8").strip().split("\n\n")
    return template.render(questions=survey.questions, instructions=paragraphs, restrict=restrict)
