"""The survey: pairs spread over the ranking, sentences that show them, files to fill in, and the way back."""

from __future__ import annotations

import csv
import os
import stat
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from tentative_findings import own_vocabulary

from lunguage_assets.cli.main import commands
from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.explicit.analysis.experts import load_experts, load_responses
from lunguage_assets.explicit.analysis.surveys import (
    Question,
    Survey,
    make_rating_survey,
    make_survey,
    ratings_from_form,
    spread_pairs,
    write_rating_survey,
    write_survey,
)
from lunguage_assets.explicit.fit.anchors import chosen_anchors
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.home.home import Corpus, Home
from lunguage_assets.home.store import partition_path, write_table
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES, HEDGE_VOCABULARY, REFERENCE_RANKING

PUBLISHED = hedge_vocabulary(HEDGE_PHRASES.frame(), ExplicitSettings())
RULER = reference_ranking(PUBLISHED, {"lexicon": pd.DataFrame()}, ExplicitSettings())
WORDS = [f"word{i:02d}" for i in range(42)]


def own(vocabulary: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A vocabulary of this corpus, and the published places given to its phrases."""
    ranking = RULER.head(len(vocabulary)).assign(
        phrase=vocabulary["phrase"].tolist(), ruler="own", vocabulary_version="v"
    )
    return vocabulary, ranking


def test_pairs_are_near_and_far_as_among_all_pairs_and_phrases_evenly_used() -> None:
    chosen = spread_pairs(WORDS, 50, seed=0)
    distances = sorted(abs(WORDS.index(a) - WORDS.index(b)) for a, b in chosen)
    every = sorted(abs(i - j) for i in range(42) for j in range(i))
    assert len(set(chosen)) == 50
    for part in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert abs(distances[int(part * 50)] - every[int(part * len(every))]) <= 1
    used = Counter(phrase for pair in chosen for phrase in pair)
    assert set(used) == set(WORDS)
    assert max(used.values()) <= 4


def test_a_survey_is_the_same_every_time_and_another_with_another_seed() -> None:
    first, again, other = (
        make_survey(PUBLISHED.sample(frac=1, random_state=i), RULER, seed=seed)
        for i, seed in ((1, 0), (2, 0), (3, 1))
    )
    assert first == again
    assert first != other
    assert len(first.questions) == 50
    assert first.available == 861


def test_a_sentence_that_shows_both_phrases_comes_last() -> None:
    shared = "Possible and likely <finding>."
    vocabulary, ranking = own(
        own_vocabulary({"likely": [shared, "Likely <finding>."], "possible": [shared, "Possible <finding>."]})
    )
    for seed in range(10):
        (question,) = make_survey(vocabulary, ranking, pairs=5, examples=1, seed=seed).questions
        assert all(shown != (shared,) for _, shown in question.sides)
        (question,) = make_survey(vocabulary, ranking, pairs=5, examples=5, seed=seed).questions
        assert all(len(shown) == 2 and shown[1] == shared for _, shown in question.sides)


def test_fewer_than_two_phrases_or_another_vocabulary_make_no_survey() -> None:
    with pytest.raises(MethodError, match="1 phrases"):
        make_survey(*own(own_vocabulary({"likely": ["<finding>"]})))
    with pytest.raises(MethodError, match="another version"):
        make_survey(PUBLISHED, RULER.assign(vocabulary_version="older"))


def form(survey: Survey, folder: Path) -> str:
    """The printable page of a survey."""
    return write_survey(survey, folder / "form")[1].read_text(encoding="utf-8")


class _Form(HTMLParser):
    """What a screen reader meets: ids, what labels point to, groups of choices, references to anything
    outside.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.labelled: list[str] = []
        self.radios: Counter[str] = Counter()
        self.tags: Counter[str] = Counter()
        self.outside: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags[tag] += 1
        self.ids += [values["id"]] if values.get("id") else []
        self.labelled += [values["for"]] if values.get("for") else []
        self.radios.update([values["name"]] if values.get("type") == "radio" else [])
        self.outside += [values[name] for name in ("src", "href", "action") if values.get(name)]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_form_needs_nothing_else_labels_every_choice_and_escapes_the_mask(tmp_path: Path) -> None:
    page = form(make_survey(PUBLISHED, RULER, pairs=10), tmp_path)
    read = _Form()
    read.feed(page)
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert (read.tags["script"], read.outside) == (0, [])
    assert (read.tags["fieldset"], read.tags["legend"], read.tags["li"]) == (10, 10, 100)
    assert read.radios == Counter({f"pair-{number}": 2 for number in range(1, 11)})
    assert len(read.ids) == len(set(read.ids))
    assert sorted(read.labelled) == sorted(name for name in read.ids if name != "title")
    assert "finding" not in read.tags
    assert read.text.count("<finding>") >= 100
    assert "@media print" in page


def test_text_from_reports_cannot_become_markup(tmp_path: Path) -> None:
    vocabulary, ranking = own(
        own_vocabulary({"likely": ["<script>alert(1)</script> <finding>"], "or": ["a & b <finding>"]})
    )
    read = _Form()
    read.feed(form(make_survey(vocabulary, ranking), tmp_path))
    assert read.tags["script"] == 0
    assert "<script>alert(1)</script> <finding>" in read.text


def test_phrases_and_sentences_that_a_spreadsheet_would_run_are_escaped_and_read_back(tmp_path: Path) -> None:
    question = Question(1, (("=likely", ("@sum: <finding>.",)), ("-may be", ("+1 <finding>.",))))
    write_survey(Survey((question,), 1, False), tmp_path, experts=1)
    header, asked = (tmp_path / "responses.csv").read_text(encoding="utf-8").splitlines()
    assert asked == "1,'=likely,'-may be,'@sum: <finding>.,'+1 <finding>.,"
    (tmp_path / "responses.csv").write_text(f"{header}\n{asked}'-may be\n", encoding="utf-8")
    heard = load_responses(tmp_path / "responses.csv")
    assert (heard.phrase_1, heard.phrase_2, heard.chosen.tolist()) == (("=likely",), ("-may be",), [[1]])


def test_the_csv_has_a_column_per_sentence_and_expert_and_is_read_back(
    tmp_path: Path,
) -> None:
    survey = make_survey(PUBLISHED, RULER, pairs=4, examples=3)
    responses, page, experts, instructions = write_survey(survey, tmp_path / "study", experts=2)
    rows = list(csv.reader(responses.open(encoding="utf-8", newline="")))
    assert rows[0] == [
        "pair",
        "phrase_1",
        "phrase_2",
        *(f"example_{side}_{n}" for side in (1, 2) for n in (1, 2, 3)),
        "expert_1",
        "expert_2",
    ]
    assert [tuple(row[1:3]) for row in rows[1:]] == [
        tuple(phrase for phrase, _ in q.sides) for q in survey.questions
    ]
    assert all(row[9:] == ["", ""] for row in rows[1:])
    for row, first, second in zip(
        rows[1:], ("1", "2", "", "1"), (rows[1][2], "2", rows[3][1].upper(), ""), strict=True
    ):
        row[9:] = [first, second]
    csv.writer(responses.open("w", encoding="utf-8", newline="")).writerows(rows)
    assert load_responses(responses).chosen.tolist() == [[0, 1], [1, 1], [-1, 0], [0, -1]]
    assert load_experts(experts).keys() == {"expert_1", "expert_2"}
    with pytest.raises(ConfigurationError, match="filled in"):
        write_survey(survey, tmp_path / "study", experts=2)
    assert load_responses(responses).chosen.tolist() == [[0, 1], [1, 1], [-1, 0], [0, -1]]
    assert page.name == "survey.html"
    assert "<finding>" in instructions.read_text(encoding="utf-8")


def home(folder: Path, data_class: str, vocabulary: pd.DataFrame, ranking: pd.DataFrame) -> Home:
    place = Home(folder)
    place.claim(Corpus("invented", data_class))  # type: ignore[arg-type]
    write_table(
        HEDGE_VOCABULARY,
        vocabulary,
        partition_path(place.tables, "hedge_vocabulary", load_judges().extractor),
    )
    write_table(REFERENCE_RANKING, ranking, partition_path(place.tables, "reference_ranking", "panel"))
    return place


def lunguage(*arguments: object) -> str:
    """What the command prints; its error is raised as it is."""
    result = CliRunner().invoke(
        commands, [str(argument) for argument in arguments], catch_exceptions=False, standalone_mode=False
    )
    if result.exception is not None:
        raise result.exception
    return result.output


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("data_class", "ruler", "restricted"),
    [("credentialed", "own", True), ("credentialed", "published", False), ("synthetic", "own", False)],
)
def test_patients_sentences_are_announced_and_readable_by_their_owner_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_class: str, ruler: str, restricted: bool
) -> None:
    monkeypatch.setenv("LUNGUAGE_HOME", str(tmp_path))
    before = os.umask(0o022)  # as it is before a command closes its files
    vocabulary, ranking = (
        (PUBLISHED, RULER)
        if ruler == "published"
        else own(own_vocabulary({w: [f"{w} <finding>."] for w in WORDS[:5]}))
    )
    place = home(tmp_path / "home", data_class, vocabulary, ranking)
    said = lunguage("survey", "make", "--home", place.root, "--pairs", 3, "--out", tmp_path / "out")
    assert "3 of " in said
    assert ("patients' reports" in said) is restricted
    os.umask(before)
    assert (modes(tmp_path / "out") == {0o600}) is restricted
    assert (
        "patients' reports" in (tmp_path / "out" / "survey.html").read_text(encoding="utf-8")
    ) is restricted


