"""The survey: pairs spread over the ranking, sentences that show them, files to fill
in, and the way back.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from stored_tables import store_table
from tentative_findings import own_vocabulary

from lunguage_assets.cli.main import commands
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.explicit.analysis.experts import (
    load_experts,
    load_responses,
)
from lunguage_assets.explicit.analysis.surveys import (
    PairQuestion,
    Side,
    make_survey,
    rating_rows,
    spread_pairs,
    write_survey,
)
from lunguage_assets.explicit.fit.anchors import chosen_anchors
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.settings import DataClass, ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES, HEDGE_VOCABULARY, REFERENCE_RANKING
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path

PUBLISHED = hedge_vocabulary(HEDGE_PHRASES.frame(), ExplicitSettings())
RULER = reference_ranking(PUBLISHED, {"lexicon": pd.DataFrame()}, ExplicitSettings())
WORDS = [f"word{i:02d}" for i in range(42)]


def own(vocabulary: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A vocabulary of this corpus, and the published places given to its phrases."""
    ranking = RULER.head(len(vocabulary)).assign(
        phrase=vocabulary["phrase"].tolist(), ruler="own", vocabulary_version="v"
    )
    return vocabulary, ranking


def test_pairs_are_as_far_as_among_all_and_phrases_evenly_used() -> None:
    chosen = spread_pairs(WORDS, 50, seed=0)
    distances = sorted(abs(WORDS.index(a) - WORDS.index(b)) for a, b in chosen)
    every = sorted(abs(i - j) for i in range(42) for j in range(i))
    assert len(set(chosen)) == 50
    for quantile in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert (
            abs(distances[int(quantile * 50)] - every[int(quantile * len(every))]) <= 1
        )
    used = Counter(phrase for pair in chosen for phrase in pair)
    assert set(used) == set(WORDS)
    assert max(used.values()) <= 4


def test_a_survey_is_the_same_every_time_and_another_with_another_seed() -> None:
    first, again, other_seed = (
        make_survey(PUBLISHED.sample(frac=1, random_state=i), RULER, seed=seed)
        for i, seed in ((1, 0), (2, 0), (3, 1))
    )
    assert first == again
    assert first != other_seed
    assert len(first) == 50


def test_fewer_than_two_phrases_or_another_vocabulary_make_no_survey() -> None:
    with pytest.raises(MethodError, match="1 phrases"):
        make_survey(*own(own_vocabulary({"likely": ["<finding>"]})))
    with pytest.raises(MethodError, match="another version"):
        make_survey(PUBLISHED, RULER.assign(vocabulary_version="older"))


def form(survey: list[PairQuestion], folder: Path) -> str:
    """The printable page of a survey."""
    return write_survey(survey, folder / "form")[1].read_text(encoding="utf-8")


