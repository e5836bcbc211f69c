"""Human experts: surveys for them, their answers, and their agreement with the ranking, with judges' majority
votes and with each other (explicit.md section 4); sentences for raters of the anchors (section 6). An entry
that cannot be read refuses the file, by row and column, and is never quoted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.explicit.analysis.agreement import (
    MeasuredValue,
    agreement_frame,
    agreement_row,
    coefficient_rows,
    mean_of,
    pairwise_agreement,
)
from lunguage_assets.explicit.fit.anchors import RATING_COLUMNS
from lunguage_assets.explicit.hedges.hedging import normal_phrase
from lunguage_assets.files import replace_text, write_private
from lunguage_assets.packaged_data import page_template, resource
from lunguage_assets.randomness import mix, random_bits, text_hash, text_hashes
from lunguage_assets.spreadsheets import edited_rows, sheet
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

PHRASE_COLUMNS = ("phrase_1", "phrase_2")
EXPERT_COLUMNS = ("expert", "role", "occupation", "years_of_experience")
OCCUPATION = "occupation: "
"""How the group of an occupation begins."""
FEWEST = 2
"""Experts of a group that may be shown beside other groups: of one, it is a person's."""
_FEWEST_SINGLE = 3
"""Experts from which single ones are shown under numbers: of two, each would know the other's."""

Described = Mapping[str, tuple[str, str]]
"""Role (writer or reader of reports, or empty) and occupation, in lower case, of each expert by name."""

_NO_EXPERT = ("", "pair", "question", "comment", *PHRASE_COLUMNS)
_FIX = "Fix the entry, or delete the row; nothing was imported."


def load_responses(path: Path) -> pd.DataFrame:
    """Experts' choices: a line per pair (index phrase_1, phrase_2) and a column per expert, 1 or 2 for the
    phrase that was chosen, NaN without an answer. An entry is one of the two phrases, 1, 2 or empty; columns
    pair, question, comment, example... and those without a name are nobody's, so that the paper's file is
    read as it is. Raises `InputError` for no such CSV, a pair that is none or comes twice, or another entry.
    """
    rows = [
        (number, row)
        for number, row in edited_rows(path, PHRASE_COLUMNS)
        if any(cell.strip() for cell in row.values())
    ]
    columns = rows[0][1] if rows else ()
    names = [
        name
        for name in columns
        if name.strip() not in _NO_EXPERT and not name.startswith("example")
    ]
    if not names:
        expected = (
            "the columns phrase_1, phrase_2 and one per expert, and a row per pair"
        )
        remedy = "Fill in the file that `lunguage survey make` writes."
        raise InputError(
            path.name, "no expert's column" if rows else "no row", expected, remedy
        )
    chosen: dict[tuple[str, str], list[float]] = {}
    for number, row in rows:
        first, second = pair = (
            normal_phrase(row["phrase_1"]),
            normal_phrase(row["phrase_2"]),
        )
        if (
            not first
            or not second
            or first == second
            or pair in chosen
            or (second, first) in chosen
        ):
            expected = "two different phrases, each pair once"
            raise InputError(
                path.name, "another pair", expected, _FIX, row=number, column="phrase_1"
            )
        answers = {
            "": np.nan,
            "1": 1.0,
            "2": 2.0,
            "1.0": 1.0,
            "2.0": 2.0,
            first: 1.0,
            second: 2.0,
        }
        chosen[pair] = []
        for name in names:
            entry = normal_phrase(row[name])
            if entry not in answers:
                expected = "one of the row's two phrases, 1, 2 or nothing"
                raise InputError(
                    path.name, "something else", expected, _FIX, row=number, column=name
                )
            chosen[pair].append(answers[entry])
    pairs = pd.MultiIndex.from_tuples(list(chosen), names=PHRASE_COLUMNS)
    return pd.DataFrame(list(chosen.values()), pairs, names, dtype="float64")


