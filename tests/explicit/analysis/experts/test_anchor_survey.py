"""The form for the anchors' ratings, and the way from filled in columns to anchors."""

from __future__ import annotations

import csv
import stat
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from hostile_words import HOSTILE, in_a_browser, require_harmless
from tentative_findings import own_vocabulary

from lunguage_assets.cli.main import commands
from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.explicit.analysis.experts.anchor_survey import (
    make_rating_survey,
    ratings_from_form,
    write_rating_survey,
)
from lunguage_assets.explicit.fit.anchors import chosen_anchors
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.home.home import Corpus, Home
from lunguage_assets.home.store import partition_path, write_table
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES, HEDGE_VOCABULARY

PUBLISHED = hedge_vocabulary(HEDGE_PHRASES.frame(), ExplicitSettings())
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
    assert sorted(one.phrase for one in first.questions) == [*["less likely"] * 3, *["most likely"] * 3]
    assert [one.number for one in first.questions] == [1, 2, 3, 4, 5, 6]
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


@in_a_browser
def test_words_of_a_report_are_shown_and_do_not_run(tmp_path: Path) -> None:
    said = {"likely": [f"{HOSTILE} <finding>"], f"or {HOSTILE}": ["a & b <finding>"]}
    survey = make_rating_survey(own_vocabulary(said), list(said))
    paths = write_rating_survey(survey, tmp_path / "form")
    require_harmless(paths[1].read_text(encoding="utf-8"), tmp_path)


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


def lunguage(*arguments: object) -> str:
    result = CliRunner().invoke(commands, list(map(str, arguments)), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("LUNGUAGE_HOME", str(tmp_path / "home"))
    place = Home(tmp_path / "home")
    place.claim(Corpus("invented", "synthetic"))
    path = partition_path(place.tables, "hedge_vocabulary", load_judges().extractor)
    write_table(HEDGE_VOCABULARY, PUBLISHED, path)
    return place


def rated(path: Path, lowest: str, highest: str) -> Path:
    """Two invented raters who differ by ten points."""
    frame = pd.read_csv(path, dtype=str)
    low = frame["phrase"] == "less likely"
    frame["rater_1"] = low.map({True: lowest, False: highest})
    frame["rater_2"] = low.map({True: str(int(lowest) + 10), False: str(int(highest) - 10)})
    frame.to_csv(path, index=False)
    return path


def test_from_the_form_to_the_anchors_of_a_home(home: Home, tmp_path: Path) -> None:
    out = tmp_path / "form"
    assert "20 sentences of 2 phrases" in lunguage("survey", "make-ratings", "--out", out)
    said = lunguage("survey", "import-ratings", "--ratings", rated(out / "ratings.csv", "10", "90"))
    assert "2 raters, 40 ratings of 2 phrases" in said
    chosen = chosen_anchors("", home.anchor_ratings, home.root)
    assert [one.probability for one in chosen.anchors] == pytest.approx([0.15, 0.85])
    assert chosen.spread.df == 2.0
    assert chosen.spread.sd > 0.0
    assert stat.S_IMODE(home.anchor_ratings.stat().st_mode) == 0o600


def test_ratings_that_give_no_anchor_are_refused_and_keep_what_is_there(home: Home, tmp_path: Path) -> None:
    lunguage("survey", "make-ratings", "--out", tmp_path / "form")
    home.anchor_ratings.write_text("earlier", encoding="utf-8")
    form = filled(tmp_path / "form" / "ratings.csv", ann="0")
    with pytest.raises(InputError, match="between 0 and 100"):
        lunguage("survey", "import-ratings", "--ratings", form)
    assert home.anchor_ratings.read_text(encoding="utf-8") == "earlier"
    assert not list(home.root.glob(".anchor*"))