class _Form(HTMLParser):
    """What a screen reader meets: tags, ids, what labels point to, references to
    anything outside.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.found: dict[str, list[str]] = {
            name: [] for name in ("id", "for", "name", "src", "href", "action")
        }
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            self.found.get(name, []).append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_form_needs_nothing_else_labels_every_choice_and_escapes_the_mask(
    tmp_path: Path,
) -> None:
    parsed_form = _Form(form(make_survey(PUBLISHED, RULER, pairs=10), tmp_path))
    ids = parsed_form.found["id"]
    outside = [parsed_form.found[name] for name in ("src", "href", "action")]
    assert (parsed_form.tags["script"], outside) == (0, [[], [], []])
    assert (
        parsed_form.tags["fieldset"],
        parsed_form.tags["legend"],
        parsed_form.tags["li"],
    ) == (
        10,
        10,
        100,
    )
    choices = Counter(
        name for name in parsed_form.found["name"] if name.startswith("pair-")
    )
    assert choices == Counter({f"pair-{number}": 2 for number in range(1, 11)})
    assert len(ids) == len(set(ids))
    assert sorted(parsed_form.found["for"]) == sorted(
        name for name in ids if name != "title"
    )
    assert "finding" not in parsed_form.tags
    assert parsed_form.text.count("<finding>") >= 100


def test_text_from_reports_cannot_become_markup(tmp_path: Path) -> None:
    vocabulary, ranking = own(
        own_vocabulary(
            {
                "likely": ["<script>alert(1)</script> <finding>"],
                "or": ["a & b <finding>"],
            }
        )
    )
    parsed_form = _Form(form(make_survey(vocabulary, ranking), tmp_path))
    assert (
        parsed_form.tags["script"],
        parsed_form.found["src"],
        parsed_form.found["href"],
    ) == (0, [], [])
    assert "<script>alert(1)</script> <finding>" in parsed_form.text


def test_what_a_spreadsheet_would_run_is_escaped_and_read_back(
    tmp_path: Path,
) -> None:
    sides = (
        Side("=likely", ("@sum: <finding>.",)),
        Side("-may be", ("+1 <finding>.",)),
    )
    question = PairQuestion(1, sides)
    write_survey([question], tmp_path, experts=1)
    header, questions = (
        (tmp_path / "responses.csv").read_text(encoding="utf-8").splitlines()
    )
    assert questions == "1,'=likely,'-may be,'@sum: <finding>.,'+1 <finding>.,"
    (tmp_path / "responses.csv").write_text(
        f"{header}\n{questions}'-may be\n", encoding="utf-8"
    )
    heard = load_responses(tmp_path / "responses.csv")
    assert (heard.index.tolist(), heard.to_numpy().tolist()) == (
        [("=likely", "-may be")],
        [[2]],
    )


def test_the_csv_has_a_column_per_sentence_and_expert(
    tmp_path: Path,
) -> None:
    survey = make_survey(PUBLISHED, RULER, pairs=4, examples=3)
    responses, page, experts, instructions = write_survey(
        survey, tmp_path / "study", experts=2
    )
    rows = pd.read_csv(responses, dtype=str, keep_default_na=False)
    example_columns = [f"example_{side}_{n}" for side in (1, 2) for n in (1, 2, 3)]
    assert rows.columns.tolist() == [
        "pair",
        "phrase_1",
        "phrase_2",
        *example_columns,
        "expert_1",
        "expert_2",
    ]
    phrase_pairs = [
        tuple(phrase for phrase, _ in question.sides) for question in survey
    ]
    rows["expert_1"] = ["1", "2", "", "1"]
    rows["expert_2"] = [rows["phrase_2"][0], "2", rows["phrase_1"][2].upper(), ""]
    rows.to_csv(responses, index=False)
    heard = load_responses(responses)
    assert heard.index.tolist() == phrase_pairs
    assert heard.fillna(0).to_numpy().tolist() == [[1, 2], [2, 2], [0, 1], [1, 0]]
    assert load_experts(experts).keys() == {"expert_1", "expert_2"}
    assert page.name == "survey.html"
    assert "<finding>" in instructions.read_text(encoding="utf-8")
    before = responses.read_bytes()
    with pytest.raises(ConfigurationError, match="filled in"):
        write_survey(survey, tmp_path / "study", experts=2)
    assert responses.read_bytes() == before


def home(
    folder: Path, data_class: DataClass, vocabulary: pd.DataFrame, ranking: pd.DataFrame
) -> Home:
    workspace = Home(folder)
    workspace.claim(Corpus("invented", data_class))
    tables = workspace.tables
    extracted = partition_path(tables, "hedge_vocabulary", load_judges().extractor)
    store_table(HEDGE_VOCABULARY, vocabulary, extracted)
    store_table(
        REFERENCE_RANKING, ranking, partition_path(tables, "reference_ranking", "panel")
    )
    return workspace


def lunguage(*arguments: object) -> str:
    """What the command prints; its error is raised as it is."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(
        commands, words, catch_exceptions=False, standalone_mode=False
    )
    if result.exception is not None:
        raise result.exception
    return result.output


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("data_class", "ruler", "restricted"),
    [
        ("credentialed", "own", True),
        ("credentialed", "published", False),
        ("synthetic", "own", False),
    ],
)
def test_patients_sentences_are_announced_and_readable_by_their_owner_only(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    data_class: DataClass,
    ruler: str,
    restricted: bool,
) -> None:
    monkeypatch.setenv("LUNGUAGE_HOME", str(tmp_path / "home"))
    before = os.umask(0o022)  # as it is before a command closes its files
    words = own_vocabulary({word: [f"{word} <finding>."] for word in WORDS[:5]})
    home(
        tmp_path / "home",
        data_class,
        *((PUBLISHED, RULER) if ruler == "published" else own(words)),
    )
    output = lunguage("survey", "make", "--pairs", 3, "--out", tmp_path / "out")
    os.umask(before)
    assert "3 phrase pairs" in output
    page = (tmp_path / "out" / "survey.html").read_text(encoding="utf-8")
    marks = {
        "patients' reports" in output,
        modes(tmp_path / "out") == {0o600},
        "patients' reports" in page,
    }
    assert marks == {restricted}