def load_experts(path: Path | None) -> Described:
    """Who the experts are, from a CSV with the columns expert, role (`writer` of reports, `reader` or empty)
    and occupation; without a file nobody is described. Raises `InputError` for no such CSV, another role, or
    a row without a name or with that of an earlier row.
    """
    described: dict[str, tuple[str, str]] = {}
    if path is None or not path.exists():
        return described
    for number, row in edited_rows(path, EXPERT_COLUMNS[:3]):
        name, role = row["expert"].strip(), row["role"].strip().lower()
        if not any(cell.strip() for cell in row.values()):
            continue
        if not name or name in described:
            found = "the expert of an earlier row" if name else "no name"
            raise InputError(
                path.name, found, "every expert once", _FIX, row=number, column="expert"
            )
        if role not in ("writer", "reader", ""):
            expected = "writer, reader or nothing"
            raise InputError(
                path.name, "something else", expected, _FIX, row=number, column="role"
            )
        described[name] = role, " ".join(row["occupation"].lower().split())
    return described


def expert_agreement(
    responses: pd.DataFrame,
    experts: Described,
    ranker: str,
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    seed: int,
) -> pd.DataFrame:
    """Every agreement of the study as one row, an `EXPERT_AGREEMENT` frame: with the `REFERENCE_RANKING` (its
    choice has the higher mu), with each judge's `COMPARISON_MATCHES` (its choice has more valid wins, a coin
    hashed from the seed breaks ties), and with each other; of `load_responses` and `load_experts`.

    A share has Wilson's interval over pairs. Kappa takes the pairs that every expert of the group answered.
    In the coding `position` first and second are phrase_1 and phrase_2, as the survey showed them.
    """
    heard = responses.dropna(axis="columns", how="all")
    pairs: list[tuple[str, str]] = heard.index.tolist()
    first, second = (
        pd.Series([pair[side] for pair in pairs], heard.index) for side in (0, 1)
    )
    groups: dict[str, list[str]] = {"all": heard.columns.tolist()}
    chosen = {
        name: first.where(heard[name] == 1, second.where(heard[name] == 2))
        for name in groups["all"]
    }
    phrases = pd.DataFrame(chosen, heard.index)
    for name in groups["all"]:
        role, occupation = experts.get(name, ("", ""))
        for group in (role, occupation and f"{OCCUPATION}{occupation}"):
            if group:
                groups.setdefault(group, []).append(name)
    places = dict(zip(ranking["phrase"].tolist(), ranking["mu"].tolist(), strict=True))
    references = [("with ranking", ranker, [_surer(pair, places) for pair in pairs])]
    for judge in sorted(matches):
        winners = _majorities(judge, matches[judge], seed)
        references.append(
            ("with judge", judge, [winners.get(frozenset(pair)) for pair in pairs])
        )
    rows: list[dict[str, Any]] = []
    for measure, name, choice in references:
        beside = pd.Series(choice, heard.index, dtype=object)
        shares = {
            expert: pairwise_agreement(phrases[expert], beside) for expert in chosen
        }
        for expert, share in shares.items():
            rows.append(
                agreement_row(measure, share, first=expert, second=name, group="all")
            )
        for group, members in groups.items():
            mean = mean_of(shares[expert].value for expert in members)
            mean = MeasuredValue(
                mean.value, sum(shares[expert].n for expert in members)
            )
            rows.append(agreement_row(measure, mean, second=name, group=group))
    for group, members in groups.items():
        if group == "all" or len(members) > 1:
            rows += _among(heard[members], phrases[members], group)
    return agreement_frame(
        EXPERT_AGREEMENT,
        [{**row, "experts": len(groups[row["group"]])} for row in rows],
    )


def numbered_experts(agreement: pd.DataFrame) -> pd.DataFrame:
    """Say what single experts agree on without their names, roles and occupations.

    Args:
        agreement: an `EXPERT_AGREEMENT` frame.

    Returns:
        Its rows of single experts (measure, first, second, value), with a number for each name: 1 agrees most
        often with the ranking. The order of the survey's columns is not told. No rows for fewer than three
        experts.
    """
    single = agreement[(agreement["group"] == "all") & (agreement["first"] != "")]
    with_ranking = single[single["measure"] == "with ranking"]
    by_agreement = with_ranking.sort_values(
        ["value", "first"], ascending=[False, True]
    )["first"].tolist()
    columns = ["measure", "first", "second", "value"]
    if len(by_agreement) < _FEWEST_SINGLE:
        return single.loc[[], columns]
    width = len(str(len(by_agreement)))
    numbers = {
        name: f"expert {place:0{width}d}" for place, name in enumerate(by_agreement, 1)
    }
    of_experts = single["measure"] == "with expert"
    numbered = single.assign(
        first=single["first"].map(numbers),
        second=single["second"].where(~of_experts, single["second"].map(numbers)),
    )
    return numbered[columns].reset_index(drop=True)