def test_import_puts_the_answers_into_the_home_and_says_who_is_not_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUNGUAGE_HOME", str(tmp_path))
    place = home(tmp_path / "home", "credentialed", PUBLISHED, RULER)
    filled = tmp_path / "filled.csv"
    filled.write_text(
        "phrase_1,phrase_2,ann,bob,cyd\nlikely,may,1,,\nmade up,may,1,2,\n",
        encoding="utf-8",
    )
    described = tmp_path / "who.csv"
    described.write_text("expert,role,occupation\nann,writer,\neve,reader,\n", encoding="utf-8")
    said = lunguage(
        "survey", "import", "--home", place.root, "--responses", filled, "--experts", described
    ).splitlines()
    assert said[0] == "2 experts, 2 phrase pairs, 3 answers, 1 without an answer"
    assert "no answer in column: cyd" in said
    assert "not described as writer or reader: bob" in said
    assert "described, but no answers: eve" in said
    assert [line for line in said if "lacks: 1, in 1 of the pairs" in line]
    assert place.expert_responses.read_bytes() == filled.read_bytes()
    assert load_experts(place.expert_descriptions)["ann"].role == "writer"
    assert stat.S_IMODE(place.expert_responses.stat().st_mode) == 0o600


def test_an_import_without_any_answer_is_refused_and_keeps_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUNGUAGE_HOME", str(tmp_path))
    place = home(tmp_path / "home", "synthetic", PUBLISHED, RULER)
    place.expert_responses.write_text("earlier", encoding="utf-8")
    empty = tmp_path / "empty.csv"
    empty.write_text("phrase_1,phrase_2,ann\nlikely,may,\n", encoding="utf-8")
    with pytest.raises(InputError, match="nothing was imported"):
        lunguage("survey", "import", "--home", place.root, "--responses", empty)
    assert place.expert_responses.read_text(encoding="utf-8") == "earlier"