def test_import_stores_answers_and_an_empty_file_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUNGUAGE_HOME", str(tmp_path / "home"))
    workspace = Home(tmp_path / "home")
    workspace.claim(Corpus("invented", "credentialed"))
    filled = tmp_path / "filled.csv"
    described = tmp_path / "who.csv"
    filled.write_text(
        "phrase_1,phrase_2,ann,bob,cyd\nlikely,may,1,,\nmade up,may,1,2,\n"
    )
    described.write_text("expert,role,occupation\nann,writer,\neve,reader,\n")
    output = lunguage(
        "survey", "import", "--responses", filled, "--experts", described
    ).splitlines()
    assert output[0] == "2 experts, 2 phrase pairs, 3 answers"
    assert "no answer in column: cyd" in output
    assert "not described as writer or reader: bob" in output
    assert workspace.expert_responses.read_bytes() == filled.read_bytes()
    assert load_experts(workspace.expert_descriptions)["ann"] == ("writer", "")
    assert stat.S_IMODE(workspace.expert_responses.stat().st_mode) == 0o600
    empty = tmp_path / "empty.csv"
    empty.write_text("phrase_1,phrase_2,ann\nlikely,may,\n")
    with pytest.raises(InputError, match="nothing was imported"):
        lunguage("survey", "import", "--responses", empty)
    assert workspace.expert_responses.read_bytes() == filled.read_bytes()


ENDS = ["less likely", "most likely"]


def test_sentences_to_rate_are_mixed_alike_for_every_rater() -> None:
    header, *rows = rating_rows(PUBLISHED, ENDS, examples=3)
    assert header == ["rater", "phrase", "sentence", "rating"]
    assert (
        rows
        == rating_rows(PUBLISHED.sample(frac=1, random_state=1), ENDS, examples=3)[1:]
    )
    assert sorted(phrase for _, phrase, *_ in rows[:6]) == [
        *["less likely"] * 3,
        *["most likely"] * 3,
    ]
    assert [row[1:] for row in rows[:6]] == [row[1:] for row in rows[6:]]
    assert rows != rating_rows(PUBLISHED, ENDS, examples=3, seed=1)[1:]
    with pytest.raises(MethodError, match="two at least"):
        rating_rows(PUBLISHED, ["likely"])
    with pytest.raises(MethodError, match="no sentence with the phrase 'unheard of'"):
        rating_rows(PUBLISHED, ["likely", "unheard of"])


def test_from_the_form_to_the_anchors_of_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUNGUAGE_HOME", str(tmp_path / "home"))
    workspace = home(
        tmp_path / "home",
        "credentialed",
        *own(own_vocabulary({w: [f"{w} <finding>."] for w in ENDS})),
    )
    output = lunguage("survey", "make-ratings", "--out", tmp_path / "form")
    assert "2 sentences of 2 phrases" in output
    assert "patients' reports" in output
    assert modes(tmp_path / "form") == {0o600}
    form = pd.read_csv(tmp_path / "form" / "anchor_ratings.csv", dtype=str)
    ratings = {
        ("rater_1", "less likely"): "10",
        ("rater_2", "less likely"): "20 %",
        ("rater_1", "most likely"): "85",
    }
    form["rating"] = [
        ratings.get(key) for key in zip(form["rater"], form["phrase"], strict=True)
    ]
    form.to_csv(workspace.anchor_ratings, index=False)
    chosen = chosen_anchors("", workspace.anchor_ratings, workspace.root)
    assert [anchor.probability for anchor in chosen.anchors] == pytest.approx(
        [0.15, 0.85]
    )
    assert (chosen.spread.df, chosen.spread.below[0] > 0.0) == (1.0, True)