def _surer(pair: tuple[str, str], places: Mapping[str, float]) -> str | None:
    """The phrase of a pair that is ranked higher; None where one is not ranked, or both at one place."""
    first, second = (places.get(phrase, np.nan) for phrase in pair)
    return pair[0] if first > second else pair[1] if second > first else None


def _majorities(
    judge: str, frame: pd.DataFrame, seed: int
) -> dict[frozenset[str], str]:
    """Pair of phrases -> the one with more valid wins over the repetitions."""
    valid = frame.dropna(subset="winner")
    votes = (valid["winner"] == valid["phrase_a"]).astype("int64") * 2 - 1
    lead = votes.groupby([valid["phrase_a"], valid["phrase_b"]], sort=True).sum()
    a, b = (lead.index.get_level_values(side) for side in (0, 1))
    tie = random_bits(
        mix(text_hash(seed, "majority", judge), text_hashes(a), text_hashes(b))
    )
    winner = np.where((lead < 0) | ((lead == 0) & tie), b, a)
    return {
        frozenset(pair): str(phrase)
        for pair, phrase in zip(lead.index, winner, strict=True)
    }


def _among(
    positions: pd.DataFrame, phrases: pd.DataFrame, group: str
) -> list[dict[str, Any]]:
    """Agreement of the experts of a group with each other; single pairs once, for the group of all."""
    rows, shares = [], []
    for one, other in combinations(sorted(phrases.columns.tolist()), 2):
        share = pairwise_agreement(phrases[one], phrases[other])
        shares.append(share.value)
        if group == "all":
            rows.append(
                agreement_row(
                    "with expert", share, first=one, second=other, group=group
                )
            )
    rows.append(agreement_row("with expert", mean_of(shares), group=group))
    return rows + coefficient_rows(positions, phrases, group=group)


class PairQuestion(NamedTuple):
    """Two phrases in the order shown, each with its masked example sentences; `number` counts from 1."""

    number: int
    sides: tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]


def make_survey(
    vocabulary: pd.DataFrame,
    ranking: pd.DataFrame,
    *,
    pairs: int = 50,
    examples: int = 5,
    seed: int = 0,
) -> list[PairQuestion]:
    """Choose at most so many pairs (`spread_pairs`), and example sentences per phrase, of a
    `HEDGE_VOCABULARY` frame and the `REFERENCE_RANKING` of the same vocabulary; all that is drawn is hashed
    from the seed. Raises `MethodError` for fewer than two ranked phrases, or a ranking of another vocabulary.
    """
    if set(ranking["vocabulary_version"]) - set(vocabulary["vocabulary_version"]):
        raise MethodError(
            "the ranking belongs to another version of the hedge vocabulary. Run again with "
            "--rebuild-ranking, then make the survey."
        )
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    sentences = retained.set_index("phrase")["example_sentences"].to_dict()
    ranked = [
        phrase
        for phrase in ranking.sort_values("rank")["phrase"]
        if phrase in sentences
    ]
    if len(ranked) < 2:
        remedy = 'Use a larger corpus, or ruler = "published".'
        raise MethodError(
            f"{len(ranked)} phrases are ranked; a survey needs two at least. {remedy}"
        )
    chosen = spread_pairs(ranked, pairs, seed)
    chosen.sort(key=lambda pair: text_hash(seed, "order of questions", *pair))
    questions = []
    for number, (a, b) in enumerate(chosen, start=1):
        first, second = (b, a) if text_hash(seed, "shown first", a, b) >> 63 else (a, b)
        key = text_hash(seed, "examples", a, b)
        shown = [
            (phrase, _drawn(sentences[phrase], key, examples))
            for phrase in (first, second)
        ]
        questions.append(PairQuestion(number, (shown[0], shown[1])))
    return questions


def spread_pairs(ranked: Sequence[str], pairs: int, seed: int) -> list[tuple[str, str]]:
    """Pairs that are spread over the ranking: all are sorted by the distance of their ranks and cut into as
    many strata as pairs are wanted; each gives the one whose phrases were used least so far, ties by hash.
    """
    place = {phrase: i for i, phrase in enumerate(ranked)}
    every = list(combinations(sorted(ranked), 2))
    every.sort(
        key=lambda pair: (
            -abs(place[pair[0]] - place[pair[1]]),
            text_hash(seed, "pair", *pair),
        )
    )
    wanted = min(pairs, len(every))
    used: Counter[str] = Counter()
    chosen = []
    for stratum in range(wanted):
        candidates = every[
            stratum * len(every) // wanted : (stratum + 1) * len(every) // wanted
        ]
        pair = min(
            candidates,
            key=lambda pair: sorted((used[phrase] for phrase in pair), reverse=True),
        )
        used.update(pair)
        chosen.append(pair)
    return chosen