ENDS = ["less likely", "most likely"]


def filled(path: Path, **said: str) -> Path:
    """The form with columns of raters in place of the empty ones, each an answer to every sentence."""
    rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
    kept = [{name: row[name] for name in ("number", "phrase", "sentence")} | said for row in rows]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(kept[0]))
        writer.writeheader()
        writer.writerows(kept)
    return path


def test_sentences_of_all_phrases_are_mixed_and_the_same_every_time() -> None:
    first = make_rating_survey(PUBLISHED, ENDS, examples=3)
    assert first == make_rating_survey(PUBLISHED.sample(frac=1, random_state=1), ENDS, examples=3)
    assert sorted(one.phrase for one in first) == [*["less likely"] * 3, *["most likely"] * 3]
    assert [one.number for one in first] == [1, 2, 3, 4, 5, 6]
    assert first != make_rating_survey(PUBLISHED, ENDS, examples=3, seed=1)
    with pytest.raises(MethodError, match="two at least"):
        make_rating_survey(PUBLISHED, ["likely"])
    with pytest.raises(MethodError, match="no sentence with the phrase 'unheard of'"):
        make_rating_survey(PUBLISHED, ["likely", "unheard of"])


def test_the_page_loads_nothing_and_text_from_reports_cannot_become_markup(tmp_path: Path) -> None:
    vocabulary = own_vocabulary({"likely": ["<script>x</script> <finding>"], "or": ["a & b <finding>"]})
    survey = make_rating_survey(vocabulary, ["likely", "or"])
    paths = write_rating_survey(survey, tmp_path / "form", restrict=True)
    page = paths[1].read_text(encoding="utf-8")
    assert "<script" not in page
    assert "src=" not in page
    assert "&lt;finding&gt;" in page
    assert "patients' reports" in page
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    filled(paths[0], ann="40")
    with pytest.raises(ConfigurationError, match="filled in"):
        write_rating_survey(survey, tmp_path / "form", restrict=True)


