"""Templates for people to fill in: pairs spread over the ranking, sentences that show
them, and the way back.
"""

from __future__ import annotations

import os
import stat
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from stored_tables import store_table
from tentative_findings import own_vocabulary, published_scale

from lunguage_assets.cli.main import commands
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.explicit.analysis.experts import load_responses
from lunguage_assets.explicit.analysis.surveys import pairs_template
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.settings import DataClass
from lunguage_assets.tables import HEDGE_VOCABULARY, REFERENCE_RANKING
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path

PUBLISHED, RULER = published_scale()
WORDS = [f"word{i:02d}" for i in range(5)]


def own(vocabulary: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A vocabulary of this corpus, and the published places given to its phrases."""
    ranking = RULER.head(len(vocabulary)).assign(
        phrase=vocabulary["phrase"].tolist(), ruler="own", vocabulary_version="v"
    )
    return vocabulary, ranking


def test_pairs_are_as_far_apart_as_all_pairs_are() -> None:
    template = pairs_template(PUBLISHED, RULER)
    rank = RULER.set_index("phrase")["rank"]
    pairs = template[["phrase_1", "phrase_2"]].apply(lambda phrases: phrases.map(rank))
    distances = sorted((pairs["phrase_1"] - pairs["phrase_2"]).abs())
    every = sorted(j - i for i, j in combinations(range(42), 2))
    assert len(template) == 50
    assert distances == [every[int(n)] for n in np.linspace(0, len(every) - 1, 50)]
    first_is_surer = (pairs["phrase_1"] > pairs["phrase_2"]).mean()
    assert 0.2 < first_is_surer < 0.8


def test_a_single_phrase_makes_no_survey() -> None:
    single = own(own_vocabulary({"likely": ["<finding>"]}))
    with pytest.raises(MethodError, match="1 phrases"):
        pairs_template(*single)


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("LUNGUAGE_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def fill(
    home: Home, data_class: DataClass, vocabulary: pd.DataFrame, ranking: pd.DataFrame
) -> None:
    home.claim(Corpus("invented", data_class))
    extractor = load_judges().extractor
    for table, frame, key in (
        (HEDGE_VOCABULARY, vocabulary, extractor),
        (REFERENCE_RANKING, ranking, "panel"),
    ):
        store_table(table, frame, partition_path(home.tables, table.name, key))


def lunguage(*arguments: object) -> str:
    """What the command prints; its error is raised as it is."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(
        commands, words, catch_exceptions=False, standalone_mode=False
    )
    if result.exception is not None:
        raise result.exception
    return result.output


def test_the_sentences_of_a_survey_are_readable_by_their_owner_only(
    tmp_path: Path, workspace: Home
) -> None:
    before = os.umask(0o022)  # as it is before a command closes its files
    words = own_vocabulary({word: [f"{word} <finding>."] for word in WORDS})
    fill(workspace, "credentialed", *own(words))
    path = tmp_path / "responses.csv"
    output = lunguage("survey", "make", "--pairs", 3, "--out", path)
    os.umask(before)
    assert "3 phrase pairs" in output
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_template_is_filled_in_read_back_and_never_overwritten(
    tmp_path: Path, workspace: Home
) -> None:
    # What a spreadsheet would run is escaped, and read back.
    words = own_vocabulary({"=likely": ["@sum: <finding>."], "-may be": ["<finding>"]})
    fill(workspace, "credentialed", *own(words))
    path = tmp_path / "responses.csv"
    lunguage("survey", "make", "--out", path)
    filled = pd.read_csv(path, dtype=str)
    assert set(filled.loc[0, ["phrase_1", "phrase_2"]]) == {"'=likely", "'-may be"}
    filled["expert_1"] = "1"
    filled["expert_2"] = filled["phrase_2"]
    filled.to_csv(path, index=False)
    answers = load_responses(path)
    assert set(answers.index[0]) == {"=likely", "-may be"}
    assert answers[["expert_1", "expert_2"]].to_numpy().tolist() == [[1, 2]]
    with pytest.raises(ConfigurationError, match="filled in"):
        lunguage("survey", "make", "--out", path)


def test_import_stores_answers_and_an_empty_file_changes_nothing(
    tmp_path: Path, workspace: Home
) -> None:
    workspace.claim(Corpus("invented", "credentialed"))
    filled = tmp_path / "filled.csv"
    filled.write_text(
        "phrase_1,phrase_2,ann,bob,cyd\nlikely,may,1,,\nmade up,may,1,2,\n"
    )
    output = lunguage("survey", "import", "--responses", filled)
    assert output.startswith("2 experts, 2 phrase pairs, 3 answers imported into")
    assert workspace.expert_responses.read_bytes() == filled.read_bytes()
    assert stat.S_IMODE(workspace.expert_responses.stat().st_mode) == 0o600
    empty = tmp_path / "empty.csv"
    empty.write_text("phrase_1,phrase_2,ann\nlikely,may,\n")
    with pytest.raises(InputError, match="nothing was imported"):
        lunguage("survey", "import", "--responses", empty)
    assert workspace.expert_responses.read_bytes() == filled.read_bytes()