def rating_rows(
    vocabulary: pd.DataFrame,
    phrases: Sequence[str],
    *,
    examples: int = 10,
    raters: int = 2,
    seed: int = 0,
) -> list[list[str]]:
    """Rows of `anchor_ratings.csv` to fill in, with the header: every rater gets the same sentences, at most
    `examples` per phrase, in one order hashed from the seed. Raises `MethodError` for fewer than two phrases,
    or one without a sentence in the `HEDGE_VOCABULARY` frame.
    """
    if len(set(phrases)) < 2:
        raise MethodError(
            "fewer than two phrases to rate; the scale needs two at least. Name further ones."
        )
    known = vocabulary.set_index("phrase")["example_sentences"].to_dict()
    asked: list[tuple[str, str]] = []
    for phrase in dict.fromkeys(phrases):
        drawn = _drawn(
            known.get(phrase, ()), text_hash(seed, "to rate", phrase), examples
        )
        if not drawn:
            raise MethodError(
                f"no sentence with the phrase {phrase!r} is in the vocabulary. Name another with --phrase."
            )
        asked += [(phrase, sentence) for sentence in drawn]
    asked.sort(key=lambda one: text_hash(seed, "order of ratings", *one))
    rows = [
        [f"rater_{number}", *one, ""]
        for number in range(1, raters + 1)
        for one in asked
    ]
    return [[*RATING_COLUMNS], *rows]


def _drawn(sentences: Sequence[str], key: int, count: int) -> tuple[str, ...]:
    """The distinct sentences with the smallest hashes."""
    known = sorted(set(sentences))
    order = np.argsort(mix(key, text_hashes(known)), kind="stable")
    return tuple(known[i] for i in order[:count].tolist())


def write_survey(
    questions: Sequence[PairQuestion],
    folder: Path,
    *,
    experts: int = 6,
    restrict: bool = False,
) -> list[Path]:
    """Write the CSV of pairs (phrases, a column per example sentence, an empty column per expert), the
    printable form, the CSV that describes the experts, and the instructions; return their paths. With
    `restrict` the sentences are patients' data: files (and a new folder) are readable by their owner only,
    and the form says so. Raises `ConfigurationError` where the folder has one of these files with other
    content.
    """
    names, width = [f"expert_{number}" for number in range(1, experts + 1)], 0
    for question in questions:
        width = max(width, *(len(shown) for _, shown in question.sides))
    examples = [
        f"example_{side}_{number}" for side in (1, 2) for number in range(1, width + 1)
    ]
    rows = [["pair", "phrase_1", "phrase_2", *examples, *names]]
    for question in questions:
        row = [str(question.number), *(phrase for phrase, _ in question.sides)]
        for _, shown in question.sides:
            row += [*shown, *[""] * (width - len(shown))]
        rows.append([*row, *[""] * experts])
    described = [list(EXPERT_COLUMNS), *([name, "", "", ""] for name in names)]
    instructions = resource("survey", "instructions.txt").read_text(encoding="utf-8")
    page = page_template("survey", "form.html.j2").render(
        questions=questions,
        instructions=instructions.strip().split("\n\n"),
        restrict=restrict,
    )
    contents = {
        "responses.csv": sheet(rows),
        "survey.html": page,
        "experts.csv": sheet(described),
        "instructions.txt": instructions,
    }
    return _write_files(folder, contents, restrict)


def write_rating_survey(
    rows: Sequence[Sequence[str]], folder: Path, *, restrict: bool = False
) -> list[Path]:
    """Write the CSV to fill in and the instructions; arguments, result and errors as `write_survey`."""
    instructions = resource("survey", "anchor_instructions.txt").read_text(
        encoding="utf-8"
    )
    contents = {"anchor_ratings.csv": sheet(rows), "instructions.txt": instructions}
    return _write_files(folder, contents, restrict)


def _write_files(
    folder: Path, contents: Mapping[str, str], restrict: bool
) -> list[Path]:
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
