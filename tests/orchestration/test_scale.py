"""The scale of the probabilities, chosen before comparisons and again after the
ranking: defaults lead to a result, and it is kept from batch to batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import dagster as dg
import pandas as pd
import pytest
from finished_homes import QUICK_STICK, Finished
from small_homes import SmallHome, write_deliveries
from stored_tables import stored_table

from lunguage_assets.orchestration.assets import explicit
from lunguage_assets.orchestration.run import RunFailed
from lunguage_assets.workspace.versions import current_version

RATINGS = "rater,phrase,sentence,rating\na,surely,1,90\nb,surely,1,80\na,hardly,1,20\nb,hardly,1,10\n"


def ranking(small: SmallHome) -> pd.DataFrame:
    return stored_table(small.home.tables, "reference_ranking")


def released(small: SmallHome, name: str) -> Any:
    version = current_version(small.home.release / "panel")
    assert version is not None
    return json.loads((version / name).read_text())


@pytest.fixture
def contrary() -> Iterator[None]:
    """Judges that say the opposite of what they mean."""
    play = explicit.play_matches
    opposite = {"sentence_1": "sentence_2", "sentence_2": "sentence_1"}

    def play_contrary(*arguments: Any) -> pd.DataFrame:
        frame = play(*arguments)
        a, b, winner = frame["phrase_a"], frame["phrase_b"], frame["winner"]
        loser = a.where(winner == b, b).where(winner.notna())
        return frame.assign(winner=loser, answer=frame["answer"].replace(opposite))

    with mock.patch.object(explicit, "play_matches", play_contrary):
        yield


@pytest.fixture
def unanchored(tmp_path: Path) -> Iterator[SmallHome]:
    """A home whose reports never say one of the two anchor phrases."""
    deliveries = write_deliveries(
        tmp_path / "deliveries", (40,), seed=5, batches=("first",)
    )
    file = deliveries["first"] / "Lunguage.csv"
    rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    rows[~rows["sent"].str.contains("(?:less|most) likely", case=False)].to_csv(
        file, index=False
    )
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.toml").write_text(QUICK_STICK)
    with SmallHome.opened(home) as small:
        small.register(deliveries)
        yield small


@pytest.mark.lengthy
def test_reports_without_anchors_give_a_release_that_names_its_scale(
    unanchored: SmallHome,
) -> None:
    unanchored.run()
    reason = "phrases of its own, but no anchor phrase 'less likely', 'most likely'"
    assert set(ranking(unanchored)["ruler"]) == {"published"}
    matches = stored_table(unanchored.home.tables, "comparison_matches")
    assert matches.empty, "nothing is asked that nobody uses"
    assert reason in released(unanchored, "restricted/summary.json")["ruler_reason"]
    provenance = released(unanchored, "open/provenance.json")
    assert reason in provenance["ranking"]["ruler_reason"]


@pytest.mark.parametrize("setting", ["ruler", "ratings"])
def test_a_scale_that_cannot_be_had_is_refused_before_comparisons(
    unanchored: SmallHome, setting: str
) -> None:
    named = unanchored.home.settings_file
    if setting == "ruler":
        own = '[explicit]\nreference_scale = "own"'
        named.write_text(named.read_text().replace("[explicit]", own))
    else:
        named = unanchored.home.anchor_ratings
        named.write_text(RATINGS)
    with pytest.raises(
        RunFailed, match=r"compare \(lexicon\).*no anchor phrase.*\[explicit\]"
    ) as failed:
        unanchored.run()
    assert named.name in str(failed.value)
    reasons = unanchored.current().reasons("comparison_matches", "lexicon")
    assert reasons == ["missing"]


@pytest.mark.lengthy
def test_the_published_ranking_is_used_for_an_inverted_one(
    small: SmallHome, finished: Finished, contrary: None
) -> None:
    assert set(ranking(small)["ruler"]) == {"own"}
    small.run(rebuild=True)
    used = ranking(small)
    assert set(used["ruler"]) == {"published"}
    assert "are inverted" in used["ruler_reason"].iloc[0]
    fits = stored_table(
        small.home.tables, "fitted_probabilities", report_batch="second"
    )
    assert set(fits["ruler"]) == {"published"}
    assert "are inverted" in released(small, "restricted/summary.json")["ruler_reason"]
    key = dg.AssetKey("reference_ranking")
    made = small.instance.get_latest_materialization_event(key)
    assert "own_ranking" in made.asset_materialization.metadata
    small.register({"third": finished.deliveries / "third"})
    small.run()
    pd.testing.assert_frame_equal(ranking(small), used)
