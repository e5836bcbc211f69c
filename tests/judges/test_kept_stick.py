"""An estimate keeps of a home what a run would keep: the measuring stick while nothing that made it has
changed, and finished batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from lunguage_assets.corpus.intake import take_in
from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.current.standing import Standings
from lunguage_assets.explicit.hedges.amendments import newest_only
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path, write_table
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.judges.estimate import Estimate
from lunguage_assets.judges.opening import judge_identity
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.orchestration.estimate import estimate_run
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.sample import write_sample
from lunguage_assets.settings import load_settings
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
    """A home in which batch a is fitted, with made-up answers and without a ledger."""
    made = Home(tmp_path / "home")
    made.create()
    made.settings_file.write_text(SETTINGS)
    made.register(deliveries["a"], "a")
    settings = load_settings(made.settings_file)
    one, two = (LexiconJudge.bundled(key) for key in configuration.models)
    taken = take_in(made.delivery("a"), settings.corpus)
    hedges = hedge_phrases(taken.findings, one)
    vocabulary = hedge_vocabulary(hedges, settings.explicit)
    matches = {judge.key: comparison_matches(vocabulary, judge, settings.explicit) for judge in (one, two)}
    identities = [judge_identity(key, configuration) for key in ("one", "two")]
    ranking = reference_ranking(vocabulary, matches, settings.explicit, identities)
    tables = {name: getattr(taken, name) for name in RECIPES["findings"].tables}
    store(made, configuration, "findings", ("a",), tables)
    store(made, configuration, "hedge_phrases", ("one", "a"), {"hedge_phrases": hedges})
    store(made, configuration, "hedge_vocabulary", ("one",), {"hedge_vocabulary": vocabulary})
    for key, frame in matches.items():
        store(made, configuration, "comparison_matches", (key,), {"comparison_matches": frame})
    store(made, configuration, "reference_ranking", ("panel",), {"reference_ranking": ranking})
    fits = {name: TABLES[name].frame() for name in RECIPES["fitted_probabilities"].tables}
    store(made, configuration, "fitted_probabilities", ("panel", "a"), fits)
    return made


def store(
    home: Home,
    configuration: JudgesConfiguration,
    step: str,
    keys: tuple[str, ...],
    frames: Mapping[str, pd.DataFrame],
) -> None:
    made_of = Standings(home, configuration).made_of(step, keys)
    for name, frame in frames.items():
        write_table(TABLES[name], frame, partition_path(home.tables, name, *keys), keys, made_of)


def estimate(home: Home, folder: Path, batch: str, *, rebuild: bool = False) -> Estimate:
    resource = HomeResource(root=str(home.root), judges_file=str(home.root.parent / "judges.toml"))
    return estimate_run(resource, home.examine(folder, batch), "panel", rebuild=rebuild)


def test_a_second_batch_asks_about_its_own_sentences_only(home: Home, deliveries: dict[str, Path]) -> None:
    alone = estimate(home, deliveries["b"], "b")
    assert alone.batches == ("b",)
    assert {one.stage for one in alone.lines} == {"hedge_phrases", "fitted_probabilities"}
    assert not (home.batches / "b").exists()

    again = estimate(home, deliveries["b"], "b", rebuild=True)
    assert set(again.batches) == {"a", "b"}
    assert {one.stage for one in again.lines} == {
        "hedge_phrases",
        "comparison_matches",
        "fitted_probabilities",
    }
    assert again.pairs > alone.pairs
    assert again.calls > alone.calls


def test_whatever_batch_is_asked_for_what_is_current_costs_nothing(
    home: Home, deliveries: dict[str, Path]
) -> None:
    assert estimate(home, deliveries["a"], "a").calls == 0, "a is fitted"
    home.register(deliveries["b"], "b")
    found = {key: estimate(home, deliveries[key], key) for key in ("a", "b")}
    assert found["a"].calls == found["b"].calls > 0, "a run makes whatever is not current"
    assert found["a"].batches == found["b"].batches == ("b",)


def test_other_settings_of_the_fit_are_paid_for_and_the_measuring_stick_is_kept(
    home: Home, deliveries: dict[str, Path]
) -> None:
    home.settings_file.write_text(SETTINGS.replace("patience = 3", "patience = 4"))
    again = estimate(home, deliveries["a"], "a")
    assert again.batches == ("a",)
    assert {one.stage for one in again.lines} == {"fitted_probabilities"}
    assert again.calls > 0


def test_of_a_study_that_came_again_the_newest_rows_count_in_the_order_of_registration() -> None:
    first = pd.DataFrame({"study_id": ["s1", "s2"], "value": [1, 2]})
    second = pd.DataFrame({"study_id": ["s2", "s3"], "value": [3, 4]})
    joined = newest_only({"b": second, "a": first}, ["a", "b", "c"])
    assert joined is not None
    assert joined["value"].tolist() == [1, 3, 4]
    assert newest_only({}, ["a"]) is None
