"""An estimate keeps of a home what a run would keep: the measuring stick while nothing that made it has
changed, and finished batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from lunguage_assets.orchestration.stored_results import StoredResults

from lunguage_assets.corpus.intake import take_in
from lunguage_assets.explicit.hedges.amendments import newest_only
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path, write_table
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.judges.estimating.estimate import Estimate
from lunguage_assets.judges.estimating.rehearsal import RehearsalJudge
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.orchestration.estimate import Circumstances, estimate_run
from lunguage_assets.sample import write_sample
from lunguage_assets.settings import ExplicitSettings, load_settings
from lunguage_assets.tables import TABLES

SETTINGS = (
    "[explicit]\nminimum_examples = 3\nruler_minimum = 2\nrepetitions = 2\npanel_steps = "
    "2\npatience = 3\nstep_limit = 8\nbootstrap = 10\n"
)
JUDGES = """
preset = "two"
[judges.one]
provider = "openai"
model = "first"
params = { max_tokens = 100 }
[judges.two]
provider = "openai"
model = "second"
params = { max_tokens = 100 }
[panels.both]
members = ["one", "two"]
[presets.two]
panel = "both"
extractor = "one"
"""


@pytest.fixture(scope="module")
def deliveries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {key: tmp_path_factory.mktemp("delivered") / key for key in ("a", "b")}
    for number, folder in enumerate(folders.values()):
        write_sample(folder, reports=40, seed=3 + number)
    return folders


@pytest.fixture
def configuration(tmp_path: Path) -> JudgesConfiguration:
    (tmp_path / "judges.toml").write_text(JUDGES)
    return load_judges(tmp_path / "judges.toml")


@pytest.fixture
def home(tmp_path: Path, deliveries: dict[str, Path], configuration: JudgesConfiguration) -> Home:
    """A home in which batch a is finished, with made-up answers and without a ledger."""
    made = Home(tmp_path / "home")
    made.create()
    made.settings_file.write_text(SETTINGS)
    made.register(deliveries["a"], "a")
    settings = load_settings(made.settings_file)
    one, two = (RehearsalJudge(key, slot, load_prompts()) for key, slot in configuration.models.items())
    findings = take_in(made.delivery("a"), settings.corpus).findings
    hedges = hedge_phrases(findings, one)
    vocabulary = hedge_vocabulary(hedges, settings.explicit)
    matches = {judge.key: comparison_matches(vocabulary, judge, settings.explicit) for judge in (one, two)}
    ranking = reference_ranking(vocabulary, matches, settings.explicit, [one.identity, two.identity])
    store(made, hedges, "hedge_phrases", "one", "a")
    store(made, vocabulary, "hedge_vocabulary", "one")
    for key, frame in matches.items():
        store(made, frame, "comparison_matches", key)
    store(made, ranking, "reference_ranking", "panel")
    for name in ("fitted_probabilities", "accounting"):
        store(made, TABLES[name].frame(), name, "panel", "a")
    return made


def store(home: Home, frame: pd.DataFrame, name: str, *partition: str) -> None:
    write_table(TABLES[name], frame, partition_path(home.tables, name, *partition))


def stored(home: Home, configuration: JudgesConfiguration, identity_ends: str = "") -> StoredResults:
    judges = [RehearsalJudge(key, slot, load_prompts()) for key, slot in configuration.models.items()]
    return StoredResults(
        home, "one", "panel", {judge.key: judge.identity + identity_ends for judge in judges}
    )


def options(home: Home, **changes: object) -> ExplicitSettings:
    return load_settings(home.settings_file).explicit.model_copy(update=changes)


def estimate(
    home: Home,
    folder: Path,
    batch: str,
    configuration: JudgesConfiguration,
    *,
    rebuild: bool = False,
    others: Sequence[str] = (),
) -> Estimate:
    registration, circumstances = home.examine(folder, batch), Circumstances(home.root / "ledger.sqlite")
    return estimate_run(
        home, registration, configuration, "panel", circumstances, rebuild=rebuild, others=others
    )


def test_a_stick_is_kept_while_nothing_that_made_it_has_changed(
    home: Home, configuration: JudgesConfiguration
) -> None:
    vocabulary, ranking = stored(home, configuration).stick(options(home))
    assert vocabulary is not None
    assert ranking is not None


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"repetitions": 3},
        {"orders": 3},
        {"bootstrap": 20},
        {"position": "fixed"},
        {"minimum_examples": 4},
        {"ruler": "published"},
    ],
)
def test_a_changed_option_of_the_stick_makes_it_anew(
    home: Home, configuration: JudgesConfiguration, change: dict[str, object]
) -> None:
    assert stored(home, configuration).stick(options(home, **change)) == (None, None)


@pytest.mark.parametrize("change", [{"patience": 9}, {"step_limit": 50}, {"panel_steps": 0}])
def test_an_option_of_the_fit_leaves_the_stick_as_it_is(
    home: Home, configuration: JudgesConfiguration, change: dict[str, object]
) -> None:
    vocabulary, ranking = stored(home, configuration).stick(options(home, **change))
    assert vocabulary is not None
    assert ranking is not None


def test_another_model_under_a_judges_key_makes_the_stick_anew(
    home: Home, configuration: JudgesConfiguration
) -> None:
    assert stored(home, configuration, identity_ends=", changed").stick(options(home)) == (None, None)


def test_a_vocabulary_that_was_not_ranked_yet_is_kept_alone(
    home: Home, configuration: JudgesConfiguration
) -> None:
    partition_path(home.tables, "reference_ranking", "panel").unlink()
    vocabulary, ranking = stored(home, configuration).stick(options(home))
    assert vocabulary is not None
    assert ranking is None


def test_a_table_of_another_version_counts_as_missing(home: Home, configuration: JudgesConfiguration) -> None:
    path = partition_path(home.tables, "hedge_vocabulary", "one")
    table = replace(TABLES["hedge_vocabulary"], columns=TABLES["hedge_vocabulary"].columns[:-1])
    write_table(table, table.frame(), path)
    assert stored(home, configuration).stick(options(home)) == (None, None)


def test_a_second_batch_asks_about_its_own_sentences_only(
    home: Home, deliveries: dict[str, Path], configuration: JudgesConfiguration
) -> None:
    alone = estimate(home, deliveries["b"], "b", configuration)
    assert alone.batches == ("b",)
    assert {one.stage for one in alone.lines} == {"hedge_phrases", "fitted_probabilities"}
    assert not (home.batches / "b").exists()

    anew = estimate(home, deliveries["b"], "b", configuration, rebuild=True)
    assert anew.batches == ("a", "b")
    assert {one.stage for one in anew.lines} == {
        "hedge_phrases",
        "comparison_matches",
        "fitted_probabilities",
    }
    assert anew.pairs > alone.pairs
    assert anew.calls > alone.calls


def test_a_batch_that_is_finished_is_read_again_only_when_it_is_asked_for(
    home: Home, deliveries: dict[str, Path], configuration: JudgesConfiguration
) -> None:
    home.register(deliveries["b"], "b")
    assert estimate(home, deliveries["b"], "b", configuration).batches == ("b",)
    assert estimate(home, deliveries["a"], "a", configuration).batches == ("a", "b"), "b has no result yet"


def test_a_finished_batch_that_the_record_of_runs_calls_stale_is_counted_as_well(
    home: Home, deliveries: dict[str, Path], configuration: JudgesConfiguration
) -> None:
    """Changed settings of the fit are not to be seen in its tables."""
    alone = estimate(home, deliveries["b"], "b", configuration)
    both = estimate(home, deliveries["b"], "b", configuration, others=["a"])
    assert both.batches == ("a", "b")
    assert {one.stage for one in both.lines} == {"hedge_phrases", "fitted_probabilities"}, (
        "the measuring stick is kept"
    )
    assert both.pairs > alone.pairs
    assert both.calls > alone.calls


def test_of_a_study_that_came_again_the_newest_rows_count_in_the_order_of_registration() -> None:
    first = pd.DataFrame({"study_id": ["s1", "s2"], "value": [1, 2]})
    second = pd.DataFrame({"study_id": ["s2", "s3"], "value": [3, 4]})
    joined = newest_only({"b": second, "a": first}, ["a", "b", "c"])
    assert joined is not None
    assert joined["value"].tolist() == [1, 3, 4]
    assert newest_only({}, ["a"]) is None