def test_columns_of_raters_become_ratings_and_an_empty_cell_is_no_answer(tmp_path: Path) -> None:
    paths = write_rating_survey(make_rating_survey(PUBLISHED, ENDS, examples=2), tmp_path)
    content, raters, count = ratings_from_form(filled(paths[0], ann="40", bob="60 %", cyd=""))
    rows = list(csv.reader(content.splitlines()))
    assert rows[0] == ["rater", "phrase", "sentence", "rating"]
    assert (raters, count, len(rows)) == (2, 8, 9)
    assert {(row[0], row[3]) for row in rows[1:]} == {("ann", "40"), ("bob", "60")}
    with pytest.raises(InputError, match=r"row 1, column 'ann'.*0 to 100"):
        ratings_from_form(filled(paths[0], ann="surely"))
    with pytest.raises(InputError, match="nothing was imported"):
        ratings_from_form(filled(paths[0], ann=""))


def rated(path: Path, lowest: str, highest: str) -> Path:
    """Two invented raters who differ by ten points."""
    frame = pd.read_csv(path, dtype=str)
    low = frame["phrase"] == "less likely"
    frame["rater_1"] = low.map({True: lowest, False: highest})
    frame["rater_2"] = low.map({True: str(int(lowest) + 10), False: str(int(highest) - 10)})
    frame.to_csv(path, index=False)
    return path


def test_from_the_form_to_the_anchors_of_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUNGUAGE_HOME", str(tmp_path / "home"))
    place = home(tmp_path / "home", "synthetic", PUBLISHED, RULER)
    out = tmp_path / "form"
    assert "20 sentences of 2 phrases" in lunguage("survey", "make-ratings", "--out", out)
    said = lunguage("survey", "import-ratings", "--ratings", rated(out / "ratings.csv", "10", "90"))
    assert "2 raters, 40 ratings of 2 phrases" in said
    chosen = chosen_anchors("", place.anchor_ratings, place.root)
    assert [one.probability for one in chosen.anchors] == pytest.approx([0.15, 0.85])
    assert chosen.spread.df == 2.0
    assert chosen.spread.sd > 0.0
    assert stat.S_IMODE(place.anchor_ratings.stat().st_mode) == 0o600
